//! What people type where a tool asks for a snapshot or for an offloaded file.

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

/// What stands before a hash, and has to where it has digits only.
const HASH: &str = "sha256:";

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            has_digits_only: !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        }
    }

    /// The number of a snapshot, where it can be nothing else.
    pub(crate) fn number(self) -> Option<u64> {
        // One that is too large is the number of none.
        self.has_digits_only
            .then(|| self.text.parse().unwrap_or(u64::MAX))
    }

    /// Whether it is the number of this snapshot.
    pub(crate) fn is_number_of(self, id: &SnapshotId) -> bool {
        self.number() == Some(id.stamp.sequence)
    }

    /// Whether the id of this snapshot, or the time in it, begins with it.
    pub(crate) fn begins(self, id: &SnapshotId) -> bool {
        let Self { text, .. } = self;
        let begins = |name: String| name.starts_with(text);
        let may_begin = !text.is_empty() && !self.has_digits_only;
        may_begin && (begins(id.to_string()) || begins(id.stamp.to_string()))
    }

    /// Whether a hash begins with it, which must have `least` digits or more.
    pub(crate) fn begins_hash(self, hash: &str, least: usize) -> bool {
        self.hash()
            .is_some_and(|digits| digits.len() >= least && hash.starts_with(digits))
    }

    /// Whether the name of an offloaded file begins with it.
    pub(crate) fn begins_file(self, file: &OffloadedFile) -> bool {
        self.hash()
            .is_some_and(|digits| !digits.is_empty() && file.begins_with(digits))
    }

    /// The digits of a hash.
    fn hash(self) -> Option<&'a str> {
        let named = self.text.strip_prefix(HASH);
        named.or_else(|| (!self.has_digits_only).then_some(self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::Query;
    use crate::SnapshotId;

    /// 15 C1: digits alone are a number, also where they would be a whole day or a hash.
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
            ("20261121", false),
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
            ("123456789012", false),
            ("123456789012345a", true),
            ("sha256:123456", true),
            ("sha256:12345", false),
            ("sha256:", false),
        ] {
            assert_eq!(Query::new(text).begins_hash(hash, 6), begins, "{text}");
        }
        assert!(Query::new("a12").begins_hash("a123", 1));
        assert!(!Query::new("a12").begins_hash("a123", 6));
        let too_large = "99999999999999999999999";
        assert_eq!(Query::new(too_large).number(), Some(u64::MAX));
    }
}
