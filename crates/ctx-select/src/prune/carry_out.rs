//! A verdict carried out on a message. All was counted when it was decided.

use std::borrow::Cow;

use ctx_transcript::{Call, Edits, Message, Object, Part, ToolResult};

use super::decide::Fate;
use super::reduce::reduced;
use super::shorter::parted;
use super::verdicts::Verdicts;

impl Verdicts<'_> {
    /// The edits of the object that the message of a record was read from, and the message
    /// that would be read from what they make of it, though without places: it is in no
    /// record yet.
    pub fn carry_out<'a>(
        &self,
        record: usize,
        mut message: Message<'a>,
        object: &Object<'a>,
    ) -> (Edits, Message<'a>) {
        let mut edits = Edits::new();
        let Fate::Change {
            reasoning,
            arguments,
        } = self.decisions.fates[record]
        else {
            return (edits, message);
        };
        let mut answers = self.session.answers_of(record);
        for part in &mut message.parts {
            match part {
                Part::Result(result) => {
                    if let Some(answer) = answers.next() {
                        self.replace(answer, result, &mut edits);
                    }
                    result.slot = None;
                }
                Part::Call(call) => {
                    if arguments {
                        self.shorten(call, &mut edits);
                    }
                    call.slot = None;
                }
                _ => {}
            }
        }
        if reasoning {
            for place in &message.reasoning {
                edits.cut(place.clone());
            }
            let parts = std::mem::take(&mut message.parts).into_iter();
            let left = parts.filter(|part| !message.is_cut_as_reasoning(part, object));
            message.parts = left.collect();
            message.sealed = 0;
        }
        message.reasoning = Vec::new();
        (edits, message)
    }

    fn replace(&self, answer: usize, result: &mut ToolResult<'_>, edits: &mut Edits) {
        let policy = self.questions.policy;
        let (Some(change), Some(slot), Some(old)) =
            (self.decisions.changes[answer], &result.slot, result.text())
        else {
            return;
        };
        let (body, earlier) = parted(&old);
        let reduced = || reduced(policy, body, earlier.is_some());
        let new = match change.note {
            Some(reason) => Some(reason.note(policy).to_owned()),
            None => reduced().map(|(_, text)| text),
        };
        if let Some(new) = new {
            let text = self.session.handle(answer, policy.saved).behind(&new);
            edits.put(slot, &text);
            result.parts = vec![Part::Text(Cow::Owned(text))];
        }
    }

    fn shorten(&self, call: &mut Call<'_>, edits: &mut Edits) {
        let (policy, counter) = (self.questions.policy, &self.questions.counter);
        let new = policy.shorter_arguments(&call.arguments, counter);
        if let (Some(slot), Some(new)) = (&call.slot, new) {
            edits.put(slot, &new.text);
            call.arguments = Cow::Owned(new.text);
        }
    }
}
