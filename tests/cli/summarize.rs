//! `ctx-summarize` by rule: what it removes, what it keeps, and what it refuses.

use std::fmt::Write as _;
use std::path::Path;

use ctx_format::dialect::{Chat, Dialect as _};
use ctx_format::{Options, Problem, Records, Validator};
use ctx_testkit::{Case, chat_session};
use proptest::prelude::*;

fn case() -> Case {
    Case::new(env!("CARGO_BIN_EXE_ctx-summarize")).args(["--method", "rule"])
}

/// Records with the tags of zones that ctx-split writes. The last record has the number of records.
fn tagged(records: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (index, (zone, record)) in records.iter().enumerate() {
        let last = index + 1 == records.len();
        let end = if last { format!(",\"end\":{}", records.len()) } else { String::new() };
        let rest = record.strip_prefix('{').expect("an object");
        let _ = writeln!(text, "{{\"_ctx\":{{\"zone\":\"{zone}\"{end}}},{rest}");
    }
    text
}

const SYSTEM: &str = r#"{"role":"system","content":"be brief"}"#;
const ASK: &str = r#"{"role":"user","content":"list the files"}"#;
const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"a.txt"}"#;
const DONE: &str = r#"{"role":"assistant","content":"There is a.txt, and nothing else in the folder that you asked me to look at."}"#;
const THANKS: &str = r#"{ "role": "user", "content": "th\u0061nks" , "n":1e400}"#;

/// A session with a system message, an old exchange and a kept message.
fn session() -> String {
    tagged(&[
        ("system", SYSTEM),
        ("old", ASK),
        ("old", CALL),
        ("old", RESULT),
        ("old", DONE),
        ("keep", THANKS),
    ])
}

const RECORD_LINE: &str =
    "以下是此前对话的记录，不是新的请求。 / A record of earlier conversation, not a request.";

/// Returns the record of a rule summary in chat format.
fn summary(facts: &str) -> String {
    format!(
        r###"{{"role":"user","name":"ctx_summary","content":"## 会话摘要 / Session summary\n\n{RECORD_LINE}\n\n{facts}"}}"###
    )
}

const FACTS: &str = r"- 用户消息数 / User messages: 1\n- 工具调用数 / Tool calls: 1\n- 最近话题 / Latest topics: list the files\n- 使用的工具 / Tools used: ls";

const NOT_SHORTER: &str =
    "ctx-summarize: warning: <stdin>: the summary is not shorter than the text it replaces: ";

#[test]
fn the_summary_stands_where_the_first_old_record_stood() {
    case()
        .stdin(session())
        .stdout(format!("{SYSTEM}\n{}\n{THANKS}\n", summary(FACTS)))
        .stderr(&format!("{NOT_SHORTER}42 tokens, now 79\n"))
        .run();
}

#[test]
fn the_role_and_the_header_are_the_callers() {
    case()
        .args(["--role", "assistant", "--header", "[COMPACTED_CONTEXT]", "-q"])
        .stdin(session())
        .stdout(format!(
            "{SYSTEM}\n{}\n{THANKS}\n",
            summary(FACTS)
                .replace("\"user\"", "\"assistant\"")
                .replace("\"## ", "\"[COMPACTED_CONTEXT]\\n\\n## ")
        ))
        .run();
}

#[test]
fn anthropic_summaries_begin_with_a_fixed_line_and_the_user() {
    let ask = r#"{"role":"user","content":"list"}"#;
    let call =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}"#;
    let result =
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"a"}]}"#;
    let reply = r#"{"role":"assistant","content":[{"type":"text","text":"one file"}]}"#;
    let done = case()
        .args(["--role", "assistant", "-v"])
        .stdin(tagged(&[
            ("old", ask),
            ("old", call),
            ("old", result),
            ("keep", reply),
            ("keep", ask),
        ]))
        .stdout_any()
        .stderr_has(
            "ctx-summarize: <stdin>: the summary has the role user: anthropic does not allow assistant there\n",
        )
        .run();
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    assert_eq!(
        text,
        format!(
            "{}{}\\n- 最近话题 / Latest topics: list\\n- 使用的工具 / Tools used: Bash\"}}\n{reply}\n{ask}\n",
            r#"{"role":"user","content":"[ctx_summary]\n\n"#,
            format_args!(
                r"## 会话摘要 / Session summary\n\n{RECORD_LINE}\n\n- 用户消息数 / User messages: 1\n- 工具调用数 / Tool calls: 1"
            ),
        )
    );
}

#[test]
fn nothing_old_leaves_the_input_as_it_was() {
    case()
        .args(["-v"])
        .stdin(tagged(&[("system", SYSTEM), ("keep", THANKS)]))
        .stdout(format!("{SYSTEM}\n{THANKS}\n"))
        .stderr("ctx-summarize: <stdin>: there is nothing to summarize\n")
        .run();
}

