//! Lists of tasks that an agent writes down.

use ctx_transcript::Call;

use crate::arguments::Leaf;
use crate::text::one_line;

/// A task of a list, and whether it is done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) text: String,
    pub(crate) done: bool,
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
    let mut status: Option<bool> = None;
    for leaf in leaves {
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

#[cfg(test)]
mod tests {
    use super::{Task, tasks};
    use crate::arguments::leaves;
    use crate::fixtures::call;

    fn of(tool: &str, arguments: &str) -> Option<Vec<(String, bool)>> {
        let leaves = leaves(arguments).expect("JSON");
        let found = tasks(&call(None, tool, arguments), &leaves)?;
        Some(
            found
                .into_iter()
                .map(|Task { text, done }| (text, done))
                .collect(),
        )
    }

    fn expected(list: &[(&str, bool)]) -> Vec<(String, bool)> {
        list.iter()
            .map(|(text, done)| ((*text).to_owned(), *done))
            .collect()
    }

    #[test]
    fn a_list_is_known_by_its_tool_and_its_shape() {
        let list = r#"{"todos":[
            {"content":"build  it\n now","status":"completed","id":"1"},
            {"content":"测试它","status":"in_progress"},
            {"content":"drop it","status":"cancelled"}]}"#;
        let found = Some(expected(&[
            ("build it now", true),
            ("测试它", false),
            ("drop it", true),
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
            Some(expected(&[("one", true), ("two", false)]))
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
        assert_eq!(of("tasks", list), Some(expected(&[("one", false)])));
    }
}
