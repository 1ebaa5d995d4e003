//! Which items the client loads: it passes over a line with an item of another shape.

use crate::Object;
use crate::dialect::items::Kind;
use crate::dialect::kind_of;

/// Whether the client loads `item`.
pub(super) fn is_loaded(item: &Object<'_>) -> bool {
    let texts = |keys: &[&str]| keys.iter().all(|key| item.text_of(key).is_some());
    let list = |key| item.elements_of(key);
    match kind_of(item).as_ref() {
        "" => false,
        "message" => {
            let content = list("content").unwrap_or_default();
            texts(&["role"]) && list("content").is_some() && content.into_iter().all(is_part)
        }
        "reasoning" => list("summary").is_some(),
        "function_call" => texts(&["name", "arguments", "call_id"]),
        "custom_tool_call" => texts(&["name", "input", "call_id"]),
        "function_call_output" | "custom_tool_call_output" => {
            texts(&["call_id"]) && (texts(&["output"]) || list("output").is_some())
        }
        _ => true,
    }
}

/// Whether the client sends `item`, which it has loaded, when it stands alone. What a
/// compaction left is sent whatever it is.
pub(super) fn is_sent(item: &Object<'_>) -> bool {
    Kind::of(item).is_some() && item.text_of("role").as_deref() != Some("system")
}

fn is_part(raw: &str) -> bool {
    Object::parse(raw).is_ok_and(|part| match kind_of(&part).as_ref() {
        "input_text" | "output_text" => part.text_of("text").is_some(),
        "input_image" | "input_audio" => true,
        _ => false,
    })
}
