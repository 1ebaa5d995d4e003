//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "trim",
        "clear",
        "drop",
        "protect-last",
        "max-chars",
        "dry-run",
        "in-place",
        "new",
        "output",
        "json",
    ],
    guesses: &[
        ("--keep", "--protect-last or --window-messages"),
        ("--keep-last", "--protect-last or --window-messages"),
        ("--keep-messages", "--protect-last or --window-messages"),
        ("--truncate", "--trim"),
        ("--max-length", "--trim --max-chars"),
        ("--max-bytes", "--trim --max-chars"),
        ("--budget", "ctx-compact --budget N makes it fit"),
        ("--max-tokens", "ctx-compact --budget N makes it fit"),
        ("--dedup", "--drop duplicates"),
        ("--no-reasoning", "--drop reasoning"),
        ("--no-thinking", "--drop reasoning"),
        ("--drop thinking", "reasoning"),
        (
            "--drop tools",
            "no rule of --drop but --clear empties tool results",
        ),
        (
            "--drop tool-results",
            "no rule of --drop but --clear empties tool results",
        ),
        ("--drop dups", "duplicates"),
        ("--drop subagents", "sidechains"),
        ("--all", "--trim --clear --drop …"),
        ("--only", "--zone or --allow-tool"),
        ("--exclude", "--deny-tool"),
        (
            "--undo",
            "ctx-rollback --undo FILE brings back what was replaced",
        ),
    ],
    exit_status: &[(
        2,
        "also: no rule is asked for, the format is not known, --zone and no record has a zone, \
             --strict and the input breaks a rule, or an agent would read another conversation; \
             nothing was written",
    )],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "TMPDIR",
            "where a temporary file lies when much of a session has to wait for the end of the input",
        ),
    ],
    files: &[],
    examples: &[
        (
            "ctx-prune --trim s.jsonl -o pruned.jsonl",
            "Keep the beginning, the end and the errors of results over 10,000 characters",
        ),
        (
            "ctx-prune -n --trim --drop superseded,duplicates,noise s.jsonl",
            "Show what that would free, rule by rule",
        ),
        (
            "ctx-prune --clear --deny-tool '*image*' --cache-ttl 5m s.jsonl",
            "Clear old results, but only when the provider's cache is cold anyway",
        ),
        (
            "ctx-prune -i --trim --drop before-compaction,dead-branches,progress,copies s.jsonl",
            "Shrink an agent's own file in place; ctx-rollback --undo brings it back",
        ),
        (
            "ctx-prune --new --trim --drop copies s.jsonl",
            "The same beside it, as a session of its own that the agent can resume",
        ),
        (
            "ctx-split --keep-turns 6 s.jsonl | ctx-prune --zone old --clear | ctx-summarize",
            "Clear what is going to be summarized, and nothing else",
        ),
    ],
};
