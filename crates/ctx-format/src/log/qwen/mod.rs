//! The session files of Qwen Code. The lines form a tree, and their messages have the format of the
//! Gemini API.
//!
//! The rules follow version 0.24.4. The client first corrects the messages that it loads: it moves
//! results to their calls, adds a result to a call that has none, and omits results without a call.
//!
//! A compaction is a single line with several messages, from the user as well as from the model.
//! The line counts as one message with all their parts and the role `Other`, because otherwise the
//! model's words would carry the user's authority. A summary followed only by the model's answer
//! has the user role, as it does in the client.

mod body;
mod compaction;
mod convert;
#[cfg(test)]
mod tests;
mod tree;
mod view;

use std::borrow::Cow;

use self::body::{BadImage, Body, Content, is_system};
use super::compaction::LineText;
use super::{About, Log};
use crate::dialect::content::kind_of;
use crate::dialect::gemini as part;
use crate::dialect::interface::{Dialect, HeldMessage, Wrapped};
use crate::dialect::items::NAME;
use crate::dialect::usage::{lessen, sum};
use crate::legality::content::{ImageFix, Mend, was_here};
use crate::record::edit::cuts;
use crate::repair::{MISSING_RESULT, NewResult, RecordChange};
use crate::{
    Bond, Edits, Flaw, GoodFor, Links, Message, Object, Outline, Role, Rule, SecondCopy, Unread,
    Usage, json,
};

pub(crate) use convert::Writer;

/// The dialect `qwen`.
pub struct Qwen;

/// The members that every line repeats.
const SHARED: [&str; 4] = ["sessionId", "cwd", "version", "gitBranch"];

/// The members of `toolCallResult` that repeat a result.
const COPIES: [&str; 2] = ["resultDisplay", "responseParts"];

impl Dialect for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let body = Body::of(object)?;
        let messages = &body.messages;
        let is_summary = body.summary().is_some();
        let id = |function: &Object<'a>| function.text_of("id").unwrap_or_default();
        let results = messages.iter().filter(|_| !body.is_compaction).flat_map(Content::results);
        let mut outline = Outline {
            role: body.role()?,
            begins_turn: !is_summary && (0..messages.len()).any(|at| body.is_request(at)),
            has_content: messages.iter().any(Content::is_more_than_results),
            is_summary,
            calls: body.open_calls(),
            results: results.map(|result| id(&result)).collect(),
            ..Outline::of_line()
        };
        for call in messages.iter().flat_map(Content::calls) {
            outline.check_tool_name(&call, NAME, &id(&call));
        }
        for message in messages {
            outline.fault_if(!message.bad_images().is_empty(), Rule::BadImage, "");
            outline.check_surrogates(message.0.text());
        }
        Some(outline)
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        for message in Body::of(object).into_iter().flat_map(|body| body.messages) {
            for call in message.calls() {
                mend.name(&call, "name", NAME);
            }
            let mut gone = Vec::new();
            for BadImage { part, data, fix, is_in_result } in message.bad_images() {
                let mime = data.text_of("mimeType");
                match fix {
                    ImageFix::Drop if is_in_result => gone.push(part.text()),
                    ImageFix::Drop => {
                        let text = was_here("image", mime);
                        mend.put(part.text(), LineText::default().json("text", &text).end());
                    }
                    fix => mend.image(&part, (&data, "mimeType", "data"), &fix),
                }
            }
            for result in message.results().iter().filter(|_| !gone.is_empty()) {
                let parts = result.elements_of("parts").unwrap_or_default();
                let goes: Vec<bool> = parts.iter().map(|raw| gone.contains(raw)).collect();
                if goes.iter().all(|goes| *goes) {
                    mend.cut_members(result, &["parts"]);
                } else {
                    mend.cut_blocks("", &parts, &goes);
                }
            }
        }
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let body = Body::of(object)?;
        let parts = body.messages.iter().flat_map(|message| message.parts(object)).collect();
        let mut message = Message::new(body.role()?, parts);
        if body.messages.len() == 1 {
            message.added = body.added(0, &message.parts);
        }
        message.reasoning = body.messages.iter().flat_map(|it| it.reasoning(object)).collect();
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        if is_system(object, "chat_compression") {
            let payload = object.object_of("systemPayload")?;
            let history = payload.get("compressedHistory").filter(|raw| *raw != "null")?;
            let Some(all) = payload.elements_of("compressedHistory") else {
                return Some(Unread::part(history));
            };
            if let Some(raw) = all.into_iter().find(|raw| Object::within(raw).is_none()) {
                return Some(Unread::part(raw));
            }
        }
        let messages = Body::of(object)?.messages;
        messages.iter().find_map(|message| {
            let role = message.0.get("role").unwrap_or("null");
            let has_role = matches!(message.role(), Role::User | Role::Assistant);
            let is_read = |raw: &&str| Object::within(raw).is_some() && part::is_read(raw);
            let part = || message.raw_parts().into_iter().find(|raw| !is_read(raw));
            if has_role { part().map(Unread::part) } else { Some(Unread::role(self.name(), role)) }
        })
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let usage = usage_of(object)?;
        let output = sum(&usage, &["totalTokenCount"]);
        let prompt = sum(&usage, &["promptTokenCount"]);
        let said = sum(&usage, &["candidatesTokenCount"]);
        let window = object.get("contextWindowSize").and_then(|raw| raw.parse().ok());
        Some(Usage { window, ..Usage::new(prompt, said.max(output.saturating_sub(prompt)))? })
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if kind_of(object) == "assistant" { object.text_of("model") } else { None }
    }

    fn said_by_user(&self, text: &str, next: &Object<'_>) -> String {
        like(next, "user").json("message", &body::said("user", text)).end()
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        compaction::line(LineText::of_type("system"), &[body::said_summary(text)], "")
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        Body::of(object)?.summary_alone().map(Cow::Owned)
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let Some(body) = Body::of(object) else { return Vec::new() };
        let held = body.messages.iter().enumerate().map(|(at, content)| {
            let message = Message::new(content.role(), content.parts(object));
            let may_be_summary = at == 0 && content.only_text().is_some();
            HeldMessage {
                message: Message { added: body.added(at, &message.parts), ..message },
                raw: content.0.text().trim().into(),
                summary: if may_be_summary { body.summary().map(Cow::Owned) } else { None },
                begins_turn: body.is_request(at),
            }
        });
        held.collect()
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let messages = Body::of(object).into_iter().flat_map(|body| body.messages);
        Wrapped {
            sent: messages.filter_map(|message| message.0.get("parts")).collect(),
            copies: object.get("toolCallResult").into_iter().collect(),
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let good_for = match object.text_of("subtype").as_deref() {
            Some("ui_telemetry") => Some(GoodFor::Progress),
            Some("file_history_snapshot") => Some(GoodFor::FileHistory),
            _ => None,
        };
        // Without a rewind, the session would continue from the messages that it undoes.
        let stays = is_system(object, "rewind");
        let mut links = Links { good_for, stays, ..Links::of(object, "uuid") };
        links.belongs(object, object, "sessionId");
        links.name(object, object, &["parentUuid"], Bond::Parent);
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let (message, result) = (object.get("message"), object.object_of("toolCallResult"));
        let of_line = message.zip(result).into_iter();
        let copies = of_line.flat_map(|(message, result)| {
            COPIES.map(|key| SecondCopy::of(object, message, &result, key))
        });
        copies.flatten().collect()
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _: Vec<String>) -> String {
        let mut edits = Edits::default();
        let Some(body) = Body::of(object) else { return object.text().to_owned() };
        let results: Vec<_> = body.messages.iter().flat_map(Content::results).collect();
        let calls: Vec<_> = body.messages.iter().flat_map(Content::calls).collect();
        for (of, new) in [(&results, &change.rename_results), (&calls, &change.rename_calls)] {
            for (function, to) in new.iter().filter_map(|(at, to)| Some((of.get(*at)?, to))) {
                let start = object.place_of(function.text()).start;
                edits.set(start, function, "id", &json::quoted(to));
            }
        }
        let mut numbers = 0..;
        let parts = body.messages.iter().flat_map(Content::raw_parts).map(|raw| {
            let is_result = part::kind(raw) == part::PartKind::Result;
            let number = if is_result { numbers.next() } else { None };
            (object.place_of(raw), number.is_some_and(|at| change.without.contains(&at)))
        });
        edits.cut(cuts(object.text(), parts));
        edits.of_object(object)
    }

    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        let id = json::quoted(result.id);
        let (line, function) = if let Some((line, place)) = &result.found {
            let function = Body::of(line)?.messages.first()?.results().into_iter().nth(*place)?;
            let mut edits = Edits::default();
            edits.set(0, &function, "id", &id);
            (line, edits.of_object(&function))
        } else {
            let calls = Body::of(&result.call)?.messages;
            let mut calls = calls.iter().flat_map(Content::calls);
            let call = calls.find(|it| it.text_of("id").unwrap_or_default() == result.id);
            let name = call.and_then(|call| call.text_of("name")).unwrap_or_default();
            let response = LineText::default().text("error", MISSING_RESULT).end();
            let function = LineText::default().json("id", &id).text("name", &name);
            (&result.call, function.json("response", &response).end())
        };
        let part = LineText::default().json("functionResponse", &function).end();
        let message = body::content("user", &[part]);
        Some(like(line, "tool_result").json("message", &message).end())
    }
}

