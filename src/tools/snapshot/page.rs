//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "list", "log", "show", "diff", "verify", "session", "dry-run", "json",
    ],
    guesses: &[
        ("ls", "--list"),
        ("list", "--list"),
        ("snapshots", "--list"),
        ("log", "--log"),
        ("history", "--log"),
        ("diff", "--diff"),
        ("check", "--verify"),
        ("verify", "--verify"),
        ("show", "--show"),
        ("cat", "--show"),
        ("dump", "--show"),
        ("backup", "name the file alone: ctx-snapshot FILE"),
        ("save", "name the file alone: ctx-snapshot FILE"),
        ("restore", "ctx-rollback restores: ctx-rollback ID FILE"),
        ("forget", "ctx-gc removes old snapshots"),
        ("prune", "ctx-gc removes old snapshots"),
        ("--restore", "ctx-rollback restores: ctx-rollback ID FILE"),
        ("--undo", "ctx-rollback --undo FILE"),
        ("--delete", "ctx-gc removes old snapshots"),
        ("--forget", "ctx-gc --forget -s ID deletes all of a session"),
        ("--rm", "ctx-gc removes old snapshots"),
        (
            "--tag",
            "ctx-snapshot --hold ID keeps a snapshot; -s ID names the session",
        ),
        (
            "-t",
            "ctx-snapshot --hold ID keeps a snapshot; -s ID names the session",
        ),
        (
            "-m",
            "ctx-snapshot --hold ID keeps a snapshot; -s ID names the session",
        ),
        (
            "--message",
            "ctx-snapshot --hold ID keeps a snapshot; -s ID names the session",
        ),
        ("--check", "--verify"),
        ("--history", "--log"),
        ("--cat", "--show"),
        ("--get", "--show"),
        ("--dump", "--show"),
        (
            "-r",
            "ctx-ls -0 DIR | xargs -0 ctx-snapshot saves what is in a folder",
        ),
        (
            "--recursive",
            "ctx-ls -0 DIR | xargs -0 ctx-snapshot saves what is in a folder",
        ),
        ("--pin", "--hold"),
        ("--keep", "--hold"),
        ("--unhold", "--release"),
    ],
    exit_status: &[
        (
            1,
            "--verify found damage, whatever else could not be read; --diff found a difference",
        ),
        (
            3,
            "some files could not be saved, the others were; --verify and --list: some snapshots, results or the audit log could not be read, the others are whole",
        ),
        (
            5,
            "saved, held or released, but a power cut may undo that, or the audit log or stdout could not be written",
        ),
    ],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[
        (
            "STORE/memory/session-summaries/ID.jsonl",
            "the bytes of a snapshot, read-only; plain text for grep and jq",
        ),
        (
            "STORE/memory/session-summaries/ID.meta.json",
            "its size, its sha256 and what it holds; a snapshot without one was never committed",
        ),
        ("STORE/context/events.jsonl", "the audit log"),
    ],
    examples: &[
        (
            "ctx-snapshot session.jsonl",
            "Save a session and print the id of the snapshot",
        ),
        (
            "ctx-snapshot -s demo < in.jsonl | ctx-split --keep-turns 6",
            "Save what goes through a pipe; nothing goes on before it is safe",
        ),
        (
            "ctx-snapshot --list -s demo",
            "List the snapshots of a session",
        ),
        (
            "ctx-snapshot --log session.jsonl",
            "Tell what was done to a session, when and by which tool",
        ),
        (
            "ctx-snapshot --list --trash",
            "List what ctx-gc removed; ctx-gc --undelete brings it back",
        ),
        (
            "ctx-snapshot --diff latest session.jsonl",
            "Show which messages changed since the newest one",
        ),
        (
            "ctx-snapshot --show latest -s demo",
            "Write the bytes of the newest one",
        ),
        (
            "ctx-snapshot --verify --read-data",
            "Check all bytes against their hashes",
        ),
        (
            "ctx-snapshot --verify --repair",
            "Repair what can be repaired without losing anything",
        ),
    ],
};