#[test]
fn a_second_compaction_keeps_the_first_summary() {
    let first = case().args(["-q"]).stdin(session()).stdout_any().run().stdout;
    let first = String::from_utf8(first).expect("UTF-8");
    let records: Vec<&str> = first.lines().collect();
    let more = r#"{"role":"user","content":"now delete them"}"#;
    let again = |header: &[&str]| {
        let stdin = tagged(&[
            ("system", records[0]),
            ("old", records[1]),
            ("old", records[2]),
            ("keep", more),
        ]);
        case().args(["-q"]).args(header.iter().copied()).stdin(stdin).stdout_any().run().stdout
    };
    let second = String::from_utf8(again(&[])).expect("UTF-8");
    let facts = r"- 用户消息数 / User messages: 2\n- 工具调用数 / Tool calls: 1\n- 最近话题 / Latest topics: thanks\n- 使用的工具 / Tools used: ls\n\n### 更早的摘要 / Earlier summary\n\n- 更早话题 / Earlier topics: list the files";
    // Only texts are left, so the summary is valid in every format.
    let line = "\"content\":\"[ctx_summary]\\n\\n";
    let expected = summary(facts).replace("\"name\":\"ctx_summary\",\"content\":\"", line);
    assert_eq!(second, format!("{SYSTEM}\n{expected}\n{more}\n"));
    assert_eq!(second.as_bytes(), again(&[]), "same input, same bytes");
}

#[test]
fn a_summary_of_another_tool_is_carried_word_for_word() {
    let other = r#"{"role":"user","content":"[Compressed History]\n\n## Technical Context\nRust 1.89, ids 7f3a"}"#;
    case()
        .args(["-q"])
        .stdin(tagged(&[("old", other), ("old", ASK), ("keep", THANKS)]))
        .stdout_has(
            r"### 更早的摘要 / Earlier summary\n\n## Technical Context\nRust 1.89, ids 7f3a",
        )
        .run();
}

#[test]
fn the_oldest_carried_lines_leave_when_room_is_short() {
    let lines: Vec<String> = (0..60).map(|n| format!("- fact number {n}")).collect();
    let other = serde_json::json!({"role": "user", "content": format!("[Compressed History]\n\n{}", lines.join("\n"))});
    case()
        .args(["-q", "--summary-tokens", "150"])
        .stdin(tagged(&[("old", &other.to_string()), ("keep", THANKS)]))
        .stdout_has(r"行 / older lines left out）\n- fact number ")
        .run();
}

#[test]
fn a_stream_that_ended_early_is_refused() {
    let whole = session();
    let lines: Vec<&str> = whole.lines().collect();
    let cut = format!("{}\n", lines[..4].join("\n"));
    let failure = "ctx-summarize: <stdin>: upstream ended early (records received: 4, none marked as the last); did the previous tool in the pipeline fail? --partial accepts incomplete input\n";
    case().stdin(cut.clone()).code(2).stderr(failure).run();
    case().args(["--partial", "-q"]).stdin(cut).stdout_has("ctx_summary").run();
    let middle_lost = format!("{}\n{}\n", lines[..2].join("\n"), lines[5]);
    case().stdin(middle_lost).code(2).stderr_has("(records received: 3, announced: 6)").run();
    case().stdin("").code(2).stderr_has("(records received: 0, none marked as the last)").run();
}

#[test]
fn a_session_that_was_not_split_is_refused() {
    case()
        .stdin(format!("{ASK}\n{DONE}\n"))
        .code(2)
        .stderr("ctx-summarize: <stdin>: no record is marked as old or kept; ctx-split FILE | … marks them; ctx-summarize --budget N needs no marks\n")
        .run();
}

