//! A call and its result in short: which file, which command, which error.

use ctx_select::prune::{Access, FileUse};
use ctx_transcript::{Call, ToolResult};

use crate::arguments::Leaf;
use crate::runtime;
use crate::task::{Task, tasks};
use crate::text::{first_chars, one_line};

/// Longest error, in characters.
const ERROR_CHARS: usize = 240;

/// What a call does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Action {
    /// The call's id.
    pub(crate) id: Option<String>,
    /// Tool and main argument: a call that is made again has the same.
    pub(crate) digest: String,
    pub(crate) target: Target,
    /// The list of tasks that it writes down.
    pub(crate) tasks: Option<Vec<Task>>,
}

/// What a call works on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File { path: String, is_changed: bool },
    Command,
    Other,
}

impl Action {
    /// `leaves`: those of the call's arguments; none where they are no JSON.
    pub(crate) fn of(call: &Call<'_>, leaves: Option<&[Leaf]>) -> Self {
        let target = match FileUse::of(&call.name, &call.arguments) {
            Some(file) => Target::File {
                path: file.path,
                is_changed: file.access == Access::Write,
            },
            None if is_shell(&call.name) => Target::Command,
            None => Target::Other,
        };
        Self {
            id: call.id.as_ref().map(ToString::to_string),
            digest: runtime::digest(call),
            target,
            tasks: leaves.and_then(|leaves| tasks(call, leaves)),
        }
    }
}

/// How a call ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The id of the call.
    pub(crate) id: Option<String>,
    /// The error that the result reports.
    pub(crate) error: Option<String>,
}

impl Outcome {
    pub(crate) fn of(result: &ToolResult<'_>) -> Self {
        let error = runtime::error(result);
        Self {
            id: result.id.as_ref().map(ToString::to_string),
            error: error.map(|error| first_chars(&one_line(&error), ERROR_CHARS).to_owned()),
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
