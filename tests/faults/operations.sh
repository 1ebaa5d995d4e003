# The operations that are swept. Each seed_NAME makes files in $tmp/work and sets
#   command  what is run, in $tmp/work (empty: the tool is not built)
#   old new  the hash of live.jsonl before and after (equal where it does not change)
#   keep     hashes of bytes that must exist in committed snapshots afterwards
#   exist    hashes of bytes that must exist somewhere in the store, trash included
#   listed   number of snapshots after the run that follows the fault
# shellcheck shell=bash disable=SC2034,SC2154

operations='first snapshot stdin hold rollback undo restore gc undelete purge forget extract offload compact'
controls='control_in_place control_no_snapshot'

ids() { "$bin/ctx-snapshot" --store "$tmp/work/store" "$@"; }
hash_of() { sha256sum "$1" | cut -d' ' -f1; }
line() { printf '{"role":"%s","content":"%s"}\n' "$1" "$2"; }

# A live session of so many messages.
live() {
    local n
    for n in $(seq "$1"); do line user "question $n"; line assistant "we decided on answer $n"; done >"$tmp/work/live.jsonl"
    hash_of "$tmp/work/live.jsonl"
}

seed_first() {
    old=$(live 3); new=$old keep=$old exist= listed=1
    command=("$bin/ctx-snapshot" --store "$tmp/work/store" -s demo live.jsonl)
}

seed_snapshot() {
    exist=$(live 2); ids -s demo "$tmp/work/live.jsonl" >/dev/null || return
    old=$(live 3); new=$old keep="$exist $old" listed=2
    command=("$bin/ctx-snapshot" --store "$tmp/work/store" -s demo live.jsonl)
}

seed_stdin() {
    seed_snapshot || return
    cp "$tmp/work/live.jsonl" "$tmp/work/stdin"
    command=("$bin/ctx-snapshot" --store "$tmp/work/store" -s demo)
}

seed_hold() {
    seed_snapshot || return
    keep=$exist listed=1
    command=("$bin/ctx-snapshot" --store "$tmp/work/store" --hold 1)
}

seed_rollback() {
    new=$(live 2); ids -s demo "$tmp/work/live.jsonl" >/dev/null || return
    old=$(live 4); keep="$new" exist="$old" listed=2
    command=("$bin/ctx-rollback" --store "$tmp/work/store" -s demo --snapshot 1 live.jsonl)
}

seed_undo() {
    seed_rollback || return
    (cd "$tmp/work" && "${command[@]}") || return
    keep="$old $new"; exist=$keep
    old=$new; new=${keep%% *}; listed=3
    command=("$bin/ctx-rollback" --store "$tmp/work/store" -s demo --snapshot 2 live.jsonl)
}

seed_restore() {
    seed_rollback || return
    rm "$tmp/work/live.jsonl"
    old=none keep=$new exist=$new listed=1
}

# Four snapshots, one of them in the trash for longer than its grace.
seed_gc() {
    local n bin_of
    keep= exist=
    for n in 1 2 3 4; do
        old=$(live "$n"); ids -s demo "$tmp/work/live.jsonl" >/dev/null || return
        [ "$n" = 1 ] || exist="$exist $old"
    done
    new=$old keep=$old listed=1
    "$bin/ctx-gc" --store "$tmp/work/store" -q --keep-last 3 >/dev/null || return
    bin_of=$(ls "$tmp/work/store/trash")
    mv "$tmp/work/store/trash/$bin_of" "$tmp/work/store/trash/20200101T000000.000000Z-0000"
    command=("$bin/ctx-gc" --store "$tmp/work/store" --keep-last 1)
}

seed_undelete() {
    seed_gc || return
    exist=; keep=$old listed=4
    command=("$bin/ctx-gc" --store "$tmp/work/store" --undelete 1)
}

seed_purge() {
    seed_gc || return
    listed=3
    command=("$bin/ctx-gc" --store "$tmp/work/store" --purge)
}

