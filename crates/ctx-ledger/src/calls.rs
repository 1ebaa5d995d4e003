//! Calls and how they ended: files, commands, errors.

use std::collections::HashMap;

use crate::action::{Action, Outcome, Target};
use crate::item::{Item, ItemKind, State};
use crate::items::Items;

/// Calls that wait for their results; more than that wait for nothing.
const MOST_WAITING: usize = 1_000;

/// Follows calls to their results.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    waiting: HashMap<String, Waiting>,
    /// The last call without an id.
    unnamed: Option<Waiting>,
}

/// A call without its result.
#[derive(Debug)]
struct Waiting {
    digest: String,
    is_command: bool,
    /// What an error is about: a path, else the digest.
    subject: String,
}

impl Calls {
    /// A call is made.
    pub(crate) fn begin(&mut self, action: Action, line: u64, items: &mut Items) {
        if let Some(tasks) = action.tasks {
            items.tasks(tasks, line);
        }
        let is_command = action.target == Target::Command;
        let subject = match action.target {
            Target::File { path, is_changed } => {
                items.add(Item {
                    kind: ItemKind::File,
                    text: path.clone(),
                    line,
                    state: State::Current,
                    changed: is_changed,
                });
                path
            }
            Target::Command | Target::Other => action.digest.clone(),
        };
        let call = Waiting {
            digest: action.digest,
            is_command,
            subject,
        };
        match action.id {
            Some(id) if self.waiting.len() < MOST_WAITING => {
                self.waiting.insert(id, call);
            }
            Some(_) => {}
            None => self.unnamed = Some(call),
        }
    }

    /// A call is answered.
    pub(crate) fn end(&mut self, outcome: Outcome, line: u64, items: &mut Items) {
        let waiting = match &outcome.id {
            Some(id) => self.waiting.remove(id),
            None => self.unnamed.take(),
        };
        let Some(call) = waiting else {
            return;
        };
        if call.is_command {
            items.add(Item {
                kind: ItemKind::Command,
                text: call.digest.clone(),
                line,
                state: State::Current,
                changed: outcome.error.is_none(),
            });
        }
        match outcome.error {
            Some(error) => items.failed(&call.subject, &call.digest, &error, line),
            None => items.succeeded(&call.subject),
        }
    }
}
