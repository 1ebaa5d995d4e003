//! A message in the Gemini CLI's log, as the model receives it.

use std::borrow::Cow;
use std::ops::Range;

use crate::dialect::content::{cut_blocks, kind_of};
use crate::dialect::gemini::{self as part, PartKind};
use crate::legality::content::{ImageFix, image_fix, is_base64};
use crate::log::compaction::{Ids, LineText};
use crate::record::edit::cut_members;
use crate::{Member, Object, Part, Role, Slot, ToolResult, json};

/// The beginning and end of a summary that the client's own compaction wrote.
pub(crate) const SNAPSHOT: &str = "<state_snapshot>";
pub(super) const SNAPSHOT_END: &str = "</state_snapshot>";

/// Writes a summary in the form that the client uses.
pub(crate) fn snapshot_of(summary: &str) -> String {
    format!("{SNAPSHOT}\n{summary}\n{SNAPSHOT_END}")
}

/// Begins a message in the client's format, with a new id.
pub(super) fn written(ids: &mut Ids, time: &str, kind: &str, content: &[String]) -> LineText {
    LineText::default()
        .text("id", &ids.uuid())
        .text("timestamp", time)
        .text("type", kind)
        .list("content", content)
}

/// The beginnings of user messages that the client itself writes, except summaries.
const OF_CLIENT: [&str; 5] = [
    "Please continue.",
    "System: Please continue.",
    "Here is the user's editor context as a JSON object.",
    "Here is a summary of changes in the user's editor context,",
    "- **Workspace Directories:**",
];

/// The beginnings of user messages that the client omits when it loads a file. Such messages are
/// commands, or context that the client generates again each time.
pub(super) const NOT_SENT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];

/// The maximum length in bytes of an entry in [`NOT_SENT`].
const HEAD: usize = 17;

/// Members that make a part count as content, whatever its text, when the client decides whether to
/// send a message.
const NO_TEXT: &str = "videoMetadata thought codeExecutionResult executableCode fileData \
    functionCall functionResponse inlineData";

/// Returns true if the API accepts data of this type
/// (ai.google.dev/gemini-api/docs/image-understanding).
pub(super) fn accepts(mime: &str, data: &str) -> bool {
    is_base64(data)
        && match mime {
            "image/heic" | "image/heif" => true,
            "image/gif" | "application/octet-stream" => false,
            _ if mime.starts_with("image/") => image_fix(mime, data) != Some(ImageFix::Drop),
            _ => true,
        }
}

/// A message that the client sends to the model.
pub(super) struct SentMessage<'o, 'a> {
    pub(super) role: Role,
    pub(super) message: &'o Object<'a>,
}

impl<'o, 'a> SentMessage<'o, 'a> {
    /// Creates a view of a message; `None` if no part of the message is sent, as in notes for the
    /// user, empty replies, and commands.
    pub(super) fn of(message: &'o Object<'a>) -> Option<Self> {
        let role = match &*kind_of(message) {
            "user" => Role::User,
            "gemini" => Role::Assistant,
            _ => return None,
        };
        let sent = Self { role, message };
        let content = sent.content();
        let has_more = || !sent.thoughts().is_empty() || !sent.listed_calls().is_empty();
        let is_sent = match role {
            Role::User => is_user_sent(&content),
            _ => !content.is_empty() || has_more(),
        };
        is_sent.then_some(sent)
    }

