//! Which record of a session something comes from.

use std::fmt;

use serde::{Serialize, Serializer};

/// A record of a session, or one message of a record that holds a list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId {
    /// The number of the record, from 0, over all records of the session.
    pub record: u64,
    /// The number of the message in it, from 0; `None` where the record is one message.
    pub message: Option<usize>,
}

impl SourceId {
    /// A whole record.
    pub(crate) fn of_record(record: u64) -> Self {
        Self {
            record,
            message: None,
        }
    }

    /// One of the messages of a record.
    pub(crate) fn of_message(record: u64, message: usize) -> Self {
        Self {
            record,
            message: Some(message),
        }
    }

    /// Reads what a mark has: JSON, as [`fmt::Display`] writes it.
    pub fn parse(json: &str) -> Option<Self> {
        let inner = json.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let Some(inner) = inner else {
            return json.parse().ok().map(Self::of_record);
        };
        let (record, message) = inner.split_once('.')?;
        Some(Self::of_message(
            record.parse().ok()?,
            message.parse().ok()?,
        ))
    }
}

/// As JSON: `12` for a record, `"12.3"` for a message of one.
impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            None => write!(f, "{}", self.record),
            Some(message) => write!(f, "\"{}.{message}\"", self.record),
        }
    }
}

impl Serialize for SourceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.message {
            None => serializer.serialize_u64(self.record),
            Some(message) => serializer.collect_str(&format_args!("{}.{message}", self.record)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SourceId;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        for (origin, json) in [
            (SourceId::of_record(12), "12"),
            (SourceId::of_message(12, 3), "\"12.3\""),
        ] {
            assert_eq!(origin.to_string(), json);
            assert_eq!(SourceId::parse(json), Some(origin));
            assert_eq!(serde_json::to_string(&origin).expect("JSON"), json);
        }
        for odd in ["x", "\"12\"", "\"1.x\"", "-1"] {
            assert_eq!(SourceId::parse(odd), None, "{odd}");
        }
    }
}
