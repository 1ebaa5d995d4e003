//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "keep-turns",
        "keep-messages",
        "keep-tokens",
        "pin",
        "only",
        "strip",
        "dry-run",
        "output",
        "json",
    ],
    guesses: &[
        ("--keep", "--keep-messages or --keep-turns"),
        ("-k", "--keep-messages or --keep-turns"),
        ("--keep-last", "--keep-messages or --keep-turns"),
        ("--tail", "--keep-messages or --keep-turns"),
        ("-l", "--keep-messages"),
        ("--lines", "--keep-messages"),
        ("-c", "--keep-tokens"),
        ("--max-tokens", "--keep-tokens"),
        ("--budget", "--keep-tokens"),
        ("--zone", "--only"),
        ("-b", "--keep-tokens"),
        ("--untag", "--strip"),
    ],
    exit_status: &[],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "TMPDIR",
            "where a temporary file lies when much of a session has to wait for a decision",
        ),
    ],
    files: &[],
    examples: &[
        (
            "ctx-split --keep-turns 6 session.jsonl",
            "Tag all but the last six turns as old",
        ),
        (
            "ctx-split --keep-messages 20 s.jsonl | ctx-split --only old --strip",
            "Take the old part as plain records",
        ),
        (
            "ctx-split --window 128k --keep-share 0.3 --pin 're:(?i)decided' s.jsonl",
            "Keep 30 % of the window, and every record that speaks of a decision",
        ),
    ],
};
