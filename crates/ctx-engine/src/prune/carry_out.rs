//! Carries out the verdict on a record.

use std::borrow::Cow;

use ctx_format::{Call, Dialect, Edits, Message, Object, Part, Record, ToolResult};
use ctx_policy::Rule;

use super::decide::Verdict;
use super::shorten::{shorten, shorten_arguments};
use super::{Options, Verdicts};
use crate::placeholder::split_handle;

/// The bytes of a record that changes, and its message then; `None` if it does not change.
pub(crate) fn changed_record<'r>(
    verdicts: &Verdicts<'_>,
    index: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Vec<u8>, Message<'r>)> {
    let (edits, message) = record_edits(verdicts, index, record, dialect)?;
    Some((record.edited(&edits), message))
}

/// The edits of a record that changes, and its message then. A second copy of a text for the
/// agent's screen is cut if the text changes.
pub(super) fn record_edits<'r>(
    verdicts: &Verdicts<'_>,
    index: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Edits, Message<'r>)> {
    if !verdicts.is_changed(index) {
        return None;
    }
    let object = record.whole_object()?;
    let message = record.message(Some(dialect))?;
    let (mut edits, message) = verdicts.message_edits(index, message, object);
    for copy in dialect.second_copies(object) {
        if edits.touch(&copy.of) {
            edits.cut(copy.cut);
        }
    }
    Some((edits, message))
}

/// Whether the verdict on a record changes the context that later signed reasoning is bound to.
/// Dropping reasoning does not.
pub(crate) fn changes_context(verdicts: &Verdicts<'_>, index: usize) -> bool {
    verdicts.freed(index).iter().any(|freed| freed.rule != Rule::Reasoning)
}

impl Verdicts<'_> {
    /// The edits of the object that a message was read from, and the message after them. Its parts
    /// have no positions, since it is in no record yet.
    pub fn message_edits<'a>(
        &self,
        record: usize,
        mut message: Message<'a>,
        object: &Object<'a>,
    ) -> (Edits, Message<'a>) {
        let mut edits = Edits::new();
        let Verdict::Change { reasoning, arguments } = self.decisions.records[record] else {
            return (edits, message);
        };
        let mut results = self.facts.results_of(record);
        for part in &mut message.parts {
            match part {
                Part::Result(result) => {
                    if let Some(index) = results.next() {
                        self.replace_result(index, result, &mut edits);
                    }
                    result.slot = None;
                }
                Part::Call(call) => {
                    if arguments {
                        self.shorten_call(call, &mut edits);
                    }
                    call.slot = None;
                }
                _ => {}
            }
        }
        if reasoning {
            for range in &message.reasoning {
                edits.cut(range.clone());
            }
            let parts = std::mem::take(&mut message.parts).into_iter();
            let left = parts.filter(|part| !message.is_cut_as_reasoning(part, object));
            message.parts = left.collect();
            message.sealed = 0;
        }
        message.reasoning = Vec::new();
        (edits, message)
    }

    fn replace_result(&self, index: usize, result: &mut ToolResult<'_>, edits: &mut Edits) {
        let (Some(replacement), Some(slot), Some(old)) =
            (self.decisions.results[index], &result.slot, result.text())
        else {
            return;
        };
        let new = if let Some(reason) = replacement.reason {
            reason.note(self.options).to_owned()
        } else {
            let (body, earlier) = split_handle(&old);
            let Some((_, text)) = shorten(self.options, body, earlier.is_some()) else {
                return;
            };
            text
        };
        let text = self.facts.handle(index, self.options.saved).behind(&new);
        edits.put(slot, &text);
        result.parts = vec![Part::Text(Cow::Owned(text))];
    }

    fn shorten_call(&self, call: &mut Call<'_>, edits: &mut Edits) {
        let Options { argument_chars, saved, .. } = *self.options;
        if let Some(slot) = &call.slot
            && let Some(max_chars) = argument_chars
            && let Some(new) = shorten_arguments(&call.arguments, max_chars, saved, &self.counter)
        {
            edits.put(slot, &new.text);
            call.arguments = Cow::Owned(new.text);
        }
    }
}
