//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &["to", "dry-run", "output", "strict", "session", "json"],
    guesses: &[
        ("-t", "--to"),
        ("--target", "--to"),
        ("--format", "--to"),
        ("--into", "--to"),
        ("-f", "--dialect"),
        ("--from", "--dialect"),
        ("--output-format", "--to"),
        (
            "--to claude",
            "claude-code for the agent, anthropic for the API",
        ),
        (
            "--to openai",
            "chat for Chat Completions, responses for Responses",
        ),
        ("--to openclaw", "pi: OpenClaw reads the sessions of pi"),
        ("--to gpt", "chat"),
        ("--to google", "gemini"),
    ],
    exit_status: &[(
        2,
        "also: with --strict something could not be carried; nothing was written",
    )],
    environment: &[(
        "TMPDIR",
        "where a temporary file lies while a long session waits for its order",
    )],
    files: &[],
    examples: &[
        (
            "ctx-convert --to chat claude.jsonl | ctx-compact --budget 20000 > small.jsonl",
            "Make a chat of what Claude Code would send, and compact that",
        ),
        (
            "ctx-convert --to codex -o rollout-2026-01-01T00-00-00-ID.jsonl -s ID claude.jsonl",
            "Go on in Codex with a session of Claude Code",
        ),
        (
            "ctx-convert -n --to anthropic session.jsonl",
            "Show what could not be carried",
        ),
    ],
};
