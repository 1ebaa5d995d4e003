//! Tests of `ctx-ls`.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use ctx_testkit::Case;
use serde_json::Value;
use tempfile::TempDir;

use crate::bench::{bash, good};

const CTX_LS: &str = env!("CARGO_BIN_EXE_ctx-ls");

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

fn claude(ask: &str, used: u64) -> String {
    let node = r#""sessionId":"c1","cwd":"/w/shop","timestamp":"2026-01-01T00:00:00.000Z""#;
    format!(
        r#"{{"uuid":"1","parentUuid":null,{node},"type":"user","message":{{"role":"user","content":"{ask}"}}}}
{{"uuid":"2","parentUuid":"1",{node},"type":"assistant","message":{{"id":"m","role":"assistant","model":"claude-opus-4-5","content":[{{"type":"text","text":"Done."}}],"usage":{{"input_tokens":5,"cache_read_input_tokens":{used},"output_tokens":10}}}}}}
"#
    )
}

fn pi(usage: &str) -> String {
    format!(
        r#"{{"type":"session","version":3,"id":"p1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w/bot"}}
{{"type":"message","id":"1","parentId":null,"timestamp":"t","message":{{"role":"user","content":"hello there"}}}}
{{"type":"message","id":"2","parentId":"1","timestamp":"t","message":{{"role":"assistant","model":"house-9","stopReason":"stop","content":[{{"type":"text","text":"yes"}}]{usage}}}}}
"#
    )
}

const CODEX: &str = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"x1","cwd":"/w/日志"}}
{"timestamp":"t","type":"turn_context","payload":{"cwd":"/w/日志","model":"gpt-5-codex"}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Read the log."}]}}
{"timestamp":"t","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}}
{"timestamp":"t","type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":50000,"output_tokens":2000},"model_context_window":258400}}}
"#;

const GEMINI: &str = r#"{"sessionId":"g1","projectHash":"h"}
{"id":"1","type":"user","content":"hi"}
{"id":"2","type":"gemini","content":"yes","model":"gemini-2.5-pro","tokens":{"input":10,"output":2,"total":12}}
{"$set":{"summary":"Greets"}}
"#;

/// Makes a file look as if it changed this many seconds ago.
fn put(home: &Path, name: &str, age: u64, text: &str) {
    let path = home.join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, text).expect("written");
    // The file is made half a minute older, so that a slow run shows the same age.
    let time = SystemTime::now() - Duration::from_secs(age + 30);
    let file = File::options().write(true).open(&path).expect("opens");
    file.set_modified(time).expect("a time");
}

