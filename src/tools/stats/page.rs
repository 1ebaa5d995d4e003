//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "since",
        "html",
        "prometheus",
        "json",
        "model",
        "window",
        "preset",
        "output",
    ],
    guesses: &[
        ("-f", "--json, --html or --prometheus"),
        ("--format", "--json, --html or --prometheus"),
        ("--metrics", "--prometheus"),
        ("--prom", "--prometheus"),
        ("--openmetrics", "--prometheus"),
        ("--days", "--since \"7 days ago\""),
        ("--after", "--since"),
        ("--report", "--html"),
        ("--web", "--html"),
        (
            "-r",
            "without FILE it tells of all sessions; ctx-ls -0 DIR | xargs -0 ctx-stats of those in a folder",
        ),
    ],
    exit_status: &[
        (
            0,
            "told, also when nothing was done yet and there is no store",
        ),
        (
            2,
            "none of the files named could be read, or the store could not",
        ),
        (
            3,
            "some of the files named could not be read; the others are told",
        ),
    ],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        ("CTX_PRESET", "as --preset"),
        ("CTX_CONFIG", "as --config"),
        (
            "CLAUDE_CONFIG_DIR, CODEX_HOME, …",
            "where agents keep their sessions, as for ctx-ls",
        ),
    ],
    files: &[
        (
            "STORE/context/events.jsonl",
            "the audit log, which the figures are of",
        ),
        (
            "STORE/index/sessions.jsonl",
            "what ctx-ls read of each session; it is used and not changed",
        ),
    ],
    examples: &[
        ("ctx-stats", "All that was done until now"),
        ("ctx-stats --since '1 week ago'", "The same of a week"),
        (
            "ctx-stats --preset sanbot session.jsonl",
            "How full a session is, and how far each trigger of a policy",
        ),
        (
            "ctx-stats --json | jq '.acceptance[] | select(.met == false)'",
            "What is not as it should be",
        ),
        (
            "ctx-stats --html session.jsonl -o page.html",
            "A page that shows where its window goes",
        ),
        (
            "ctx-stats --prometheus -o /var/lib/node_exporter/textfile/ctx.prom",
            "Metrics for the node exporter, from cron",
        ),
    ],
};
