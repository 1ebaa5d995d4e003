//! Anthropic messages, one per record. Content blocks have the formats given in the Messages API
//! reference.

use crate::compaction::LineText;
use crate::dialect::blocks::{self, check_block};
use crate::dialect::content::{
    blocks, call_of, cut_blocks, kind_of, parts, role_of, summary_text, with_text,
};
use crate::dialect::interface::{Dialect, HeldMessage, InvalidReasoning, Sealed, Sniff};
use crate::dialect::unread::has_text;
use crate::dialect::usage::{lessen, sum};
use crate::legality::content::{Mend, Names, is_blank};
use crate::repair::{MISSING_RESULT, NewResult, RecordChange};
use crate::{
    Edits, Message, Object, Outline, Part, Role, Rule, Slot, ToolResult, Unread, Usage, json,
};
use std::borrow::Cow;

/// The dialect `anthropic`.
pub struct Anthropic;

impl Dialect for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let Some(role) = role_of(object) else { return Sniff::No };
        if !matches!(role, Role::System | Role::User | Role::Assistant)
            || object.get("content").is_none()
        {
            return Sniff::No;
        }
        let whole_response =
            object.get("type") == Some("\"message\"") && object.get("stop_reason").is_some();
        if whole_response || blocks(object).iter().any(is_own) {
            return Sniff::Yes;
        }
        if object.get("tool_calls").is_some() { Sniff::No } else { Sniff::Maybe }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let mut outline = outline(object)?;
        if let Some(model) = self.model(object) {
            outline.content_mut().model = Some(model.into_owned());
        }
        Some(outline)
    }

    fn exchange<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        skeleton(object)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        message(object, object)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        unread(self.name(), object)
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let sealed = sealed_in(object, "signature");
        let has_summary = sealed.has_summary && self.vendor_summary(object).is_none();
        Sealed { has_summary, ..sealed }
    }

    fn vendor_summary(&self, object: &Object<'_>) -> Option<String> {
        // Few messages contain the word, and to look for it is cheaper than to read the blocks.
        let blocks = object.text().contains(COMPACTION).then(|| blocks(object))?.into_iter();
        let summaries = blocks
            .filter(|block| kind_of(block) == COMPACTION && block.get("content") != Some("null"));
        // The server may compact more than once in a reply.
        let texts: Vec<_> = summaries.map(|it| it.text_of("content")).collect::<Option<_>>()?;
        let text = texts.join("\n\n");
        (!text.trim().is_empty()).then_some(text)
    }

    /// A readable summary of the server is a message of its own.
    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let mut held = HeldMessage::alone(self, object, object.text().trim().into());
        let Some(text) = self.vendor_summary(object) else { return held };
        if let Some(rest) = held.first_mut() {
            let is_block =
                |part: &Part<'_>| matches!(part, Part::Opaque(raw) if raw.contains(COMPACTION));
            rest.message.parts.retain(|part| !is_block(part));
            let mut edits = Edits::default();
            edits.cut(cut_blocks(object, object, |block| kind_of(block) == COMPACTION));
            rest.raw = edits.of_object(object).trim().to_owned().into();
        }
        held.retain(|rest| !rest.message.parts.is_empty());
        let summary = HeldMessage {
            message: Message::new(Role::User, vec![Part::Text(text.clone().into())]),
            raw: self.summary_record(Role::User, &text).into(),
            summary: Some(text.into()),
            begins_turn: false,
        };
        held.insert(0, summary);
        held
    }

    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::Rejected
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        usage(object)
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        object.text_of("model")
    }

    fn names(&self) -> Names {
        Names { calls: blocks::ID, tools: blocks::TOOL }
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        blocks::mend(object, mend);
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String {
        changed(object, object, change, into)
    }

    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        result_block(result.id, result.found.as_ref().map(|(record, place)| (record, *place)))
    }

    fn result_records(&self, results: Vec<String>) -> Vec<String> {
        let blocks = results.join(",");
        vec![format!("{{\"role\":\"user\",\"content\":[{blocks}]}}")]
    }
}