/// Returns a home folder with a session of each agent, and other files.
fn home() -> TempDir {
    let dir = tempfile::tempdir().expect("a folder");
    let put = |name: &str, age, text: &str| put(dir.path(), name, age, text);
    let claude_code = ".claude/projects/-w-shop";
    put(
        &format!("{claude_code}/c1.jsonl"),
        3 * HOUR,
        &claude("Repair\\n the \\u001b[31mcart", 170_000),
    );
    put(&format!("{claude_code}/agent-7.jsonl"), HOUR, &claude("look", 7));
    put(".codex/sessions/2026/01/01/rollout-1.jsonl", 2 * DAY, CODEX);
    put(
        ".codex/sessions/2025/01/01/rollout-2025-01-01T00-00-00-0199aaaa-1111-7222-8333-444455556666.jsonl.zst",
        40 * DAY,
        "zstd",
    );
    put(
        ".pi/agent/sessions/--w-bot--/p1.jsonl",
        5 * DAY,
        &pi(r#","usage":{"input":5,"output":9}"#),
    );
    put(".openclaw/agents/main/sessions/o1.jsonl", 6 * DAY, &pi(""));
    put(".gemini/tmp/h/chats/session-1.jsonl", 900 * DAY, GEMINI);
    put(".gemini/tmp/h/logs.json", 0, "[]");
    fs::write(dir.path().join(".gemini/tmp/h/.project_root"), "/w/site\n").expect("written");
    dir
}

fn ls(home: &TempDir) -> Case {
    Case::new(CTX_LS).within(home.path())
}

const TABLE: &str = "\
ID        AGENT        PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE
c1        claude-code  shop      3h         2    170k   85.0%  due  Repair the \\u{1b}[31mcart
x1        codex        日志      2d         2     50k   19.4%       Read the log.
p1        pi           bot       5d         2      51       ?  ?    hello there
p1        openclaw     bot       6d         2     ~14       ?  ?    hello there
0199aaaa  codex        -        40d         -       -       -  -    (packed: unpack with zstd -d)
g1        gemini       site      2y         2      56    0.0%       Greets
";

#[test]
fn the_sessions_of_all_agents_are_in_one_table() {
    let home = home();
    ls(&home).stdout(TABLE).run();
    // The second run reads the index.
    ls(&home).stdout(TABLE).run();
}

/// The id with which the Copilot CLI resumes a session is the name of the folder, and the title is
/// in a file next to the session. The usage of a request is in a line before the reply.
#[test]
fn a_session_of_copilot_has_the_id_of_its_folder() {
    let event = |number: u8, kind: &str, data: &str| {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"00000000-0000-4000-8000-{number:012}","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}}"#
        )
    };
    let lines = [
        event(
            0,
            "session.start",
            r#"{"sessionId":"other","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z","context":{"cwd":"/w/shop"}}"#,
        ),
        event(
            1,
            "user.message",
            r#"{"content":"Repair it","transformedContent":"<current_datetime>2026-01-01</current_datetime>\n\nRepair it"}"#,
        ),
        event(
            2,
            "session.usage_record",
            r#"{"usage":{"inputTokens":84000,"outputTokens":9,"maxPromptTokens":168000}}"#,
        ),
        event(
            3,
            "assistant.message",
            r#"{"messageId":"m","model":"claude-sonnet-4.5","content":"Done."}"#,
        ),
    ];
    let home = tempfile::tempdir().expect("a folder");
    put(home.path(), ".copilot/session-state/c1/events.jsonl", HOUR, &(lines.join("\n") + "\n"));
    put(home.path(), ".copilot/session-state/c1/files/x.jsonl", HOUR, "{}");
    let workspace = home.path().join(".copilot/session-state/c1/workspace.yaml");
    fs::write(workspace, "id: c1\nname: Repair it\nuser_named: false\n").expect("written");
    let table = "\
ID  AGENT    PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE
c1  copilot  shop      1h         2     84k   50.0%       Repair it
";
    ls(&home).stdout(table).run();
}

/// Older versions of the Gemini CLI write a whole session as one document.
#[test]
fn a_document_of_gemini_has_an_id() {
    let home = tempfile::tempdir().expect("a folder");
    let document = r#"{
  "sessionId": "g-old",
  "projectHash": "h",
  "startTime": "2025-10-01T00:00:00.000Z",
  "messages": [{"id": "1", "timestamp": "t", "type": "user", "content": "hello"}]
}"#;
    put(home.path(), ".gemini/tmp/h/chats/session-1.json", DAY, document);
    ls(&home).args(["--json"]).stdout_has(r#""session":"g-old""#).run();
}

/// Kimi Code names the folder of a session by its id, and has the title in a file of its own.
#[test]
fn a_session_of_kimi_code_is_a_folder() {
    let home = tempfile::tempdir().expect("a folder");
    let folder = ".kimi-code/sessions/wd_shop_0a1b/session_0a1b2c3d-4e5f";
    let session = r#"{"type":"metadata","protocol_version":"1.5","created_at":1}
{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"hi"}],"toolCalls":[],"origin":{"kind":"user"}},"time":2}
"#;
    let state = r#"{"id":"session_0a1b2c3d-4e5f","cwd":"/w/shop","title":"Greets","custom":{}}"#;
    put(home.path(), &format!("{folder}/agents/main/wire.jsonl"), DAY, session);
    put(home.path(), &format!("{folder}/agents/agent-0/wire.jsonl"), DAY, session);
    put(home.path(), &format!("{folder}/session.jsonl"), DAY, session);
    put(home.path(), &format!("{folder}/state.json"), DAY, state);
    let table = "\
ID                AGENT  PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE
session_0a1b2c3d  kimi   shop      1d         1      ~8       ?  ?    Greets
";
    ls(&home).stdout(table).run();
    ls(&home).args(["--json"]).stdout_has(r#""session":"session_0a1b2c3d-4e5f""#).run();
    let count = bash(home.path(), "HOME=. ctx-count --json session_0a1b | jq -r .name");
    assert!(count.stdout.ends_with("agents/main/wire.jsonl\n"), "{}", count.stdout);
}