seed_forget() {
    seed_gc || return
    keep= exist= listed=0
    command=("$bin/ctx-gc" --store "$tmp/work/store" --forget -s demo)
}

# What a compaction makes of the session is the same each time.
seed_compact() {
    local n
    for n in $(seq 12); do
        line user "question $n: $(seq -s' ' 60)"; line assistant "we decided on answer $n: $(seq -s' ' 60)"
    done >"$tmp/work/live.jsonl"
    old=$(hash_of "$tmp/work/live.jsonl") keep= exist= listed=1 command=()
    [ -x "$bin/ctx-compact" ] || return 0
    command=("$bin/ctx-compact" --store "$tmp/work/store" -s demo --preset sanbot --keep-messages 4 live.jsonl)
    cp "$tmp/work/live.jsonl" "$tmp/before"
    (cd "$tmp/work" && "${command[@]}") >/dev/null || return
    new=$(hash_of "$tmp/work/live.jsonl") keep=$old
    rm -rf "$tmp/work/store" && mv "$tmp/before" "$tmp/work/live.jsonl"
    [ "$old" != "$new" ]
}

# Into memory that somebody has written into; nothing of theirs may go.
seed_extract() {
    seed_snapshot || return
    listed=1 keep=$exist command=()
    [ -x "$bin/ctx-extract" ] || return 0
    mkdir -p "$tmp/work/memory/extracted"
    echo "- mine, for ever" >"$tmp/work/memory/extracted/decisions.md"
    cp "$tmp/work/live.jsonl" "$tmp/work/stdin"
    command=("$bin/ctx-extract" --into memory -s demo)
    cp -a "$tmp/work/memory" "$tmp/before"
    (cd "$tmp/work" && "${command[@]}") <"$tmp/work/stdin" >/dev/null || return
    memory=$(memory_hash)
    rm -rf "$tmp/work/memory" && mv "$tmp/before" "$tmp/work/memory"
    [ "$memory" != "$(memory_hash)" ] # It does write something.
}
memory_hash() { (cd "$tmp/work/memory" && find . -name '*.md' -type f | sort | xargs sha256sum) | sha256sum; }

# Large results leave the live file; what is in it then must be there to be put back.
seed_offload() {
    { live 2 >/dev/null; cat "$tmp/work/live.jsonl"
      printf '{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]}\n'
      printf '{"role":"tool","tool_call_id":"c","content":"%s"}\n' "$(seq -s' ' 900)"; } >"$tmp/before"
    cp "$tmp/before" "$tmp/work/live.jsonl"
    old=$(hash_of "$tmp/work/live.jsonl") exist= listed=1
    keep=$old command=()
    [ -x "$bin/ctx-offload" ] || return 0
    command=("$bin/ctx-offload" --store "$tmp/work/store" -s demo --min-tokens 500 live.jsonl -o live.jsonl)
    (cd "$tmp/work" && "${command[@]}") || return
    new=$(hash_of "$tmp/work/live.jsonl")
    rm -rf "$tmp/work/store" && mv "$tmp/before" "$tmp/work/live.jsonl"
    [ "$old" != "$new" ] # It does take something out.
}
put_back() { "$bin/ctx-offload" --store "$tmp/work/store" -s demo --restore "$tmp/work/live.jsonl" 2>/dev/null | sha256sum | cut -d' ' -f1; }

# What people write instead. The first one even saves the file before it cuts it
# to nothing and fills it again.
seed_control_in_place() {
    seed_rollback || return
    cp "$tmp/work/store/memory/session-summaries/"*-0001.jsonl "$tmp/work/new"
    command=(sh -c 'cp live.jsonl saved.jsonl && cat new > live.jsonl')
    listed=1
}

# Renamed properly, but nobody kept what was there.
seed_control_no_snapshot() {
    seed_control_in_place || return
    command=(sh -c 'cp new live.tmp && mv live.tmp live.jsonl')
}
