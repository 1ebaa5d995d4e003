use super::{Session, changed, same};
use ctx_format::compaction::CompactionError;

const MESSAGES: [&str; 4] = [
    r#"{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1},"agent":"build","model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"ask"}]}"#,
    r#"{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","parentID":"msg_1","time":{"created":2},"mode":"build","agent":"build","modelID":"m","providerID":"p","path":{"cwd":"/w","root":"/"},"cost":0,"tokens":{"input":9,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"tool-calls"},"parts":[{"id":"prt_2","messageID":"msg_2","sessionID":"ses_1","type":"tool","tool":"ls","callID":"c","state":{"status":"completed","input":{},"output":"out","title":"","metadata":{},"time":{"start":2,"end":2}}}]}"#,
    r#"{"info":{"id":"msg_3","sessionID":"ses_1","role":"user","time":{"created":3},"agent":"build","model":{"providerID":"p","modelID":"m"}},"parts":[{"id":"prt_3","messageID":"msg_3","sessionID":"ses_1","type":"text","text":"more"}]}"#,
    r#"{"info":{"id":"msg_4","sessionID":"ses_1","role":"assistant","parentID":"msg_3","time":{"created":4},"mode":"build","agent":"build","modelID":"m","providerID":"p","path":{"cwd":"/w","root":"/"},"cost":0,"tokens":{"input":9,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"finish":"stop"},"parts":[{"id":"prt_4","messageID":"msg_4","sessionID":"ses_1","type":"text","text":"done"}]}"#,
];

fn session() -> Session {
    Session::new("opencode", &MESSAGES)
}

#[test]
fn the_request_names_the_first_message_that_stays() {
    let after = session().compact_to_last(3);
    assert_eq!(after.said(), ["what\nwas", "ls|{}|out", "more", "done"]);
    let [request, summary] = &after.lines[4..] else {
        panic!("two messages");
    };
    assert!(request.contains(r#""auto":false,"tail_start_id":"msg_2""#), "{request}");
    assert!(request.contains(r#""agent":"build","model":{"providerID":"p","modelID":"m"}"#));
    assert!(summary.contains(r#""path":{"cwd":"/w","root":"/"}"#), "{summary}");
    assert!(summary.contains(r#""time":{"created":1780272000000,"completed":1780272000000}"#));
}

#[test]
fn new_ids_sort_by_time() {
    let after = session().compact_to_last(1);
    let id = |line: &String| line.split('"').nth(5).map(str::to_owned).expect("an id");
    let (request, summary) = (id(&after.lines[4]), id(&after.lines[5]));
    // The id begins with the last nine hex digits of the time, and a counter.
    assert!(request.starts_with("msg_e807aec00001"), "{request}");
    assert!(request < summary, "{request} {summary}");
}

#[test]
fn a_middle_that_leaves_and_what_has_changed_are_written_again() {
    let before = session();
    let context = before.context();
    let after = before.compact(&[same(&context[0]), same(&context[3])], false);
    let after = after.expect("compacted");
    assert_eq!(after.said(), ["what\nwas", "ask", "done"]);
    assert!(!after.lines[4].contains("tail_start_id"));
    let shorter: Vec<String> = context.iter().map(|it| it.replace(r#""out""#, r#""o""#)).collect();
    let kept: Vec<_> = shorter.iter().map(|it| changed(it)).collect();
    let after = before.compact(&kept[1..], true).expect("compacted");
    assert_eq!(after.said(), ["what\nwas", "ls|{}|o", "more", "done"]);
    let copies = after.lines[6..].concat();
    assert!(!copies.contains(r#""input":9"#) && !copies.contains("msg_2"), "{copies}");
    // A reply refers to the copy of the message that it answers.
    let id = after.lines[7].split('"').nth(5).expect("an id");
    assert!(after.lines[8].contains(&format!(r#""parentID":"{id}""#)), "{copies}");
}

#[test]
fn nothing_may_stay_and_a_second_compaction_follows() {
    let after = session().compact_to_last(0);
    assert_eq!(after.said(), ["what\nwas"]);
    let twice = session().compact_to_last(3).compact_to_last(1);
    assert_eq!(twice.said(), ["what\nwas", "done"]);
    // The tail of the first compaction is before that compaction.
    let kept = session().compact_to_last(3);
    let context = kept.context();
    let all: Vec<_> = context[1..].iter().map(|text| same(text)).collect();
    let twice = kept.compact(&all, true).expect("compacted");
    assert_eq!(twice.said(), ["what\nwas", "ls|{}|out", "more", "done"]);
}

#[test]
fn a_session_without_a_message_of_the_user_is_refused() {
    let none = Session::new("opencode", &MESSAGES[1..2]);
    let error = none.compact(&[], true).map(|it| it.lines);
    assert_eq!(error, Err(CompactionError::Missing("model")));
}
