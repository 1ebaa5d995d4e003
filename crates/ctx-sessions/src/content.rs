//! What is known about a session after reading it.

use ctx_policy::trigger::Size;
use serde::{Deserialize, Serialize};

/// What a list of sessions shows about a session file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Content {
    /// The dialect of the file.
    pub dialect: String,
    /// The id by which the agent knows the session.
    pub session: Option<String>,
    /// The name that the user gave it, else the title that the agent made.
    pub title: Option<String>,
    /// The user's first request.
    pub ask: Option<String>,
    /// The folder that the agent works in.
    pub folder: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
    /// The tokens of its window: the file's own figure, or else that of the list of models.
    pub recorded_window: Option<u64>,
    /// Messages in the context.
    pub messages: u64,
    /// System messages among them.
    pub system: u64,
    /// Requests in the context.
    pub turns: u64,
    /// Bytes of tool results in the context.
    pub tool_bytes: u64,
    /// Tokens of the context according to the newest usage that is valid for it.
    pub recorded: Option<u64>,
    /// The part of `context_tokens` above the recorded tokens.
    pub estimated: u64,
    /// The likely tokens of the whole context.
    #[serde(rename = "tokens")]
    pub context_tokens: u64,
    /// Lines that are no record.
    pub bad_lines: u64,
}

impl Content {
    /// The size to compare with the triggers.
    pub(crate) fn size(&self) -> Size {
        Size {
            messages: self.messages - self.system.min(self.messages),
            turns: self.turns,
            tokens: self.context_tokens,
            tool_bytes: self.tool_bytes,
            ..Size::default()
        }
    }
}
