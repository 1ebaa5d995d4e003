//! The format of a session that was lowered: Anthropic Messages, with a member that says which
//! messages of the user's are no request of his, but what his agent has written for him.

use std::borrow::Cow;

use ctx_transcript::dialect::{Anthropic, Sniff};
use ctx_transcript::{Dialect, Message, Object, Outline, Role, Rules, Unread};

/// The member, as it is written behind others.
pub(crate) const NO_REQUEST: &str = ",\"_request\":false";

/// The dialect of a session that was lowered to [`Anthropic`].
pub struct Lowered;

impl Dialect for Lowered {
    fn name(&self) -> &'static str {
        Anthropic.name()
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        Anthropic.sniff(object)
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let outline = Anthropic.outline(object)?;
        let is_request = object.get("_request") != Some("false");
        Some(Outline {
            begins_turn: outline.begins_turn && is_request,
            ..outline
        })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        Anthropic.message(object)
    }

    // All of it was read before it was written here.
    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn rules(&self) -> Rules {
        Anthropic.rules()
    }

    fn summary_role(&self, wanted: Role) -> Role {
        Anthropic.summary_role(wanted)
    }

    fn summary_record(&self, role: Role, text: &str) -> String {
        Anthropic.summary_record(role, text)
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        Anthropic.summary_text(object)
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Dialect, Object};

    use super::Lowered;

    #[test]
    fn what_an_agent_writes_for_the_user_begins_no_turn() {
        for (member, begins) in [("", true), (super::NO_REQUEST, false)] {
            let text = format!("{{\"role\":\"user\",\"content\":\"a\"{member}}}");
            let object = Object::parse(&text).expect("an object");
            let outline = Lowered.outline(&object).expect("a message");
            assert_eq!(outline.begins_turn, begins);
        }
    }
}
