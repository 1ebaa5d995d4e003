//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "dry-run",
        "budget",
        "keep-turns",
        "keep-messages",
        "if-due",
        "preset",
        "config",
        "method",
        "summary-tokens",
        "llm-url",
        "model",
        "window",
        "session",
        "min-idle",
        "output",
    ],
    guesses: &[
        ("--max-tokens", "--budget"),
        ("--tokens", "--budget"),
        ("--token-budget", "--budget"),
        ("--limit", "--budget"),
        ("--target", "--budget"),
        ("--size", "--budget"),
        ("--keep", "--keep-messages or --keep-turns"),
        ("--keep-last", "--keep-messages or --keep-turns"),
        ("--last", "--keep-messages or --keep-turns"),
        ("-k", "--keep-messages or --keep-turns"),
        ("--undo", "ctx-rollback --undo FILE takes a compaction back"),
        (
            "--restore",
            "ctx-rollback --undo FILE takes a compaction back",
        ),
        ("-i", "it changes FILE in place without a flag"),
        ("--in-place", "it changes FILE in place without a flag"),
        (
            "-r",
            "ctx-ls --due -0 DIR | xargs -0r ctx-compact --if-due compacts what is due in a folder",
        ),
        (
            "-R",
            "ctx-ls --due -0 DIR | xargs -0r ctx-compact --if-due compacts what is due in a folder",
        ),
        (
            "--recursive",
            "ctx-ls --due -0 DIR | xargs -0r ctx-compact --if-due compacts what is due in a folder",
        ),
        ("--due", "--if-due"),
        ("--only-if-due", "--if-due"),
        ("-f", "--force"),
        ("--summary", "--method"),
        ("--summarizer", "--method"),
        ("--llm", "--method llm --llm-url URL"),
        (
            "--method openai",
            "llm, with --llm-url URL and --llm-api openai",
        ),
        (
            "--method anthropic",
            "llm, with --llm-url URL and --llm-api anthropic",
        ),
        ("--method ai", "llm"),
        ("--method model", "llm"),
        ("--url", "--llm-url"),
        ("--prompt", "--template or --instructions"),
        ("--summary-prompt", "--template"),
        ("--threshold", "--set trigger.share=0.8"),
        (
            "--trigger",
            "--trigger-tokens, --trigger-messages or --trigger-share",
        ),
        ("--mode", "--set mode=prune_only"),
        ("--max-attempts", "--set target.max_attempts=N"),
        ("--cache-ttl", "--set prune.cache_ttl=5m"),
        ("--header", "--set summary.header=TEXT"),
        ("--role", "--set summary.role=ROLE"),
        ("--safeguard", "--set summary.safeguard=true"),
        ("--extract", "--set summary.extract=true"),
        (
            "-l",
            "ctx-snapshot -l FILE lists the snapshots; ctx-ls lists sessions",
        ),
        (
            "--list",
            "ctx-snapshot -l FILE lists the snapshots; ctx-ls lists sessions",
        ),
        ("--list-presets", "--show-preset"),
        ("--presets", "--show-preset"),
    ],
    exit_status: &[
        (
            0,
            "compacted, with a warning where it is above the target still; pruned, as a filter; or nothing to do: nothing is old, nothing is due, switched off; with --if-due also where it gets no smaller",
        ),
        (
            1,
            "no gain, or, with --strict-target, the target is out of reach; with --if-due only in the last of target.max_attempts runs; the file is as it was",
        ),
        (
            2,
            "usage, bad input, or the disk failed; the file is as it was",
        ),
        (
            3,
            "some of several files, or some or all conversations of a --batch, failed; or no model gave a summary, and large results were put into files; or compacted, but the summary was made without results whose files cannot be read: the references are in the snapshot",
        ),
        (
            4,
            "the session is being changed by another run, or the file is open for writing, or it changed meanwhile; it is as it was",
        ),
        (
            5,
            "compacted, but a power cut may undo that, or the audit log, the log of the day or the session's summaries may not know",
        ),
    ],
    environment: &[
        ("CTX_PRESET", "as --preset"),
        ("CTX_CONFIG", "as --config"),
        (
            "CTX_TRIGGER_MESSAGES",
            "and the like, one for each setting of a policy: docs/policies.md lists them",
        ),
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
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "TMPDIR",
            "where temporary files lie while a session is rebuilt",
        ),
    ],
    files: &[
        (
            "STORE/memory/session-summaries/SESSION-TIMESTAMP.jsonl",
            "the exact bytes of what was replaced",
        ),
        (
            "STORE/memory/session-summaries/SESSION.md",
            "all summaries of the session, the newest last",
        ),
        (
            "STORE/memory/extracted/*.md",
            "what the old part held: decisions, facts, preferences, tool runs",
        ),
        (
            "STORE/memory/daily/DATE.md",
            "the log of the day (UTC): each compaction in a section",
        ),
        (
            ".FILE.ctx-old-N",
            "the replaced file, beside the new one, while another process has it open for writing",
        ),
        ("STORE/context/events.jsonl", "the audit log"),
    ],
    examples: &[
        ("ctx-compact session.jsonl", "Compact a session now"),
        (
            "ctx-compact -n session.jsonl",
            "Show how small it would get",
        ),
        (
            "ctx-compact -q --if-due --model gpt-4o sessions/*.jsonl",
            "From cron: compact what fills 80 % of the model's window",
        ),
        (
            "ctx-compact --budget 20000 session.jsonl",
            "Make it 20000 tokens at most, when it has more",
        ),
        (
            "ctx-compact --keep-turns 6 < session.jsonl > smaller.jsonl",
            "As a filter",
        ),
        (
            "ctx-compact --batch --tag-failed --budget 8000 < corpus.jsonl > smaller.jsonl",
            "A corpus of conversations, one a line, on all cores",
        ),
        (
            "ctx-compact --method llm --llm-url http://127.0.0.1:8080 --instructions 'keep the API names' s.jsonl",
            "Let a model on this machine write the summary",
        ),
    ],
};
