use super::{Session, changed, same};

/// What the model reads of the summary.
const OPENED: &str = "What came before in this session was compacted. Its summary:\n\nwhat\nwas";

const LINES: [&str; 10] = [
    r#"{"type":"metadata","protocol_version":"1.5","created_at":1}"#,
    r#"{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"ask"}],"toolCalls":[],"origin":{"kind":"user"}},"time":2}"#,
    r#"{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"today"}],"toolCalls":[],"origin":{"kind":"injection"}},"time":3}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.begin","uuid":"s","turnId":"0","step":1},"time":4}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.call","uuid":"e","turnId":"0","step":1,"stepUuid":"s","toolCallId":"c","name":"ls","args":{}},"time":5}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"tool.result","toolCallId":"c","result":{"output":"out"}},"time":6}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.end","uuid":"s","turnId":"0","step":1,"finishReason":"tool_use"},"time":7}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.begin","uuid":"t","turnId":"0","step":2},"time":8}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"content.part","uuid":"f","turnId":"0","step":2,"stepUuid":"t","part":{"type":"text","text":"done"}},"time":9}"#,
    r#"{"type":"context.append_loop_event","agentId":"main","event":{"type":"step.end","uuid":"t","turnId":"0","step":2,"finishReason":"end_turn"},"time":10}"#,
];

/// The lines that a compaction appended, without its first line, which holds the summary.
fn added(before: &Session, after: &Session) -> Vec<String> {
    after.lines[before.lines.len() + 1..].to_vec()
}

#[test]
fn the_messages_that_stay_are_counted() {
    let before = Session::new("kimi", &LINES);
    let after = before.compact_to_last(3);
    assert_eq!(after.said(), [OPENED, "ls|{}", "out", "done"]);
    let line = &after.lines[LINES.len()];
    assert!(line.contains(r#""summary":"what\nwas""#), "{line}");
    assert!(line.contains(r#""compactedCount":2,"tokensBefore":1000,"tokensAfter":100,"legacyTail":true,"time":1780272000000}"#), "{line}");
    let count = r#"{"type":"token_counting.rebased","agentId":"main","length":4,"tokens":100,"measured":false,"time":1780272000001}"#;
    assert_eq!(added(&before, &after), [count]);
}

#[test]
fn what_has_changed_and_a_middle_that_leaves_are_written_again() {
    let before = Session::new("kimi", &LINES);
    let context = before.context();
    let after = before.compact(&[same(&context[0]), same(&context[4])], false).expect("compacted");
    assert_eq!(after.said(), [OPENED, "ask", "done"]);
    let shorter: Vec<String> =
        context.iter().map(|it| it.replace(r#":"out""#, r#":"o""#)).collect();
    let kept: Vec<_> = shorter[2..].iter().map(|it| changed(it)).collect();
    let after = before.compact(&kept, true).expect("compacted");
    assert_eq!(after.said(), [OPENED, "ls|{}", "o", "done"]);
    // The lines around the parts of a reply come along.
    let kinds: Vec<String> = added(&before, &after)
        .iter()
        .map(|line| {
            line.split('"').skip_while(|it| *it != "event").nth(4).unwrap_or("-").to_owned()
        })
        .collect();
    let step = ["step.begin", "tool.call", "tool.result", "step.end"];
    let next = ["step.begin", "content.part", "step.end", "-"];
    assert_eq!(kinds, [step, next].concat());
}

/// The agent would not let a result come to a reply that its own count keeps open.
#[test]
fn a_reply_whose_call_waits_stays_open() {
    let mut before = Session::new("kimi", &LINES[..5]);
    let after = before.compact_to_last(1);
    assert_eq!(after.said(), [OPENED, "ls|{}"]);
    let mut answered = after.clone();
    answered.lines.push(LINES[5].to_owned());
    assert_eq!(answered.said(), [OPENED, "ls|{}", "out"]);
    before.lines.extend(LINES[5..].iter().map(|line| (*line).to_owned()));
    assert_eq!(before.compact_to_last(0).said(), [OPENED]);
}

#[test]
fn a_second_one_follows_and_nothing_may_stay() {
    let once = Session::new("kimi", &LINES).compact_to_last(3);
    let twice = once.compact_to_last(1);
    assert_eq!(twice.said(), [OPENED, "done"]);
    assert_eq!(twice.compact_to_last(0).said(), [OPENED]);
}

/// The agent's own compaction keeps the requests, which come before the summary.
#[test]
fn it_follows_one_of_the_agent_itself() {
    let mut before = Session::new("kimi", &LINES);
    let own = r#"{"type":"context.apply_compaction","agentId":"main","summary":"own","contextSummary":"its own","compactedCount":5,"keptUserMessageCount":1,"time":11}"#;
    before.lines.push(own.to_owned());
    before.lines.push(LINES[1].replace("ask", "more"));
    assert_eq!(before.said(), ["ask", "its own", "more"]);
    let after = before.compact_to_last(1);
    assert_eq!(after.said(), [OPENED, "more"]);
    // The summary, and the note that the agent adds after its own summary, count as messages.
    assert!(after.lines[12].contains(r#""compactedCount":3"#), "{}", after.lines[12]);
    // A copy of that line would replace what is before it once more, so it becomes a message.
    let context = before.context();
    let after = before.compact(&[same(&context[1])], false).expect("compacted");
    assert_eq!(after.said(), [OPENED, "its own"]);
    let text = after.lines[LINES.len() + 3].clone();
    let bare = |text: &str| {
        let object = ctx_format::Object::parse(text).expect("a line");
        after.dialect.summary_text(&object).map(std::borrow::Cow::into_owned)
    };
    assert_eq!(bare(&text).as_deref(), Some("its own"), "{text}");
    let opened = text.replace("its own", &OPENED.replace('\n', "\\n"));
    assert_eq!(bare(&opened).as_deref(), Some("what\nwas"), "{opened}");
}

/// The agent's own compaction keeps only the beginning and the end of very long requests.
#[test]
fn a_request_that_is_sent_in_part_stays_as_it_is_sent() {
    let long = format!("{}{}", "a".repeat(60_000), "z".repeat(60_000));
    let mut before = Session::new("kimi", &LINES[..1]);
    before.lines.push(LINES[1].replace("ask", &long));
    let own = r#"{"type":"context.apply_compaction","agentId":"main","summary":"own","compactedCount":1,"keptUserMessageCount":1,"time":11}"#;
    before.lines.push(own.to_owned());
    before.lines.push(LINES[1].replace("ask", "more"));
    let sent = |session: &Session| -> Vec<usize> {
        let mut records = session.records();
        let mut lengths = Vec::new();
        while let Some(record) = records.next().expect("from memory") {
            let message = record.message(Some(session.dialect));
            lengths.extend(message.map(|it| it.texts().concat().len()));
        }
        lengths
    };
    let short = 4 * 20_000;
    assert_eq!(sent(&before), [short, 3, 4]);
    assert_eq!(sent(&before.compact_to_last(3)), [OPENED.len(), short, 3, 4]);
    let context = before.context();
    let after = before.compact(&[same(&context[0])], false).expect("compacted");
    assert_eq!(sent(&after), [OPENED.len(), short]);
}
