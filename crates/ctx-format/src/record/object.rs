//! JSON objects, with their members and the byte ranges of the members.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

use chrono::{DateTime, Utc};

use crate::scan::{self, Span};
use crate::{Portion, json};

/// The error for a text that does not begin with a JSON object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotObject;

/// One member of an object.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    /// The decoded key.
    pub key: Cow<'a, str>,
    /// The value as raw JSON.
    pub value: &'a str,
    /// The byte range in [`Object::text`] from the key to the end of the value.
    pub place: Range<usize>,
    /// The ranges and members of the value, or of each element if the value is an array. Byte
    /// ranges and members are cached on first use, because a dialect reads the message in a line
    /// and the calls in a reply several times.
    inside: OnceLock<Vec<Inner>>,
}

/// The range of a value within a member's value and, if the value is an object, its members.
type Inner = (Range<usize>, Option<Vec<Span>>);

impl<'a> Member<'a> {
    fn at(text: &'a str, span: &Span) -> Option<Self> {
        let key = json::text(text.get(span.key.clone())?)?;
        let value = text.get(span.value.clone())?;
        let place = span.key.start..span.value.end;
        Some(Self { key, value, place, inside: OnceLock::new() })
    }

    /// Returns the value, or the elements of an array, as objects, with `None` for anything that is
    /// not an object.
    fn objects(&self) -> impl Iterator<Item = Option<Object<'a>>> {
        let inner = |raw| (json::place_in(self.value, raw), scan::members::<true>(raw));
        let inside = self.inside.get_or_init(|| {
            let values = scan::elements(self.value).unwrap_or_else(|| vec![self.value]);
            values.into_iter().map(inner).collect()
        });
        let object =
            |(place, spans): &Inner| Object::of(self.value.get(place.clone())?, spans.as_deref()?);
        inside.iter().map(object)
    }
}

/// A view of a JSON object, which lists its top-level members in order, including repeated keys.
/// All values are checked to be valid JSON, but they are not decoded.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    text: &'a str,
    members: Vec<Member<'a>>,
    /// The object's messages that are in the context; `None` if all messages are in the context.
    /// Dialects read only messages in the context.
    pub(crate) portion: Option<Portion>,
}

impl<'a> Object<'a> {
    /// Parses the object at the beginning of `text`, ignoring whitespace before it. [`Self::rest`]
    /// is the text after the object.
    pub fn parse(text: &'a str) -> Result<Self, NotObject> {
        let members = scan::members::<false>(text).ok_or(NotObject)?;
        Self::of(text, &members).ok_or(NotObject)
    }

    /// Returns a copy in which dialects see only the messages in `portion`.
    #[must_use]
    pub fn only(&self, portion: Portion) -> Self {
        Self { portion: Some(portion), ..self.clone() }
    }

    /// Returns a copy in which dialects see all messages, including those outside the context.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self { portion: None, ..self.clone() }
    }

    /// Reads an object within a parsed object, without checking its JSON again; `None` if the value
    /// is not an object.
    pub fn within(raw: &'a str) -> Option<Self> {
        Self::of(raw, &scan::members::<true>(raw)?)
    }

    fn of(text: &'a str, spans: &[Span]) -> Option<Self> {
        // The members are pushed in a loop, because an iterator would not know their number in
        // advance.
        let mut members = Vec::with_capacity(spans.len());
        for span in spans {
            members.push(Member::at(text, span)?);
        }
        Some(Self { text, members, portion: None })
    }

    /// The text that the object was parsed from.
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The byte offset directly after the opening brace.
    pub fn inside(&self) -> usize {
        self.text.find('{').map_or(0, |brace| brace + 1)
    }

    /// The text after the closing brace.
    pub fn rest(&self) -> &'a str {
        let last = self.members.last();
        let behind = &self.text[last.map_or(0, |last| last.place.end)..];
        behind.split_once('}').map_or("", |(_, rest)| rest)
    }

    /// All members, in source order.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// Returns the raw value of `key`. If the key is repeated, the last value counts, as in other
    /// JSON readers.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        self.member(key).map(|member| member.value)
    }

    fn member(&self, key: &str) -> Option<&Member<'a>> {
        let mut members = self.members.iter().rev();
        members.find(|member| member.key == key)
    }

    /// Returns the byte range of `part`, which must be a slice of the text, such as a raw value.
    pub fn place_of(&self, part: &str) -> Range<usize> {
        json::place_in(self.text, part)
    }

    /// Returns the decoded value of `key`; `None` if the value is not a string.
    pub fn text_of(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(json::text)
    }

    /// Returns the id of a call as a string, even if it is a number.
    pub(crate) fn id_of(&self, key: &str) -> Option<Cow<'a, str>> {
        let raw = self.get(key)?;
        json::text(raw).or_else(|| raw.parse::<f64>().ok().map(|_| Cow::Borrowed(raw)))
    }

    /// The time in the member `timestamp`, or in the member `time` as milliseconds since 1970, as
    /// agents write it, or, in opencode's messages, the time in the member `info`.
    pub fn time(&self) -> Option<DateTime<Utc>> {
        if let Some(time) = self.text_of("timestamp") {
            return Some(DateTime::parse_from_rfc3339(&time).ok()?.to_utc());
        }
        let created = || self.object_of("info")?.object_of("time")?.get("created");
        DateTime::from_timestamp_millis(self.get("time").or_else(created)?.parse().ok()?)
    }

    /// Returns the value of `key` as an object; `None` if the value is not an object.
    pub fn object_of(&self, key: &str) -> Option<Object<'a>> {
        let member = self.member(key).filter(|member| member.value.starts_with('{'))?;
        member.objects().next()?
    }

    /// Returns the elements of the array at `key` as objects, with `None` for each element that is
    /// not an object; `None` if the value is not an array.
    pub(crate) fn objects_of(&self, key: &str) -> Option<impl Iterator<Item = Option<Object<'a>>>> {
        let member = self.member(key).filter(|member| member.value.starts_with('['))?;
        Some(member.objects())
    }

    /// Returns the elements of the array at `key` as raw JSON.
    pub fn elements_of(&self, key: &str) -> Option<Vec<&'a str>> {
        self.get(key).and_then(scan::elements)
    }

    /// Returns true if the value of `key` is `true`.
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
    fn a_time_is_a_text_or_a_number_of_milliseconds() {
        let time = |text| Object::parse(text).expect("an object").time().map(|it| it.to_rfc3339());
        let same = Some("2026-01-02T03:04:05.060+00:00".to_owned());
        assert_eq!(time(r#"{"timestamp":"2026-01-02T04:04:05.060+01:00","time":1}"#), same);
        assert_eq!(time(r#"{"time":1767323045060}"#), same);
        for none in [r#"{"timestamp":"t","time":1}"#, r#"{"time":"1"}"#, r#"{"time":1e99}"#] {
            assert_eq!(time(none), None, "{none}");
        }
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
