//! Tests of `ctx-extract`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use ctx_testkit::Case;

const CTX_EXTRACT: &str = env!("CARGO_BIN_EXE_ctx-extract");

const CHAT: &str = r#"{"role":"system","content":"We decided to be polite."}
{"role":"user","content":"Hi. We decided to keep SQLite. I prefer tabs. Which one did you choose?"}
{"role":"assistant","content":"我们决定端口用 8080。\n```\nwe decided in code\n```","tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"make\\n test\"}"}}]}
{"role":"tool","tool_call_id":"c1","content":"Exit code 2\nno rule for test"}
{"role":"assistant","content":"The parser lives in src/parser.rs, the key is sk-aB3dE5gH7jK9mN1pQ3 there."}
"#;

const ITEMS: &str = r#"{"kind":"decision","text":"We decided to keep SQLite.","role":"user","line":2,"session":"demo"}
{"kind":"preference","text":"I prefer tabs.","role":"user","line":2,"session":"demo"}
{"kind":"decision","text":"我们决定端口用 8080。","role":"assistant","line":3,"session":"demo"}
{"kind":"fact","text":"我们决定端口用 8080。","role":"assistant","line":3,"session":"demo"}
{"kind":"runtime","text":"Bash: make test","role":"assistant","line":3,"session":"demo","tool":"Bash"}
{"kind":"runtime","text":"Bash failed: Exit code 2: no rule for test","role":"tool","line":4,"session":"demo","tool":"Bash"}
{"kind":"fact","text":"The parser lives in src/parser.rs, the key is [REDACTED] there.","role":"assistant","line":5,"session":"demo"}
"#;

/// A tagged stream in which records 2 and 3 are old, and all six records arrived.
const TAGGED: &str = r#"{"_ctx":{"zone":"system","line":1},"role":"system","content":"s"}
{"_ctx":{"zone":"old","line":7},"role":"user","content":"We decided on A."}

{"_ctx":{"zone":"old","line":9},"role":"user","name":"ctx_summary","content":"We decided on B."}
{"_ctx":{"zone":"keep","line":10},"role":"user","content":"We decided on C."}
{"_ctx":{"zone":"keep","line":11,"end":6},"role":"assistant","content":"ok"}
"#;

fn extract() -> Case {
    Case::new(CTX_EXTRACT)
}

fn demo(args: &[&str]) -> Case {
    extract().args(["-s", "demo"]).args(args.iter().copied()).stdin(CHAT)
}

#[test]
fn items_are_json_lines() {
    demo(&[]).stdout(ITEMS).run();
}

/// If a record has a time, the item and its entry in the memory have the day, and a later run
/// recognizes the entry.
#[test]
fn what_was_said_has_its_day() {
    let session = r#"{"role":"user","content":"We decided to keep SQLite.","timestamp":"2026-11-20T23:30:00-05:00"}
"#;
    let item = r#"{"kind":"decision","text":"We decided to keep SQLite.","role":"user","line":1,"session":"demo","date":"2026-11-21"}
"#;
    let case = |args: &[&str]| extract().args(["-s", "demo"]).args(args.iter().copied());
    case(&[]).stdin(session).stdout(item).run();
    let dir = tempfile::tempdir().expect("a folder");
    let into = ["--into", dir.path().to_str().expect("UTF-8")];
    for _ in 0..2 {
        case(&into).stdin(session).stdout(session).run();
        let entries = fs::read_to_string(dir.path().join("extracted/decisions.md"));
        let expected = "# Decisions\n\n- We decided to keep SQLite. (user, demo:1, 2026-11-21)\n";
        assert_eq!(entries.expect("a file"), expected);
    }
}

#[test]
fn kinds_can_be_chosen() {
    let only: Vec<&str> = ITEMS
        .split_inclusive('\n')
        .filter(|line| line.contains("preference") || line.contains("runtime"))
        .collect();
    let only = only.concat();
    demo(&["--kind", "preference", "--kind", "runtime"]).stdout(only).run();
}

