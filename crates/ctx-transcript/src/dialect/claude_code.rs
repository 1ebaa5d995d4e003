//! The session files of Claude Code: a tree of lines, one content block of a reply a line.

mod about;
mod ascent;
mod beside;
mod compaction;
mod context;
mod flaws;
mod kept;
mod leaf;
mod links;
mod near;
mod node;
mod path;
#[cfg(test)]
mod tests;
mod tree;
mod view;

use std::borrow::Cow;

use super::{Dialect, Held, Sealed, Sniff, Wrapped, anthropic, kind_of};
use crate::compaction::CompactionWriter;
use crate::rules::{PairBy, Results};
use crate::view::ViewBuilder;
use crate::{
    About, Class, Denial, Edits, Effect, Flaw, Links, Message, Object, Outline, Part, ReplyId,
    Role, Rules, SecondCopy, Unread, Usage, UsageOf, json,
};

/// The dialect `claude-code`.
pub struct ClaudeCode;

impl ClaudeCode {
    /// The `usage` of a reply of which nobody knows what it has used.
    pub const NO_USAGE: &str = r#"{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}"#;
}

/// The window that the client works with unless it is told to use the long one, whatever the
/// model could take: seen in what version 2.1.197 says is left, with five models.
const WINDOW: u64 = 200_000;
/// The long one; a session that has had more than the other tells that it is in use.
const LONG_WINDOW: u64 = 1_000_000;

/// Lines without a place in the tree, by what else only they have.
const OWN_LINES: [(&str, &str); 5] = [
    ("summary", "leafUuid"),
    ("file-history-snapshot", "messageId"),
    ("queue-operation", "sessionId"),
    ("last-prompt", "sessionId"),
    ("permission-mode", "sessionId"),
];

/// What the client writes for the user: no request of his.
const NO_REQUESTS: [&str; 3] = [
    "<local-command-stdout>",
    "<local-command-caveat>",
    "[Request interrupted by user",
];

impl Dialect for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let kind = kind_of(object);
        let has = |key| object.get(key).is_some();
        let is_of_tree = has("uuid") && has("parentUuid") && has("sessionId");
        let is_own = OWN_LINES.iter().any(|(own, key)| kind == *own && has(key));
        if !kind.is_empty() && (is_of_tree || is_own) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        match kind_of(object).as_ref() {
            "user" | "assistant" => {
                let message = object.object_of("message")?;
                let outline = anthropic::outline(&message)?;
                let is_summary = object.is_true("isCompactSummary");
                let is_request = !is_summary && !object.is_true("isMeta") && is_request(&message);
                Some(Outline {
                    is_summary,
                    begins_turn: outline.begins_turn && is_request,
                    ..outline
                })
            }
            "attachment" | "system" => {
                said_beside(object)?;
                Some(Outline {
                    role: Role::User,
                    ..Outline::of_line()
                })
            }
            _ => None,
        }
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        match kind_of(object).as_ref() {
            "user" | "assistant" => {
                let mut message = anthropic::message(object, &object.object_of("message")?)?;
                // What the record says of a call, it says of the only one that it answers.
                if let [Part::Result(result)] = message.parts.as_mut_slice() {
                    result.denial = denial(object);
                }
                Some(message)
            }
            "attachment" | "system" => Some(Message::new(Role::User, vec![said_beside(object)?])),
            _ => None,
        }
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

    fn held<'a>(&self, object: &Object<'a>) -> Vec<Held<'a>> {
        let held = |message| Held {
            message,
            raw: object.get("message").unwrap_or(object.text().trim()).into(),
            summary: self.summary_text(object),
            begins_turn: self.begins_turn(object),
        };
        self.message(object).map(held).into_iter().collect()
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let sent = match kind_of(object).as_ref() {
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
        links::of(object)
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        SecondCopy::at(object, object, "message", "toolUseResult")
            .into_iter()
            .collect()
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let message = reply(object)?;
        let id = message.text_of("id");
        let request = object.text_of("requestId");
        let usage = anthropic::usage(&message)?;
        Some(Usage {
            window: Some(if usage.prompt > WINDOW {
                LONG_WINDOW
            } else {
                WINDOW
            }),
            of: id.map_or(UsageOf::Record, |id| {
                UsageOf::Reply(ReplyId::of(&id, request.as_deref()))
            }),
            is_of_helper: object.is_true("isSidechain"),
            ..usage
        })
    }

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let message = reply(object);
        message.map_or_else(Edits::new, |it| anthropic::lessened(object, &it, prompt))
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        reply(object)?.text_of("model")
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        about::of(object)
    }

    fn rules(&self) -> Rules {
        Rules {
            // The client puts results where the API wants them.
            results: Results::Later,
            pair_by: PairBy::Id,
            merges_roles: true,
            system_apart: true,
            user_first: false,
        }
    }

    fn is_log(&self) -> bool {
        true
    }

    fn session<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let session = object.text_of("sessionId")?;
        if !object.is_true("isSidechain") {
            return Some(session);
        }
        // The lines of a helper name the session that it helps. Older versions write them among
        // those of that session, and name no helper.
        let helper = object.text_of("agentId")?;
        Some(format!("{session}.{helper}").into())
    }

    fn view(&self) -> Option<Box<dyn ViewBuilder>> {
        Some(Box::<view::Builder>::default())
    }

    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        Some(Box::<compaction::Writer>::default())
    }

    fn repaired(&self, object: &Object<'_>, _: &Flaw, numbers: &[usize]) -> Edits {
        flaws::kept_without(object, numbers)
    }

    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)> {
        Some(match class {
            Class::Concatenated => (
                Effect::Lost,
                "Claude Code reads the first object of the line and not the rest",
            ),
            Class::NotUtf8 => (
                Effect::Harmless,
                "Claude Code reads other characters in their place",
            ),
            Class::Tail => (
                Effect::Harmless,
                "Claude Code writes its next line right behind it, and does not read that either",
            ),
            _ => return None,
        })
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        let text = json::quoted(text);
        format!(
            r#"{{"type":"user","isCompactSummary":true,"message":{{"role":"user","content":{text}}}}}"#
        )
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let is_summary = object.is_true("isCompactSummary") && kind_of(object) == "user";
        let message = object.object_of("message").filter(|_| is_summary)?;
        let parts = anthropic::message(object, &message)?.parts;
        parts.into_iter().find_map(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        })
    }
}

