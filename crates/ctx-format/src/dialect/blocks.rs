//! Blocks of Anthropic messages that the API rejects, and their repair.

use std::borrow::Cow;

use crate::dialect::content::kind_of;
use crate::legality::content::{self, Mend, NO_CONTENT, Naming, image_fix, is_blank};
use crate::{Object, Outline, Role, Rule, json, scan};

/// What the API accepts as the id of a call (github.com/maximhq/bifrost/issues/5097).
pub(crate) const ID: Naming =
    Naming { max: usize::MAX, is_word: true, reserved: Some("srvtoolu_") };
/// What the API accepts as the name of a tool.
pub(crate) const TOOL: Naming = Naming { max: 128, is_word: true, reserved: None };
/// The maximum number of blocks that may mark the end of a cached prefix.
pub(crate) const CACHE_MARKS: usize = 4;

/// Adds the faults of a block of a message to the message's outline. Returns false for a text
/// without characters.
pub(crate) fn check_block(
    role: Role,
    kind: &str,
    block: &Object<'_>,
    outline: &mut Outline<'_>,
) -> bool {
    if block.get("cache_control").is_some_and(|raw| raw != "null") {
        outline.content_mut().cache_marks += 1;
    }
    if kind == "compaction" {
        outline.content_mut().has_summary = true;
    }
    let id = |key| block.text_of(key).unwrap_or_default();
    let says_nothing = match kind {
        "text" => block.get("text").is_some_and(is_blank),
        // The content of a failed compaction is `null`.
        "compaction" => block.get("content") == Some("\"\""),
        _ => false,
    };
    if says_nothing {
        outline.fault(Rule::EmptyText, "");
    }
    let is_misplaced = match kind {
        "tool_use" | "server_tool_use" | "mcp_tool_use" => role != Role::Assistant,
        "tool_result" => role != Role::User,
        _ => false,
    };
    if is_misplaced {
        outline.fault(Rule::MisplacedBlock, "");
    }
    match kind {
        "tool_use" => check_call(block, outline),
        "tool_result" => {
            if !ID.accepts(&id("tool_use_id")) {
                outline.fault(Rule::BadCallId, &id("tool_use_id"));
            }
            for inner in block.objects_of("content").into_iter().flatten().flatten() {
                match &*kind_of(&inner) {
                    "text" if inner.get("text").is_some_and(is_blank) => {
                        outline.fault(Rule::EmptyText, "");
                    }
                    "image" => check_image(&inner, outline),
                    _ => {}
                }
            }
        }
        "image" => check_image(block, outline),
        "server_tool_use" | "mcp_tool_use" => {
            outline.content_mut().server_calls.push(id("id").into_owned());
        }
        kind if kind.ends_with("_tool_result") => {
            outline.content_mut().server_results.push(id("tool_use_id").into_owned());
        }
        _ => {}
    }
    !says_nothing
}

fn check_call(call: &Object<'_>, outline: &mut Outline<'_>) {
    let text = |key| call.text_of(key).unwrap_or_default();
    let id = text("id");
    if !ID.accepts(&id) {
        outline.fault(Rule::BadCallId, &id);
    }
    if !TOOL.accepts(&text("name")) {
        outline.fault(Rule::BadToolName, &id);
    }
    if !call.get("input").is_some_and(|raw| raw.starts_with('{')) {
        outline.fault(Rule::BadInput, &id);
    }
}

/// Returns the type and the data of an image that is stored in the session.
fn image_of<'a>(block: &Object<'a>) -> Option<(&'a str, Cow<'a, str>, Cow<'a, str>)> {
    let source = block.object_of("source").filter(|it| kind_of(it) == "base64")?;
    Some((source.get("media_type")?, source.text_of("media_type")?, source.text_of("data")?))
}

fn check_image(block: &Object<'_>, outline: &mut Outline<'_>) {
    if image_of(block).is_some_and(|(_, mime, data)| image_fix(&mime, &data).is_some()) {
        outline.fault(Rule::BadImage, "");
    }
}

/// Repairs the content of `message`, a value within the record of `mend`.
pub(crate) fn mend(message: &Object<'_>, mend: &mut Mend<'_, '_>) {
    let Some(content) = message.get("content") else { return };
    let Some(list) = scan::elements(content) else {
        if is_blank(content) {
            mend.put(content, json::quoted(NO_CONTENT));
        }
        return;
    };
    let blocks: Vec<_> = list.iter().map(|raw| content::block(raw)).collect();
    let goes = blocks.iter().map(|block| {
        let Some((kind, block)) = block else { return false };
        let id = |key| block.text_of(key).unwrap_or_default();
        match kind.as_str() {
            "text" => block.get("text").is_some_and(is_blank),
            "compaction" => block.get("content") == Some("\"\""),
            "server_tool_use" | "mcp_tool_use" => mend.has_id(Rule::ServerCall, &id("id")),
            "tool_result" => false,
            kind if kind.ends_with("_tool_result") => {
                mend.has_id(Rule::ServerResult, &id("tool_use_id"))
            }
            _ => false,
        }
    });
    let goes: Vec<bool> = goes.collect();
    if mend.cut_blocks(content, &list, &goes) {
        return;
    }
    for (kind, block) in
        blocks.iter().zip(goes).filter_map(|(block, goes)| block.as_ref().filter(|_| !goes))
    {
        mend_block(kind, block, mend);
    }
}

fn mend_block(kind: &str, block: &Object<'_>, mend: &mut Mend<'_, '_>) {
    if mend.has(Rule::CacheMarks) {
        mend.cut_members(block, &["cache_control"]);
    }
    match kind {
        "tool_use" => {
            mend.name(block.get("id"), ID);
            mend.name(block.get("name"), TOOL);
            if let Some(input) = block.get("input").filter(|raw| !raw.starts_with('{')) {
                mend.put(input, format!("{{\"input\":{input}}}"));
            }
        }
        "tool_result" => {
            mend.name(block.get("tool_use_id"), ID);
            let Some(content) = block.get("content") else { return };
            let list = scan::elements(content).unwrap_or_default();
            let inner: Vec<_> = list.iter().map(|raw| content::block(raw)).collect();
            let is_empty = |block: &Option<(String, Object<'_>)>| {
                let text = block.as_ref().filter(|(kind, _)| kind == "text");
                text.is_some_and(|(_, block)| block.get("text").is_some_and(is_blank))
            };
            let goes: Vec<bool> = inner.iter().map(is_empty).collect();
            if !list.is_empty() && mend.cut_blocks(content, &list, &goes) {
                return;
            }
            for (kind, block) in inner.iter().flatten().filter(|(kind, _)| kind == "image") {
                mend_block(kind, block, mend);
            }
        }
        "image" => {
            if let Some((raw, mime, data)) = image_of(block) {
                mend.image(block.text(), (raw, &mime), &data, "text");
            }
        }
        _ => {}
    }
}