/// Archived sessions of Qwen Code are listed, and the lists of prompts next to them are not.
#[test]
fn a_session_of_qwen_code_has_the_name_that_its_user_chose() {
    let home = tempfile::tempdir().expect("a folder");
    let line = |id: &str, parent: &str, rest: &str| {
        format!(
            "{{\"uuid\":\"{id}\",\"parentUuid\":{parent},\"sessionId\":\"q1\",\"cwd\":\"/w/shop\",{rest}}}\n"
        )
    };
    let session = line(
        "a",
        "null",
        r#""type":"user","message":{"role":"user","parts":[{"text":"hi"}]}"#,
    ) + &line(
        "b",
        "\"a\"",
        r#""type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"yes"}]},"usageMetadata":{"promptTokenCount":10,"totalTokenCount":12},"contextWindowSize":100"#,
    );
    let name = |source: &str, name: &str| {
        let payload = format!(r#"{{"customTitle":"{name}","titleSource":"{source}"}}"#);
        line(
            "c",
            "\"b\"",
            &format!(r#""type":"system","subtype":"custom_title","systemPayload":{payload}"#),
        )
    };
    let folder = ".qwen/projects/-w-shop/chats";
    put(
        home.path(),
        &format!("{folder}/q1.jsonl"),
        DAY,
        &format!("{session}{}", name("auto", "Greets")),
    );
    put(
        home.path(),
        &format!("{folder}/archive/q2.jsonl"),
        2 * DAY,
        &format!("{session}{}", name("manual", "Till")),
    );
    put(home.path(), &format!("{folder}/q1.ledger.jsonl"), 0, &session);
    let table = "\
ID  AGENT  PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE
q1  qwen   shop      1d         2      56   56.0%       Greets
q1  qwen   shop      2d         2      56   56.0%       Till
";
    ls(&home).stdout(table).run();
}

/// The database of opencode is not read, but the documents that it exports are.
#[test]
fn an_export_of_opencode_is_listed() {
    let home = tempfile::tempdir().expect("a folder");
    let document = r#"{
  "info": {"id": "ses_1"},
  "messages": [{
    "info": {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}},
    "parts": [{"type": "text", "text": "hello"}]
  }]
}"#;
    put(home.path(), "exports/ses_1.json", DAY, document);
    let folder = home.path().join("exports");
    let args = ["--json".to_owned(), folder.display().to_string()];
    ls(&home).args(args).stdout_has(r#""dialect":"opencode","session":"ses_1""#).run();
}

/// The long form shows the file, and the id if the path does not contain it.
#[test]
fn long_rows_have_ids_and_paths() {
    let home = home();
    let path = home.path().display();
    let expected = format!(
        "ID  AGENT        PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE\n\
         c1  claude-code  shop      3h         2    170k   85.0%  due  Repair the \\u{{1b}}[31mcart\n   \
         492  {path}/.claude/projects/-w-shop/c1.jsonl\n\
         x1  codex        日志      2d         2     50k   19.4%       Read the log.\n   \
         624  x1  {path}/.codex/sessions/2026/01/01/rollout-1.jsonl\n"
    );
    for flag in ["-l", "--list"] {
        let agents = [flag, "--agent", "claude-code,codex"];
        let places = [".claude", ".codex/sessions/2026"].map(|it| format!("{path}/{it}"));
        ls(&home).args(agents).args(places).stdout(expected.as_str()).run();
    }
}

/// A short id has eight characters, or as many as it takes to tell it from the others in the
/// folder, listed or not.
#[test]
fn a_short_id_stands_for_one_session() {
    let home = tempfile::tempdir().expect("a folder");
    let ids = ["0a1b2c3d-4e5f", "0a1b2c3d-4e6f", "0a1b2cff-4e5f"];
    for (age, id) in ids.iter().enumerate() {
        let session = pi("").replace("\"p1\"", &format!("\"{id}\""));
        put(home.path(), &format!("{age}.jsonl"), age as u64 * DAY, &session);
    }
    let ids =
        |flag: &str| bash(home.path(), &format!("ctx-ls {flag} . | tail -n +2 | cut -d ' ' -f 1"));
    assert_eq!(ids("").stdout, "0a1b2c3d-4e5\n0a1b2c3d-4e6\n0a1b2cff\n");
    assert_eq!(ids("--limit 1").stdout, "0a1b2c3d-4e5\n");
}

/// A project is given by the name of its folder or by its path.
#[test]
fn a_project_is_a_name_or_a_folder() {
    let home = home();
    let listed = |project: &str| {
        let done = ls(&home).args(["--paths-only", "--project", project]);
        String::from_utf8(done.stdout_any().run().stdout).expect("text")
    };
    let c1 = home.path().join(".claude/projects/-w-shop/c1.jsonl");
    for project in ["shop", "/w/shop", "/w/shop/"] {
        assert_eq!(listed(project), format!("{}\n", c1.display()), "{project}");
    }
    assert_eq!(listed("/w").lines().count(), 5, "all below it");
    let done = bash(home.path(), "ctx-ls --agent pi --project .");
    let path = home.path().canonicalize().expect("a path");
    let (path, home) = (path.display(), home.path().display());
    assert_eq!(
        (done.code, done.stderr),
        (
            0,
            format!(
                "ctx-ls: warning: no sessions of project {path} in {home}/.pi/agent/sessions\n"
            )
        )
    );
}

#[test]
fn programs_get_exact_numbers() {
    let home = home();
    let found = ls(&home).args(["--json"]).stdout_any().run();
    let lines = String::from_utf8(found.stdout).expect("text");
    let rows: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(rows.len(), 6);
    let first = &rows[0];
    for (key, value) in [
        ("agent", Value::from("claude-code")),
        ("session", "c1".into()),
        ("ask", "Repair the \u{1b}[31mcart".into()),
        ("folder", "/w/shop".into()),
        ("model", "claude-opus-4-5".into()),
        ("messages", 2.into()),
        ("turns", 1.into()),
        ("tokens", 170_052.into()),
        ("recorded", 170_015.into()),
        ("estimated", 37.into()),
        ("window", 200_000.into()),
        ("share", 0.850_26.into()),
        ("due", true.into()),
        ("step", "compact".into()),
        ("packed", false.into()),
    ] {
        assert_eq!(first[key], value, "{key}");
    }
    assert!(first["age"].as_u64().expect("seconds") >= 3 * HOUR);
    assert_eq!((&rows[2]["due"], &rows[2]["window"]), (&Value::Null, &Value::Null));
    assert_eq!(rows[4].get("messages"), None, "packed");
}

#[test]
fn flags_choose_the_sessions() {
    let home = home();
    let shop = home.path().join(".claude/projects/-w-shop");
    let paths = |args: &[&str], expected: &[&str]| {
        let expected: String = expected
            .iter()
            .map(|path| home.path().join(path).display().to_string() + "\n")
            .collect();
        ls(&home).args(["--paths-only"]).args(args.iter().copied()).stdout(expected).run();
    };
    let c1 = ".claude/projects/-w-shop/c1.jsonl";
    let p1 = ".pi/agent/sessions/--w-bot--/p1.jsonl";
    let o1 = ".openclaw/agents/main/sessions/o1.jsonl";
    let x1 = ".codex/sessions/2026/01/01/rollout-1.jsonl";
    let g1 = ".gemini/tmp/h/chats/session-1.jsonl";
    let subagent = ".claude/projects/-w-shop/agent-7.jsonl";
    paths(&["--due"], &[c1]);
    let small = ["--due", "--window", "100", "--trigger-share", "0.1"];
    paths(&[&small[..], &["--agent", "pi,openclaw"]].concat(), &[p1, o1]);
    paths(&["--agent", "openclaw"], &[o1]);
    paths(&["--agent", "pi,openclaw", "--limit", "1"], &[p1]);
    paths(&["--agent", "pi,openclaw", "--since", "132h"], &[p1]);
    paths(&["--due", "--agent", "codex", "--model", "gpt-4"], &[x1]);
    paths(&["--subagents", shop.to_str().expect("text")], &[subagent, c1]);
    paths(&["--due", "--trigger-messages", "1", "--agent", "codex,gemini"], &[x1, g1]);
}

#[test]
fn variables_move_the_places() {
    let home = home();
    let moved = home.path().join("elsewhere");
    put(&moved, "projects/-x/s.jsonl", DAY, &claude("moved", 1_000));
    ls(&home)
        .env("CLAUDE_CONFIG_DIR", moved.to_str().expect("text"))
        .args(["--agent", "claude-code"])
        .stdout("ID  AGENT        PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE\nc1  claude-code  shop      1d         2    1.1k    0.5%       moved\n")
        .run();
}

/// Names with line ends and blanks, or that look like flags, reach the next tool.
#[test]
fn paths_go_to_xargs_whatever_they_are() {
    let dir = tempfile::tempdir().expect("a folder");
    put(dir.path(), "a\nb c.jsonl", DAY, &claude("hi", 190_000));
    put(dir.path(), "--help/x.jsonl", 2 * DAY, &claude("hi", 190_000));
    put(dir.path(), "small.jsonl", DAY, &claude("hi", 1_000));
    let counted = good(dir.path(), "ctx-ls --due -0 -- . --help | xargs -0r ctx-count | wc -l");
    assert_eq!(counted, "3\n");
    let named = good(dir.path(), "ctx-ls -0 -- --help | tr '\\0' '\\n'");
    assert_eq!(named, "./--help/x.jsonl\n");
}

/// `ctx-compact` checks each listed session again, so a session that another run has just compacted
/// is left alone. With the same window both tools agree whether a session needs a compaction.
#[test]
fn what_is_due_is_compacted_once() {
    let dir = tempfile::tempdir().expect("a folder");
    let long = |number: u32| {
        let text = format!("word {number} ").repeat(400);
        format!(
            "{{\"role\":\"user\",\"content\":\"{text}\"}}\n{{\"role\":\"assistant\",\"content\":\"{text}\"}}\n"
        )
    };
    put(dir.path(), "s/long.jsonl", DAY, &(0..20).map(long).collect::<String>());
    put(dir.path(), "s/short.jsonl", DAY, &long(0));
    let due = "ctx-ls -q --due --window 32k -0 s";
    let before = good(dir.path(), &format!("{due} | tr '\\0' '\\n'"));
    assert_eq!(before, "s/long.jsonl\n");
    let compact = "xargs -0r ctx-compact -q --if-due --window 32k";
    good(dir.path(), &format!("{due} > due; cat due | {compact}; sha256sum s/* > once"));
    let short = fs::read_to_string(dir.path().join("s/short.jsonl")).expect("there");
    assert_eq!(short, long(0));
    assert_eq!(good(dir.path(), due), "");
    good(dir.path(), &format!("cat due | {compact}; sha256sum -c once"));
}

/// Losing the index costs only time.
#[test]
fn an_index_that_is_broken_or_cannot_be_kept_changes_nothing() {
    let home = home();
    let index = home.path().join(".local/state/ctx/index/sessions.jsonl");
    ls(&home).stdout(TABLE).run();
    let whole = fs::read(&index).expect("the index");
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    assert_eq!(lines.len(), 1 + 5, "a head, and each file that was read");
    for bad in
        [&b""[..], b"\0\0\xff", &whole[..whole.len() / 2], b"{\"sessions\":\"0\"}\n", lines[0]]
    {
        fs::write(&index, bad).expect("written");
        ls(&home).stdout(TABLE).run();
        assert_eq!(fs::read(&index).expect("the index"), whole, "made anew, the same");
    }
    fs::remove_file(&index).expect("removed");
    fs::create_dir(&index).expect("in its place");
    ls(&home).stdout(TABLE).run();
    for store in ["/proc/no/store", "/dev/null"] {
        ls(&home).args(["--store", store]).stdout(TABLE).run();
    }
}

#[test]
fn a_file_that_changed_is_read_again_and_one_that_vanished_forgotten() {
    let home = home();
    ls(&home).stdout(TABLE).run();
    let live = home.path().join(".pi/agent/sessions/--w-bot--/p1.jsonl");
    let time = fs::metadata(&live).expect("there").modified().expect("a time");
    // The size and the modification time are the same.
    fs::write(&live, pi(r#","usage":{"input":6,"output":9}"#)).expect("written");
    File::options()
        .write(true)
        .open(&live)
        .and_then(|file| file.set_modified(time))
        .expect("a time");
    fs::remove_file(home.path().join(".openclaw/agents/main/sessions/o1.jsonl")).expect("removed");
    let seen = ls(&home).args(["--agent", "pi", "--json"]).stdout_any().run();
    let row: Value = serde_json::from_slice(&seen.stdout).expect("one object");
    assert_eq!(row["tokens"], 52);
    let index = fs::read_to_string(home.path().join(".local/state/ctx/index/sessions.jsonl"));
    assert!(!index.expect("the index").contains("o1.jsonl"));
}

/// Broken and circular links, a socket, a torn file, and bytes that are not a session.
#[test]
fn what_is_broken_or_foreign_is_counted_and_never_fatal() {
    let dir = tempfile::tempdir().expect("a folder");
    let d = dir.path().join("d");
    let session = claude("hi", 1_000);
    put(&d, "torn.jsonl", DAY, &session[..session.len() - 40]);
    put(&d, "foreign.jsonl", DAY, "{\"a\":1}\n");
    put(&d, "zeros.jsonl", DAY, "\0\0\0\0");
    symlink(&d, d.join("loop")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(d.join("s.jsonl")).expect("a socket");
    ls(&dir)
        .args(["d"])
        .stdout("ID  AGENT        PROJECT  AGE  MESSAGES  TOKENS  WINDOW  DUE  TITLE\nc1  claude-code  shop      1d         1      ~8       ?  ?    hi\n")
        .stderr("ctx-ls: warning: no session in 2 files; the first: d/foreign.jsonl\nctx-ls: warning: cannot read 1 path: d/loop: a link to a folder that contains it\n")
        .run();
}

/// A session is listed by its id or the beginning of its id.
#[test]
fn a_session_is_listed_by_its_id() {
    let id = "45ba035c-1111-4111-8111-111111111111";
    let file = format!(".claude/projects/p/{id}.jsonl");
    let dir = home();
    fs::create_dir_all(dir.path().join(".claude/projects/p")).expect("made");
    fs::write(dir.path().join(&file), claude("hi", 5).replace("c1", id)).expect("written");
    for named in [id, "45ba"] {
        let case = ls(&dir).args([named, "--paths-only"]);
        case.stdout(format!("{}\n", dir.path().join(&file).display())).run();
    }
    ls(&dir)
        .args(["45bb"])
        .code(2)
        .stderr_has("ctx-ls: 45bb: no such file, and no agent's session has this id; ")
        .run();
}

#[test]
fn what_was_named_and_is_not_there_is_a_failure() {
    let home = home();
    let c1 = home.path().join(".claude/projects/-w-shop/c1.jsonl");
    let missing = "ctx-ls: no: no such file or directory; an id needs 4 characters or more\n";
    ls(&home).args(["no"]).stderr(missing).code(2).run();
    ls(&home)
        .args(["no", c1.to_str().expect("text"), "--paths-only"])
        .stdout(format!("{}\n", c1.display()))
        .stderr(missing)
        .code(3)
        .run();
}

#[test]
fn where_nothing_is_it_says_where_it_looked() {
    let dir = tempfile::tempdir().expect("a folder");
    let done = bash(dir.path(), "ctx-ls --agent claude-code,pi");
    let home = dir.path().display();
    assert_eq!((done.code, done.stdout.as_str()), (0, ""));
    assert_eq!(
        done.stderr,
        format!(
            "ctx-ls: warning: no sessions in {home}/.claude/projects, {home}/.pi/agent/sessions\n"
        )
    );
    assert!(!dir.path().join(".local").exists(), "nothing was read");
    let done = bash(dir.path(), "ctx-ls --agent opencode");
    let expected = "ctx-ls: warning: no sessions in files: opencode keeps its sessions in a database; `opencode session list` shows them, and `opencode export ID > ID.json` writes one to a file\n";
    assert_eq!((done.code, done.stderr.as_str()), (0, expected));
}