/// The type of a block that holds a summary written by the server.
const COMPACTION: &str = "compaction";

/// The outline of a message; see [`Dialect::outline`].
pub(crate) fn outline<'a>(object: &Object<'a>) -> Option<Outline<'a>> {
    let mut outline = skeleton(object)?;
    outline.check_surrogates(object.text());
    Some(outline)
}

fn skeleton<'a>(object: &Object<'a>) -> Option<Outline<'a>> {
    let role = role_of(object)?;
    let content = object.get("content")?;
    let mut outline = Outline {
        role,
        has_content: !content.starts_with('['),
        is_summary: summary_text(object).is_some(),
        ..Outline::of_line()
    };
    let mut says = !content.starts_with('[') && content != "null" && !is_blank(content);
    let mut ends_with_result = false;
    for raw in object.elements_of("content").unwrap_or_default() {
        let Some(block) = Object::within(raw) else {
            outline.fault(Rule::EmptyMessage, "");
            continue;
        };
        let kind = kind_of(&block);
        ends_with_result = kind.ends_with("_tool_result");
        says |= check_block(role, &kind, &block, &mut outline);
        match (role, kind.as_ref()) {
            (Role::Assistant, "tool_use") => {
                outline.calls.push(block.id_of("id").unwrap_or_default());
            }
            (Role::User, "tool_result") => {
                outline.results_late |= outline.has_content;
                outline.results.push(block.id_of("tool_use_id").unwrap_or_default());
            }
            _ => outline.has_content = true,
        }
    }
    outline.begins_turn = role == Role::User && outline.has_content && !outline.is_summary;
    if ends_with_result {
        outline.content_mut().ends_with_result = true;
    }
    outline.fault_if(!says, Rule::EmptyMessage, "");
    Some(outline)
}

/// Reads the message `object`, which is either a whole record or a value within a record. All byte
/// ranges in the message refer to the text of `record`.
pub(crate) fn message<'a>(record: &Object<'a>, object: &Object<'a>) -> Option<Message<'a>> {
    let role = role_of(object)?;
    let content = object.get("content")?;
    let said = parts(Some(content), &|block| part(record, block));
    let mut reasoning = Vec::new();
    let may_be = |part: &Part<'_>| matches!(part, Part::Reasoning(_) | Part::Opaque(_));
    if role == Role::Assistant && said.iter().any(may_be) {
        reasoning = cut_blocks(record, object, |block| {
            // A lowered session holds blocks of other formats in `raw`.
            is_reasoning(&kind_of(block.object_of("raw").as_ref().unwrap_or(block)))
        });
    }
    Some(Message {
        reasoning,
        sealed: sealed(object, &said, "signature"),
        ..Message::new(role, said)
    })
}

/// Returns the first unreadable part of a message, if any. `dialect` is the name of the dialect,
/// for use in the description.
pub(crate) fn unread(dialect: &str, object: &Object<'_>) -> Option<Unread> {
    let Some(role) = object.get("role") else { return Some(Unread::item(dialect, object)) };
    if !matches!(role_of(object), Some(Role::System | Role::User | Role::Assistant)) {
        return Some(Unread::role(dialect, role));
    }
    // Calls in `chat` format would never be paired with their results.
    if object.get("tool_calls").is_some_and(|raw| !matches!(raw, "null" | "[]")) {
        return Some(Unread::within_message("a list of calls outside the content"));
    }
    match object.get("content") {
        raw if raw.is_none_or(|raw| raw == "null" && dialect != Anthropic.name()) => {
            Some(Unread::within_message("a message without content"))
        }
        content => Unread::in_content(content, is_read),
    }
}

/// Counts the parts of a message that only the server can read. `key` is the member of a reasoning
/// block that holds its signature.
pub(crate) fn sealed_in(message: &Object<'_>, key: &str) -> Sealed {
    let mut sealed = Sealed::default();
    for block in blocks(message) {
        match &*kind_of(&block) {
            "thinking" if block.get(key).is_some_and(|it| it != "\"\"") => sealed.reasoning += 1,
            "redacted_thinking" => sealed.reasoning += 1,
            // The content of a failed compaction is `null`.
            "compaction" => sealed.has_summary |= block.get("content") != Some("null"),
            _ => {}
        }
    }
    sealed
}