/// The message of a line that a model has written. The client writes some itself: where the
/// server gave no answer, or none was asked for.
fn reply<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    if kind_of(object) != "assistant" || object.is_true("isApiErrorMessage") {
        return None;
    }
    let message = object.object_of("message")?;
    let is_written_by_client = message.text_of("model").as_deref() == Some("<synthetic>");
    (!is_written_by_client).then_some(message)
}

/// Whether a user message is what the user asks, and not what the client writes for him.
fn is_request(message: &Object<'_>) -> bool {
    let text = message.get("content").and_then(json::text);
    let text = text.or_else(|| {
        let blocks = message.elements_of("content")?;
        let block = blocks.first().and_then(|raw| Object::within(raw))?;
        block.text_of("text")
    });
    text.is_none_or(|text| !NO_REQUESTS.iter().any(|begin| text.starts_with(begin)))
}

/// Whether the user denied the call that a line answers. Newer versions mark each denial;
/// older ones write it as they write the error of a tool.
fn denial(object: &Object<'_>) -> Denial {
    match object.text_of("toolDenialKind") {
        Some(kind) if kind == "user-rejected" => Denial::Marked,
        Some(_) => Denial::None,
        None => match object.text_of("toolUseResult") {
            Some(error) if error.starts_with("Error: The user doesn't want") => Denial::Reported,
            _ => Denial::None,
        },
    }
}

/// What the client adds for the model, beside what is said.
fn said_beside<'a>(object: &Object<'a>) -> Option<Part<'a>> {
    if let Some(attachment) = object.object_of("attachment") {
        let mut keys = ["prompt", "content", "snippet"].into_iter();
        let text = keys.find_map(|key| attachment.text_of(key));
        let raw = object.get("attachment")?;
        return Some(text.map_or(Part::Opaque(raw.into()), Part::Text));
    }
    let is_command = object.text_of("subtype").as_deref() == Some("local_command");
    object
        .text_of("content")
        .filter(|_| is_command)
        .map(Part::Text)
}
