//! Determines which items the client loads and sends, and which of their texts were written by the
//! client itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::dialect::content::{blocks, kind_of, role_of};
use crate::dialect::items;
use crate::dialect::sign::Sign;
use crate::{Object, Outline, Role, json};

/// The beginning of project instructions in old files. The current client treats these instructions
/// as a user message.
const OLD_INSTRUCTIONS: &str = "<user_instructions>";

/// The beginning of a summary that the client wrote.
const SUMMARY: &str = "Another language model started to solve this problem";

/// The client's requirements for items and lines, and the marks by which its own texts are
/// recognized.
#[derive(Deserialize)]
pub(super) struct Shapes {
    /// The required members for each type of item. The results of custom tools require the same
    /// members as function results.
    #[serde(borrow)]
    items: HashMap<&'static str, Sign>,
    /// The types of items that the client sends when an item is on a line of its own. In a
    /// compaction, items of any type are sent.
    pub(super) sent: Sign,
    /// The members that the client requires in a line with a message from another agent.
    pub(super) agent_message: Sign,
    /// The JSON object in the text of a reply that is actually a message from another agent.
    pub(super) agent_text: Sign,
    /// The lines that the client loads, identified by their members.
    pub(super) line: Sign,
    /// The header of a file. Without a header, the client loads nothing.
    pub(super) header: Sign,
    /// The header in files from before September 2025.
    pub(super) old_header: Sign,
    /// The beginnings and ends of texts that the client writes in the user's name.
    for_user: Vec<(String, String)>,
    /// The beginnings of developer messages in which the client announces the settings for a turn.
    of_settings: Vec<String>,
}

pub(super) static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    serde_json::from_str(include_str!("shapes.json")).expect("shapes.json is valid")
});

/// Returns true if the client loads `item`. The client skips a line if its item lacks a required
/// member, but it loads items of unknown types.
pub(super) fn is_loaded(item: &Object<'_>) -> bool {
    let kind = match kind_of(item) {
        kind if kind == "custom_tool_call_output" => "function_call_output".into(),
        kind => kind,
    };
    let id = item.get("id").filter(|raw| *raw != "null");
    !kind.is_empty()
        && id.is_none_or(|raw| json::text(raw).is_some())
        && SHAPES.items.get(&*kind).is_none_or(|shape| shape.is_of(item))
}

/// Returns true if the client knows the type of `item` but never sends it. Such an item either
/// lacks a required member or, in files from some versions, stores the state of the working folder.
pub(super) fn is_passed_over(item: &Object<'_>) -> bool {
    !is_loaded(item) || kind_of(item) == "ghost_snapshot"
}

/// Returns true if any text in the message was written by the client in the name of the user or the
/// developer.
pub(super) fn is_injected(message: &Object<'_>) -> bool {
    let is_injected = match role_of(message) {
        Some(Role::User) => is_for_user,
        Some(Role::Developer) => {
            |text: &str| SHAPES.of_settings.iter().any(|begin| begins_with(text, begin))
        }
        _ => return false,
    };
    texts(message).iter().any(|text| is_injected(text))
}

/// Returns the outline of an item. Unlike in other formats, a user message begins a turn only if it
/// is a request from the user.
pub(super) fn outline<'a>(item: &Object<'a>) -> Option<Outline<'a>> {
    let outline = items::outline(item)?;
    Some(Outline { begins_turn: outline.begins_turn && is_request(item), ..outline })
}

fn is_request(message: &Object<'_>) -> bool {
    let is_old = |text: &Cow<'_, str>| begins_with(text, OLD_INSTRUCTIONS);
    !is_injected(message) && summary(message).is_none() && !texts(message).iter().any(is_old)
}

/// Returns the text of a message if it is a summary that the client wrote.
pub(super) fn summary<'a>(message: &Object<'a>) -> Option<Cow<'a, str>> {
    if role_of(message)? != Role::User {
        return None;
    }
    let first = texts(message).into_iter().next()?;
    is_summary(&first).then_some(first)
}

/// Returns true if the text begins like a summary that the client wrote.
pub(super) fn is_summary(text: &str) -> bool {
    text.starts_with(SUMMARY)
}

/// The texts in a message's content.
pub(super) fn texts<'a>(message: &Object<'a>) -> Vec<Cow<'a, str>> {
    let is_text = |block: &Object<'_>| matches!(&*kind_of(block), "input_text" | "output_text");
    let blocks = blocks(message).into_iter().filter(is_text);
    blocks.filter_map(|block| block.text_of("text")).collect()
}

fn is_for_user(text: &str) -> bool {
    let mut ends = SHAPES.for_user.iter();
    // The client encloses text from another program in `<external_NAME>…</external_NAME>`.
    let name = text.trim().strip_prefix("<external_").and_then(|rest| rest.split_once('>'));
    ends.any(|(begin, end)| begins_with(text, begin) && ends_with(text, end))
        || name.is_some_and(|(name, _)| text.trim().ends_with(&format!("</external_{name}>")))
}

fn begins_with(text: &str, begin: &str) -> bool {
    text.trim_start().get(..begin.len()).is_some_and(|head| head.eq_ignore_ascii_case(begin))
}

fn ends_with(text: &str, end: &str) -> bool {
    let text = text.trim_end();
    let tail = text.len().checked_sub(end.len()).and_then(|at| text.get(at..));
    tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}
