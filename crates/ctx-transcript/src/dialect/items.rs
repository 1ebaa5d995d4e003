//! The items of OpenAI Responses, of which a session file may be made: messages, and
//! beside them calls, results and reasoning, each an item of its own. Shapes: the input
//! items of the Responses API reference, and those that Codex 0.169.0 stores.

mod parts;

use std::borrow::Cow;

pub(super) use parts::{parts, unread};

use super::{Sealed, blocks, kind_of, role_of};
use crate::{Object, Outline, Role};

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Someone says something.
    Message,
    /// Another agent says something.
    AgentMessage,
    /// The model's reasoning, a part of the reply that follows.
    Reasoning,
    /// A call whose result is another item.
    Call,
    /// The result of one.
    Result,
    /// What the server did by itself, its result included, or what only it can read.
    Server,
}

impl Kind {
    /// What `item` is; `None` when it is no item, or one of a type that we do not know.
    pub(super) fn of(item: &Object<'_>) -> Option<Self> {
        Some(match kind_of(item).as_ref() {
            "" => Self::of_role(item)?,
            "message" => {
                role_of(item)?;
                Self::Message
            }
            "agent_message" => Self::AgentMessage,
            "reasoning" => Self::Reasoning,
            "function_call"
            | "custom_tool_call"
            | "local_shell_call"
            | "shell_call"
            | "apply_patch_call"
            | "computer_call"
            | "tool_search_call"
            | "mcp_approval_request" => Self::Call,
            "function_call_output"
            | "custom_tool_call_output"
            | "local_shell_call_output"
            | "shell_call_output"
            | "apply_patch_call_output"
            | "computer_call_output"
            | "tool_search_output"
            | "mcp_approval_response" => Self::Result,
            "web_search_call"
            | "file_search_call"
            | "code_interpreter_call"
            | "image_generation_call"
            | "mcp_call"
            | "mcp_list_tools"
            | "compaction"
            | "compaction_summary"
            | "context_compaction" => Self::Server,
            _ => return None,
        })
    }

    /// `{"role":…,"content":…}`, the short form of a message.
    fn of_role(item: &Object<'_>) -> Option<Self> {
        let is_of_message = |role: &Role| role.is_system() || is_user_or_model(*role);
        role_of(item).filter(is_of_message)?;
        item.get("content").map(|_| Self::Message)
    }

    /// Who speaks in `item`, which is of this kind.
    fn role(self, item: &Object<'_>) -> Role {
        match self {
            Self::Message => role_of(item).unwrap_or(Role::Other),
            Self::AgentMessage => Role::User,
            Self::Reasoning | Self::Call | Self::Server => Role::Assistant,
            Self::Result => Role::Tool,
        }
    }
}

fn is_user_or_model(role: Role) -> bool {
    matches!(role, Role::User | Role::Assistant)
}

/// Whether no other format has `item`.
pub(super) fn is_own(item: &Object<'_>) -> bool {
    let has = |key| item.get(key).is_some();
    match Kind::of(item) {
        None | Some(Kind::AgentMessage) => false,
        Some(Kind::Message) => {
            let is_typed = has("type");
            blocks(item)
                .iter()
                .any(|block| match kind_of(block).as_ref() {
                    "input_text" | "output_text" | "input_image" | "input_file" => true,
                    // A part of `chat` as well, whose messages have no type.
                    "refusal" => is_typed,
                    _ => false,
                })
        }
        Some(Kind::Reasoning) => has("summary"),
        Some(Kind::Call | Kind::Result) => pair_id(item).is_some(),
        // Agents have a record `compaction` of their own, which anybody can read.
        Some(Kind::Server) if kind_of(item).contains("compaction") => has("encrypted_content"),
        Some(Kind::Server) => has("id"),
    }
}

/// The `items` that only the server can read.
pub(super) fn sealed_in(items: &[Object<'_>]) -> Sealed {
    let mut sealed = Sealed::default();
    for item in items {
        if item.text_of("encrypted_content").is_some() {
            sealed.reasoning += usize::from(Kind::of(item) == Some(Kind::Reasoning));
            sealed.has_summary |= kind_of(item).contains("compaction");
        }
    }
    sealed
}

/// The outline of an item; see [`super::Dialect::outline`]. Who asks, the dialect knows:
/// each message of the user begins a turn here.
pub(super) fn outline<'a>(item: &Object<'a>) -> Option<Outline<'a>> {
    let kind = Kind::of(item)?;
    let role = kind.role(item);
    let mut outline = Outline {
        role,
        begins_turn: kind == Kind::Message && role == Role::User,
        has_content: kind != Kind::Result,
        ..Outline::of_line()
    };
    match kind {
        Kind::Call => outline.calls.extend(pair_id(item)),
        Kind::Result => outline.results.extend(pair_id(item)),
        _ => {}
    }
    Some(outline)
}

/// What a call and its result have in common; `None` where the server called and answered
/// itself. The `id` of an item names the item and nothing else, but in two kinds.
pub(super) fn pair_id<'a>(item: &Object<'a>) -> Option<Cow<'a, str>> {
    let key = match kind_of(item).as_ref() {
        "mcp_approval_request" => "id",
        "mcp_approval_response" => "approval_request_id",
        "local_shell_call_output" if item.get("call_id").is_none() => "id",
        _ => "call_id",
    };
    item.text_of(key)
}
