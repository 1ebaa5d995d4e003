//! What the manual says beyond the flags.

use ctx_cli::Page;

pub(crate) const PAGE: Page = Page {
    exit_status: &[
        (
            0,
            "something was found, or printed; a context was put together, be it empty",
        ),
        (1, "nothing was found"),
        (
            3,
            "some of what the store holds is damaged or cannot be read; the rest was searched",
        ),
        (4, "another run builds the first index: try again"),
    ],
    environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
    files: &[
        (
            "STORE/index/search/",
            "the index: words and places, no text; it may be deleted",
        ),
        (
            "STORE/memory/, STORE/offloaded/",
            "what is searched, and never changed",
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
            "ctx-memory search --limit 1 SQLite | jq -r .ref | xargs -d '\\n' ctx-memory get",
            "The best one as it stands there",
        ),
    ],
};
