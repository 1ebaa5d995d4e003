//! The view of a session: which of its records are in the context that the agent would
//! send, in which order, and which of them make one message.
//!
//! Of a linear dialect, such as chat, each record that is a message is sent, in the
//! order of the file, and there is nothing to find out. The files of agents are logs:
//! branches are left, compactions leave old records where they are, a reply takes
//! several lines. Their dialects give a [`ViewBuilder`], which sees the whole session
//! once, before any record of it is handed out.

use crate::{Flaw, Object};

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
    /// What is wrong with the session, as its agent loads it.
    pub flaws: Vec<Flaw>,
}

/// Whether a record is in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// In the context, as a message or as a fragment of one.
    Inside(Fragment),
    /// Not in the context.
    Outside(Outside),
}

/// What a record holds of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The number of the message in the context, from 0.
    pub message: u64,
    /// Whether the message begins with this record; else it continues it.
    pub begins: bool,
    /// Whether the message ends with this record; else others of the file follow.
    pub ends: bool,
}

/// Why a record is not in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outside {
    /// No model is ever sent it: progress, settings, a header.
    NeverSent,
    /// It is in the context of another agent, which this one had help it.
    OtherAgent,
    /// It is on a branch that was left.
    DeadBranch,
    /// A compaction stands for it.
    BeforeCompaction,
    /// A later record says it anew.
    Superseded,
}

impl View {
    /// The view of an empty context: why each record is outside it.
    pub fn outside(reasons: impl IntoIterator<Item = Outside>) -> Self {
        Self {
            records: reasons.into_iter().map(Presence::Outside).collect(),
            messages: 0,
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
        for (at, number) in records.iter().enumerate() {
            self.records[*number] = Presence::Inside(Fragment {
                message: self.messages,
                begins: at == 0,
                ends: at + 1 == records.len(),
            });
        }
        self.messages += 1;
    }

    /// Whether the record of that number, from 0, is in the context. One that the view
    /// does not know is not.
    pub fn of(&self, number: usize) -> Presence {
        let unknown = Presence::Outside(Outside::NeverSent);
        self.records.get(number).copied().unwrap_or(unknown)
    }
}

/// Presences of records that wait elsewhere, by their order there. It takes no room
/// where the session is linear.
#[derive(Clone, Debug, Default)]
pub struct Presences(Vec<Presence>);

impl Presences {
    /// The presence of the next record that waits; `None` in a linear session.
    pub fn push(&mut self, presence: Option<Presence>) {
        self.0.extend(presence);
    }

    /// The presence of the record that was the `number`th to wait, from 0.
    pub fn of(&self, number: usize) -> Option<Presence> {
        self.0.get(number).copied()
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
