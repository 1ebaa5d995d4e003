//! Reads JSON from the arguments and results of tool calls.
//!
//! [`Arguments`] contains the keys and leaf values of a call's arguments. [`records`] writes a JSON
//! result as lines without quotes and braces, such as
//! `S61CZX flights: origin LAX, flight_number HAT228`. A line cut out of the JSON text would not
//! say to which object and key its values belong. For this reason, each object has its own lines,
//! and the lines of an inner object begin with the name of the outer object.

use std::borrow::Cow;

use ctx_format::{Object, elements};
use ctx_text::{first_bytes, trim};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::ledger::identifier;

/// A value that is neither an object nor a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// The key of the value, or of the list that contains it. The key is empty at the top level.
    pub(crate) key: String,
    pub(crate) value: String,
}

/// The keys and the plain values in a JSON text, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// The keys of all members. An object's own keys precede the keys of the objects in it.
    pub(crate) keys: Vec<String>,
    pub(crate) leaves: Vec<Leaf>,
}

/// The maximum nesting depth of JSON. `serde_json` rejects deeper nesting, so no text can overflow
/// the stack.
const LEVELS: usize = 127;

impl Arguments {
    /// Parses a JSON text. Returns `None` if the text is not JSON.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let raw: &RawValue = serde_json::from_str(text).ok()?;
        let mut found = Self::default();
        found.add("", raw.get(), LEVELS)?;
        Some(found)
    }

    fn add(&mut self, key: &str, raw: &str, levels: usize) -> Option<()> {
        match raw.as_bytes().first()? {
            b'{' => {
                for member in Object::within(raw)?.members() {
                    self.keys.push(member.key.to_string());
                    self.add(&member.key, member.value, levels.checked_sub(1)?)?;
                }
            }
            b'[' => {
                for item in elements(raw)? {
                    self.add(key, item, levels.checked_sub(1)?)?;
                }
            }
            _ => {
                let value = match serde_json::from_str(raw).ok()? {
                    Value::String(text) => text,
                    Value::Number(number) if number.is_f64() => number.as_f64()?.to_string(),
                    other => other.to_string(),
                };
                self.leaves.push(Leaf { key: key.to_owned(), value });
            }
        }
        Some(())
    }
}

/// The maximum length of a string, in bytes. Longer strings are cut. A secret in a cut string can
/// still be found by its name.
const LONG: usize = 300;

/// Cuts the long strings in a JSON text, so that secrets can still be found by their names. Returns
/// `None` if no string is long.
pub(crate) fn with_short_values(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut short = String::new();
    // `short` contains everything before `copied`.
    let (mut copied, mut at) = (0, 0);
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + quote + 1;
        let end = start + length_of_string(&bytes[start..])?;
        if end - start > LONG {
            let cut = first_bytes(text, start + LONG).len();
            // A cut inside an escape would change the text or break the JSON.
            short.push_str(text[copied..cut].trim_end_matches('\\'));
            copied = end;
        }
        at = end + 1;
    }
    (copied > 0).then(|| {
        short.push_str(&text[copied..]);
        short
    })
}

/// `bytes` begins after the opening quote of a string. Returns the length of the string, or `None`
/// if it is not closed.
fn length_of_string(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// The maximum nesting depth of objects that are written as lines. Deeper objects are left as JSON.
const DEEPEST: usize = 4;
/// The maximum width of a line of members, in bytes.
const WIDEST: usize = 120;
/// The maximum length of a value on a line of members, in bytes. A longer value becomes a separate
/// piece.
const LONGEST_VALUE: usize = 120;

/// A piece of a JSON result.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// Members of an object on one line. The flag is true if the line contains the name of the
    /// object.
    Members(String, bool),
    /// A long value, or a value that is not in an object.
    Text(String),
}

/// Returns the pieces of a JSON text in order, or `None` if it is neither an object nor a list of
/// objects.
pub(crate) fn records(text: &str) -> Option<Vec<Piece>> {
    let text = trim(text);
    // Most texts can be ruled out as JSON by their first and last characters.
    let is_closed = match text.as_bytes() {
        [b'{', .., b'}'] => true,
        [b'[', inside @ .., b']'] => inside.trim_ascii_start().starts_with(b"{"),
        _ => false,
    };
    let raw: &RawValue = is_closed.then(|| serde_json::from_str(text).ok())??;
    let mut found = Vec::new();
    add_value(raw.get(), &Label::default(), 0, &mut found);
    Some(found)
}

