//! Where the tokens are.

use super::{Counts, Share};

/// The criterion of a breakdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Breakdown {
    /// Messages by role
    Role,
    /// Parts of messages by kind: text, reasoning, calls, results, media, other; overhead
    Kind,
    /// Tool calls by tool, each with the tokens of its calls and of their results
    Tool,
    /// Bytes of the file: what is sent, what wraps it, and what is not sent and why
    Reach,
}

/// How many of something there are, and their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub key: String,
    /// How many.
    pub count: u64,
    /// Their tokens; of [`Breakdown::Reach`] their bytes.
    pub size: u64,
}

impl Breakdown {
    /// The word in flags and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "role",
            Self::Kind => "kind",
            Self::Tool => "tool",
            Self::Reach => "reach",
        }
    }

    /// Whether its sizes are bytes, and not tokens.
    pub fn is_of_bytes(self) -> bool {
        self == Self::Reach
    }

    /// The rows, largest first; `(other)` is the rest.
    pub fn rows(self, counts: &Counts) -> Vec<Row> {
        let mut rows = match self {
            Self::Role => of_shares(counts.tally.by_role()),
            Self::Kind => of_shares(counts.tally.by_kind()),
            Self::Tool => of_shares(counts.tally.by_tool()),
            Self::Reach => {
                let rows = counts.reach.rows();
                let rows = rows.map(|(key, volume)| Row {
                    key: key.to_owned(),
                    count: volume.count,
                    size: volume.bytes,
                });
                rows.collect()
            }
        };
        rows.sort_by(|a, b| b.size.cmp(&a.size).then_with(|| a.key.cmp(&b.key)));
        rows
    }

    /// The sum of all rows.
    pub fn total(self, counts: &Counts) -> u64 {
        if self.is_of_bytes() { counts.bytes } else { counts.tally.tokens.total() }
    }
}

fn of_shares(shares: Vec<(String, Share)>) -> Vec<Row> {
    let rows =
        shares.into_iter().map(|(key, share)| Row { key, count: share.count, size: share.tokens });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use crate::counter::MessageCounter;
    use ctx_format::{Message, Part, Role};
    use ctx_tokens::Encoding;

    use super::Breakdown;
    use crate::count::Counts;

    #[test]
    fn the_most_tokens_come_first_and_equal_ones_by_name() {
        let counter = MessageCounter::new(Encoding::Chars4);
        let mut counts = Counts::default();
        let long = "x".repeat(400);
        for (role, text) in
            [(Role::User, "hi"), (Role::Tool, "hi"), (Role::Assistant, long.as_str())]
        {
            let message = Message::new(role, vec![Part::Text(text.into())]);
            counts.tally.message(&counter, &message);
        }
        let rows = Breakdown::Role.rows(&counts);
        let names: Vec<&str> = rows.iter().map(|row| row.key.as_str()).collect();
        assert_eq!(names, ["assistant", "tool", "user"]);
        let rows = Breakdown::Kind.rows(&counts);
        assert_eq!(rows[0].key, "text");
        assert_eq!(Breakdown::Tool.rows(&counts)[0].key, "(other)");
    }
}
