//! OpenAI Responses items, one per record, as stored by programs that send the whole input with
//! each request.

use crate::dialect::content::summary_text;
use crate::dialect::interface::{Dialect, Sealed, Sniff};
use crate::dialect::items;
use crate::legality::content::{Mend, Names};
use crate::repair::RecordChange;
use crate::{Message, Object, Outline, Unread};

/// The dialect `responses`.
pub struct Responses;

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        if items::is_own(object) { Sniff::Yes } else { Sniff::No }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let mut outline = self.exchange(object)?;
        items::check(object, &mut outline);
        Some(outline)
    }

    fn exchange<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let outline = items::outline(object)?;
        let is_summary = summary_text(object).is_some();
        Some(Outline { is_summary, begins_turn: outline.begins_turn && !is_summary, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        items::message_of(object, object)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        items::unread(self.name(), object)
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        items::sealed_in(std::slice::from_ref(object))
    }

    fn is_linked(&self) -> bool {
        // The API rejects a reasoning item without the item that follows it, and vice versa.
        true
    }

    fn names(&self) -> Names {
        Names { calls: items::CALL_ID, tools: items::TOOL }
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        items::mend(object, mend);
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        items::changed(object, object, change).of_object(object)
    }

    fn missing_result(&self, call: &Object<'_>, id: &str) -> Option<String> {
        items::missing_result(call, id)
    }
}

#[cfg(test)]
mod tests;
