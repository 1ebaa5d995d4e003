//! What an entry says to the model.

use crate::Object;
use crate::dialect::kind_of;

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
