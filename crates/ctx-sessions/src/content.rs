//! What a reading says of a session.

use ctx_select::trigger::Size;
use serde::{Deserialize, Serialize};

/// What a session file holds, as far as a list of sessions shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Content {
    /// The dialect of the file.
    pub dialect: String,
    /// The id by which the agent knows the session.
    pub session: Option<String>,
    /// The name that the user gave it, else the title that the agent made.
    pub title: Option<String>,
    /// What the user asked first.
    pub ask: Option<String>,
    /// The folder that the agent works in.
    pub folder: Option<String>,
    /// The model that was asked last.
    pub model: Option<String>,
    /// The tokens of its window, where the file says it.
    pub recorded_window: Option<u64>,
    /// Messages in the context.
    pub messages: u64,
    /// Those of them that are the system's.
    pub system: u64,
    /// Requests in the context.
    pub turns: u64,
    /// Bytes of tool results in the context.
    pub tool_bytes: u64,
    /// Tokens of the context as the newest usage says that holds for it.
    pub recorded: Option<u64>,
    /// Of what came behind that, at four bytes a token; where there is none, of all, with what the
    /// API counted beside the messages of the first request.
    pub estimated: u64,
    /// Lines that are no record.
    pub bad_lines: u64,
}

impl Content {
    /// Tokens in the window.
    pub(crate) fn tokens(&self) -> u64 {
        self.recorded.unwrap_or(0).saturating_add(self.estimated)
    }

    /// What triggers are held against.
    pub(crate) fn size(&self) -> Size {
        Size {
            messages: self.messages - self.system.min(self.messages),
            turns: self.turns,
            tokens: self.tokens(),
            tool_bytes: self.tool_bytes,
            ..Size::default()
        }
    }
}
