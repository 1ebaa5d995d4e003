use super::{Session, changed, same};
use ctx_format::compaction::{CompactionError, Kept};

fn line(kind: &str, payload: &str) -> String {
    format!(r#"{{"timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","payload":{payload}}}"#)
}

fn said(role: &str, text: &str) -> String {
    let kind = if role == "assistant" { "output_text" } else { "input_text" };
    let payload = format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{text}"}}]}}"#
    );
    line("response_item", &payload)
}

fn session(mode: &str) -> Session {
    let call = r#"{"type":"function_call","name":"ls","arguments":"{}","call_id":"c"}"#;
    let output = r#"{"type":"function_call_output","call_id":"c","output":"out"}"#;
    let count = r#"{"type":"token_count","info":{"total_token_usage":{"total_tokens":9},"last_token_usage":{"total_tokens":9},"model_context_window":100},"rate_limits":null}"#;
    let lines = [
        line("session_meta", &format!(r#"{{"id":"s"{mode}}}"#)),
        said("developer", "rules"),
        said("user", "ask"),
        line("response_item", call),
        line("response_item", output),
        line("event_msg", count),
        said("assistant", "done"),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    Session::new("codex", &lines)
}

#[test]
fn the_items_that_stay_are_in_the_line() {
    let before = session("");
    let context = before.context();
    let kept: Vec<Kept<'_>> = [0, 2, 3, 4].map(|at: usize| same(&context[at])).into();
    let after = before.compact_at(&kept, 1, false).expect("compacted");
    assert_eq!(after.said(), ["rules|what\nwas|ls|{}|out|done"]);
    let [compacted, count] = &after.lines[7..] else {
        panic!("two lines");
    };
    assert!(!compacted.contains("ordinal"));
    assert!(count.contains(r#""total_token_usage":{"total_tokens":9}"#));
    assert!(count.contains(r#""total_tokens":100}"#), "{count}");
}

/// The client would no longer send what is in the other file, and no summary would hold it.
#[test]
fn a_session_that_begins_in_another_file_is_refused_until_it_has_a_compaction() {
    let base = r#","history_base":{"thread_id":"t","end_ordinal_exclusive":4}"#;
    let mut before = session(base);
    let compact = |session: &Session| {
        let context = session.context();
        session.compact_at(&[same(&context[0])], 0, false).map(|after| after.said())
    };
    assert_eq!(compact(&before), Err(CompactionError::Elsewhere));
    let items =
        r#"[{"type":"message","role":"user","content":[{"type":"input_text","text":"sum"}]}]"#;
    before
        .lines
        .push(line("compacted", &format!(r#"{{"message":"","replacement_history":{items}}}"#)));
    assert!(compact(&before).is_ok());
}

/// The client undoes a compaction together with the turn that it belongs to.
#[test]
fn behind_a_turn_that_was_taken_back_it_is_a_turn_of_its_own() {
    let mut before = session("");
    let event =
        |kind: &str, rest: &str| line("event_msg", &format!(r#"{{"type":"{kind}"{rest}}}"#));
    let turn = r#","turn_id":"t","model_context_window":100"#;
    before.lines.extend([
        event("task_started", turn),
        said("user", "no"),
        event("user_message", r#","message":"no""#),
        said("assistant", "never"),
        event("task_complete", r#","turn_id":"t""#),
        event("thread_rolled_back", r#","num_turns":1"#),
    ]);
    assert_eq!(before.said(), ["rules", "ask", "ls|{}", "out", "done"]);
    let after = before.compact_to_last(1);
    assert_eq!(after.said(), ["what\nwas|done"]);
    assert!(after.lines[13].ends_with(r#""model_context_window":100}}"#));
    assert!(after.lines[16].contains(r#""task_complete""#));
    // The turns of older files have no beginning and no end.
    before.lines.retain(|line| !line.contains(r#""task_"#));
    let after = before.compact_to_last(1);
    assert_eq!(after.said(), ["what\nwas|done"]);
}

#[test]
fn lines_of_a_file_in_pages_are_numbered() {
    let mut before = session(r#","history_mode":"paginated""#);
    before.lines[6] = before.lines[6].replacen('{', r#"{"ordinal":41,"#, 1);
    let after = before.compact_to_last(1);
    assert!(after.lines[7].contains(r#""ordinal":42,"type":"compacted""#));
    assert!(after.lines[8].contains(r#""ordinal":43,"type":"event_msg""#));
}

#[test]
fn of_the_items_of_a_compaction_some_may_stay() {
    let once = session("").compact_to_last(2);
    assert_eq!(once.said(), ["what\nwas|out|done"]);
    let context = once.context();
    let kept = [Kept { messages: Some(vec![2]), ..changed(&context[0]) }];
    let twice = once.compact(&kept, true).expect("compacted");
    assert_eq!(twice.said(), ["what\nwas|done"]);
}

#[test]
fn files_that_no_client_loads_are_refused() {
    let bare = r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#;
    let none = Session::new("codex", &[bare]);
    let error = none.compact(&[], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::NoHeader));
}

/// The client converts such lines to items before it sends them.
#[test]
fn what_another_agent_said_stays_as_the_item_that_the_client_sends() {
    let mut before = session("");
    let told = |rest: &str| {
        let payload = format!(r#"{{"author":"/root/w","recipient":"/root",{rest}}}"#);
        line("inter_agent_communication", &payload)
    };
    before.lines.extend([
        told(r#""id":"am_1","other_recipients":[],"content":"found \"it\"","trigger_turn":false"#),
        told(r#""content":"","encrypted_content":"gA","metadata":{"turn_id":"t"},"trigger_turn":true"#),
    ]);
    let after = before.compact_to_last(2);
    let items = [
        r#"{"type":"agent_message","id":"am_1","author":"/root/w","recipient":"/root","content":[{"type":"input_text","text":"found \"it\""}]}"#,
        r#"{"type":"agent_message","author":"/root/w","recipient":"/root","content":[{"type":"input_text","text":"Message Type: NEW_TASK\nTask name: /root\nSender: /root/w\nPayload:\n"},{"type":"encrypted_content","encrypted_content":"gA"}],"metadata":{"turn_id":"t"}}"#,
    ];
    let written = after.lines.iter().find(|line| line.contains("\"compacted\""));
    let written = written.expect("a compaction");
    assert!(written.contains(&items.join(",")), "{written}");
    let said = |session: &Session| session.said().join("|");
    let tail = said(&before).split_once("done|").expect("the tail").1.to_owned();
    assert_eq!(said(&after), format!("what\nwas|{tail}"));
}
