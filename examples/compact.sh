#!/usr/bin/env bash
# Shortens a session the long way: snapshot | split | extract | summarize.
# Then shows that the snapshot brings the session back byte for byte.
#
#   examples/compact.sh [SESSION.jsonl]
#
# CTX_KEEP_TURNS says how many turns stay as they are (6). The session itself is
# not changed: everything is written to a temporary folder that is left there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$here")
session=${1:-$here/session.jsonl}
keep=${CTX_KEEP_TURNS:-6}

if [ ! -r "$session" ]; then
    echo "compact.sh: cannot read $session" >&2
    exit 2
fi
session=$(cd "$(dirname "$session")" && pwd)/$(basename "$session")

# In a checkout the tools are built first; elsewhere they are taken from PATH.
if [ -f "$root/Cargo.toml" ] && [ -z "${CTX_BIN:-}" ]; then
    CTX_BIN=${CARGO_TARGET_DIR:-$root/target}/release
    if [ ! -x "$CTX_BIN/ctx-summarize" ]; then
        crates=$(cd "$root" && cargo tree --locked -p ctx-tools --edges normal,build --prefix none | sed 's/ (.*//' | sort -u | wc -l)
        echo "building the tools for the first time: $crates crates, a few minutes on two cores;" >&2
        echo "cargo says below how far it is. The next time nothing is left to build." >&2
    fi
    (cd "$root" && cargo build --release --locked --bins -p ctx-tools) >&2
fi
PATH=${CTX_BIN:+$CTX_BIN:}$PATH

work=$(mktemp -d "${TMPDIR:-/tmp}/ctx-compact.XXXXXX")
export CTX_HOME=$work/store

ctx-snapshot -s example < "$session" |
    ctx-split --keep-turns "$keep" |
    ctx-extract -s example --into "$work/memory" |
    ctx-summarize --method rule -o "$work/new.jsonl"

echo "before and after: messages, tokens, bytes"
cp "$session" "$work/before.jsonl"
(cd "$work" && ctx-count before.jsonl new.jsonl)

ctx-rollback -s example latest --to "$work/restored.jsonl"
cmp "$session" "$work/restored.jsonl"
echo
echo "rollback gives back the exact bytes: $work/restored.jsonl"
echo "the shortened session:               $work/new.jsonl"
echo "what was extracted:                  $work/memory/extracted/"
echo "the snapshot:                        $CTX_HOME"
