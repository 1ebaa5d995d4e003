//! The view of a log: which records are in the context, in which order, and which of them belong to
//! the same message.
//!
//! A [`ViewBuilder`] receives each record of the session once. The view is complete only after the
//! last record, because any record may remove earlier records from the context or reorder them.

use std::collections::{BTreeMap, HashMap};

use crate::{Flaw, Object, Portion};

pub use crate::record::presence::{Fragment, Outside, Presence};

/// Receives a session's records in order and determines which of them are in the context.
pub trait ViewBuilder {
    /// Adds the object in record number `record`, counted from 0. Blank lines also count as
    /// records.
    fn push(&mut self, record: usize, object: &Object<'_>);

    /// Announces that the records are the messages of a single document. `members` are the other
    /// members of the document, as keys and raw values.
    fn begin_document(&mut self, _members: &[(String, String)]) {}

    /// Adds a line that consists of whitespace, without its line ending. Agents skip empty lines.
    fn push_blank(&mut self, _record: usize, _text: &[u8]) {}

    /// Adds a bad line, which most agents skip.
    fn push_bad(&mut self, _record: usize) {}

    /// Adds the object in a line that is not valid UTF-8. Each invalid byte sequence in the line
    /// has been replaced with U+FFFD.
    fn push_replaced(&mut self, record: usize, object: &Object<'_>) {
        self.push(record, object);
    }

    /// Adds the first of several objects on a line, which most agents skip.
    fn push_first_of(&mut self, record: usize, _object: &Object<'_>) {
        self.push_bad(record);
    }

    /// Returns the view of all records so far. More records may be added later, and can change the
    /// view.
    fn view(&self) -> View;
}

/// Tells which of a session's records are in the context, and which messages they form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    records: Vec<Presence>,
    /// For each record with several messages, one reason for each message. A reason applies only if
    /// its message is outside the context.
    lists: HashMap<usize, Vec<Outside>>,
    messages: u64,
    portions: HashMap<usize, Portion>,
    /// The problems that the agent has when it loads the session.
    pub flaws: Vec<Flaw>,
}

/// A message in the context. A record may hold several messages from the context.
pub(crate) struct ContextMessage {
    /// The number of the record that contains the message.
    pub(crate) record: usize,
    /// The index of the message among the record's messages.
    pub(crate) number: usize,
    /// The number of the message's group. The model receives all messages of a group as a single
    /// message. Groups are numbered by their first message.
    pub(crate) group: usize,
}

impl View {
    /// Stores the reason why a record is outside the context. By default, a record counts as never
    /// sent.
    pub fn leave(&mut self, record: usize, why: Outside) {
        self.set(record, Presence::Outside(why));
    }

    /// Stores the number of messages in a record.
    pub(crate) fn hold(&mut self, record: usize, messages: usize) {
        self.lists.insert(record, vec![Outside::NeverSent; messages]);
    }

    /// Stores the reason why one message in a record is outside the context.
    pub(crate) fn leave_message(&mut self, record: usize, number: usize, why: Outside) {
        self.leave(record, why);
        if let Some(list) = self.lists.get_mut(&record) {
            list[number] = why;
        }
    }

    /// Appends a message to the context. `records` lists the 0-based numbers of the records that
    /// hold the message, in file order.
    pub fn add_message(&mut self, records: &[usize]) {
        self.put(self.messages, records);
        self.messages += 1;
    }

    /// Appends messages to the context. The records of each group must be in file order. If other
    /// messages interrupt a group, the group takes the position of its first message.
    pub(crate) fn add_messages(&mut self, messages: &[ContextMessage]) {
        let mut groups: BTreeMap<usize, (u64, Vec<usize>)> = BTreeMap::new();
        let mut portions: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
        let mut last = None;
        for message in messages {
            if last.replace(message.group) != Some(message.group) {
                self.messages += 1;
            }
            let place = self.messages - 1;
            let (_, records) = groups.entry(message.group).or_insert_with(|| (place, Vec::new()));
            if records.last().is_none_or(|last| *last < message.record) {
                records.push(message.record);
            }
            portions.entry(message.record).or_default().push((message.number, place));
        }
        for (place, records) in groups.values() {
            self.put(*place, records);
        }
        for (record, inside) in portions {
            let Presence::Inside(fragment) = self.of(record) else { continue };
            // A record needs no portion if all its messages are in the context and form one
            // message.
            let reasons = self.lists.get(&record).map_or(&[][..], Vec::as_slice);
            let is_together = inside.iter().all(|(_, place)| *place == fragment.message);
            if !is_together || inside.len() < reasons.len() {
                self.portions.insert(record, Portion::new(inside, reasons));
            }
        }
    }

