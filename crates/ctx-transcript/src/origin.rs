//! What is known of a record beside its bytes.

use crate::Portion;
use crate::presence::Presence;

/// A longer line is handed on in pieces and never parsed.
pub const MAX_LINE: usize = 64 << 20;

/// Which part of its line a record's bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    /// All of it.
    Whole,
    /// The beginning of a line over [`MAX_LINE`].
    First,
    /// More of such a line.
    Middle,
    /// Its end; may be empty.
    Last,
}

impl Piece {
    /// Whether the line begins here.
    pub fn begins(self) -> bool {
        matches!(self, Self::Whole | Self::First)
    }

    /// Whether the line ends here.
    pub fn ends(self) -> bool {
        matches!(self, Self::Whole | Self::Last)
    }
}

/// What is known of a record beside its bytes.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Its line in the source, from 1.
    pub line: u64,
    /// Its offset in the source.
    pub offset: u64,
    /// Whether it is all of a line.
    pub piece: Piece,
    /// Whether it is in the context; `None` in a linear session.
    pub presence: Option<Presence>,
    /// What of it is in the context, where that is not all of it.
    pub portion: Option<Portion>,
}

impl Origin {
    /// Of a record that is all of its source.
    pub const ALONE: Self = Self {
        line: 1,
        offset: 0,
        piece: Piece::Whole,
        presence: None,
        portion: None,
    };
}