impl Log for Qwen {
    parts!(tree::Lines, compaction::Writer);

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::default();
        if let Some(usage) = usage_of(object) {
            let by = sum(&usage, &["promptTokenCount"]).saturating_sub(prompt);
            for key in ["promptTokenCount", "totalTokenCount", "cachedContentTokenCount"] {
                lessen(&mut edits, object, &usage, &[key], by);
            }
        }
        edits
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let (session, folder) = (object.text_of("sessionId"), object.text_of("cwd"));
        let mut about = About { session, folder, ..About::default() };
        let payload =
            object.object_of("systemPayload").filter(|_| is_system(object, "custom_title"));
        if let Some(payload) = payload {
            let is_of_client = payload.get("titleSource") == Some("\"auto\"");
            let title = if is_of_client { &mut about.title } else { &mut about.name };
            *title = payload.text_of("customTitle");
        }
        about
    }

    /// Gives a line another uuid if an earlier line has the same one, or else removes the link to a
    /// parent that is not in the file, if no line can take its place.
    fn repaired(&self, object: &Object<'_>, _: &Flaw, numbers: &[usize]) -> Edits {
        let mut edits = Edits::default();
        match (numbers, object.text_of("uuid")) {
            ([number], Some(id)) => {
                edits.set(0, object, "uuid", &json::quoted(&format!("{id}-{number}")));
            }
            _ => edits.set(0, object, "parentUuid", "null"),
        }
        edits
    }
}

/// Begins a line of the type `kind` that belongs to the same session as `line` and has the same id
/// and parent.
fn like(line: &Object<'_>, kind: &str) -> LineText {
    let keys = ["uuid", "parentUuid", "timestamp"].into_iter().chain(SHARED);
    let copied = keys.filter_map(|key| Some((key, line.get(key)?)));
    copied.fold(LineText::of_type(kind), |new, (key, raw)| new.json(key, raw))
}

/// The token counts that the API reported for a reply.
fn usage_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    if kind_of(object) == "assistant" { object.object_of("usageMetadata") } else { None }
}
