//! What is wrong with a session, one finding each.

use ctx_transcript::{Offence, Record};

/// What is found fault with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The API would refuse the session, or the file is damaged.
    Offence,
    /// A limit is exceeded.
    Limit,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    /// The line; `None` for what is wrong with the session as a whole.
    pub(super) line: Option<u64>,
    /// A word for programs.
    pub(super) rule: &'static str,
    /// The id of the tool call.
    pub(super) id: Option<String>,
    /// What is wrong, for people.
    pub(super) message: String,
}

impl From<Offence> for Finding {
    fn from(offence: Offence) -> Self {
        Self {
            kind: Kind::Offence,
            line: (offence.line > 0).then_some(offence.line),
            rule: offence.rule.as_str(),
            message: offence.why(),
            id: Some(offence.id).filter(|id| !id.is_empty()),
        }
    }
}

impl Finding {
    /// A line that is not one JSON object.
    pub(super) fn of_line(rule: &'static str, record: &Record<'_>) -> Self {
        Self {
            kind: Kind::Offence,
            line: Some(record.line),
            rule,
            id: None,
            message: record.why_bad(),
        }
    }
}
