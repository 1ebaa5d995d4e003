//! Reads the messages in a line, which have the format of the Gemini API.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use crate::dialect::content::{cut_elements, kind_of};
use crate::dialect::gemini::{self as part, PartKind};
use crate::legality::content::{ImageFix, image_fix};
use crate::log::compaction::LineText;
use crate::log::gemini::{SNAPSHOT, added, snapshot_of, without_marks};
use crate::{Object, Part, Role};

/// The model's answer to a summary. The client writes this answer after its own summaries, and
/// recognizes a compaction by it.
pub(super) const ANSWER: &str = "Got it. Thanks for the additional context!";

/// The beginning of the sentence after a summary. The client recognizes a compaction by it.
const RESUME: &str = "Resume the prior task";

/// Writes the message with a summary in the client's form.
pub(super) fn said_summary(summary: &str) -> String {
    said("user", &format!("{}\n\n{RESUME} from this summary.", snapshot_of(summary)))
}

/// Returns the summary without the marks around it and the sentence after it.
fn bare_summary(text: &str) -> String {
    let summary = text.rfind(RESUME).map_or(text, |at| &text[..at]);
    without_marks(summary.trim().into()).into_owned()
}

/// The beginnings of texts that the client adds after a summary: files, images and the state of the
/// session.
const ATTACHED: [&str; 5] = [
    "<plan-mode-active>",
    "<background-tasks>",
    "The following files were recently accessed before",
    "Recently accessed file (",
    "Recent visual snapshots preserved from before",
];

/// The subtypes of user messages that programs write.
const OF_PROGRAMS: [&str; 3] = ["notification", "cron", "goal_runtime"];

/// The text that the client adds to a user message for a hook.
const OF_HOOK: &str = "<qwen:user-prompt-submit-context>";

/// What a server answers if it has no time for the request. The client does not send such a reply.
const NO_TIME: &str = "(request timeout)";

/// A message: a role and parts.
pub(super) struct Content<'a>(pub(super) Object<'a>);

impl<'a> Content<'a> {
    pub(super) fn role(&self) -> Role {
        match self.0.get("role") {
            Some("\"user\"") => Role::User,
            Some("\"model\"") => Role::Assistant,
            _ => Role::Other,
        }
    }

