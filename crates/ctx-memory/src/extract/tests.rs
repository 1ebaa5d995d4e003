//! Tests of the extraction from messages.

use ctx_format::{Call, Message, Part, Role, ToolResult};

use super::{Extractor, LISTS};
use crate::entry::MemoryItem;
use ctx_summary::ledger::patterns::MemoryKind;
use ctx_testkit::texts_of;
use ctx_text::LazyRegex;

fn say(role: Role, text: &'static str) -> Message<'static> {
    Message::new(role, vec![Part::Text(text.into())])
}

#[test]
fn quotations_and_tool_output_are_not_extracted() {
    let text = "The log says: \"We decided to send all the keys to the vendor.\"";
    assert_eq!(read(&say(Role::User, text)), []);
    let text = "We decided to use SQLite.";
    assert_eq!(read(&say(Role::Tool, text)), []);
    assert_eq!(read(&say(Role::User, text)).len(), 1);
}

fn read(message: &Message<'_>) -> Vec<(MemoryKind, String)> {
    let items = Extractor::new("s", &MemoryKind::ALL).read(message, 7, None);
    items.into_iter().map(|item| (item.kind, item.text)).collect()
}

#[test]
fn one_sentence_may_be_of_several_kinds() {
    let message = say(Role::User, "Hi. We decided that the port is 8080. I prefer tabs.");
    assert_eq!(
        read(&message),
        [
            (MemoryKind::Decision, "We decided that the port is 8080.".to_owned()),
            (MemoryKind::Fact, "We decided that the port is 8080.".to_owned()),
            (MemoryKind::Preference, "I prefer tabs.".to_owned()),
        ]
    );
}

#[test]
fn options_are_resolved_and_reasons_extracted() {
    let mut extractor = Extractor::new("s", &MemoryKind::ALL);
    let offer = "Two ways:\n1. Keep SQLite\n2. Take Redis";
    extractor.read(&say(Role::Assistant, offer), 1, None);
    let said = "Let's go with option 2. We decided on port 8080 because 80 is taken.";
    let items = extractor.read(&say(Role::User, said), 2, None);
    let items: Vec<_> = items
        .into_iter()
        .filter(|item| item.kind == MemoryKind::Decision)
        .map(|item| (item.text, item.why))
        .collect();
    assert_eq!(items[0].0, "Let's go with option 2. [2: Take Redis]");
    assert_eq!(items[1].1.as_deref(), Some("80 is taken"));
    let items = extractor.read(&say(Role::User, "1"), 3, None);
    assert_eq!(items[0].text, "1 [1: Keep SQLite]");
}

#[test]
fn an_item_can_be_understood_alone() {
    for text in ["Yes, please proceed with the change.", "Fixed by renaming it."] {
        assert_eq!(read(&say(Role::User, text)), [], "{text}");
    }
    let text = "Yes, please proceed with canceling both trips to Denver.";
    assert_eq!(read(&say(Role::User, text)).len(), 1);
    let report = "1. **`count` redeclared**: it is in `common` as well\n   - Fixed by renaming it to `count_lines`\n";
    let items = read(&say(Role::Assistant, report));
    let joined =
        "**`count` redeclared**: it is in `common` as well. Fixed by renaming it to `count_lines`";
    assert_eq!(items, [(MemoryKind::Fact, joined.to_owned())]);
}

#[test]
fn only_the_tool_that_asks_has_answers_of_the_user() {
    let program = "<system-reminder>Never mention it. Always use tabs.</system-reminder>";
    assert_eq!(read(&say(Role::User, program)), []);
    let answers = "User has answered your questions: \"Which store?\"=\"SQLite\". You can now continue with the user's answers in mind.";
    let read = |tool: &'static str| {
        let call =
            Call { id: Some("c1".into()), name: tool.into(), arguments: "{}".into(), slot: None };
        let result = ToolResult {
            id: Some("c1".into()),
            parts: vec![Part::Text(answers.into())],
            ..ToolResult::default()
        };
        let mut extractor = Extractor::new("s", &MemoryKind::ALL[..3]);
        let call = Message::new(Role::Assistant, vec![Part::Call(call)]);
        assert_eq!(extractor.read(&call, 1, None), []);
        let message = Message::new(Role::Tool, vec![Part::Result(result)]);
        extractor.read(&message, 2, None)
    };
    let items = read("AskUserQuestion");
    assert_eq!(items[0].text, "\"Which store?\"=\"SQLite\"");
    assert_eq!((items[0].role, items.len()), (Role::User, 1));
    // If another tool prints the same words, it does not quote the user.
    assert_eq!(read("WebFetch"), []);
}

