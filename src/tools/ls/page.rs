//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(super) const PAGE: Page = Page {
    first: &[
        "agent",
        "project",
        "due",
        "list",
        "model",
        "subagents",
        "paths-only",
        "null",
        "json",
    ],
    guesses: &[
        (
            "-a",
            "it lists all agents without a flag; --subagents adds the files of subagents",
        ),
        (
            "--all",
            "it lists all agents without a flag; --subagents adds the files of subagents",
        ),
        ("-r", "it walks through folders without a flag"),
        ("-R", "it walks through folders without a flag"),
        ("--recursive", "it walks through folders without a flag"),
        ("-t", "it lists the newest first without a flag"),
        (
            "--sort",
            "it lists the newest first; ctx-ls --json | jq sorts otherwise",
        ),
        ("-1", "--paths-only"),
        ("--print0", "--null"),
        ("-p", "--paths-only"),
        ("--paths", "--paths-only"),
        ("--full", "--due"),
        ("--agent claude", "claude-code"),
        ("--agent openai", "codex"),
    ],
    exit_status: &[
        (0, "listed, also when there is nothing"),
        (2, "none of the files and folders named could be read"),
        (
            3,
            "some of those named could not be read; the others are listed",
        ),
    ],
    environment: &[
        (
            "CLAUDE_CONFIG_DIR",
            "Claude Code's folder [~/.claude]: its projects/",
        ),
        (
            "CODEX_HOME",
            "Codex's folder [~/.codex]: its sessions/ and archived_sessions/",
        ),
        (
            "GEMINI_CLI_HOME",
            "where .gemini lies [~]: the chats/ below its tmp/",
        ),
        (
            "OPENCLAW_STATE_DIR",
            "OpenClaw's folder [~/.openclaw, or .openclaw in OPENCLAW_HOME]: agents/*/sessions/",
        ),
        (
            "PI_CODING_AGENT_SESSION_DIR",
            "pi's sessions [sessions/ in PI_CODING_AGENT_DIR, or in ~/.pi/agent]",
        ),
        ("CTX_HOME", "where the store lies; --store goes before it"),
        ("CTX_PRESET", "as --preset"),
        ("CTX_CONFIG", "as --config"),
    ],
    files: &[(
        "STORE/index/sessions.jsonl",
        "what was read of each file, valid while its size and times are the same; it may be deleted",
    )],
    examples: &[
        ("ctx-ls", "All sessions on this machine, the newest first"),
        (
            "ctx-ls -l --project .",
            "The sessions of this folder, with their ids and files",
        ),
        ("ctx-ls --due", "Those that are due for a compaction"),
        (
            "ctx-ls --due --agent claude-code -0 | xargs -0r ctx-compact --if-due",
            "Compact those that still are when it is their turn, whatever their names",
        ),
        (
            "ctx-ls --json ~/backup | jq -r 'select(.tokens > 100000) | .path'",
            "What jq selects, of a folder",
        ),
        (
            "ctx-ls --window 200k --trigger-share 0.5",
            "Shares of another window, due above the half of it",
        ),
    ],
};
