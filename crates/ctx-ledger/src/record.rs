//! Records: what a JSON text holds, in lines that say without quotes and braces what each
//! value is, `S61CZX flights: origin LAX, flight_number HAT228, price 131`.
//!
//! A line cut out of the middle of a JSON text says neither whose value it has nor under
//! which key; so an object's own members stand in lines of their own, and each object inside
//! it in others, which begin with what the outer one is called.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::identifier;

/// So deep objects are told apart; what is deeper is told as it stands.
const DEEPEST: usize = 4;
/// No line of members goes on behind so many bytes.
const WIDEST: usize = 120;
/// A longer value, in bytes, is a text by itself.
const LONGEST_VALUE: usize = 120;

/// A piece of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Members of an object; whether the line says whose they are.
    Members(String, bool),
    /// A long value, or what is no object.
    Text(String),
}

/// The pieces of a JSON text, in order; `None` when it is no object, and no list with one.
pub(crate) fn records(text: &str) -> Option<Vec<Piece>> {
    let text = text.trim();
    // Most texts are no JSON: that is seen without reading them.
    let is_closed = match text.as_bytes() {
        [b'{', .., b'}'] => true,
        [b'[', inside @ .., b']'] => inside.trim_ascii_start().starts_with(b"{"),
        _ => false,
    };
    let raw: &RawValue = is_closed.then(|| serde_json::from_str(text).ok())??;
    let mut writer = Writer::default();
    writer.value(raw, &Label::default(), 0);
    Some(writer.found)
}

/// What stands before the members of an object.
#[derive(Clone, Debug, Default)]
struct Label {
    /// What the object is called, or the one that it stands in.
    name: String,
    /// The keys that lead to it from there.
    keys: String,
}

impl Label {
    fn below(&self, key: &str) -> Self {
        let keys = match self.keys.as_str() {
            "" => key.to_owned(),
            keys => format!("{keys} {key}"),
        };
        Self {
            name: self.name.clone(),
            keys,
        }
    }

    /// As it stands before members, if there is anything to say.
    fn before(&self) -> String {
        match (self.name.as_str(), self.keys.as_str()) {
            ("", "") => String::new(),
            ("", one) | (one, "") => format!("{one}: "),
            (name, keys) => format!("{name} {keys}: "),
        }
    }
}

#[derive(Default)]
struct Writer {
    found: Vec<Piece>,
}

impl Writer {
    fn value(&mut self, raw: &RawValue, label: &Label, depth: usize) {
        match raw.get().as_bytes().first() {
            Some(b'{') if depth < DEEPEST => self.object(raw, label, depth),
            Some(b'[') if depth < DEEPEST => {
                let items: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
                for item in items {
                    self.value(item, label, depth + 1);
                }
            }
            _ => {
                let text = format!("{}{}", label.before(), plain(raw));
                self.found.push(Piece::Text(text));
            }
        }
    }

    fn object(&mut self, raw: &RawValue, label: &Label, depth: usize) {
        let Ok(Members(members)) = serde_json::from_str(raw.get()) else {
            return;
        };
        let short: Vec<(&str, String)> = members
            .iter()
            .filter_map(|(key, value)| Some((key.as_ref(), in_a_line(value)?)))
            .collect();
        let own = short.iter().find(|(_, value)| is_name(value));
        let inner = own.map_or_else(
            || label.clone(),
            |(_, name)| Label {
                name: name.clone(),
                keys: String::new(),
            },
        );
        self.members(&short, label, &inner);
        for (key, value) in &members {
            if in_a_line(value).is_none() {
                self.value(value, &inner.below(key), depth + 1);
            }
        }
    }

    /// Lines of short members; the first one has the object's own name among them.
    fn members(&mut self, members: &[(&str, String)], label: &Label, inner: &Label) {
        let is_told = |(key, value): &&(&str, String)| {
            // `cards card_17: id card_17` says it twice.
            let again = key.ends_with("id") && label.keys.ends_with(value.as_str());
            !value.is_empty() && !again
        };
        let mut line = label.before();
        let mut start = line.len();
        let mut begin = line.len();
        for (key, value) in members.iter().filter(is_told) {
            if line.len() > begin && line.len() + key.len() + value.len() > start + WIDEST {
                let whole = std::mem::replace(&mut line, inner.before());
                self.found
                    .push(Piece::Members(whole, !inner.name.is_empty()));
                (start, begin) = (0, line.len());
            }
            if line.len() > begin {
                line.push_str(", ");
            }
            line.push_str(key);
            line.push(' ');
            line.push_str(value);
        }
        if line.len() > begin {
            self.found
                .push(Piece::Members(line, !inner.name.is_empty()));
        }
    }
}

/// A value that stands in a line with others: no object, no long text.
fn in_a_line(raw: &RawValue) -> Option<String> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'{' => (text.len() == 2).then(String::new),
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items: Option<Vec<String>> = items.into_iter().map(scalar).collect();
            let joined = items?.join(" ");
            (joined.len() <= LONGEST_VALUE).then_some(joined)
        }
        _ => scalar(raw).filter(|value| value.len() <= LONGEST_VALUE && !value.contains('\n')),
    }
}

