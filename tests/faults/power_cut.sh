#!/usr/bin/env bash
# C6, C7: cuts the power. Each tool that changes files runs on an ext4 of its own that
# writes nothing by itself; at each flush, rename and link, and after the end, what has
# reached the disk until then is taken as it is, mounted, and judged by the oracle. What a
# run that said "done" had done must be there. The naive controls must be caught.
#
#   tests/faults/power_cut.sh [--bin DIR] [--sample [N]] [--only OPERATION] [--data MODE]
#
# --sample takes N points (2) of each operation instead of all. --data is how ext4 orders
# data and names: "ordered", the default of ext4, or "writeback" (C7), where a name may
# reach the disk long before its bytes; without it both. Needs root and loop devices.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../target/debug
sample=0
only=
modes='ordered writeback'
while [ $# -gt 0 ]; do
    case $1 in
        --bin) bin=$2; shift 2 ;;
        --sample)
            sample=2; shift
            case ${1:-} in [1-9]*) sample=$1; shift ;; esac ;;
        --only) only=$2; shift 2 ;;
        --data) modes=$2; shift 2 ;;
        *) echo "power_cut: unknown argument $1" >&2; exit 2 ;;
    esac
done
bin=$(cd "$bin" && pwd) || exit 2

skip() { echo "power_cut: skipped: $1"; exit 0; }
strace -f -o /dev/null true 2>/dev/null || skip "strace is not here, or may not trace"
command -v mkfs.ext4 >/dev/null || skip "mkfs.ext4 is not here"

base=${TMPDIR:-/tmp}
[ -w /dev/shm ] && base=/dev/shm
outside=$(mktemp -d "$base/ctx-power.XXXXXX") || exit 2
tmp=$outside/disk
mkdir "$tmp"
trap 'umount "$tmp" 2>/dev/null; rm -rf "$outside"' EXIT
export LC_ALL=C
unset CTX_HOME

. "$here/operations.sh"
. "$here/oracle.sh"

controls='control_in_place control_no_snapshot control_empty'
# Renamed properly, and the folder flushed, but not the file: its name comes, its bytes do not.
seed_control_empty() {
    seed_control_in_place || return
    command=(sh -c 'cp live.jsonl saved.jsonl && sync saved.jsonl && cp new live.tmp && mv live.tmp live.jsonl && sync .')
}

# Nothing is written before somebody asks for it, not even where ext4 guesses that
# somebody meant to (auto_da_alloc).
insert() { mount -o "loop,commit=300,noauto_da_alloc,data=$mode" "$1" "$tmp"; }
remove() {
    local try
    for try in 1 2 3 4 5; do umount "$tmp" 2>/dev/null && return; sleep 0.1; done
    echo "power_cut: cannot unmount $tmp" >&2; exit 2
}
format() { rm -f "$1"; truncate -s 24M "$1" && mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$1"; }
image() { cp --sparse=always "$1" "$2"; }

# The calls of one faultless run that bring something to the disk or give it a name, "NUMBER
# NAME" a line, and the end of the run.
points() {
    image "$outside/seed" "$outside/run" && insert "$outside/run" || exit 2
    (cd "$tmp/work" && strace -f -qq -o "$outside/trace" "${command[@]}") >/dev/null 2>&1 <"$tmp/work/stdin"
    remove
    awk '{ sub(/\(.*/, "", $2); print $2 }' "$outside/trace" |
        grep -xE 'fsync|fdatasync|rename|renameat|renameat2|link|linkat|unlink|unlinkat' | awk '{ print ++n[$1], $1 }'
    echo 0 end
}

# The power goes when the call begins.
attempt() { # CALL NUMBER
    local at=("-e" "trace=$1" "-e" "inject=$1:signal=KILL:when=$2") live
    [ "$1" != end ] || at=()
    image "$outside/seed" "$outside/run" && insert "$outside/run" || exit 2
    (cd "$tmp/work" && strace -f -qq -o "$outside/trace" "${at[@]}" "${command[@]}") \
        >"$outside/out" 2>"$outside/err" <"$tmp/work/stdin"
    status=$?
    image "$outside/run" "$outside/cut"
    remove
    insert "$outside/cut" || { echo "the disk cannot be mounted"; return 1; }
    cp "$outside/out" "$outside/err" "$tmp/"
    # Seen by the control that must end so.
    [ ! -e "$tmp/work/live.jsonl" ] || [ -s "$tmp/work/live.jsonl" ] || echo "of 0 bytes: $operation" >>"$outside/empty"
    judge
    local judged=$?
    remove
    return $judged
}

judge() {
    if [ "$status" = 0 ]; then
        [ "$(live_hash)" = "$new" ] || { echo "it said done, and it is not"; return 1; }
        among "$keep" "$(committed; case $operation in control*) live_hash ;; esac)" ||
            { echo "it said done, and a snapshot is missing"; return 1; }
    fi
    oracle power
}

choose() { if [ "$sample" -gt 0 ]; then shuf -n "$sample" --random-source=<(yes "$operation"); else cat; fi; }

cut_power() { # OPERATION
    local operation=$1 number call done=0 bad=0
    points >"$outside/points"
    while read -r number call; do
        done=$((done + 1))
        if ! why=$(attempt "$call" "$number"); then
            bad=$((bad + 1))
            [ "${expect_bad:-}" ] || echo "BAD $operation data=$mode $call $number: $why"
        fi
    done < <(grep ' end$' "$outside/points"; grep -v ' end$' "$outside/points" | choose)
    echo "$operation data=$mode: $done cuts, $bad bad"
    total=$((total + done))
    if [ "${expect_bad:-}" ]; then
        [ "$bad" -gt 0 ] || { echo "BAD $operation: the oracle does not catch it"; failures=$((failures + 1)); }
    else
        failures=$((failures + bad))
    fi
}

mode=${modes%% *}
format "$outside/empty-disk" && insert "$outside/empty-disk" 2>/dev/null || skip "no ext4 can be mounted here (root, loop devices)"
remove

total=0
failures=0
for mode in $modes; do
    : >"$outside/empty"
    for operation in $operations $controls; do
        [ -z "$only" ] || [ "$only" = "$operation" ] || continue
        expect_bad=
        case " $controls " in *" $operation "*) expect_bad=yes ;; esac
        image "$outside/empty-disk" "$outside/seed" && insert "$outside/seed" || exit 2
        mkdir "$tmp/work" && : >"$tmp/work/stdin"
        "seed_$operation" || { echo "power_cut: cannot seed $operation" >&2; exit 2; }
        remove
        if [ -z "${command[*]:-}" ]; then echo "$operation: skipped: no such tool"; continue; fi
        cut_power "$operation"
    done
    [ -n "$only" ] || grep -q control_empty "$outside/empty" ||
        { echo "BAD control_empty: no file of 0 bytes, so nothing is lost here that is not flushed"; failures=$((failures + 1)); }
    grep -v control_ "$outside/empty" && { echo "BAD a session of 0 bytes"; failures=$((failures + 1)); }
done
echo "power_cut: $total cuts, $failures failures"
[ "$failures" -eq 0 ]
