//! Measuring a session's size, message by message.

use ctx_transcript::{Message, Outline, Part, ToolResult};

use crate::count::{MessageCounter, PRIMING};
use crate::trigger::Size;

impl Size {
    /// Adds a message, or a further fragment of one, of which only the number matters.
    pub fn add_outline(&mut self, outline: &Outline<'_>) {
        self.messages += u64::from(!outline.role.is_system() && outline.begins_message());
        self.turns += u64::from(outline.begins_turn);
    }

    /// Adds a message with its tokens and the bytes of its tool results. The sum
    /// of tokens is what `ctx-count` says of the session. Returns those of the message.
    pub fn add(
        &mut self,
        outline: &Outline<'_>,
        message: &Message<'_>,
        counter: &MessageCounter,
    ) -> u64 {
        if self.tokens == 0 {
            self.tokens = PRIMING;
        }
        self.add_outline(outline);
        let tokens = counter.message(message).total();
        self.tokens += tokens;
        self.tool_bytes += tool_bytes(message);
        tokens
    }
}

/// Bytes of the text in the tool results of a message; of a part of an unknown
/// kind, of its JSON text.
pub fn tool_bytes(message: &Message<'_>) -> u64 {
    message.results().map(result_bytes).sum()
}

/// Bytes of the text in one tool result.
pub(crate) fn result_bytes(result: &ToolResult<'_>) -> u64 {
    result.parts.iter().map(text_bytes).sum()
}

fn text_bytes(part: &Part<'_>) -> u64 {
    let length = match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => text.len(),
        Part::Opaque(raw) => raw.len(),
        Part::Media(_) | Part::Call(_) | Part::Result(_) => 0,
    };
    length as u64
}

#[cfg(test)]
mod tests {
    use ctx_tokens::Encoding;
    use ctx_transcript::dialect::{Anthropic, Chat};
    use ctx_transcript::{Dialect, Object};

    use crate::count::MessageCounter;
    use crate::tally::Tally;
    use crate::trigger::Size;

    fn measured(dialect: &dyn Dialect, records: &[&str]) -> Size {
        let counter = MessageCounter::new(Encoding::default());
        let (mut size, mut tally) = (Size::default(), Tally::default());
        if !records.is_empty() {
            tally.begin();
        }
        for text in records {
            let object = Object::parse(text).expect("an object");
            let outline = dialect.outline(&object).expect("a message");
            let message = dialect.message(&object).expect("a message");
            size.add(&outline, &message, &counter);
            tally.message(&counter, &message);
        }
        assert_eq!(size.tokens, tally.tokens.total());
        size
    }

    #[test]
    fn messages_turns_and_results_are_counted() {
        let chat = measured(
            &Chat,
            &[
                r#"{"role":"system","content":"be brief"}"#,
                r#"{"role":"user","content":"ls"}"#,
                r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#,
                r#"{"role":"tool","tool_call_id":"a","content":"a\n中"}"#,
                r#"{"role":"user","content":"and?"}"#,
            ],
        );
        assert_eq!((chat.messages, chat.turns, chat.tool_bytes), (4, 2, 5));
        let blocks = measured(
            &Anthropic,
            &[
                r#"{"role":"user","content":"look"}"#,
                r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#,
                r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"four"},{"type":"image","source":{}},{"a":1}]}]}"#,
            ],
        );
        assert_eq!((blocks.messages, blocks.turns), (3, 1));
        assert_eq!(blocks.tool_bytes, 4 + 7);
    }

    #[test]
    fn nothing_has_no_size() {
        assert_eq!(measured(&Chat, &[]), Size::default());
    }
}
