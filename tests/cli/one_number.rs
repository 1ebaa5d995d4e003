//! All tools state the same numbers about a session, before and after a compaction.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine;
use ctx_format::{Dialect, dialect};
use serde_json::{Value, json};

use crate::tool_path;

/// Returns the JSON object that a tool prints about `s.jsonl` in the folder `dir`, or `None` if the
/// tool refuses the session.
fn told(dir: &Path, tool: &str, args: &[&str]) -> Option<Value> {
    let done = Command::new(tool_path(tool))
        .args(args)
        .args(["--json", "--store", "store", "s.jsonl"])
        .current_dir(dir)
        .output()
        .expect("the tool starts");
    let said = String::from_utf8_lossy(&done.stdout);
    let told: Value = serde_json::from_str(said.lines().next()?).expect("JSON");
    told.get("error").is_none().then_some(told)
}

/// The numbers that several tools state about a session.
#[derive(Debug, PartialEq)]
struct Numbers {
    tokens: Value,
    messages: Value,
    /// The size that is compared with the window: the API's count, if the agent recorded usage.
    context: Value,
    window: Value,
}

/// Checks that the tools agree, and returns the numbers. Returns `None` if the file is no session.
fn numbers(dir: &Path, name: &str) -> Option<Numbers> {
    let count = told(dir, "ctx-count", &[])?;
    let stats = told(dir, "ctx-stats", &[])?;
    let list = told(dir, "ctx-ls", &[])?;
    let check = told(dir, "ctx-check", &[])?;
    let api = told(dir, "ctx-count", &["--calibrate"])?;
    let is_log = ["claude-code", "codex", "copilot", "gemini", "kimi", "opencode", "pi", "qwen"]
        .contains(&list["dialect"].as_str()?);
    let calibrates = is_log && api["calibrated"] == true;
    let numbers = Numbers {
        tokens: count["tokens"].clone(),
        messages: count["messages"].clone(),
        context: if calibrates { api["tokens"].clone() } else { count["tokens"].clone() },
        window: stats["window"].clone(),
    };
    for it in [&stats, &check] {
        assert_eq!(
            (&it["tokens"], &it["messages"]),
            (&numbers.tokens, &numbers.messages),
            "{name}"
        );
    }
    let sent = if calibrates { &stats["calibrated_tokens"] } else { &stats["tokens"] };
    assert_eq!((sent, &list["tokens"]), (&numbers.context, &numbers.context), "{name}");
    assert_eq!(
        (&list["messages"], &api["counted"]),
        (&numbers.messages, &numbers.tokens),
        "{name}"
    );
    // Without a model, the list has no window, and the triggers use the usual one.
    assert!(list["window"].is_null() || list["window"] == numbers.window, "{name}");
    Some(numbers)
}

/// Runs a tool in the folder `dir`.
fn run(dir: &Path, tool: &str, args: &[&str]) -> Output {
    Command::new(tool_path(tool)).args(args).current_dir(dir).output().expect("the tool starts")
}

/// Calls `check` with a folder and the name of each format. The folder has a session with images in
/// that format, `s.jsonl`.
fn in_every_format(check: impl Fn(&Path, &str)) {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("chat.jsonl"), with_images()).expect("written");
    for format in dialect::ALL.map(Dialect::name).iter().filter(|it| **it != "chat") {
        let new = run(dir.path(), "ctx-convert", &["--to", format, "chat.jsonl"]);
        fs::write(dir.path().join("s.jsonl"), new.stdout).expect("written");
        check(dir.path(), format);
    }
}

/// Images cost what the agent's API charges, so the formats differ in the size of a session.
#[test]
fn a_session_with_images_is_within_a_strict_budget_in_every_format() {
    in_every_format(|dir, format| {
        let args = ["--strict-target", "--budget", "9000", "--min-idle", "0s", "-q", "--store"];
        let done = run(dir, "ctx-compact", &[&args[..], &["store", "s.jsonl"]].concat());
        assert!(done.status.success(), "{format}: {}", String::from_utf8_lossy(&done.stderr));
        let left = told(dir, "ctx-count", &[]).expect("counted");
        let tokens = left["tokens"].as_u64().expect("a number");
        assert!((7_000..=9_000).contains(&tokens), "{format}: {tokens}");
    });
}

/// A result with a text and an image is a list, which a text replaces.
#[test]
fn results_with_images_are_offloaded_and_restored_in_every_format() {
    in_every_format(|dir, format| {
        let read = || fs::read(dir.join("s.jsonl")).expect("read");
        let old = read();
        let common = ["-i", "--min-idle", "0s", "-q", "--store", "store", "s.jsonl"];
        let args = ["--min-tokens", "20", "--protect-last", "0", "-s", format];
        let done = run(dir, "ctx-offload", &[&args[..], &common[..]].concat());
        assert!(done.status.success(), "{format}: {}", String::from_utf8_lossy(&done.stderr));
        if read() == old {
            // These formats keep images apart from the text, so no text can replace both.
            assert!(["copilot", "gemini", "opencode", "qwen"].contains(&format), "{format}");
            return;
        }
        let done = run(dir, "ctx-offload", &[&["--restore", "-s", format], &common[..]].concat());
        assert!(done.status.success(), "{format}: {}", String::from_utf8_lossy(&done.stderr));
        assert!(read() == old, "{format}");
    });
}

