//! Token sums over many messages, grouped by role, kind of content and tool.

use std::collections::{BTreeMap, HashMap};

use ctx_format::{Message, Part, Role};
use derive_more::AddAssign;
use serde::Serialize;

use crate::message_counter::{ByKind, MessageCounter, PRIMING};

/// The number of messages, parts or calls with one role, kind or tool, and their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, AddAssign)]
pub struct Share {
    /// The number of messages, parts or calls.
    pub count: u64,
    /// The token count of the messages, parts or calls.
    pub tokens: u64,
}

/// The counts for the messages with one role.
#[derive(Clone, Copy, Debug, Default, AddAssign)]
pub(super) struct OfRole {
    messages: u64,
    pub(super) tokens: ByKind,
}

/// The counts for the messages in one or more conversations.
///
/// Grouped by role, by kind or by tool, the counts always add up to [`Tally::tokens`].
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// The number of conversations.
    pub conversations: u64,
    /// The number of messages.
    pub messages: u64,
    /// The token counts by kind.
    pub tokens: ByKind,
    parts: ByKind,
    pub(super) roles: BTreeMap<Role, OfRole>,
    tools: BTreeMap<String, Share>,
    /// Maps the id of each call without a result to the call's tool. If ids repeat, a result
    /// answers the nearest earlier call with its id.
    open: HashMap<String, String>,
}

impl Tally {
    /// Starts a conversation: counts the tokens that prime its reply, and forgets unanswered calls
    /// from the previous conversation.
    pub fn begin(&mut self) {
        self.conversations += 1;
        self.tokens.overhead += PRIMING;
        self.open.clear();
    }

    /// Counts one message, or a record that continues a message.
    pub fn message(&mut self, counter: &MessageCounter, message: &Message<'_>) -> ByKind {
        let tokens = counter.message_of(message, |part| {
            let tokens = counter.part(part);
            self.part(part, tokens, message.name.as_deref());
            tokens
        });
        let begun = u64::from(!message.continues);
        self.messages += begun;
        self.parts.overhead += begun;
        self.tokens += tokens;
        let role = self.roles.entry(message.role).or_default();
        *role += OfRole { messages: begun, tokens };
        tokens
    }

    /// Counts text that is not a message.
    pub fn text(&mut self, counter: &MessageCounter, text: &str) -> u64 {
        let tokens = counter.text(text);
        self.parts.text += 1;
        self.tokens.text += tokens;
        tokens
    }

    fn part(&mut self, part: &Part<'_>, tokens: ByKind, name: Option<&str>) {
        match part {
            Part::Text(_) | Part::Refusal(_) => self.parts.text += 1,
            Part::Reasoning(_) => self.parts.reasoning += 1,
            Part::Call(call) => {
                self.parts.calls += 1;
                *self.tool(&call.name) += Share { count: 1, tokens: tokens.total() };
                if let Some(id) = &call.id {
                    let (id, tool) = (id.clone().into_owned(), call.name.clone().into_owned());
                    self.open.insert(id, tool);
                }
            }
            Part::Result(result) => {
                self.parts.results += 1;
                for inner in &result.parts {
                    match inner {
                        Part::Media(_) => self.parts.media += 1,
                        Part::Opaque(_) => self.parts.other += 1,
                        _ => {}
                    }
                }
                // If the call is unknown, the tool named in the result counts.
                let called = result.id.as_deref().and_then(|id| self.open.remove(id));
                let named = || result.name.as_deref().or(name).unwrap_or("(unknown)").to_owned();
                let tool = called.unwrap_or_else(named);
                self.tool(&tool).tokens += tokens.total();
            }
            Part::Media(_) => self.parts.media += 1,
            Part::Opaque(_) => self.parts.other += 1,
        }
    }

    fn tool(&mut self, name: &str) -> &mut Share {
        self.tools.entry(name.to_owned()).or_default()
    }

    /// Adds the counts of other conversations.
    pub fn merge(&mut self, other: &Self) {
        self.conversations += other.conversations;
        self.messages += other.messages;
        self.tokens += other.tokens;
        self.parts += other.parts;
        for (role, theirs) in &other.roles {
            *self.roles.entry(*role).or_default() += *theirs;
        }
        for (tool, share) in &other.tools {
            *self.tool(tool) += *share;
        }
    }

