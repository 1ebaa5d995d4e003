//! Blocks of Anthropic messages that the API rejects, and their repair.

use std::borrow::Cow;

use crate::compaction::LineText;
use crate::convert::media::{Data, DataLocation, bad_url};
use crate::dialect::anthropic::is_reasoning;
use crate::dialect::content::{blocks, kind_of, role_of};
use crate::legality::content::{ANY_NAME, ImageFix, Mend, NO_CONTENT, Naming, image_fix, is_blank};
use crate::{Media, Object, Outline, Role, Rule, json, scan};

/// What the API accepts as the id of a call (github.com/maximhq/bifrost/issues/5097).
pub(crate) const ID: Naming = Naming { is_word: true, reserved: Some("srvtoolu_"), ..ANY_NAME };
/// What the API accepts as the name of a tool.
pub(crate) const TOOL: Naming = Naming { max: 128, is_word: true, ..ANY_NAME };

/// Returns true for a member that the API does not accept in a block of this type. In the most
/// common blocks, it accepts only its own members. In others, some programs leave marks on
/// reasoning, or what belongs to the events of a stream or to an SDK's own classes.
pub(crate) fn is_extra(kind: &str, key: &str) -> bool {
    let own = match kind {
        "text" => "type text citations cache_control",
        "tool_use" => "type id name input caller toolset_name cache_control",
        "tool_result" => "type tool_use_id content is_error toolset_name cache_control",
        "image" => "type source transformations cache_control",
        _ => {
            return matches!(key, "index" | "partial_json" | "parsed_output")
                || key == MARK && is_reasoning(kind)
                || key == "citations" && kind == "compaction";
        }
    };
    !own.split(' ').any(|it| it == key)
}

/// The member that marks the end of a cached prefix.
pub(crate) const MARK: &str = "cache_control";

/// Adds the faults of a block of a message to the message's outline. Returns false for a text
/// without characters.
pub(crate) fn check_block(
    role: Role,
    kind: &str,
    block: &Object<'_>,
    outline: &mut Outline<'_>,
) -> bool {
    if kind == "compaction" {
        // A summary that was asked for has a signature, and must be the first block of all.
        let is_signed = block.text_of("signature").is_some();
        let is_late = outline.has_content;
        outline.content_mut().summary = Some(is_signed);
        outline.fault_if(is_signed && is_late, Rule::MisplacedBlock, "");
    }
    let id = |key| block.text_of(key).unwrap_or_default();
    let is_misplaced = match kind {
        "tool_use" | "server_tool_use" | "mcp_tool_use" => role != Role::Assistant,
        "tool_result" => role != Role::User,
        kind if MEDIA.contains(&kind) => role == Role::Assistant,
        kind => is_reasoning(kind) && role != Role::Assistant,
    };
    outline.fault_if(is_misplaced, Rule::MisplacedBlock, "");
    match kind {
        "tool_use" => {
            let id = id("id");
            outline.fault_if(!ID.accepts(&id), Rule::BadCallId, &id);
            outline.check_tool_name(block, TOOL, &id);
            let has_input = block.get("input").is_some_and(|raw| raw.starts_with('{'));
            outline.fault_if(!has_input, Rule::BadInput, &id);
            if let Some(id) = caller(block) {
                outline.content_mut().callers.push(id.into_owned());
            }
        }
        "tool_result" => {
            let id = id("tool_use_id");
            outline.fault_if(!ID.accepts(&id), Rule::BadCallId, &id);
            let content: Vec<_> = blocks(block);
            let has_list = || block.elements_of("content").is_some_and(|it| !it.is_empty());
            outline.fault_if(content.is_empty() && has_list(), Rule::EmptyMessage, "");
            let is_mixed = mixed_results(&content).next().is_some();
            outline.fault_if(is_mixed, Rule::MisplacedBlock, "");
            for inner in content {
                let kind = kind_of(&inner);
                let is_misplaced = is_reasoning(&kind)
                    || kind.ends_with("tool_use")
                    || kind.ends_with("tool_result");
                outline.fault_if(is_misplaced, Rule::MisplacedBlock, "");
                let has_content = check_content(&kind, &inner, outline);
                outline.fault_if(!has_content, Rule::EmptyResultText, "");
            }
            if let Some(rule) = error_fault(block) {
                outline.fault(rule, &id);
            }
        }
        "thinking" if is_unsigned(block) => outline.fault(Rule::UnsignedReasoning, ""),
        "server_tool_use" | "mcp_tool_use" => {
            outline.content_mut().server_calls.push(id("id").into_owned());
        }
        kind if kind.ends_with("_tool_result") => {
            let content = outline.content_mut();
            let (id, answered) = (id("tool_use_id"), content.answered);
            match content.server_calls[answered..].iter().position(|call| *call == id) {
                Some(at) => {
                    content.server_calls[answered..=answered + at].rotate_right(1);
                    content.answered += 1;
                }
                None => content.server_results.push(id.into_owned()),
            }
        }
        _ => {}
    }
    let has_content = check_content(kind, block, outline);
    outline.fault_if(!has_content, Rule::EmptyText, "");
    has_content
}

