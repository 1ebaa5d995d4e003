//! The members of one JSON object, with their places.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use crate::json;

/// One member of an object; the places are offsets in [`Object::text`].
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The key, decoded.
    pub key: Cow<'a, str>,
    /// The value, raw.
    pub value: &'a str,
    /// Where the key begins.
    pub start: usize,
    /// Where the value ends.
    pub end: usize,
    /// Just behind the comma that follows; [`Self::end`] for the last member.
    pub next: usize,
}

/// A view of one JSON object: its top-level members, in their order, keys that
/// repeat included. Values are checked to be JSON and not decoded.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    text: &'a str,
    open: usize,
    end: usize,
    members: Vec<Member<'a>>,
}

impl<'a> Object<'a> {
    /// Reads the object that `text` begins with, leading blanks aside. What
    /// follows it is [`Self::rest`].
    pub fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let open = skip_blanks(text, 0);
        if text.as_bytes().get(open) != Some(&b'{') {
            return Err(serde::de::Error::custom("expected an object"));
        }
        let mut members = Vec::with_capacity(8);
        let mut at = skip_blanks(text, open + 1);
        if text.as_bytes().get(at) == Some(&b'}') {
            return Ok(Self {
                text,
                open,
                end: at + 1,
                members,
            });
        }
        loop {
            let key = value_at(text, at)?;
            let decoded = json::text(key).ok_or_else(|| unexpected("a key", at))?;
            let colon = skip_blanks(text, at_end_of(text, key));
            expect(text, colon, b':', "`:`")?;
            let value = value_at(text, colon + 1)?;
            let end = at_end_of(text, value);
            let stop = skip_blanks(text, end);
            let last = text.as_bytes().get(stop) == Some(&b'}');
            let next = if last { end } else { stop + 1 };
            members.push(Member {
                key: decoded,
                value,
                start: json::offset_in(text, key),
                end,
                next,
            });
            if last {
                return Ok(Self {
                    text,
                    open,
                    end: stop + 1,
                    members,
                });
            }
            expect(text, stop, b',', "`,` or `}`")?;
            at = skip_blanks(text, next);
        }
    }

    /// The whole text it was read from.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Offset just behind the opening brace.
    pub fn inside(&self) -> usize {
        self.open + 1
    }

    /// What follows the closing brace.
    pub fn rest(&self) -> &'a str {
        &self.text[self.end..]
    }

    /// All members in their order.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The raw value of `key`; of keys that repeat the last, as JSON readers do.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.members
            .iter()
            .rev()
            .find(|member| member.key == key)
            .map(|member| member.value)
    }

    /// Where a slice of the text, such as a raw value, stands in it.
    pub fn place_of(&self, part: &str) -> Range<usize> {
        let start = json::offset_in(self.text, part);
        start..start + part.len()
    }

    /// The value of `key` as text, when it is a string.
    pub fn text_of(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(json::text)
    }

    /// The value of `key` as an object.
    pub fn object_of(&self, key: &str) -> Option<Object<'a>> {
        self.get(key).and_then(|raw| Object::parse(raw).ok())
    }

    /// The elements of the array at `key`, raw.
    pub fn elements_of(&self, key: &str) -> Option<Vec<&'a str>> {
        self.get(key).and_then(json::elements)
    }

    /// Whether `key` is there with the value `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }
}

/// The raw value that begins at `at`, leading blanks aside.
fn value_at(text: &str, at: usize) -> Result<&str, serde_json::Error> {
    let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<&RawValue>();
    match values.next() {
        Some(value) => value.map(RawValue::get),
        None => Err(unexpected("a value", at)),
    }
}

fn at_end_of(text: &str, part: &str) -> usize {
    json::offset_in(text, part) + part.len()
}

fn skip_blanks(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let blanks = bytes[at..]
        .iter()
        .take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    at + blanks.count()
}

fn expect(text: &str, at: usize, byte: u8, what: &str) -> Result<(), serde_json::Error> {
    if text.as_bytes().get(at) == Some(&byte) {
        Ok(())
    } else {
        Err(unexpected(what, at))
    }
}

fn unexpected(what: &str, at: usize) -> serde_json::Error {
    serde::de::Error::custom(format_args!("expected {what} at column {}", at + 1))
}

#[cfg(test)]
mod tests {
    use super::Object;

    #[test]
    fn members_keep_order_place_and_bytes() {
        let text = r#" { "a" : 1E2 , "b":{"c":[1]},"a":-0 }  tail"#;
        let object = Object::parse(text).expect("an object");
        let keys: Vec<_> = object.members().iter().map(|m| m.key.as_ref()).collect();
        assert_eq!(keys, ["a", "b", "a"]);
        assert_eq!(object.get("a"), Some("-0"));
        assert_eq!(object.rest(), "  tail");
        let first = &object.members()[0];
        assert_eq!(&text[first.start..first.end], r#""a" : 1E2"#);
        assert_eq!(&text[first.end..first.next], " ,");
    }

    #[test]
    fn depth_and_odd_numbers_are_no_problem() {
        let deep = format!(
            r#"{{"a":{}{},"n":1e400,"s":"\ud800"}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        let object = Object::parse(&deep).expect("an object");
        assert_eq!(object.get("n"), Some("1e400"));
        assert_eq!(object.get("a").map(str::len), Some(200_000));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for bad in [
            "",
            "7",
            "[1]",
            "{",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":1",
            "{\"a\":1,",
            "{\"a\":1,}",
            "{a:1}",
            "{1:1}",
            "{\"a\" 1}",
            "{\"a\":tru}",
            "{\"a\":\"\u{1}\"}",
            "{\"a\":1 \"b\":2}",
            "{,}",
        ] {
            assert!(Object::parse(bad).is_err(), "{bad}");
        }
    }
}
