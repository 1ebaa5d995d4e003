//! Extracts the searchable text from a record, and splits a memory file into paragraphs.

use ctx_format::{Dialect, Message, Object, Part};
use ctx_memory::Entry;
use ctx_search::ROLES;
use serde_json::Value;

/// The searchable text of a message.
pub(crate) struct SearchableText {
    pub(crate) role: Option<&'static str>,
    pub(crate) text: String,
}

/// The searchable text of an object in `dialect`; `None` if the object has no searchable text.
pub(crate) fn said(dialect: &dyn Dialect, object: &Object<'_>) -> Option<SearchableText> {
    let message = dialect.message(object)?;
    let mut text = String::new();
    add_parts(&message.parts, &mut text);
    let role = role_of(&message);
    (!text.trim().is_empty()).then_some(SearchableText { role, text })
}

/// The searchable text of a line; `None` if the line is not an object or has no text.
pub(crate) fn said_in_line(dialect: &dyn Dialect, line: &[u8]) -> Option<SearchableText> {
    let text = std::str::from_utf8(line).ok()?;
    said(dialect, &Object::parse(text.trim_start_matches('\u{feff}').trim_end()).ok()?)
}

/// The role of a message. A user message that contains only tool results gets the role `tool`.
fn role_of(message: &Message<'_>) -> Option<&'static str> {
    let is_result = |part: &Part<'_>| matches!(part, Part::Result(_));
    let role = if !message.parts.is_empty() && message.parts.iter().all(is_result) {
        "tool"
    } else {
        message.role.as_str()
    };
    known_role(role)
}

/// Returns the role with this name, if searches can filter by that role.
pub(crate) fn known_role(name: &str) -> Option<&'static str> {
    ROLES.into_iter().find(|known| *known == name)
}

fn add_parts(parts: &[Part<'_>], text: &mut String) {
    for part in parts {
        match part {
            Part::Text(said) | Part::Refusal(said) | Part::Reasoning(said) => add(said, text),
            Part::Call(call) => {
                add(&call.name, text);
                match serde_json::from_str(&call.arguments) {
                    Ok(value) => add_value(&value, text),
                    Err(_) => add(&call.arguments, text),
                }
            }
            Part::Result(result) => add_parts(&result.parts, text),
            // Images and API-specific parts have no searchable text.
            Part::Media(_) | Part::Opaque(_) => {}
        }
    }
}

fn add_value(value: &Value, text: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => add(&value.to_string(), text),
        Value::String(said) => add(said, text),
        Value::Array(values) => values.iter().for_each(|value| add_value(value, text)),
        Value::Object(members) => {
            for (key, value) in members {
                add(key, text);
                add_value(value, text);
            }
        }
    }
}

fn add(said: &str, text: &mut String) {
    if !text.is_empty() && !said.is_empty() {
        text.push('\n');
    }
    text.push_str(said);
}

/// Returns each paragraph with the 1-based number of its first line. A paragraph is a heading, a
/// run of non-blank lines, or a list entry together with the lines directly below it.
pub(crate) fn paragraphs(text: &str) -> Vec<(u64, &str)> {
    let mut found: Vec<(u64, usize, usize)> = Vec::new();
    let mut is_open = false;
    let mut end = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let start = end;
        end += line.len();
        let is_blank = line.trim().is_empty();
        match found.last_mut() {
            _ if is_blank => {}
            Some((_, _, until)) if is_open && !begins(line) => *until = end,
            _ => found.push((number, start, end)),
        }
        is_open = !is_blank && !line.starts_with('#');
    }
    found.into_iter().map(|(line, start, end)| (line, text[start..end].trim_end())).collect()
}

/// Returns true if this line starts a paragraph, regardless of the line above it.
fn begins(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = rest.len() < line.len() && (rest.starts_with(". ") || rest.starts_with(") "));
    is_numbered || ["#", "- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

/// Parses a paragraph as an entry in a memory file; `None` if the paragraph was not written by our
/// tools.
pub(crate) fn entry_of(paragraph: &str) -> Option<Entry<'_>> {
    Entry::parse(paragraph.strip_prefix("- ")?.trim_end())
}

#[cfg(test)]
mod tests {
    use super::paragraphs;
    use ctx_format::{Object, dialect};
    use proptest::prelude::*;

    use super::said;

    /// The arguments of a call are searched as plain text, without JSON escapes.
    #[test]
    fn arguments_are_read_as_what_they_hold() {
        let line = r#"{"role":"assistant","content":"Look","tool_calls":[{"id":"a","type":"function","function":{"name":"grep","arguments":"{\"pattern\":\"a\\nb\",\"max\":3,\"in\":[\"x\"]}"}}]}"#;
        let object = Object::parse(line).expect("an object");
        let chat = dialect::by_name("chat").expect("a dialect");
        let said = said(chat, &object).expect("a message");
        assert_eq!(said.role, Some("assistant"));
        assert_eq!(said.text, "Look\ngrep\nin\nx\nmax\n3\npattern\na\nb");
    }

    /// Each entry in a memory file is a separate paragraph.
    #[test]
    fn an_entry_is_a_paragraph() {
        let text = "# Facts\n- one\n  more\n- two\n\nplain\nlines\n1. first\n2) second\r\n\n\n* x";
        assert_eq!(
            paragraphs(text),
            [
                (1, "# Facts"),
                (2, "- one\n  more"),
                (4, "- two"),
                (6, "plain\nlines"),
                (8, "1. first"),
                (9, "2) second"),
                (12, "* x"),
            ]
        );
    }

    proptest! {
        #[test]
        fn all_that_is_not_blank_is_in_one(text in "[#\\- a1.\n]{0,40}") {
            let all: String = paragraphs(&text).iter().map(|(_, text)| *text).collect();
            let dense = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(dense(&all), dense(&text));
        }
    }
}
