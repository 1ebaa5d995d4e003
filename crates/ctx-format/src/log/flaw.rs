//! Problems of a log: places where its agent reads something else than was written. Only the format
//! of the log can find them, since its lines refer to each other and the agent has its own way of
//! reading them.

use crate::problems;

/// What a flaw does to the session when its agent loads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// The agent loads nothing of the file, or its API refuses what it sends.
    Refused,
    /// Messages that belong in the context are not sent.
    Lost,
    /// The line does not change the context as it should.
    Ignored,
    /// Nothing yet: a call at the end may still get its result.
    Waits,
    /// Nothing: the agent recovers by itself.
    Harmless,
}

impl Effect {
    /// Whether the flaw must be repaired before the session can continue as intended.
    pub fn is_problem(self) -> bool {
        matches!(self, Self::Refused | Self::Lost)
    }
}

/// One thing that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The number of the record, from 0.
    pub record: usize,
    /// A word for programs.
    pub rule: &'static str,
    /// What it does to the session.
    pub effect: Effect,
    /// The problem, and how the agent reacts.
    pub message: String,
    /// The id of the tool call, if the flaw is about one.
    pub id: Option<String>,
    /// How to repair a copy; `None` if nothing can.
    pub remedy: Option<Remedy>,
}

/// How to repair a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Insert a line before the record.
    Before(String),
    /// Insert a copy of another record before the record.
    CopyBefore(usize),
    /// Give the member `key` the value that `of` has in record `to`.
    Link {
        /// The member that names the parent.
        key: &'static str,
        /// The record that becomes the parent.
        to: usize,
        /// The member of that record.
        of: &'static str,
    },
    /// [`Log::repaired`](crate::log::Log::repaired) changes the line. The numbers are its own.
    Change(Vec<usize>),
}

impl Flaw {
    /// A flaw without an id and without a remedy.
    pub fn new(record: usize, rule: &'static str, effect: Effect, message: String) -> Self {
        debug_assert!(problems::rule(rule).is_some(), "a rule that is not listed");
        Self { record, rule, effect, message, id: None, remedy: None }
    }

    /// The same flaw with a remedy.
    #[must_use]
    pub fn repaired_by(self, remedy: Remedy) -> Self {
        Self { remedy: Some(remedy), ..self }
    }
}

/// The time of a header that is made for a session without any time.
pub(crate) const NO_TIME: &str = "1970-01-01T00:00:00.000Z";

/// The id of a session that has lost its own: a UUID out of the digits of a time, so that the same
/// session gets the same id.
pub(crate) fn session_id(time: &str) -> String {
    let digits = time.chars().filter(char::is_ascii_digit);
    let digits: String = digits.chain("0".repeat(20).chars()).take(20).collect();
    let (date, rest) = digits.split_at(8);
    let (minute, rest) = rest.split_at(4);
    let (second, rest) = rest.split_at(3);
    format!("{date}-{minute}-7{second}-8000-0000000{rest}")
}

#[cfg(test)]
mod tests {
    use super::{NO_TIME, session_id};

    #[test]
    fn an_id_has_the_form_of_a_uuid() {
        let of = "20260102-0304-7050-8000-000000060000";
        assert_eq!(session_id("2026-01-02T03:04:05.060Z"), of);
        assert_eq!(session_id("x"), "00000000-0000-7000-8000-000000000000");
        assert_eq!(session_id(NO_TIME).len(), 36);
    }
}
