//! The manual page of `ctx-gc`, beside its flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "dry-run",
        "keep-days",
        "keep-last",
        "keep-daily",
        "keep-within",
        "undelete",
        "list-trash",
        "session",
        "json",
    ],
    guesses: &[
        ("--keep", "--keep-last"),
        ("-k", "--keep-last"),
        ("-l", "--list-trash"),
        ("--list", "--list-trash"),
        ("--trash", "--list-trash"),
        ("--older-than", "--keep-within"),
        ("--max-age", "--keep-within"),
        ("--age", "--keep-within"),
        ("--days", "--keep-days"),
        (
            "--prune",
            "what no rule keeps goes to the trash without a flag; --purge empties the trash",
        ),
        (
            "--delete",
            "what no rule keeps goes to the trash without a flag; --purge empties the trash",
        ),
        ("--empty-trash", "--purge"),
        ("--restore", "--undelete"),
        ("--undo", "--undelete"),
        ("-a", "it looks at all sessions without a flag"),
        ("--all", "it looks at all sessions without a flag"),
        (
            "FILE",
            "name a session with -s ID; ctx-snapshot -l lists them",
        ),
    ],
    exit_status: &[
        (
            2,
            "nothing was removed, or nothing that was named with --undelete is in the trash",
        ),
        (
            3,
            "some things could not be looked at, removed, packed or brought back; the others were",
        ),
        (
            4,
            "the clock jumped by more than a day, by all that the store has seen: nothing was removed",
        ),
        (
            5,
            "removed, but the audit log or stdout could not be written: the disk is full",
        ),
    ],
    environment: &[
        ("CTX_PRESET", "as --preset"),
        ("CTX_CONFIG", "as --config"),
        (
            "CTX_RETENTION_KEEP_DAYS",
            "goes before what the policy says",
        ),
        ("CTX_RETENTION_PACK_AFTER_DAYS", "the same; false is never"),
        ("CTX_HOME", "where the store lies; --store goes before it"),
    ],
    files: &[
        ("STORE/trash/", "what was removed, until its grace is over"),
        (
            "STORE/memory/session-summaries/ID.jsonl.zst",
            "the bytes of an older snapshot, packed",
        ),
        (
            "STORE/context/events.jsonl",
            "the audit log: each removal, before and after",
        ),
    ],
    examples: &[
        (
            "ctx-gc -n",
            "Show what would be removed, and why the rest stays",
        ),
        (
            "ctx-gc",
            "Remove snapshots older than 7 days; fit for cron: silent when there are none",
        ),
        (
            "ctx-gc --keep-last 5 --keep-daily 14",
            "Keep the last 5, and the newest of each of 14 days",
        ),
        ("ctx-gc --preset sanbot", "Keep as long as a policy says"),
        (
            "ctx-gc --keep-days 7 --no-floor",
            "Remove all that is older than 7 days, even the newest of a session",
        ),
        (
            "ctx-gc --pack-after-days 0",
            "Pack all snapshots now; zstdcat reads them",
        ),
        (
            "ctx-gc --undelete 7",
            "Bring snapshot 7 back from the trash",
        ),
        (
            "ctx-gc --undelete '2 hours ago'",
            "Bring back all that was removed since then; all is \"all\"",
        ),
        (
            "ctx-gc --list-trash",
            "List what is in the trash, and how long it stays there",
        ),
        (
            "ctx-gc --forget -s demo",
            "Delete all snapshots and offloaded files of a session for good",
        ),
    ],
};
