//! A compaction in an agent's own words: the lines that its session file gets appended so that
//! the agent goes on from a summary and from the messages that stay. No old line changes.
//!
//! Which lines these are, and what they have to hold, each dialect says; `docs/agents.md` has
//! the rules of each loader.

mod ids;
mod line;
mod rewrite;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};

use crate::Object;

pub use crate::json::quoted;
pub use ids::Ids;
pub use line::{LineText, list};
pub use rewrite::with_changes;

/// What a compaction leaves of a session.
#[derive(Clone, Debug)]
pub struct Compaction<'a> {
    /// What is said of all that leaves.
    pub summary: &'a str,
    /// The records that stay, in the order in which the model is sent them.
    pub kept: Vec<Kept<'a>>,
    /// How many of them stand before the summary, where the format lets any.
    pub kept_before: usize,
    /// Whether they are the end of the context, so that nothing between them leaves.
    pub is_end: bool,
    /// The text of the last record of the context.
    pub last: &'a str,
    /// Tokens of the context before and after.
    pub tokens: (u64, u64),
    /// Whether nobody asked for it.
    pub is_automatic: bool,
    /// When it is made.
    pub now: DateTime<Utc>,
    /// A hash of the session, of which new ids are made: the same session gets the same ones.
    pub seed: [u8; 32],
}

/// A record that stays.
#[derive(Clone, Debug)]
pub struct Kept<'a> {
    /// The text of its object, with its changes.
    pub text: &'a str,
    /// Which of the messages in it stay, from 0; `None` for all.
    pub messages: Option<Vec<usize>>,
    /// Whether it is not as the session has it.
    pub is_changed: bool,
}

/// Why a session cannot be compacted in its agent's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompactionError {
    /// Each line of the agent has this, and no line of the session does.
    #[error("no line of it has {0}, which its agent asks of each")]
    Missing(&'static str),
    /// The agent reads nothing of a file without that.
    #[error("it has no header, so that its agent reads nothing of it")]
    NoHeader,
    /// A record that stays is none that the format knows.
    #[error("a record that stays is not as its agent writes it")]
    Unreadable,
}

/// Writes the lines of a compaction, when it has seen all records of the session.
pub trait CompactionWriter {
    /// The object of the next record; `None` for one that is no object.
    fn push(&mut self, object: Option<&Object<'_>>);

    /// The lines to append, without line ends.
    fn finish(self: Box<Self>, compaction: &Compaction<'_>)
    -> Result<Vec<String>, CompactionError>;
}

/// Gives lines that are written at once times that follow each other, behind all times of the
/// session: an agent may order by them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Times {
    newest: Option<DateTime<Utc>>,
}

impl Times {
    /// Sees a line of the session.
    pub(crate) fn push(&mut self, object: &Object<'_>) {
        let text = object.text_of("timestamp");
        let time = text.and_then(|text| DateTime::parse_from_rfc3339(&text).ok());
        self.newest = self.newest.max(time.map(DateTime::into));
    }

    /// The time of the next line, as agents write it: UTC, with milliseconds.
    pub(crate) fn next(&mut self, now: DateTime<Utc>) -> String {
        let behind = self.newest.map(|time| time + TimeDelta::milliseconds(1));
        let time = behind.map_or(now, |behind| behind.max(now));
        self.newest = Some(time);
        time.to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

#[cfg(test)]
mod tests {
    use super::Times;
    use crate::Object;

    #[test]
    fn times_follow_each_other_and_the_session() {
        let now = "2026-01-01T00:00:00.5Z".parse().expect("a time");
        let mut times = Times::default();
        assert_eq!(times.next(now), "2026-01-01T00:00:00.500Z");
        assert_eq!(times.next(now), "2026-01-01T00:00:00.501Z");
        let line = r#"{"timestamp":"2026-02-01T01:00:00.000+01:00"}"#;
        times.push(&Object::parse(line).expect("an object"));
        times.push(&Object::parse(r#"{"timestamp":"never"}"#).expect("an object"));
        assert_eq!(times.next(now), "2026-02-01T00:00:00.001Z");
    }
}
