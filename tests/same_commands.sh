# The commands of tests/same.sh, run in a directory with the session s.jsonl.
#
# run COMMAND      compares stdout, stderr and the exit status
# change COMMAND   compares the files of the directory, too
# need COMMAND     is like change, but also runs if --only leaves it out
# fresh            begins with a new directory and an empty store
#
# Commands that write nothing use `run`. The last one of such a list uses `change`, which shows that
# none of them has written anything.
# shellcheck shell=bash disable=SC2016 # Commands are text, expanded when they run.

commands() {
    fresh
    need 'printf "{\"messages\":[" > b.jsonl; grep -v "^ *$" s.jsonl | paste -sd, | tr -d "\n" >> b.jsonl; echo "]}" >> b.jsonl; cat b.jsonl >> b.jsonl.2; cat b.jsonl.2 >> b.jsonl; rm b.jsonl.2'
    count
    check
    split
    prune
    summarize
    extract_and_score
    offload
    snapshots
    compact
}

count() {
    local encoding by
    for by in '' '--by role' '--by kind' '--by tool'; do
        run "ctx-count $by s.jsonl"
        run "ctx-count $by --json s.jsonl"
        run "ctx-count $by s.jsonl s.jsonl -"
        run "ctx-count $by --batch b.jsonl"
    done
    for encoding in o200k_base o200k_harmony cl100k_base p50k_base r50k_base chars4; do
        run "ctx-count --encoding $encoding s.jsonl"
        run "ctx-count --encoding $encoding --text s.jsonl"
    done
    run 'ctx-count --annotate s.jsonl'
    run 'ctx-count --annotate --invalid drop < s.jsonl'
    run 'ctx-count --invalid fail s.jsonl'
    run 'ctx-count --model gpt-4o --json s.jsonl'
    run 'ctx-count --model claude-sonnet-4-5 --by kind s.jsonl'
    run 'ctx-count --dialect anthropic --json s.jsonl'
    run 'ctx-count no-such-file s.jsonl'
    change 'ctx-count -v --json --batch b.jsonl -o counted.json'
}

check() {
    local flags
    for flags in '' --all --strict --json '--all --json' '--all --format github' '--all --format junit' \
        '--max-tokens 1000 --max-messages 10 --max-tool-bytes 1000' '--strict --all' '-q' '-v --all --strict' \
        '--dialect anthropic --all' '--model gpt-4o --json'; do
        run "ctx-check $flags s.jsonl"
    done
    for flags in '' '--trigger-messages 10' '--trigger-tokens 4000' '--trigger-share 0.1' \
        '--set trigger.tool_bytes=2000' '--set trigger.turns=3' '--set trigger.reserve=120k' '--window 16000' --overflow \
        '--trigger-messages 5 --set trigger.min_messages=30' '--window 16000 --trigger-share 0.9 --set trigger.flush_share=0.3' \
        '--model gpt-4o --trigger-messages 80 --trigger-tokens 9k' '-q'; do
        run "ctx-check --due $flags s.jsonl"
        run "ctx-check --due --json $flags s.jsonl"
    done
    run 'ctx-check --batch --all b.jsonl'
    run 'ctx-check --due --batch --json b.jsonl'
    run 'ctx-check --repair s.jsonl'
    run 'ctx-check --json s.jsonl no-such-file'
    change 'ctx-check --repair --json s.jsonl -o repaired.jsonl'
}

