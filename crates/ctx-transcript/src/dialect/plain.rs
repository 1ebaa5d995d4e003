//! Messages of text alone: legal in more than one format, and nothing tells which.

use std::borrow::Cow;

use super::{Anthropic, Chat, Dialect, Sealed, Sniff, summary_by_line, summary_text};
use crate::repair::RepairDialect;
use crate::{Message, Object, Outline, Role, Rules, Unread};

/// A session that could be `chat` and could be `anthropic`: what is written for it, both
/// accept. It goes by the name of the first, which it is read as.
pub struct Plain;

impl Plain {
    /// Who knows how to read a record. A session is only plain while no record of it is
    /// certain, but a reader that could not look at all of it may still meet one.
    fn reader(object: &Object<'_>) -> &'static dyn Dialect {
        match Anthropic.sniff(object) {
            Sniff::Yes => &Anthropic,
            _ => &Chat,
        }
    }
}

impl Dialect for Plain {
    fn name(&self) -> &'static str {
        Chat.name()
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        Chat.sniff(object).min(Anthropic.sniff(object))
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        Self::reader(object).outline(object)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        Self::reader(object).message(object)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        Self::reader(object).unread(object)
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        Self::reader(object).sealed(object)
    }

    fn rules(&self) -> Rules {
        Chat.rules()
    }

    fn output_rules(&self) -> Rules {
        Rules {
            user_first: Anthropic.rules().user_first,
            ..self.rules()
        }
    }

    fn is_certain(&self) -> bool {
        false
    }

    fn repair(&self) -> Option<&dyn RepairDialect> {
        Chat.repair()
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        summary_by_line(text)
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        summary_text(object)
    }
}

#[cfg(test)]
mod tests {
    use super::Plain;
    use crate::dialect::{Anthropic, Chat, Dialect, Sniff};
    use crate::{Object, Role};

    /// D2: the Anthropic API refuses a message with a `name`.
    #[test]
    fn a_summary_is_one_that_every_format_accepts() {
        for role in [Role::User, Role::Assistant, Role::System] {
            let role = Plain.summary_role(role);
            let text = Plain.summary_record(role, "it began");
            let record = Object::parse(&text).expect("an object");
            let keys: Vec<_> = record.members().iter().map(|it| it.key.clone()).collect();
            assert_eq!(keys, ["role", "content"]);
            assert_eq!(record.get("role"), Some("\"user\""));
            assert_eq!(Chat.sniff(&record), Sniff::Maybe);
            assert_eq!(Anthropic.sniff(&record), Sniff::Maybe);
        }
    }

    #[test]
    fn a_record_that_is_certain_is_read_by_who_knows_it() {
        let block = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}"#;
        let tool = r#"{"role":"tool","tool_call_id":"c","content":"x"}"#;
        for (text, id) in [(block, "t"), (tool, "c")] {
            let object = Object::parse(text).expect("an object");
            assert_eq!(Plain.outline(&object).expect("a message").results, [id]);
            let message = Plain.message(&object).expect("a message");
            assert_eq!(message.results().count(), 1);
        }
    }
}
