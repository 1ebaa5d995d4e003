#!/usr/bin/env bash
# Runs every tool of two builds on the same sessions and compares stdout, stderr, the exit status
# and every file that exists afterwards, byte for byte.
#
#   tests/same.sh [OPTIONS] OLD_BIN NEW_BIN [TRANSCRIPTS]
#
# OLD_BIN and NEW_BIN are directories with the tools, such as target/release. TRANSCRIPTS is a
# directory with session files [default: $CTX_TRANSCRIPTS, or examples/ if it is not set].
#
#   --all             all sessions instead of a sample of five per folder, spread over the sizes
#   --jobs N          N sessions at a time [default: one per core]
#   --only REGEX      only commands that match, and the commands that they depend on
#   --expect FILE     intended differences: each line is a regex, which is matched against the
#                     line that reports the difference; lines that begin with # are comments
#   --rename OLD=NEW  a renamed flag: the old build gets the word OLD instead of NEW
#
# Prints one line per difference: the session, the command, the output that differs, and the first
# line of the difference. The exit status is 0 if all differences are expected, 1 if others are
# found, and 2 after a usage error.
#
# Values that differ between two runs of one build are not compared: times of the run, process ids,
# and hashes of these. Each session gets a directory whose path is the same for both builds, because
# session ids depend on it. No server is asked, so the answers of a model are not compared.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
per_folder=5
all=
only=.
expect=
renames=()
jobs=$(nproc 2> /dev/null || echo 2)

fail() {
    echo "same.sh: $1" >&2
    exit 2
}

while [[ ${1:-} == --* ]]; do
    case $1 in
        --all) all=1; shift; continue ;;
        --jobs | --only | --expect | --rename) [ $# -ge 2 ] || fail "$1 needs a value" ;;
        *) fail "unknown option $1" ;;
    esac
    case $1 in
        --jobs) jobs=$2 ;;
        --only) only=$2 ;;
        --expect) expect=$2 ;;
        --rename) renames+=("$2") ;;
    esac
    shift 2
done
[ $# -eq 2 ] || [ $# -eq 3 ] || fail "usage: tests/same.sh [OPTIONS] OLD_BIN NEW_BIN [TRANSCRIPTS]"
[ -x "$1/ctx-count" ] && [ -x "$2/ctx-count" ] || fail "no tools in $1 or in $2"
[ -z "$expect" ] || [ -r "$expect" ] || fail "cannot read $expect"
old=$(cd "$1" && pwd)
new=$(cd "$2" && pwd)
transcripts=$(cd "${3:-${CTX_TRANSCRIPTS:-$root/examples}}" && pwd) || exit 2

# Use a file system in memory if possible, because every command that changes a file calls fsync.
base=${TMPDIR:-/tmp}
[ -w /dev/shm ] && base=/dev/shm
tmp=$(mktemp -d "$base/ctx-same.XXXXXX") || exit 2
trap 'chmod -R u+w "$tmp"; rm -rf "$tmp"' EXIT

# Of the caller's environment the tools only get the path of programs.
for name in $(compgen -e CTX_) XDG_STATE_HOME XDG_CONFIG_HOME; do unset "$name"; done
export LC_ALL=C TZ=UTC NO_COLOR=1
shopt -s globstar dotglob nullglob

# The presets that the old build has, too.
presets=
for name in "$root"/presets/*.toml; do
    name=$(basename "$name" .toml)
    "$old/ctx-compact" --show-preset "$name" > /dev/null 2>&1 && presets+=" $name"
done

# The dates of today, and of tomorrow in case a run passes midnight.
today=$(date -u +%F)
tomorrow=$(date -u -d tomorrow +%F 2> /dev/null || echo "$today")
normal="s/${today%%-*}[0-9]{4}T[0-9]{6}(\.[0-9]+)?Z(-[0-9]+\.)?/TIME\2/g
s/TIME-[0-9]+\./TIME-PID./g
s/($today|$tomorrow)(T[0-9:]{8}(\.[0-9]+)?Z)?/DATE/g
s/\"pid\":[0-9]+/\"pid\":PID/g
s/\"(meta_sha256|prev)\":\"[0-9a-f]{64}\"/\"\1\":HASH/g"

. "$root/tests/same_commands.sh"

# --- Running one build on one session ----------------------------------------------------

# Makes a fresh directory with the session. The time of the session file is the same for both
# builds, and long ago.
fresh() {
    cd "$place" && chmod -R u+w work 2> /dev/null
    rm -rf work && mkdir -p work/tmp && cd work || exit 2
    cp "$session" s.jsonl && chmod 644 s.jsonl && touch -d '2020-01-02 03:04:05' s.jsonl
    export HOME=$PWD CTX_HOME=$PWD/store TMPDIR=$PWD/tmp
}

# Prints the modes and names of all files under the directory, and then their contents.
files() {
    local all=(**) plain=() path
    for path in "${all[@]}"; do [ -f "$path" ] && plain+=("$path"); done
    stat -c '%A %N' -- "${all[@]}"
    tail -v -c +1 -- "${plain[@]}"
}

# Runs a command line and stores its outputs.
run() {
    [[ $1 =~ $only ]] || return 0
    number=$((number + 1))
    local log=$logs/$(printf %04d "$number") line=$1 rename
    echo "$line" > "$log.command"
    if [ "$build" = old ]; then
        for rename in ${renames[@]+"${renames[@]}"}; do
            line=${line//"${rename#*=}"/"${rename%%=*}"}
        done
    fi
    (set -o pipefail; eval "$line") > "$log.stdout" 2> "$log.stderr" < /dev/null
    echo $? > "$log.status"
}

# Runs a command line like `run`, and also stores the files, so that they are compared.
change() {
    local before=$number
    run "$1"
    [ "$number" -eq "$before" ] || files > "$logs/$(printf %04d "$number").files"
}

# Runs a command that later commands need, whatever --only says.
need() {
    local only=.
    change "$1"
}

# --- Comparing --------------------------------------------------------------------------

different() { # prints the names of the outputs that differ
    diff -rq "$place/old" "$place/new" | sed -nE 's|^Files .*/([0-9]+\.[a-z]+) differ$|\1|p'
}