    /// Returns a row per role. The row `(other)` counts the tokens that prime replies, and text
    /// outside messages.
    pub fn by_role(&self) -> Vec<(String, Share)> {
        let share = |it: &OfRole| Share { count: it.messages, tokens: it.tokens.total() };
        self.with_rest(self.roles.iter().map(|(role, it)| (role.as_str().to_owned(), share(it))))
    }

    /// Returns a row per kind of part. The count in the overhead row is the number of messages.
    pub fn by_kind(&self) -> Vec<(String, Share)> {
        self.tokens
            .rows()
            .into_iter()
            .zip(self.parts.rows())
            .map(|((kind, tokens), (_, count))| (kind.to_owned(), Share { count, tokens }))
            .filter(|(_, share)| *share != Share::default())
            .collect()
    }

    /// Returns a row per tool, with the number of its calls and the tokens of these calls and their
    /// results. The row `(other)` counts all other tokens.
    pub fn by_tool(&self) -> Vec<(String, Share)> {
        self.with_rest(self.tools.iter().map(|(tool, share)| (tool.clone(), *share)))
    }

    /// Adds a row for the tokens that are not in any of `rows`.
    fn with_rest(&self, rows: impl Iterator<Item = (String, Share)>) -> Vec<(String, Share)> {
        let mut rows: Vec<_> = rows.collect();
        let counted: u64 = rows.iter().map(|(_, share)| share.tokens).sum();
        let tokens = self.tokens.total() - counted;
        if tokens > 0 {
            rows.push(("(other)".to_owned(), Share { count: 0, tokens }));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Call, Message, Part, Role, ToolResult};
    use ctx_tokens::Encoding;

    use super::{Share, Tally};
    use crate::message_counter::MessageCounter;

    fn call(id: &'static str, tool: &'static str) -> Message<'static> {
        Message::new(
            Role::Assistant,
            vec![Part::Call(Call {
                id: Some(id.into()),
                name: tool.into(),
                arguments: "{}".into(),
                slot: None,
            })],
        )
    }

    fn result(id: &'static str, name: Option<&'static str>) -> Message<'static> {
        Message::new(
            Role::Tool,
            vec![Part::Result(ToolResult {
                id: Some(id.into()),
                name: name.map(Into::into),
                parts: vec![Part::Text("hello world".into())],
                ..ToolResult::default()
            })],
        )
    }

    fn tally(messages: &[Message<'_>]) -> Tally {
        let counter = MessageCounter::new(Encoding::O200kBase);
        let mut tally = Tally::default();
        tally.begin();
        for message in messages {
            tally.message(&counter, message);
        }
        tally
    }

    fn rows(rows: &[(String, Share)]) -> Vec<(&str, u64, u64)> {
        rows.iter().map(|(key, share)| (key.as_str(), share.count, share.tokens)).collect()
    }

    #[test]
    fn an_id_that_comes_again_belongs_to_the_nearest_earlier_call() {
        let tally = tally(&[
            call("call_0", "ls"),
            result("call_0", None),
            call("call_0", "cat"),
            result("call_0", None),
            result("call_0", Some("grep")),
            result("lost", None),
        ]);
        assert_eq!(
            rows(&tally.by_tool()),
            [
                ("(unknown)", 0, 2),
                ("cat", 1, 4),
                ("grep", 0, 2),
                ("ls", 1, 4),
                ("(other)", 0, 6 * 4 + 3),
            ]
        );
    }

    #[test]
    fn roles_and_kinds_have_their_rows() {
        let tally = tally(&[call("a", "ls"), result("a", None)]);
        assert_eq!(
            rows(&tally.by_role()),
            [("assistant", 1, 6), ("tool", 1, 6), ("(other)", 0, 3)]
        );
        assert_eq!(
            rows(&tally.by_kind()),
            [("calls", 1, 2), ("results", 1, 2), ("overhead", 2, 11)]
        );
    }

    #[test]
    fn calls_do_not_wait_beyond_their_conversation() {
        let mut tally = tally(&[call("a", "ls")]);
        tally.begin();
        tally.message(&MessageCounter::new(Encoding::O200kBase), &result("a", None));
        assert_eq!(tally.conversations, 2);
        assert!(rows(&tally.by_tool()).contains(&("(unknown)", 0, 2)));
    }
}
