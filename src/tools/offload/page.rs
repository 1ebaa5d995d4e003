//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "min-tokens",
        "enough",
        "dry-run",
        "in-place",
        "restore",
        "show",
        "session",
        "output",
        "json",
    ],
    guesses: &[
        ("--get", "--show"),
        ("--cat", "--show"),
        ("--print", "--show"),
        ("--undo", "--restore"),
        ("--threshold", "--min-tokens"),
        ("--max-tokens", "--min-tokens"),
        ("--min-size", "--min-tokens"),
        ("--larger-than", "--min-tokens"),
        ("--keep", "--protect-last"),
        ("--keep-last", "--protect-last"),
        ("--budget", "--enough"),
    ],
    exit_status: &[
        (
            1,
            "--restore put nothing back; what was read is written as it is",
        ),
        (
            2,
            "nothing was written, but files that were made for it may be in the store; with \
             --show: nothing has that hash, or several texts have",
        ),
        (
            3,
            "restored, but some references stay as they are: their files cannot be read, or \
             nothing was taken out of these results",
        ),
        (
            5,
            "written, but a power cut may undo that, or the audit log may not know",
        ),
    ],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "TMPDIR",
            "where a temporary file lies while a long session waits for its files to be durable",
        ),
    ],
    files: &[
        (
            "STORE/offloaded/ID/SHA256.txt",
            "a result that was taken out; .json where its content is more than one text",
        ),
        (
            "STORE/offloaded/ID/sources.jsonl",
            "the transcripts that name such files: ctx-gc looks into them before it removes one",
        ),
        (
            "STORE/offloaded/ID/taken.jsonl",
            "what was taken out of which results, and how often: --restore puts back no more",
        ),
        ("STORE/context/events.jsonl", "the audit log"),
    ],
    examples: &[
        (
            "ctx-offload session.jsonl -o session.jsonl",
            "Take the results of 2,000 tokens and more out of a session",
        ),
        (
            "ctx-offload -n --min-tokens 500 session.jsonl",
            "Show what would be taken out",
        ),
        (
            "ctx-offload --restore session.jsonl -o session.jsonl",
            "Put them back",
        ),
        (
            "ctx-offload --show 01234567",
            "Print what the handle ⟦ctx: …, all 5120 bytes: ctx-offload --show 01234567⟧ stands for",
        ),
    ],
};