compare() { # NAME: prints a line per difference
    local output first
    # Only the outputs that differ are normalized, because the others are already equal.
    (cd "$place" && different | sed 's|.*|old/&\nnew/&|' | xargs -r sed -E -i "$normal")
    for output in $(different); do
        first=$(diff -a "$place/old/$output" "$place/new/$output" |
            grep -a '^[0-9<>]' | head -n 3 | cut -c 1-300 | tr '\n' ' ')
        echo "$1: $(cat "$place/new/${output%.*}.command"): ${output#*.}: $first"
    done
    cat "$place/new"/*.status | wc -l > "$place.count"
}

one() { # NUMBER SESSION
    place=$tmp/$1 session=$2
    for build in old new; do
        logs=$place/$build number=0
        mkdir -p "$logs"
        (PATH=${!build}:$PATH; commands)
    done
    local name=${session#"$transcripts"/}
    name=${name#"$root"/}
    compare "${name#"$tmp"/}" > "$place.differences"
    chmod -R u+w "$place"
    rm -rf "$place"
}

# --- Choosing the sessions ---------------------------------------------------------------

# Prints a few of the names on stdin at equal distances, including the first and the last one.
spread() {
    awk -v wanted="$per_folder" '{ name[NR] = $0 }
        END {
            if (NR <= wanted) { for (i = 1; i <= NR; i++) print name[i]; exit }
            for (i = 0; i < wanted; i++) print name[1 + int(i * (NR - 1) / (wanted - 1))]
        }'
}

choose() {
    find "$transcripts" -type d | sort | while read -r folder; do
        find "$folder" -maxdepth 1 -name '*.jsonl' -printf '%s %p\n' | sort -n | cut -d ' ' -f 2- |
            if [ "$all" ]; then cat; else spread; fi
    done
    printf '%s\n' "$root"/tests/llm/{chat,anthropic}.jsonl "$tmp/damaged.jsonl"
}

# Makes a damaged session: a broken line, a call without a result, a result without a call, an empty
# reply, and a last line that is still being written.
damage() {
    sed -e '5a{"role":"user","content":' \
        -e '0,/"role": *"tool"/{/"role": *"tool"/d}' \
        -e '9a{"role":"tool","tool_call_id":"nobody","content":"to no call"}' \
        -e '12a{"role":"assistant","content":""}\n\n[1]' "$root/examples/session.jsonl"
    printf '{"role":"user","con'
}

damage > "$tmp/damaged.jsonl"
choose > "$tmp/sessions"

running=0
number=0
while read -r session; do
    number=$((number + 1))
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    one "$number" "$session" &
    running=$((running + 1))
done < "$tmp/sessions"
wait

# --- The report --------------------------------------------------------------------------

cat "$tmp"/*.differences > "$tmp/differences"
# The file needs at least one pattern, because without patterns grep counts nothing.
echo 'never in a report' > "$tmp/patterns"
[ -z "$expect" ] || grep -vE '^(#|$)' "$expect" >> "$tmp/patterns"
expected=$(grep -acEf "$tmp/patterns" "$tmp/differences")
grep -avEf "$tmp/patterns" "$tmp/differences"
others=$(grep -acvEf "$tmp/patterns" "$tmp/differences")
while read -r pattern; do
    grep -qaE -e "$pattern" "$tmp/differences" || echo "no difference is like this any more: $pattern"
done < <(tail -n +2 "$tmp/patterns")
count=$(awk '{ n += $1 } END { print n }' "$tmp"/*.count)
echo "$count commands on $number sessions: $others differences, expected: $expected"
[ "$others" -eq 0 ]
