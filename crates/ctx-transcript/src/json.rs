//! Views into raw JSON values. `serde_json` does the lexing; a `RawValue` takes
//! any depth, any number and any escape, and keeps its bytes.

use std::borrow::Cow;
use std::ops::Range;

use serde::de::{Deserializer, Visitor};
use serde_json::value::RawValue;

/// A JSON string as text; `None` when the value is no string. Lone surrogates
/// (`\ud800`), which JSON allows and UTF-8 does not, become U+FFFD.
pub(crate) fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.as_bytes().contains(&b'\\') {
        return Some(Cow::Borrowed(inner));
    }
    match serde_json::from_str::<String>(raw) {
        Ok(text) => Some(Cow::Owned(text)),
        Err(_) => lossy(raw).map(Cow::Owned),
    }
}

/// `serde_json` hands a string out as bytes with surrogates in place.
fn lossy(raw: &str) -> Option<String> {
    struct Bytes;
    impl Visitor<'_> for Bytes {
        type Value = String;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a string")
        }
        fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
    }
    serde_json::Deserializer::from_str(raw)
        .deserialize_bytes(Bytes)
        .ok()
}

/// The elements of a JSON array, raw; `None` when the value is no array.
pub(crate) fn elements(raw: &str) -> Option<Vec<&str>> {
    if !raw.starts_with('[') {
        return None;
    }
    let values: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
    Some(values.into_iter().map(RawValue::get).collect())
}

/// Where `part`, a slice of `whole`, stands in it.
pub(crate) fn place_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - whole.as_ptr() as usize;
    start..start + part.len()
}

/// `text` as a JSON string with its quotes.
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::{elements, text};

    #[test]
    fn strings_are_decoded() {
        assert_eq!(text(r#""plain""#).as_deref(), Some("plain"));
        assert_eq!(text(r#""a\n\u4e2d""#).as_deref(), Some("a\n中"));
        assert_eq!(
            text(r#""\ud800!""#).as_deref(),
            Some("\u{fffd}\u{fffd}\u{fffd}!")
        );
        assert_eq!(text("7"), None);
    }

    #[test]
    fn elements_keep_their_bytes() {
        assert_eq!(
            elements("[ 1E2 ,{\"a\":1,\"a\":2}]"),
            Some(vec!["1E2", "{\"a\":1,\"a\":2}"])
        );
        assert_eq!(elements("{}"), None);
        assert_eq!(elements("[]"), Some(vec![]));
    }
}
