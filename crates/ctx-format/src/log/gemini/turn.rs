//! The role of a message among the others of the context.

use std::collections::HashSet;

use super::message::SentMessage;
use super::part;
use crate::log::tree::LineId;
use crate::{Object, Role};

/// A message that the model is sent, as far as the view is concerned.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    User,
    /// Only results of tools: newer clients write such a message in addition to the results in the
    /// reply.
    Results(Vec<LineId>),
    Reply {
        calls: HashSet<LineId>,
        /// Whether results of its own follow it.
        has_results: bool,
        /// Whether the client leaves it out because of an empty part.
        is_void: bool,
        /// Calls without a result in the same record.
        unanswered: Vec<Unanswered>,
    },
}

/// A call without a result.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    pub(super) call: LineId,
    /// Its id, or its name if it has none.
    pub(super) id: String,
}

impl Turn {
    /// `None` if nothing of the message is sent.
    pub(super) fn of(message: &Object<'_>) -> Option<Self> {
        let sent = SentMessage::of(message)?;
        let content = sent.content();
        let names = |key| content.iter().filter_map(move |raw| part::name(raw, key));
        if sent.role == Role::User {
            if sent.is_more_than_results() {
                return Some(Self::User);
            }
            return Some(Self::Results(
                names("functionResponse").map(|name| LineId::of(&name)).collect(),
            ));
        }
        let listed = sent.listed_calls();
        let has_result = |call: &&Object<'_>| !part::list(call.get("result")).is_empty();
        let id = |call: &Object<'_>| LineId::of(&part::name_of(call));
        let answered: HashSet<LineId> = listed.iter().filter(has_result).map(id).collect();
        let in_content: Vec<String> = names("functionCall").collect();
        let mut calls: HashSet<LineId> = in_content.iter().map(|name| LineId::of(name)).collect();
        calls.extend(listed.iter().map(id));
        let called =
            if sent.is_whole() { in_content } else { listed.iter().map(part::name_of).collect() };
        let called = called.into_iter().map(|id| Unanswered { call: LineId::of(&id), id });
        Some(Self::Reply {
            calls,
            has_results: !answered.is_empty(),
            is_void: content.iter().any(|raw| part::is_void(raw)),
            unanswered: called.filter(|it| !answered.contains(&it.call)).collect(),
        })
    }
}
