//! What a message is among the others of the context.

use std::collections::HashSet;

use super::message::Said;
use super::part;
use crate::dialect::key::Key;
use crate::{Object, Role};

/// Where a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The number of its record, from 0.
    pub(super) record: usize,
    /// Its number in there, from 0: those that no model is sent do not count.
    pub(super) number: usize,
}

/// A message that the model is sent, as far as the view has to know it.
#[derive(Clone, Debug)]
pub(super) enum Turn {
    /// The user's.
    User,
    /// What tools have answered, and nothing else: a client of the new form writes it besides
    /// the results in the reply.
    Results(Vec<Key>),
    /// The model's.
    Reply {
        calls: HashSet<Key>,
        /// Whether results of its own follow it.
        has_results: bool,
        /// Whether the client leaves it out for a part that is nothing.
        is_void: bool,
        /// Calls without a result in the same record.
        unanswered: Vec<Unanswered>,
    },
}

/// A call without a result.
#[derive(Clone, Debug)]
pub(super) struct Unanswered {
    pub(super) key: Key,
    /// Its id, or its name where it has none.
    pub(super) id: String,
}

impl Turn {
    /// `None` when nothing of the message is sent.
    pub(super) fn of(message: &Object<'_>) -> Option<Self> {
        let said = Said::of(message)?;
        let content = said.content();
        let names = |key| {
            let names = content.iter().filter_map(move |raw| part::name(raw, key));
            names.map(|name| Key::of(&name))
        };
        if said.role == Role::User {
            return Some(if said.is_more_than_results() {
                Self::User
            } else {
                Self::Results(names("functionResponse").collect())
            });
        }
        let listed = said.listed_calls();
        let answered: HashSet<Key> = listed
            .iter()
            .filter(|call| !part::list(call.get("result")).is_empty())
            .map(|call| Key::of(&part::name_of(call)))
            .collect();
        let of_content = content
            .iter()
            .filter_map(|raw| part::name(raw, "functionCall"));
        let sent: Vec<String> = if said.is_whole() {
            of_content.collect()
        } else {
            listed.iter().map(part::name_of).collect()
        };
        let sent = sent.into_iter().map(|id| Unanswered {
            key: Key::of(&id),
            id,
        });
        let mut calls: HashSet<Key> = names("functionCall").collect();
        calls.extend(listed.iter().map(|call| Key::of(&part::name_of(call))));
        let has_result = |call: &Object<'_>| !part::list(call.get("result")).is_empty();
        Some(Self::Reply {
            calls,
            has_results: listed.iter().any(has_result),
            is_void: content.iter().any(|raw| part::is_void(raw)),
            unanswered: sent.filter(|call| !answered.contains(&call.key)).collect(),
        })
    }
}