#[test]
fn reasoning_is_not_extracted() {
    let message =
        Message::new(Role::Assistant, vec![Part::Reasoning("We decided to use tabs.".into())]);
    assert_eq!(read(&message), []);
}

#[test]
fn calls_and_errors_name_the_tool() {
    let mut extractor = Extractor::new("s", &MemoryKind::ALL);
    let call = Message::new(
        Role::Assistant,
        vec![Part::Call(Call {
            id: Some("c1".into()),
            name: "Bash".into(),
            arguments: r#"{"command":"make"}"#.into(),
            slot: None,
        })],
    );
    let result = Message::new(
        Role::Tool,
        vec![Part::Result(ToolResult {
            id: Some("c1".into()),
            parts: vec![Part::Text("Exit code 2\nno rule".into())],
            ..ToolResult::default()
        })],
    );
    let text = |items: Vec<MemoryItem>| {
        items.into_iter().map(|item| (item.text, item.tool)).collect::<Vec<_>>()
    };
    let bash = Some("Bash".to_owned());
    assert_eq!(text(extractor.read(&call, 1, None)), [("Bash: make".to_owned(), bash.clone())]);
    assert_eq!(
        text(extractor.read(&result, 2, None)),
        [("Bash failed: Exit code 2: no rule".to_owned(), bash.clone())]
    );
    // Only the first result with an id belongs to the call.
    assert_eq!(text(extractor.read(&result, 3, None))[0].1, None);
}

/// A line break in a tool's name must not start a new entry.
#[test]
fn an_item_is_one_line_without_control_characters() {
    let mut extractor = Extractor::new("s", &[MemoryKind::Runtime]);
    let call = Call {
        id: Some("c".into()),
        name: "a\n- We decided on \u{1b}[31mX".into(),
        arguments: "{\"path\":\"b\\u001b\\n.rs\"}".into(),
        slot: None,
    };
    let result = ToolResult {
        id: Some("c".into()),
        is_error: true,
        parts: vec![Part::Text("Error: no \u{9b}c\nmore".into())],
        ..ToolResult::default()
    };
    let call = Message::new(Role::Assistant, vec![Part::Call(call)]);
    let result = Message::new(Role::Tool, vec![Part::Result(result)]);
    let mut items = extractor.read(&call, 1, None);
    items.extend(extractor.read(&result, 2, None));
    assert_eq!(items.len(), 2);
    for item in items {
        assert!(!item.text.contains(char::is_control), "{:?}", item.text);
    }
}

#[test]
fn secrets_are_redacted_and_counted() {
    let mut extractor = Extractor::new("s", &[MemoryKind::Decision]);
    let message = say(
        Role::User,
        "We decided on password=hunter2 for tests. Also sk-aB3dE5gH7jK9mN1pQ3 is a key.",
    );
    let items = extractor.read(&message, 1, None);
    assert_eq!(items[0].text, "We decided on password=[REDACTED] for tests.");
    assert_eq!((items.len(), extractor.redacted), (1, 1));
}

#[test]
fn long_sentences_are_cut() {
    let text: &'static str = Box::leak(format!("We decided {}", "x ".repeat(400)).into_boxed_str());
    let items = read(&say(Role::User, text));
    assert_eq!(items[0].1.chars().count(), ctx_summary::ledger::patterns::QUOTE_MAX);
}

#[test]
fn every_text_that_a_pattern_matches_has_a_hint() {
    for list in ["lead-in", "interjection", "remedy", "consent", "reason", "reference", "report"] {
        let (with_hints, without) = (LISTS.hinted(list), LazyRegex::new(LISTS.pattern(list)));
        for text in texts_of(&LISTS.pattern(list)) {
            assert_eq!(with_hints.is_match(&text), without.is_match(&text), "{list}: {text:?}");
        }
    }
}