    /// The parts, as raw JSON.
    pub(super) fn raw_parts(&self) -> Vec<&'a str> {
        self.0.elements_of("parts").unwrap_or_default()
    }

    /// The parts. The byte ranges in them refer to the text of `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        self.raw_parts().into_iter().map(|raw| part::part(record, raw)).collect()
    }

    /// The calls in a reply.
    pub(super) fn calls(&self) -> Vec<Object<'a>> {
        self.functions(Role::Assistant, PartKind::Call, "functionCall")
    }

    /// The results in a user message.
    pub(super) fn results(&self) -> Vec<Object<'a>> {
        self.functions(Role::User, PartKind::Result, "functionResponse")
    }

    /// The values of the member `key` in all parts of the given kind, if the message has this role.
    fn functions(&self, role: Role, kind: PartKind, key: &str) -> Vec<Object<'a>> {
        let parts = self.0.objects_of("parts").filter(|_| self.role() == role);
        let own = parts.into_iter().flatten().flatten().filter(|it| part::kind_of(it) == kind);
        own.filter_map(|part| part.object_of(key)).collect()
    }

    /// The texts that are not thoughts.
    fn texts(&self) -> Vec<Cow<'a, str>> {
        self.raw_parts().into_iter().filter_map(part::text).collect()
    }

    /// The text, if the message consists of nothing else.
    pub(super) fn only_text(&self) -> Option<Cow<'a, str>> {
        if let [raw] = self.raw_parts()[..] { part::text(raw) } else { None }
    }

    /// The text, if the message consists of a part that has no member but its text.
    pub(super) fn bare_text(&self) -> Option<Cow<'a, str>> {
        let [raw] = self.raw_parts()[..] else { return None };
        let is_bare = Object::within(raw).is_some_and(|part| part.members().len() == 1);
        part::text(raw).filter(|_| is_bare)
    }

    /// Returns true if the message has any content other than results.
    pub(super) fn is_more_than_results(&self) -> bool {
        self.raw_parts().into_iter().any(|raw| part::kind(raw) != PartKind::Result)
    }

    /// Returns true if the client sends nothing of a user message, or omits the reply and all
    /// replies next to it.
    pub(super) fn is_void(&self) -> bool {
        let mut parts = self.raw_parts().into_iter();
        match self.role() {
            Role::Assistant => self.raw_parts().is_empty() || parts.any(part::is_void),
            _ => parts.all(part::is_void),
        }
    }

    /// Returns true if the reply comes from a server that had no time for the request.
    pub(super) fn is_placeholder(&self) -> bool {
        self.role() == Role::Assistant
            && self.0.text().contains(NO_TIME)
            && self.calls().is_empty()
            && self.texts().concat().trim() == NO_TIME
    }

    /// The summary in a user message at the beginning of a compaction.
    fn summary(&self) -> Option<String> {
        let is_summary = |text: &Cow<'_, str>| text.contains(SNAPSHOT) || text.contains(RESUME);
        let text = self.texts().into_iter().find(is_summary);
        text.filter(|_| self.role() == Role::User).map(|text| bare_summary(&text))
    }

    fn is_attached(&self) -> bool {
        let is_attached = |text: &Cow<'_, str>| ATTACHED.iter().any(|it| text.starts_with(it));
        self.texts().iter().any(is_attached)
    }

    /// Returns true if the message is a request from the user.
    fn is_request(&self) -> bool {
        let is_of_user = |raw| matches!(part::kind(raw), PartKind::Text | PartKind::Media(_));
        self.role() == Role::User && self.raw_parts().into_iter().any(is_of_user)
    }

    /// The indexes of the parts that the client adds to a message of the user.
    fn added(parts: &[Part<'_>]) -> Range<usize> {
        let files = added(parts);
        let is_of_hook =
            |part: &Part<'_>| part.text().is_some_and(|text| text.starts_with(OF_HOOK));
        match parts.iter().position(is_of_hook) {
            Some(hook) if files.is_empty() => hook..parts.len(),
            Some(_) => files.start..parts.len(),
            None => files,
        }
    }

    /// The byte ranges to cut from the text of `record` to remove the reasoning.
    pub(super) fn reasoning(&self, record: &Object<'_>) -> Vec<Range<usize>> {
        let is_thought = |part: &Object<'_>| part::kind_of(part) == PartKind::Thought;
        let parts = if self.role() == Role::Assistant { self.raw_parts() } else { Vec::new() };
        cut_elements(record, parts, is_thought)
    }

    /// The images that no API accepts, in the message and in its results.
    pub(super) fn bad_images(&self) -> Vec<BadImage<'a>> {
        if !self.0.text().contains("inlineData") {
            return Vec::new();
        }
        let results = self.results();
        let within = results.iter().flat_map(|it| it.elements_of("parts").unwrap_or_default());
        let own = self.raw_parts().into_iter().filter_map(|raw| BadImage::of(raw, false));
        own.chain(within.filter_map(|raw| BadImage::of(raw, true))).collect()
    }
}

/// An image that no API accepts.
pub(super) struct BadImage<'a> {
    pub(super) part: Object<'a>,
    /// The object with its type and its base64.
    pub(super) data: Object<'a>,
    pub(super) fix: ImageFix,
    /// Whether the image is in a result, next to which there can be no text.
    pub(super) is_in_result: bool,
}

impl<'a> BadImage<'a> {
    fn of(raw: &'a str, is_in_result: bool) -> Option<Self> {
        let part = Object::within(raw)?;
        let data = part.object_of("inlineData")?;
        let text = |key| data.text_of(key).unwrap_or_default();
        let mime = text("mimeType");
        let fix = image_fix(&mime, &text("data")).filter(|_| mime.starts_with("image/"))?;
        Some(Self { part, data, fix, is_in_result })
    }
}

/// Writes a message with a single text.
pub(super) fn said(role: &str, text: &str) -> String {
    let part = LineText::default().text("text", text).end();
    content(role, &[part])
}

