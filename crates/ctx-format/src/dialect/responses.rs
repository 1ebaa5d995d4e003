//! OpenAI Responses, one item a record: what a program keeps that sends the whole input
//! with each request.

use std::borrow::Cow;

use super::{Dialect, Sealed, Sniff, items, summary_by_line, summary_text};
use crate::repair::RepairDialect;
use crate::rules::{PairBy, Results};
use crate::{Log, Message, Object, Outline, Role, Rules, Unread, Usage};

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
        let outline = items::outline(object)?;
        let is_summary = summary_text(object).is_some();
        Some(Outline { is_summary, begins_turn: outline.begins_turn && !is_summary, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let role = items::outline(object)?.role;
        Some(Message::new(role, items::parts(object, object)))
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        items::unread(self.name(), object)
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        items::sealed_in(std::slice::from_ref(object))
    }

    fn usage(&self, _: &Object<'_>) -> Option<Usage> {
        None
    }

    fn model<'a>(&self, _: &Object<'a>) -> Option<Cow<'a, str>> {
        None
    }

    fn is_linked(&self) -> bool {
        // A reasoning item and the one that follows it are refused without each other.
        true
    }

    fn rules(&self) -> Rules {
        Rules {
            results: Results::Later,
            pair_by: PairBy::Id,
            merges_roles: false,
            system_apart: true,
            user_first: false,
        }
    }

    fn repair(&self) -> Option<&dyn RepairDialect> {
        None
    }

    fn log(&self) -> Option<&dyn Log> {
        None
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        summary_by_line(text)
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        summary_text(object)
    }
}

#[cfg(test)]
mod tests;
