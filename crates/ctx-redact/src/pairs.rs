//! Names and values that markup or code stands between: `<password>…</password>`,
//! `"name": "PASSWORD", "value": "…"`, `setPassword("…")`, a table.

use std::ops::Range;

use super::name::{Kind, name_before};
use super::named::{is_quoted_secret, more};
use super::value::{is_no_value, is_phrase, is_reference, looks_random, value_after};
use super::{run, run_back};

/// `setPassword("hunter2")`; `at` is the bracket.
pub(super) fn argument(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let (_, kind) = name_before(text, from, at)?;
    let (value, is_quoted) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    let is_secret = is_quoted
        && !bytes.contains(&b' ')
        && matches!(kind, Kind::Password | Kind::Secret)
        && bytes.len() >= 6
        && (looks_random(bytes) || is_phrase(bytes));
    is_secret.then_some(value)
}

/// The value of a pair whose name stands before the word `value`, as environments are
/// written: `{"name": "DB_PASSWORD", "value": "…"}`, `key="DbPassword" value="…"`.
pub(super) fn member(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    // This is asked at every colon and sign.
    let quotes = run_back(&text.as_bytes()[from..at], 4, |b| b" \"'\\".contains(&b));
    if !text[from..at - quotes].ends_with("alue") {
        return None;
    }
    let before = text[from..at].trim_end_matches([' ', '"', '\'', '\\']);
    let rest = before
        .strip_suffix("value")
        .or(before.strip_suffix("Value"))?;
    let mut end = rest.len();
    // To the end of the name: blanks, quotes, commas, line ends, also written as `\n`.
    loop {
        let head =
            rest[..end].trim_end_matches([' ', '"', '\'', '\\', ',', '\n', '\r', '\t', '+', '-']);
        let head = head.strip_suffix("\\n").unwrap_or(head);
        // The number of a line.
        let arrow = head.strip_suffix('→');
        let head = arrow.map_or(head, |head| {
            head.trim_end_matches(|c: char| c.is_ascii_digit())
        });
        if head.len() == end {
            break;
        }
        end = head.len();
    }
    let (name, kind) = name_before(text, from, from + end)?;
    let before = rest[..end].strip_suffix(name)?.as_bytes();
    let label = &before[before.len() - run_back(before, 8, |b| b" \"'\\:=".contains(&b))..];
    let before = &before[..before.len() - label.len()];
    let is_label = |word: &[u8]| {
        let start = before.len().checked_sub(word.len());
        start.is_some_and(|start| before[start..].eq_ignore_ascii_case(word))
    };
    if label.is_empty() || !(is_label(b"name") || is_label(b"key")) {
        return None;
    }
    let (value, is_quoted) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    let is_secret = if is_quoted || kind != Kind::Password {
        is_quoted_secret(bytes, kind)
    } else {
        bytes.len() >= 4 && !is_no_value(bytes)
    };
    is_secret.then(|| value.start..value.end + if is_quoted { 0 } else { more(text, &value) })
}

/// `<password>…</password>`; `at` is the end of the first tag.
pub(super) fn element(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let (name, kind) = name_before(text, from, at)?;
    let before = text[from..at].strip_suffix(name);
    let is_tag = before.is_some_and(|before| before.ends_with(['<', ':', '.']));
    let bytes = text.as_bytes();
    let rest = &bytes[at + 1..bytes.len().min(at + 257)];
    let length = run(rest, |b| !b"<\n\"".contains(&b));
    let value = &rest[..length];
    let ends = rest[length..].starts_with(b"</") || rest[length..].starts_with(b"<\\/");
    if !ends
        || !matches!(kind, Kind::Password | Kind::Secret)
        || value.first().is_none_or(|first| is_reference(*first))
    {
        return None;
    }
    let is_secret = is_quoted_secret(value, kind) && (is_tag || looks_random(value));
    is_secret.then(|| at + 1..at + 1 + length)
}

/// How long the line of a table is that is looked at, in bytes.
const ROW_MAX: usize = 200;

/// The cell behind one with a name, `| password | hunter2 |`; `at` is the bar between.
pub(super) fn cell(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let (_, kind) = name_before(text, from, at)?;
    let part = &text.as_bytes()[from.max(at.saturating_sub(ROW_MAX))..at];
    let start = part
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    // In a shell the bar joins commands.
    let is_row = part[start..].trim_ascii_start().first() == Some(&b'|');
    let (value, _) = value_after(text, at + 1)?;
    let bytes = &text.as_bytes()[value.clone()];
    let is_secret = is_row
        && matches!(kind, Kind::Password | Kind::Secret)
        && bytes.len() >= 6
        && !bytes.iter().any(|b| b"/.:".contains(b))
        && (looks_random(bytes) || kind == Kind::Password && is_phrase(bytes));
    is_secret.then_some(value)
}

#[cfg(test)]
mod tests {
    use crate::redact;

    #[test]
    fn values_apart_from_their_names_go() {
        for (text, clean) in [
            (
                "<password>swordfish</password>",
                "<password>[REDACTED]</password>",
            ),
            (
                "- name: DB_PASSWORD\n  value: swordfish\n",
                "- name: DB_PASSWORD\n  value: [REDACTED]\n",
            ),
            (
                r#"{"name":"DB_PASSWORD","value":"swordfish"}"#,
                r#"{"name":"DB_PASSWORD","value":"[REDACTED]"}"#,
            ),
            (
                r#"<add key="DbPassword" value="swordfish" />"#,
                r#"<add key="DbPassword" value="[REDACTED]" />"#,
            ),
            (
                "conn.setPassword(\"hunter2x\")",
                "conn.setPassword(\"[REDACTED]\")",
            ),
            (
                "| user | a |\n| password | hunter2x |",
                "| user | a |\n| password | [REDACTED] |",
            ),
        ] {
            assert_eq!(redact(text), (clean.into(), 1), "{text}");
        }
    }

    #[test]
    fn other_pairs_stay() {
        for text in [
            "<label for=\"password\">Your password</label>, <password>string</password>",
            "<key>photos/2006/sample1.jpg</key>",
            "- name: PASSWORD_FILE\n  value: /run/secrets/one",
            "getpass(\"Password2: \"), input_password(\"Enter it\")",
            "| first pass | chars/4 |\n| repair pass | 4.5 seconds |",
            "cat token | sha256sum; echo $password | base64",
            "value: 5, \"value\": \"abcdef12\", key=value1234",
        ] {
            assert_eq!(redact(text), (text.into(), 0));
        }
    }
}
