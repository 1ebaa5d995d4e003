//! The session files of the GitHub Copilot CLI: a list of events, which the agent reads in file
//! order. `parentId` is always the id of the previous event, and the agent does not use it.
//!
//! The rules follow version 1.0.102, and were checked against what that version sends when it
//! resumes a session. The words that the agent adds around a summary and around the messages that
//! it repeats with it are not read.

mod compaction;
mod convert;
mod event;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;

use self::event::{Event, EventKind};
use super::compaction::LineText;
use super::{About, Log, NO_TIME};
use crate::dialect::content::kind_of;
use crate::dialect::interface::{Dialect, Wrapped};
use crate::dialect::items::NAME;
use crate::dialect::usage::sum;
use crate::legality::content::Mend;
use crate::repair::{MISSING_RESULT, RecordChange};
use crate::{
    Bond, Edits, Flaw, Links, Media, Message, Object, Outline, Role, Rule, SecondCopy, Unread,
    Usage, UsageOf, json,
};

pub(crate) use convert::Writer;

/// The dialect `copilot`.
pub struct Copilot;

/// Reads an event that is a message. If the text that the agent sends depends on other events,
/// [`event::resolved`] has to be read instead.
fn message_in<'a>(object: &Object<'a>) -> Option<Event<'a>> {
    Event::of(object).filter(Event::is_message)
}