    /// Stores the content, as raw JSON, that the agent sends in place of the record's own content.
    pub(crate) fn replace_content(&mut self, record: usize, content: &str) {
        self.portions.insert(record, Portion::with_content(content));
    }

    fn put(&mut self, message: u64, records: &[usize]) {
        for (at, number) in records.iter().enumerate() {
            let (begins, ends) = (at == 0, at + 1 == records.len());
            self.set(*number, Presence::Inside(Fragment { message, begins, ends }));
        }
    }

    fn set(&mut self, number: usize, presence: Presence) {
        if number >= self.records.len() {
            self.records.resize(number + 1, Presence::Outside(Outside::NeverSent));
        }
        self.records[number] = presence;
    }

    /// Returns the presence of the record with the given number, starting at 0. Records unknown to
    /// the view are treated as never sent.
    pub fn of(&self, number: usize) -> Presence {
        self.records.get(number).copied().unwrap_or(Presence::Outside(Outside::NeverSent))
    }

    /// Returns the part of the record that is in the context; `None` if the whole record is in the
    /// context.
    pub fn portion(&self, number: usize) -> Option<Portion> {
        self.portions.get(&number).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{ContextMessage, Fragment, Outside, Presence, View};

    fn messages(all: &[(usize, usize, usize)]) -> Vec<ContextMessage> {
        let all = all.iter();
        all.map(|&(record, number, group)| ContextMessage { record, number, group }).collect()
    }

    #[test]
    fn messages_may_take_several_records_and_change_their_order() {
        let mut view = View::default();
        view.leave(0, Outside::Superseded);
        view.leave(1, Outside::DeadBranch);
        view.add_message(&[3]);
        view.add_message(&[0, 2]);
        let inside = |message, begins, ends| Presence::Inside(Fragment { message, begins, ends });
        assert_eq!(view.of(0), inside(1, true, false));
        assert_eq!(view.of(1), Presence::Outside(Outside::DeadBranch));
        assert_eq!(view.of(2), inside(1, false, true));
        assert_eq!(view.of(3), inside(0, true, true));
        assert_eq!(view.of(4), Presence::Outside(Outside::NeverSent));
    }

    #[test]
    fn a_list_that_is_in_the_context_as_one_is_a_whole_record() {
        let mut view = View::default();
        view.hold(0, 2);
        view.add_messages(&messages(&[(0, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 1)]));
        assert!((0..3).all(|record| view.portion(record).is_none()));
        let message = |record| match view.of(record) {
            Presence::Inside(fragment) => (fragment.message, fragment.begins, fragment.ends),
            Presence::Outside(_) => panic!("outside"),
        };
        assert_eq!(message(0), (0, true, true));
        assert_eq!(message(1), (1, true, false));
        assert_eq!(message(2), (1, false, true));
    }

    #[test]
    fn a_message_between_those_of_a_list_parts_them() {
        let mut view = View::default();
        view.hold(0, 3);
        view.leave_message(0, 1, Outside::Superseded);
        view.add_messages(&messages(&[(0, 2, 0), (1, 0, 1), (0, 0, 0)]));
        let portion = view.portion(0).expect("not all of it together");
        assert_eq!(portion.inside(), [(0, 2), (2, 0)]);
        assert_eq!(*portion.outside, [(1, Outside::Superseded)]);
        assert!(portion.holds(0) && !portion.holds(1));
        assert_eq!(view.portion(1), None);
        // A record that is added later becomes a separate message.
        view.add_message(&[1]);
        assert!(matches!(view.of(1), Presence::Inside(it) if it.message == 3));
    }
}