#[test]
fn verbose_counts_items_and_secrets() {
    demo(&["-v", "-o", "items.jsonl"])
        .stderr("ctx-extract: 1 secret removed\nctx-extract: 7 items found\n")
        .run();
}

#[test]
fn a_session_is_named_after_its_file() {
    let out = extract().file("a.jsonl", CHAT).args(["a.jsonl"]).stdout_any().run();
    let out = String::from_utf8(out.stdout).expect("UTF-8");
    assert!(out.contains(r#""session":"a-"#), "{out}");
    extract().stdin(CHAT).stdout_has(r#""session":"stdin""#).run();
    extract().args(["-s", "../x"]).code(2).stderr_has("is not a session id").run();
    extract()
        .file("a.jsonl", CHAT)
        .file("b.jsonl", CHAT)
        .args(["-s", "x", "a.jsonl", "b.jsonl"])
        .code(2)
        .stderr("ctx-extract: -s cannot be used with several files\n")
        .run();
}

#[test]
fn of_a_tagged_stream_the_old_zone_is_read() {
    let item = |letter, line| {
        format!(
            r#"{{"kind":"decision","text":"We decided on {letter}.","role":"user","line":{line},"session":"stdin"}}"#
        ) + "\n"
    };
    extract().stdin(TAGGED).stdout(item("A", 7)).run();
    extract().args(["--zone", "keep"]).stdin(TAGGED).stdout(item("C", 10)).run();
    extract().args(["--zone", "all"]).stdin(TAGGED).stdout(item("A", 7) + &item("C", 10)).run();
    extract().args(["--zone", "system"]).stdin(TAGGED).run();
}

#[test]
fn a_zone_needs_tags() {
    demo(&["--zone", "old"])
        .code(2)
        .stderr("ctx-extract: <stdin>: no record is marked as old or kept; ctx-split FILE | … marks them; ctx-summarize --budget N needs no marks\n")
        .run();
    demo(&["--zone", "system"]).stdout_has("be polite").run();
}

#[test]
fn an_early_end_merges_nothing() {
    let short = TAGGED.replace(r#","end":6"#, "");
    let message = "ctx-extract: <stdin>: upstream ended early (records received: 6, none marked as the last); did the previous tool in the pipeline fail? --partial accepts incomplete input\n";
    let out = extract()
        .args(["--into", "m"])
        .stdin(short.clone())
        .code(2)
        .stderr(message)
        .stdout_any()
        .run();
    assert!(!out.dir().join("m").exists());
    // Without the last record, later tools notice the early end, too.
    assert_eq!(String::from_utf8_lossy(&out.stdout).lines().count(), 5);
    extract().args(["--into", "m", "--partial"]).stdin(short.clone()).stdout(short).run();
}

#[test]
fn merging_passes_the_input_on_and_writes_four_files() {
    let out = demo(&["--into", "m"]).stdout(CHAT).run();
    let read =
        |name: &str| String::from_utf8(out.read(&format!("m/extracted/{name}"))).expect("UTF-8");
    assert_eq!(
        read("decisions.md"),
        "# Decisions\n\n- We decided to keep SQLite. (user, demo:2)\n- 我们决定端口用 8080。 (assistant, demo:3)\n"
    );
    assert_eq!(
        read("facts.md"),
        "# Facts\n\n- 我们决定端口用 8080。 (assistant, demo:3)\n- The parser lives in src/parser.rs, the key is [REDACTED] there. (assistant, demo:5)\n"
    );
    assert_eq!(read("preferences.md"), "# Preferences\n\n- I prefer tabs. (user, demo:2)\n");
    assert_eq!(
        read("runtime.md"),
        "# Runtime\n\n- Bash: make test (assistant, demo:3)\n- Bash failed: Exit code 2: no rule for test (tool, demo:4)\n"
    );
    let mode = fs::metadata(out.dir().join("m/extracted/facts.md")).expect("a file").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    assert_eq!(entries(&out.dir().join("m/extracted")), 4);
}

fn entries(dir: &Path) -> usize {
    fs::read_dir(dir).expect("a folder").count()
}

#[test]
fn a_second_merge_changes_nothing_and_keeps_what_people_wrote() {
    let mine = "My own notes, without an end\n\n* we decided to  keep SQLite\n* last";
    let first = demo(&["--into", "m"]).file("m/extracted/decisions.md", mine).stdout(CHAT).run();
    let path = first.dir().join("m/extracted/decisions.md");
    let merged = fs::read_to_string(&path).expect("a file");
    assert_eq!(merged, format!("{mine}\n- 我们决定端口用 8080。 (assistant, demo:3)\n"));
    let edited = format!("{merged}\nAnd more.\r\n");
    fs::write(&path, &edited).expect("edited");
    demo(&["--into", "m", "-v"])
        .within(first.dir())
        .stdout(CHAT)
        .stderr("ctx-extract: 1 secret removed\nctx-extract: 7 items found\nctx-extract: 0 new items in m/extracted, 7 already known\n")
        .run();
    assert_eq!(fs::read_to_string(&path).expect("a file"), edited);
}

/// If somebody edited a memory file during a killed run, the edit stays, and the next run says
/// where.
#[test]
fn an_edit_that_a_killed_run_took_out_is_told_of() {
    let edit = "m/extracted/.decisions.md.ctx-old-1-2-3-99";
    let said = format!(
        "ctx-extract: warning: {edit} is an edited memory file that a killed run moved away; copy what is missing into the memory file, then remove this one\n\
         ctx-extract: 7 new items in m/extracted, 0 already known\n"
    );
    let done = demo(&["--into", "m", "-v"])
        .file("m/extracted/decisions.md", "mine\n")
        .file(edit, "mine, edited\n")
        .stdout(CHAT)
        .stderr_has(&said)
        .run();
    assert_eq!(done.read(edit), b"mine, edited\n");
}

/// The latest summary is printed, without the record around it.
#[test]
fn a_summary_is_read_as_text() {
    let latest = |input: &str| extract().args(["--summary"]).stdin(input);
    latest(TAGGED).stdout("We decided on B.\n").run();
    let newer = r#"{"role":"user","name":"ctx_summary","content":"We decided on D.\nAnd E.\n"}"#;
    latest(&format!("{TAGGED}{newer}")).stdout("We decided on D.\nAnd E.\n").run();
    latest(CHAT).code(1).stderr("ctx-extract: warning: <stdin>: contains no summary\n").run();
}

#[test]
fn nothing_found_writes_nothing() {
    let session = "{\"role\":\"user\",\"content\":\"hello\"}\n";
    let out = extract().args(["--into", "m"]).stdin(session).stdout(session).run();
    assert!(!out.dir().join("m").exists());
    extract().stdin("").run();
    extract().args(["--into", "m"]).stdin("").run();
}

#[test]
fn what_is_no_file_is_refused_before_anything_is_changed() {
    let dir = tempfile::tempdir().expect("a folder");
    let extracted = dir.path().join("m/extracted");
    fs::create_dir_all(&extracted).expect("a folder");
    symlink("/etc/hostname", extracted.join("runtime.md")).expect("a link");
    demo(&["--into", "m"])
        .within(dir.path())
        .code(2)
        .stderr("ctx-extract: m/extracted/runtime.md is a symbolic link\n")
        .stdout_any()
        .run();
    assert_eq!(entries(&extracted), 1);
}

#[test]
fn a_merge_into_the_store_is_in_the_audit_log() {
    let out = demo(&["--into-store", "--store", "s"]).stdout(CHAT).run();
    let log = String::from_utf8(out.read("s/context/events.jsonl")).expect("UTF-8");
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains(r#""op":"extract","phase":"intent","tool":"ctx-extract""#), "{log}");
    assert!(
        lines[1].contains(r#""phase":"done""#) && lines[1].contains(r#""session":"demo""#),
        "{log}"
    );
    assert!(lines[1].contains(r#""count":7"#) && !log.contains("SQLite"), "{log}");
    // The memory folder of the store is given by its path. Nothing is new, so nothing is recorded.
    demo(&["--into", "s/memory"]).within(out.dir()).stdout(CHAT).run();
    assert_eq!(fs::read_to_string(out.dir().join("s/context/events.jsonl")).expect("a log"), log);
    let more = "{\"role\":\"user\",\"content\":\"We decided on Z.\"}\n";
    extract().args(["--into", "s/memory"]).stdin(more).within(out.dir()).stdout(more).run();
    let log = fs::read_to_string(out.dir().join("s/context/events.jsonl")).expect("a log");
    assert_eq!(log.lines().count(), 4, "{log}");
}

#[test]
fn bad_lines_are_passed_on_counted_or_refused() {
    let input = "{\"role\":\"user\",\"content\":\"We decided on A.\"}\n{broken\n{\"role\":\"user\",\"content\":\"b\"}\n{\"ta";
    let warning = "ctx-extract: warning: <stdin>:2: 1 bad line kept in place; the first: ";
    extract().args(["--into", "m"]).stdin(input).stdout(input).stderr_has(warning).run();
    extract()
        .args(["--invalid", "drop", "--into", "m"])
        .stdin(input)
        .stdout(input.replace("{broken\n", ""))
        .stderr_has("1 bad line left out")
        .run();
    let out = extract()
        .args(["--invalid", "fail", "--into", "m"])
        .stdin(input)
        .code(2)
        .stdout_any()
        .stderr_has("ctx-extract: <stdin>:2: ")
        .run();
    assert!(!out.dir().join("m").exists());
}

#[test]
fn records_of_an_unknown_format_are_refused() {
    extract()
        .stdin("{\"type\":\"x\",\"uuid\":1}\n")
        .code(2)
        .stderr("ctx-extract: <stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n")
        .run();
}

#[test]
fn conversations_are_read_line_by_line() {
    let batch = "{\"id\":1,\"messages\":[{\"role\":\"user\",\"content\":\"We decided on A.\"},{\"role\":\"user\",\"content\":\"x\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"I prefer B.\"}]}\n";
    extract()
        .args(["--batch"])
        .stdin(batch)
        .stdout("{\"kind\":\"decision\",\"text\":\"We decided on A.\",\"role\":\"user\",\"line\":1,\"session\":\"stdin\"}\n{\"kind\":\"preference\",\"text\":\"I prefer B.\",\"role\":\"user\",\"line\":2,\"session\":\"stdin\"}\n")
        .run();
    let tagged = "{\"_ctx\":{\"zones\":[\"keep\",\"old\"],\"end\":1},\"messages\":[{\"role\":\"user\",\"content\":\"We decided on A.\"},{\"role\":\"user\",\"content\":\"We decided on B.\"}]}\n";
    extract().args(["--batch"]).stdin(tagged).stdout_has("on B.").run();
    let out = extract().args(["--batch"]).stdin(tagged).stdout_any().run();
    assert!(!String::from_utf8_lossy(&out.stdout).contains("on A."));
}

#[test]
fn the_other_dialect_is_read() {
    let session = r#"{"role":"assistant","content":[{"type":"text","text":"We decided on A."},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/a/b.rs"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"gone"}]}
"#;
    extract()
        .args(["-s", "x"])
        .stdin(session)
        .stdout(
            r#"{"kind":"decision","text":"We decided on A.","role":"assistant","line":1,"session":"x"}
{"kind":"runtime","text":"Read: /a/b.rs","role":"assistant","line":1,"session":"x","tool":"Read"}
{"kind":"runtime","text":"Read failed: gone","role":"tool","line":2,"session":"x","tool":"Read"}
"#,
        )
        .run();
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_merge() {
    let dir = tempfile::tempdir().expect("a folder");
    let long = CHAT.repeat(600);
    fs::write(dir.path().join("in.jsonl"), long).expect("written");
    let script =
        format!("{CTX_EXTRACT} --into m in.jsonl | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}");
    let out = std::process::Command::new("bash")
        .args(["-c", &script])
        .current_dir(dir.path())
        .output()
        .expect("bash");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "0\n");
    let decisions =
        fs::read_to_string(dir.path().join("m/extracted/decisions.md")).expect("merged");
    assert_eq!(decisions.lines().count(), 4);
}

#[test]
fn a_full_output_is_seen_before_the_merge() {
    let dir = tempfile::tempdir().expect("a folder");
    let run = |input: &str| {
        fs::write(dir.path().join("in.jsonl"), input).expect("written");
        let script = format!("{CTX_EXTRACT} --into m in.jsonl 2>&1 >/dev/full; echo $?");
        let out = std::process::Command::new("bash")
            .args(["-c", &script])
            .current_dir(dir.path())
            .output()
            .expect("bash");
        String::from_utf8(out.stdout).expect("UTF-8")
    };
    let why = "ctx-extract: cannot write to stdout: No space left on device";
    assert_eq!(run(CHAT), format!("{why}\n2\n"));
    assert!(!dir.path().join("m").exists());
    let last = CHAT.lines().nth(1).expect("a record");
    assert_eq!(run(last), format!("{why}; the items are merged\n5\n"));
    assert!(dir.path().join("m/extracted/decisions.md").exists());
}

/// The items that the policy `sanbot` names for each memory file, in both languages.
const SANBOT: [(&str, &str); 34] = [
    ("decision", "我们决定使用 PostgreSQL。"),
    ("decision", "最终选择了方案二。"),
    ("decision", "版本已确定为 2.0。"),
    ("decision", "我們決定用 Rust 重寫。"),
    ("decision", "最終選擇 PostgreSQL。"),
    ("decision", "We decided to keep SQLite."),
    ("decision", "I chose rustls over openssl."),
    ("decision", "We will use PostgreSQL."),
    ("decision", "Let's go with option B."),
    ("decision", "Ok, going with rustls then."),
    ("decision", "Going with SQLite instead."),
    ("decision", "模型窗口设为 128000。"),
    ("fact", "项目名称是 ctx-tools。"),
    ("fact", "配置文件在 config/app.toml。"),
    ("fact", "数据库路径是 /var/lib/app/data.db。"),
    ("fact", "默认端口是 8080。"),
    ("fact", "專案的資料庫是 PostgreSQL 15。"),
    ("fact", "The project is called ctx-tools."),
    ("fact", "The parser lives in src/parser.rs."),
    ("fact", "The server listens on port 8080."),
    ("fact", "The config file is /etc/app.toml."),
    ("fact", "CTX_HOME is where the store lies."),
    ("preference", "我喜欢简短的回答。"),
    ("preference", "我的偏好是用 tab 缩进。"),
    ("preference", "我习惯先写测试。"),
    ("preference", "我喜歡簡短的回答。"),
    ("preference", "我習慣先寫測試。"),
    ("preference", "永远不要直接推送到 main。"),
    ("preference", "I prefer tabs."),
    ("preference", "I like short answers."),
    ("preference", "Always run the tests first."),
    ("preference", "Never push to main."),
    ("preference", "I usually write the tests first."),
    ("preference", "From now on, answer in English."),
];

#[test]
fn every_example_of_the_policy_sanbot_is_found() {
    for (kind, text) in SANBOT {
        let record = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
        let item = format!(r#"{{"kind":"{kind}","text":"{text}","#);
        extract().args(["--kind", kind]).stdin(record).stdout_has(&item).run();
    }
}
