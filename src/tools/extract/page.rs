//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "into-store",
        "into",
        "kind",
        "zone",
        "dry-run",
        "session",
        "output",
        "json",
    ],
    guesses: &[
        ("--out", "--output"),
        ("--type", "--kind"),
        ("-k", "--kind"),
        ("-t", "--kind"),
        ("--memory", "--into-store"),
        ("--save", "--into-store"),
        ("-d", "--into"),
        ("--dir", "--into"),
        ("--kind tool", "runtime"),
        ("--kind error", "runtime"),
    ],
    exit_status: &[
        (
            2,
            "also: the tagged stream ended early; nothing was merged then",
        ),
        (
            3,
            "some of the memory files are merged, others could not be written: run it again",
        ),
        (
            4,
            "somebody edited a memory file at the same moment: run it again, what is merged is not merged twice",
        ),
        (
            5,
            "also: the items are merged, but the last records, or the log of the day, could not be written",
        ),
    ],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[
        (
            "DIR/extracted/{decisions,facts,preferences,runtime}.md",
            "one list entry per item: TEXT (ROLE, SESSION:LINE, DATE), without the date where the record tells no time, and with \"taken back in SESSION:LINE\" behind it where a later decision takes it back; new ones are added at the end, all else is yours; strike an entry out (~~TEXT~~) to keep it from coming back",
        ),
        (
            "DIR/daily/DATE.md",
            "the log of the day (UTC): what was new in each extraction",
        ),
        (
            "STORE/context/events.jsonl",
            "the audit log, when DIR lies in a store",
        ),
    ],
    examples: &[
        (
            "ctx-extract session.jsonl",
            "Print what a session holds, one JSON object per item",
        ),
        (
            "ctx-extract --kind decision session.jsonl | jq -r .text",
            "Only the decisions, as text",
        ),
        (
            "ctx-split --keep-turns 6 session.jsonl | ctx-extract --into memory | ctx-summarize",
            "Save what the old zone says before it is summarized away",
        ),
    ],
};
