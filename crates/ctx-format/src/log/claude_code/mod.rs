//! The session files of Claude Code. The lines form a tree, and each content block of a reply has
//! its own line.

mod compaction;
mod context;
mod convert;
#[cfg(test)]
mod tests;
mod tree;
mod view;

use std::borrow::Cow;

use super::{About, Log};
use crate::compaction::LineText;
use crate::dialect::anthropic;
use crate::dialect::blocks;
use crate::dialect::content::{kind_of, text_record};
use crate::dialect::interface::{Dialect, HeldMessage, InvalidReasoning, Sealed, Wrapped};
use crate::legality::content::{Mend, Names};
use crate::repair::{NewResult, RecordChange};
use crate::{
    Bond, Denial, Edits, Flaw, GoodFor, Links, Message, Object, Outline, Part, ReplyId, Role, Rule,
    SecondCopy, Unread, Usage, UsageOf, json,
};

pub(crate) use convert::Writer;

/// The dialect `claude-code`.
pub struct ClaudeCode;

/// The member `usage` for a reply whose token counts are unknown.
const NO_USAGE: &str = r#"{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;

/// The size, in tokens, of the context window that the client assumes by default, whatever the
/// model supports. This size is consistent with the percentages of remaining context that version
/// 2.1.197 shows for five models.
const WINDOW: u64 = 200_000;
/// The size, in tokens, of the context window that the client assumes once a session exceeds the
/// default size.
const LONG_WINDOW: u64 = 1_000_000;

/// The beginnings of texts that the client writes on the user's behalf.
const NO_REQUESTS: [&str; 3] =
    ["<local-command-stdout>", "<local-command-caveat>", "[Request interrupted by user"];

