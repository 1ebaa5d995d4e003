//! Recovers what can be read of a damaged line.

use crate::{Class, Object, Record};

use super::What;

/// The lines that take the place of a damaged one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvage {
    /// Without line ends. Text that is not an object is the rest, which is not read.
    pub lines: Vec<String>,
    /// The repairs.
    pub done: Vec<What>,
}

/// At how many positions an object is searched after a torn one.
const PLACES: usize = 200;

impl Salvage {
    /// `None` for a line that is whole, or of which nothing can be read.
    pub fn of(record: &Record<'_>) -> Option<Self> {
        let is_damaged = matches!(
            record.class,
            Class::Concatenated | Class::Broken | Class::Nul | Class::NotUtf8 | Class::Tail
        );
        if !is_damaged {
            return None;
        }
        let is_tail = record.class == Class::Tail;
        let mut salvage = Self::default();
        let bytes = record.bytes.get(record.skipped..).unwrap_or_default();
        let bytes: Vec<u8> = bytes.iter().copied().filter(|byte| *byte != 0).collect();
        if bytes.len() + record.skipped < record.bytes.len() {
            salvage.done.push(What::RemoveNuls);
        }
        let text = String::from_utf8_lossy(&bytes);
        if matches!(text, std::borrow::Cow::Owned(_)) {
            salvage.done.push(What::ReplaceBytes);
        }
        let text = text.trim_ascii();
        let (before, rest) = objects(text);
        let (behind, torn) = behind_torn(rest);
        if before.is_empty() && behind.is_empty() && !text.is_empty() && !is_tail {
            return None;
        }
        // At the end of the file what is torn was never whole.
        let is_cut = is_tail && behind.is_empty() && !torn.is_empty();
        if is_cut && before.is_empty() {
            // Other repairs of it no longer matter.
            salvage.done = vec![What::Cut];
        } else if is_cut {
            salvage.done.push(What::Cut);
        }
        let torn = Some(torn).filter(|torn| !torn.is_empty() && !is_cut);
        let lines = before.into_iter().chain(torn).chain(behind);
        salvage.lines = lines.map(ToOwned::to_owned).collect();
        if salvage.lines.len() > 1 {
            let into = salvage.lines.len();
            salvage.done.push(What::Split { into });
        }
        Some(salvage)
    }
}

/// The objects that `text` begins with, and the rest.
fn objects(text: &str) -> (Vec<&str>, &str) {
    let mut found = Vec::new();
    let mut rest = text.trim_ascii();
    while let Ok(object) = Object::parse(rest) {
        let behind = object.rest();
        found.push(rest[..rest.len() - behind.len()].trim_ascii_end());
        rest = behind.trim_ascii();
    }
    (found, rest)
}

/// The objects at the end of `text`, and the torn one before them, if there is any.
fn behind_torn(text: &str) -> (Vec<&str>, &str) {
    // Where a value is expected it may belong to the torn object.
    let is_value = |at: usize| text[..at].trim_ascii_end().ends_with([':', ',', '[']);
    let places = memchr::memmem::find_iter(text.as_bytes(), b"{\"");
    let places = places.filter(|at| *at > 0 && !is_value(*at));
    for at in places.take(PLACES) {
        let (found, rest) = objects(&text[at..]);
        if !found.is_empty() && rest.is_empty() {
            return (found, &text[..at]);
        }
    }
    (Vec::new(), text)
}

#[cfg(test)]
mod tests {
    use super::Salvage;
    use crate::Origin;
    use crate::repair::What;

    fn of(bytes: &[u8]) -> Option<(Vec<String>, Vec<What>)> {
        let salvage = Salvage::of(&Origin::ALONE.record(bytes))?;
        Some((salvage.lines, salvage.done))
    }

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn what_can_be_read_is_a_line_of_its_own() {
        let split = |into| What::Split { into };
        let cases: [(&[u8], &[&str], Vec<What>); 11] = [
            (b"{\"a\":1}x{\"b\":2}\n", &[r#"{"a":1}"#, "x", r#"{"b":2}"#], vec![split(3)]),
            (b"{\"a\":1}{\"b\":2}\n", &[r#"{"a":1}"#, r#"{"b":2}"#], vec![split(2)]),
            (b"{\"a\":1} {\"b\n", &[r#"{"a":1}"#, r#"{"b"#], vec![split(2)]),
            (b"{\"a\":1}xyz\n", &[r#"{"a":1}"#, "xyz"], vec![split(2)]),
            (b"{\"a\":\"x{\"b\":2}\n", &[r#"{"a":"x"#, r#"{"b":2}"#], vec![split(2)]),
            (b"\0\0{\"a\":1}\n", &[r#"{"a":1}"#], vec![What::RemoveNuls]),
            (b"{\"a\"\0:1}\n", &[r#"{"a":1}"#], vec![What::RemoveNuls]),
            (b"\0\0\n", &[], vec![What::RemoveNuls]),
            (b"{\"a\":\"\xff\"}\n", &["{\"a\":\"\u{fffd}\"}"], vec![What::ReplaceBytes]),
            (b"{\"a\":1}{\"b", &[r#"{"a":1}"#], vec![What::Cut]),
            (b"{\"a\":", &[], vec![What::Cut]),
        ];
        for (bytes, expected, done) in cases {
            let found = of(bytes);
            assert_eq!(found, Some((lines(expected), done)), "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn what_is_whole_or_nothing_stays() {
        let stays: [&[u8]; 5] =
            [b"{\"a\":1}\n", b"\n", b"[1]\n", b"garbage\n", b"{\"a\":{\"b\":1}\n"];
        for bytes in stays {
            assert_eq!(of(bytes), None, "{}", bytes.escape_ascii());
        }
    }

    /// A line of nothing but openings costs no more than its length, a few times.
    #[test]
    fn a_long_torn_line_is_given_up() {
        let text = "{\"a\":".repeat(200_000) + "\n";
        assert_eq!(of(text.as_bytes()), None);
    }
}
