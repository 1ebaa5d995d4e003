//! What an item holds.

use std::borrow::Cow;

use super::{Kind, is_user_or_model, pair_id};
use crate::dialect::{kind_of, role_of};
use crate::{Call, Denial, Object, Part, Slot, ToolResult, Unread, json, unread as rest};

/// Members with what a call asks for, of which each kind has one.
const ARGUMENTS: [&str; 5] = ["arguments", "input", "action", "actions", "operation"];

/// The parts of `item`, a value within `record`; of an item of a type that we do not know
/// all of it.
pub(in crate::dialect) fn parts<'a>(record: &Object<'a>, item: &Object<'a>) -> Vec<Part<'a>> {
    let whole = || vec![Part::Opaque(item.text().trim_ascii().into())];
    match Kind::of(item) {
        Some(Kind::Message | Kind::AgentMessage) => content(item.get("content")),
        Some(Kind::Reasoning) => reasoning(item),
        Some(Kind::Call) => vec![Part::Call(call(record, item))],
        Some(Kind::Result) => vec![Part::Result(result(record, item))],
        // Its result is an image.
        Some(Kind::Server) if kind_of(item) == "image_generation_call" => {
            vec![Part::media("image_generation_call", item.text().trim())]
        }
        Some(Kind::Server) | None => whole(),
    }
}

fn content(raw: Option<&str>) -> Vec<Part<'_>> {
    crate::dialect::parts(raw, &|block| {
        Some(match kind_of(block).as_ref() {
            "input_text" | "output_text" | "text" => Part::Text(block.text_of("text")?),
            "refusal" => Part::Refusal(block.text_of("refusal")?),
            "input_image" => Part::media("input_image", block.text().trim()),
            "input_file" => Part::media("input_file", block.text().trim()),
            "input_audio" => Part::media("input_audio", block.text().trim()),
            _ => return None,
        })
    })
}

/// Texts that a person may read, and what only the server can.
fn reasoning<'a>(item: &Object<'a>) -> Vec<Part<'a>> {
    let lists = ["summary", "content"].into_iter();
    let elements = lists.flat_map(|key| item.elements_of(key).unwrap_or_default());
    let texts = elements.filter_map(|raw| Object::within(raw)?.text_of("text"));
    let sealed = item.get("encrypted_content").filter(|raw| *raw != "null");
    let sealed = sealed.map(|raw| Part::Opaque(raw.into()));
    texts.map(Part::Reasoning).chain(sealed).collect()
}

fn call<'a>(record: &Object<'a>, item: &Object<'a>) -> Call<'a> {
    let raw = ARGUMENTS.into_iter().find_map(|key| item.get(key));
    let text = raw.and_then(json::text);
    let kind = kind_of(item);
    let tool = || kind.trim_end_matches("_call").to_owned();
    Call {
        id: pair_id(item),
        name: item.text_of("name").unwrap_or_else(|| Cow::Owned(tool())),
        slot: raw.map(|raw| match text {
            Some(_) => Slot::text(record, raw),
            // What the server's own tools are asked is an object.
            None => Slot::json(record, raw),
        }),
        arguments: text.or(raw.map(Cow::Borrowed)).unwrap_or_default(),
    }
}

fn result<'a>(record: &Object<'a>, item: &Object<'a>) -> ToolResult<'a> {
    let kind = kind_of(item);
    let raw = item.get("output").or_else(|| item.get("tools"));
    ToolResult {
        id: pair_id(item),
        name: None,
        is_error: false,
        denial: Denial::None,
        parts: content(raw),
        slot: raw
            .filter(|_| is_of_text(&kind))
            .map(|raw| Slot::text(record, raw)),
    }
}

/// What of an item in a record of `dialect` is not read.
pub(in crate::dialect) fn unread(dialect: &str, item: &Object<'_>) -> Option<Unread> {
    let kind = Kind::of(item);
    if matches!(kind, None | Some(Kind::Message)) {
        let is_known = role_of(item).is_some_and(|it| it.is_system() || is_user_or_model(it));
        let is_message = matches!(&*kind_of(item), "" | "message");
        if let Some(role) = item.get("role").filter(|_| is_message && !is_known) {
            return Some(Unread::role(dialect, role));
        }
    }
    let in_list = |key| Unread::in_content(item.get(key), is_read);
    match kind {
        None => Some(Unread::item(dialect, item)),
        Some(Kind::Message | Kind::AgentMessage) => match item.get("content") {
            None | Some("null") => Some(Unread::within_message("a message without content")),
            Some(_) => in_list("content"),
        },
        Some(Kind::Reasoning) => in_list("summary").or_else(|| in_list("content")),
        Some(Kind::Result) if is_of_text(&kind_of(item)) => in_list("output"),
        // What the server's own tools are asked, and what they find, has forms of its own.
        Some(Kind::Result | Kind::Call | Kind::Server) => None,
    }
}

/// Whether all of a part is read.
fn is_read(part: &Object<'_>) -> bool {
    match &*kind_of(part) {
        "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text" => {
            rest::has_text(part, "text")
        }
        "refusal" => rest::has_text(part, "refusal"),
        kind => matches!(
            kind,
            "input_image" | "input_file" | "input_audio" | "encrypted_content"
        ),
    }
}

/// Results of other kinds have a form of their own, which no text can replace.
fn is_of_text(kind: &str) -> bool {
    matches!(kind, "function_call_output" | "custom_tool_call_output")
}
