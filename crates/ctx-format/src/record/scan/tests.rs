use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{Span, elements, members, special};
use crate::Object;

/// JSON with whitespace, escapes and nesting.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        "-?(0|[1-9][0-9]?)(\\.[0-9])?([eE][+-]?[0-9])?",
        "\"([a-z{}\\[\\],:é]|\\\\\"|\\\\\\\\|\\\\n|\\\\u00e9){0,40}\"",
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let blank = "[ \n]{0,2}";
        let element = (blank, inner.clone(), blank).prop_map(|(a, b, c)| a + &b + &c);
        let member = ("\"[a-c]{0,2}(\\\\t)?\"", blank, element.clone())
            .prop_map(|(key, blank, value)| format!("{blank}{key}{blank}:{value}"));
        let some = 0..5;
        prop_oneof![
            proptest::collection::vec(element, some.clone())
                .prop_map(|all| format!("[{}]", all.join(","))),
            proptest::collection::vec(member, some)
                .prop_map(|all| format!("{{{}}}", all.join(","))),
        ]
    })
}

/// The members that the scanner finds in the object, as pairs of key and value.
fn found<const IS_CHECKED: bool>(text: &str) -> Option<Vec<(String, String)>> {
    let member = |span: Span| (text[span.key].to_owned(), text[span.value].to_owned());
    Some(members::<IS_CHECKED>(text)?.into_iter().map(member).collect())
}

/// The members that `serde_json` reads from the object. Text after the object is ignored.
fn read(text: &str) -> Option<Vec<(String, String)>> {
    struct All(Vec<(String, String)>);
    impl<'a> serde::de::Visitor<'a> for All {
        type Value = Self;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<A: serde::de::MapAccess<'a>>(mut self, mut map: A) -> Result<Self, A::Error> {
            while let Some((key, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                self.0.push((key.get().to_owned(), value.get().to_owned()));
            }
            Ok(self)
        }
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let all = serde::de::Deserializer::deserialize_map(&mut reader, All(Vec::new()));
    all.ok().map(|all| all.0)
}

proptest! {
    #[test]
    fn members_and_elements_are_those_of_a_reader(text in json()) {
        let members = read(&text);
        prop_assert_eq!(&found::<false>(&text), &members);
        prop_assert_eq!(&found::<true>(&text), &members);
        let all: Option<Vec<&RawValue>> = serde_json::from_str(&text).ok();
        let all: Option<Vec<&str>> = all.map(|all| all.into_iter().map(RawValue::get).collect());
        prop_assert_eq!(all, elements(&text));
    }

    /// A text in which one byte was added, removed or changed is JSON for the scanner if and only
    /// if it is JSON for `serde_json`.
    #[test]
    fn what_is_no_json_is_none(
        text in json(), at in any::<prop::sample::Index>(), how in 0..3,
        other in "[{}\\[\\]\",:\\\\0-9a-fnrtu.eE+ \x01é-]",
    ) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[at.index(places.len())];
        let behind = at + text[at..].chars().next().map_or(0, char::len_utf8);
        let text = match how {
            0 => format!("{}{}", &text[..at], &text[behind..]),
            1 => format!("{}{other}{}", &text[..at], &text[at..]),
            _ => format!("{}{other}{}", &text[..at], &text[behind..]),
        };
        let members = read(&text);
        prop_assert_eq!(found::<false>(&text), members.clone());
        prop_assert_eq!(Object::parse(&text).is_ok(), members.is_some());
    }

    /// Callers should not scan unchecked text as if it were checked, but doing so does no harm.
    #[test]
    fn nothing_panics(text in "[{}\\[\\]\",:a\\\\ é]{0,30}") {
        let _ = (Object::within(&text), elements(&text));
    }
}

#[test]
fn each_byte_has_its_bit() {
    let text = b"a\"b\\n \x1f\x7f\xff\n";
    let behind = u32::MAX << text.len();
    assert_eq!(special(text) & !behind, 0b10_0100_1010);
    assert_eq!(special(text) & behind, behind, "nothing goes on there");
    assert_eq!(special(&[b'\n'; 40]), u32::MAX);
}