/// Writes a message with these parts.
pub(super) fn content(role: &str, parts: &[String]) -> String {
    LineText::default().text("role", role).list("parts", parts).end()
}

/// The messages that a line holds.
pub(super) struct Body<'a> {
    /// The messages that are in the context.
    pub(super) messages: Vec<Content<'a>>,
    /// Whether the messages replace all earlier messages.
    pub(super) is_compaction: bool,
    /// Whether a program wrote the message.
    is_of_program: bool,
}

impl<'a> Body<'a> {
    /// Reads a line, or a message without a line around it; `None` if no part of the line is sent.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let history = compressed(object);
        let is_compaction = history.is_some();
        let mut messages = match history {
            Some(history) => history,
            None => vec![Content(single(object)?)],
        };
        if let Some(portion) = &object.portion {
            portion.retain(&mut messages);
        }
        let subtype = object.text_of("subtype").unwrap_or_default();
        let is_of_program = OF_PROGRAMS.contains(&&*subtype);
        Some(Self { messages, is_compaction, is_of_program })
    }

    /// The role of the messages when they are read as one message; `None` if there are none.
    pub(super) fn role(&self) -> Option<Role> {
        let role = self.messages.first()?.role();
        let is_one = self.messages.iter().all(|message| message.role() == role);
        Some(if is_one || self.summary_alone().is_some() { role } else { Role::Other })
    }

    /// The summary with which a compaction begins. Some compactions only shorten the messages.
    pub(super) fn summary(&self) -> Option<String> {
        self.messages.first().filter(|_| self.is_compaction)?.summary()
    }

    /// The summary, if nothing but the model's answer follows it.
    pub(super) fn summary_alone(&self) -> Option<String> {
        let is_alone = match &self.messages[..] {
            [summary] => summary.only_text().is_some(),
            [summary, answer] => {
                summary.only_text().is_some() && answer.only_text().as_deref() == Some(ANSWER)
            }
            _ => false,
        };
        if is_alone { self.summary() } else { None }
    }

    /// Returns true if the message with this index is a request from the user.
    pub(super) fn is_request(&self, at: usize) -> bool {
        let may_be = !self.is_of_program(at) && (at > 0 || self.summary().is_none());
        may_be && self.messages[at].is_request()
    }

    /// The indexes of the parts in the message with this index that programs wrote.
    pub(super) fn added(&self, at: usize, parts: &[Part<'_>]) -> Range<usize> {
        if self.is_of_program(at) { 0..parts.len() } else { Content::added(parts) }
    }

    fn is_of_program(&self, at: usize) -> bool {
        self.is_of_program || self.is_compaction && self.messages[at].is_attached()
    }

    /// The calls, each with its id, whose results are not in the same line.
    pub(super) fn open_calls(&self) -> Vec<Cow<'a, str>> {
        let id = |function: Object<'a>| function.text_of("id").unwrap_or_default();
        let results = self.messages.iter().flat_map(Content::results).map(id);
        let answered: HashSet<_> = results.collect();
        let calls = self.messages.iter().flat_map(Content::calls).map(id);
        calls.filter(|id| !answered.contains(id)).collect()
    }
}

/// Returns true if this is a line of the client with the given subtype.
pub(super) fn is_system(object: &Object<'_>, subtype: &str) -> bool {
    kind_of(object) == "system" && object.text_of("subtype").as_deref() == Some(subtype)
}

/// The messages of a compaction, which replace all earlier messages.
fn compressed<'a>(object: &Object<'a>) -> Option<Vec<Content<'a>>> {
    if !is_system(object, "chat_compression") {
        return None;
    }
    let payload = object.object_of("systemPayload")?;
    let all = payload.objects_of("compressedHistory")?;
    Some(all.flatten().map(Content).collect())
}

/// The message of a line that is not a compaction, or the object itself if it is a message.
fn single<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    match &*kind_of(object) {
        "user" | "assistant" | "tool_result" => {
            let message = object.object_of("message");
            message.filter(|_| object.get("subtype") != Some("\"realtime_message\""))
        }
        "" => object.elements_of("parts").map(|_| object.clone()),
        _ => None,
    }
}
