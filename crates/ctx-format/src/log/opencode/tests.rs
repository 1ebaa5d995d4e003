use super::Opencode;
use crate::view::{Outside, Presence};
use crate::{Dialect, Message, Object, Options, Records, Role};

/// A message with the given id and time. `info` has further members, and `parts` is raw JSON.
fn message(id: u32, role: &str, info: &str, parts: &str) -> String {
    let both = r#""sessionID":"ses_1","agent":"build""#;
    let own = if role == "user" {
        r#""model":{"providerID":"p","modelID":"m"}"#
    } else {
        r#""mode":"build","modelID":"m","providerID":"p","path":{"cwd":"/w","root":"/"},"cost":0,"tokens":{"input":100,"output":7,"reasoning":1,"cache":{"read":20,"write":3}}"#
    };
    format!(
        r#"{{"info":{{"id":"msg_{id}","role":"{role}",{both},"time":{{"created":{id}}},{own}{info}}},"parts":[{parts}]}}"#
    )
}

fn text(id: u32, text: &str) -> String {
    format!(r#"{{"id":"prt_{id}","type":"text","text":"{text}"}}"#)
}

fn user(id: u32) -> String {
    message(id, "user", "", &text(id, &format!("ask {id}")))
}

fn reply(id: u32) -> String {
    let info = r#","parentID":"msg_1","finish":"stop""#;
    message(id, "assistant", info, &text(id, &format!("say {id}")))
}

fn tool(state: &str) -> String {
    let part =
        format!(r#"{{"id":"prt_9","type":"tool","tool":"ls","callID":"c","state":{state}}}"#);
    message(9, "assistant", r#","parentID":"msg_1","finish":"tool-calls""#, &part)
}

fn request(id: u32, tail: Option<u32>) -> String {
    let tail = tail.map_or(String::new(), |it| format!(r#","tail_start_id":"msg_{it}""#));
    message(
        id,
        "user",
        "",
        &format!(r#"{{"id":"prt_{id}","type":"compaction","auto":true{tail}}}"#),
    )
}

fn summary(id: u32, of: u32) -> String {
    let info = format!(r#","parentID":"msg_{of}","summary":true,"finish":"stop""#);
    message(id, "assistant", &info, &text(id, &format!("sum {id}")))
}

fn document(messages: &[String]) -> String {
    format!(
        "{{\n \"info\": {{\"id\": \"ses_1\"}},\n \"messages\": [\n  {}\n ]\n}}\n",
        messages.join(",\n  ")
    )
}

fn records(document: &str) -> Records<&[u8]> {
    Records::open(document.as_bytes(), &Options::default()).expect("from memory")
}

/// The texts of the messages that opencode sends, in the order in which it sends them, and the
/// reasons why it does not send the others.
fn sent(document: &str) -> (Vec<String>, Vec<Outside>) {
    let mut records = records(document);
    assert_eq!(records.dialect().map(Dialect::name), Some("opencode"));
    let (mut sent, mut left) = (Vec::new(), Vec::new());
    while let Some(record) = records.next().expect("from memory") {
        match record.presence {
            Some(Presence::Inside(fragment)) => {
                let message = record.message(Some(&Opencode)).expect("a message");
                sent.push((fragment.message, message.texts().join("|")));
            }
            Some(Presence::Outside(why)) => left.push(why),
            None => panic!("the view is known"),
        }
    }
    sent.sort();
    (sent.into_iter().map(|(_, text)| text).collect(), left)
}

fn said(messages: &[String]) -> Vec<String> {
    sent(&document(messages)).0
}

fn flaws(document: &str) -> Vec<&'static str> {
    records(document).flaws().iter().map(|(_, flaw)| flaw.rule).collect()
}

fn read(record: &str) -> Message<'_> {
    let object = Object::parse(record).expect("an object");
    Opencode.message(&object).expect("a message")
}

#[test]
fn messages_are_read_in_the_order_of_their_times() {
    let messages = [reply(2), user(3), user(1)];
    assert_eq!(said(&messages), ["ask 1", "say 2", "ask 3"]);
    assert!(flaws(&document(&messages)).is_empty());
}

#[test]
fn a_compaction_replaces_everything_before_its_tail() {
    let before = [user(1), reply(2), user(3), reply(4)];
    let after = |tail| [&before[..], &[request(5, tail), summary(6, 5), user(7)]].concat();
    let (texts, left) = sent(&document(&after(None)));
    assert_eq!(texts, ["sum 6", "ask 7"]);
    assert_eq!(left[..4], [Outside::BeforeCompaction; 4]);
    assert_eq!(left[4..], [Outside::NeverSent]);
    assert_eq!(said(&after(Some(3))), ["sum 6", "ask 3", "say 4", "ask 7"]);
    // The tail may begin before an earlier compaction, whose summary is then part of the tail.
    let twice = [&after(Some(3))[..], &[reply(8), request(9, Some(4)), summary(10, 9)]].concat();
    assert_eq!(said(&twice), ["sum 10", "say 4", "sum 6", "ask 7", "say 8"]);
}

#[test]
fn a_compaction_without_a_complete_summary_does_not_count() {
    let open = summary(4, 3).replace(r#","finish":"stop""#, "");
    let failed = summary(4, 3).replace(r#""finish""#, r#""error":{"name":"X"},"finish""#);
    assert_eq!(said(&[user(1), reply(2), request(3, None), open]), ["ask 1", "say 2", "sum 4"]);
    assert_eq!(said(&[user(1), reply(2), request(3, None), failed]), ["ask 1", "say 2"]);
    assert_eq!(said(&[user(1), request(3, None), user(4)]), ["ask 1", "ask 4"]);
}

#[test]
fn a_tail_that_is_missing_leaves_the_messages_before_it() {
    let messages = [user(1), reply(2), request(3, Some(7)), summary(4, 3)];
    assert_eq!(said(&messages), ["ask 1", "say 2", "sum 4"]);
    assert_eq!(flaws(&document(&messages)), ["kept-entry-missing"]);
}

#[test]
fn only_the_first_message_with_an_id_is_imported() {
    let messages = [user(1), reply(2), user(1).replace("ask", "other")];
    assert_eq!(said(&messages), ["ask 1", "say 2"]);
    assert_eq!(flaws(&document(&messages)), ["repeated-id"]);
}

#[test]
fn a_message_without_a_member_that_opencode_requires_is_a_flaw() {
    for (message, gone) in [
        (user(1), r#""agent":"build","#),
        (user(1), r#","modelID":"m""#),
        (reply(1), r#""parentID":"msg_1","#),
        (reply(1), r#""read":20,"#),
    ] {
        let lacking = document(&[message.replace(gone, "")]);
        assert_eq!(flaws(&lacking), ["missing-member"], "{gone}");
        assert!(flaws(&document(&[message])).is_empty());
    }
}

#[test]
fn what_the_user_took_back_is_not_sent() {
    let messages = document(&[user(1), reply(2), user(3), reply(4)]);
    let undone = messages.replace(r#""id": "ses_1""#, r#""revert": {"messageID": "msg_3"}"#);
    assert_eq!(sent(&undone), (vec!["ask 1".into(), "say 2".into()], vec![Outside::DeadBranch; 2]));
    assert_eq!(flaws(&undone), ["pending-undo"]);
}

#[test]
fn the_result_of_a_call_is_what_opencode_sends() {
    let time = r#""time":{"start":1,"end":2}"#;
    for (state, result, is_error, has_slot) in [
        (format!(r#"{{"status":"completed","input":{{}},"output":"out",{time}}}"#), "out", false, true),
        (
            r#"{"status":"completed","input":{},"output":"out","time":{"compacted":3}}"#.into(),
            "[Old tool result content cleared]", false, false,
        ),
        (format!(r#"{{"status":"error","input":{{}},"error":"bad",{time}}}"#), "bad", true, true),
        (
            r#"{"status":"error","input":{},"error":"x","metadata":{"interrupted":true,"output":"half"}}"#.into(),
            "half", false, true,
        ),
        (r#"{"status":"running","input":{}}"#.into(), "[Tool execution was interrupted]", true, false),
    ] {
        let record = tool(&state);
        let message = read(&record);
        assert_eq!(message.texts(), ["ls", "{}", result], "{state}");
        let found = message.results().next().expect("a result");
        assert_eq!((found.is_error, found.slot.is_some()), (is_error, has_slot), "{state}");
        let outline = Opencode.outline(&Object::parse(&record).expect("an object"));
        let outline = outline.expect("a message");
        assert!(outline.calls.is_empty() && outline.results.is_empty());
    }
}

#[test]
fn words_that_the_user_did_not_write_are_marked() {
    let synthetic = text(2, "file").replace(r#""text","#, r#""text","synthetic":true,"#);
    let ignored = text(3, "no").replace(r#""text","#, r#""text","ignored":true,"#);
    let parts = [text(1, "ask"), synthetic.clone(), ignored, text(4, "")].join(",");
    let record = message(1, "user", "", &parts);
    let said = read(&record);
    assert_eq!((said.texts(), said.added.clone()), (vec!["ask", "file"], 1..2));
    let record = message(1, "user", "", &synthetic);
    let object = Object::parse(&record).expect("an object");
    assert!(!Opencode.outline(&object).expect("a message").begins_turn);
}

#[test]
fn a_reply_that_failed_is_sent_only_if_the_user_interrupted_it() {
    let with = |name: &str| {
        reply(2).replace(r#""finish""#, &format!(r#""error":{{"name":"{name}"}},"finish""#))
    };
    assert_eq!(said(&[user(1), with("MessageAbortedError")]), ["ask 1", "say 2"]);
    assert_eq!(said(&[user(1), with("APIError")]), ["ask 1"]);
}

#[test]
fn a_reply_states_its_usage_and_a_summary_does_not() {
    let usage = |record: &str| {
        let usage = Opencode.usage(&Object::parse(record).expect("an object"))?;
        Some((usage.prompt, usage.output))
    };
    assert_eq!(usage(&reply(2)), Some((123, 8)));
    assert_eq!(usage(&summary(2, 1)), None);
}

#[test]
fn the_recorded_size_of_a_prompt_can_be_lowered() {
    use crate::Log;
    let total = reply(2).replace(r#""input":100"#, r#""total":131,"input":100"#);
    let object = Object::parse(&total).expect("an object");
    let new = Opencode.lessened(&object, 60).of_object(&object);
    let tokens = r#""total":68,"input":60,"output":7,"reasoning":1,"cache":{"read":0,"write":0}"#;
    assert!(new.contains(tokens), "{new}");
}

#[test]
fn reasoning_can_be_cut() {
    let parts = [r#"{"id":"prt_1","type":"reasoning","text":"hm"}"#.to_owned(), text(2, "say")];
    let record = message(2, "assistant", "", &parts.join(","));
    let object = Object::parse(&record).expect("an object");
    let mut edits = crate::Edits::default();
    edits.cut(read(&record).reasoning);
    let left = edits.of_object(&object);
    assert!(left.ends_with(&format!("[{}]}}", parts[1])), "{left}");
}

#[test]
fn a_summary_has_the_role_of_the_user() {
    let record = summary(2, 1);
    let object = Object::parse(&record).expect("an object");
    assert_eq!(Opencode.summary_text(&object).as_deref(), Some("sum 2"));
    let outline = Opencode.outline(&object).expect("a message");
    assert!(outline.is_summary && outline.role == Role::User && !outline.begins_turn);
}
