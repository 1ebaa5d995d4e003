use super::{Session, changed, same};
use ctx_format::compaction::{CompactionError, Kept};

const LINES: [&str; 5] = [
    r#"{"uuid":"u1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"user","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"text":"ask"}]}}"#,
    r#"{"uuid":"u2","parentUuid":"u1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","type":"assistant","cwd":"/w","version":"0.24.4","message":{"role":"model","parts":[{"functionCall":{"id":"c","name":"ls","args":{}}}]},"usageMetadata":{"promptTokenCount":900}}"#,
    r#"{"uuid":"u3","parentUuid":"u2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","type":"tool_result","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"functionResponse":{"id":"c","name":"ls","response":{"output":"out"}}}]}}"#,
    r#"{"uuid":"u4","parentUuid":"u3","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","type":"assistant","cwd":"/w","version":"0.24.4","message":{"role":"model","parts":[{"text":"done"}]}}"#,
    r#"{"uuid":"u5","parentUuid":"u4","sessionId":"s","timestamp":"2026-01-01T00:00:04.000Z","type":"system","cwd":"/x","gitBranch":"main","version":"0.24.4","subtype":"ui_telemetry","systemPayload":{}}"#,
];

const SUMMARY: &str =
    "<state_snapshot>\nwhat\nwas\n</state_snapshot>\n\nResume the prior task from this summary.";

/// What the model receives of the one record after a compaction, except for the summary.
fn after(session: &Session) -> String {
    let [said] = session.said().try_into().expect("one record");
    said.strip_prefix(SUMMARY).expect("the summary comes first").to_owned()
}

#[test]
fn the_messages_that_stay_are_in_the_line() {
    let before = Session::new("qwen", &LINES);
    assert_eq!(before.said(), ["ask", "ls|{}", "out", "done"]);
    let compacted = before.compact_to_last(3);
    assert_eq!(after(&compacted), "|ls|{}|out|done");
    let [line] = &compacted.lines[5..] else { panic!("one line") };
    let shared = r#""parentUuid":"u5","sessionId":"s","cwd":"/x","version":"0.24.4","gitBranch":"main","timestamp":"2026-06-01T00:00:00.000Z","type":"system""#;
    assert!(line.contains(shared), "{line}");
    let info = r#""info":{"originalTokenCount":1000,"newTokenCount":100,"compressionStatus":1,"triggerReason":"manual"}"#;
    assert!(line.contains(info), "{line}");
    assert!(!line.contains("usageMetadata"), "{line}");
}

/// A user message would otherwise become one with the summary.
#[test]
fn the_model_answers_a_summary_that_no_reply_follows() {
    let before = Session::new("qwen", &LINES);
    let answer = "|Got it. Thanks for the additional context!";
    assert_eq!(after(&before.compact_to_last(0)), answer);
    assert_eq!(after(&before.compact_to_last(4)), format!("{answer}|ask|ls|{{}}|out|done"));
}

#[test]
fn what_has_changed_is_in_the_line_and_a_second_compaction_follows() {
    let before = Session::new("qwen", &LINES);
    let shorter: Vec<String> = before.context().iter().map(|it| it.replace("out", "o")).collect();
    let kept: Vec<_> = shorter[1..].iter().map(|it| changed(it)).collect();
    let once = before.compact(&kept, true).expect("compacted");
    assert_eq!(after(&once), "|ls|{}|o|done");
    let context = once.context();
    let kept = [Kept { messages: Some(vec![3]), ..changed(&context[0]) }];
    let twice = once.compact(&kept, true).expect("compacted");
    assert_eq!(after(&twice), "|done");
}

/// The session continues from the last line of the tree, even if it is on another branch.
#[test]
fn it_hangs_on_the_last_line_of_the_tree() {
    let mut before = Session::new("qwen", &LINES);
    before.lines.push(LINES[0].replace("u1", "u6").replace("null", "\"u1\""));
    before
        .lines
        .push(LINES[4].replace("u5", "u7").replace("ui_telemetry", "session_artifact_event"));
    let compacted = before.compact_to_last(1);
    let line = compacted.lines.last().expect("a line");
    assert!(line.contains(r#""parentUuid":"u6""#), "{line}");
    assert!(after(&compacted).ends_with("|ask"));
}

#[test]
fn a_file_without_lines_of_the_tree_is_refused() {
    let none = Session::new("qwen", &[r#"{"message":{"role":"user","parts":[{"text":"ask"}]}}"#]);
    let error = none.compact(&[same(LINES[0])], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::Missing("uuid")));
}
