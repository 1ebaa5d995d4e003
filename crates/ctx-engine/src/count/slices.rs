//! What fills a window, by author and by kind.

use ctx_format::Role;

use super::Counts;

/// A kind of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slice {
    /// System and developer messages.
    System,
    /// What users wrote.
    User,
    /// What the model wrote.
    Assistant,
    /// The reasoning of the model.
    Reasoning,
    /// Calls of tools.
    Calls,
    /// Results of tools.
    Results,
    /// Images, sounds, documents.
    Media,
    /// Parts and texts of no known kind.
    Other,
    /// Frames of messages, and what primes the reply.
    Overhead,
}

impl Slice {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::System,
        Self::User,
        Self::Assistant,
        Self::Reasoning,
        Self::Calls,
        Self::Results,
        Self::Media,
        Self::Other,
        Self::Overhead,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Reasoning => "reasoning",
            Self::Calls => "calls",
            Self::Results => "results",
            Self::Media => "media",
            Self::Other => "other",
            Self::Overhead => "overhead",
        }
    }
}

impl Counts {
    /// The tokens of each slice; they add up to all.
    pub fn slices(&self) -> [(Slice, u64); 9] {
        let mut slices = Slice::ALL.map(|slice| (slice, 0));
        let mut add = |slice: Slice, tokens: u64| slices[slice as usize].1 += tokens;
        let all = self.tally.tokens;
        add(Slice::Overhead, all.overhead);
        let mut texts = all.text;
        for (role, tokens) in self.tally.kinds_of_roles() {
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
        // Lines that are no messages.
        add(Slice::Other, texts);
        slices
    }
}

#[cfg(test)]
mod tests {
    use crate::counter::MessageCounter;
    use ctx_format::{Call, Denial, Message, Options, Part, Role, ToolResult};
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

    /// The slices that have tokens.
    fn slices(counts: &Counts) -> Vec<(Slice, u64)> {
        let all = counts.slices();
        let sum: u64 = all.iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(sum, counts.tally.tokens.total());
        all.into_iter().filter(|(_, tokens)| *tokens > 0).collect()
    }

    /// Each part is in one slice by its kind, and text by its author.
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
            id: None,
            name: None,
            is_error: false,
            denial: Denial::None,
            parts: vec![text("12345678"), Part::media("image", "{}")],
            slot: None,
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
            slices(&pass.finish(session.bad()));
        }
    }
}