/// Adds the faults that blocks of messages and blocks of results have in common. Returns false for
/// a text without characters.
fn check_content(kind: &str, block: &Object<'_>, outline: &mut Outline<'_>) -> bool {
    let is_marked = block.get(MARK).is_some_and(|raw| raw != "null");
    if is_marked && !is_reasoning(kind) {
        outline.content_mut().cache_marks += 1;
    }
    let has_extra = block.members().iter().any(|member| is_extra(kind, &member.key));
    outline.fault_if(has_extra, Rule::ExtraMember, "");
    let has_bad_url = || block.object_of("source").is_some_and(|it| bad_url(&it).is_some());
    let is_bad = MEDIA.contains(&kind) && (has_bad_url() || bad_source(kind, block).is_some());
    outline.fault_if(is_bad, Rule::BadImage, "");
    !is_empty(kind, block)
}

/// The types of blocks that only a user message or a result can have.
const MEDIA: [&str; 3] = ["image", "document", "search_result"];

/// Returns the blocks in a result that the API does not accept together with search results.
fn mixed_results<'b, 'a>(content: &'b [Object<'a>]) -> impl Iterator<Item = &'b Object<'a>> {
    let is_found = |block: &Object<'_>| kind_of(block) == "search_result";
    let has_found = content.iter().any(is_found);
    content.iter().filter(move |block| has_found && !is_found(block))
}

/// Returns true for a block that the API rejects because it has no text.
fn is_empty(kind: &str, block: &Object<'_>) -> bool {
    match kind {
        "text" => block.get("text").is_some_and(is_blank),
        // The content of a failed compaction is `null`.
        "compaction" => block.get("content") == Some("\"\""),
        _ => false,
    }
}

/// Returns the id of the server tool call whose code makes this call. The result of that call
/// follows the results of the calls that its code makes
/// (platform.claude.com/docs/en/agents-and-tools/tool-use/programmatic-tool-calling).
fn caller<'a>(call: &Object<'a>) -> Option<Cow<'a, str>> {
    call.object_of("caller")?.text_of("tool_id")
}

pub(crate) fn is_unsigned(thinking: &Object<'_>) -> bool {
    matches!(thinking.get("signature"), None | Some("null" | "\"\""))
}

/// Returns the rule that the result of a failed call violates by having no text, or other content.
fn error_fault(result: &Object<'_>) -> Option<Rule> {
    let is_text = |raw: &&str| Object::within(raw).is_some_and(|block| kind_of(&block) == "text");
    let content = result.get("content").unwrap_or("null");
    let (has_text, is_text_alone) = match scan::elements(content) {
        Some(list) => (list.iter().any(is_text), list.iter().all(is_text)),
        None => (content != "null" && !is_blank(content), true),
    };
    let rule = if has_text { Rule::BadErrorResult } else { Rule::EmptyErrorResult };
    (result.is_true("is_error") && !(has_text && is_text_alone)).then_some(rule)
}

/// Returns the source of an image or a document that is stored in the session but that the API does
/// not accept, and how to repair it.
fn bad_source<'a>(kind: &str, block: &Object<'a>) -> Option<(Object<'a>, ImageFix)> {
    let source = block.object_of("source").filter(|_| MEDIA.contains(&kind))?;
    let (mime, data) = (source.text_of("media_type")?, source.text_of("data")?);
    let fix = match kind {
        _ if kind_of(&source) != "base64" => None,
        // Other documents have their text as it is.
        "document" if mime == "application/pdf" && data.starts_with("JVBERi") => None,
        "document" => Some(ImageFix::Drop),
        _ => image_fix(&mime, &data),
    };
    Some((source, fix?))
}

/// Repairs the content of `message`, a value within the record of `mend`.
pub(crate) fn mend(message: &Object<'_>, mend: &mut Mend<'_, '_>) {
    let role = role_of(message).unwrap_or(Role::Other);
    let is_system_misplaced = mend.has(Rule::MisplacedSystem) || mend.has(Rule::LateSystem);
    if is_system_misplaced && role.is_system() {
        mend.put(message.get("role").unwrap_or_default(), "\"user\"".to_owned());
        mend.cut_members(message, &OF_SYSTEM);
    }
    let Some(content) = message.get("content") else { return };
    let Some(list) = scan::elements(content) else {
        if content == "null" || is_blank(content) {
            mend.put(content, json::quoted(NO_CONTENT));
        }
        return;
    };
    mend_list(role, content, &list, mend);
}

/// The members that only a system message can have.
const OF_SYSTEM: [&str; 2] = ["clear_at", "output_config"];

