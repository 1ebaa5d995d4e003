//! A handle in place of removed content says what the content was and how to get it back, and
//! promises nothing more.

use ctx_testkit::{Case, Finished};

const CTX_PRUNE: &str = env!("CARGO_BIN_EXE_ctx-prune");
const CTX_OFFLOAD: &str = env!("CARGO_BIN_EXE_ctx-offload");

/// Returns a command with a secret and a long result, a file that was written, a reply.
fn session() -> String {
    let call = |id: &str, tool: &str, arguments: &serde_json::Value| {
        let arguments = arguments.to_string();
        serde_json::json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": tool, "arguments": arguments}}]})
    };
    let result = |id: &str, text: &str| serde_json::json!({"role": "tool", "tool_call_id": id, "content": text});
    let command = "cd /srv/berthbook && curl -H 'x-api-key: sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345' https://berths.example/a";
    [
        serde_json::json!({"role": "user", "content": "Go on."}),
        call("a", "Bash", &serde_json::json!({ "command": command })),
        result("a", &log()),
        call("b", "Write", &serde_json::json!({"file_path": "src/a.py", "content": code()})),
        result("b", "written"),
        serde_json::json!({"role": "assistant", "content": "Done."}),
    ]
    .map(|line| line.to_string() + "\n")
    .concat()
}

fn log() -> String {
    "berth \"4\" → free\n".repeat(60)
}

fn code() -> String {
    "print(\"§\")\n".repeat(60)
}

const LOG: &str =
    "⟦ctx: Bash curl -H 'x-api-key: [REDACTED]'…, all 1140 bytes: ctx-offload --show cb43a081⟧";
const CODE: &str = "⟦ctx: all 720 bytes: ctx-offload --show e18d5db8⟧";

const RULES: [&str; 5] = ["--clear", "--max-argument-chars", "100", "--protect-last", "1"];

/// Returns a folder with the session pruned in place.
fn pruned() -> Finished {
    Case::new(CTX_PRUNE).args(RULES).args(["-i", "-q", "s.jsonl"]).file("s.jsonl", session()).run()
}

fn text(home: &Finished) -> String {
    String::from_utf8(home.read("s.jsonl")).expect("text")
}

#[test]
fn of_what_is_pruned_in_place_each_handle_names_the_command_that_prints_it() {
    let home = pruned();
    let text = text(&home);
    assert!(text.contains(LOG) && text.contains(CODE), "{text}");
    for (hash, original) in [("cb43a081", log()), ("e18d5db8", code())] {
        Case::new(CTX_OFFLOAD).within(home.dir()).args(["--show", hash]).stdout(original).run();
    }
    // A second run has nothing to do.
    Case::new(CTX_PRUNE).within(home.dir()).args(RULES).args(["s.jsonl"]).stdout(text).run();
}

#[test]
fn a_filter_promises_nothing_and_the_session_that_it_read_has_it() {
    let saved = |handle: &str| handle.replace(": ctx-offload", ", if saved: ctx-offload");
    let home = Case::new(CTX_PRUNE)
        .args(RULES)
        .args(["s.jsonl"])
        .file("s.jsonl", session())
        .stdout_any()
        .run();
    let text = String::from_utf8_lossy(&home.stdout).into_owned();
    assert!(text.contains(&saved(LOG)) && text.contains(&saved(CODE)), "{text}");
    let show = || Case::new(CTX_OFFLOAD).within(home.dir()).args(["--show", "e18d5db8"]);
    show()
        .code(2)
        .stderr("ctx-offload: no text with sha256 e18d5db8… was found; the original was not offloaded and is in no snapshot; name its session as FILE, or its store with --store\n")
        .run();
    show().args(["s.jsonl"]).stdout(code()).run();
    Case::new(CTX_OFFLOAD)
        .args(["--show", "e18d5db8", "-"])
        .stdin("{\"role\":\"user\",\"content\":\"a\"}\n")
        .code(2)
        .stderr("ctx-offload: no text with sha256 e18d5db8… was found; the original is not in FILE, was not offloaded, and is in no snapshot\n")
        .run();
    show()
        .args(["missing.jsonl"])
        .code(2)
        .stderr("ctx-offload: missing.jsonl: no such file or directory; check the path\n")
        .run();
}

#[test]
fn a_store_that_a_flag_names_is_not_where_a_reader_looks() {
    let home = Case::new(CTX_PRUNE)
        .args(RULES)
        .args(["-i", "--store", "store", "s.jsonl"])
        .file("s.jsonl", session())
        .stdout("s.jsonl: 2 changes, 719 tokens freed\n")
        .run();
    let text = text(&home);
    assert!(text.contains("all 720 bytes, if saved: ctx-offload --show e18d5db8⟧"), "{text}");
    Case::new(CTX_OFFLOAD)
        .within(home.dir())
        .args(["--store", "store", "--show", "e18d5db8"])
        .stdout(code())
        .run();
}

#[test]
fn what_older_versions_left_stays_and_can_be_shown() {
    let old = "⟦ctx:cb43a0810000 1140 bytes 300 tokens⟧";
    let text = text(&pruned()).replace(LOG, old);
    assert!(text.contains(old), "{text}");
    Case::new(CTX_PRUNE).args(RULES).stdin(text.clone()).stdout(text).run();
}

#[test]
fn a_compaction_in_place_leaves_handles_that_hold() {
    let home = Case::new(crate::tool_path("ctx-compact"))
        .args(["--budget", "420", "--keep-messages", "3", "s.jsonl"])
        .file("s.jsonl", session())
        .stderr_has("")
        .stdout_any()
        .run();
    let text = text(&home);
    let (_, rest) = text.split_once("ctx-offload --show ").expect("a handle");
    assert!(!text.contains("if saved"), "{text}");
    let out =
        Case::new(CTX_OFFLOAD).within(home.dir()).args(["--show", &rest[..8]]).stdout_any().run();
    let shown = String::from_utf8(out.stdout).expect("text");
    assert!([log(), code()].contains(&shown), "{shown}");
}
