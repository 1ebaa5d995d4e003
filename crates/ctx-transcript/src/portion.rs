//! What of a list of messages is in the context.
//!
//! A record may hold several messages: what a compaction left, or all that a session began
//! with. Later records take some of them back, or say some of them anew, and the agent goes on
//! from the others.

use std::sync::Arc;

use crate::presence::Outside;

/// Which of the messages of a record are in the context, where not all are, or where others
/// stand between them. The messages are numbered from 0, as a dialect gives those that the whole
/// record holds. Or, for a record of one message, the content that a later record gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Portion(Arc<Messages>, Option<Arc<str>>);

#[derive(Debug, PartialEq, Eq)]
struct Messages {
    inside: Vec<(usize, u64)>,
    outside: Vec<(usize, Outside)>,
}

impl Portion {
    /// Of messages with these numbers, wherever in the context they stand.
    pub fn of(numbers: impl IntoIterator<Item = usize>) -> Self {
        let inside = numbers.into_iter().map(|number| (number, 0)).collect();
        Self::new(inside, &[])
    }

    /// Of these messages; `reasons` says why each of all is not in the context, if it is not.
    pub(crate) fn new(mut inside: Vec<(usize, u64)>, reasons: &[Outside]) -> Self {
        inside.sort_unstable();
        let reasons = reasons.iter().copied().enumerate();
        let outside = reasons.filter(|(number, _)| !has(&inside, *number));
        let outside = outside.collect();
        Self(Arc::new(Messages { inside, outside }), None)
    }

    /// Of the one message of a record, which the agent sends with another content, raw.
    pub(crate) fn with_content(content: &str) -> Self {
        Self(Self::new(Vec::new(), &[]).0, Some(content.into()))
    }

    /// The content that takes the place of the record's own, raw.
    pub(crate) fn content(&self) -> Option<&str> {
        self.1.as_deref()
    }

    /// Those that are, by their numbers: each with that of its message in the context.
    pub fn inside(&self) -> &[(usize, u64)] {
        &self.0.inside
    }

    /// Those that are not, and why.
    pub fn outside(&self) -> &[(usize, Outside)] {
        &self.0.outside
    }

    /// Whether the message of that number is in the context.
    pub fn holds(&self, number: usize) -> bool {
        has(&self.0.inside, number)
    }
}

/// Whether `number` is among those, which are in order.
fn has(inside: &[(usize, u64)], number: usize) -> bool {
    let found = inside.binary_search_by_key(&number, |(own, _)| *own);
    found.is_ok()
}
