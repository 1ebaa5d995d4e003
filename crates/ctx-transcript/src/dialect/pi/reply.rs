//! Calls, results and reasoning.

use std::borrow::Cow;
use std::ops::Range;

use crate::dialect::{blocks, call_of, cut_blocks, kind_of, parts};
use crate::{Denial, Object, Part, Slot, ToolResult, unread, within};

/// The ids of the calls in a reply.
pub(super) fn ids_of_calls<'a>(said: &Object<'a>) -> Vec<Cow<'a, str>> {
    let blocks = blocks(said).into_iter();
    let calls = blocks.filter(|block| kind_of(block) == "toolCall");
    calls
        .map(|call| call.text_of("id").unwrap_or_default())
        .collect()
}

/// A block, which is a value within `record`.
pub(super) fn part<'a>(record: &Object<'a>, block: &Object<'a>) -> Option<Part<'a>> {
    Some(match kind_of(block).as_ref() {
        "text" => Part::Text(block.text_of("text")?),
        // Only the API can read it; the text says no more than that.
        "thinking" if block.is_true("redacted") => return None,
        "thinking" => Part::Reasoning(block.text_of("thinking")?),
        "image" => Part::media("image", block.text().trim()),
        "toolCall" => Part::Call(call_of(record, block, "arguments")),
        _ => return None,
    })
}

/// Whether all of a block is read.
pub(super) fn is_read(block: &Object<'_>) -> bool {
    match &*kind_of(block) {
        "text" => unread::has_text(block, "text"),
        "thinking" => block.is_true("redacted") || unread::has_text(block, "thinking"),
        kind => matches!(kind, "image" | "toolCall"),
    }
}

/// The result that `said`, the message in `record`, is.
pub(super) fn result<'a>(record: &Object<'a>, said: &Object<'a>) -> ToolResult<'a> {
    let content = said.get("content");
    ToolResult {
        id: said.text_of("toolCallId"),
        name: said.text_of("toolName"),
        is_error: said.is_true("isError"),
        denial: Denial::None,
        parts: parts(content, &|block| part(record, block)),
        slot: content
            .and_then(only_text)
            .map(|raw| Slot::text(record, raw)),
    }
}

/// The string that is all of a content. The agent fails on a result that is no list of
/// blocks, so that the text within the block is what another one can stand for.
fn only_text(content: &str) -> Option<&str> {
    let Some(elements) = within::elements(content) else {
        return Some(content).filter(|raw| raw.starts_with('"'));
    };
    let [block] = elements.as_slice() else {
        return None;
    };
    let block = Object::within(block)?;
    let is_text = kind_of(&block) == "text";
    block
        .get("text")
        .filter(|raw| is_text && raw.starts_with('"'))
}

/// What to cut out of `record` so that its reply is without its reasoning.
pub(super) fn place_of_reasoning(record: &Object<'_>, said: &Object<'_>) -> Vec<Range<usize>> {
    cut_blocks(record, said, |block| kind_of(block) == "thinking")
}
