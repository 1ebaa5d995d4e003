//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "evidence",
        "future",
        "list",
        "min",
        "min-evidence",
        "session",
        "json",
    ],
    guesses: &[
        ("--questions", "--evidence"),
        ("--threshold", "--min"),
        ("--fail-under", "--min"),
        ("--lost", "--list lost"),
        ("--missing", "--list lost"),
        ("--show", "--list"),
        (
            "<AFTER>",
            "name two sessions, the one before and the one after: ctx-score BEFORE AFTER",
        ),
    ],
    exit_status: &[
        (1, "less is kept than --min or --min-evidence asks for"),
        (
            3,
            "some lines of a --batch are no conversation; the others were scored",
        ),
    ],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[],
    examples: &[
        (
            "ctx-score session.jsonl new.jsonl",
            "What a compaction kept, and what it lost",
        ),
        (
            "ctx-score --list lost session.jsonl new.jsonl",
            "Each item that is nowhere any more, with its line",
        ),
        (
            "ctx-summarize --budget 8000 s.jsonl | ctx-score --min 0.6 s.jsonl -",
            "Fail when a summary keeps too little, for CI",
        ),
        (
            "ctx-score --batch --min 0.5 corpus.jsonl smaller.jsonl",
            "Each conversation of a corpus, on all cores",
        ),
        (
            "ctx-score before.jsonl after.jsonl --future whole.jsonl",
            "Was what the agent needed later still there?",
        ),
        (
            "ctx-score --evidence questions.json session.jsonl new.jsonl",
            "Which questions can still be answered, by category",
        ),
        (
            "ctx-score --evidence questions.json --list questions session.jsonl new.jsonl",
            "Each question: + kept, - lost, ? not in session.jsonl either",
        ),
    ],
};
