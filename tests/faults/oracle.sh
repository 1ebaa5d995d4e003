# What must hold after any fault. Prints what does not; status 0 when all holds.
# shellcheck shell=bash disable=SC2154

live_hash() { if [ -e "$tmp/work/live.jsonl" ]; then hash_of "$tmp/work/live.jsonl"; else echo none; fi; }

# Hashes of committed bytes, and of all bytes in the store.
committed() {
    local meta
    for meta in "$tmp/work/store/memory/session-summaries/"*.meta.json; do
        [ -e "$meta" ] && hash_of "${meta%.meta.json}.jsonl"
    done
    return 0
}
stored() {
    find "$tmp/work" -name '*.jsonl' -type f -exec sha256sum {} + | cut -d' ' -f1
}

# Each of the hashes in $1 is among the lines of $2.
among() {
    local hash
    for hash in $1; do grep -qx "$hash" <<<"$2" || return 1; done
}

leftovers() { find "$tmp/work" \( -name '*.ctx-tmp-*' -o -name '*.ctx-old-*' \) ! -path '*/trash/*'; }

consistent() {
    local live all
    live=$(live_hash)
    [ "$live" = "$old" ] || [ "$live" = "$new" ] || { echo "live is neither old nor new"; return 1; }
    all=$(stored; echo "$live"; echo none; [ "$operation" != offload ] || put_back)
    among "$old" "$all" || { echo "the old bytes are lost"; return 1; }
    among "$exist" "$all" || { echo "bytes are lost from the store"; return 1; }
    [ "$operation" != extract ] || grep -qx -- "- mine, for ever" "$tmp/work/memory/extracted/decisions.md" ||
        { echo "what somebody wrote is lost"; return 1; }
    [ ! -e "$tmp/work/store" ] || "$bin/ctx-snapshot" --store "$tmp/work/store" --verify --read-data >/dev/null 2>&1 ||
        { echo "--verify finds damage"; return 1; }
}

oracle() { # FAULT
    local live
    consistent || return 1
    live=$(live_hash)
    case $status in
        0 | 3 | 137) ;;
        2 | 4) [ "$live" = "$old" ] || { echo "exit $status, but live has changed"; return 1; } ;;
        5) [ "$live" = "$new" ] || { echo "exit 5, but live is old"; return 1; } ;;
        127) [ "$1" != signal=KILL ] || { echo "exit 127"; return 1; } ;; # the loader failed
        *) echo "exit $status: $(tail -c 300 "$tmp/err")"; return 1 ;;
    esac
    # What a filter passes on is saved.
    if [ "$operation" = stdin ] && [ -s "$tmp/out" ] && ! among "$new" "$(committed)"; then
        echo "it passed on what is not saved"; return 1
    fi
    # The next run, without a fault, gets there and cleans up.
    (cd "$tmp/work" && "${command[@]}") >"$tmp/out" 2>"$tmp/err" <"$tmp/work/stdin"
    status=$?
    case $operation$status in
        *0 | undelete2) ;; # it may be back already
        *) echo "the next run ends with $status: $(tail -c 300 "$tmp/err")"; return 1 ;;
    esac
    consistent || return 1
    [ "$(live_hash)" = "$new" ] || { echo "the next run does not get there"; return 1; }
    among "$keep" "$(committed; case $operation in control*) live_hash ;; esac)" || { echo "a snapshot is missing"; return 1; }
    [ -z "$(leftovers)" ] || { echo "left: $(leftovers | head -3)"; return 1; }
    [ "$operation" != forget ] || ! find "$tmp/work/store" -name 'demo-*' | grep -q . || { echo "not all is forgotten"; return 1; }
    [ "$operation" != extract ] || [ "$(memory_hash)" = "$memory" ] || { echo "the memory is not what it should be"; return 1; }
    local found
    found=$(ids --list 2>/dev/null | wc -l)
    case $operation in
        # A run that was killed after its commit has committed one more.
        first | snapshot | stdin | rollback | undo | restore | offload | compact) [ "$found" -ge "$listed" ] && [ "$found" -le $((listed + 1)) ] ;;
        *) [ "$found" = "$listed" ] ;;
    esac || { echo "$found snapshots instead of $listed"; return 1; }
}
