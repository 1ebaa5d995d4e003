//! What a line of a session file is.

/// What a line is. Only [`Class::Object`] and [`Class::Concatenated`] can carry
/// a tag; everything but an object and a blank line counts as a bad line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// One JSON object.
    Object,
    /// Nothing, or blanks.
    Blank,
    /// JSON, but no object.
    NotObject,
    /// An object and more behind it on the same line: `{…}{…}`.
    Concatenated,
    /// Not JSON.
    Broken,
    /// Not UTF-8.
    NotUtf8,
    /// NUL bytes, as a crash leaves them in a file.
    Nul,
    /// Longer than [`crate::MAX_LINE`]: not looked at.
    TooLong,
    /// A last line without its end that does not parse: still being written.
    Tail,
}

impl Class {
    /// Whether the line is reported as bad. A tail is not: its writer is not done.
    pub fn is_bad(self) -> bool {
        !matches!(self, Self::Object | Self::Blank | Self::Tail)
    }

    /// The word for it in reports and in a snapshot's metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "object",
            Self::Blank => "blank",
            Self::NotObject => "not-an-object",
            Self::Concatenated => "concatenated",
            Self::Broken => "broken",
            Self::NotUtf8 => "not-utf8",
            Self::Nul => "nul",
            Self::TooLong => "too-long",
            Self::Tail => "tail",
        }
    }
}
