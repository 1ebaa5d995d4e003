//! The format of a lowered session, which consists of Anthropic API messages. Additional
//! members hold facts that the API's format cannot express: which user messages or parts of them
//! the agent wrote itself, which calls the user denied, and the original form of an image, which
//! decides its price.

use crate::dialect::anthropic::Anthropic;
use crate::dialect::interface::{Dialect, Sniff};
use crate::{Denial, Message, Object, Outline, Part, Rules, Unread};

/// The name of the member that marks user messages written by the agent itself. The value of that
/// member is always `false`.
pub(crate) const IS_REQUEST: &str = "_request";

/// The name of the member that lists the calls denied by the user. The member's value is an object
/// keyed by call id. An id maps to `true` if a field of the source record marks the denial.
pub(crate) const DENIALS: &str = "_denials";

/// The name of the member that holds the range [`Message::added`] as a list of two numbers.
pub(crate) const ADDED: &str = "_added";

/// The name of the member that holds the type of an image or a document in the source record.
/// Another member, [`ORIGINAL`], holds its JSON, in place of the API's `source`.
pub(crate) const ORIGINAL_TYPE: &str = "_type";
pub(crate) const ORIGINAL: &str = "raw";

/// The dialect of a lowered session, which extends [`Anthropic`].
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
        let is_request = object.get(IS_REQUEST) != Some("false");
        let begins_turn = outline.begins_turn && is_request;
        // Ids and texts are those of another format, to which they will be written back.
        Some(Outline { begins_turn, content: None, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let mut message = Anthropic.message(object)?;
        let ends = object.elements_of(ADDED).unwrap_or_default();
        if let [Ok(start), Ok(end)] = ends.iter().map(|raw| raw.parse()).collect::<Vec<_>>()[..] {
            message.added = start..end;
        }
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

    // A lowered session contains only content that has already been read, so there is nothing
    // unreadable to report.
    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn rules(&self) -> Rules {
        Rules { dialect: "", user_first: false, ..self.output_rules() }
    }

    // Not every agent's session must begin with a user message, but a summary may begin any.
    fn output_rules(&self) -> Rules {
        Rules { dialect: "", unique_ids: false, ..Anthropic.rules() }
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
    fn what_a_program_added_stays_so() {
        for (member, added) in [("", 0..0), (",\"_added\":[1,3]", 1..3), (",\"_added\":7", 0..0)] {
            let text = format!("{{\"role\":\"user\",\"content\":\"a\"{member}}}");
            let object = Object::parse(&text).expect("an object");
            assert_eq!(Lowered.message(&object).expect("a message").added, added);
        }
    }

    #[test]
    fn what_an_agent_writes_for_the_user_begins_no_turn() {
        for (member, begins) in [("", true), (",\"_request\":false", false)] {
            let text = format!("{{\"role\":\"user\",\"content\":\"a\"{member}}}");
            let object = Object::parse(&text).expect("an object");
            let outline = Lowered.outline(&object).expect("a message");
            assert_eq!(outline.begins_turn, begins);
        }
    }
}
