#!/usr/bin/env bash
# Simulates two machines that use one store: bindfs mounts the folder twice on one machine. Each
# mount has its own locks, or with --shared-locks both have the same ones.
#
#     tests/fleet/two_mounts.sh [--shared-locks]        (CTX_BIN=target/debug; needs bindfs and root)
#
# Snapshots and compactions of sixteen sessions run through both mounts at once. In either case no
# session may lose a line that is in no snapshot; with shared locks the store must also be
# undamaged.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bin=$(realpath "${CTX_BIN:-target/debug}")
shared=${1:-}
flags=()
[ "$shared" = --shared-locks ] && flags=(--enable-lock-forwarding --multithreaded)
work=$(mktemp -d)
trap 'fusermount -u "$work/a"; fusermount -u "$work/b"; rm -rf "$work"' EXIT
mkdir -p "$work"/{real/s,a,b,before}
for machine in a b; do bindfs "${flags[@]}" "$work/real" "$work/$machine"; done

for session in 1 2 3 4 5 6 7 8; do
    for turn in $(seq 40); do
        words=$(printf 'word%.0s ' {1..40})
        echo '{"role":"user","content":"ask '"$session $turn"' about src/file_'"$turn"'.rs '"$words"'"}'
        echo '{"role":"assistant","content":"done '"$turn $words"'"}'
    done > "$work/real/s/$session.jsonl"
done
cp "$work"/real/s/* "$work/before"

machine() {
    local folder=$work/$1
    for session in 1 2 3 4 5 6 7 8; do
        for _ in 1 2 3; do
            code=0
            "$bin/ctx-snapshot" --store "$folder/ctx" "$folder/s/$session.jsonl" > /dev/null 2>> "$work/said" || code=$?
            echo "ctx-snapshot ended with $code" >> "$work/ended.$1"
            code=0
            "$bin/ctx-compact" -q --force --keep-messages 6 --store "$folder/ctx" "$folder/s/$session.jsonl" \
                > /dev/null 2>> "$work/said" || code=$?
            echo "ctx-compact ended with $code" >> "$work/ended.$1"
        done
    done
}
machine a & machine b & wait
cat "$work"/ended.* | sort | uniq -c

# The first content of each session must be in a snapshot, and each session must be readable.
for session in 1 2 3 4 5 6 7 8; do
    found=no
    for snapshot in "$work"/real/ctx/memory/session-summaries/*.jsonl; do
        cmp -s "$snapshot" "$work/before/$session.jsonl" && found=yes
    done
    [ $found = yes ] || { echo "LOST: session $session"; exit 1; }
done
"$bin/ctx-check" -q "$work"/real/s/*.jsonl || { echo "BROKEN: a session"; exit 1; }
echo "no session has lost anything"
if "$bin/ctx-snapshot" --verify --read-data --store "$work/real/ctx" > "$work/verified" 2>&1; then
    echo "the store is whole"
else
    grep -v ': OK$' "$work/verified" | sed "s,$work/real/,," | head -n 4
    [ "$shared" != --shared-locks ]
fi
