//! What people type where a tool asks for a snapshot or for an offloaded file.

use chrono::NaiveDate;

use crate::{OffloadedFile, SnapshotId};

/// A text that names something: a number, or the beginning of an id, a time or a hash.
///
/// What has digits only is a number. It is never the beginning of something else: who types
/// the number of a snapshot that is gone must not get another one.
#[derive(Clone, Copy)]
pub(crate) struct Query<'a> {
    text: &'a str,
    has_digits_only: bool,
}

/// How many digits of its hash name a thing: that many are no number.
const DIGITS_OF_A_HASH: usize = 12;

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            has_digits_only: !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        }
    }

    /// Whether it is the number of this snapshot.
    pub(crate) fn is_number_of(self, id: &SnapshotId) -> bool {
        self.has_digits_only && self.text.parse() == Ok(id.stamp.sequence)
    }

    /// Whether the id of this snapshot, or the time in it, begins with it. Of digits only a
    /// whole day does: `20261121`.
    pub(crate) fn begins(self, id: &SnapshotId) -> bool {
        let Self { text, .. } = self;
        if self.has_digits_only {
            return self.is_day() && id.stamp.to_string().starts_with(text);
        }
        let begins = |name: String| name.starts_with(text);
        !text.is_empty() && (begins(id.to_string()) || begins(id.stamp.to_string()))
    }

    /// Whether a hash begins with it, which must have `least` digits or more.
    pub(crate) fn begins_hash(self, hash: &str, least: usize) -> bool {
        self.text.len() >= self.least(least) && hash.starts_with(self.text)
    }

    /// Whether the name of an offloaded file begins with it.
    pub(crate) fn begins_file(self, file: &OffloadedFile) -> bool {
        self.text.len() >= self.least(1) && file.begins_with(self.text)
    }

    fn least(self, least: usize) -> usize {
        if self.has_digits_only {
            least.max(DIGITS_OF_A_HASH)
        } else {
            least
        }
    }

    fn is_day(self) -> bool {
        self.text.len() == "20261121".len()
            && NaiveDate::parse_from_str(self.text, "%Y%m%d").is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::Query;
    use crate::SnapshotId;

    #[test]
    fn a_number_begins_nothing() {
        let id = SnapshotId::parse("20-a-20261121T234307.123456Z-0007").expect("an id");
        for number in ["7", "07", "0007"] {
            assert!(Query::new(number).is_number_of(&id), "{number}");
        }
        for (text, begins) in [
            ("2", false),
            ("20", false),
            ("202611", false),
            ("20261121", true),
            ("20261122", false),
            ("20261321", false),
            ("202611212343", false),
            ("20261121T", true),
            ("20-", true),
            ("20-a-2026", true),
            ("", false),
        ] {
            assert_eq!(Query::new(text).begins(&id), begins, "{text}");
            assert!(!Query::new(text).is_number_of(&id), "{text}");
        }
        let hash = "123456789012345a";
        for (text, begins) in [
            ("123456", false),
            ("12345678901", false),
            ("123456789012", true),
            ("123456789012345a", true),
        ] {
            assert_eq!(Query::new(text).begins_hash(hash, 6), begins, "{text}");
        }
        assert!(Query::new("a12").begins_hash("a123", 1));
        assert!(!Query::new("a12").begins_hash("a123", 6));
    }
}