/// The types of blocks that are accepted although their content is not read.
const SEALED: &str = "redacted_thinking image document search_result container_upload compaction \
    tool_reference browser_state tool_addition tool_removal mcp_tool_listing fallback";

/// Returns true if the block can be read, or if blocks of its type are accepted unread.
pub(crate) fn is_read(block: &Object<'_>) -> bool {
    let kind = kind_of(block);
    match &*kind {
        "text" => has_text(block, "text"),
        "thinking" => has_text(block, "thinking"),
        "tool_result" => Unread::in_content(block.get("content"), is_read).is_none(),
        kind if is_call(kind) => true,
        // Each server tool has its own result format, which is not checked.
        kind if kind.ends_with("_tool_result") => true,
        kind => SEALED.split(' ').any(|sealed| sealed == kind),
    }
}

/// Returns the token counts that the API reported for `message`, a reply or a fragment of one.
///
/// If the server called its own tools or compacted the context, the token counts are sums over
/// several requests, and `iterations` lists the counts of each request. The size of the context is
/// the size of the last request's prompt
/// (platform.claude.com/docs/en/build-with-claude/compaction).
pub(crate) fn usage(message: &Object<'_>) -> Option<Usage> {
    let all = message.object_of("usage")?;
    let last = last_request(&all);
    let of = last.as_ref().unwrap_or(&all);
    Usage::new(sum(of, &PROMPT), sum(of, &["output_tokens"]))
}

/// Returns edits that lower the prompt size recorded in the reply `message` to at most `prompt`
/// tokens. `message` is a value within `record`.
pub(crate) fn lessened(record: &Object<'_>, message: &Object<'_>, prompt: u64) -> Edits {
    let mut edits = Edits::default();
    let all = message.object_of("usage");
    let last = all.as_ref().and_then(last_request);
    for numbers in all.iter().chain(&last) {
        let by = sum(numbers, &PROMPT).saturating_sub(prompt);
        lessen(&mut edits, record, numbers, &PROMPT, by);
    }
    edits
}

/// The members whose values add up to the prompt size. The cached tokens come first, because they
/// usually make up most of the prompt.
const PROMPT: [&str; 3] =
    ["cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens"];

/// Returns the token counts for the last request, if the reply took several requests.
fn last_request<'a>(usage: &Object<'a>) -> Option<Object<'a>> {
    let requests = usage.objects_of("iterations")?.flatten();
    requests.filter(|request| kind_of(request) == "message").last()
}

fn is_call(kind: &str) -> bool {
    matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use")
}

pub(crate) fn is_reasoning(kind: &str) -> bool {
    matches!(kind, "thinking" | "redacted_thinking")
}

/// Returns true for a block that occurs in no other message dialect.
fn is_own(block: &Object<'_>) -> bool {
    match &*kind_of(block) {
        "image" | "document" => block.get("source").is_some_and(|it| it.starts_with('{')),
        "tool_result" | "search_result" | "container_upload" | "compaction" => true,
        "thinking" => block.get("thinking").is_none_or(|it| it.starts_with('"')),
        kind => is_call(kind) || is_reasoning(kind) || kind.ends_with("_tool_result"),
    }
}

/// Returns the total length of the reasoning signatures in a message whose parts are `said`. `key`
/// is the member of a reasoning block that holds its signature.
pub(crate) fn sealed(message: &Object<'_>, said: &[Part<'_>], key: &str) -> u64 {
    if !said.iter().any(|part| matches!(part, Part::Reasoning(_))) {
        return 0;
    }
    let signatures = blocks(message).into_iter().filter_map(|block| {
        let is_reasoning = kind_of(&block) == "thinking";
        block.get(key).filter(|raw| is_reasoning && raw.starts_with('"'))
    });
    signatures.map(|raw| raw.len() as u64 - 2).sum()
}

