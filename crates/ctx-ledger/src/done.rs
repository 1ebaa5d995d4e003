//! What was done: files, commands, errors and how they ended, lists of tasks.

use std::collections::HashMap;

use crate::runtime;
use ctx_select::prune::{Access, FileUse};
use ctx_transcript::{Call, ToolResult};

use crate::arguments::leaves;
use crate::item::{Item, ItemKind, State};
use crate::items::Items;
use crate::text::{first_chars, one_line};

/// Calls that wait for their results; more than that wait for nothing.
const MOST_WAITING: usize = 1_000;
/// Characters of an error.
const ERROR_CHARS: usize = 240;

/// Follows calls to their results.
#[derive(Debug, Default)]
pub(crate) struct Done {
    waiting: HashMap<String, Pending>,
    /// The last call without an id.
    unnamed: Option<Pending>,
}

#[derive(Clone, Debug)]
struct Pending {
    /// Tool and main argument: what is done again is the same.
    digest: String,
    kind: Option<ItemKind>,
    subject: String,
}

impl Done {
    /// A call is made.
    pub(crate) fn call(&mut self, call: &Call<'_>, line: u64, items: &mut Items) {
        if let Some(tasks) = tasks(call) {
            items.tasks(tasks, line);
        }
        let digest = runtime::digest(call);
        let file = FileUse::of(&call.name, &call.arguments);
        let (kind, subject) = match file {
            Some(file) => {
                items.add(Item {
                    kind: ItemKind::File,
                    text: file.path.clone(),
                    line,
                    state: State::Current,
                    changed: file.access == Access::Write,
                });
                (Some(ItemKind::File), file.path)
            }
            None if is_shell(&call.name) => (Some(ItemKind::Command), digest.clone()),
            None => (None, digest.clone()),
        };
        let pending = Pending {
            digest,
            kind,
            subject,
        };
        match &call.id {
            Some(id) if self.waiting.len() < MOST_WAITING => {
                self.waiting.insert(id.to_string(), pending);
            }
            Some(_) => {}
            None => self.unnamed = Some(pending),
        }
    }

    /// A call is answered.
    pub(crate) fn result(&mut self, result: &ToolResult<'_>, line: u64, items: &mut Items) {
        let waiting = match &result.id {
            Some(id) => self.waiting.remove(id.as_ref()),
            None => self.unnamed.take(),
        };
        let Some(pending) = waiting else {
            return;
        };
        let error = runtime::error(result);
        if pending.kind == Some(ItemKind::Command) {
            items.add(Item {
                kind: ItemKind::Command,
                text: pending.digest.clone(),
                line,
                state: State::Current,
                changed: error.is_none(),
            });
        }
        match error {
            Some(error) => {
                let error = first_chars(&one_line(&error), ERROR_CHARS).to_owned();
                items.failed(&pending.subject, &pending.digest, &error, line);
            }
            None => items.succeeded(&pending.subject),
        }
    }
}

/// Tools that run what they are given.
fn is_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["bash", "shell", "exec", "terminal", "command", "run"]
        .iter()
        .any(|word| tool.contains(word))
}

/// A task of a list, and whether it is done.
pub(crate) struct Task {
    pub(crate) text: String,
    pub(crate) done: bool,
}

/// The list that a call writes down, by the shape of its arguments: the names of
/// tasks, each followed by its status.
fn tasks(call: &Call<'_>) -> Option<Vec<Task>> {
    let name = call.name.to_ascii_lowercase();
    if !(name.contains("todo") || name.contains("plan") || name.contains("task")) {
        return None;
    }
    let mut tasks: Vec<Task> = Vec::new();
    let mut text: Option<String> = None;
    let mut status: Option<bool> = None;
    for leaf in leaves(&call.arguments)? {
        match leaf.key.as_str() {
            "content" | "step" | "task" | "title" => text = Some(one_line(&leaf.value)),
            "status" => {
                status = Some(matches!(
                    leaf.value.as_str(),
                    "completed" | "done" | "cancelled"
                ));
            }
            _ => {}
        }
        if let (Some(_), Some(done)) = (&text, status) {
            let text = text.take().unwrap_or_default();
            status = None;
            tasks.push(Task { text, done });
        }
    }
    (!tasks.is_empty()).then_some(tasks)
}
