//! What an item holds.

use std::borrow::Cow;

use super::{Kind, pair_id};
use crate::dialect::kind_of;
use crate::{Call, Object, Part, Slot, ToolResult, json};

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
    // The results of other tools have a form of their own, which no text can replace.
    let is_of_text = matches!(&*kind, "function_call_output" | "custom_tool_call_output");
    let raw = item.get("output").or_else(|| item.get("tools"));
    ToolResult {
        id: pair_id(item),
        name: None,
        is_error: false,
        parts: content(raw),
        slot: raw
            .filter(|_| is_of_text)
            .map(|raw| Slot::text(record, raw)),
    }
}
