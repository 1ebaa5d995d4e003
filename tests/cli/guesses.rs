//! Commands that users of other tools may type, and the answers.

use std::fs;

use clap::Command;
use ctx_cli::help;
use ctx_testkit::Case;

use crate::{tool_path, tools};

/// Each row is a command line and its message, without the name of the tool.
#[rustfmt::skip]
const TOLD: &[(&str, &str)] = &[
    ("ctx-count -m gpt-4o s.jsonl", "there is no flag -m; did you mean --model? (ctx-count -h)"),
    ("ctx-count --tokenizer cl100k_base s.jsonl", "there is no flag --tokenizer; did you mean --encoding? (ctx-count -h)"),
    ("ctx-count -l s.jsonl", "there is no flag -l; ctx-count FILE counts the messages; ctx-count --annotate FILE | jq ._ctx.tokens prints the tokens of each one"),
    ("ctx-count -n s.jsonl", "there is no flag -n; it changes no session, so it needs no dry run"),
    ("ctx-count folder/", "folder/: is a directory; to read the session files in this folder: -r folder/"),
    ("ctx-count -R folder", "there is no flag -R; did you mean --recursive? (ctx-count -h)"),
    ("ctx-count --max-tokens 100 s.jsonl", "there is no flag --max-tokens; ctx-check --max-tokens N checks a limit"),
    ("ctx-count --format json s.jsonl", "there is no flag --format; did you mean --json? (ctx-count -h)"),
    ("ctx-count --csv s.jsonl", "there is no flag --csv; jq turns JSON into CSV: --json | jq -r '[.[]? | scalars] | @csv'"),
    ("ctx-count --encoding gpt2 s.jsonl", "--encoding cannot be \"gpt2\"; did you mean r50k_base? (use one of o200k_base, o200k_harmony, cl100k_base, p50k_base, r50k_base, chars4)"),
    ("ctx-count --encodng o200k_base s.jsonl", "there is no flag --encodng; did you mean --encoding? (ctx-count -h)"),
    ("ctx-compact --max-tokens 8k -n s.jsonl", "there is no flag --max-tokens; did you mean --budget? (ctx-compact -h)"),
    ("ctx-compact --keep 10 -n s.jsonl", "there is no flag --keep; did you mean --keep-messages or --keep-turns? (ctx-compact -h)"),
    ("ctx-compact --keep-last 10 -n s.jsonl", "there is no flag --keep-last; did you mean --keep-messages or --keep-turns? (ctx-compact -h)"),
    ("ctx-compact --undo s.jsonl", "there is no flag --undo; ctx-rollback --undo FILE undoes a compaction"),
    ("ctx-compact --tokens 8k s.jsonl", "there is no flag --tokens; did you mean --budget? (ctx-compact -h)"),
    ("ctx-compact -i s.jsonl", "there is no flag -i; it changes FILE in place and never asks; to pick one: ctx-ls --paths-only | fzf | xargs ctx-compact"),
    ("ctx-compact --in-place s.jsonl", "there is no flag --in-place; it changes FILE in place without a flag"),
    ("ctx-compact --summary llm s.jsonl", "there is no flag --summary; did you mean --method? (ctx-compact -h)"),
    ("ctx-compact -m gpt-4o -n s.jsonl", "there is no flag -m; did you mean --model? (ctx-compact -h)"),
    ("ctx-compact -r folder", "there is no flag -r; ctx-ls --due -0 DIR | xargs -0r ctx-compact --if-due compacts what is due in a folder"),
    ("ctx-compact -j 2 s.jsonl", "--jobs requires --batch; a single session is one job; for several files: printf '%s\\0' *.jsonl | xargs -0 -P 8 -n 1 ctx-compact"),
    ("ctx-compact --dryrun s.jsonl", "there is no flag --dryrun; did you mean --dry-run? (ctx-compact -h)"),
    ("ctx-compact --yes s.jsonl", "there is no flag --yes; it never asks, so there is nothing to confirm"),
    ("ctx-compact --threshold 0.8 s.jsonl", "there is no flag --threshold; did you mean --set trigger.share=0.8? (ctx-compact -h)"),
    ("ctx-compact --budget 80 s.jsonl", "--budget 80 is too small for any session; did you mean 80k?"),
    ("ctx-compact --budget 0 s.jsonl", "--budget 0 is too small for any session"),
    ("ctx-rollback s.jsonl 1", "the snapshot must come first; ctx-rollback 1 s.jsonl"),
    ("ctx-count 0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d", "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file"),
    ("ctx-compact --budget lots s.jsonl", "--budget \"lots\": expected a number such as 800, 8k or 2M"),
    ("ctx-compact --methd llm s.jsonl", "there is no flag --methd; did you mean --method? (ctx-compact -h)"),
    ("ctx-compact --method openai s.jsonl", "--method cannot be \"openai\"; did you mean llm, with --llm-url URL and --llm-api openai? (use one of extractive, rule, llm)"),
    ("ctx-compact --trigger-turns 4 s.jsonl", "there is no flag --trigger-turns; did you mean --set trigger.turns=N? (ctx-compact -h)"),
    ("ctx-compact --api-key KEY s.jsonl", "there is no flag --api-key; the key of a model's server comes from the variable CTX_LLM_KEY"),
    ("ctx-compact --url http://127.0.0.1 s.jsonl", "there is no flag --url; did you mean --llm-url? (ctx-compact -h)"),
    ("ctx-compact --list-presets", "there is no flag --list-presets; did you mean --show-preset? (ctx-compact -h)"),
    ("ctx-rollback latest", "no file is named; ctx-rollback latest FILE"),
    ("ctx-rollback 1", "no file is named; ctx-rollback 1 FILE"),
    ("ctx-ls codex", "there is no file codex; did you mean ctx-ls --agent codex?"),
    ("ctx-rollback s.jsonl", "no snapshot is named; ctx-rollback --undo s.jsonl undoes the last change, ctx-rollback latest s.jsonl restores the newest that no rollback saved; ctx-snapshot -l s.jsonl lists them"),
    ("ctx-rollback --latest s.jsonl", "there is no flag --latest; did you mean --snapshot latest? (ctx-rollback -h)"),
    ("ctx-rollback --list", "there is no flag --list; ctx-snapshot -l FILE lists the snapshots"),
    ("ctx-rollback -l s.jsonl", "there is no flag -l; ctx-snapshot -l FILE lists the snapshots"),
    ("ctx-rollback --last s.jsonl", "there is no flag --last; did you mean --snapshot latest? (ctx-rollback -h)"),
    ("ctx-rollback", "neither a snapshot nor a file is named; ctx-rollback ID FILE, or ctx-rollback --undo FILE (ctx-rollback -h)"),
    ("ctx-check --junit s.jsonl", "there is no flag --junit; did you mean --format junit? (ctx-check -h)"),
    ("ctx-stats --format prometheus", "there is no flag --format; did you mean --json, --html or --prometheus? (ctx-stats -h)"),
    ("ctx-compact --watch s.jsonl", "there is no flag --watch; docs/cookbook/cron.md shows how to run it regularly"),
    ("ctx-ls --latest", "there is no flag --latest; did you mean --limit 1? (ctx-ls -h)"),
    ("ctx-summarize --api openai s.jsonl", "there is no flag --api; did you mean --llm-api? (ctx-summarize -h)"),
    ("ctx-snapshot --show s.jsonl", "s.jsonl is a file, not a snapshot; ctx-snapshot --show latest s.jsonl"),
    ("ctx-snapshot --since 7d", "--list is missing; add --list"),
    ("ctx-ls --limit ten", "--limit \"ten\": expected a whole number"),
    ("ctx-count -j 0 s.jsonl", "--jobs \"0\": expected 1 or more"),
    ("ctx-convert --now today s.jsonl", "--now \"today\": expected a time such as 2026-01-01T00:00:00Z"),
    ("ctx-snapshot ls", "there is no file ls; did you mean ctx-snapshot --list?"),
    ("ctx-snapshot list", "there is no file list; did you mean ctx-snapshot --list?"),
    ("ctx-snapshot snapshots", "there is no file snapshots; did you mean ctx-snapshot --list?"),
    ("ctx-snapshot --restore 1 s.jsonl", "there is no flag --restore; ctx-rollback restores: ctx-rollback ID FILE"),
    ("ctx-snapshot --tag before s.jsonl", "there is no flag --tag; ctx-snapshot --hold ID keeps a snapshot; -s ID names the session"),
    ("ctx-snapshot diff s.jsonl", "there is no file diff; did you mean ctx-snapshot --diff?"),
    ("ctx-snapshot --delete 1", "there is no flag --delete; ctx-gc removes snapshots by rules, not one by one: ctx-gc --keep-last N -s ID"),
    ("ctx-gc --keep 5", "there is no flag --keep; did you mean --keep-last? (ctx-gc -h)"),
    ("ctx-gc -k 5", "there is no flag -k; did you mean --keep-last? (ctx-gc -h)"),
    ("ctx-gc --prune", "there is no flag --prune; it moves what no rule keeps into the trash without a flag; --purge empties the trash"),
    ("ctx-gc --older-than 30d", "there is no flag --older-than; did you mean --keep-days? (ctx-gc -h)"),
    ("ctx-gc -l", "there is no flag -l; did you mean --list-trash? (ctx-gc -h)"),
    ("ctx-gc -y", "there is no flag -y; it never asks, so there is nothing to confirm"),
    ("ctx-gc s.jsonl", "unexpected operand s.jsonl: the tool takes no files; name a session with -s ID; ctx-snapshot -l lists them"),
    ("ctx-split -n 4 s.jsonl", "unexpected operand s.jsonl: the tool takes one FILE; ctx-split marks records and writes no parts; a number after -n is read as FILE, because -n is a dry run; --keep-messages N keeps the last N messages"),
    ("ctx-split -l 10 s.jsonl", "there is no flag -l; did you mean --keep-messages? (ctx-split -h)"),
    ("ctx-split --keep 4 s.jsonl", "there is no flag --keep; did you mean --keep-messages or --keep-turns? (ctx-split -h)"),
    ("ctx-convert s.jsonl pi", "unexpected operand pi: the tool takes one FILE; did you mean --to pi? (ctx-convert -h)"),
    ("ctx-convert --from chat --to pi s.jsonl", "there is no flag --from; did you mean --dialect? (ctx-convert -h)"),
    ("ctx-convert -t pi s.jsonl", "there is no flag -t; did you mean --to? (ctx-convert -h)"),
    ("ctx-convert --to claude s.jsonl", "--to cannot be \"claude\"; did you mean claude-code for the agent, anthropic for the API? (use one of chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi, qwen)"),
    ("ctx-check s.jsonl --fix", "there is no flag --fix; to repair FILE itself: ctx-check --repair -o FILE FILE"),
    ("ctx-check --max s.jsonl", "there is no flag --max; did you mean --max-tokens, --max-messages, --max-tool-bytes or --max-bad-lines? (ctx-check -h)"),
    ("ctx-check --format xml s.jsonl", "--format cannot be \"xml\"; use one of text, json, github, junit"),
    ("ctx-stats -f json", "there is no flag -f; did you mean --json, --html or --prometheus? (ctx-stats -h)"),
    ("ctx-memory s.jsonl", "there is no command s.jsonl; use one of search, get, consolidate, inject"),
    ("ctx-memory find word", "there is no command find; did you mean search? (ctx-memory -h)"),
    ("ctx-memory serch word", "there is no command serch; did you mean search? (ctx-memory -h)"),
    ("ctx-memory search", "QUERY is missing; usage: ctx-memory search [OPTIONS] <QUERY>..."),
    ("ctx-memory search -l 5 word", "there is no flag -l; did you mean --limit? (ctx-memory search -h)"),
    ("ctx-memory search -n 5 word", "there is no flag -n; did you mean --limit? (ctx-memory search -h)"),
    ("ctx-prune -r s.jsonl", "there is no flag -r; it reads no folder; name the files: DIR/*.jsonl"),
    ("ctx-prune --drop thinking s.jsonl", "--drop cannot be \"thinking\"; did you mean reasoning? (use one of superseded, duplicates, noise, images, reasoning, empty, dead-branches, before-compaction, rewritten, sidechains, progress, file-history, api-requests, copies)"),
    ("ctx-prune --keep-last 5 s.jsonl", "there is no flag --keep-last; no flag keeps results by number; --protect-last N leaves the last N assistant messages and their results whole, --window-messages N removes what is older"),
    ("ctx-offload --get HASH", "there is no flag --get; did you mean --show? (ctx-offload -h)"),
    ("ctx-extract --out m.json s.jsonl", "there is no flag --out; did you mean --output? (ctx-extract -h)"),
    ("ctx-summarize --prompt p.md s.jsonl", "there is no flag --prompt; did you mean --template or --instructions? (ctx-summarize -h)"),
    ("ctx-summarize --max-tokens 500 s.jsonl", "there is no flag --max-tokens; did you mean --summary-tokens (the summary) or --budget (the whole)? (ctx-summarize -h)"),
    ("ctx-score s.jsonl", "AFTER is missing; name two sessions, before and after the compaction: ctx-score BEFORE AFTER"),
    ("ctx-ls -a", "there is no flag -a; it lists all agents without a flag; --subagents adds the files of subagents"),
    ("ctx-ls -r folder", "there is no flag -r; it searches folders without a flag"),
    ("ctx-ls --all", "there is no flag --all; it lists all agents without a flag; --subagents adds the files of subagents"),
    ("ctx-count --encoding s.jsonl", "--encoding cannot be \"s.jsonl\"; use one of o200k_base, o200k_harmony, cl100k_base, p50k_base, r50k_base, chars4"),
    ("ctx-compact --force --if-due s.jsonl", "--force cannot be used with --if-due; leave one of them out"),
    ("ctx-compact --set trigger.turn=4 s.jsonl", "--set: there is no setting trigger.turn; did you mean trigger.turns?"),
    ("ctx-compact --mode prune_only s.jsonl", "there is no flag --mode; did you mean --set mode=prune_only? (ctx-compact -h)"),
    ("ctx-memory", "a command is missing; use one of search, get, consolidate, inject"),
    ("ctx-memory search --kind notes word", "--kind cannot be \"notes\"; use one of extracted, daily, master, soul, summary, snapshot, offloaded"),
    ("ctx-snapshot restore 1", "there is no file restore; ctx-rollback restores: ctx-rollback ID FILE"),
    ("ctx-gc --list", "there is no flag --list; did you mean --list-trash? (ctx-gc -h)"),
    ("ctx-check -n s.jsonl", "-n requires --repair; only --repair changes anything: leave -n out, or add --repair"),
    ("ctx-rollback latest --undo s.jsonl", "ID and a flag both name a snapshot; leave out either ID or the flag"),
    ("ctx-ls --dry-run", "there is no flag --dry-run; it changes no session, so it needs no dry run"),
    ("ctx-count --budget", "there is no flag --budget; ctx-check --max-tokens N checks a limit"),
    ("ctx-compact --model ollama/llama3 s.jsonl", "--model names the model that continues the session, not one that writes its summary; --method llm --llm-url URL --llm-model llama3 lets it write the summary, --model llama3 sets the window"),
    ("ctx-compact --template nope.md s.jsonl", "--template has no effect because --method extractive asks no model; add --method llm"),
    ("ctx-compact --budget -5 s.jsonl", "--budget \"-5\": expected a number such as 800, 8k or 2M"),
    ("ctx-compact --dry s.jsonl", "there is no flag --dry; did you mean --dry-run? (ctx-compact -h)"),
    ("ctx-compact .", ". is a directory; name a session: ctx-ls DIR lists the sessions in a directory, ctx-ls --project DIR those of a project"),
    ("ctx-compact latest", "latest: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file"),
    ("ctx-compact --method ollama s.jsonl", "--method cannot be \"ollama\"; did you mean llm, with --llm-url URL and --llm-model NAME? (use one of extractive, rule, llm)"),
    ("ctx-compact --temperature 0 s.jsonl", "there is no flag --temperature; the model answers with the settings of its server"),
    ("ctx-compact --log-level debug s.jsonl", "there is no flag --log-level; for more messages, -v (can be repeated); for errors only, -q"),
    ("ctx-compact -s demo", "-s applies to a file, but no file is named; name the file: ctx-ls -l lists each session with its file"),
    ("ctx-count nope", "nope: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file"),
    ("ctx-count -s demo", "there is no flag -s; name the session without a flag, by its file or its id"),
    ("ctx-count --all", "there is no flag --all; name the files: ctx-ls -0 | xargs -0 passes all sessions to it"),
    ("ctx-count --by-model s.jsonl", "there is no flag --by-model; a session has one model, which ctx-ls --json shows; for the encoding of a model: --model NAME"),
    ("ctx-count --dry s.jsonl", "there is no flag --dry; it changes no session, so it needs no dry run"),
    ("ctx-check -json s.jsonl", "there is no flag -json; did you mean --json? (ctx-check -h)"),
    ("ctx-ls -json", "there is no flag -json; did you mean --json? (ctx-ls -h)"),
    ("ctx-ls nope", "nope: no such file, and no agent's session has this id; ctx-ls lists the ids of the sessions in the agents' folders; name others by their file"),
    ("ctx-ls --limit 0", "--limit \"0\": expected 1 or more"),
    ("ctx-ls --limit -1", "--limit \"-1\": expected a whole number"),
    ("ctx-ls -s demo", "there is no flag -s; ctx-ls ID lists one session"),
    ("ctx-ls -f json", "there is no flag -f; ctx-ls --json prints JSON; watch ctx-ls shows the list again every two seconds"),
    ("ctx-ls --columns id", "there is no flag --columns; ctx-ls --json | jq -r '[.session[:8], .tokens] | @tsv' prints single fields"),
    ("ctx-ls --dead", "there is no flag --dead; ctx-ls --due lists what is above 80 %, ctx-ls --due --trigger-share 0.6 what is above 60 %"),
    ("ctx-rollback demo 1", "the snapshot must come first; ctx-rollback 1 demo"),
    ("ctx-rollback --to 1 s.jsonl", "the session is not known; --to names a file, and the snapshot comes first: ctx-rollback 1 s.jsonl"),
    ("ctx-rollback s.jsonl --to 1", "the session is not known; --to names a file, and the snapshot comes first: ctx-rollback 1 s.jsonl"),
    ("ctx-rollback -1 s.jsonl", "there is no flag -1; ctx-rollback ID FILE restores a snapshot, ctx-rollback --undo FILE undoes the last change"),
    ("ctx-rollback HEAD~1 s.jsonl", "there is no file HEAD~1; ctx-snapshot -l FILE lists the snapshots with their numbers"),
    ("ctx-rollback --hard 1 s.jsonl", "there is no flag --hard; ctx-rollback ID FILE restores a snapshot, ctx-rollback --undo FILE undoes the last change"),
    ("ctx-rollback 99 s.jsonl", "no snapshot \"99\"; the nearest are 0001 and 0002; ctx-snapshot --list shows all snapshots"),
    ("ctx-rollback --undo 1", "no file is named; ctx-rollback 1 FILE"),
    ("ctx-snapshot --show 99", "no snapshot \"99\"; the nearest are 0001 and 0002; ctx-snapshot --list shows all snapshots"),
    ("ctx-snapshot -l -s nope", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-snapshot --limit 3", "there is no flag --limit; ctx-snapshot --list --since TIME lists the newer ones"),
    ("ctx-snapshot -a", "there is no flag -a; name the files: ctx-ls -0 | xargs -0 passes all sessions to it"),
    ("ctx-gc --force", "there is no flag --force; it never asks; ctx-gc --no-floor removes even the newest snapshot of a session, ctx-gc --purge empties the trash now"),
    ("ctx-gc -s dem --forget", "no session \"dem\" in the store; did you mean -s demo?"),
    ("ctx-gc -s demo-1 --forget", "no session \"demo-1\" in the store; did you mean -s demo?"),
    ("ctx-gc --keep-last -3", "--keep-last \"-3\": expected 1 or more"),
    ("ctx-prune --trim 500 s.jsonl", "unexpected operand s.jsonl: the tool takes one FILE; a number after --trim or --clear is read as FILE: --max-chars N sets what --trim leaves, --protect-last N what --clear leaves alone"),
    ("ctx-prune --trim=500 s.jsonl", "--trim takes no value; a number after --trim or --clear is read as FILE: --max-chars N sets what --trim leaves, --protect-last N what --clear leaves alone"),
    ("ctx-prune --images s.jsonl", "there is no flag --images; did you mean --drop images? (ctx-prune -h)"),
    ("ctx-prune --tool Bash s.jsonl", "there is no flag --tool; results of one tool only: --clear --allow-tool NAME; --protect-last N counts assistant messages, of all tools"),
    ("ctx-prune --drop media s.jsonl", "--drop cannot be \"media\"; did you mean images? (use one of superseded, duplicates, noise, images, reasoning, empty, dead-branches, before-compaction, rewritten, sidechains, progress, file-history, api-requests, copies)"),
    ("ctx-offload --dir x s.jsonl", "there is no flag --dir; it moves results into the store; --store DIR names another"),
    ("ctx-offload --show 0123 -s nope", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-split --at 50 s.jsonl", "there is no flag --at; did you mean --keep-messages, --keep-turns or --keep-tokens? (ctx-split -h)"),
    ("ctx-convert --tool-runs s.jsonl", "there is no flag --tool-runs; ctx-extract prints tool runs, decisions and facts: --kind runtime"),
    ("ctx-extract --kind tools s.jsonl", "--kind cannot be \"tools\"; did you mean runtime? (use one of decision, fact, preference, runtime)"),
    ("ctx-score latest s.jsonl", "there is no file latest; a snapshot is a file, too: ctx-snapshot --show ID FILE > before.jsonl"),
    ("ctx-score -s nope s.jsonl s.jsonl", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-stats --outcome nope success", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-stats --by day", "there is no flag --by; ctx-stats --since TIME limits the figures; ctx-ls --json has the tokens of each session"),
    ("ctx-stats -s demo", "there is no flag -s; name the session without a flag, by its file or its id"),
    ("ctx-memory add note", "there is no command add; the memory comes from sessions: ctx-extract --into-store FILE adds what one decided; memory/extracted/*.md in the store are text that you may edit"),
    ("ctx-memory list", "there is no command list; did you mean inject? (ctx-memory -h)"),
    ("ctx-memory inject s.jsonl", "unexpected operand s.jsonl: the tool takes no files; search and inject take a session with -s ID"),
    ("ctx-memory inject -s nope", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-memory search -s nope word", "no session \"nope\" in the store; ctx-snapshot --list shows all snapshots"),
    ("ctx-memory consolidate --older-than 7d", "there is no flag --older-than; search has --before and --since"),
    ("ctx usage --by day", "there is no command usage; no tool adds up what sessions cost: ctx ls shows the tokens of each, ctx count --by kind FILE what they are"),
    ("ctx config path", "there is no command config; settings come from a preset or from the file in CTX_CONFIG (--config): ctx compact --show-preset built-in prints all of them"),
    ("ctx system prune", "there is no command system; did you mean ctx stats? (ctx -h)"),
    ("ctx init", "there is no command init; nothing has to be set up: ctx ls finds the sessions of all agents"),
    ("ctx rm s.jsonl", "there is no command rm; no tool deletes a session: ctx gc removes old snapshots, and rm the file"),
    ("ctx checkout 1", "there is no command checkout; did you mean ctx rollback ID FILE? (ctx -h)"),
    ("ctx man ls", "there is no command man; did you mean ctx TOOL --man? (ctx -h)"),
    ("ctx help nope", "the first word must be the name of a tool; ctx lists the tools; ctx TOOL -h lists the flags of one"),
    ("ctx -q ls", "the first word must be the name of a tool; ctx lists the tools; ctx TOOL -h lists the flags of one"),
    ("ctx watch", "there is no command watch; no tool stays running: cron runs ctx ls --due -0 | xargs -0r ctx compact --if-due"),
    ("ctx-count -output x.json s.jsonl", "there is no flag -output; did you mean --output? (ctx-count -h)"),
];

/// Commands that work as they are typed.
#[rustfmt::skip]
const WORKS: &[&str] = &[
    "ctx-check -r folder",
    "ctx-check folder",
    "ctx-check --repair -n s.jsonl",
    "ctx-compact -n --budget 8k s.jsonl",
    "ctx-compact -n --set keep.turns=2 s.jsonl",
    "ctx-compact -n --keep-turns 2 s.jsonl",
    "ctx-count -j 2 -r folder",
    "ctx-count --window 8k s.jsonl",
    "ctx-extract -n --into memory s.jsonl",
    "ctx-gc -n --keep-last 5",
    "ctx-offload -n -i s.jsonl",
    "ctx-prune -n -i --clear s.jsonl",
    "ctx-rollback -n 1 s.jsonl",
    "ctx-rollback -n latest s.jsonl",
    "ctx-rollback latest s.jsonl",
    "ctx-rollback -s demo latest --to copy.jsonl",
    "ctx-snapshot --show latest s.jsonl",
    "ctx-snapshot --diff s.jsonl",
    "ctx-snapshot -l",
    "ctx-snapshot -l s.jsonl",
    "ctx-snapshot -n s.jsonl",
    "ctx-split -n s.jsonl",
    "ctx-stats s.jsonl --json",
    "ctx-summarize -n --budget 4k s.jsonl",
    "ctx-snapshot -l -s demo",
    "ctx-snapshot --log -s demo",
    "ctx-rollback -n -s demo latest --to copy.jsonl",
    "ctx-gc -n -s demo",
    "ctx-check --json -q s.jsonl",
    "ctx-stats --outcome s.jsonl success",
    "ctx-offload -n --min-tokens 1m s.jsonl",
    "ctx help ls",
    "ctx ls s.jsonl",
];

/// Returns a folder with a saved session, and a copy of it in another folder.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let session = fs::read("examples/session.jsonl").expect("the example");
    fs::create_dir(dir.path().join("folder")).expect("made");
    for name in ["s.jsonl", "folder/a.jsonl"] {
        fs::write(dir.path().join(name), &session).expect("written");
    }
    for args in [&["-q", "s.jsonl"][..], &["-q", "-s", "demo", "s.jsonl"]] {
        let case = Case::new(tool_path("ctx-snapshot")).within(dir.path());
        case.args(args.iter().copied()).stdout_any().run();
    }
    dir
}

/// Each guess gets a one-line answer with the right flag, and nothing is done.
#[test]
fn a_guess_is_answered_with_what_was_meant() {
    assert!(TOLD.len() >= 40, "{}", TOLD.len());
    let dir = place();
    for (line, told) in TOLD {
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        Case::new(tool_path(tool))
            .within(dir.path())
            .args(words)
            .code(2)
            .stderr(&format!("{tool}: {told}\n"))
            .run();
        assert!(!told.contains("as a value"), "{line}");
    }
}

/// Commands that work as they are typed get no answer about a missing flag.
#[test]
fn a_guess_that_is_right_works() {
    let dir = place();
    for line in WORKS {
        let mut words = line.split_whitespace();
        let tool = words.next().expect("a tool");
        let case = Case::new(tool_path(tool)).within(dir.path()).args(words);
        let done = case.stdout_any().stderr_has("").run();
        assert!(!done.stderr.contains("there is no"), "{line}: {}", done.stderr);
    }
}

/// Returns every flag in a text, with the tool that is named before it, or else `tool`.
fn flags<'a>(text: &'a str, tool: &'a str) -> Vec<(&'a str, &'a str)> {
    let (mut of, mut found) = (tool, Vec::new());
    for word in text.split([' ', '(', ')', '|', ',', ';', ':', '\'']) {
        let word = word.trim_end_matches(['?', '.']);
        if word.starts_with("ctx-") || word == "xargs" || word == "jq" {
            of = word;
        } else if word.starts_with('-') && word.len() > 1 {
            found.push((of, word.split('=').next().unwrap_or(word)));
        }
    }
    found
}

