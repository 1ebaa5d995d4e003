//! A verdict carried out on a message. All was counted when it was decided.

use std::borrow::Cow;

use ctx_transcript::{Call, Edits, Message, Object, Part, ToolResult};

use super::replace::parted;
use super::verdict::{CallArguments, Changes, NewText};

impl Changes<'_> {
    /// The edits of the object that a message was read from, and the message that would
    /// be read from what they make of it, though without places: it is in no record yet.
    pub fn carry_out<'a>(
        &self,
        mut message: Message<'a>,
        object: &Object<'a>,
    ) -> (Edits, Message<'a>) {
        let mut edits = Edits::new();
        let mut results = self.results.iter();
        let mut arguments = self.arguments.iter().peekable();
        let mut calls = 0;
        for part in &mut message.parts {
            match part {
                Part::Result(result) => {
                    if let Some(Some(new)) = results.next() {
                        self.replace(result, new, &mut edits);
                    }
                    result.slot = None;
                }
                Part::Call(call) => {
                    if let Some(new) = arguments.next_if(|new| new.call == calls) {
                        self.shorten(call, new, &mut edits);
                    }
                    call.slot = None;
                    calls += 1;
                }
                _ => {}
            }
        }
        if self.reasoning {
            for place in &message.reasoning {
                edits.cut(place.clone());
            }
            let parts = std::mem::take(&mut message.parts).into_iter();
            let left = parts.filter(|part| !message.is_cut_as_reasoning(part, object));
            message.parts = left.collect();
        }
        message.reasoning = Vec::new();
        (edits, message)
    }

    fn replace(&self, result: &mut ToolResult<'_>, new: &NewText, edits: &mut Edits) {
        let (Some(slot), Some(old)) = (&result.slot, result.text()) else {
            return;
        };
        let new = match new {
            NewText::Note(text) => Some(text.clone()),
            NewText::Reduced(handle) => {
                let (body, earlier) = parted(&old);
                let reduced = self.policy.reduced(body, earlier.is_some());
                reduced.map(|(_, short)| handle.behind(&short))
            }
        };
        if let Some(text) = new {
            edits.put(slot, &text);
            result.parts = vec![Part::Text(Cow::Owned(text))];
        }
    }

    fn shorten(&self, call: &mut Call<'_>, new: &CallArguments, edits: &mut Edits) {
        let text = self.policy.shorten_arguments(&call.arguments, &new.shorter);
        if let (Some(slot), Some(text)) = (&call.slot, text) {
            edits.put(slot, &text);
            call.arguments = Cow::Owned(text);
        }
    }
}
