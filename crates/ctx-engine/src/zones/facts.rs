//! The facts about a record that decide its zone.

/// The facts about a message whose exchange is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Facts that do not depend on each other.
pub struct Known {
    /// Instructions of the operator.
    pub is_system: bool,
    /// Whether a message begins here, and not only a further fragment of one.
    pub begins_message: bool,
    /// Whether a turn begins here.
    pub begins_turn: bool,
    /// Its tokens, if [`Keep::tokens`](super::Keep::tokens) is set.
    pub tokens: u64,
    /// Whether a selector pins it.
    pub pinned: bool,
    /// Its exchange, as the number of the exchange's first record.
    pub exchange: Option<u64>,
}

/// A record, once its exchange is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownFacts {
    /// A message.
    Message(Known),
    /// A line without a message: shares the fate of the record before it.
    Line,
    /// A last line in the writing: always kept.
    Tail,
}
