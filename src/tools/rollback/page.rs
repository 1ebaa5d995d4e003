//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "undo", "snapshot", "before", "to", "dry-run", "session", "min-idle", "json",
    ],
    guesses: &[
        ("--list", "ctx-snapshot -l FILE lists the snapshots"),
        ("-l", "ctx-snapshot -l FILE lists the snapshots"),
        ("--latest", "--snapshot latest"),
        ("--last", "--snapshot latest"),
        ("--id", "--snapshot"),
        ("--target", "--to"),
        ("-t", "--to"),
        ("-o", "--to"),
        ("--output", "--to"),
        ("--at", "--snapshot"),
        ("--date", "--before"),
        ("--time", "--before"),
        ("--until", "--before"),
        ("--steps", "--snapshot latest"),
        ("--force", "--min-idle 0s"),
        ("-f", "--min-idle 0s"),
        ("--redo", "--undo"),
        ("list", "ctx-snapshot -l FILE lists the snapshots"),
        ("ls", "ctx-snapshot -l FILE lists the snapshots"),
        ("undo", "--undo FILE"),
    ],
    exit_status: &[
        (
            2,
            "no such snapshot, or it is damaged, or the disk failed; the file is as it was",
        ),
        (
            4,
            "the file is open for writing, or an agent may be at work on it, or it changed meanwhile; it is as it was",
        ),
        (
            5,
            "the file is restored, but a power cut may undo that, or the audit log or the log of the day may not know",
        ),
    ],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[
        (
            ".FILE.ctx-old-N",
            "the replaced file, beside the new one, while another process has it open for writing; ctx-gc saves what that process wrote and removes it",
        ),
        ("STORE/context/events.jsonl", "the audit log"),
        ("STORE/memory/daily/DATE.md", "the log of the day (UTC)"),
    ],
    examples: &[
        (
            "ctx-rollback --undo session.jsonl",
            "Take the last compaction or rollback back",
        ),
        (
            "ctx-rollback latest session.jsonl",
            "Restore the newest snapshot",
        ),
        (
            "ctx-rollback \"1 hour ago\" session.jsonl",
            "Restore what was there an hour ago",
        ),
        (
            "ctx-rollback -n 7 session.jsonl",
            "Show what restoring snapshot 7 would do",
        ),
        (
            "ctx-rollback -s demo latest --to copy.jsonl",
            "Restore onto another path",
        ),
    ],
};
