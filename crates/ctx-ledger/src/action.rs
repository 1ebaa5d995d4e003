//! A call and its result in short: which file, which command, which tasks, which error.

use ctx_select::prune::{Access, FileUse};
use ctx_transcript::{Call, ToolResult};

use crate::arguments::Leaf;
use crate::item::State;
use crate::runtime;
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
    /// `clean`: the call's arguments without secrets. `leaves`: those of the arguments; none
    /// where they are no JSON.
    pub(crate) fn of(call: &Call<'_>, clean: &str, leaves: Option<&[Leaf]>) -> Self {
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
            digest: runtime::digest_of(call, clean),
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

/// A task of a list, and how it stands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) text: String,
    pub(crate) state: State,
}

/// The list that a call writes down, by the shape of its arguments: the names of
/// tasks, each followed by its status.
pub(crate) fn tasks(call: &Call<'_>, leaves: &[Leaf]) -> Option<Vec<Task>> {
    let name = call.name.to_ascii_lowercase();
    if !(name.contains("todo") || name.contains("plan") || name.contains("task")) {
        return None;
    }
    let mut tasks: Vec<Task> = Vec::new();
    let mut text: Option<String> = None;
    let mut status: Option<State> = None;
    for leaf in leaves {
        match leaf.key.as_str() {
            "content" | "step" | "task" | "title" => text = Some(one_line(&leaf.value)),
            "status" => {
                status = Some(match leaf.value.as_str() {
                    "completed" | "done" => State::Done,
                    "cancelled" => State::Superseded,
                    "in_progress" => State::InProgress,
                    _ => State::Current,
                });
            }
            _ => {}
        }
        if let (Some(_), Some(state)) = (&text, status) {
            let text = text.take().unwrap_or_default();
            status = None;
            tasks.push(Task { text, state });
        }
    }
    (!tasks.is_empty()).then_some(tasks)
}

#[cfg(test)]
mod tests {
    use super::{Action, ERROR_CHARS, Outcome, Target, Task, tasks};
    use crate::arguments::Leaf;
    use crate::fixtures::{call, leaves, result};
    use crate::item::State;

    fn target(tool: &str, arguments: &str) -> Target {
        let leaves = leaves(arguments);
        Action::of(
            &call(Some("c"), tool, arguments),
            arguments,
            leaves.as_deref(),
        )
        .target
    }

    fn error(text: &str) -> Option<String> {
        Outcome::of(&result(text)).error
    }

    #[test]
    fn what_a_call_works_on_is_known_by_tool_and_arguments() {
        let file = |is_changed| Target::File {
            path: "src/甲.rs".to_owned(),
            is_changed,
        };
        let path = r#"{"file_path":"./src/甲.rs"}"#;
        assert_eq!(target("Read", path), file(false));
        assert_eq!(target("Write", path), file(true));
        assert_eq!(target("Bash", r#"{"command":"ls"}"#), Target::Command);
        assert_eq!(target("run_in_TERMINAL", "{}"), Target::Command);
        assert_eq!(target("get_weather", r#"{"city":"Oslo"}"#), Target::Other);
        assert_eq!(target("", ""), Target::Other);
    }

    #[test]
    fn arguments_that_are_no_json_are_quoted_and_hold_no_tasks() {
        let call = call(None, "todo_bash", "ls -l");
        let action = Action::of(&call, &call.arguments, None);
        assert_eq!(
            (action.id, action.digest.as_str()),
            (None, "todo_bash: ls -l")
        );
        assert_eq!((action.target, action.tasks), (Target::Command, None));
    }

    #[test]
    fn a_list_of_tasks_is_read() {
        let list = r#"{"todos":[{"content":"one","status":"done"}]}"#;
        let leaves = leaves(list);
        let action = Action::of(&call(Some("c"), "TodoWrite", list), list, leaves.as_deref());
        assert_eq!(action.id.as_deref(), Some("c"));
        let tasks = action.tasks.expect("a list");
        assert!(tasks.len() == 1 && tasks[0].state == State::Done && tasks[0].text == "one");
    }

    #[test]
    fn an_error_is_on_one_line_and_not_too_long() {
        assert_eq!(error("all is well"), None);
        assert_eq!(error(""), None);
        assert_eq!(
            error("Error: no\tsuch   file").as_deref(),
            Some("Error: no such file")
        );
        for word in ["x", "错", "错 误 "] {
            let text = format!("Error: {}", word.repeat(2 * ERROR_CHARS));
            let error = error(&text).expect("an error");
            assert!(error.chars().count() <= ERROR_CHARS, "{error}");
            assert!(error.starts_with("Error: "), "{error}");
        }
    }

    #[test]
    fn a_failure_without_a_text_is_one_all_the_same() {
        let mut failed = result("");
        failed.is_error = true;
        let outcome = Outcome::of(&failed);
        assert_eq!(outcome.id.as_deref(), Some("c"));
        assert!(outcome.error.is_some_and(|error| !error.is_empty()));
    }

    fn of(tool: &str, arguments: &str) -> Option<Vec<(String, State)>> {
        let leaves: Vec<Leaf> = leaves(arguments).expect("JSON");
        let found = tasks(&call(None, tool, arguments), &leaves)?;
        Some(
            found
                .into_iter()
                .map(|Task { text, state }| (text, state))
                .collect(),
        )
    }

    fn expected(list: &[(&str, State)]) -> Vec<(String, State)> {
        list.iter()
            .map(|(text, state)| ((*text).to_owned(), *state))
            .collect()
    }

    #[test]
    fn a_list_is_known_by_its_tool_and_its_shape() {
        let list = r#"{"todos":[
            {"content":"build  it\n now","status":"completed","id":"1"},
            {"content":"测试它","status":"in_progress"},
            {"content":"drop it","status":"cancelled"}]}"#;
        let found = Some(expected(&[
            ("build it now", State::Done),
            ("测试它", State::InProgress),
            ("drop it", State::Superseded),
        ]));
        assert_eq!(of("TodoWrite", list), found);
        assert_eq!(of("update_plan", list), found);
        assert_eq!(of("Bash", list), None);
    }

    #[test]
    fn the_status_may_come_first() {
        let list = r#"{"plan":[{"status":"done","step":"one"},{"status":"pending","step":"two"}]}"#;
        assert_eq!(
            of("update_plan", list),
            Some(expected(&[("one", State::Done), ("two", State::Current)]))
        );
    }

    #[test]
    fn what_has_no_status_or_no_name_is_no_task() {
        assert_eq!(of("TodoWrite", "{}"), None);
        assert_eq!(of("TodoWrite", r#"{"todos":[]}"#), None);
        assert_eq!(of("TodoWrite", r#"{"content":"alone"}"#), None);
        assert_eq!(of("TodoWrite", r#"{"status":"done"}"#), None);
        // Of two names the last one before the status is the task's.
        let list = r#"{"title":"a list","tasks":[{"task":"one","status":"open"}]}"#;
        assert_eq!(
            of("tasks", list),
            Some(expected(&[("one", State::Current)]))
        );
    }
}
