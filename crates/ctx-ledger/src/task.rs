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
