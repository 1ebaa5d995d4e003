//! `ctx-compact` on agents' own files, again and again, each time after the agent has appended more
//! lines, and the rollback. `tests/clients/run` shows what the agents themselves read from such
//! files.

use std::fs;
use std::path::Path;
use std::process::Command;

use ctx_format::compaction::LineText;
use ctx_format::view::Presence;
use ctx_format::{Options, Records, Validator};

use crate::tool_path;

/// One turn of a session: a request, a call with its result, an answer.
type Turn = fn(number: usize, parent: &str) -> Vec<String>;

const FILLER: &str = "The parser keeps every byte of a record that it does not change. ";

fn object(members: &[(&str, &str)]) -> String {
    let line = members.iter().fold(LineText::default(), |line, (key, json)| line.json(key, json));
    line.end()
}

fn text(text: &str) -> String {
    format!("\"{text}\"")
}

fn ask(number: usize) -> String {
    text(&format!("Step {number}: which port does service {number} use?"))
}

fn output(number: usize) -> String {
    let long = FILLER.repeat(8);
    text(&format!("{long}Service {number} listens on port {}.", 7000 + number))
}

fn answer(number: usize) -> String {
    text(&format!("We decided to keep port {} for service {number}.", 7000 + number))
}

fn claude_code(number: usize, parent: &str) -> Vec<String> {
    let ids = ["u", "c", "r", "a"].map(|kind| format!("{kind}{number}"));
    let content = [
        ask(number),
        format!(
            r#"[{{"type":"tool_use","id":"t{number}","name":"Bash","input":{{"command":"ss -l"}}}}]"#
        ),
        format!(
            r#"[{{"type":"tool_result","tool_use_id":"t{number}","content":{}}}]"#,
            output(number)
        ),
        format!(r#"[{{"type":"text","text":{}}}]"#, answer(number)),
    ];
    let mut above = parent.to_owned();
    let lines = ids.iter().zip(content).enumerate().map(|(at, (id, content))| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let message = object(&[
            ("id", &text(&format!("m{id}"))),
            ("role", &text(role)),
            ("content", &content),
        ]);
        let line = object(&[
            ("parentUuid", &above),
            ("isSidechain", "false"),
            ("sessionId", "\"s\""),
            ("version", "\"2.1.197\""),
            ("type", &text(role)),
            ("message", &message),
            ("uuid", &text(id)),
            ("timestamp", &text(&format!("2026-01-01T00:{number:02}:0{at}.000Z"))),
        ]);
        above = text(id);
        line
    });
    lines.collect()
}

fn pi(number: usize, parent: &str) -> Vec<String> {
    let messages = [
        object(&[("role", "\"user\""), ("content", &ask(number))]),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"t{number}","name":"bash","arguments":{{}}}}],"stopReason":"toolUse"}}"#
        ),
        format!(
            r#"{{"role":"toolResult","toolCallId":"t{number}","toolName":"bash","content":[{{"type":"text","text":{}}}],"isError":false}}"#,
            output(number)
        ),
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":{}}}],"stopReason":"stop"}}"#,
            answer(number)
        ),
    ];
    let mut above = parent.to_owned();
    let lines = messages.iter().enumerate().map(|(at, message)| {
        let id = text(&format!("{number:04}{at:04}"));
        let line = object(&[
            ("type", "\"message\""),
            ("id", &id),
            ("parentId", &above),
            ("timestamp", &text(&format!("2026-01-01T00:{number:02}:0{at}.000Z"))),
            ("message", message),
        ]);
        above = id;
        line
    });
    lines.collect()
}

