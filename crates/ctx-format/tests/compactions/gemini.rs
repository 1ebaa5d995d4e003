use super::{Session, changed, same};
use ctx_format::compaction::{CompactionError, Kept};

const LINES: [&str; 4] = [
    r#"{"sessionId":"s","projectHash":"p","kind":"main"}"#,
    r#"{"id":"m1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":[{"text":"ask"}]}"#,
    r#"{"id":"m2","timestamp":"2026-01-01T00:00:01.000Z","type":"gemini","content":"","toolCalls":[{"id":"t","name":"ls","args":{},"result":[{"functionResponse":{"id":"t","name":"ls","response":{"output":"out"}}}]}]}"#,
    r#"{"id":"m3","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"done"}"#,
];

#[test]
fn the_messages_that_stay_are_in_the_list() {
    let before = Session::new("gemini", &LINES);
    assert_eq!(before.said().len(), 3);
    let after = before.compact_to_last(2);
    let [line] = &after.lines[4..] else {
        panic!("one line");
    };
    let [said] = after.said().try_into().expect("one record");
    let begin = "<state_snapshot>\nwhat\nwas\n</state_snapshot>|Understood.";
    assert!(said.starts_with(begin), "{said}");
    assert!(said.ends_with("|ls|{}|out|done"), "{said}");
    assert!(line.ends_with(r#""lastUpdated":"2026-06-01T00:00:00.002Z"}}"#));
}

#[test]
fn of_the_messages_of_a_list_some_may_stay() {
    let once = Session::new("gemini", &LINES).compact_to_last(2);
    let context = once.context();
    let kept = [Kept { messages: Some(vec![3]), ..changed(&context[0]) }];
    let twice = once.compact(&kept, true).expect("compacted");
    let [said] = twice.said().try_into().expect("one record");
    assert!(said.ends_with("this summary.|done"), "{said}");
}

#[test]
fn a_log_without_a_header_is_refused() {
    let none = Session::new("gemini", &LINES[1..]);
    let context = none.context();
    let error = none.compact(&[same(&context[0])], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::NoHeader));
}