/// Reads the parts in `content`, a text or a list of blocks within `object`.
pub(crate) fn parts_of<'a>(object: &Object<'a>, content: &'a str) -> Vec<Part<'a>> {
    parts(Some(content), &|block| part(object, block))
}

/// Reads `block`, a value within `object`, as a part of a message.
fn part<'a>(object: &Object<'a>, block: &Object<'a>) -> Option<Part<'a>> {
    Some(match kind_of(block).as_ref() {
        "text" => Part::Text(block.text_of("text")?),
        "thinking" => Part::Reasoning(block.text_of("thinking")?),
        kind if is_call(kind) => Part::Call(call_of(object, block, "input")),
        "tool_result" => Part::Result(result(object, block)),
        // Each server tool has its own result format, so text cannot replace the result.
        kind if kind.ends_with("_tool_result") => {
            Part::Result(ToolResult { slot: None, ..result(object, block) })
        }
        _ => Part::media_of(block, &["image", "document"])?,
    })
}

/// Reads a tool result. A result without content has no parts.
fn result<'a>(object: &Object<'a>, block: &Object<'a>) -> ToolResult<'a> {
    let content = block.get("content");
    ToolResult {
        id: block.id_of("tool_use_id"),
        is_error: block.is_true("is_error"),
        parts: parts(content, &|block| part(object, block)),
        slot: content.map(|raw| Slot::text(object, raw)),
        ..ToolResult::default()
    }
}

/// Returns the text of `record` with `change` applied to `message`, a value within it; see
/// [`Dialect::changed`].
pub(crate) fn changed(
    record: &Object<'_>,
    message: &Object<'_>,
    change: &RecordChange,
    into: Vec<String>,
) -> String {
    let mut edits = Edits::default();
    if let Some(raw) = message.get("content") {
        // Results occur only in user messages, and calls only in replies.
        let stay = change.without.is_empty() && change.rename_results.is_empty();
        if !stay || change.results_first || !into.is_empty() {
            edits.replace(record.place_of(raw), content(raw, change, into));
        } else {
            let calls = blocks(message).into_iter().filter(|block| kind_of(block) == "tool_use");
            for (place, call) in calls.enumerate() {
                if let Some((id, to)) = call.get("id").zip(change.rename_calls.get(&place)) {
                    edits.put(&Slot::text(record, id), to);
                }
            }
        }
    }
    edits.of_object(record)
}

