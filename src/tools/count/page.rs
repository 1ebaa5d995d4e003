//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "model",
        "window",
        "by",
        "calibrate",
        "recursive",
        "text",
        "json",
        "jobs",
    ],
    guesses: &[
        ("--max-tokens", "ctx-check --max-tokens N checks a limit"),
        ("--limit", "ctx-check --max-tokens N checks a limit"),
        ("--budget", "ctx-check --max-tokens N checks a limit"),
        (
            "-l",
            "it counts messages without a flag: a line is a message",
        ),
        (
            "--lines",
            "it counts messages without a flag: a line is a message",
        ),
        ("-w", "it counts tokens without a flag"),
        ("--words", "it counts tokens without a flag"),
        ("-c", "it counts bytes without a flag"),
        ("--bytes", "it counts bytes without a flag"),
        ("--tokens", "it counts tokens without a flag"),
        ("--breakdown", "--by kind"),
        ("--per-message", "--annotate"),
        ("--group-by", "--by"),
        ("-b", "--by"),
        ("--plain", "--text"),
        ("-t", "--text"),
        ("-e", "--encoding"),
        ("--encoding gpt2", "r50k_base"),
        ("--encoding claude", "chars4, or --model NAME"),
        ("--by role,tool", "one of them at a time"),
    ],
    exit_status: &[(
        3,
        "some files could not be read or counted; the others were",
    )],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[],
    examples: &[
        ("ctx-count session.jsonl", "Messages, tokens, bytes"),
        (
            "ctx-count --model gpt-4o *.jsonl",
            "How full each session makes the model's window",
        ),
        (
            "ctx-count --by tool session.jsonl",
            "Which tool fills the context",
        ),
        (
            "ctx-count --by reach ~/.claude/projects/*/*.jsonl",
            "Where the bytes of an agent's own files are",
        ),
        (
            "ctx-count --calibrate ~/.claude/projects/*/*.jsonl",
            "What the context of each session comes to for the API",
        ),
        (
            "ctx-count --annotate < s.jsonl | jq -c 'select(._ctx.tokens > 2000)'",
            "The records of more than 2,000 tokens",
        ),
        (
            "ctx-count --text --encoding cl100k_base < README.md",
            "The tokens of a text",
        ),
    ],
};