impl Dialect for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let Some(message) = message_of(object) else {
            return added_parts(object).map(|_| Outline { role: Role::User, ..Outline::of_line() });
        };
        let mut outline = anthropic::outline(&message)?;
        // The client itself mends a list without text.
        let is_sent = message.text_of("content").is_some() && outline.role == Role::User;
        if let Some(content) = outline.content.as_mut().filter(|_| !is_sent) {
            content.faults.retain(|(rule, _)| *rule != Rule::EmptyMessage);
        }
        let is_summary = object.is_true("isCompactSummary");
        let is_request = !is_summary && !object.is_true("isMeta") && is_request(&message);
        Some(Outline { is_summary, begins_turn: outline.begins_turn && is_request, ..outline })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let Some(message) = message_of(object) else {
            let parts = added_parts(object)?;
            return Some(Message::new(Role::User, parts).added_if(!is_of_user(object)));
        };
        let message = anthropic::message(object, &message)?;
        let mut message = message.added_if(!is_of_user(object));
        // A denial is stored per record, so it can be assigned to a result only if the record has
        // no other part.
        if let [Part::Result(result)] = message.parts.as_mut_slice() {
            result.denial = denial(object);
        }
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        if !matches!(&*kind_of(object), "user" | "assistant") {
            return None;
        }
        match object.object_of("message") {
            Some(message) => anthropic::unread(self.name(), &message),
            None => Some(Unread::within_message("a line without a message")),
        }
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let message = object.object_of("message");
        message.map_or_else(Sealed::default, |it| anthropic::sealed_in(&it, "signature"))
    }

    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::RemovedByAgent
    }

    fn names(&self) -> Names {
        Names { calls: blocks::ID, tools: blocks::TOOL }
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        if let Some(message) = object.object_of("message") {
            blocks::mend(&message, mend);
        }
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let message = reply(object)?;
        let request = object.text_of("requestId");
        let reply = |id: Cow<'_, str>| UsageOf::Reply(ReplyId::of(&id, request.as_deref()));
        let of = message.text_of("id").map_or(UsageOf::Record, reply);
        let usage = anthropic::usage(&message)?;
        Some(Usage {
            window: Some(if usage.prompt > WINDOW { LONG_WINDOW } else { WINDOW }),
            of,
            is_of_helper: object.is_true("isSidechain"),
            ..usage
        })
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        reply(object)?.text_of("model")
    }

    fn said_by_user(&self, text: &str, next: &Object<'_>) -> String {
        let keys = "parentUuid isSidechain userType cwd sessionId version gitBranch uuid timestamp";
        let copied = keys.split(' ').filter_map(|key| Some((key, next.get(key)?)));
        let line = copied.fold(LineText::of_type("user"), |line, (key, raw)| line.json(key, raw));
        line.json("message", &text_record(Role::User, text)).end()
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if !object.is_true("isCompactSummary") || kind_of(object) != "user" {
            return None;
        }
        let message = anthropic::message(object, &object.object_of("message")?)?;
        let mut parts = message.parts.into_iter();
        parts.find_map(|part| if let Part::Text(text) = part { Some(text) } else { None })
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let raw = object.get("message").unwrap_or(object.text().trim());
        HeldMessage::alone(self, object, raw.into())
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let sent = match &*kind_of(object) {
            "attachment" if object.get("rendered").is_some() => "rendered",
            "attachment" => "attachment",
            "system" => "content",
            _ => "message",
        };
        Wrapped {
            sent: object.get(sent).into_iter().collect(),
            copies: object.get("toolUseResult").into_iter().collect(),
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let mut links = Links { good_for: good_for(object), ..Links::of(object, "uuid") };
        links.belongs(object, object, "sessionId");
        links.name(object, object, &["parentUuid"], Bond::Parent);
        let mentions = ["logicalParentUuid", "sourceToolAssistantUUID", "leafUuid"];
        links.name(object, object, &mentions, Bond::Mention);
        // If any of the lines that a compaction keeps is missing from the file, the client keeps
        // none of them.
        let metadata = object.object_of("compactMetadata");
        for key in ["preservedSegment", "preservedMessages"] {
            let Some(kept) = metadata.as_ref().and_then(|it| it.object_of(key)) else { continue };
            links.name(object, &kept, &["headUuid", "anchorUuid", "tailUuid"], Bond::Needs);
            let ids = kept.elements_of("uuids").unwrap_or_default();
            for raw in ids.into_iter().filter(|raw| json::text(raw).is_some()) {
                links.name_at(object, raw, Bond::Needs);
            }
        }
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        SecondCopy::at(object, object, "message", "toolUseResult").into_iter().collect()
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, into: Vec<String>) -> String {
        match message_of(object) {
            Some(message) => anthropic::changed(object, &message, change, into),
            None => object.text().to_owned(),
        }
    }

    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        // The new line copies the folder, the version and so on.
        let line = result.found.as_ref().map_or(&result.call, |(line, _)| line);
        let message = message_of(line)?;
        let found = result.found.as_ref().map(|(_, place)| (&message, *place));
        let block = anthropic::result_block(result.id, found)?;
        let mut edits = Edits::default();
        edits.set(0, line, "type", "\"user\"");
        edits.set(0, line, "message", &format!(r#"{{"role":"user","content":[{block}]}}"#));
        Some(edits.of_object(line))
    }
}

impl Log for ClaudeCode {
    parts!(tree::Lines, compaction::Writer);

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let message = reply(object);
        message.map_or_else(Edits::default, |it| anthropic::lessened(object, &it, prompt))
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let kind = kind_of(object);
        let of_kind = |own, key| if kind == own { object.text_of(key) } else { None };
        About {
            session: session_of(object),
            name: of_kind("custom-title", "customTitle"),
            title: of_kind("ai-title", "aiTitle"),
            folder: object.text_of("cwd"),
        }
    }

    fn repaired(&self, object: &Object<'_>, _: &Flaw, numbers: &[usize]) -> Edits {
        view::kept_without(object, numbers)
    }
}

/// The message in a line that the user or the model wrote.
fn message_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    match &*kind_of(object) {
        "user" | "assistant" => object.object_of("message"),
        _ => None,
    }
}

/// Returns the message in a line that a model wrote; `None` for a reply that the client itself
/// wrote, for example because the server did not respond.
fn reply<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    if kind_of(object) != "assistant" || object.is_true("isApiErrorMessage") {
        return None;
    }
    let message = object.object_of("message")?;
    if message.text_of("model").as_deref() == Some("<synthetic>") { None } else { Some(message) }
}

/// Returns the id of the session that a line belongs to. A subagent's lines contain the id of the
/// main session, so the id of the subagent is appended. Older versions write a subagent's lines
/// into the main session's file without naming the subagent; the session of such lines is unknown.
fn session_of<'a>(object: &Object<'a>) -> Option<Cow<'a, str>> {
    let session = object.text_of("sessionId")?;
    if !object.is_true("isSidechain") {
        return Some(session);
    }
    let helper = object.text_of("agentId")?;
    Some(format!("{session}.{helper}").into())
}