split() {
    local flags
    for flags in '' '--keep-messages 5' '--keep-messages 0' '--keep-turns 2' '--keep-tokens 2000' \
        '--window 16000 --keep-share 0.3' '--keep-messages 3 --keep-turns 1 --keep-tokens 500' \
        '--keep-messages 4 --pin role:user' '--keep-turns 1 --pin line:3-5 --pin line:2' \
        "--keep-messages 2 --pin 're:(?i)error|错误|please'" '--keep-tokens 3000 --encoding cl100k_base' \
        '--keep-turns 2 --invalid drop' '--keep-turns 2 --invalid fail' '--dialect anthropic --keep-messages 4'; do
        run "ctx-split $flags s.jsonl"
        run "ctx-split $flags --only old s.jsonl"
    done
    run 'ctx-split --keep-turns 2 --only keep s.jsonl'
    run 'ctx-split --keep-turns 2 --only system s.jsonl'
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-split --strip'
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-split --strip --only old'
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-split --keep-messages 3'
    run 'ctx-count --annotate s.jsonl | ctx-split --keep-tokens 4000'
    run 'ctx-split --keep-turns 2 s.jsonl | head -n 3 | ctx-split --strip --only old'
    run 'ctx-split --keep-turns 2 s.jsonl | head -n 3 | ctx-split --strip --only old --partial'
    run 'ctx-split --batch --keep-messages 4 b.jsonl'
    run 'ctx-split --batch --keep-messages 4 b.jsonl | ctx-split --strip --batch'
    change 'ctx-split -v --keep-turns 3 s.jsonl -o split.jsonl'
}

prune() {
    local rule
    for rule in --trim '--trim --max-chars 500 --rescue-lines 3' '--trim --max-chars 300 --head-share 0.6 --tail-share 0.1' \
        --clear "--clear --placeholder gone --protect-last 0" '--clear --protect-last 1 --deny-tool "*a*"' \
        '--clear --allow-tool "*e*"' '--drop reasoning' '--drop empty' '--drop superseded' '--drop duplicates' \
        '--drop noise' '--drop reasoning,empty,superseded,duplicates,noise' '--max-argument-chars 100' \
        '--window-messages 10' '--window-messages 1' '--clear --min-gain 2000' '--clear --pin line:1-20' \
        '--clear --cache-ttl 5m' '--clear --cache-ttl 1h --last-call 2020-01-02T00:00:00Z' \
        '--trim --max-chars 400 --clear --drop superseded --drop noise --max-argument-chars 200 --window-messages 30 --protect-last 2' \
        '--trim --encoding cl100k_base --strict' '--clear --invalid drop' '--dialect anthropic --clear'; do
        run "ctx-prune $rule s.jsonl"
        run "ctx-prune -n $rule s.jsonl"
    done
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-prune --zone old --clear --protect-last 0'
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-prune --zone keep --trim --max-chars 200'
    run 'ctx-prune --batch --clear --trim --max-chars 500 b.jsonl'
    run 'ctx-prune s.jsonl'
    change 'ctx-prune -v --clear --protect-last 1 s.jsonl -o pruned.jsonl'
}

summarize() {
    local flags
    for flags in '' '--method rule' '--summary-tokens 200' '--summary-tokens 20' '--method rule --summary-tokens 150' \
        '--header "[Earlier]"' '--role assistant' '--role system --method rule' '--encoding cl100k_base --strict' \
        '--method llm' '--method llm --on-failure rule --template synapse' '--method llm --on-failure fail' \
        '--method llm --llm-url http://127.0.0.1:9 --llm-tries 1 --on-failure rule' \
        '--method llm --replay no-such-directory --llm-model small'; do
        run "ctx-split --keep-turns 2 s.jsonl | ctx-summarize $flags"
    done
    for flags in 1000 3000 8000 20000 60000 '4000 --keep-turns 2' '6000 --keep-messages 3 --pin role:user' \
        '5000 --keep-tokens 1500 --summary-tokens 300' '3000 --method rule' '8000 --header "[Earlier]" --role assistant' \
        '5000 --encoding cl100k_base' '4000 --method llm' '4000 --invalid drop' '3000 --dialect anthropic'; do
        run "ctx-summarize --budget $flags s.jsonl"
    done
    run 'ctx-summarize s.jsonl'
    run 'ctx-split --keep-turns 2 s.jsonl | head -n 4 | ctx-summarize'
    run 'ctx-split --keep-turns 2 s.jsonl | head -n 4 | ctx-summarize --partial'
    run 'ctx-split --keep-messages 10 s.jsonl | ctx-summarize | ctx-split --keep-messages 3 | ctx-summarize --summary-tokens 400'
    run 'ctx-summarize --budget 6000 s.jsonl | ctx-summarize --budget 3000'
    run 'ctx-split --batch --keep-messages 4 b.jsonl | ctx-summarize --batch'
    run 'ctx-split --batch --keep-messages 4 b.jsonl | ctx-summarize --batch --method rule --summary-tokens 100'
    run 'ctx-summarize --batch --budget 3000 b.jsonl'
    change 'ctx-split --keep-turns 3 s.jsonl | ctx-summarize -v -s demo -o summed.jsonl'
    change 'ctx-split --keep-turns 1 s.jsonl | ctx-summarize -v -s demo --method rule -o summed.jsonl'
}