impl Dialect for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        if let Some(text) = event::resolved(object) {
            return Some(self.outline(&Object::parse(&text).ok()?)?.into_owned());
        }
        let event = message_in(object)?;
        let role = event.role();
        let mut outline = Outline {
            role,
            begins_turn: event.is_of_user(),
            has_content: role != Role::Tool,
            is_summary: event.kind == EventKind::Compaction,
            ..Outline::of_line()
        };
        if role == Role::Tool {
            outline.results.push(event.data.text_of("toolCallId").unwrap_or_default());
        }
        for call in event.calls() {
            let id = call.text_of("toolCallId").unwrap_or_default();
            outline.check_tool_name(&call, NAME, &id);
            outline.calls.push(id);
        }
        outline.fault_if(!event.bad_images().is_empty(), Rule::BadImage, "");
        Some(outline)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        if let Some(text) = event::resolved(object) {
            return Some(self.message(&Object::parse(&text).ok()?)?.into_owned());
        }
        let event = message_in(object)?;
        let is_added = event.role() == Role::User
            && event.kind != EventKind::Compaction
            && !event.is_of_user();
        Some(Message::new(event.role(), event.parts(object)).added_if(is_added))
    }

    /// Returns `None`: the Copilot CLI refuses a file with an event that it cannot read, which is a
    /// flaw of the file.
    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        let Some(event) = message_in(object) else { return };
        for call in event.calls() {
            mend.name(&call, "name", NAME);
        }
        for (image, fix) in event.bad_images() {
            mend.image(&image, (&image, "mimeType", "data"), &fix);
        }
    }

    /// Reads the token counts of a request, which the agent writes before the reply.
    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let usage = data_of(object, "session.usage_record")?.object_of("usage")?;
        Some(Usage {
            window: usage.get("maxPromptTokens").and_then(|raw| raw.parse().ok()),
            of: UsageOf::Next,
            is_of_helper: event::is_of_helper(object),
            ..Usage::new(sum(&usage, &["inputTokens"]), sum(&usage, &["outputTokens"]))?
        })
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let key = match &*kind_of(object) {
            "assistant.message" if !event::is_of_helper(object) => "model",
            "session.model_change" => "newModel",
            "session.start" | "session.resume" => "selectedModel",
            _ => return None,
        };
        object.object_of("data")?.text_of(key)
    }

    fn as_sent(&self, object: &Object<'_>) -> Option<String> {
        event::resolved(object)
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let Some(event) = message_in(object) else { return Wrapped::default() };
        let data = &event.data;
        let values = |keys: &[&str]| keys.iter().filter_map(|key| data.get(key)).collect();
        match event.kind {
            _ if object.portion.is_some() => Wrapped::default(),
            EventKind::Result => {
                let result = data.object_of("result");
                let copy = result.and_then(|it| it.get("detailedContent"));
                let sent = event.output();
                Wrapped { sent: sent.into_iter().collect(), copies: copy.into_iter().collect() }
            }
            EventKind::User => {
                let is_typed = data.text_of("transformedContent").is_none();
                let sent = values(&[if is_typed { "content" } else { "transformedContent" }]);
                let copies = if is_typed { Vec::new() } else { values(&["content"]) };
                Wrapped { sent: [sent, event.attached()].concat(), copies }
            }
            EventKind::Reply => {
                let calls = event.calls().into_iter();
                let calls = calls.flat_map(|it| [it.get("name"), it.get("arguments")]).flatten();
                let sent = data.get("content").into_iter().chain(calls);
                Wrapped { sent: sent.collect(), copies: Vec::new() }
            }
            _ => Wrapped {
                sent: values(&["content", "summaryContent", "activeWorkflowSummary"]),
                copies: Vec::new(),
            },
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let mut links = Links::of(object, "id");
        links.name(object, object, &["parentId"], Bond::Parent);
        // Later events may refer to the content of a skill.
        links.stays = matches!(&*kind_of(object), "skill.invoked" | "skill.context_delivered");
        if let Some(header) = data_of(object, "session.start") {
            links.stays = true;
            links.belongs(object, &header, "sessionId");
        }
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let result = data_of(object, "tool.execution_complete");
        let result = result.and_then(|data| data.object_of("result"));
        let copy = result.and_then(|it| SecondCopy::at(object, &it, "content", "detailedContent"));
        copy.into_iter().collect()
    }

    /// The agent sends such a text with the files that are attached to a message.
    fn in_place_of(&self, media: &Media<'_>, text: &str) -> String {
        let own = Object::parse(&media.raw).ok();
        let name = ["path", "displayName"].iter().find_map(|key| own.as_ref()?.text_of(key));
        let name = name.unwrap_or("image".into());
        let line = LineText::of_type("file").text("path", &name).text("displayName", &name);
        line.text("taggedFilesEntry", text).end()
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let event = message_in(object).filter(|event| event.kind == EventKind::Compaction)?;
        event.summary()
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        let Some(event) = Event::of(object) else { return object.text().to_owned() };
        let calls = event.calls();
        let ids: Vec<_> = calls.iter().map(|call| call.get("toolCallId")).collect();
        change.renames(object, &ids, event.data.get("toolCallId")).of_object(object)
    }

    fn missing_result(&self, call: &Object<'_>, id: &str) -> Option<String> {
        let error = LineText::default().text("message", MISSING_RESULT).text("code", "failure");
        let missing = LineText::default()
            .text("toolCallId", id)
            .json("success", "false")
            .json("error", &error.end());
        let own = view::id_from(&format!("{} {id}", call.text()));
        let mut edits = Edits::default();
        edits.set(0, call, "type", r#""tool.execution_complete""#);
        edits.set(0, call, "data", &missing.end());
        edits.set(0, call, "id", &json::quoted(&own));
        Some(edits.of_object(call))
    }
}

impl Log for Copilot {
    parts!(view::Events, compaction::Writer);

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let Some(start) = data_of(object, "session.start") else { return About::default() };
        let folder = start.object_of("context").and_then(|context| context.text_of("cwd"));
        About { session: start.text_of("sessionId"), folder, ..About::default() }
    }

    /// Supplies the members that the agent requires in each event.
    fn repaired(&self, object: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        let mut edits = Edits::default();
        for key in view::bad_members(object) {
            let value = match key {
                "id" => view::id_from(object.text()),
                "timestamp" => NO_TIME.to_owned(),
                _ => {
                    edits.set(0, object, key, "null");
                    continue;
                }
            };
            edits.set(0, object, key, &json::quoted(&value));
        }
        edits
    }
}

/// The data of an event, if the event has the type `kind`.
fn data_of<'a>(object: &Object<'a>, kind: &str) -> Option<Object<'a>> {
    if kind_of(object) == kind { object.object_of("data") } else { None }
}
