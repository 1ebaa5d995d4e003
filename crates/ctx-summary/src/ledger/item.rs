//! Items: the facts in a session that a summary must not lose.

use strum::{IntoStaticStr, VariantArray};

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum ItemKind {
    /// A request in the user's words.
    #[strum(serialize = "asks")]
    Ask,
    /// A rule in the user's words.
    #[strum(serialize = "constraints")]
    Constraint,
    /// A settled question.
    #[strum(serialize = "decisions")]
    Decision,
    /// Something that remains to be done.
    Open,
    /// An error.
    #[strum(serialize = "errors")]
    Error,
    /// A file that was read or changed.
    #[strum(serialize = "files")]
    File,
    /// A command that was run.
    #[strum(serialize = "commands")]
    Command,
}

impl ItemKind {
    /// All kinds, in the order of their sections in a summary.
    pub const ALL: &'static [Self] = Self::VARIANTS;
}

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The item is still valid, or remains to be done.
    Current,
    /// The task is in progress.
    InProgress,
    /// The open item was finished, or the error was repaired because its call succeeded later.
    Done,
    /// The item was replaced by a later item.
    Superseded,
}

/// A fact from a session that a summary must not lose, such as a request, a decision or an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The text of the item on one line, without secrets.
    pub text: String,
    /// The line number of the item's record in the session, or 0 if it is unknown.
    pub line: u64,
    /// The state of the item.
    pub state: State,
    /// For a file, whether it was changed. For a command, whether it succeeded. For an open item,
    /// whether it belongs to a task list, which the next task list replaces.
    pub changed: bool,
}

impl Item {
    /// Creates an item with the state [`State::Current`].
    pub fn new(kind: ItemKind, text: String, line: u64) -> Self {
        Self { kind, text, line, state: State::Current, changed: false }
    }

    /// Returns true if a summary must still contain the item. Repaired errors are included, because
    /// they may occur again.
    pub fn holds(&self) -> bool {
        match self.kind {
            ItemKind::Error => self.state != State::Superseded,
            _ => matches!(self.state, State::Current | State::InProgress),
        }
    }

    /// Returns true if the item is a finished task in the last task list.
    pub fn is_done_task(&self) -> bool {
        self.kind == ItemKind::Open && self.changed && self.state == State::Done
    }
}
