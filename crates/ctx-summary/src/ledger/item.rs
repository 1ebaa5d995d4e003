//! The items of a ledger, with their types and lines.

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ItemKind {
    /// A request in the user's words.
    Ask,
    /// A rule in the user's words.
    Constraint,
    /// A settled question.
    Decision,
    /// Something still to do.
    Open,
    /// An error.
    Error,
    /// A file that was read or changed.
    File,
    /// A command that was run.
    Command,
}

impl ItemKind {
    /// All kinds, in the order in which a summary has them.
    pub const ALL: [Self; 7] = [
        Self::Ask,
        Self::Constraint,
        Self::Decision,
        Self::Open,
        Self::Error,
        Self::File,
        Self::Command,
    ];

    /// Its word, in the plural.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "asks",
            Self::Constraint => "constraints",
            Self::Decision => "decisions",
            Self::Open => "open",
            Self::Error => "errors",
            Self::File => "files",
            Self::Command => "commands",
        }
    }
}

/// How an item stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It holds.
    Current,
    /// A task that is being done.
    InProgress,
    /// Done, or repaired: an open item that was finished, an error whose call went
    /// well later.
    Done,
    /// A later item says otherwise.
    Superseded,
}

/// One thing that must not be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its kind.
    pub kind: ItemKind,
    /// Its words, on one line, without secrets.
    pub text: String,
    /// Line of its record in the session.
    pub line: u64,
    /// How it stands.
    pub state: State,
    /// For a file: whether it was changed; for a command: whether it succeeded; for an open item:
    /// whether a list of tasks has it, so that the next list decides.
    pub changed: bool,
}

impl Item {
    /// An item that holds.
    pub fn new(kind: ItemKind, text: String, line: u64) -> Self {
        Self { kind, text, line, state: State::Current, changed: false }
    }

    /// Whether it still has to be shown; a repaired error may occur again.
    pub fn holds(&self) -> bool {
        match self.kind {
            ItemKind::Error => self.state != State::Superseded,
            _ => matches!(self.state, State::Current | State::InProgress),
        }
    }

    /// Whether it is a task of the last list that is done.
    pub fn is_done_task(&self) -> bool {
        self.kind == ItemKind::Open && self.changed && self.state == State::Done
    }
}

/// A name, a number, an address: what a later call may need to the letter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identifier<'l> {
    /// The text in the session.
    pub text: &'l str,
    /// The line that had it last.
    pub line: u64,
    /// The chance that a later call needs it, from 0 to 1.
    pub chance: f64,
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::ItemKind;

    #[test]
    fn all_kinds_stand_in_their_order_and_have_words_of_their_own() {
        // Counts by kind are kept in arrays of this length.
        for (place, kind) in ItemKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
        }
        let words: HashSet<&str> = ItemKind::ALL.map(ItemKind::as_str).into();
        assert_eq!(words.len(), ItemKind::ALL.len());
        assert!(words.iter().all(|word| !word.is_empty() && !word.contains([' ', ','])));
    }
}
