//! Arguments with the beginnings of their long values: all that it takes to see which
//! secrets the names before them give away.

/// A longer string, in bytes, is cut. No more of a value is judged by its name.
const LONG: usize = 300;

/// A JSON text whose long strings are cut; `None` when there are none.
pub(super) fn of_values(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut short = String::new();
    // Up to where the text is copied.
    let (mut copied, mut at) = (0, 0);
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..]) {
        let start = at + quote + 1;
        let end = start + length_of_string(&bytes[start..])?;
        if end - start > LONG {
            let cut = boundary(text, start + LONG);
            // Half an escape would be another text, or none.
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

/// The beginning of the character at `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

/// Length of a string whose opening quote stands before `bytes`; `None` when it is not closed.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{LONG, boundary, of_values};

    #[test]
    fn long_values_are_cut_and_names_stay() {
        let long = "é\\n".repeat(LONG);
        let text = format!(r#"{{"path":"a","content":"{long}","password":"b"}}"#);
        let short = of_values(&text).expect("one is long");
        assert!(short.starts_with(r#"{"path":"a","content":"é"#), "{short}");
        assert!(short.ends_with(r#"","password":"b"}"#), "{short}");
        assert!(short.len() < LONG + 50, "{short}");
        serde_json::from_str::<serde_json::Value>(&short).expect("still JSON");
    }

    #[test]
    fn what_has_no_long_values_or_is_broken_is_left_alone() {
        let open = format!(r#"{{"a":"{}"#, "x".repeat(2 * LONG));
        for text in ["", "{}", r#"{"a":"b\"c\\"}"#, r#"{"a":"b\"#, &open] {
            assert_eq!(of_values(text), None, "{text}");
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
            let short = of_values(&text).unwrap_or_else(|| text.clone());
            // The last of a cut escape may be missing, nothing else.
            for (key, value) in &object {
                let raw = value.to_string();
                if raw.len() <= LONG + 2 {
                    prop_assert!(short.contains(&format!("\"{key}\":{raw}")), "{short}");
                } else {
                    let start = format!("\"{key}\":{raw}");
                    let start = &start[..boundary(&start, LONG - 10)];
                    prop_assert!(short.contains(start), "{short}");
                }
            }
        }
    }
}