    /// The JSON text of the message.
    pub(super) fn raw(&self) -> &'a str {
        self.message.text().trim()
    }

    /// The parts of the message's content, as raw JSON.
    pub(super) fn content(&self) -> Vec<&'a str> {
        part::list(self.message.get("content"))
    }

    /// Returns true if a reply's content includes the reply's thoughts and calls. After the client
    /// has loaded a session, it writes a reply's thoughts and calls into the reply's content.
    /// Thoughts and calls of all other replies are stored outside the content.
    pub(super) fn is_whole(&self) -> bool {
        self.content().into_iter().any(part::is_call_or_thought)
    }

    /// The thoughts stored outside the content.
    pub(super) fn thoughts(&self) -> Vec<&'a str> {
        self.message.elements_of("thoughts").unwrap_or_default()
    }

    /// The calls stored outside the content, along with their results.
    pub(super) fn listed_calls(&self) -> Vec<Object<'a>> {
        self.message.objects_of("toolCalls").into_iter().flatten().flatten().collect()
    }

    /// The arguments of calls and the responses in results that are not an object, as raw JSON,
    /// each with the key of its call.
    pub(super) fn bad_arguments(&self) -> Vec<(String, &'a str)> {
        let listed = self.listed_calls();
        let results = listed.iter().flat_map(|call| part::list(call.get("result")));
        let of = |raw, kind| Object::within(raw)?.object_of(kind);
        let in_content = self.content().into_iter().chain(results);
        let values = in_content.filter_map(|raw| {
            let call = of(raw, "functionCall").map(|call| (call, "args"));
            call.or_else(|| Some((of(raw, "functionResponse")?, "response")))
        });
        let listed = listed.iter().filter(|_| !self.is_whole()).cloned();
        let is_bad = |raw: &&str| !raw.starts_with('{') && *raw != "null";
        let all = values.chain(listed.map(|call| (call, "args")));
        let bad = all.filter_map(|(it, key)| Some((part::name_of(&it), it.get(key)?)));
        bad.filter(|(_, raw)| is_bad(raw)).collect()
    }

    /// The parts with media that the API does not accept, each with the media.
    pub(super) fn bad_media(&self) -> Vec<(&'a str, Object<'a>)> {
        let calls = self.listed_calls();
        let results = calls.iter().flat_map(|call| part::list(call.get("result")));
        let media = |raw| Some((raw, Object::within(raw)?.object_of("inlineData")?));
        let parts = self.content().into_iter().chain(results).filter_map(media);
        let is_bad = |media: &Object<'_>| {
            let text = |key| media.text_of(key).unwrap_or_default();
            !accepts(&text("mimeType"), &text("data"))
        };
        parts.filter(|(_, media)| is_bad(media)).collect()
    }

    /// Returns true if the message is a request from the user. Media after a result are what a tool
    /// has read.
    pub(super) fn is_request(&self) -> bool {
        let has_results = self.has_results();
        let is_of_user = |raw: &&str| match part::kind(raw) {
            PartKind::Text => true,
            PartKind::Media(_) => !has_results,
            _ => false,
        };
        let first = self.content().into_iter().find(is_of_user);
        let is_own = |raw| part::text(raw).is_none_or(|text| !is_of_client(&text));
        self.role == Role::User && first.is_some_and(is_own)
    }

    fn has_results(&self) -> bool {
        self.content().iter().any(|raw| part::kind(raw) == PartKind::Result)
    }

    /// Returns true if the message has any content other than tool results and the media that come
    /// with them.
    pub(super) fn is_more_than_results(&self) -> bool {
        let has_results = self.has_results();
        let is_other = |raw: &str| match part::kind(raw) {
            PartKind::Result => false,
            PartKind::Media(_) => !has_results,
            _ => true,
        };
        self.role == Role::Assistant || self.content().into_iter().any(is_other)
    }

    /// The text that contains the client's own summary, if this is a user message with such a
    /// summary.
    pub(super) fn snapshot(&self) -> Option<Cow<'a, str>> {
        if self.role != Role::User {
            return None;
        }
        let mut texts = self.content().into_iter().filter_map(part::text);
        texts.find(|text| text.contains(SNAPSHOT))
    }

    /// Returns true if the message consists of a single text.
    pub(super) fn is_text(&self) -> bool {
        let is_text = matches!(self.content()[..], [raw] if part::kind(raw) == PartKind::Text);
        is_text && self.listed_calls().is_empty()
    }

    /// Returns all parts that the model receives, in order. The byte ranges in the parts refer to
    /// the text of `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        let content = self.content().into_iter().map(|raw| part::part(record, raw));
        if self.role == Role::User {
            return content.collect();
        }
        let calls = self.listed_calls();
        let mut parts = Vec::new();
        if self.is_whole() {
            parts.extend(content);
        } else {
            parts.extend(self.thoughts().into_iter().map(thought));
            parts.extend(content);
            parts.extend(calls.iter().map(|it| Part::Call(part::call(record, it))));
        }
        parts.extend(calls.iter().flat_map(|call| results(record, call)));
        parts
    }

    /// Returns the byte ranges to cut from the text of `record` to remove the reasoning, in no
    /// particular order. Thoughts outside the content are always cut, because the client would send
    /// them if there were no thoughts in the content.
    pub(super) fn reasoning(&self, record: &Object<'a>) -> Vec<Range<usize>> {
        if self.role != Role::Assistant {
            return Vec::new();
        }
        let has_thoughts = !self.thoughts().is_empty();
        let is_list = |member: &Member<'_>| has_thoughts && member.key == "thoughts";
        let mut cuts = cut_members(record, self.message, is_list);
        let is_thought = |part: &Object<'_>| part::kind_of(part) == PartKind::Thought;
        cuts.extend(cut_blocks(record, self.message, is_thought));
        cuts
    }
}