/// Returns a session like pi's, with entries that only `OpenClaw` writes: a reset before
/// everything, a branch abandoned by a `leaf`, and notes off the path that the next turn is
/// attached to. None of these are sent.
fn openclaw(number: usize, parent: &str) -> Vec<String> {
    let unsent = |id: &str, parent: &str, rest: &str| {
        format!(
            r#"{{"id":"{id}{number}","parentId":{parent},"timestamp":"2026-01-01T00:{number:02}:09.000Z",{rest}}}"#
        )
    };
    let said = r#""type":"message","message":{"role":"user","content":"unsent"}"#;
    if number == 1 {
        let mut lines =
            vec![unsent("old", "null", said), unsent("reset", "\"old1\"", r#""type":"reset""#)];
        lines.extend(pi(number, "\"reset1\""));
        return lines;
    }
    let mut lines = pi(number, parent);
    let end = text(&format!("{number:04}0003"));
    if number.is_multiple_of(3) {
        lines.push(unsent("left", &end, said));
        let leaf = format!(r#""type":"leaf","targetId":{end}"#);
        lines.push(unsent("leaf", &text(&format!("left{number}")), &leaf));
    } else {
        let beside = format!(r#""appendMode":"side",{said}"#);
        lines.push(unsent("beside", &end, &beside));
    }
    lines
}

fn codex(number: usize, _: &str) -> Vec<String> {
    let said = |role: &str, kind: &str, text: &str| {
        format!(
            r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#
        )
    };
    let items = [
        said("user", "input_text", &ask(number)),
        format!(
            r#"{{"type":"function_call","name":"shell","arguments":"{{}}","call_id":"t{number}"}}"#
        ),
        format!(
            r#"{{"type":"function_call_output","call_id":"t{number}","output":{}}}"#,
            output(number)
        ),
        said("assistant", "output_text", &answer(number)),
    ];
    let line = |item: &String| {
        let time = text(&format!("2026-01-01T00:{number:02}:00.000Z"));
        object(&[("timestamp", &time), ("type", "\"response_item\""), ("payload", item)])
    };
    items.iter().map(line).collect()
}

fn copilot(number: usize, parent: &str) -> Vec<String> {
    let events = [
        ("user.message", object(&[("content", &ask(number))])),
        (
            "assistant.message",
            format!(
                r#"{{"messageId":"c{number}","content":"","toolRequests":[{{"toolCallId":"t{number}","name":"bash","arguments":{{}}}}]}}"#
            ),
        ),
        (
            "tool.execution_complete",
            format!(
                r#"{{"toolCallId":"t{number}","success":true,"result":{{"content":{}}}}}"#,
                output(number)
            ),
        ),
        (
            "assistant.message",
            format!(r#"{{"messageId":"a{number}","content":{}}}"#, answer(number)),
        ),
    ];
    let mut above = parent.to_owned();
    let lines = events.iter().enumerate().map(|(at, (kind, data))| {
        let id = text(&format!("{number:08}-0000-4000-8000-{at:012}"));
        let line = object(&[
            ("type", &text(kind)),
            ("data", data),
            ("id", &id),
            ("timestamp", &text(&format!("2026-01-01T00:{number:02}:0{at}.000Z"))),
            ("parentId", &above),
        ]);
        above = id;
        line
    });
    lines.collect()
}

fn gemini(number: usize, _: &str) -> Vec<String> {
    let time = text(&format!("2026-01-01T00:{number:02}:00.000Z"));
    let call = format!(
        r#"[{{"id":"t{number}","name":"shell","args":{{}},"status":"success","result":[{{"functionResponse":{{"id":"t{number}","name":"shell","response":{{"output":{}}}}}}}]}}]"#,
        output(number)
    );
    let line = |id: &str, kind: &str, content: &str, more: &[(&str, &str)]| {
        let id = text(&format!("{id}{number}"));
        let members =
            [("id", id.as_str()), ("timestamp", &time), ("type", kind), ("content", content)];
        object(&[&members, more].concat())
    };
    vec![
        line("u", "\"user\"", &format!(r#"[{{"text":{}}}]"#, ask(number)), &[]),
        line("c", "\"gemini\"", "\"\"", &[("toolCalls", &call)]),
        line("a", "\"gemini\"", &answer(number), &[]),
    ]
}

/// A session in its own folder.
struct Log {
    dir: tempfile::TempDir,
    turn: Turn,
}

impl Log {
    fn new(header: &str, turn: Turn) -> Self {
        let log = Self { dir: tempfile::tempdir().expect("a folder"), turn };
        fs::write(log.path(), header).expect("written");
        log.go_on(1..9);
        log
    }

    /// Writes a session with these lines into its own folder.
    fn of(lines: &[String], turn: Turn) -> Self {
        let log = Self { dir: tempfile::tempdir().expect("a folder"), turn };
        fs::write(log.path(), lines.join("\n") + "\n").expect("written");
        log
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("s.jsonl")
    }

    fn read(&self) -> String {
        fs::read_to_string(self.path()).expect("text")
    }

    /// The agent continues from what it has read.
    fn go_on(&self, turns: std::ops::Range<usize>) {
        for number in turns {
            let session = self.read();
            let last = session.trim_end().lines().last().unwrap_or("{}");
            let last = ctx_format::Object::parse(last).expect("an object");
            let id = last.get("uuid").or(last.get("id")).unwrap_or("null");
            // The header of pi has an id, but is not a parent.
            let id = if last.get("version") == Some("3") { "null" } else { id };
            let mut lines = (self.turn)(number, id).join("\n");
            lines.push('\n');
            let newline = if session.is_empty() || session.ends_with('\n') { "" } else { "\n" };
            fs::write(self.path(), session.clone() + newline + &lines).expect("written");
        }
    }

    fn run(&self, tool: &str, args: &[&str]) -> String {
        let done = Command::new(tool_path(tool))
            .args(args)
            .args(["--store", "store", "s.jsonl"])
            .current_dir(self.dir.path())
            .output()
            .expect("the tool starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{tool}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Returns the result of `ctx-count` for the session.
    fn count(&self, args: &[&str]) -> String {
        let done = Command::new(tool_path("ctx-count"))
            .args(args)
            .arg(self.path())
            .output()
            .expect("the tool starts");
        assert!(done.status.success());
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    fn compact(&self) -> String {
        let kept = ["--keep-turns", "2", "--summary-tokens", "300"];
        let args = [&["--min-idle", "0s", "--force", "--json"], &kept[..]].concat();
        let report = self.run("ctx-compact", &args);
        assert!(report.contains(r#""outcome":"compacted""#), "{report}");
        report
    }
}

/// Returns everything that the agent would send, and the number of broken rules.
fn context(path: &Path) -> (String, usize) {
    let file = fs::File::open(path).expect("opens");
    let mut records = Records::open(file, &Options::default()).expect("reads");
    let dialect = records.dialect().expect("known");
    let mut validator = Validator::new(dialect.rules());
    let mut sent = String::new();
    while let Some(record) = records.next().expect("reads") {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
        if matches!(record.presence, Some(Presence::Inside(_))) {
            let message = record.message(Some(dialect)).expect("a message");
            sent += &message.texts().join("\n");
        }
    }
    (sent, validator.finish().len())
}

const CODEX: &str = "{\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\",\"originator\":\"o\",\"cli_version\":\"0.169.0\"}}\n";

/// Returns a line of Codex.
fn of_codex(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-01T00:30:00.000Z","type":"{kind}","payload":{payload}}}"#)
}

/// Returns a session of Gemini and one of Codex. One record has a list of nine turns; the ninth
/// turn is withdrawn, and a tenth follows it.
fn lists() -> [Log; 2] {
    let turns = |turn: Turn| -> Vec<String> { (1..10).flat_map(|at| turn(at, "")).collect() };
    let list = turns(gemini).join(",");
    let mut google = vec![
        r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#.to_owned(),
        format!(r#"{{"$set":{{"messages":[{list}]}}}}"#),
        r#"{"$rewindTo":"u9"}"#.to_owned(),
    ];
    google.extend(gemini(10, ""));
    let items: Vec<String> = turns(codex)
        .iter()
        .map(|line| {
            let line = ctx_format::Object::parse(line).expect("an object");
            line.get("payload").expect("an item").to_owned()
        })
        .collect();
    let list = format!(r#"{{"message":"","replacement_history":[{}]}}"#, items.join(","));
    // The search for a compaction counts turns that only the screen shows.
    let mut open = vec![
        CODEX.trim_end().to_owned(),
        of_codex("compacted", &list),
        of_codex("event_msg", r#"{"type":"task_started","turn_id":"q"}"#),
        of_codex("event_msg", r#"{"type":"user_message","message":"x"}"#),
        of_codex("event_msg", r#"{"type":"task_complete","turn_id":"q"}"#),
        of_codex("event_msg", r#"{"type":"thread_rolled_back","num_turns":1}"#),
    ];
    open.extend(codex(10, ""));
    [Log::of(&google, gemini), Log::of(&open, codex)]
}

#[test]
fn what_was_taken_back_of_a_list_does_not_come_again() {
    for log in lists() {
        let reach = log.count(&["--by", "reach"]);
        assert!(reach.contains("dead branch"), "{reach}");
        let before = log.read();
        log.compact();
        assert!(log.read().starts_with(&before));
        let (sent, problems) = context(&log.path());
        assert_eq!(problems, 0);
        for (number, stays) in [(8, true), (9, false), (10, true)] {
            let has = sent.contains(output(number).trim_matches('"'));
            assert_eq!(has, stays, "{number}: {sent}");
            assert_eq!(sent.contains(&format!("service {number}.")), stays);
        }
    }
}

#[test]
fn what_another_agent_of_codex_said_stays() {
    let mut lines = vec![CODEX.trim_end().to_owned()];
    lines.extend((1..9).flat_map(|number| codex(number, "")));
    let told = r#"{"author":"/root/w","recipient":"/root","content":"port 9000 is free","trigger_turn":false}"#;
    lines.push(of_codex("inter_agent_communication", told));
    lines.extend(codex(9, ""));
    let log = Log::of(&lines, codex);
    log.compact();
    let item = r#"{"type":"agent_message","author":"/root/w","recipient":"/root","content":[{"type":"input_text","text":"port 9000 is free"}]}"#;
    let written = log.read();
    let compacted = written.lines().find(|line| line.contains("\"compacted\""));
    assert!(compacted.expect("a compaction").contains(item), "{written}");
}

/// The page of an agent's own file shows each compaction with the numbers of the log, and the
/// context as `ctx-count` counts it.
#[test]
fn the_page_tells_of_the_compactions_of_a_log() {
    let thousands = |number: &str| match number.len() {
        4..=6 => format!("{},{}", &number[..number.len() - 3], &number[number.len() - 3..]),
        _ => number.to_owned(),
    };
    for (header, turn) in [("", claude_code as Turn), (CODEX, codex)] {
        let log = Log::new(header, turn);
        let mut rows = Vec::new();
        for last in [8, 11] {
            let report = log.compact();
            let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
            let numbers =
                ["tokens_before", "tokens_after"].map(|key| thousands(&report[key].to_string()));
            rows.push(numbers.map(|number| format!("<td class=\"n\">{number}</td>")).concat());
            log.go_on(last + 1..last + 4);
        }
        let page = log.run("ctx-stats", &["--html"]);
        for (number, row) in rows.iter().enumerate() {
            let name = format!(
                "<th scope=\"row\">C{}</th><td>compaction</td><td>ctx-compact</td>",
                number + 1
            );
            let told = page.lines().find(|line| line.contains(&name)).expect("told");
            assert!(told.contains(row), "{header}: {told} {row}");
        }
        assert!(
            !page.contains(">C3<")
                && page.contains("of what must not be lost, weighted as in ctx-score"),
            "{header}"
        );
        let counted = log.count(&["--json"]);
        let counted: serde_json::Value =
            serde_json::from_str(counted.lines().next().unwrap_or_default()).expect("JSON");
        let all = format!(
            "all messages</th><td class=\"n\">{}</td>",
            thousands(&counted["tokens"].to_string())
        );
        assert!(page.contains(&all), "{header}: {all}");
    }
}

const PI: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n";
const GEMINI: &str = "{\"sessionId\":\"s\",\"projectHash\":\"p\",\"kind\":\"main\"}\n";
const COPILOT: &str = "{\"type\":\"session.start\",\"data\":{\"sessionId\":\"s\",\"version\":1,\"producer\":\"copilot-agent\",\"copilotVersion\":\"1.0.102\",\"startTime\":\"2026-01-01T00:00:00.000Z\"},\"id\":\"00000000-0000-4000-8000-000000000000\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"parentId\":null}\n";
const LOGS: [(&str, Turn); 6] = [
    ("", claude_code),
    (PI, pi),
    (PI, openclaw),
    (CODEX, codex),
    (COPILOT, copilot),
    (GEMINI, gemini),
];

/// If pruning alone frees enough, the old summary is stated again and nothing is kept twice.
#[test]
fn a_compaction_that_only_prunes_keeps_the_old_summary() {
    for (header, turn) in LOGS {
        let log = Log::new(header, turn);
        let report: serde_json::Value = serde_json::from_str(&log.compact()).expect("JSON");
        let old = context(&log.path()).0;
        let budget = (report["tokens_after"].as_u64().expect("a number") - 5).to_string();
        let args = ["--min-idle", "0s", "--budget", &budget, "--json"];
        let prune = ["--set", "prune.max_chars=100", "--set", "prune.min_gain=0"];
        let report = log.run("ctx-compact", &[&args[..], &prune].concat());
        assert!(report.contains(r#""outcome":"compacted""#), "{header}: {report}");
        let (sent, problems) = context(&log.path());
        assert_eq!(
            (problems, sent.matches("port 7001").count()),
            (0, old.matches("port 7001").count())
        );
        assert!(sent.len() < old.len(), "{header}: {sent}");
        for text in [&answer(8)[1..], "What came before", "Understood. I go on"] {
            assert!(sent.matches(text).count() <= 1, "{header}: {text}: {sent}");
        }
    }
}

/// Only one summary is stated, and a message of the user that looks like one is not dropped for it.
#[test]
fn what_looks_like_a_summary_in_the_kept_part_stays() {
    for (header, turn) in LOGS {
        let log = Log::new(header, turn);
        let pasted = "[ctx_summary]\\n\\nport 1234 is mine";
        let asked = ask(8);
        fs::write(log.path(), log.read().replace(asked.trim_matches('"'), pasted))
            .expect("written");
        for _ in 0..2 {
            log.compact();
            let sent = context(&log.path()).0;
            assert_eq!(sent.matches("port 1234 is mine").count(), 1, "{header}: {sent}");
            let lines = log.read();
            log.go_on(9..10);
            assert!(log.read().len() > lines.len());
        }
    }
}

#[test]
fn three_compactions_each_behind_later_turns_and_back_again() {
    for (header, turn) in LOGS {
        let log = Log::new(header, turn);
        let mut before = String::new();
        for generation in 0..3 {
            before = log.read();
            log.compact();
            let (sent, problems) = context(&log.path());
            assert_eq!(problems, 0, "{header}");
            log.run("ctx-check", &[]);
            assert!(!sent.contains("unsent"), "{header}: {sent}");
            assert!(log.read().starts_with(&before), "{header}: an old line changed");
            // The last turns are kept word for word, and the first decision is still in the
            // summary.
            let last = 8 + 3 * generation;
            assert!(sent.contains(&answer(last)[1..20]), "{header}");
            assert!(sent.contains(output(last).trim_matches('"')), "{header}");
            assert!(sent.contains("port 7001"), "{header} {generation}: {sent}");
            assert!(!sent.contains(output(last - 2).trim_matches('"')), "{header}");
            if generation < 2 {
                log.go_on(last + 1..last + 4);
            }
        }
        log.run("ctx-rollback", &["-q", "--undo", "--min-idle", "0s"]);
        assert_eq!(log.read(), before, "{header}");
    }
}

/// After a line ending, the agent would no longer skip half a line: Codex would load nothing, and
/// Kimi Code nothing from there on.
#[test]
fn an_incomplete_last_line_is_cut_off() {
    for format in ["claude-code", "codex", "copilot", "gemini", "kimi", "pi", "qwen"] {
        let dir = tempfile::tempdir().expect("a folder");
        let run = |line: &str| {
            let done = crate::bench::bash(dir.path(), line);
            assert_eq!(done.code, 0, "{format}: {line}: {}", done.stderr);
            done.stdout
        };
        let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/session.jsonl");
        run(&format!("ctx-convert -q --to {format} --cwd /x {example} -o s.jsonl"));
        run(r#"printf '{"type":"x","text":"\xc3' >> s.jsonl; cp s.jsonl before.jsonl"#);
        run("ctx-compact -q -s demo --min-idle 0s --budget 9000 s.jsonl");
        assert_eq!(run("ctx-check s.jsonl"), "s.jsonl: ok\n", "{format}");
        run("ctx-rollback -q -s demo --min-idle 0s --undo s.jsonl; cmp s.jsonl before.jsonl");
        // A whole line without a line ending stays.
        run("head -n -1 before.jsonl | head -c -1 > s.jsonl; tail -n 1 s.jsonl > last");
        run("ctx-compact -q -s demo --min-idle 0s --budget 9000 s.jsonl; grep -qFf last s.jsonl");
    }
}
