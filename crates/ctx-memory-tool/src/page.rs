//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(crate) const PAGE: Page = Page {
    first: &[
        "limit",
        "session",
        "kind",
        "since",
        "base",
        "max-tokens",
        "transcript",
        "dry-run",
        "llm-url",
        "llm-model",
        "output",
        "json",
    ],
    guesses: &[
        ("find", "search"),
        ("grep", "search"),
        ("query", "search"),
        ("show", "get"),
        ("cat", "get"),
        ("read", "get"),
        ("merge", "consolidate"),
        ("update", "consolidate"),
        ("gc", "consolidate"),
        ("context", "inject"),
        ("prompt", "inject"),
        ("-l", "--limit"),
        ("-n", "--limit"),
        ("-k", "--limit"),
        ("--top", "--limit"),
        ("--max", "--limit"),
        ("--count", "--limit"),
        ("-c", "--limit"),
        ("-m", "--limit"),
        ("--budget", "--max-tokens"),
        ("--after", "--since"),
        ("--until", "--before"),
        ("--type", "--kind"),
        ("--system", "--base"),
        ("-i", "--transcript"),
        ("--file", "--transcript"),
    ],
    exit_status: &[
        (
            0,
            "something was found, or printed; a context was put together, be it empty; the memory is consolidated, also where there was nothing to do",
        ),
        (1, "nothing was found"),
        (
            2,
            "also: consolidate could not read a file, or not write; no memory file changed",
        ),
        (
            3,
            "some of what the store holds is damaged or cannot be read; the rest was searched; or some of the memory files are consolidated, others could not be written: run it again",
        ),
        (
            4,
            "another run builds the first index or changes the memory, or somebody edited a memory file at the same moment: try again",
        ),
        (
            5,
            "consolidated, but the last records, the log of the day or what the next run has to know could not be written",
        ),
    ],
    environment: &[
        ("CTX_HOME", "where the store lies; --store goes before it"),
        (
            "CTX_LLM_URL, CTX_LLM_MODEL",
            "the server and the model that consolidate asks; without a URL none is asked",
        ),
        (
            "CTX_LLM_KEY, CTX_LLM_KEY_FILE",
            "its key, or a file that has it; see ctx-summarize(1)",
        ),
    ],
    files: &[
        (
            "STORE/index/search/",
            "the index: words and places, no text; it may be deleted",
        ),
        (
            "STORE/memory/, STORE/offloaded/",
            "what is searched, and not changed by that",
        ),
        (
            "STORE/memory/daily/, STORE/memory/extracted/",
            "what consolidate reads; extracted gets what is new and what was taken back",
        ),
        (
            "STORE/memory/summary/master.md",
            "what consolidate writes, around what you write there",
        ),
        (
            "STORE/memory/history/",
            "what consolidate replaced, byte for byte; no tool deletes it",
        ),
        (
            "STORE/memory/consolidated.json",
            "what consolidate has seen and written; without it, what you deleted may come back",
        ),
        (
            "STORE/memory/summary/soul.md",
            "who the agent is to be: written by you, for inject",
        ),
    ],
    examples: &[
        (
            "ctx-memory search port of the staging server",
            "What any session said of it, the best first",
        ),
        (
            "ctx-memory search --role user --since '1 week ago' 数据库",
            "What users said of the database within a week",
        ),
        (
            "ctx-memory search -s demo --kind snapshot src/tools/check.rs | jq -r .ref",
            "Where a session has this path",
        ),
        (
            "ctx-memory inject --base prompt.md -s demo --max-tokens 4000",
            "The context that the session goes on with",
        ),
        (
            "ctx-memory inject --transcript - < session.jsonl > next.jsonl",
            "A session with the memory in its system message",
        ),
        (
            "ctx-memory consolidate -n",
            "What a consolidation would change, as a diff",
        ),
        (
            "ctx-memory consolidate -q",
            "Bring the memory of all sessions together; fit for cron: silent when it went well",
        ),
        (
            "ctx-memory search --limit 1 SQLite | jq -r .ref | xargs -d '\\n' ctx-memory get",
            "The best one as it stands there",
        ),
    ],
};
