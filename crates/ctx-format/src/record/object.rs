//! The members of one JSON object, with their places.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use crate::scan::{self, Span};
use crate::{Portion, json};

/// A text does not begin with a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotObject;

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The key, decoded.
    pub key: Cow<'a, str>,
    /// The value, raw.
    pub value: &'a str,
    /// The range of key and value in [`Object::text`].
    pub place: Range<usize>,
    /// The members of the value, once it was used as an object: each question to a dialect is about
    /// the message in a line of a log.
    inside: OnceLock<Option<Vec<Span>>>,
}

impl<'a> Member<'a> {
    fn at(text: &'a str, span: &Span) -> Option<Self> {
        let key = json::text(text.get(span.key.clone())?)?;
        let value = text.get(span.value.clone())?;
        let place = span.key.start..span.value.end;
        Some(Self { key, value, place, inside: OnceLock::new() })
    }

    /// The members of the value.
    fn spans(&self) -> Option<&[Span]> {
        let read = || {
            let mut spans = Vec::with_capacity(8);
            scan::each_member::<true>(self.value, |span| {
                spans.push(span);
                Some(())
            })?;
            Some(spans)
        };
        self.inside.get_or_init(read).as_deref()
    }
}

/// A view of one JSON object: its top-level members, in their order, keys that
/// repeat included. Values are checked to be JSON and not decoded.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    text: &'a str,
    members: Vec<Member<'a>>,
    /// For a list of messages: which of them are in the context, if not all. A dialect reads no
    /// other.
    pub(crate) portion: Option<Portion>,
}

impl<'a> Object<'a> {
    /// Reads the object that `text` begins with, leading blanks aside. What
    /// follows it is [`Self::rest`].
    pub fn parse(text: &'a str) -> Result<Self, NotObject> {
        Self::read::<false>(text).ok_or(NotObject)
    }

    /// The same, of whose messages only some are read.
    #[must_use]
    pub fn only(&self, portion: Portion) -> Self {
        Self { portion: Some(portion), ..self.clone() }
    }

    /// The same with all of its messages, in the context or not.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { portion: None, ..self.clone() }
    }

    /// Reads an object that is a value within one that was read, so that it need not be checked
    /// again; `None` when the value is no object.
    pub fn within(raw: &'a str) -> Option<Self> {
        Self::read::<true>(raw)
    }

    fn read<const IS_CHECKED: bool>(text: &'a str) -> Option<Self> {
        let mut members = Vec::with_capacity(if IS_CHECKED { 8 } else { 16 });
        scan::each_member::<IS_CHECKED>(text, |span| {
            members.push(Member::at(text, &span)?);
            Some(())
        })?;
        Some(Self { text, members, portion: None })
    }

    /// The whole text it was read from.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// Offset directly after the opening brace; only blanks precede that.
    pub fn inside(&self) -> usize {
        self.text.find('{').map_or(0, |brace| brace + 1)
    }

    /// What follows the closing brace; only blanks are between the last value and that.
    pub fn rest(&self) -> &'a str {
        let last = self.members.last();
        let behind = &self.text[last.map_or(0, |last| last.place.end)..];
        behind.split_once('}').map_or("", |(_, rest)| rest)
    }

    /// All members in their order.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The raw value of `key`; of keys that repeat the last, as JSON readers do.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.member(key).map(|member| member.value)
    }

    fn member(&self, key: &str) -> Option<&Member<'a>> {
        let mut members = self.members.iter().rev();
        members.find(|member| member.key == key)
    }

    /// The range of a slice of the text, such as a raw value.
    pub fn place_of(&self, part: &str) -> Range<usize> {
        json::place_in(self.text, part)
    }

    /// The value of `key` as text, when it is a string.
    pub fn text_of(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(json::text)
    }

    /// The value of `key` as an object.
    pub fn object_of(&self, key: &str) -> Option<Object<'a>> {
        let member = self.member(key)?;
        let (text, spans) = (member.value, member.spans()?);
        // Not collected, because their number is not known in advance.
        let mut members = Vec::with_capacity(spans.len());
        for span in spans {
            members.push(Member::at(text, span)?);
        }
        Some(Self { text, members, portion: None })
    }

    /// The elements of the array at `key`, raw.
    pub fn elements_of(&self, key: &str) -> Option<Vec<&'a str>> {
        self.get(key).and_then(scan::elements)
    }

    /// Whether `key` is there with the value `true`.
    pub fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some("true")
    }
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
        assert_eq!(&text[..object.inside()], " {");
        let first = &object.members()[0];
        assert_eq!(&text[first.place.clone()], r#""a" : 1E2"#);
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