/// Returns the results of a call in `toolCalls`. The client stores results as parts.
fn results<'a>(record: &Object<'a>, call: &Object<'a>) -> Vec<Part<'a>> {
    let result = call.get("result");
    let Some((raw, text)) = result.and_then(|raw| Some((raw, json::text(raw)?))) else {
        let parts = part::list(result).into_iter();
        return parts.map(|raw| part::part(record, raw)).collect();
    };
    if text.is_empty() {
        return Vec::new();
    }
    vec![Part::Result(ToolResult {
        id: call.text_of("id"),
        name: call.text_of("name"),
        is_error: call.text_of("status").as_deref() == Some("error"),
        parts: vec![Part::Text(text)],
        slot: Some(Slot::text(record, raw)),
        ..ToolResult::default()
    })]
}

fn thought(raw: &str) -> Part<'_> {
    let Some(thought) = Object::within(raw) else { return Part::Opaque(raw.into()) };
    let text = thought.text_of("description").unwrap_or_default();
    Part::Reasoning(match thought.text_of("subject") {
        Some(subject) if !subject.is_empty() => Cow::Owned(format!("**{subject}** {text}")),
        _ => text,
    })
}

/// Returns true if the client wrote this text in a user message.
fn is_of_client(text: &str) -> bool {
    let text = without_blanks(text);
    text.starts_with(SNAPSHOT) || OF_CLIENT.iter().any(|begin| text.starts_with(begin))
}

/// Returns true if the client sends a user message with this content. Whether a user message is
/// sent depends on the beginning of its text. Parts other than texts count as content, so a message
/// that begins with such a part is sent.
fn is_user_sent(content: &[&str]) -> bool {
    let mut head = String::new();
    for raw in content {
        let text = match Object::parse(raw) {
            Ok(part) if NO_TEXT.split(' ').any(|key| part.get(key).is_some()) => "[]".into(),
            Ok(part) => part.text_of("text").unwrap_or_default(),
            Err(_) => json::text(raw).unwrap_or_default(),
        };
        let text = if head.is_empty() { without_blanks(&text) } else { &text };
        head.extend(text.chars().take(HEAD));
        if head.len() >= HEAD {
            break;
        }
    }
    !head.is_empty() && !NOT_SENT.iter().any(|begin| head.starts_with(begin))
}

/// Removes leading whitespace from a text, using JavaScript's definition of whitespace.
fn without_blanks(text: &str) -> &str {
    text.trim_start_matches(|c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}')
}
