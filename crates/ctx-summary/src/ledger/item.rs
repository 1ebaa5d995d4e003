//! An item: something that a summary must not lose.

use strum::VariantArray;

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, VariantArray)]
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
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word for the kind, in the plural.
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

/// The state of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The item is current.
    Current,
    /// A task that is being done.
    InProgress,
    /// Done or repaired: an open item that was finished, or an error whose call succeeded later.
    Done,
    /// A later item replaces this item.
    Superseded,
}

/// Something that a summary must not lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The kind of the item.
    pub kind: ItemKind,
    /// The text of the item on one line, without secrets.
    pub text: String,
    /// The line number of the item's record in the session; 0 if it is unknown.
    pub line: u64,
    /// The state of the item.
    pub state: State,
    /// For a file, whether it was changed; for a command, whether it succeeded; for an open item,
    /// whether it is in a list of tasks, which the next list replaces.
    pub changed: bool,
}

impl Item {
    /// Creates an item that is current.
    pub fn new(kind: ItemKind, text: String, line: u64) -> Self {
        Self { kind, text, line, state: State::Current, changed: false }
    }

    /// Returns true if a summary still has to show the item. A repaired error counts, too, because
    /// it may occur again.
    pub fn holds(&self) -> bool {
        match self.kind {
            ItemKind::Error => self.state != State::Superseded,
            _ => matches!(self.state, State::Current | State::InProgress),
        }
    }

    /// Returns true if the item is a finished task of the last task list.
    pub fn is_done_task(&self) -> bool {
        self.kind == ItemKind::Open && self.changed && self.state == State::Done
    }
}