#[test]
fn an_unknown_format_is_refused() {
    for zone in ["old", "keep"] {
        case()
            .stdin(tagged(&[(zone, r#"{"type":"a"}"#), ("keep", r#"{"type":"b"}"#)]))
            .code(2)
            .stderr("ctx-summarize: <stdin>: the format is not known, so it cannot be read; a file without messages has no format; for others, name it with --dialect: chat, anthropic, responses, claude-code, codex, copilot, gemini, kimi, opencode, pi or qwen\n")
            .run();
    }
}

#[test]
fn zones_that_part_a_call_from_its_result_are_refused() {
    case()
        .stdin(tagged(&[
            ("old", ASK),
            ("old", CALL),
            ("keep", RESULT),
            ("keep", THANKS),
        ]))
        .code(2)
        .stderr("ctx-summarize: <stdin>:3: the output would break a rule that the input obeys: tool result c1 has no matching call right before it; ctx-check --list-rules names who demands this; if ctx-split set the zones, they must not be changed\n")
        .run();
}

#[test]
fn problems_of_the_input_are_told_and_strict_refuses_them() {
    let stdin = tagged(&[("old", ASK), ("keep", RESULT), ("keep", THANKS)]);
    case()
        .stdin(stdin.clone())
        .stdout_has(RESULT)
        .stderr_has("ctx-summarize: warning: <stdin>:2: 1 problem in the input; the first: tool result c1 has no matching call right before it; ctx-check --repair writes a legal copy or says why it cannot\n")
        .run();
    case()
        .args(["--strict"])
        .stdin(stdin)
        .code(2)
        .stderr("ctx-summarize: <stdin>:2: tool result c1 has no matching call right before it; --strict refuses invalid input\n")
        .run();
}

#[test]
fn lines_that_are_no_messages_go_with_their_zone_and_a_torn_tail_stays_last() {
    let old = r#"{"_ctx":{"zone":"old"},"role":"user","content":"a"}"#;
    let keep = r#"{"_ctx":{"zone":"keep","end":7},"role":"user","content":"b"}"#;
    let stdin = format!("{old}\r\n\n{{broken\n[1]\n{keep}\n\0\0\n{{\"role\":\"us");
    let first = "not JSON: key must be a string at column 2";
    let done = case()
        .stdin(stdin.clone())
        .stdout_any()
        .stderr_has(&format!("ctx-summarize: warning: <stdin>:3: 3 bad lines, 1 kept, 2 removed with the summarized part; the first: {first}\n"))
        .run();
    let text = String::from_utf8(done.stdout).expect("UTF-8");
    let (summary, rest) = text.split_once('\n').expect("two lines");
    assert!(summary.ends_with("a\"}\r"), "{summary}");
    assert_eq!(rest, "{\"role\":\"user\",\"content\":\"b\"}\n\0\0\n{\"role\":\"us");
    let done = case()
        .args(["--invalid", "drop"])
        .stdin(stdin.clone())
        .stdout_any()
        .stderr_has("1 left out, 2 removed with the summarized part")
        .run();
    assert!(!done.stdout.contains(&0));
    case()
        .args(["--invalid", "fail"])
        .stdin(stdin)
        .code(2)
        .stderr_has(&format!("ctx-summarize: <stdin>:3: {first}; "))
        .run();
}

#[test]
fn a_file_appears_only_when_all_went_well() {
    let done = case()
        .args(["-q", "-o", "new.jsonl"])
        .file("new.jsonl", "as it was")
        .stdin(session())
        .run();
    assert_eq!(
        String::from_utf8_lossy(&done.read("new.jsonl")),
        format!("{SYSTEM}\n{}\n{THANKS}\n", summary(FACTS))
    );
    let failed = case()
        .args(["-o", "new.jsonl"])
        .file("new.jsonl", "as it was")
        .stdin(format!("{ASK}\n"))
        .code(2)
        .stderr_has("no record is marked as old or kept")
        .run();
    assert_eq!(failed.read("new.jsonl"), b"as it was");
    assert_eq!(names(failed.dir()), ["new.jsonl"]);
}

fn names(dir: &Path) -> Vec<String> {
    std::fs::read_dir(dir)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn batch_records_are_summed_up_one_by_one() {
    let one = format!(
        r#"{{"_ctx":{{"zones":["system","old","old","old","keep"]}},"id": 1, "messages": [ {SYSTEM},  {ASK}, {CALL}, {RESULT}, {THANKS} ],"n":2}}"#
    );
    let two = format!(r#"{{"_ctx":{{"zones":["keep"],"end":2}},"messages":[{THANKS}]}}"#);
    case()
        .args(["--batch", "-q"])
        .stdin(format!("{one}\n{two}\n"))
        .stdout(format!(
            "{{\"id\": 1, \"messages\": [ {SYSTEM},  {}, {THANKS} ],\"n\":2}}\n{{\"messages\":[{THANKS}]}}\n",
            summary(FACTS)
        ))
        .run();
    case()
        .args(["--batch"])
        .stdin(format!("{one}\n"))
        .stdout("")
        .code(2)
        .stderr_has("upstream ended early")
        .run();
    let changed = two.replace("\"keep\"", "\"old\",\"keep\"");
    case()
        .args(["--batch"])
        .stdin(format!("{}\n", changed.replace("\"end\":2", "\"end\":1")))
        .code(2)
        .stderr_has("<stdin>:1: the zones in the tag do not match the messages")
        .run();
}

#[test]
fn secrets_of_a_topic_are_not_repeated() {
    let secret = r#"{"role":"user","content":"use password=hunter2x for it"}"#;
    let done = case()
        .args(["-v"])
        .stdin(tagged(&[("old", secret), ("keep", THANKS)]))
        .stdout_any()
        .stderr_has("ctx-summarize: <stdin>: secrets removed from the summary: 1\n")
        .run();
    assert!(!String::from_utf8_lossy(&done.stdout).contains("hunter2x"));
}

#[test]
fn the_cumulative_summary_grows_in_the_store() {
    let summarize = |dir: &Path, stdin: String| {
        case()
            .within(dir)
            .args(["-q", "-s", "demo", "--store", "store"])
            .stdin(stdin)
            .stdout_any()
            .run()
    };
    let dir = tempfile::tempdir().expect("a folder");
    summarize(dir.path(), session());
    summarize(dir.path(), session());
    let other = tagged(&[("old", DONE), ("old", ASK), ("keep", THANKS)]);
    summarize(dir.path(), other);
    let path = dir.path().join("store/memory/session-summaries/demo.md");
    let text = std::fs::read_to_string(path).expect("written");
    let headings: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("# "))
        .map(|line| line.split_once("Z: ").map_or(line, |(_, rest)| rest))
        .collect();
    assert_eq!(headings, ["# demo", "4 messages", "2 messages"], "{text}");
    assert!(text.contains("- 工具调用数 / Tool calls: 1\n"), "{text}");
    let audit = std::fs::read_to_string(dir.path().join("store/context/events.jsonl"))
        .expect("an audit log");
    assert_eq!(audit.matches("\"op\":\"summary\"").count(), 4, "{audit}");
    assert!(!audit.contains("list the files"), "{audit}");
}

#[test]
fn a_failed_store_writes_nothing() {
    let done = case()
        .args(["-q", "-s", "demo", "--store", "store", "-o", "new.jsonl"])
        .file("store/other", "of somebody else")
        .stdin(session())
        .code(2)
        .stderr_has("is not a store")
        .run();
    assert!(!done.dir().join("new.jsonl").exists());
}

#[test]
fn an_id_that_could_leave_the_store_is_a_usage_error() {
    case().args(["-s", "../demo"]).stdin(session()).code(2).stderr_has("is not a session id").run();
}

fn split(session: &str, keep: u64) -> Vec<u8> {
    Case::new(env!("CARGO_BIN_EXE_ctx-split"))
        .args(["--keep-messages".to_owned(), keep.to_string()])
        .stdin(session)
        .stdout_any()
        .run()
        .stdout
}

fn problems(session: &[u8]) -> Vec<Problem> {
    let mut records = Records::open(session, &Options::default()).expect("from memory");
    let mut validator = Validator::new(Chat.rules());
    while let Some(record) = records.next().expect("from memory") {
        if let Some(outline) = record.outline(Some(&Chat)) {
            validator.push(record.line, &outline);
        }
    }
    validator.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn no_orphan_ever(session in chat_session(), keep in 0u64..12, again in 0u64..6) {
        let mut before = session;
        for keep in [keep + again, again] {
            let tagged = split(&before, keep);
            let zones = String::from_utf8_lossy(&tagged).into_owned();
            let done = case()
                .args(["-q", "--partial", "--dialect", "chat"])
                .stdin(tagged)
                .stdout_any()
                .run();
            let after = String::from_utf8(done.stdout).expect("UTF-8");
            // Problems by rule and id, because the lines have moved.
            let kinds = |session: &str| -> Vec<_> {
                let found = problems(session.as_bytes());
                found.into_iter().map(|problem| (problem.rule, problem.id)).collect()
            };
            let mut known = kinds(&before);
            for problem in kinds(&after) {
                let at = known.iter().position(|other| *other == problem);
                prop_assert!(at.is_some(), "{:?} is new in\n{}", problem, after);
                known.swap_remove(at.expect("there"));
            }
            // The kept records are there, in order, byte for byte. System messages that stay
            // precede the summary.
            let mut expected: Vec<Option<String>> = Vec::new();
            let mut due = false;
            for line in zones.lines() {
                let (tag, rest) = line.split_once("},").expect("tagged");
                if tag.contains("\"zone\":\"old\"") {
                    due = true;
                    continue;
                }
                if due && !tag.contains("\"zone\":\"system\"") && !expected.contains(&None) {
                    expected.push(None);
                }
                expected.push(Some(format!("{{{rest}")));
            }
            if due && !expected.contains(&None) {
                expected.push(None);
            }
            prop_assert_eq!(after.lines().count(), expected.len());
            for (line, expected) in after.lines().zip(expected) {
                match expected {
                    Some(kept) => prop_assert_eq!(line, kept),
                    None => prop_assert!(line.contains("ctx_summary")),
                }
            }
            before = after;
        }
    }
}
