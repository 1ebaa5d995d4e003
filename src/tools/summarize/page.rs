//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "method",
        "summary-tokens",
        "budget",
        "keep-turns",
        "keep-messages",
        "llm-url",
        "llm-model",
        "dry-run",
        "session",
        "output",
        "json",
    ],
    guesses: &[
        (
            "--max-tokens",
            "--summary-tokens (the summary) or --budget (the whole)",
        ),
        ("--length", "--summary-tokens"),
        ("--tokens", "--summary-tokens"),
        ("--prompt", "--template or --instructions"),
        ("--system", "--template"),
        ("--model", "--llm-model"),
        ("-m", "--llm-model"),
        ("--window", "--llm-window"),
        ("--keep", "--keep-messages or --keep-turns"),
        ("--keep-last", "--keep-messages or --keep-turns"),
        ("--llm", "--method llm --llm-url URL"),
        ("--url", "--llm-url"),
        (
            "--method openai",
            "llm, with --llm-url URL and --llm-api openai",
        ),
        (
            "--method anthropic",
            "llm, with --llm-url URL and --llm-api anthropic",
        ),
        ("--method ai", "llm"),
        ("--stream", "it writes when all is checked"),
        ("-i", "-o FILE FILE"),
        ("--in-place", "-o FILE FILE"),
    ],
    exit_status: &[(
        2,
        "also: the stream ended early (--partial takes it), no record has a zone, the format is \
             not known, no model answered and --on-failure names no other summary, or a question has no recorded answer; nothing was written",
    )],
    environment: &[
        ("CTX_LLM_URL", "as --llm-url"),
        ("CTX_LLM_MODEL", "as --llm-model"),
        (
            "CTX_LLM_KEY",
            "key of the server; else the first line of the file that CTX_LLM_KEY_FILE names. Either goes to any server, over http beyond this machine only with --llm-key-in-clear. A key alone sends nothing",
        ),
        (
            "OPENAI_API_KEY, ANTHROPIC_API_KEY",
            "where neither of these is set: the vendor's key, sent to hosts of openai.com or anthropic.com and nowhere else",
        ),
        (
            "ALL_PROXY, HTTPS_PROXY, HTTP_PROXY, NO_PROXY",
            "proxy to the server; never used for loopback",
        ),
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "TMPDIR",
            "where a temporary file lies when much of a session has to wait for the end of the input",
        ),
    ],
    files: &[
        (
            "STORE/memory/session-summaries/SESSION.md",
            "with -s: all summaries of the session, the newest last",
        ),
        ("STORE/context/events.jsonl", "with -s: the audit log"),
    ],
    examples: &[
        (
            "ctx-summarize --budget 20000 -o new.jsonl s.jsonl",
            "Make a session of at most 20000 tokens in all",
        ),
        (
            "ctx-split --keep-turns 6 s.jsonl | ctx-summarize -o new.jsonl",
            "Make one message of all but the last six turns",
        ),
        (
            "ctx-split s.jsonl | ctx-summarize --method llm --llm-url http://127.0.0.1:8080",
            "Let a model on this machine write the summary",
        ),
        (
            "ctx-split s.jsonl | ctx-summarize --method llm --template synapse --instructions 'keep the API names'",
            "Eight sections, and what to stress; the server from CTX_LLM_URL",
        ),
        (
            "ctx-split s.jsonl | ctx-summarize --method llm --llm-model small --replay answers",
            "Repeat a run that was made with --record answers, without a server",
        ),
    ],
};
