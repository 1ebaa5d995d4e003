//! Where the tokens are.

use ctx_select::tally::{Share, Tally};

/// What the tokens are broken down by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Breakdown {
    /// Messages by role
    Role,
    /// Parts of messages by kind: text, reasoning, calls, results, media, other; overhead
    Kind,
    /// Tool calls by tool, each with the tokens of its calls and of their results
    Tool,
}

impl Breakdown {
    /// Its word in flags and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Kind => "kind",
            Self::Tool => "tool",
        }
    }

    /// The rows, those with the most tokens first; `(other)` is what belongs to none.
    pub fn rows(self, tally: &Tally) -> Vec<(String, Share)> {
        let mut rows = match self {
            Self::Role => tally.by_role(),
            Self::Kind => tally.by_kind(),
            Self::Tool => tally.by_tool(),
        };
        rows.sort_by(|(a, one), (b, other)| other.tokens.cmp(&one.tokens).then(a.cmp(b)));
        rows
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::count::MessageCounter;
    use ctx_select::tally::Tally;
    use ctx_tokens::Encoding;
    use ctx_transcript::{Message, Part, Role};

    use super::Breakdown;

    #[test]
    fn the_most_tokens_come_first_and_equal_ones_by_name() {
        let counter = MessageCounter::new(Encoding::Chars4);
        let mut tally = Tally::default();
        let long = "x".repeat(400);
        for (role, text) in [
            (Role::User, "hi"),
            (Role::Tool, "hi"),
            (Role::Assistant, long.as_str()),
        ] {
            let message = Message::new(role, vec![Part::Text(text.into())]);
            tally.message(&counter, &message);
        }
        let rows = Breakdown::Role.rows(&tally);
        let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["assistant", "tool", "user"]);
        let rows = Breakdown::Kind.rows(&tally);
        assert_eq!(rows[0].0, "text");
        assert_eq!(Breakdown::Tool.rows(&tally)[0].0, "(other)");
    }
}
