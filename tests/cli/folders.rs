//! Folders as operands are searched on request; every refusal of a folder says what to do.

use ctx_testkit::Case;

const USER: &str = "{\"role\":\"user\",\"content\":\"u\"}\n";
const ORPHAN: &str = "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"x\"}\n";

fn tool(name: &str) -> Case {
    Case::new(crate::tool_path(name))
}

fn with_folder(case: Case) -> Case {
    case.file("d/.agent/b.jsonl", [USER, ORPHAN].concat())
        .file("d/a.jsonl", USER)
        .file("d/.a.jsonl.ctx-old-3", "no session")
        .file("d/notes.txt", "no session")
}

/// Folders whose names begin with a dot are searched, too, because agents keep sessions
/// there.
#[test]
fn a_folder_is_checked_file_by_file() {
    with_folder(tool("ctx-check"))
        .args(["d"])
        .stdout(concat!(
            "d/.agent/b.jsonl:2: orphan-result: tool result a has no matching call right before it\n",
            "d/a.jsonl: ok\n",
        ))
        .code(1)
        .run();
    with_folder(tool("ctx-check")).args(["--glob", "a.*", "d"]).stdout("d/a.jsonl: ok\n").run();
}

/// A folder without matching names is reported, and so is one without `-r`.
#[test]
fn a_folder_is_no_error_without_a_way_out() {
    with_folder(tool("ctx-count")).args(["-r", "d"]).stdout_has("d/.agent/b.jsonl\n").run();
    with_folder(tool("ctx-count"))
        .args(["d"])
        .code(2)
        .stderr("ctx-count: d: is a directory; to read the session files in this folder: -r d\n")
        .run();
    with_folder(tool("ctx-check"))
        .args(["--glob", "*.zip", "d"])
        .code(2)
        .stderr_has("d: no session files in this folder; --glob PATTERN sets the names to look for")
        .run();
    for name in ["ctx-compact", "ctx-split", "ctx-snapshot", "ctx-extract"] {
        with_folder(tool(name))
            .args(["d"])
            .code(2)
            .stderr_has("name a session: ctx-ls DIR lists the sessions in a directory")
            .run();
    }
}
