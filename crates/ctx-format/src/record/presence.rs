//! The presence of a record: whether all, part or none of it is in the context that the agent would
//! send to the model.

use std::collections::HashMap;
use std::sync::Arc;

use super::Record;

/// Whether a record is in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The record is a message in the context, or a fragment of a message.
    Inside(Fragment),
    /// The record is not in the context.
    Outside(Outside),
}

/// The part of a message that a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The position of the message in the context, starting at 0.
    pub message: u64,
    /// Whether the message begins with this record.
    pub begins: bool,
    /// Whether the message ends with this record.
    pub ends: bool,
}

/// The reason why a record is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// The record is of a kind that is never sent to a model, such as progress, settings or a
    /// header.
    NeverSent,
    /// The record belongs to the context of a subagent.
    OtherAgent,
    /// The record is on an abandoned branch of the conversation.
    DeadBranch,
    /// The record was replaced by a compaction.
    BeforeCompaction,
    /// The record was replaced by a later record.
    Superseded,
}

/// The part of a record that is in the context. If later records undid or replaced some of the
/// record's messages, the part holds the remaining ones. If the record has a single message, the
/// agent may send it with different content.
///
/// A record holds several messages if it is a compaction, or if an agent wrote all messages at the
/// beginning of a session into one record. Messages are numbered from 0, in the order in which they
/// appear in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    inside: Arc<[(usize, u64)]>,
    /// The messages outside the context, each given by its number in the record, with the reason.
    pub outside: Arc<[(usize, Outside)]>,
    /// The raw JSON, if any, that replaces the content of the message.
    pub(crate) content: Option<Arc<str>>,
}

impl Portion {
    /// Creates a portion from the messages with the given numbers. The position of each message in
    /// the context is set to 0.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Self {
        Self::new(numbers.into_iter().map(|number| (number, 0)).collect(), &[])
    }

    /// Creates a portion from the messages `inside`, given by their numbers in the record and in
    /// the context. `reasons` holds one reason for each message in the record. A reason states why
    /// the message is outside the context, and is ignored if the message is in `inside`.
    pub(crate) fn new(mut inside: Vec<(usize, u64)>, reasons: &[Outside]) -> Self {
        inside.sort_unstable();
        let reasons = reasons.iter().copied().enumerate();
        let outside = reasons.filter(|(number, _)| !has(&inside, *number)).collect();
        Self { inside: inside.into(), outside, content: None }
    }

    /// Creates a portion for a record with a single message, which the agent sends with the content
    /// `content` (raw JSON).
    pub(crate) fn with_content(content: &str) -> Self {
        Self { inside: Arc::default(), outside: Arc::default(), content: Some(content.into()) }
    }

    /// Whether the agent sends the message with other content than the record has.
    pub fn is_content(&self) -> bool {
        self.content.is_some()
    }

    /// The messages in the context, each given by its number in the record and its number in the
    /// context.
    pub fn inside(&self) -> &[(usize, u64)] {
        &self.inside
    }

    /// Removes from `messages`, a list of all messages in the record, those outside the context.
    pub(crate) fn retain<T>(&self, messages: &mut Vec<T>) {
        let mut numbers = 0..;
        messages.retain(|_| numbers.next().is_some_and(|number| self.holds(number)));
    }

    /// Returns true if the message with the given number is in the context.
    pub fn holds(&self, number: usize) -> bool {
        has(&self.inside, number)
    }
}

fn has(sorted: &[(usize, u64)], number: usize) -> bool {
    sorted.binary_search_by_key(&number, |(own, _)| *own).is_ok()
}

/// The presence of each waiting record, in spool order. Nothing is stored for a linear session.
#[derive(Clone, Debug, Default)]
pub struct Presences {
    records: Vec<Presence>,
    portions: HashMap<usize, Portion>,
}

impl Presences {
    /// Adds the presence of the record that was last appended to the spool.
    pub fn push(&mut self, record: &Record<'_>) {
        if let Some(portion) = &record.portion {
            self.portions.insert(self.records.len(), portion.clone());
        }
        self.records.extend(record.presence);
    }

    /// Returns the presence of the record with the given 0-based number; `None` in a linear
    /// session.
    pub fn of(&self, number: usize) -> Option<Presence> {
        self.records.get(number).copied()
    }

    /// For the record with the given number, returns the part that is in the context; `None` if the
    /// whole record is in the context.
    pub fn portion(&self, number: usize) -> Option<Portion> {
        self.portions.get(&number).cloned()
    }
}
