//! What an entry says to the model.

use crate::dialect::kind_of;
use crate::{Edits, Object};

/// Who says it, as the agent tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    ToolResult,
    /// A command that the user ran himself, with its output.
    Shell,
    /// What an extension says.
    Custom,
    /// The same in files older than version 3, which later versions do not read.
    Hook,
    /// What was on a branch that was left.
    Summary,
    /// What a compaction stands for.
    Compaction,
}

/// An entry that says something.
#[derive(Clone, Debug)]
pub(super) struct Entry<'a> {
    pub(super) kind: Kind,
    /// The object that holds it: the entry itself, or its message.
    pub(super) said: Object<'a>,
}

impl<'a> Entry<'a> {
    /// `None` when the entry is nothing that a model could be sent.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let itself = |kind| Self {
            kind,
            said: object.clone(),
        };
        Some(match kind_of(object).as_ref() {
            "message" => {
                let said = object.object_of("message")?;
                let kind = kind_of_message(&said.text_of("role")?)?;
                Self { kind, said }
            }
            "custom_message" => itself(Kind::Custom),
            "branch_summary" => itself(Kind::Summary),
            "compaction" => itself(Kind::Compaction),
            _ => return None,
        })
    }

    /// Whether the model has come to its end.
    pub(super) fn is_whole(&self) -> bool {
        let stop = self.said.text_of("stopReason");
        !stop.is_some_and(|stop| matches!(&*stop, "aborted" | "error"))
    }

    /// Whether the model is sent it when it is in the context of a file of that version.
    pub(super) fn is_sent(&self, version: f64) -> bool {
        let is_excluded = self.said.is_true("excludeFromContext");
        !is_excluded
            && match self.kind {
                // A reply that failed is not said again.
                Kind::Assistant => self.is_whole(),
                Kind::Summary => self.said.get("summary") != Some("\"\""),
                Kind::Hook => version < 3.0,
                _ => true,
            }
    }
}

/// The text of an entry with its new content, if a `context_edit` gives it one.
pub(super) fn edited(object: &Object<'_>) -> Option<String> {
    let content = object.portion.as_ref()?.content()?;
    // Summaries and shell commands have no content that an edit could replace.
    let old = Entry::of(object)?.said.get("content")?;
    let mut edits = Edits::new();
    edits.replace(object.place_of(old), content.to_owned());
    Some(edits.of_object(object))
}

/// The content that a `context_edit` gives its target, raw; `None` if the target is omitted. One of
/// unknown shape is no content.
pub(super) fn new_content<'a>(object: &Object<'a>) -> Option<&'a str> {
    if object.get("replacement") == Some("null") {
        return None;
    }
    let replacement = object.object_of("replacement");
    replacement.and_then(|it| it.get("content")).or(Some("{}"))
}

fn kind_of_message(role: &str) -> Option<Kind> {
    Some(match role {
        "user" => Kind::User,
        "assistant" => Kind::Assistant,
        "toolResult" => Kind::ToolResult,
        "bashExecution" => Kind::Shell,
        "custom" => Kind::Custom,
        "hookMessage" => Kind::Hook,
        // The agent says its own summaries in these words, and does not store them so.
        "branchSummary" => Kind::Summary,
        "compactionSummary" => Kind::Compaction,
        _ => return None,
    })
}
