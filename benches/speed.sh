#!/usr/bin/env bash
# Compares speed and memory of the release build with the usual commands, in one run.
#
#   benches/speed.sh                                  # on repetitions of examples/session.jsonl
#   CTX_TRANSCRIPTS=~/sessions benches/speed.sh       # on repetitions of the *.jsonl in a folder
#
# Needs jq, and /usr/bin/time for the peaks of memory. SIZE is the size of the input in bytes
# (default: 100 MB), BENCH_DIR a folder with room for four times as much (default: a temporary one),
# and RUNS and STARTS are the numbers of measurements. Prints Markdown. Competing commands take
# turns, so that a busy moment affects all of them; the median counts.
set -euo pipefail
cd "$(dirname "$0")/.."

RUNS=${RUNS:-7}
STARTS=${STARTS:-50}
SIZE=${SIZE:-100000000}

work=$(mktemp -d -p "${BENCH_DIR:-${TMPDIR:-/tmp}}" ctx-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT

say() { printf '%s\n' "$*" >&2; }

# Prints the microseconds that a command takes; the command must succeed.
clock() {
    local start=$EPOCHREALTIME
    "$@" >/dev/null 2>"$work/stderr" || { say "failed: $*"; cat "$work/stderr" >&2; exit 1; }
    local end=$EPOCHREALTIME
    echo $((${end/./} - ${start/./}))
}

# Prints the median of the numbers in a file.
median() { sort -n "$1" | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }

ms() { awk -v us="$1" 'BEGIN { printf us < 100000 ? "%.1f" : "%.0f", us / 1000 }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# Prints the peak memory of a command in MB, or `?` if GNU time is not installed.
peak() {
    if [ -x /usr/bin/time ]; then
        /usr/bin/time -f %M -o "$work/peak" "$@" >/dev/null 2>&1
        awk '{ printf "%.1f", $1 / 1000 }' "$work/peak"
    else
        echo '?'
    fi
}

# Runs the named functions in turn, RUNS times, and appends the times to $work/NAME.
take_turns() {
    local run name
    for name in "$@"; do : >"$work/$name"; done
    for ((run = 0; run < RUNS; run++)); do
        for name in "$@"; do clock "$name" >>"$work/$name"; done
    done
}

# --- the input ------------------------------------------------------------------

make_input() {
    if [ -n "${CTX_TRANSCRIPTS:-}" ]; then
        # awk adds a newline if the last line of a file has none.
        find "$CTX_TRANSCRIPTS" -name '*.jsonl' -print0 | sort -z | xargs -0 awk 1 >"$work/once"
    else
        awk 1 examples/session.jsonl >"$work/once"
    fi
    local once
    once=$(stat -c %s "$work/once")
    [ "$once" -gt 0 ] || { say "no transcripts found"; exit 1; }
    yes "$work/once" | head -n $((SIZE / once + 1)) | xargs cat >"$work/big.jsonl" || true
    head -n 4 "$work/once" >"$work/tiny.jsonl"
}

say "building"
cargo build --release --locked
bin=${CARGO_TARGET_DIR:-$PWD/target}/release
make_input
big=$work/big.jsonl
tiny=$work/tiny.jsonl
megabytes=$((SIZE / 1000000))
cat "$big" >/dev/null

printf 'Input: %s bytes, %s lines. Machine: %s, %s cores, load %s.\n' \
    "$(stat -c %s "$big")" "$(wc -l <"$big")" \
    "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$(cut -d' ' -f1 /proc/loadavg)"

# --- throughput -----------------------------------------------------------------

jq_copy() { jq -c . "$big"; }
ctx_split() { "$bin/ctx-split" --keep-messages 20 "$big"; }
ctx_count() { "$bin/ctx-count" "$big"; }
ctx_count_chars4() { "$bin/ctx-count" --encoding chars4 "$big"; }

# Each run writes a new file, because a snapshot is a new file, too.
copy_sync_hash() {
    rm -f "$work/copy"
    cp "$big" "$work/copy" && sync "$work/copy" && sha256sum "$work/copy"
}
ctx_snapshot() { "$bin/ctx-snapshot" -s bench --store "$work/store" "$big"; }

row() { printf '| `%s` | %s | %s | %s |\n' "$1" "$(ms "$2")" "$3" "$4"; }

say "throughput"
take_turns jq_copy ctx_split ctx_count_chars4 ctx_count
base=$(median "$work/jq_copy")
printf '\n| %s MB of chat records | ms, median of %s | times as fast as jq | peak MB |\n|---|--:|--:|--:|\n' "$megabytes" "$RUNS"
row 'jq -c .' "$base" 1.00 "$(peak jq -c . "$big")"
for name in ctx_split ctx_count_chars4 ctx_count; do
    took=$(median "$work/$name")
    case $name in
    ctx_split) label='ctx-split --keep-messages 20' args=(ctx-split --keep-messages 20) ;;
    ctx_count_chars4) label='ctx-count --encoding chars4' args=(ctx-count --encoding chars4) ;;
    ctx_count) label='ctx-count' args=(ctx-count) ;;
    esac
    row "$label" "$took" "$(ratio "$base" "$took")" "$(peak "$bin/${args[0]}" "${args[@]:1}" "$big")"