extract_and_score() {
    local flags
    for flags in '' '--kind decision' '--kind fact --kind preference' '--kind runtime' '--zone all' '--zone keep' \
        '-s demo' '--invalid drop' '--dialect anthropic'; do
        run "ctx-extract $flags s.jsonl"
    done
    run 'ctx-split --keep-turns 2 s.jsonl | ctx-extract'
    run 'ctx-extract --batch b.jsonl'
    change 'ctx-extract --into memory s.jsonl'
    change 'ctx-split --keep-turns 3 s.jsonl | ctx-extract -s demo --into-store -o passed.jsonl'
    change 'ctx-extract -s demo --into-store s.jsonl'

    need 'ctx-summarize --budget 5000 s.jsonl -o after.jsonl'
    for flags in '' --json '--list lost' '--list retained' '--list recoverable --json' '--min 0.9' \
        '--future s.jsonl' '--future s.jsonl --window-tokens 1000 --json'; do
        run "ctx-score $flags s.jsonl after.jsonl"
    done
    run 'head -n 30 s.jsonl | ctx-summarize --budget 2000 | ctx-score --json --future s.jsonl <(head -n 30 s.jsonl) -'
    change 'ctx-score s.jsonl s.jsonl'
}

offload() {
    fresh
    run 'ctx-offload -n s.jsonl'
    run 'ctx-offload -n --min-tokens 100 --protect-last 5 s.jsonl'
    change 'ctx-offload --min-tokens 100 --enough 1000 s.jsonl -o some.jsonl'
    change 'ctx-offload -v -s demo --min-tokens 200 --reference "see {path} ({sha256}, {tokens}, {bytes})" s.jsonl -o other.jsonl'
    need 'ctx-offload --min-tokens 100 s.jsonl -o s.jsonl'
    run 'ctx-count s.jsonl'
    run 'ctx-offload --show "$(ls store/offloaded/*/*.txt | head -n 1)"'
    run 'ctx-offload --show "$(ls store/offloaded/*/*.txt | head -n 1 | xargs -r basename | cut -c 1-12)"'
    run 'ctx-offload --show 000000000000'
    run 'ctx-gc -n --json'
    change 'ctx-offload --restore s.jsonl -o restored.jsonl'
    change 'ctx-offload --restore -s demo --reference "see {path} ({sha256}, {tokens}, {bytes})" other.jsonl -o again.jsonl'
    need 'rm -f "$(ls store/offloaded/*/*.txt | head -n 1)"'
    change 'ctx-offload --restore s.jsonl -o s.jsonl'
}

