//! The strings inside a JSON text, changed one by one; every other byte stays.

use std::ops::Range;

use serde_json::value::RawValue;

use crate::json;

/// `text` with each string value (no key) for which `change` has another text
/// replaced by that; `None` when none is, or `text` is not JSON.
pub fn map_strings(text: &str, mut change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    serde_json::from_str::<&RawValue>(text).ok()?;
    let mut changed = String::new();
    let mut from = 0;
    for place in values(text) {
        let string = json::text(&text[place.clone()])?;
        if let Some(other) = change(&string) {
            changed.push_str(&text[from..place.start]);
            changed.push_str(&json::quoted(&other));
            from = place.end;
        }
    }
    changed.push_str(&text[from..]);
    (from > 0).then_some(changed)
}

/// The places of the strings that are values, in a text that is JSON.
fn values(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &bytes[at..]).map(|quote| at + quote) {
        at = start + 1;
        while bytes[at] != b'"' {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        at += 1;
        if !text[at..].trim_start().starts_with(':') {
            found.push(start..at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::map_strings;

    fn shouted(text: &str) -> Option<String> {
        map_strings(text, |string| {
            (string.len() > 1).then(|| string.to_uppercase())
        })
    }

    #[test]
    fn only_string_values_change() {
        let text = r#"{ "key" : "va\"l\\" ,"n":1E2,"list":["x","yz",{"deep": "é\u00e9"}]}"#;
        let expected = r#"{ "key" : "VA\"L\\" ,"n":1E2,"list":["x","YZ",{"deep": "ÉÉ"}]}"#;
        assert_eq!(shouted(text).as_deref(), Some(expected));
        assert_eq!(shouted("\"abc\"").as_deref(), Some("\"ABC\""));
    }

    #[test]
    fn what_does_not_change_or_is_no_json_is_none() {
        for text in [
            "{}",
            r#"{"long key":"v"}"#,
            "7",
            "",
            "{\"a\":\"bc",
            "ls -l \"abc\"",
        ] {
            assert_eq!(shouted(text), None, "{text}");
        }
    }
}