done

say "snapshot"
take_turns copy_sync_hash ctx_snapshot
base=$(median "$work/copy_sync_hash")
took=$(median "$work/ctx_snapshot")
printf '\n| saving %s MB | ms, median of %s | times the time of the copy | peak MB |\n|---|--:|--:|--:|\n' "$megabytes" "$RUNS"
row 'cp && sync FILE && sha256sum' "$base" 1.00 "-"
row 'ctx-snapshot' "$took" "$(ratio "$took" "$base")" \
    "$(peak "$bin/ctx-snapshot" -s bench --store "$work/store" "$big")"

# --- compaction -----------------------------------------------------------------

# A single session without system messages. A compaction would keep the system messages of all
# joined sessions.
session=$work/session.jsonl
jq -c 'select(.role != "system")' "$big" >"$work/long.jsonl"
# Each run compacts a new copy in place: the tool saves, prunes, splits, summarizes, checks and
# replaces it.
jq_session() { jq -c . "$session"; }
compact_default() { "$bin/ctx-compact" --force "${compacting[@]}"; }
compact_sanbot() { "$bin/ctx-compact" --force --preset sanbot "${compacting[@]}"; }
summarize_budget() { "$bin/ctx-summarize" --budget 50000 "$session"; }

say "compaction"
compacting=(--store "$work/compact-store" "$session")
names=(jq_session compact_sanbot compact_default summarize_budget)
for name in "${names[@]}"; do : >"$work/$name"; done
for ((run = 0; run < RUNS; run++)); do
    for name in "${names[@]}"; do
        rm -rf "$work/compact-store"
        cp "$work/long.jsonl" "$session"
        clock "$name" >>"$work/$name"
    done
done
base=$(median "$work/jq_session")
printf '\n| compacting %s MB | ms, median of %s | times the time of jq | peak MB |\n|---|--:|--:|--:|\n' "$megabytes" "$RUNS"
for name in "${names[@]}"; do
    rm -rf "$work/compact-store"
    cp "$work/long.jsonl" "$session"
    took=$(median "$work/$name")
    case $name in
    jq_session) label='jq -c .' args=(jq -c . "$session") ;;
    compact_sanbot) label='ctx-compact --preset sanbot' args=("$bin/ctx-compact" --force --preset sanbot "${compacting[@]}") ;;
    compact_default) label='ctx-compact' args=("$bin/ctx-compact" --force "${compacting[@]}") ;;
    summarize_budget) label='ctx-summarize --budget 50000' args=("$bin/ctx-summarize" --budget 50000 "$session") ;;
    esac
    row "$label" "$took" "$(ratio "$took" "$base")" "$(peak "${args[@]}")"
done
rm -rf "$work/compact-store" "$session" "$work/long.jsonl"

# --- start-up -------------------------------------------------------------------

say "start-up"
store=(--store "$work/store")
"$bin/ctx-split" "$tiny" >"$work/tagged.jsonl"
"$bin/ctx-snapshot" -s tiny "${store[@]}" "$tiny" >/dev/null

# Each line is a command that does its work on a tiny file.
starts=(
    "/bin/true"
    "jq -c . $tiny"
    "$bin/ctx-count --encoding chars4 $tiny"
    "$bin/ctx-count $tiny"
    "$bin/ctx-split $tiny"
    "$bin/ctx-summarize $work/tagged.jsonl"
    "$bin/ctx-extract $tiny"
    "$bin/ctx-snapshot --list ${store[*]}"
    "$bin/ctx-rollback -n -s tiny --snapshot latest --to - ${store[*]}"
    "$bin/ctx-gc -n ${store[*]}"
)
for ((at = 0; at < ${#starts[@]}; at++)); do : >"$work/start.$at"; done
for ((run = 0; run < STARTS; run++)); do
    for ((at = 0; at < ${#starts[@]}; at++)); do
        # The words of a command are its arguments.
        # shellcheck disable=SC2086
        clock ${starts[at]} >>"$work/start.$at"
    done
done
base=$(median "$work/start.0")
printf '\n| start-up on a tiny file | ms, median of %s | ms over `/bin/true` | peak MB |\n|---|--:|--:|--:|\n' "$STARTS"
for ((at = 0; at < ${#starts[@]}; at++)); do
    took=$(median "$work/start.$at")
    label=${starts[at]//"$bin/"/}
    label=${label//"$work/"/}
    # shellcheck disable=SC2086
    row "$label" "$took" "$(ms $((took - base)))" "$(peak ${starts[at]})"
done
