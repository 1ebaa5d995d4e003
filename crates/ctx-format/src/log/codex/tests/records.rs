//! Tests how single lines are read.

use super::{Lines, SUMMARY, call, output, said, session};
use crate::dialect::{ALL, Dialect, Sniff};
use crate::log::codex::Codex;
use crate::{Object, Part, Role};

#[test]
fn its_lines_are_told_from_others() {
    let lines = session().turn(1).back("1").compacted("c", "s");
    let bare = lines
        .bare("-", r#"{"id":"s","timestamp":"t","instructions":null,"git":{}}"#)
        .bare("-", r#"{"record_type":"state"}"#);
    for (_, line) in &bare.0 {
        let object = Object::parse(line).expect("an object");
        for dialect in ALL {
            let is_own = dialect.name() == Codex.name();
            assert_eq!(dialect.sniff(&object) == Sniff::Yes, is_own, "{line}");
        }
    }
    for line in [
        r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}"#,
        r#"{"type":"compacted","summary":"x"}"#,
        r#"{"type":"event_msg"}"#,
        r#"{"id":"1","timestamp":"t"}"#,
    ] {
        let object = Object::parse(line).expect("an object");
        assert_eq!(Codex.sniff(&object), Sniff::No, "{line}");
    }
}

#[test]
fn only_what_the_user_asks_begins_a_turn() {
    let begins = |role: &str, text: &str| {
        let line = &Lines::default().item("-", &said(role, text)).0[0].1;
        let object = Object::parse(line).expect("an object");
        Codex.outline(&object).expect("a message").begins_turn
    };
    assert!(begins("user", "go on"));
    assert!(begins("user", "what is <environment_context>x</environment_context>?"));
    assert!(begins("user", "<environment_context> is not closed"));
    assert!(begins("user", "<external_page of=x>x</external_page>"));
    for text in [
        "<environment_context>x</environment_context>",
        " <ENVIRONMENT_CONTEXT>x</environment_context> ",
        "# AGENTS.md instructions for /x <INSTRUCTIONS>x</INSTRUCTIONS>",
        "<turn_aborted>x</turn_aborted>",
        "<external_page>x</external_page>",
        "Warning: apply_patch was requested via x.",
        "<user_instructions>x</user_instructions>",
        SUMMARY,
    ] {
        assert!(!begins("user", text), "{text}");
    }
    assert!(!begins("developer", "go on"));
}

#[test]
fn a_compaction_is_one_message_of_the_user_with_all_parts() {
    let reasoning = r#"{"type":"reasoning","summary":[],"encrypted_content":"gA"}"#;
    let sealed = r#"{"type":"compaction","encrypted_content":"gAAA"}"#;
    let items = [
        said("user", "u1"),
        reasoning.to_owned(),
        call("1"),
        output("1"),
        call("2"),
        sealed.to_owned(),
        r#"{"type":"brand_new"}"#.to_owned(),
        said("user", SUMMARY),
    ];
    let line = &Lines::default().replaced("B", &items).0[0].1;
    let object = Object::parse(line).expect("an object");
    let outline = Codex.outline(&object).expect("a message");
    assert_eq!((outline.role, outline.is_summary), (Role::User, true));
    assert!(!outline.begins_turn);
    // The result of the first call is in the message. The result of the second call may still
    // follow.
    assert_eq!((outline.calls, outline.results), (vec!["2".into()], vec![]));
    let message = Codex.message(&object).expect("a message");
    let kinds: String = message.parts.iter().map(letter).collect();
    assert_eq!(kinds, "tocrcoot");
    let slots = message.results().filter_map(|result| result.slot.as_ref());
    let places: Vec<&str> = slots.map(|slot| &line[slot.range.clone()]).collect();
    assert_eq!(places, ["\"x\""]);
    let cut: Vec<&str> = message.reasoning.iter().map(|cut| &line[cut.clone()]).collect();
    assert_eq!(cut, [format!("{reasoning},")]);
}

fn letter(part: &Part<'_>) -> char {
    match part {
        Part::Text(_) => 't',
        Part::Call(_) => 'c',
        Part::Result(_) => 'r',
        Part::Opaque(_) => 'o',
        _ => '?',
    }
}

#[test]
fn what_wraps_an_item_is_known() {
    let wrapped = |lines: &Lines| {
        let line = &lines.0[0].1;
        let object = Object::parse(line).expect("an object");
        let wrapped = Codex.wrapped(&object);
        (wrapped.sent.concat(), wrapped.copies.concat())
    };
    let item = said("user", "u");
    let lines = Lines::default().user("u");
    assert_eq!(wrapped(&lines), (item.clone(), String::new()));
    let lines = Lines::default().bare("u", &item);
    assert_eq!(wrapped(&lines), (item.clone(), String::new()));
    let lines = Lines::default().replaced("B", std::slice::from_ref(&item));
    assert_eq!(wrapped(&lines), (format!("[{item}]"), "\"m\"".to_owned()));
    let lines = Lines::default().compacted("S", "s");
    assert_eq!(wrapped(&lines), ("\"s\"".to_owned(), String::new()));
}

#[test]
fn the_summary_of_a_compaction_is_read() {
    let summary = |lines: &Lines| {
        let object = Object::parse(&lines.0[0].1).expect("an object");
        Codex.summary_text(&object).map(std::borrow::Cow::into_owned)
    };
    let compacted = |payload: &str| Lines::default().line("S", "compacted", payload);
    assert_eq!(summary(&compacted(r#"{"message":"so far"}"#)).as_deref(), Some("so far"));
    let items = [said("user", SUMMARY), said("user", "u")].join(",");
    let within = format!(r#"{{"message":"","replacement_history":[{items}]}}"#);
    assert_eq!(summary(&compacted(&within)).as_deref(), Some(SUMMARY));
    assert_eq!(summary(&Lines::default().user("u")), None);
    let own = Codex.summary_record(Role::User, "what\nwas");
    let written = Lines::default().bare("S", &own).user("u");
    assert_eq!(summary(&written).as_deref(), Some("what\nwas"));
    assert_eq!(session().turn(1).bare("S", &own).user("u").context(), "S u");
}