snapshots() {
    fresh
    need 'ctx-snapshot s.jsonl'
    need 'ctx-snapshot -s demo < s.jsonl'
    need 'echo "{\"role\":\"user\",\"content\":\"One more.\"}" >> s.jsonl; touch -d 2020-01-03 s.jsonl'
    need 'ctx-snapshot --count -s demo s.jsonl'
    need 'ctx-snapshot s.jsonl'
    run 'ctx-snapshot --list'
    run 'ctx-snapshot --list --json -s demo'
    run 'ctx-snapshot --show 1'
    run 'ctx-snapshot --diff 1 4'
    run 'ctx-snapshot --diff 2 latest -s demo'
    run 'ctx-snapshot --verify'
    change 'ctx-snapshot --hold 2'
    change 'ctx-snapshot --release 2'
    change 'ctx-rollback -n --snapshot latest s.jsonl'
    change 'ctx-rollback --snapshot 1 s.jsonl'
    change 'ctx-rollback --undo s.jsonl'
    change 'ctx-rollback --undo s.jsonl'
    change 'ctx-rollback -s demo --snapshot 2 --to copy.jsonl'
    run 'ctx-rollback -s demo --snapshot 2 --to -'
    run 'ctx-rollback --snapshot no-such s.jsonl'
    run 'ctx-gc -n'
    run 'ctx-gc -n -v --keep-last 1'
    run 'ctx-gc -n --json --keep-last 1'
    run 'ctx-gc -n --keep-hourly 1 --keep-daily 2 --keep-weekly 1 --keep-monthly 1 --keep-yearly 1'
    run 'ctx-gc -n --keep-within 14d'
    run 'ctx-gc -n --keep-last 0'
    change 'ctx-gc -n --keep-last 1 --no-floor -s demo'
    change 'ctx-gc --keep-last 1'
    change 'ctx-gc --undelete 1'
    change 'ctx-gc --json --keep-last 1'
    change 'ctx-gc --purge'
    change 'ctx-gc --forget -s demo'
}

compact() {
    local preset mode window flags
    for preset in $presets; do
        run "ctx-compact --show-preset $preset"
        run "ctx-compact --preset $preset --if-due < s.jsonl"
        for mode in '' summary_only summary_plus_prune prune_only; do
            for window in '' 16000; do
                flags="--preset $preset${mode:+ --set mode=$mode}${window:+ --window $window}"
                fresh
                run "ctx-compact $flags < s.jsonl"
                run "ctx-compact $flags -n s.jsonl"
                change "ctx-compact $flags --json s.jsonl"
                change "ctx-compact $flags --json s.jsonl"
            done
        done
        for flags in '--budget 1000' '--budget 4000' '--budget 20000 --json' '--set target.max_attempts=1 --json' \
            '--keep-turns 2 --score --json' '--keep-messages 4 --summary-tokens 200 --method rule'; do
            fresh
            change "ctx-compact --preset $preset $flags s.jsonl"
            change "ctx-compact --preset $preset $flags --force s.jsonl"
        done
    done
    compact_by_flags
}

compact_by_flags() {
    local flags
    for flags in '--if-due --trigger-messages 5' '--if-due --trigger-tokens 1000000' '--if-due --set trigger.turns=2 --json' \
        '--if-due --set trigger.tool_bytes=100 -v' '--if-due --set trigger.reserve=126k' '--if-due --overflow' \
        '--if-due --trigger-messages 5 --set trigger.min_messages=1000' '--target-tokens 1000 --json' \
        '--target-tokens 10 --set target.max_attempts=1 --json' '--keep-tokens 500 --pin role:user' \
        '--method llm' '--method llm --llm-url http://127.0.0.1:9 --llm-tries 1 --json' \
        '--set "summary.header=[Earlier]" --set summary.role=assistant' '--set prune.cache_ttl=5m --set mode=prune_only' '--set summary.extract=true --json' \
        '--set summary.extract=false --score=false --json' '--set summary.safeguard=true --method llm' '--invalid drop' '--dialect anthropic' \
        '--encoding cl100k_base --json' '--model gpt-4o' '-q' '-s demo'; do
        fresh
        change "ctx-compact $flags s.jsonl"
        change "ctx-compact $flags s.jsonl"
        run "ctx-compact $flags < s.jsonl"
    done
    fresh
    need 'ctx-compact --keep-messages 2 --json s.jsonl'
    change 'ctx-rollback --undo s.jsonl'
    fresh
    change 'ctx-compact --keep-messages 2 s.jsonl -o elsewhere.jsonl'
    change 'ctx-compact s.jsonl no-such-file'
    run 'ctx-compact --preset no-such s.jsonl'
}