/// Repairs the blocks in `list`, which are the content of a message or, for the role `tool`, of a
/// result. `content` is the same list as raw JSON.
fn mend_list(role: Role, content: &str, list: &[&str], mend: &mut Mend<'_, '_>) {
    let blocks: Vec<_> = list.iter().map(|raw| Object::within(raw)).collect();
    let goes = blocks.iter().map(|block| {
        let Some(block) = block else { return false };
        let id = |key| block.text_of(key).unwrap_or_default();
        match &*kind_of(block) {
            "server_tool_use" | "mcp_tool_use" => mend.has_id(Rule::ServerCall, &id("id")),
            "thinking" if is_unsigned(block) => mend.has(Rule::UnsignedReasoning),
            kind if is_reasoning(kind) => role != Role::Assistant,
            kind if kind.ends_with("_tool_result") => {
                mend.has_id(Rule::ServerResult, &id("tool_use_id"))
            }
            kind => is_empty(kind, block),
        }
    });
    let goes: Vec<bool> = goes.collect();
    if mend.cut_blocks(content, list, &goes) {
        return;
    }
    for raw in list.iter().filter(|raw| raw.starts_with('"')) {
        mend.put(raw, format!("{{\"type\":\"text\",\"text\":{raw}}}"));
    }
    let left = blocks.iter().zip(goes).filter(|(_, goes)| !goes);
    for block in left.filter_map(|(block, _)| block.as_ref()) {
        mend_block(role, block, mend);
    }
}

fn mend_block(role: Role, block: &Object<'_>, mend: &mut Mend<'_, '_>) {
    let kind = &*kind_of(block);
    let bad_source = bad_source(kind, block);
    if kind == "tool_use" && role != Role::Assistant {
        let text = json::quoted(block.text());
        return mend.put(block.text(), format!("{{\"type\":\"text\",\"text\":{text}}}"));
    }
    if let Some(source) = block.object_of("source").filter(|it| bad_url(it).is_some()) {
        let media = Media { kind: "image", raw: block.text().into() };
        return match Data::of(&media).map(|data| (data.mime, data.place)) {
            Some((mime, DataLocation::Here(base64))) => {
                let new = LineText::of_type("base64").text("media_type", &mime);
                mend.put(source.text(), new.text("data", &base64).end());
            }
            _ => mend.replace_with_text(block),
        };
    }
    let is_misplaced = role == Role::Assistant && MEDIA.contains(&kind);
    if is_misplaced || matches!(bad_source, Some((_, ImageFix::Drop))) {
        return mend.replace_with_text(block);
    }
    let all_marks = mend.has(Rule::CacheMarks);
    let keys = block.members().iter().map(|member| &*member.key);
    let goes = |key: &&str| is_extra(kind, key) || all_marks && *key == MARK;
    mend.cut_members(block, &keys.filter(goes).collect::<Vec<_>>());
    match (kind, bad_source) {
        ("server_tool_use" | "mcp_tool_use", _) => mend.rename(block.get("id")),
        ("tool_use", _) => {
            mend.name(block, "id", ID);
            mend.name(block, "name", TOOL);
            match block.get("input") {
                None => mend.set(block, "input", "{}"),
                Some(raw) if raw.starts_with('{') => {}
                Some(raw) => mend.put(raw, format!("{{\"input\":{raw}}}")),
            }
            if caller(block).is_some_and(|id| mend.has_id(Rule::ServerCall, &id)) {
                mend.cut_members(block, &["caller"]);
            }
        }
        ("tool_result", _) => mend_result(block, mend),
        (kind, _) if kind.ends_with("_tool_result") => mend.rename(block.get("tool_use_id")),
        (_, Some((source, fix))) => mend.image(block, (&source, "media_type", "data"), &fix),
        _ => {}
    }
}

fn mend_result(result: &Object<'_>, mend: &mut Mend<'_, '_>) {
    mend.name(result, "tool_use_id", ID);
    let is_bad_error = error_fault(result).is_some();
    match result.get("content").map(|raw| (raw, scan::elements(raw).unwrap_or_default())) {
        None if is_bad_error => mend.set(result, "content", &json::quoted(NO_CONTENT)),
        Some((raw, list)) if is_bad_error && list.is_empty() => {
            mend.put(raw, json::quoted(NO_CONTENT));
        }
        Some((_, list)) if is_bad_error => {
            let blocks = list.iter().filter_map(|raw| Object::within(raw));
            for block in blocks.filter(|block| kind_of(block) != "text") {
                mend.replace_with_text(&block);
            }
        }
        Some((raw, list)) if !list.is_empty() && !mend_mixed(&blocks(result), mend) => {
            mend_list(Role::Tool, raw, &list, mend);
        }
        _ => {}
    }
}

/// Makes the texts of a result search results, like the others. Returns false if it has none, or
/// has other blocks.
fn mend_mixed(content: &[Object<'_>], mend: &mut Mend<'_, '_>) -> bool {
    let texts: Vec<_> = mixed_results(content).collect();
    if texts.is_empty() || texts.iter().any(|it| kind_of(it) != "text" || is_empty("text", it)) {
        return false;
    }
    let citations = content.iter().find_map(|block| block.get("citations")?.strip_prefix('{'));
    let citations = citations.map(|it| format!(",\"citations\":{{{it}")).unwrap_or_default();
    for text in texts {
        let head = r#"{"type":"search_result","source":"tool","title":"text","content":["#;
        mend.put(text.text(), format!("{head}{}]{citations}}}", text.text()));
    }
    true
}
