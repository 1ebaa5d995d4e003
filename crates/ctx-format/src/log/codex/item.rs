//! Decides which items the client loads and sends, and which of their texts it wrote itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use crate::dialect::content::{blocks, kind_of, role_of};
use crate::dialect::sign::Sign;
use crate::{Object, Role, json};

/// The types of items that the client sends. It sends all items of a compaction, of any type.
const SENT: &str = "message agent_message reasoning function_call custom_tool_call \
    local_shell_call tool_search_call function_call_output custom_tool_call_output \
    tool_search_output web_search_call image_generation_call compaction compaction_summary \
    context_compaction";

/// The beginnings and ends of texts that the client writes in the user's name: `begin|end`.
const FOR_USER: &str = "<environment_context>|</environment_context>
# AGENTS.md instructions|</INSTRUCTIONS>
<skill>|</skill>
<user_shell_command>|</user_shell_command>
<turn_aborted>|</turn_aborted>
<subagent_notification>|</subagent_notification>
<codex_internal_context source=|</codex_internal_context>
<goal_context>|</goal_context>
<recommended_plugins>|</recommended_plugins>
<agent_message_board_notification>|</agent_message_board_notification>
<hook_prompt|</hook_prompt>
Warning: The maximum number of unified exec processes|
Warning: apply_patch was requested via |.
Warning: Your account was flagged for|";

/// The beginnings of operator messages that announce the settings of a turn.
const OF_SETTINGS: &str = "<permissions instructions>|<model_switch>|<collaboration_mode>|\
    <multi_agent_mode>|<multi_agent_role>|<realtime_conversation>|<skills_instructions>|\
    <plugins_instructions>|<apps_instructions>|<personality_spec>|<persistent_mode>|\
    <token_budget>|<rollout_budget>|<context_window>|<context_window_guidance>";

/// The beginning of a project's instructions in old files. Today's client takes them for a user
/// message.
const OLD_INSTRUCTIONS: &str = "<user_instructions>";

/// The beginning of a summary by the client.
const SUMMARY: &str = "Another language model started to solve this problem";

/// The members that the client requires in an item, by its type. `items.json` has a single shape
/// for the results of functions and of other tools.
static SHAPES: LazyLock<HashMap<String, Sign>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("items.json")).expect("a test reads items.json")
});

/// Returns true if the client loads `item`. It skips a line with an item of the wrong shape, but
/// not an item of an unknown type.
pub(super) fn is_loaded(item: &Object<'_>) -> bool {
    let kind = match kind_of(item) {
        kind if kind == "custom_tool_call_output" => "function_call_output".into(),
        kind => kind,
    };
    let id = item.get("id").filter(|raw| *raw != "null");
    !kind.is_empty()
        && id.is_none_or(|raw| json::text(raw).is_some())
        && SHAPES.get(&*kind).is_none_or(|shape| shape.is_of(item))
}

/// Returns true if all of these members are texts.
pub(super) fn has_texts(object: &Object<'_>, keys: &[&str]) -> bool {
    keys.iter().all(|key| object.text_of(key).is_some())
}

/// Returns true if the client sends `item`, once it is loaded, from a line of its own.
pub(super) fn is_sent(item: &Object<'_>) -> bool {
    let kind = kind_of(item);
    let is_system = kind == "message" && item.text_of("role").as_deref() == Some("system");
    !is_system && SENT.split_ascii_whitespace().any(|sent| kind == sent)
}

/// Returns true if the client knows `item` and never sends it: an item that it does not load, or
/// the state of the working folder, which some versions write.
pub(super) fn is_passed_over(item: &Object<'_>) -> bool {
    !is_loaded(item) || kind_of(item) == "ghost_snapshot"
}

/// Returns true if a message has a text that the client wrote in the name of the user or the
/// operator.
pub(super) fn is_injected(message: &Object<'_>) -> bool {
    let is_injected = match role_of(message) {
        Some(Role::User) => is_for_user,
        Some(Role::Developer) => is_of_settings,
        _ => return false,
    };
    texts(message).iter().any(|text| is_injected(text))
}

/// Returns true if a user message is a request.
pub(super) fn is_request(message: &Object<'_>) -> bool {
    let is_old = |text: &Cow<'_, str>| begins_with(text, OLD_INSTRUCTIONS);
    !is_injected(message) && summary(message).is_none() && !texts(message).iter().any(is_old)
}

/// The text of a message that is the client's summary.
pub(super) fn summary<'a>(message: &Object<'a>) -> Option<Cow<'a, str>> {
    if role_of(message)? != Role::User {
        return None;
    }
    let first = texts(message).into_iter().next()?;
    is_summary(&first).then_some(first)
}

/// Returns true if a text is the client's summary.
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
    let is_between = |line: &str| {
        let ends = line.split_once('|');
        ends.is_some_and(|(begin, end)| begins_with(text, begin) && ends_with(text, end))
    };
    FOR_USER.lines().any(is_between) || is_external(text)
}

/// Recognizes `<external_NAME>…</external_NAME>`, a text that another program gave the client.
fn is_external(text: &str) -> bool {
    let text = text.trim();
    let name = text.strip_prefix("<external_").and_then(|rest| rest.split_once('>'));
    name.is_some_and(|(name, _)| text.ends_with(&format!("</external_{name}>")))
}

fn is_of_settings(text: &str) -> bool {
    OF_SETTINGS.split('|').any(|begin| begins_with(text, begin))
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