/// The label in front of the members of a JSON object. The label begins with the name of the
/// object, or of the nearest enclosing object with a name. This name is followed by the keys that
/// lead from there to the object.
#[derive(Clone, Debug, Default)]
struct Label {
    words: String,
    has_name: bool,
}

impl Label {
    fn below(&self, key: &str) -> Self {
        let blank = if self.words.is_empty() { "" } else { " " };
        Self { words: format!("{}{blank}{key}", self.words), ..*self }
    }

    fn before(&self) -> String {
        if self.words.is_empty() { String::new() } else { format!("{}: ", self.words) }
    }
}

/// Members that say how a service works, and nothing about the object.
const BOILERPLATE: [&str; 8] = [
    "node_id",
    "gravatar_id",
    "site_admin",
    "url",
    "etag",
    "user_view_type",
    "performed_via_github_app",
    "author_association",
];

fn add_value(raw: &str, label: &Label, depth: usize, found: &mut Vec<Piece>) {
    match raw.as_bytes().first() {
        Some(b'{') if depth < DEEPEST => add_object(raw, label, depth, found),
        Some(b'[') if depth < DEEPEST => {
            for item in elements(raw).unwrap_or_default() {
                add_value(item, label, depth + 1, found);
            }
        }
        _ => found.push(Piece::Text(format!("{}{}", label.before(), plain(raw)))),
    }
}

fn add_object(raw: &str, label: &Label, depth: usize, found: &mut Vec<Piece>) {
    let Some(object) = Object::within(raw) else { return };
    let (mut short, mut long) = (Vec::new(), Vec::new());
    for member in object.members() {
        match in_a_line(member.value) {
            Some(value) => short.push((member.key.as_ref(), value)),
            None => long.push(member),
        }
    }
    let own = short.iter().find(|(_, value)| is_name(value));
    let named = own.map(|(_, name)| Label { words: name.clone(), has_name: true });
    let inner = named.unwrap_or_else(|| label.clone());
    add_members(&short, label, &inner, found);
    for member in long {
        add_value(member.value, &inner.below(&member.key), depth + 1, found);
    }
}

/// Writes the short members of an object as lines. The first line begins with the outer label,
/// because the object's own name is one of its members.
fn add_members(members: &[(&str, String)], label: &Label, inner: &Label, found: &mut Vec<Piece>) {
    let is_news = |(key, value): &&(&str, String)| {
        // `cards card_17: id card_17` would repeat the id.
        let again = key.ends_with("id") && label.words.ends_with(value.as_str());
        // Services such as GitHub add addresses of their own API to each object.
        let is_link = key.ends_with("_url") || BOILERPLATE.contains(key);
        !value.is_empty() && !again && !is_link
    };
    let mut line = label.before();
    let mut start = line.len();
    let mut begin = line.len();
    for (key, value) in members.iter().filter(is_news) {
        if line.len() > begin && line.len() + key.len() + value.len() > start + WIDEST {
            let whole = std::mem::replace(&mut line, inner.before());
            found.push(Piece::Members(whole, inner.has_name));
            (start, begin) = (0, line.len());
        }
        if line.len() > begin {
            line.push_str(", ");
        }
        line.extend([*key, " ", value]);
    }
    if line.len() > begin {
        found.push(Piece::Members(line, inner.has_name));
    }
}

/// Returns the text of a value that can share a line with other values, or `None` for objects and
/// long text.
fn in_a_line(raw: &str) -> Option<String> {
    match raw.as_bytes().first()? {
        b'{' => (raw.len() == 2).then(String::new),
        b'[' => {
            let items: Option<Vec<String>> = elements(raw)?.into_iter().map(scalar).collect();
            let joined = items?.join(" ");
            (joined.len() <= LONGEST_VALUE).then_some(joined)
        }
        _ => scalar(raw).filter(|value| value.len() <= LONGEST_VALUE && !value.contains('\n')),
    }
}

/// Returns the text of a number, a boolean or a string. A string with a comma keeps its quotes.
fn scalar(raw: &str) -> Option<String> {
    match raw.as_bytes().first()? {
        b'{' | b'[' => None,
        b'"' if raw.contains(", ") => Some(raw.to_owned()),
        _ => Some(plain(raw).into_owned()),
    }
}

