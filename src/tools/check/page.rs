//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "due",
        "repair",
        "all",
        "strict",
        "recursive",
        "max-tokens",
        "model",
        "window",
        "preset",
        "jobs",
        "output",
        "json",
    ],
    guesses: &[
        ("--fix", "--repair"),
        (
            "--validate",
            "it checks without a flag; --strict checks more",
        ),
        ("--limit", "--max-tokens"),
        ("--token-limit", "--max-tokens"),
        ("--budget", "--max-tokens"),
        ("--threshold", "--due --set trigger.share=0.8"),
        ("--ignore", "--allow RULE"),
        ("--rules", "--list-rules"),
        ("-l", "--list-rules"),
        ("-f", "--format"),
        ("-i", "--repair -o FILE FILE"),
        ("--in-place", "--repair -o FILE FILE"),
    ],
    exit_status: &[
        (
            0,
            "legal and within limits; with --due: due; with --repair: the copy is legal",
        ),
        (
            1,
            "a problem, or a limit exceeded; with --due: not due, or only a flush is; with --repair: the copy is written, and a problem is left in it",
        ),
        (2, "could not tell, or not repair"),
        (3, "some files could not be read; the others were checked"),
    ],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        ("CTX_PRESET", "as --preset, with --due"),
        ("CTX_CONFIG", "as --config, with --due"),
    ],
    files: &[],
    examples: &[
        (
            "ctx-check session.jsonl",
            "The first problem, if there is any",
        ),
        (
            "ctx-check --format github --max-tokens 100k sessions/*.jsonl",
            "Annotations for a pull request",
        ),
        (
            "ctx-check --repair s.jsonl -o repaired.jsonl",
            "A copy that the API takes again",
        ),
        (
            "if ctx-check --due -q s.jsonl; then ctx-split --only old s.jsonl; fi",
            "Go on only when a compaction is due",
        ),
        (
            "ctx-check --due --preset sanbot s.jsonl",
            "Whether ctx-compact would find it due by that policy",
        ),
        (
            "ctx-check --due --model gpt-4o --trigger-messages 80 s.jsonl",
            "How far two triggers are",
        ),
    ],
};
