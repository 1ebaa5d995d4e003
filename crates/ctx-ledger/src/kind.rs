//! What a segment is, beside who it comes from.

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A heading of what comes.
    Heading,
    /// Words that lead to what comes: they end with a colon.
    Lead,
    /// A sentence.
    Sentence,
    /// An item of a list, or a row of a table.
    Item,
    /// What the writer quotes: code, a log.
    Quoted,
    /// A call that changes a file.
    Change,
    /// A call that runs a command.
    Command,
    /// Any other call.
    Call,
    /// What a long argument of a call names: a function, a type, a heading.
    Name,
    /// How something ended: tests that passed, an error, a commit.
    Outcome,
    /// A comment or a sentence in a result that says why something is so, or must be.
    Reason,
    /// Members of an object of a result that says what it is called.
    Record,
    /// Any other line of an argument or of a result.
    Line,
}

impl Kind {
    /// Whether it is what somebody says.
    pub fn is_said(self) -> bool {
        matches!(
            self,
            Self::Heading | Self::Lead | Self::Sentence | Self::Item
        )
    }
}