/// Returns a JSON string without its quotes, or any other JSON value unchanged.
fn plain(raw: &str) -> Cow<'_, str> {
    let Some(string) = raw.strip_prefix('"') else { return raw.into() };
    let is_plain = |string: &&str| string.bytes().all(|b| b >= b' ' && b != b'"' && b != b'\\');
    if let Some(string) = string.strip_suffix('"').filter(is_plain) {
        return string.into();
    }
    serde_json::from_str::<String>(raw).map_or(Cow::Borrowed(raw), Cow::Owned)
}

/// Returns true if `value` is a single identifier, which can name its object.
fn is_name(value: &str) -> bool {
    let mut is_whole = false;
    identifier::scan(value, |place, _| {
        is_whole |= place == (0..value.len()) && value.contains(|c: char| c.is_ascii_alphabetic());
    });
    is_whole
}

#[cfg(test)]
mod tests {
    use ctx_testkit::assert_linear;
    use ctx_text::first_bytes;
    use proptest::prelude::*;

    use super::{Arguments, LONG, Piece, WIDEST, records, with_short_values};
    use crate::ledger::fixtures::leaves;

    #[test]
    fn leaves_come_in_the_order_of_the_text() {
        let found = leaves(r#"{"z":"1","a":{"n":2.5,"l":["x",true,null]}}"#).expect("JSON");
        let found: Vec<_> =
            found.iter().map(|leaf| (leaf.key.as_str(), leaf.value.as_str())).collect();
        assert_eq!(found, [("z", "1"), ("n", "2.5"), ("l", "x"), ("l", "true"), ("l", "null")]);
        assert_eq!(leaves("ls -l"), None);
        assert_eq!(leaves("{"), None);
        assert_eq!(leaves("{} {}"), None);
    }

    #[test]
    fn keys_come_outer_before_inner() {
        let found = Arguments::parse(r#"{"z":{"a":1,"b":[{"c":2}]},"y":[]}"#).expect("JSON");
        assert_eq!(found.keys, ["z", "a", "b", "c", "y"]);
        assert_eq!(Arguments::parse("7").expect("JSON").keys, [""; 0]);
    }

    #[test]
    fn long_values_are_cut_and_names_stay() {
        let long = "é\\n".repeat(LONG);
        let text = format!(r#"{{"path":"a","content":"{long}","password":"b"}}"#);
        let short = with_short_values(&text).expect("one is long");
        assert!(short.starts_with(r#"{"path":"a","content":"é"#), "{short}");
        assert!(short.ends_with(r#"","password":"b"}"#), "{short}");
        assert!(short.len() < LONG + 50, "{short}");
        serde_json::from_str::<serde_json::Value>(&short).expect("still JSON");
    }

    #[test]
    fn what_has_no_long_values_or_is_broken_is_left_alone() {
        let open = format!(r#"{{"a":"{}"#, "x".repeat(2 * LONG));
        for text in ["", "{}", r#"{"a":"b\"c\\"}"#, r#"{"a":"b\"#, &open] {
            assert_eq!(with_short_values(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn names_and_short_values_are_the_same(
            keys in proptest::collection::vec("[a-z]{1,5}", 1..6),
            values in proptest::collection::vec("(\\PC|\n|\"|\\\\){0,400}", 6),
        ) {
            let pairs = keys.iter().zip(&values);
            let object: serde_json::Map<_, _> =
                pairs.map(|(key, value)| (key.clone(), value.as_str().into())).collect();
            let text = serde_json::to_string(&object).expect("JSON");
            let short = with_short_values(&text).unwrap_or_else(|| text.clone());
            // Only the last character of a value may be missing, if its escape was cut.
            for (key, value) in &object {
                let raw = value.to_string();
                if raw.len() <= LONG + 2 {
                    prop_assert!(short.contains(&format!("\"{key}\":{raw}")), "{short}");
                } else {
                    let start = format!("\"{key}\":{raw}");
                    let start = first_bytes(&start, LONG - 10);
                    prop_assert!(short.contains(start), "{short}");
                }
            }
        }
    }

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
            [r#"a "x, y""#.to_owned(), format!("b: {long}"), "c: one\ntwo".to_owned()]
        );
    }

    #[test]
    fn many_members_stand_in_several_lines() {
        let members: Vec<String> = (0..30).map(|n| format!(r#""key_{n}": {n}"#)).collect();
        let text = format!(r#"{{"id": "A1717", {}}}"#, members.join(", "));
        let lines = lines(&text);
        assert!(lines.len() > 2);
        assert!(lines[1..].iter().all(|line| line.starts_with("A1717: key_")));
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
