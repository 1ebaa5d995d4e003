//! Whether a record is in the context that its agent would send, and which part of it.

use std::collections::HashMap;
use std::sync::Arc;

use super::Record;

/// Whether a record is in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is a message in the context, or a fragment of one.
    Inside(Fragment),
    /// It is not in the context.
    Outside(Outside),
}

/// The part of a message that a record holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The number of the message in the context, from 0.
    pub message: u64,
    /// Whether the message begins with this record.
    pub begins: bool,
    /// Whether the message ends with this record.
    pub ends: bool,
}

/// Why a record is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// It is never sent to a model: progress, settings, a header.
    NeverSent,
    /// It is in the context of a subagent.
    OtherAgent,
    /// It is on an abandoned branch.
    DeadBranch,
    /// A compaction replaced it.
    BeforeCompaction,
    /// A later record replaced it.
    Superseded,
}

/// The part of a record that is in the context: some of its messages, because later records undid
/// or replaced the others, or its one message with another content.
///
/// A record has several messages if it is a compaction, or if an agent wrote all messages at the
/// beginning of a session into one record. The messages are numbered from 0, in the order in which
/// a dialect reads them from the whole record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion {
    inside: Arc<[(usize, u64)]>,
    outside: Arc<[(usize, Outside)]>,
    content: Option<Arc<str>>,
}

impl Portion {
    /// A portion of the messages with these numbers, wherever they are in the context.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Self {
        Self::new(numbers.into_iter().map(|number| (number, 0)).collect(), &[])
    }

    /// A portion of these messages. `reasons` says why each message of the record is outside, if it
    /// is.
    pub(crate) fn new(mut inside: Vec<(usize, u64)>, reasons: &[Outside]) -> Self {
        inside.sort_unstable();
        let reasons = reasons.iter().copied().enumerate();
        let outside = reasons.filter(|(number, _)| !has(&inside, *number)).collect();
        Self { inside: inside.into(), outside, content: None }
    }

    /// The one message of a record, which the agent sends with another content, raw.
    pub(crate) fn with_content(content: &str) -> Self {
        Self { inside: Arc::default(), outside: Arc::default(), content: Some(content.into()) }
    }

    /// The content that replaces the record's own, raw.
    pub(crate) fn content(&self) -> Option<&str> {
        self.content.as_deref()
    }

    /// The messages in the context: the number of each in the record, and in the context.
    pub fn inside(&self) -> &[(usize, u64)] {
        &self.inside
    }

    /// The other messages, and why they are not in the context.
    pub fn outside(&self) -> &[(usize, Outside)] {
        &self.outside
    }

    /// Removes the messages outside the context from a list of all messages.
    pub(crate) fn retain<T>(&self, messages: &mut Vec<T>) {
        let mut numbers = 0..;
        messages.retain(|_| numbers.next().is_some_and(|number| self.holds(number)));
    }

    /// Whether the message of that number is in the context.
    pub fn holds(&self, number: usize) -> bool {
        has(&self.inside, number)
    }
}

fn has(sorted: &[(usize, u64)], number: usize) -> bool {
    sorted.binary_search_by_key(&number, |(own, _)| *own).is_ok()
}

/// The presences of waiting records, by their order in the spool. It uses no memory if the session
/// is linear.
#[derive(Clone, Debug, Default)]
pub struct Presences {
    records: Vec<Presence>,
    portions: HashMap<usize, Portion>,
}

impl Presences {
    /// Adds the next record that waits.
    pub fn push(&mut self, record: &Record<'_>) {
        if let Some(portion) = &record.portion {
            self.portions.insert(self.records.len(), portion.clone());
        }
        self.records.extend(record.presence);
    }

    /// The presence of the record with that number, from 0; `None` in a linear session.
    pub fn of(&self, number: usize) -> Option<Presence> {
        self.records.get(number).copied()
    }

    /// The part of a record that is in the context, if not the whole record.
    pub fn portion(&self, number: usize) -> Option<Portion> {
        self.portions.get(&number).cloned()
    }
}