/// Twelve questions about images of 1,000 by 700 pixels, and two images that a tool has read.
fn with_images() -> String {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x03\xe8\0\0\x02\xbc\x08\x06\0\0\0".to_vec();
    png.resize(60, 0);
    let data = base64::prelude::BASE64_STANDARD.encode(&png);
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    let image = json!({"type": "image", "source": source});
    let turn = |n: usize| {
        let id = format!("toolu_{n:02}");
        let ask = format!("Compare picture {n} with the one in src/part{n}.png.");
        let call =
            |id: &str| json!({"type": "tool_use", "id": id, "name": "read", "input": {"n": n}});
        let text = json!({"type": "text", "text": format!("The sides of picture {n}. ").repeat(9)});
        let content = json!([text, image]);
        let result =
            |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
        let other = format!("toolu_x{n:02}");
        let lines = [
            json!({"role": "user", "content": [{"type": "text", "text": ask}, image]}),
            json!({"role": "assistant", "content": [call(&id), call(&other)]}),
            json!({"role": "user", "content": [result(&id), result(&other)]}),
            json!({"role": "assistant", "content": format!("Picture {n} is wider.")}),
        ];
        lines.map(|line| line.to_string() + "\n").concat()
    };
    (0..12).map(turn).collect()
}

/// Compares what the tools state about a copy of `session`. Returns true if it was compacted.
fn is_one(session: &Path) -> bool {
    let name = session.display().to_string();
    let dir = tempfile::tempdir().expect("a folder");
    let copy = dir.path().join("s.jsonl");
    fs::copy(session, &copy).expect("copied");
    let Some(before) = numbers(dir.path(), &name) else { return false };
    let args = ["--force", "--min-idle", "0s", "--keep-turns", "1"];
    let Some(plan) = told(dir.path(), "ctx-compact", &[&["-n"], &args[..]].concat()) else {
        return false;
    };
    let done = told(dir.path(), "ctx-compact", &args).expect("it was planned");
    let keys = ["tokens_after", "messages_after", "calibrated_after", "freed_tokens", "outcome"];
    assert_eq!(keys.map(|key| &plan[key]), keys.map(|key| &done[key]), "{name}");
    for report in [&plan, &done] {
        let was = (&report["tokens_before"], &report["messages_before"]);
        assert_eq!(was, (&before.tokens, &before.messages), "{name}");
        let sent = &report["calibrated_tokens"];
        assert!(sent.is_null() || *sent == before.context, "{name}: {sent} {before:?}");
    }
    let after = numbers(dir.path(), &name).expect("a session");
    let is = (&done["tokens_after"], &done["messages_after"], &before.window);
    assert_eq!(is, (&after.tokens, &after.messages, &after.window), "{name}");
    if done["outcome"] != "compacted" {
        return false;
    }
    let sent = &done["calibrated_after"];
    assert!(sent.is_null() || *sent == after.context, "{name}: {sent} {after:?}");
    // A compaction that only prunes has no zones.
    let Some(zones) = plan["plan"]["zones"].as_array() else { return true };
    let sum =
        |key: &str| zones.iter().map(|zone| zone[key].as_u64().expect("a number")).sum::<u64>();
    let summary = plan["plan"]["summary"].as_u64().expect("a number");
    assert_eq!(plan["tokens_after"], sum("tokens_after") + summary, "{name}");
    let tokens = sum("tokens");
    let pruned = plan["attempts"].as_array().expect("attempts").first();
    let pruned = pruned.filter(|attempt| attempt["what"] == "pruned-first");
    assert_eq!(*pruned.map_or(&before.tokens, |it| &it["tokens"]), tokens, "{name}");
    true
}

fn sessions_below(folder: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let files = files.map(|file| file.expect("readable").into_path());
    files.filter(|path| path.extension().is_some_and(|it| it == "jsonl" || it == "json")).collect()
}

#[test]
fn the_repositorys_sessions_have_one_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["examples", "fuzz/seeds", "tests/cli/dialogues", "tests/fixtures"];
    let all = folders.iter().flat_map(|folder| sessions_below(&root.join(folder)));
    let compacted = all.filter(|session| is_one(session)).count();
    assert!(compacted > 10, "{compacted}");
}

/// `CTX_TRANSCRIPTS=DIR cargo test --test cli -- --ignored one_number`
#[test]
#[ignore = "needs CTX_TRANSCRIPTS, a folder of real sessions"]
fn real_sessions_have_one_number() {
    let root = std::env::var_os("CTX_TRANSCRIPTS").expect("CTX_TRANSCRIPTS names a folder");
    let compacted = sessions_below(Path::new(&root)).iter().filter(|it| is_one(it)).count();
    assert!(compacted > 0);
}
