#!/usr/bin/env bash
# Kills each tool that changes files at every call that changes something, and
# makes every such call fail, one at a time; then asks the oracle whether a
# single byte is lost. The naive controls must be caught by the same oracle.
#
#   tests/faults/sweep.sh [--bin DIR] [--sample [N]] [--only OPERATION]
#
# --sample takes N points (4) of each operation and fault instead of all.
set -u
here=$(cd "$(dirname "$0")" && pwd)
bin=$here/../../target/debug
sample=0
only=
while [ $# -gt 0 ]; do
    case $1 in
        --bin) bin=$2; shift 2 ;;
        --sample)
            sample=4; shift
            case ${1:-} in [1-9]*) sample=$1; shift ;; esac ;;
        --only) only=$2; shift 2 ;;
        *) echo "sweep: unknown argument $1" >&2; exit 2 ;;
    esac
done
bin=$(cd "$bin" && pwd) || exit 2

if ! strace -f -o /dev/null true 2>/dev/null; then
    echo "sweep: skipped: strace is not here, or may not trace"
    exit 0
fi

# Memory where there is some: thousands of runs call fsync.
base=${TMPDIR:-/tmp}
[ -w /dev/shm ] && base=/dev/shm
tmp=$(mktemp -d "$base/ctx-sweep.XXXXXX") || exit 2
trap 'rm -rf "$tmp"' EXIT
export LC_ALL=C
unset CTX_HOME

calls='openat|write|pwrite64|writev|fsync|fdatasync|rename|renameat|renameat2|link|linkat|unlink|unlinkat|mkdir|mkdirat|rmdir|ftruncate|flock|copy_file_range|sendfile|fchmod|fchown|chmod'

. "$here/operations.sh"
. "$here/oracle.sh"

# Fresh copies of the seed; the paths stay the same, because meta.json has them.
reseed() { rm -rf "$tmp/work" && cp -a "$tmp/seed" "$tmp/work"; }

# The calls of one faultless run: "NUMBER NAME" a line.
points() {
    reseed
    (cd "$tmp/work" && strace -f -qq -o "$tmp/trace" "${command[@]}") >/dev/null 2>&1 <"$tmp/work/stdin"
    awk '{ sub(/\(.*/, "", $2); print $2 }' "$tmp/trace" | grep -xE "$calls" |
        awk '{ print ++n[$1], $1 }'
}

choose() { if [ "$sample" -gt 0 ]; then shuf -n "$sample" --random-source=<(yes "$1"); else cat; fi; }

# One run with one fault, and the judgement.
attempt() { # FAULT CALL NUMBER
    reseed
    (cd "$tmp/work" && strace -f -qq -o "$tmp/trace" -e "trace=$2" -e "inject=$2:$1:when=$3" \
        "${command[@]}") >"$tmp/out" 2>"$tmp/err" <"$tmp/work/stdin"
    status=$?
    oracle "$1"
}

sweep() { # OPERATION
    local operation=$1 fault number call done=0 bad=0
    points >"$tmp/points"
    for fault in signal=KILL error=EIO error=ENOSPC; do
        while read -r number call; do
            done=$((done + 1))
            if ! why=$(attempt "$fault" "$call" "$number"); then
                bad=$((bad + 1))
                [ "${expect_bad:-}" ] || echo "BAD $operation $fault $call $number: $why"
            fi
        done < <(choose "$operation$fault" <"$tmp/points")
    done
    echo "$operation: $done points, $bad bad"
    total=$((total + done))
    if [ "${expect_bad:-}" ]; then
        [ "$bad" -gt 0 ] || { echo "BAD $operation: the oracle does not catch it"; failures=$((failures + 1)); }
    else
        failures=$((failures + bad))
    fi
}

total=0
failures=0
for operation in $operations $controls; do
    [ -z "$only" ] || [ "$only" = "$operation" ] || continue
    expect_bad=
    case " $controls " in *" $operation "*) expect_bad=yes ;; esac
    rm -rf "$tmp/seed" "$tmp/work" "$tmp/trace"
    mkdir "$tmp/work" && : >"$tmp/work/stdin"
    # The seed is made where it will be used, then put aside.
    "seed_$operation" || { echo "sweep: cannot seed $operation" >&2; exit 2; }
    mv "$tmp/work" "$tmp/seed"
    if [ -z "${command[*]:-}" ]; then echo "$operation: skipped: no such tool"; continue; fi
    sweep "$operation"
done
echo "sweep: $total points, $failures failures"
[ "$failures" -eq 0 ]
