//! Names of snapshots: `{sessionId}-{time}-{sequence}`.

use std::fmt;

use chrono::{DateTime, NaiveDateTime, Utc};

use crate::SessionId;

/// When, and in which order: `20261121T234307.123456Z-0007`.
///
/// The sequence number is the order of the store, whatever the clock did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Counted up through the whole store.
    pub sequence: u64,
    /// UTC, to the microsecond.
    pub time: DateTime<Utc>,
}

/// How a time is written in a name.
pub(crate) const TIME: &str = "%Y%m%dT%H%M%S%.6fZ";
/// Length of a time of [`TIME`].
const TIME_LEN: usize = "20261121T234307.123456Z".len();

impl Stamp {
    /// Reads what `Display` writes.
    pub fn parse(text: &str) -> Option<Self> {
        let (time, sequence) = text.split_at_checked(TIME_LEN)?;
        let sequence = sequence.strip_prefix('-')?;
        let stamp = Self {
            time: NaiveDateTime::parse_from_str(time, TIME).ok()?.and_utc(),
            sequence: sequence.parse().ok()?,
        };
        // Only the one spelling that `Display` has is read.
        (stamp.to_string() == text).then_some(stamp)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:04}", self.time.format(TIME), self.sequence)
    }
}

/// The id of a snapshot, which is also the stem of its files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SnapshotId {
    /// The session.
    pub session: SessionId,
    /// When, and in which order.
    pub stamp: Stamp,
}

impl SnapshotId {
    /// Reads what `Display` writes, from the right end: the id of a session may have a `-`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.rfind('-')?;
        let time = digits.checked_sub(TIME_LEN)?;
        let session = text.get(..time)?.strip_suffix('-')?;
        Some(Self {
            session: session.parse().ok()?,
            stamp: Stamp::parse(&text[time..])?,
        })
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.session, self.stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::{SnapshotId, Stamp};
    use proptest::prelude::*;

    #[test]
    fn names_are_read_from_the_right() {
        let text = "a-b-20261121T234307.123456Z-0007";
        let id = SnapshotId::parse(text).expect("a name");
        assert_eq!(id.session.as_str(), "a-b");
        assert_eq!(id.stamp.sequence, 7);
        assert_eq!(
            id.stamp.time.to_rfc3339(),
            "2026-11-21T23:43:07.123456+00:00"
        );
        assert_eq!(id.to_string(), text);
    }

    #[test]
    fn other_names_are_not_ours() {
        for text in [
            "",
            "-",
            "a",
            "a-0007",
            "20261121T234307.123456Z-0007",
            "-20261121T234307.123456Z-0007",
            "a-20261121T234307.123456Z-7",
            "a-20261121T234307.123456Z-00007",
            "a-20261121T234307.12345Z-0007",
            "a-20261321T234307.123456Z-0007",
            "a-20261121T234307.123456Z-",
            "a-20261121T234307.123456Z-+007",
            "../x-20261121T234307.123456Z-0007",
            "é0261121T234307.123456Z-0007",
        ] {
            assert_eq!(SnapshotId::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_stamp_is_read_back(micros in 0_i64..4_000_000_000_000_000, sequence in 0_u64..1_000_000) {
            let time = chrono::DateTime::from_timestamp_micros(micros).expect("a time");
            let stamp = Stamp { sequence, time };
            prop_assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "\\PC*") {
            let _ = SnapshotId::parse(&text);
        }
    }
}
