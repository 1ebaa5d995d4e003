//! Functions that read raw JSON values. `serde_json` does the lexing. A `RawValue` keeps the bytes
//! of its value, and accepts any number, any escape, and any nesting depth.

use super::unescape::unescaped;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::ops::Range;

/// Decodes a JSON string; `None` if the value is not a string.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let [b'"', .., b'"'] = raw.as_bytes() else { return None };
    let inner = &raw[1..raw.len() - 1];
    // In a short text, such as a key, a loop is faster than a call to `memchr`.
    let is_plain = inner.len() < 16 && inner.bytes().all(|byte| byte != b'\\');
    if is_plain || memchr::memchr(b'\\', inner.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inner));
    }
    unescaped(inner).map(Cow::Owned)
}

/// Returns the elements of a JSON array as raw JSON; `None` if the value is not an array.
pub(crate) fn elements(raw: &str) -> Option<Vec<&str>> {
    if !raw.starts_with('[') {
        return None;
    }
    let values: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// Returns the byte range of `part` within `whole`. `part` must be a slice of `whole`.
pub(crate) fn place_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

/// Encodes `text` as a JSON string in quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns `json` with `change` applied to each string value but not to keys. Returns `None` if
/// nothing changes or `json` is not JSON.
pub fn map_strings(json: &str, mut change: impl FnMut(&str) -> Option<String>) -> Option<String> {
    serde_json::from_str::<&RawValue>(json).ok()?;
    let mut changed = String::new();
    let mut from = 0;
    for place in string_values(json) {
        let string = text(&json[place.clone()])?;
        if let Some(other) = change(&string) {
            changed.push_str(&json[from..place.start]);
            changed.push_str(&quoted(&other));
            from = place.end;
        }
    }
    changed.push_str(&json[from..]);
    (from > 0).then_some(changed)
}

/// Returns the byte ranges of all strings in a JSON text, except keys.
fn string_values(text: &str) -> Vec<Range<usize>> {
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

/// Rewrites JSON so that it is on a single line. Raw line endings occur only between values, so
/// they can be replaced with spaces.
pub(crate) fn one_line(json: &str) -> Cow<'_, str> {
    let json = json.trim();
    let is_one = !json.contains(['\n', '\r']);
    if is_one { Cow::Borrowed(json) } else { Cow::Owned(json.replace(['\n', '\r'], " ")) }
}

#[cfg(test)]
mod tests {
    use super::{elements, text};

    #[test]
    fn strings_are_decoded() {
        assert_eq!(text(r#""plain""#).as_deref(), Some("plain"));
        assert_eq!(text(r#""a\n\u4e2d""#).as_deref(), Some("a\n中"));
        assert_eq!(text(r#""\ud800!""#).as_deref(), Some("\u{fffd}\u{fffd}\u{fffd}!"));
        assert_eq!(text("7"), None);
    }

    #[test]
    fn elements_keep_their_bytes() {
        assert_eq!(elements("[ 1E2 ,{\"a\":1,\"a\":2}]"), Some(vec!["1E2", "{\"a\":1,\"a\":2}"]));
        assert_eq!(elements("{}"), None);
        assert_eq!(elements("[]"), Some(vec![]));
    }
}

#[cfg(test)]
mod strings_tests {
    use super::map_strings;

    fn shouted(text: &str) -> Option<String> {
        map_strings(text, |string| (string.len() > 1).then(|| string.to_uppercase()))
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
        for text in ["{}", r#"{"long key":"v"}"#, "7", "", "{\"a\":\"bc", "ls -l \"abc\""] {
            assert_eq!(shouted(text), None, "{text}");
        }
    }
}
