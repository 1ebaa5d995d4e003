//! Tests which lines are sent, and which turns a rollback undoes.

use super::{Lines, SUMMARY, call, output, said, session};
use crate::Object;
use crate::dialect::Dialect;
use crate::log::codex::Codex;
use crate::view::Outside;

#[test]
fn items_are_sent_and_events_are_not() {
    let lines = session().turn(1).event("e", "agent_message", r#","message":"a1""#);
    let lines = lines.line("ws", "world_state", "{}").line("new", "brand_new", "{}");
    assert_eq!(lines.context(), "dev env u1 a1");
    for word in ["meta", "e", "ws", "new"] {
        assert_eq!(lines.outside(word), Some(Outside::NeverSent), "{word}");
    }
}

#[test]
fn what_the_client_does_not_load_is_not_sent() {
    let lines = session()
        .item("unknown", r#"{"type":"brand_new"}"#)
        .item("trigger", r#"{"type":"compaction_trigger"}"#)
        .item("system", &said("system", "x"))
        .item("untyped", r#"{"role":"user","content":[{"type":"input_text","text":"x"}]}"#)
        .item("text", r#"{"type":"message","role":"user","content":"x"}"#)
        .item("part", r#"{"type":"message","role":"user","content":[{"type":"text","text":"x"}]}"#)
        .item("object", r#"{"type":"function_call","name":"n","call_id":"c","arguments":{}}"#)
        .item("nameless", r#"{"type":"function_call","call_id":"c","arguments":"{}"}"#)
        .item("output", r#"{"type":"function_call_output","call_id":"c","output":{}}"#)
        .item("custom", r#"{"type":"custom_tool_call","call_id":"c","name":"n"}"#)
        .item("reasoning", r#"{"type":"reasoning"}"#)
        .item("summary", r#"{"type":"reasoning","summary":[{"type":"new","text":"x"}]}"#)
        .item("id", r#"{"type":"reasoning","id":7,"summary":[]}"#)
        .item("phase", r#"{"type":"message","role":"user","phase":"x","content":[]}"#)
        .item("image", r#"{"type":"message","role":"user","content":[{"type":"input_image"}]}"#)
        .item("shell", r#"{"type":"local_shell_call","call_id":"c","status":"x","action":{}}"#)
        .item("search", r#"{"type":"tool_search_call","call_id":"c"}"#)
        .item("found", r#"{"type":"tool_search_output","call_id":"c"}"#)
        .item("drawn", r#"{"type":"image_generation_call","id":"c"}"#)
        .item("agent", r#"{"type":"agent_message"}"#)
        .item(
            "agent_part",
            r#"{"type":"agent_message","author":"a","recipient":"b","content":[{"type":"x"}]}"#,
        )
        .item("sealed", r#"{"type":"compaction"}"#)
        .item("mcp", r#"{"type":"mcp_call","id":"m"}"#)
        .item("part", r#"{"type":"function_call_output","call_id":"c","output":[{"type":"new"}]}"#)
        .bare("timeless", r#"{"type":"response_item","payload":{"type":"reasoning","summary":[]}}"#)
        .bare("torn", r#"{"timestamp":"t","type":"respo"#)
        .user("u");
    assert_eq!(lines.context(), "dev env u");
}

#[test]
fn what_the_model_says_until_it_is_answered_is_one_reply() {
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"gA"}"#;
    let search = r#"{"type":"web_search_call","id":"w"}"#;
    let lines = Lines::default()
        .user("u")
        .item("r", reasoning)
        .item("w", search)
        .says("a")
        .item("c", &call("1"))
        .item("d", &call("2"))
        .event("-", "exec_command_end", "")
        .item("of_d", &output("2"))
        .item("of_c", &output("1"))
        .says("b");
    assert_eq!(lines.context(), "u r+w+a+c+d of_d of_c b");
}

#[test]
fn the_newest_turns_are_taken_back() {
    let three = || session().turn(1).turn(2).turn(3);
    assert_eq!(three().back("0").context(), "dev env u1 a1 u2 a2 u3 a3");
    let back = three().back("1").turn(4);
    assert_eq!(back.context(), "dev env u1 a1 u2 a2 u4 a4");
    assert_eq!(back.outside("u3"), Some(Outside::DeadBranch));
    assert_eq!(three().back("1").back("1").context(), "dev env u1 a1");
    // Items before the first turn stay, however many turns are undone.
    assert_eq!(three().back("9").context(), "dev env");
    // A rollback with an invalid number undoes nothing.
    for none in ["\"1\"", "-1", "null", "4294967296"] {
        let context = three().back(none).context();
        assert_eq!(context, "dev env u1 a1 u2 a2 u3 a3", "{none}");
    }
}

#[test]
fn what_the_client_put_before_a_turn_goes_with_it() {
    let shell = "<user_shell_command> ls </user_shell_command>";
    let before = session().turn(1).item("shell", &said("user", shell));
    let before = before.item("set", &said("developer", "<MODEL_SWITCH> x"));
    assert_eq!(before.turn(2).back("1").context(), "dev env u1 a1");
    let told = session().turn(1).item("told", &said("developer", "be quick"));
    assert_eq!(told.turn(2).back("1").context(), "dev env u1 a1 told");
    // Injected text does not begin a turn, and neither does a summary by the client.
    let only = session().turn(1).item("shell", &said("user", shell));
    assert_eq!(only.back("1").context(), "dev env");
    let summary = session().turn(1).item("sum", &said("user", SUMMARY));
    assert_eq!(summary.back("1").context(), "dev env");
}

#[test]
fn another_agent_begins_a_turn_that_can_be_taken_back() {
    let told = r#"{"author":"/root","recipient":"/root/w","content":"do","trigger_turn":true}"#;
    let json = said("assistant", &told.replace('"', "\\\""));
    let item = r#"{"type":"agent_message","author":"/root","recipient":"/w","content":[{"type":"input_text","text":"do"}]}"#;
    let first = session().turn(1).line("told", "inter_agent_communication", told);
    assert_eq!(first.context(), "dev env u1 a1 told");
    for told in [first, session().turn(1).item("told", &json), session().turn(1).item("told", item)]
    {
        let (_, line) = told.0.last().expect("a line");
        let object = Object::parse(line).expect("an object");
        assert!(!Codex.outline(&object).expect("a message").begins_turn);
        assert_eq!(told.says("a").back("1").context(), "dev env u1 a1");
    }
}

/// The item has the members that the client requires. Codex puts a text before content that only
/// the API can read.
#[test]
fn what_another_agent_says_is_sent_as_the_client_does() {
    let line = |payload: &str| Lines::default().line("m", "inter_agent_communication", payload);
    let sealed = r#"{"author":"/root","recipient":"/root/w","content":"","encrypted_content":"gA","trigger_turn":true}"#;
    let told = line(sealed);
    let block = r#"{"type":"encrypted_content","encrypted_content":"gA"}"#;
    let head = "Message Type: NEW_TASK\nTask name: /root/w\nSender: /root\nPayload:\n";
    assert_eq!(told.left("m"), [head, block].join("|"));
    let later = line(&sealed.replace("true", "false"));
    assert!(later.left("m").starts_with("Message Type: MESSAGE\n"));
    for bad in [
        r#"{"author":"/root","recipient":"/root/w","content":"do"}"#,
        r#"{"author":"/root","content":"do","trigger_turn":true}"#,
        r#"{"author":"/root","recipient":"/root/w","content":7,"trigger_turn":true}"#,
    ] {
        assert_eq!(line(bad).context(), "", "{bad}");
    }
}

#[test]
fn a_fork_has_the_head_of_its_origin_too() {
    let mut fork = session();
    fork.0.extend(session().turn(1).0);
    assert_eq!(fork.turn(2).context(), "dev env dev env u1 a1 u2 a2");
}

#[test]
fn bare_items_are_sent() {
    let lines = Lines::default()
        .bare("-", r#"{"id":"s","timestamp":"t","instructions":null}"#)
        .bare("u", &said("user", "u"))
        .bare("-", r#"{"record_type":"state"}"#)
        .bare("a", &said("assistant", "a"))
        .bare("c", &call("1"))
        .bare("o", &output("1"));
    assert_eq!(lines.context(), "u a+c o");
}