/// A number, a truth, or a string; one with a comma in it keeps its quotation marks.
fn scalar(raw: &RawValue) -> Option<String> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'{' | b'[' => None,
        b'"' if text.contains(", ") => Some(text.to_owned()),
        _ => Some(plain(raw).into_owned()),
    }
}

/// A string without its quotation marks; anything else as it stands.
fn plain(raw: &RawValue) -> Cow<'_, str> {
    match serde_json::from_str::<String>(raw.get()) {
        Ok(value) => Cow::Owned(value),
        Err(_) => Cow::Borrowed(raw.get()),
    }
}

/// Whether a value is what the object is called: one identifier.
fn is_name(value: &str) -> bool {
    let mut is_whole = false;
    identifier::scan(value, |place, _| {
        is_whole |= place == (0..value.len()) && value.contains(|c: char| c.is_ascii_alphabetic());
    });
    is_whole
}

/// The members of an object, in their order.
struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((key, value)) = map.next_entry::<Cow<'de, str>, &'de RawValue>()? {
            members.push((key, value));
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use proptest::prelude::*;

    use super::{Piece, WIDEST, records};

    fn lines(text: &str) -> Vec<String> {
        let pieces = records(text).expect("records").into_iter();
        pieces
            .map(|piece| match piece {
                Piece::Members(line, _) | Piece::Text(line) => line,
            })
            .collect()
    }

    #[test]
    fn members_stand_in_lines_and_say_whose_they_are() {
        let text = r#"{"id": "S61CZX", "cabin": "economy", "flights": [{"origin": "LAX", "price": 131},
            {"origin": "EWR", "price": 1.50}], "bags": {}, "seats": ["1A", "1B"], "paid": {"by": "card_17", "amount": 667}}"#;
        assert_eq!(
            lines(text),
            [
                "id S61CZX, cabin economy, seats 1A 1B",
                "S61CZX flights: origin LAX, price 131",
                "S61CZX flights: origin EWR, price 1.50",
                "S61CZX paid: by card_17, amount 667",
            ]
        );
    }

    #[test]
    fn what_has_no_name_has_its_keys_before_it() {
        assert_eq!(
            lines(
                r#"{"name": {"first": "Ann"}, "cards": {"card_17": {"amount": 3, "id": "card_17"}}}"#
            ),
            ["name: first Ann", "cards card_17: amount 3"]
        );
        let named = r#"[{"id": "A1717", "x": {"y": 1}}, {"x": 2}]"#;
        assert_eq!(
            records(named),
            Some(vec![
                Piece::Members("id A1717".to_owned(), true),
                Piece::Members("A1717 x: y 1".to_owned(), true),
                Piece::Members("x 2".to_owned(), false),
            ])
        );
    }

    #[test]
    fn a_value_with_a_comma_keeps_its_marks_and_a_long_one_is_a_text() {
        let long = "word ".repeat(40);
        let text = format!(r#"{{"a": "x, y", "b": "{long}", "c": "one\ntwo"}}"#);
        assert_eq!(
            lines(&text),
            [
                r#"a "x, y""#.to_owned(),
                format!("b: {long}"),
                "c: one\ntwo".to_owned()
            ]
        );
    }

    #[test]
    fn many_members_stand_in_several_lines() {
        let members: Vec<String> = (0..30).map(|n| format!(r#""key_{n}": {n}"#)).collect();
        let text = format!(r#"{{"id": "A1717", {}}}"#, members.join(", "));
        let lines = lines(&text);
        assert!(lines.len() > 2);
        assert!(
            lines[1..]
                .iter()
                .all(|line| line.starts_with("A1717: key_"))
        );
    }

    #[test]
    fn what_is_deep_stands_as_it_is() {
        let text = r#"{"a":{"b":{"c":{"d":{"e":1}}}}}"#;
        assert_eq!(lines(text), [r#"a b c d: {"e":1}"#]);
    }

    #[test]
    fn other_texts_are_no_records() {
        for text in ["", "{", "{}x", "[1, 2]", "[]", "{a}", "text", "\"a\"", "7"] {
            assert_eq!(records(text), None, "{text}");
        }
        assert_eq!(records("{}"), Some(Vec::new()));
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        for piece in ["[", "{\"a\":", "[{\"a\":1},", "{\"a\":[1,2]}"] {
            assert_linear(piece, |text| {
                let closed = format!("[{{\"a\":0}},{}]", text.trim_end_matches(','));
                assert!(records(&closed).is_none_or(|found| found.len() <= text.len() + 1));
            });
        }
    }

    proptest! {
        #[test]
        fn nothing_is_invented(members in prop::collection::vec(("[a-z_]{1,9}", "[A-Za-z0-9 ,.]{0,30}"), 0..12)) {
            let text: serde_json::Map<_, _> = members
                .into_iter()
                .map(|(key, value)| (key, serde_json::Value::from(value)))
                .collect();
            let text = serde_json::Value::from(text).to_string();
            for line in lines(&text) {
                prop_assert!(line.len() <= WIDEST + 60);
                prop_assert!(line.split([' ', ':', ',', '"']).all(|word| text.contains(word)));
            }
        }
    }
}
