//! The view of a session: which of its records are in the context that the agent would
//! send, in which order, and which of them make one message.
//!
//! Of a linear dialect, such as chat, each record that is a message is sent, in the
//! order of the file, and there is nothing to find out. The files of agents are logs:
//! branches are left, compactions leave old records where they are, a reply takes
//! several lines. Their dialects give a [`ViewBuilder`], which sees the whole session
//! once, before any record of it is handed out.

mod context;

use std::collections::HashMap;

use crate::{Flaw, Object, Portion};

pub(crate) use context::{Lists, Said};

pub use crate::presence::{Fragment, Outside, Presence};

/// Looks at the records of a session, in their order, and says at the end which of
/// them are in the context.
pub trait ViewBuilder {
    /// The object of the next record; `None` for one that is no object.
    fn push(&mut self, object: Option<&Object<'_>>);

    /// The records are the messages of one document, and what stands beside them is not seen.
    fn begin_document(&mut self) {}

    /// A line that is bad: most agents pass it over.
    fn push_bad(&mut self) {
        self.push(None);
    }

    /// The object of a line that is not UTF-8, read with U+FFFD where it is not.
    fn push_replaced(&mut self, _object: &Object<'_>) {
        self.push_bad();
    }

    /// The first object of a line that holds more: most agents pass it over, too.
    fn push_first_of(&mut self, _object: &Object<'_>) {
        self.push_bad();
    }

    /// What the agent would send now.
    fn finish(self: Box<Self>) -> View;
}

/// Which records of a session are in the context, and as what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    records: Vec<Presence>,
    messages: u64,
    portions: HashMap<usize, Portion>,
    /// What is wrong with the session, as its agent loads it.
    pub flaws: Vec<Flaw>,
}

impl View {
    /// The view of an empty context: why each record is outside it.
    pub fn outside(reasons: impl IntoIterator<Item = Outside>) -> Self {
        Self {
            records: reasons.into_iter().map(Presence::Outside).collect(),
            messages: 0,
            portions: HashMap::new(),
            flaws: Vec::new(),
        }
    }

    /// The next message of the context: the numbers of its records, from 0, in the
    /// order of the file.
    ///
    /// # Panics
    ///
    /// When there is no record of such a number.
    pub fn add_message(&mut self, records: &[usize]) {
        self.put(self.messages, records);
        self.messages += 1;
    }

    /// The agent sends the message in the record of that number with this content, raw.
    pub(crate) fn replace_content(&mut self, record: usize, content: &str) {
        self.portions.insert(record, Portion::with_content(content));
    }

    /// The message of that number is in these records.
    fn put(&mut self, message: u64, records: &[usize]) {
        for (at, number) in records.iter().enumerate() {
            self.records[*number] = Presence::Inside(Fragment {
                message,
                begins: at == 0,
                ends: at + 1 == records.len(),
            });
        }
    }

    /// Whether the record of that number, from 0, is in the context. One that the view
    /// does not know is not.
    pub fn of(&self, number: usize) -> Presence {
        let unknown = Presence::Outside(Outside::NeverSent);
        self.records.get(number).copied().unwrap_or(unknown)
    }

    /// What of the record of that number is in the context, where that is not all of it.
    pub fn portion(&self, number: usize) -> Option<Portion> {
        self.portions.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Fragment, Outside, Presence, View};

    #[test]
    fn messages_may_take_several_records_and_change_their_order() {
        let reasons = [Outside::Superseded, Outside::DeadBranch];
        let mut view = View::outside([reasons, reasons].concat());
        view.add_message(&[3]);
        view.add_message(&[0, 2]);
        let inside = |message, begins, ends| {
            Presence::Inside(Fragment {
                message,
                begins,
                ends,
            })
        };
        assert_eq!(view.of(0), inside(1, true, false));
        assert_eq!(view.of(1), Presence::Outside(Outside::DeadBranch));
        assert_eq!(view.of(2), inside(1, false, true));
        assert_eq!(view.of(3), inside(0, true, true));
        assert_eq!(view.of(4), Presence::Outside(Outside::NeverSent));
    }
}
