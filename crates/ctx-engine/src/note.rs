//! Notes from an operation: warnings and remarks.

use std::fmt;

use ctx_format::Watch;
use ctx_llm::Usage;

/// The importance of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A problem that the user should know about, although it does not stop the operation.
    Warning,
    /// What the user should do next.
    Advice,
    /// A remark about the result.
    Info,
    /// A change to a single record.
    Detail,
}

/// One note about a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The importance of this note.
    pub level: Level,
    /// The position of the cause: the record's line and, in a batch, the message's line inside the
    /// record. The list is empty if the note is about the whole session.
    pub lines: Vec<u64>,
    /// The text of the note.
    pub text: String,
}

/// An operation's notes in order, its spending on models, and the observer of its progress.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    all: Vec<Note>,
    /// The cost of all model requests so far.
    pub usage: Usage,
    /// The observer of the operation's progress.
    pub watch: Watch,
}

impl Notes {
    /// Creates an empty list of notes, with `watch` as the observer of the operation's progress.
    pub fn watched(watch: Watch) -> Self {
        Self { watch, ..Self::default() }
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl fmt::Display) {
        self.add(Level::Warning, &[], text);
    }

    /// Adds a warning about a line.
    pub fn warn_at(&mut self, line: u64, text: impl fmt::Display) {
        self.add(Level::Warning, &[line], text);
    }

    /// Adds a remark.
    pub fn info(&mut self, text: impl fmt::Display) {
        self.add(Level::Info, &[], text);
    }

    /// Adds a note about `lines`.
    pub fn add(&mut self, level: Level, lines: &[u64], text: impl fmt::Display) {
        self.all.push(Note { level, lines: lines.to_vec(), text: text.to_string() });
    }

    /// Adds the notes about one conversation in a batch. `line` is the conversation's line.
    pub fn extend_within(&mut self, line: u64, inner: Self) {
        self.usage += inner.usage;
        self.all.extend(inner.all.into_iter().map(|mut note| {
            note.lines.insert(0, line);
            note
        }));
    }

    /// Adds the notes from the operation's next step.
    pub fn append(&mut self, mut next: Self) {
        self.usage += next.usage;
        self.all.append(&mut next.all);
    }

    /// Removes and returns the notes.
    pub fn take(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.all)
    }
}

#[cfg(test)]
mod tests {
    use ctx_llm::Usage;

    use super::{Level, Notes};

    #[test]
    fn what_models_took_adds_up_whoever_noted_it() {
        let took = |calls| {
            let mut notes = Notes::default();
            notes.usage += Usage { calls, tokens_in: Some(10 * calls), ..Usage::default() };
            notes
        };
        let mut notes = took(1);
        notes.append(took(2));
        notes.extend_within(3, took(4));
        let Usage { calls, tokens_in, tokens_out, .. } = notes.usage;
        assert_eq!((calls, tokens_in, tokens_out), (7, Some(70), None));
    }

    #[test]
    fn notes_keep_their_order_and_the_way_to_their_line() {
        let mut inner = Notes::default();
        inner.warn_at(2, "a result is missing");
        inner.info("done");
        let mut notes = Notes::default();
        notes.info("begun");
        notes.extend_within(7, inner);
        let found: Vec<_> =
            notes.take().into_iter().map(|note| (note.level, note.lines, note.text)).collect();
        assert_eq!(
            found,
            [
                (Level::Info, vec![], "begun".to_owned()),
                (Level::Warning, vec![7, 2], "a result is missing".to_owned()),
                (Level::Info, vec![7], "done".to_owned()),
            ]
        );
        assert!(notes.take().is_empty());
    }
}
