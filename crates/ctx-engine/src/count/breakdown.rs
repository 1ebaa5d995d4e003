//! Breakdowns of counts: how much of the context window each kind of content takes, and tables by
//! role, kind, tool or reach.

use ctx_format::Role;
use serde::Serialize;
use serde_with::skip_serializing_none;
use strum::{IntoStaticStr, VariantArray};

use super::Counts;
use super::reach::Volume;
use super::tally::{OfRole, Share};

/// A kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Slice {
    /// System and developer messages.
    System,
    /// Text written by users.
    User,
    /// Text written by the model.
    Assistant,
    /// Reasoning by the model.
    Reasoning,
    /// Tool calls.
    Calls,
    /// Tool results.
    Results,
    /// Images, audio and documents.
    Media,
    /// Parts of unknown kinds, and text that is not part of any message.
    Other,
    /// The overhead per message, and the tokens that prime the model's reply.
    Overhead,
}

impl Counts {
    /// Returns the token count of each slice. The counts add up to the total.
    pub fn slices(&self) -> Vec<(Slice, u64)> {
        let mut slices: Vec<(Slice, u64)> =
            Slice::VARIANTS.iter().map(|slice| (*slice, 0)).collect();
        let mut add = |slice: Slice, tokens: u64| slices[slice as usize].1 += tokens;
        let all = self.tally.tokens;
        add(Slice::Overhead, all.overhead);
        let mut texts = all.text;
        for (role, OfRole { tokens, .. }) in &self.tally.roles {
            texts -= tokens.text;
            if role.is_system() {
                add(Slice::System, tokens.total() - tokens.overhead);
                continue;
            }
            let text = match role {
                Role::User => Slice::User,
                Role::Assistant => Slice::Assistant,
                Role::Tool | Role::Function => Slice::Results,
                _ => Slice::Other,
            };
            add(text, tokens.text);
            add(Slice::Reasoning, tokens.reasoning);
            add(Slice::Calls, tokens.calls);
            add(Slice::Results, tokens.results);
            add(Slice::Media, tokens.media);
            add(Slice::Other, tokens.other);
        }
        // The text of lines that are not messages.
        add(Slice::Other, texts);
        slices
    }
}

/// The property by which a breakdown groups tokens or bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Breakdown {
    /// Messages by role
    Role,
    /// Parts by kind: text, reasoning, calls, results, media and other, plus the overhead
    Kind,
    /// Tool calls by tool, including the tokens of their results
    Tool,
    /// Bytes of the file: sent, surrounding what is sent, or not sent (with the reason)
    Reach,
}

/// A row of a breakdown.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Row {
    /// The label of the row, such as the name of a role or tool.
    pub key: String,
    /// The number of messages, parts, calls or lines in the row.
    pub count: u64,
    /// The size in tokens, or `None` if the size is in bytes.
    tokens: Option<u64>,
    /// The size in bytes, or `None` if the size is in tokens.
    bytes: Option<u64>,
}

impl Row {
    /// Returns the size in tokens, or in bytes if the row does not count tokens.
    pub fn size(&self) -> u64 {
        self.tokens.or(self.bytes).unwrap_or_default()
    }
}

impl Breakdown {
    /// Returns true if the sizes are in bytes instead of tokens.
    pub fn is_of_bytes(self) -> bool {
        self == Self::Reach
    }

    /// Returns the rows, largest first. The row `(other)` counts everything that is not in another
    /// row.
    pub fn rows(self, counts: &Counts) -> Vec<Row> {
        let of_tokens = |(key, share): (String, Share)| Row {
            key,
            count: share.count,
            tokens: Some(share.tokens),
            bytes: None,
        };
        let mut rows: Vec<Row> = match self {
            Self::Role => counts.tally.by_role().into_iter().map(of_tokens).collect(),
            Self::Kind => counts.tally.by_kind().into_iter().map(of_tokens).collect(),
            Self::Tool => counts.tally.by_tool().into_iter().map(of_tokens).collect(),
            Self::Reach => {
                let row = |(key, volume): (&str, Volume)| Row {
                    key: key.to_owned(),
                    count: volume.count,
                    tokens: None,
                    bytes: Some(volume.bytes),
                };
                counts.reach.rows().map(row).collect()
            }
        };
        rows.sort_by(|a, b| b.size().cmp(&a.size()).then_with(|| a.key.cmp(&b.key)));
        rows
    }

    /// Returns the total size of all rows.
    pub fn total(self, counts: &Counts) -> u64 {
        if self.is_of_bytes() { counts.bytes } else { counts.tally.tokens.total() }
    }
}

#[cfg(test)]
mod slice_tests {
    use crate::message_counter::MessageCounter;
    use ctx_format::{Call, Message, Options, Part, Role, ToolResult};
    use ctx_testkit::chat_session;
    use ctx_tokens::Encoding;
    use proptest::prelude::*;

    use super::Slice;
    use crate::Invalid;
    use crate::count::Counts;

    fn counted(messages: &[Message<'_>]) -> Counts {
        let counter = MessageCounter::new(Encoding::Chars4);
        let mut counts = Counts::default();
        for message in messages {
            counts.tally.message(&counter, message);
        }
        counts
    }

    /// Returns the slices that are not empty.
    fn slices(counts: &Counts) -> Vec<(Slice, u64)> {
        let all = counts.slices();
        let sum: u64 = all.iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(sum, counts.tally.tokens.total());
        all.into_iter().filter(|(_, tokens)| *tokens > 0).collect()
    }

    /// Each part is counted in one slice, which depends on its kind and, for text, on the author.
    #[test]
    fn each_part_is_in_one_slice() {
        let text = |words: &'static str| Part::Text(words.into());
        let call = Part::Call(Call {
            id: None,
            name: "read".into(),
            arguments: "{\"a\":11}".into(),
            slot: None,
        });
        let result = Part::Result(ToolResult {
            parts: vec![text("12345678"), Part::media("image", "{}")],
            ..ToolResult::default()
        });
        let thought = Part::Reasoning("1234".into());
        let mut counts = counted(&[
            Message::new(Role::Developer, vec![text("12345678")]),
            Message::new(Role::User, vec![text("1234")]),
            Message::new(Role::Assistant, vec![thought, text("123456789012"), call]),
            Message::new(Role::Tool, vec![result]),
        ]);
        let chars = MessageCounter::new(Encoding::Chars4);
        counts.tally.text(&chars, "1234");
        assert_eq!(
            slices(&counts),
            [
                (Slice::System, 2),
                (Slice::User, 1),
                (Slice::Assistant, 3),
                (Slice::Reasoning, 1),
                (Slice::Calls, 3),
                (Slice::Results, 2),
                (Slice::Media, 1_000),
                (Slice::Other, 1),
                (Slice::Overhead, 16),
            ]
        );
    }

    proptest! {
        /// The slices of any session add up to the total.
        #[test]
        fn slices_add_up(text in chat_session()) {
            let reader = Box::new(std::io::Cursor::new(text.into_bytes()));
            let session = crate::Session::open(reader, &Options::default(), Invalid::Keep);
            let mut session = session.expect("from memory");
            let plan = super::super::Plan {
                counter: MessageCounter::new(Encoding::Chars4),
                batch: false,
                threads: 1,
                reach: false,
                of_session: false,
            };
            let mut pass = super::super::CountPass::new(&plan, session.dialect());
            session.each(|record| { pass.push(record); Ok(()) }).expect("from memory");
            slices(&pass.finish(&session.bad));
        }
    }
}

#[cfg(test)]
mod breakdown_tests {
    use crate::message_counter::MessageCounter;
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