/// Writes a result for the call `id`: the one in the message and at the index `found`, or one that
/// says that the original is missing. `None` if the message has no result at this index.
pub(crate) fn result_block(id: &str, found: Option<(&Object<'_>, usize)>) -> Option<String> {
    if let Some((message, place)) = found {
        let mut results = blocks(message).into_iter().filter(is_result);
        let block = results.nth(place)?;
        return Some(with_text(&block, "tool_use_id", id));
    }
    let block = LineText::of_type("tool_result").text("tool_use_id", id);
    Some(block.text("content", MISSING_RESULT).is("is_error", true).end())
}

fn is_result(block: &Object<'_>) -> bool {
    kind_of(block) == "tool_result"
}

/// Returns the new content of a user message: the results that are moved into it, then its own
/// results, then all other content.
fn content(raw: &str, change: &RecordChange, into: Vec<String>) -> String {
    let (mut results, mut others) = (into, Vec::new());
    let mut own = 0;
    for raw in elements(raw) {
        let Some(block) = Object::parse(&raw).ok().filter(is_result) else {
            others.push(raw);
            continue;
        };
        if !change.without.contains(&own) {
            results.push(match change.rename_results.get(&own) {
                Some(to) => with_text(&block, "tool_use_id", to),
                None => raw.clone(),
            });
        }
        own += 1;
    }
    results.append(&mut others);
    format!("[{}]", results.join(","))
}

/// Returns the blocks of a message's content as raw JSON. A string counts as one text block, or as
/// no block if it is empty.
fn elements(content: &str) -> Vec<String> {
    match json::elements(content) {
        Some(elements) => elements.into_iter().map(str::to_owned).collect(),
        None if matches!(content, "null" | "\"\"") => Vec::new(),
        None => vec![format!("{{\"type\":\"text\",\"text\":{content}}}")],
    }
}

#[cfg(test)]
mod tests {
    use super::Anthropic;
    use crate::dialect::Dialect;
    use crate::{Object, Part, Role};

    fn object(text: &str) -> Object<'_> {
        Object::parse(text).expect("an object")
    }

    #[test]
    fn a_user_message_of_results_begins_no_turn() {
        let only = object(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}"#,
        );
        let outline = Anthropic.outline(&only).expect("a message");
        assert_eq!((outline.begins_turn, outline.results_late), (false, false));
        assert_eq!(outline.results, ["t1"]);
        let mixed = object(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"},{"type":"text","text":"go on"}]}"#,
        );
        let outline = Anthropic.outline(&mixed).expect("a message");
        assert_eq!((outline.begins_turn, outline.results_late), (true, false));
        let late = object(
            r#"{"role":"user","content":[{"type":"text","text":"go on"},{"type":"tool_result","tool_use_id":"t1"}]}"#,
        );
        assert!(Anthropic.outline(&late).expect("a message").results_late);
    }

    #[test]
    fn blocks_become_parts() {
        let reply = object(
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq"},
            {"type":"redacted_thinking","data":"zz"},{"type":"text","text":"so"},
            {"type":"tool_use","id":"t1","name":"ls","input":{"p": 1}},
            {"type":"server_tool_use","id":"s1","name":"web_search","input":{}},
            {"type":"web_search_tool_result","tool_use_id":"s1","content":[]}]}"#,
        );
        // The API itself answers calls to server tools, inside the reply; only `tool_use` needs a
        // result.
        assert_eq!(Anthropic.outline(&reply).expect("a message").calls, ["t1"]);
        let message = Anthropic.message(&reply).expect("a message");
        assert_eq!(message.parts[0], Part::Reasoning("hm".into()));
        assert!(matches!(message.parts[1], Part::Opaque(_)));
        assert_eq!(message.calls().next().map(|call| call.arguments.as_ref()), Some("{\"p\": 1}"));
        assert_eq!(message.results().count(), 1);
        // The result of a server tool cannot be replaced with text.
        assert_eq!(message.results().next().and_then(|r| r.slot.as_ref()), None);
        let cut = message.parts.iter();
        let cut: Vec<bool> = cut.map(|part| message.is_cut_as_reasoning(part, &reply)).collect();
        assert_eq!(cut, [true, true, false, false, false, false]);
    }

    #[test]
    fn the_signatures_of_reasoning_are_measured() {
        let sealed = |text: &str| {
            let reply = object(text);
            Anthropic.message(&reply).expect("a message").sealed
        };
        let reply = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"Eq0="},{"type":"thinking","thinking":"hm","signature":"Abc"},{"type":"thinking","thinking":"hm","signature":7},{"type":"text","text":"so","signature":"x"}]}"#;
        assert_eq!(sealed(reply), 7);
        assert_eq!(sealed(r#"{"role":"assistant","content":"so"}"#), 0);
    }

    #[test]
    fn what_is_no_reply_has_no_reasoning() {
        let user = object(
            r#"{"role":"user","content":[{"type":"thinking","thinking":"hm"},{"type":"new"}]}"#,
        );
        let message = Anthropic.message(&user).expect("a message");
        assert_eq!(message.reasoning, []);
        assert!(!message.is_cut_as_reasoning(&message.parts[0], &user));
    }

    #[test]
    fn a_summary_is_recognized_and_begins_no_turn() {
        let text = Anthropic.summary_record(Anthropic.summary_role(Role::System), "what \"was\"");
        let record = object(&text);
        assert_eq!(Anthropic.summary_text(&record).as_deref(), Some("what \"was\""));
        let outline = Anthropic.outline(&record).expect("a message");
        assert_eq!((outline.role, outline.begins_turn), (Role::User, false));
    }
}
