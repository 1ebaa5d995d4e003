//! The format of a session that was lowered: Anthropic Messages, with what only the agent's own
//! records say in members of their own: which of the user's messages the agent wrote, and
//! which calls the user denied.

use std::borrow::Cow;

use crate::dialect::{Anthropic, Sealed, Sniff};
use crate::repair::RepairDialect;
use crate::{Denial, Dialect, Log, Message, Object, Outline, Part, Role, Rules, Unread, Usage};

/// The member, as it is written after others.
pub(crate) const NO_REQUEST: &str = ",\"_request\":false";

/// The member with the denied calls: `{"id": true}` where the denial is marked.
pub(crate) const DENIALS: &str = "_denials";

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
        Some(Outline { begins_turn: outline.begins_turn && is_request, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let mut message = Anthropic.message(object)?;
        if let Some(denials) = object.object_of(DENIALS) {
            for part in &mut message.parts {
                if let Part::Result(result) = part {
                    let marked = result.id.as_deref().and_then(|id| denials.get(id));
                    result.denial = match marked {
                        Some("true") => Denial::Marked,
                        Some(_) => Denial::Reported,
                        None => Denial::None,
                    };
                }
            }
        }
        Some(message)
    }

    // All of it was read before it was written here.
    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn sealed(&self, _: &Object<'_>) -> Sealed {
        Sealed::default()
    }

    fn usage(&self, _: &Object<'_>) -> Option<Usage> {
        None
    }

    fn model<'a>(&self, _: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    fn rules(&self) -> Rules {
        Anthropic.rules()
    }

    fn repair(&self) -> Option<&dyn RepairDialect> {
        None
    }

    fn log(&self) -> Option<&dyn Log> {
        None
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
    use crate::{Denial, Dialect, Object};

    use super::Lowered;

    #[test]
    fn a_denied_call_stays_denied() {
        let result = |id| format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}"#);
        let text = format!(
            r#"{{"role":"user","content":[{},{}],"_denials":{{"b":true}}}}"#,
            result("a"),
            result("b")
        );
        let object = Object::parse(&text).expect("an object");
        let message = Lowered.message(&object).expect("a message");
        let denials: Vec<Denial> = message.results().map(|result| result.denial).collect();
        assert_eq!(denials, [Denial::None, Denial::Marked]);
    }

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
