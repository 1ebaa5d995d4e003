//! How much a message is, in bytes and in estimated tokens.

use ctx_select::count::PER_MEDIA;
use ctx_transcript::{Message, Part, ToolResult};

use crate::shrink::length;

/// Bytes of text that are taken for a token.
const BYTES: u64 = 4;

/// The tokens of what a message says, estimated by its bytes.
pub(crate) fn tokens(message: &Message<'_>) -> u64 {
    let parts = message.parts.iter().map(tokens_of_part);
    parts.fold(0, u64::saturating_add)
}

fn tokens_of_part(part: &Part<'_>) -> u64 {
    let of_text = |text: &str| length(text).div_ceil(BYTES);
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => of_text(text),
        Part::Call(call) => of_text(&call.name).saturating_add(of_text(&call.arguments)),
        Part::Result(result) => {
            let parts = result.parts.iter().map(tokens_of_part);
            parts.fold(0, u64::saturating_add)
        }
        Part::Media(_) => PER_MEDIA,
        Part::Opaque(raw) => of_text(raw),
    }
}

/// Bytes of the text in the tool results of a message, as `ctx_select::measure` has it.
pub(crate) fn tool_bytes(message: &Message<'_>) -> u64 {
    let parts = message.results().flat_map(parts_of);
    parts.map(text_bytes).fold(0, u64::saturating_add)
}

fn parts_of<'r, 'a>(result: &'r ToolResult<'a>) -> &'r [Part<'a>] {
    &result.parts
}

fn text_bytes(part: &Part<'_>) -> u64 {
    match part {
        Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => length(text),
        Part::Opaque(raw) => length(raw),
        Part::Media(_) | Part::Call(_) | Part::Result(_) => 0,
    }
}
