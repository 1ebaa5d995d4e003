use super::{Session, changed, same};
use ctx_format::compaction::CompactionError;

/// An event whose number is also its time and the end of its id.
fn event(number: u32, kind: &str, data: &str) -> String {
    let id = |number: u32| format!(r#""00000000-0000-4000-8000-{number:012}""#);
    let parent = number.checked_sub(1).map_or("null".to_owned(), id);
    format!(
        r#"{{"type":"{kind}","data":{data},"id":{},"timestamp":"2026-01-01T00:00:{number:02}.000Z","parentId":{parent}}}"#,
        id(number)
    )
}

fn session(events: &[(&str, &str)]) -> Session {
    let header = r#"{"sessionId":"s","version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":"2026-01-01T00:00:00.000Z"}"#;
    let header = [("session.start", header)];
    let events = header.iter().chain(events).zip(0..);
    let lines: Vec<String> =
        events.map(|((kind, data), number)| event(number, kind, data)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Session::new("copilot", &lines)
}

const EVENTS: [(&str, &str); 4] = [
    ("user.message", r#"{"content":"ask","transformedContent":"now: ask"}"#),
    (
        "assistant.message",
        r#"{"messageId":"m","content":"","toolRequests":[{"toolCallId":"c","name":"ls","arguments":{}}]}"#,
    ),
    ("tool.execution_complete", r#"{"toolCallId":"c","success":true,"result":{"content":"out"}}"#),
    ("assistant.message", r#"{"messageId":"n","content":"done"}"#),
];

#[test]
fn the_context_is_cleared_before_the_summary_and_kept_events_follow_it() {
    let after = session(&EVENTS).compact_to_last(3);
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "out", "done"]);
    let [cleared, summary, reply, ..] = &after.lines[5..] else {
        panic!("five lines");
    };
    assert!(cleared.contains(r#""type":"session.context_cleared""#), "{cleared}");
    assert!(cleared.contains(r#""parentId":"00000000-0000-4000-8000-000000000004""#), "{cleared}");
    assert!(summary.contains(r#""success":true,"outcome":"applied","preCompactionTokens":1000"#));
    assert!(summary.contains(r#""timestamp":"2026-06-01T00:00:00.001Z""#), "{summary}");
    let calls = r#""content":"","toolRequests":[{"toolCallId":"c","name":"ls","arguments":{}}]}"#;
    assert!(reply.contains(calls), "only the ids and the time differ: {reply}");
    assert!(!reply.contains(r#""messageId":"m""#), "{reply}");
}

#[test]
fn a_changed_result_is_written_as_it_was_changed() {
    let before = session(&EVENTS);
    let context: Vec<String> = before.context().iter().map(|it| it.replace("out", "o")).collect();
    let kept: Vec<_> = context[1..].iter().map(|it| changed(it)).collect();
    let after = before.compact(&kept, true).expect("compacted");
    assert_eq!(after.said(), ["what\nwas", "ls|{}", "o", "done"]);
}

#[test]
fn nothing_may_stay_and_a_second_one_follows() {
    assert_eq!(session(&EVENTS).compact_to_last(0).said(), ["what\nwas"]);
    let twice = session(&EVENTS).compact_to_last(3).compact_to_last(1);
    assert_eq!(twice.said(), ["what\nwas", "done"]);
}

/// After the agent's own compaction, it sends what the user typed, and the skill's instructions.
/// The copies say the same.
#[test]
fn what_the_agent_repeats_is_written_as_it_was_sent() {
    let mut events = EVENTS.to_vec();
    events.push(("skill.invoked", r#"{"name":"s","path":"","content":"How to."}"#));
    events.push(("session.compaction_complete", r#"{"success":true,"summaryContent":"sum"}"#));
    events.push(("assistant.message", r#"{"messageId":"o","content":"more"}"#));
    let before = session(&events);
    let context = before.context();
    assert_eq!(context.len(), 4);
    let kept = [same(&context[0]), same(&context[2]), same(&context[3])];
    let after = before.compact(&kept, false).expect("compacted");
    assert_eq!(after.said(), ["what\nwas", "ask", "How to.", "more"]);
    let [ask, skill, _] = &after.lines[10..] else {
        panic!("three lines");
    };
    assert!(ask.contains(r#""data":{"content":"ask"}"#), "{ask}");
    assert!(skill.contains(r#""data":{"content":"How to.","source":"system"}"#), "{skill}");
}

/// A command that the user ran is in an event of its own, which is not in the context.
#[test]
fn the_output_of_a_command_stays_as_a_message() {
    let mut events = EVENTS.to_vec();
    events.push((
        "tool.user_requested",
        r#"{"toolCallId":"u","toolName":"local_shell","arguments":{"command":"pwd"}}"#,
    ));
    events.push((
        "tool.execution_complete",
        r#"{"toolCallId":"u","success":true,"isUserRequested":true,"result":{"content":"/work"}}"#,
    ));
    let after = session(&events).compact_to_last(1);
    let said = after.said();
    assert!(said[1].contains("Command:\npwd\n\nOutput:\n/work\n"), "{said:?}");
}

/// If a tool were still running, the agent would omit the replies after the summary.
#[test]
fn a_call_without_a_result_is_aborted_first() {
    let before = session(&[EVENTS[0], EVENTS[1], EVENTS[3]]);
    let after = before.compact_to_last(1);
    assert!(after.lines[4].contains(r#""type":"abort","data":{"reason":"user_initiated"}"#));
    assert_eq!(after.said(), ["what\nwas", "done"]);
}

#[test]
fn a_file_without_a_header_is_refused() {
    let mut none = session(&EVENTS);
    none.lines.remove(0);
    let error = none.compact(&[], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::NoHeader));
}