/// Returns false if the client marks text in a user message as its own, or as another agent's. Of
/// the attachments, only queued prompts are from the user.
fn is_of_user(object: &Object<'_>) -> bool {
    let attachment = object.object_of("attachment");
    let line = attachment.as_ref().unwrap_or(object);
    let is = |key, own| line.text_of(key).is_none_or(|text| text == own);
    let is_prompt = attachment.is_none() || is("type", "queued_command");
    let origin = line.object_of("origin").and_then(|origin| origin.text_of("kind"));
    is_prompt
        && is("commandMode", "prompt")
        && origin.is_none_or(|kind| kind == "human")
        && !line.is_true("isMeta")
}

/// Returns true if a user message is a request from the user rather than text written by the
/// client.
fn is_request(message: &Object<'_>) -> bool {
    let first = || Object::within(message.elements_of("content")?.first()?)?.text_of("text");
    let text = message.text_of("content").or_else(first);
    text.is_none_or(|text| !NO_REQUESTS.iter().any(|begin| text.starts_with(begin)))
}

/// Returns whether the user denied the call that a line answers. Newer versions mark a denial in a
/// member of the line. Older versions write a denial as if it were a tool error.
fn denial(object: &Object<'_>) -> Denial {
    if let Some(kind) = object.text_of("toolDenialKind") {
        return if kind == "user-rejected" { Denial::Marked } else { Denial::None };
    }
    let error = object.text_of("toolUseResult");
    let is_denied = error.is_some_and(|it| it.starts_with("Error: The user doesn't want"));
    if is_denied { Denial::Reported } else { Denial::None }
}

/// What a line says that the client adds to the conversation for the model, if anything.
fn added_parts<'a>(object: &Object<'a>) -> Option<Vec<Part<'a>>> {
    let attachment = object.object_of("attachment");
    match (&*kind_of(object), attachment) {
        ("attachment" | "system", Some(attachment)) => {
            if is_snapshot(object) {
                return None;
            }
            // A prompt with an image is a list of blocks.
            let prompt = attachment.get("prompt").filter(|raw| raw.starts_with(['[', '"']));
            let rendered = object.objects_of("rendered").into_iter().flatten().flatten();
            let rendered: Vec<&str> = rendered.filter_map(|it| it.get("content")).collect();
            let text = |key| attachment.get(key).filter(|raw| raw.starts_with('"'));
            let texts = match prompt {
                Some(prompt) => vec![prompt],
                None if !rendered.is_empty() => rendered,
                // The client lists its skills again after a compaction.
                None if kind_of(&attachment) == "skill_listing" => Vec::new(),
                None => ["content", "snippet"].into_iter().find_map(text).into_iter().collect(),
            };
            if texts.is_empty() {
                return Some(vec![Part::Opaque(attachment.text().into())]);
            }
            Some(texts.into_iter().flat_map(|raw| anthropic::parts_of(object, raw)).collect())
        }
        ("system", None) if object.text_of("subtype")? == "local_command" => {
            object.text_of("content").map(|text| vec![Part::Text(text)])
        }
        _ => None,
    }
}

/// Parses the version of the client that wrote a line, given as raw JSON.
fn version(raw: &str) -> [u32; 3] {
    let text = json::text(raw).unwrap_or_default();
    let mut numbers = text.split('.').map(|part| part.parse().unwrap_or(0));
    [(); 3].map(|()| numbers.next().unwrap_or(0))
}

/// Returns true if the line is an attachment with a copy of the system prompt, which the client
/// does not send from there.
fn is_snapshot(object: &Object<'_>) -> bool {
    let attachment = object.object_of("attachment").map(|it| kind_of(&it) == "prompt_snapshot");
    attachment == Some(true)
}

fn good_for(object: &Object<'_>) -> Option<GoodFor> {
    match &*kind_of(object) {
        "api-request" | "api-request-shape" | "api-request-blob" | "api-request-resumed" => {
            Some(GoodFor::Requests)
        }
        "attachment" if is_snapshot(object) => Some(GoodFor::Requests),
        "progress" => Some(GoodFor::Progress),
        "file-history-snapshot" => Some(GoodFor::FileHistory),
        // A boundary does more than describe its parent: it begins the context.
        "system" if object.text_of("subtype").as_deref() != Some("compact_boundary") => {
            Some(GoodFor::ItsParent)
        }
        _ => None,
    }
}
