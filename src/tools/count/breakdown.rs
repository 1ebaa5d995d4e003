//! Where the tokens are.

use clap::ValueEnum;
use ctx_select::tally::{Share, Tally};

/// What the tokens are broken down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// Messages by role
    Role,
    /// Parts of messages by kind: text, reasoning, calls, results, media, other; overhead
    Kind,
    /// Tool calls by tool, each with the tokens of its calls and of their results
    Tool,
}

impl By {
    /// Its word on the command line.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Kind => "kind",
            Self::Tool => "tool",
        }
    }

    /// The rows, those with the most tokens first; `(other)` is what belongs to none.
    pub(super) fn rows(self, tally: &Tally) -> Vec<(String, Share)> {
        let mut rows = match self {
            Self::Role => tally.by_role(),
            Self::Kind => tally.by_kind(),
            Self::Tool => tally.by_tool(),
        };
        rows.sort_by(|(a, one), (b, other)| other.tokens.cmp(&one.tokens).then(a.cmp(b)));
        rows
    }
}