/// The answers name only flags that exist, and correct no flag that exists.
#[test]
fn every_flag_that_is_named_exists() {
    let all = tools();
    let commands = |name: &str| -> Vec<Command> {
        let tool = all.iter().find(|tool| tool.name == name);
        let tool = tool.unwrap_or_else(|| panic!("there is no {name}"));
        let command = tool.full_command();
        let names = command.get_subcommands().map(Command::get_name);
        let names = names.map(Some).chain([None]);
        names.map(|name| help::short(tool, name)).collect()
    };
    let has = |name: &str, flag: &str| {
        commands(name).iter().any(|command| {
            command.get_arguments().any(|arg| match flag.strip_prefix("--") {
                Some(long) => arg.get_long() == Some(long),
                None => arg.get_short() == flag.chars().nth(1),
            })
        })
    };
    let mut named = 0;
    for tool in &all {
        for (typed, meant) in tool.page().guesses() {
            let is_flag = typed.starts_with('-') && !typed.contains(' ');
            let in_commands = commands(tool.name).len() > 1;
            if is_flag && !in_commands {
                assert!(!has(tool.name, typed), "{} has {typed}", tool.name);
            }
            for (of, flag) in flags(meant, tool.name) {
                if of.starts_with("ctx-") {
                    assert!(has(of, flag), "{}: {typed}: {of} {flag}", tool.name);
                    named += 1;
                }
            }
        }
    }
    assert!(named > 150, "{named}");
}

/// Control characters in the arguments do not reach the terminal.
#[test]
fn what_was_typed_is_escaped() {
    let dir = place();
    let session = dir.path().join("s.jsonl");
    let session = session.to_string_lossy();
    for args in [
        vec!["--\u{1b}[31mred"],
        vec!["--to", "\u{1b}[31m", &session],
        vec![&session, "\u{1b}[31m"],
    ] {
        let case = Case::new(tool_path("ctx-convert")).args(args);
        let done = case.code(2).stderr_has("[31m").run();
        assert!(!done.stderr.contains('\u{1b}'), "{:?}", done.stderr);
    }
}
