//! The new session, prepared for searches.

use std::borrow::Cow;
use std::collections::HashSet;

use ctx_format::{Handle, Message, Part, ToolResult, Zone};
use ctx_redact::redact;
use ctx_text::one_line;

use crate::ledger::json::Arguments;
use crate::ledger::{ItemKind, Ledger};

/// The new session: its texts, and the items that its own ledger finds.
///
/// Some items are the ledger's wording of an exchange, `Bash: cargo test: error: …`:
/// where the exchange stays, the words stand nowhere, and the item is there.
#[derive(Debug, Default)]
pub struct After {
    /// Everything that its messages say, as [`add`] has it.
    text: String,
    ledger: Ledger,
}

impl After {
    /// The next message.
    pub fn push(&mut self, message: &Message<'_>) {
        add_parts(&mut self.text, &message.parts);
        self.ledger.push(0, message, Zone::Old);
    }

    /// All of its texts, one a line, white space folded, without secrets.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The handles in it.
    pub fn handles(&self) -> Vec<Handle> {
        let starts = self.text.match_indices("⟦ctx:").map(|(at, _)| &self.text[at..]);
        let handle = |text: &str| Handle::parse(text.split_inclusive('⟧').next()?);
        starts.filter_map(handle).collect()
    }

    /// Whether it has an identifier, also one that only its ledger tells from what
    /// it is written together with.
    pub(super) fn knows(&self, identifier: &str) -> bool {
        self.ledger.index().knows(identifier)
    }

    pub(super) fn items(&self) -> HashSet<(ItemKind, &str)> {
        let items = self.ledger.items().iter();
        items.map(|item| (item.kind, item.text.as_str())).collect()
    }
}

/// One more text, on one line, without secrets: as the ledger has its items.
pub(super) fn add(all: &mut String, text: &str) {
    let (clean, _) = redact(text);
    all.push_str(&one_line(&clean));
    all.push('\n');
}

fn add_parts(all: &mut String, parts: &[Part<'_>]) {
    for part in parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => add(all, text),
            Part::Call(call) => {
                add(all, &call.name);
                let Some(arguments) = Arguments::parse(&call.arguments) else {
                    add(all, &call.arguments);
                    continue;
                };
                let values = arguments.leaves.iter().map(|leaf| &leaf.value);
                let texts = arguments.keys.iter().chain(values);
                texts.for_each(|text| add(all, text));
            }
            Part::Result(result) => add_parts(all, &result.parts),
            Part::Reasoning(_) | Part::Media(_) | Part::Opaque(_) => {}
        }
    }
}

/// The texts of a message that a handle can stand for: each result as a whole, and
/// each text.
pub(super) fn originals<'m>(message: &'m Message<'_>) -> Vec<Cow<'m, str>> {
    let mut found: Vec<_> = message.results().filter_map(ToolResult::text).collect();
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(Cow::Borrowed(text.as_ref())),
        _ => None,
    });
    found.extend(texts);
    found
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Part, Role, ShortHash};

    use super::{After, originals};
    use crate::ledger::ItemKind;
    use crate::ledger::fixtures::{answers, calls, result, says};

    fn after(messages: &[Message<'_>]) -> After {
        let mut after = After::default();
        for message in messages {
            after.push(message);
        }
        after
    }

    #[test]
    fn texts_arguments_and_results_are_lines() {
        let after = after(&[
            says(Role::User, "one\n  two\t三"),
            calls("Read", r#"{"path":"a.rs","range":{"from":3}}"#),
            answers("fn  a()"),
            calls("Bash", "not JSON"),
        ]);
        assert_eq!(
            after.as_str(),
            "one two 三\nRead\npath\nrange\nfrom\na.rs\n3\nfn a()\nBash\nnot JSON\n"
        );
        assert!(after.items().contains(&(ItemKind::File, "a.rs")));
        assert!(after.knows("a.rs") && !after.knows("b.rs"));
    }

    #[test]
    fn what_nobody_reads_is_not_searched() {
        let hidden = Message::new(Role::Assistant, vec![Part::Reasoning("hidden".into())]);
        let after = after(&[hidden, Message::new(Role::User, vec![])]);
        assert_eq!(after.as_str(), "");
        assert!(after.handles().is_empty() && after.items().is_empty());
    }

    #[test]
    fn handles_are_found_where_they_are_whole() {
        let hash = ShortHash::of("the original");
        let text = format!(
            "⟦ctx: Read a, all 12 bytes: ctx-offload --show {hash}⟧ and ⟦ctx:no handle⟧ and ⟦ctx: all 12 bytes"
        );
        let after = after(&[says(Role::User, &text)]);
        let handles = after.handles();
        assert_eq!(handles.len(), 1);
        assert_eq!((handles[0].hash, handles[0].bytes), (hash, 12));
    }

    #[test]
    fn secrets_are_not_searched() {
        let secret = ["sk-proj-", "aB3dE5gH7jK9mN1pQ2rS4tU6"].concat();
        let after = after(&[says(Role::User, &format!("the key {secret} is new"))]);
        assert!(!after.as_str().contains(&secret));
        assert!(after.as_str().ends_with("is new\n"));
    }

    #[test]
    fn a_handle_may_stand_for_a_result_or_a_text() {
        let mut message = says(Role::User, "a text");
        message.parts.push(Part::Result(result("a result")));
        message.parts.push(Part::Reasoning("not this".into()));
        assert_eq!(originals(&message), ["a result", "a text"]);
        assert!(originals(&Message::new(Role::User, vec![])).is_empty());
    }
}
