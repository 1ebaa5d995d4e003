//! Which items the client loads: it passes over a line with an item of another shape.

use crate::dialect::kind_of;
use crate::{Object, json};

/// Whether the client loads `item`. One of a type that it does not know has any shape.
pub(super) fn is_loaded(item: &Object<'_>) -> bool {
    let kind = kind_of(item);
    let texts = |keys: &[&str]| keys.iter().all(|key| item.text_of(key).is_some());
    let has = |key| item.get(key).is_some();
    let is_list = |key, is_element: fn(&Object<'_>) -> bool| {
        let elements = item.elements_of(key);
        elements.is_some_and(|all| {
            all.into_iter()
                .all(|raw| Object::within(raw).is_some_and(|it| is_element(&it)))
        })
    };
    let is_output = |key| has(key) && (texts(&[key]) || is_list(key, is_part_of_output));
    has_fitting_id(item)
        && match &*kind {
            "" => false,
            "message" => texts(&["role"]) && is_list("content", is_part) && has_fitting_phase(item),
            "agent_message" => {
                texts(&["author", "recipient"]) && is_list("content", is_part_of_agent)
            }
            "reasoning" => is_list("summary", is_part_of_summary),
            "function_call" => texts(&["name", "arguments", "call_id"]),
            "custom_tool_call" => texts(&["name", "input", "call_id"]),
            "local_shell_call" => texts(&["status"]) && has_command(item),
            "tool_search_call" => texts(&["execution"]) && has("arguments"),
            "tool_search_output" => texts(&["status", "execution"]) && has("tools"),
            "function_call_output" | "custom_tool_call_output" => {
                texts(&["call_id"]) && is_output("output")
            }
            "image_generation_call" => texts(&["status", "result"]),
            "compaction" | "compaction_summary" => texts(&["encrypted_content"]),
            _ => true,
        }
}

/// Whether the client sends `item`, which it has loaded, when it stands alone. What a
/// compaction left is sent whatever it is.
pub(super) fn is_sent(item: &Object<'_>) -> bool {
    match kind_of(item).as_ref() {
        "message" => item.text_of("role").as_deref() != Some("system"),
        "agent_message"
        | "reasoning"
        | "function_call"
        | "custom_tool_call"
        | "local_shell_call"
        | "tool_search_call"
        | "function_call_output"
        | "custom_tool_call_output"
        | "tool_search_output"
        | "web_search_call"
        | "image_generation_call"
        | "compaction"
        | "compaction_summary"
        | "context_compaction" => true,
        _ => false,
    }
}

/// Whether the client knows `item`, and never sends it: one that it does not load, and the state
/// of the working folder that some versions write.
pub(super) fn is_passed_over(item: &Object<'_>) -> bool {
    !is_loaded(item) || kind_of(item) == "ghost_snapshot"
}

fn has_fitting_id(item: &Object<'_>) -> bool {
    let id = item.get("id").filter(|raw| *raw != "null");
    id.is_none_or(|raw| json::text(raw).is_some())
}

fn has_fitting_phase(message: &Object<'_>) -> bool {
    let phase = message.get("phase").filter(|raw| *raw != "null");
    phase.is_none_or(|raw| matches!(raw, "\"commentary\"" | "\"final_answer\""))
}

fn has_command(call: &Object<'_>) -> bool {
    let action = call.object_of("action");
    action.is_some_and(|action| action.elements_of("command").is_some())
}

fn is_part(part: &Object<'_>) -> bool {
    let key = match kind_of(part).as_ref() {
        "input_text" | "output_text" => "text",
        "input_image" => "image_url",
        "input_audio" => "audio_url",
        _ => return false,
    };
    part.text_of(key).is_some()
}

fn is_part_of_agent(part: &Object<'_>) -> bool {
    let key = match kind_of(part).as_ref() {
        "input_text" => "text",
        "encrypted_content" => "encrypted_content",
        _ => return false,
    };
    part.text_of(key).is_some()
}

fn is_part_of_output(part: &Object<'_>) -> bool {
    is_part(part) || part.text_of("encrypted_content").is_some()
}

fn is_part_of_summary(part: &Object<'_>) -> bool {
    kind_of(part) == "summary_text" && part.text_of("text").is_some()
}
