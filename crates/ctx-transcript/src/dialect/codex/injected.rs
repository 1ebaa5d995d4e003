//! What the client puts into messages of the user and of the operator by itself. It knows
//! them by how their texts begin and end.

use std::borrow::Cow;

use crate::dialect::{blocks, kind_of, role_of};
use crate::{Object, Role};

/// How texts that the client writes for the user begin and end.
const FOR_USER: [(&str, &str); 14] = [
    ("<environment_context>", "</environment_context>"),
    ("# AGENTS.md instructions", "</INSTRUCTIONS>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    (
        "<codex_internal_context source=",
        "</codex_internal_context>",
    ),
    ("<goal_context>", "</goal_context>"),
    ("<recommended_plugins>", "</recommended_plugins>"),
    (
        "<agent_message_board_notification>",
        "</agent_message_board_notification>",
    ),
    ("<hook_prompt", "</hook_prompt>"),
    ("Warning: The maximum number of unified exec processes", ""),
    ("Warning: apply_patch was requested via ", "."),
    ("Warning: Your account was flagged for", ""),
];

/// How texts of the operator begin that tell of a turn's settings.
const OF_SETTINGS: [&str; 15] = [
    "<permissions instructions>",
    "<model_switch>",
    "<collaboration_mode>",
    "<multi_agent_mode>",
    "<multi_agent_role>",
    "<realtime_conversation>",
    "<skills_instructions>",
    "<plugins_instructions>",
    "<apps_instructions>",
    "<personality_spec>",
    "<persistent_mode>",
    "<token_budget>",
    "<rollout_budget>",
    "<context_window>",
    "<context_window_guidance>",
];

/// How the instructions of a project begin in files that the client wrote before it knew
/// them by [`FOR_USER`]. It takes them for a message of the user now.
const OLD_INSTRUCTIONS: &str = "<user_instructions>";

/// How a summary begins that the client has made.
const SUMMARY: &str = "Another language model started to solve this problem";

/// Whether a message holds what the client put beside what is said.
pub(super) fn is_injected(message: &Object<'_>) -> bool {
    let is_it: fn(&str) -> bool = match role_of(message) {
        Some(Role::User) => is_for_user,
        Some(Role::Developer) => is_of_settings,
        _ => return false,
    };
    texts(message).iter().any(|text| is_it(text))
}

/// Whether a message of the user is what he asks.
pub(super) fn is_request(message: &Object<'_>) -> bool {
    let is_old = |text: &Cow<'_, str>| begins_with(text, OLD_INSTRUCTIONS);
    !is_injected(message) && summary(message).is_none() && !texts(message).iter().any(is_old)
}

/// The text of a message that is the client's summary.
pub(super) fn summary<'a>(message: &Object<'a>) -> Option<Cow<'a, str>> {
    role_of(message).filter(|role| *role == Role::User)?;
    let first = texts(message).into_iter().next()?;
    is_summary(&first).then_some(first)
}

/// Whether a text is the client's summary.
pub(super) fn is_summary(text: &str) -> bool {
    text.starts_with(SUMMARY)
}

/// The texts of a message.
pub(super) fn texts<'a>(message: &Object<'a>) -> Vec<Cow<'a, str>> {
    let is_text = |block: &Object<'_>| matches!(&*kind_of(block), "input_text" | "output_text");
    let blocks = blocks(message).into_iter().filter(is_text);
    blocks.filter_map(|block| block.text_of("text")).collect()
}

fn is_for_user(text: &str) -> bool {
    let is_between = |(begin, end): &(&str, &str)| begins_with(text, begin) && ends_with(text, end);
    FOR_USER.iter().any(is_between) || is_external(text)
}

/// `<external_NAME>…</external_NAME>`: what a program beside the client gave it.
fn is_external(text: &str) -> bool {
    let text = text.trim();
    let name = text
        .strip_prefix("<external_")
        .and_then(|rest| rest.split_once('>'));
    name.is_some_and(|(name, _)| text.ends_with(&format!("</external_{name}>")))
}

fn is_of_settings(text: &str) -> bool {
    OF_SETTINGS.iter().any(|begin| begins_with(text, begin))
}

fn begins_with(text: &str, begin: &str) -> bool {
    let head = text.trim_start().as_bytes().get(..begin.len());
    head.is_some_and(|head| head.eq_ignore_ascii_case(begin.as_bytes()))
}

fn ends_with(text: &str, end: &str) -> bool {
    let text = text.trim_end().as_bytes();
    let tail = text.len().checked_sub(end.len()).map(|at| &text[at..]);
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
}
