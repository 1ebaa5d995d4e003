//! The session files of the Gemini CLI. A session file is a log in which each line is a message,
//! metadata or a rewind. Older versions write a document with a list of messages. Such a document
//! is split into lines like those in a log.
//!
//! The context consists of what `convertSessionToClientHistory` in version 0.61.0 of
//! `@google/gemini-cli-core` returns for the loaded messages. Outlines list no calls or results,
//! because a call and its result are in the same record, or the record with the result continues
//! the message with the call.
//!
//! A `$set` with messages is a single record with several messages, from the user as well as from
//! the model. The record counts as one message with all their parts and the role `Other`. If the
//! role of that record were `User`, the model's words would carry the user's authority. A summary
//! followed only by the model's answer has the user role, as it does in the client. If other
//! messages follow the summary in the same record, the record is read like any other, so that no
//! message is lost.

mod compaction;
mod convert;
mod log;
mod message;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;
use std::ops::Range;

use ring::digest::{SHA256, digest};

use self::log::Line;
use self::message::{SNAPSHOT_END, SentMessage, accepts};
use super::compaction::Ids;
use super::{About, Log};
use crate::dialect::content::kind_of;
use crate::dialect::gemini as part;
use crate::dialect::interface::{Dialect, HeldMessage, Wrapped};
use crate::dialect::items::NAME;
use crate::dialect::usage::sum;
use crate::legality::content::{Mend, bare, was_here};
use crate::{
    Edits, Flaw, Links, Message, Object, Outline, Part, Role, Rule, SecondCopy, Unread, Usage, json,
};

pub(crate) use convert::{Writer, call_part, own_part, raw_parts, response};
pub(crate) use message::{SNAPSHOT, snapshot_of};

/// The dialect `gemini`.
pub struct Gemini;

/// Returns the indexes of the parts that the client reads from the files that the user names. The
/// files may contain the same marks. In a message with copies of results, which the client writes
/// after each reply and again when it resumes the session, all parts are the client's.
pub(crate) fn added(parts: &[Part<'_>]) -> Range<usize> {
    let has_results = parts.iter().any(|part| matches!(part, Part::Result(_)));
    if has_results && parts.iter().all(|part| matches!(part, Part::Result(_) | Part::Media(_))) {
        return 0..usize::MAX;
    }
    let is = |part: &Part<'_>, mark| part.text().is_some_and(|text| text.trim() == mark);
    let start = parts.iter().position(|part| is(part, "--- Content from referenced files ---"));
    let end = parts.iter().rposition(|part| is(part, "--- End of content ---"));
    start.map_or(0..0, |start| start..end.map_or(parts.len(), |end| end + 1))
}

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let messages = Messages::of(object);
        let sent = messages.sent();
        let is_summary = messages.is_summary();
        let mut outline = Outline {
            role: messages.role(&sent)?,
            begins_turn: !is_summary && sent.iter().any(SentMessage::is_request),
            has_content: sent.iter().any(SentMessage::is_more_than_results),
            is_summary,
            ..Outline::of_line()
        };
        for (id, _) in sent.iter().flat_map(SentMessage::bad_arguments) {
            outline.fault(Rule::BadInput, &id);
        }
        for call in sent.iter().flat_map(SentMessage::listed_calls) {
            outline.check_tool_name(&call, NAME, &call.text_of("id").unwrap_or_default());
        }
        let is_bad = sent.iter().any(|message| !message.bad_media().is_empty());
        outline.fault_if(is_bad, Rule::BadImage, "");
        Some(outline)
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        let messages = Messages::of(object);
        for (_, raw) in messages.sent().iter().flat_map(SentMessage::bad_arguments) {
            mend.put(raw, format!("{{\"input\":{raw}}}"));
        }
        for call in messages.sent().iter().flat_map(SentMessage::listed_calls) {
            mend.name(&call, "name", NAME);
        }
        for (part, media) in messages.sent().iter().flat_map(SentMessage::bad_media) {
            let data = media.text_of("data").unwrap_or_default();
            let data = bare(&data);
            let mime = media.text_of("mimeType");
            let is_accepted = accepts(mime.as_deref().unwrap_or_default(), &data);
            match media.get("data").filter(|_| is_accepted) {
                Some(raw) => mend.put(raw, json::quoted(&data)),
                None => mend.put(part, format!("{{\"text\":{}}}", was_here("media", mime))),
            }
        }
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let messages = Messages::of(object);
        let sent = messages.sent();
        let role = messages.role(&sent)?;
        let parts = sent.iter().flat_map(|message| message.parts(object)).collect();
        let mut message = Message::new(role, parts);
        message.added = added(&message.parts);
        message.reasoning = sent.iter().flat_map(|message| message.reasoning(object)).collect();
        // The ranges may be out of order, because a rewritten message keeps the place of its first
        // copy, and thoughts may come before or after the content.
        message.reasoning.sort_by_key(|cut| cut.start);
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let messages = Messages::of(object);
        let sent = messages.sent();
        let mut parts = sent.iter().flat_map(SentMessage::content);
        parts.find(|raw| !part::is_read(raw)).map(Unread::part)
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let tokens = reply(object)?.object_of("tokens")?;
        let prompt = sum(&tokens, &["input", "tool"]);
        Usage::new(prompt, sum(&tokens, &["output", "thoughts"]))
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        reply(object)?.text_of("model")
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let messages = Messages::of(object);
        let sent = messages.sent();
        let text = sent.first()?.snapshot()?;
        let is_alone = messages.is_summary() && is_summary_alone(&sent);
        is_alone.then(|| without_marks(text))
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let messages = Messages::of(object);
        let is_summary = messages.is_summary();
        let sent = messages.sent();
        let held = sent.iter().enumerate().map(|(place, message)| {
            let may_be_summary = is_summary && place == 0 && message.is_text();
            let summary = if may_be_summary { message.snapshot() } else { None };
            let parts = message.parts(object);
            let added = added(&parts);
            HeldMessage {
                message: Message { added, ..Message::new(message.role, parts) },
                raw: message.raw().into(),
                begins_turn: message.is_request(),
                summary: summary.map(without_marks),
            }
        });
        held.collect()
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let mut wrapped = Wrapped::default();
        for sent in Messages::of(object).sent() {
            let message = sent.message;
            wrapped.sent.extend(message.get("content"));
            wrapped.copies.extend(message.get("displayContent"));
            if sent.role == Role::User {
                continue;
            }
            let outside = if sent.is_whole() { &mut wrapped.copies } else { &mut wrapped.sent };
            outside.extend(message.get("thoughts"));
            for call in sent.listed_calls() {
                outside.extend(["id", "name", "args"].into_iter().filter_map(|key| call.get(key)));
            }
            for call in sent.listed_calls() {
                wrapped.sent.extend(call.get("result"));
                wrapped.copies.extend(call.get("resultDisplay"));
            }
        }
        wrapped
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let line = Line::of(object);
        let mut links = Links {
            stays: matches!(line, Line::Header(_) | Line::Other),
            replaces_all: matches!(line, Line::Checkpoint(_)),
            ..Links::default()
        };
        if matches!(line, Line::Header(_)) {
            links.belongs(object, object, "sessionId");
        }
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        // Duplicates in undone messages can also be removed.
        let messages = Messages::of(&object.whole()).list;
        let calls = messages.iter().filter_map(|message| message.objects_of("toolCalls"));
        let calls = calls.flatten().flatten();
        calls.filter_map(|it| SecondCopy::at(object, &it, "result", "resultDisplay")).collect()
    }
}

impl Log for Gemini {
    parts!(log::Log, compaction::Writer);

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let set = object.object_of("$set");
        let metadata = set.as_ref().unwrap_or(object);
        let session = match Line::of(object) {
            // A header with messages holds the whole session, and is rewritten whenever the session
            // grows.
            Line::Header(messages) if messages.is_empty() => object.text_of("sessionId"),
            _ => None,
        };
        About { session, title: metadata.text_of("summary"), ..About::default() }
    }

    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, _: &[usize]) -> Edits {
        if let Some(call) = flaw.id.as_deref() {
            return view::answered(object, &Messages::of(object).list, call);
        }
        let mut edits = Edits::default();
        let hash = digest(&SHA256, object.text().as_bytes());
        edits.set(0, object, "id", &json::quoted(&Ids::new(hash.as_ref()).uuid()));
        edits
    }
}

/// Returns the record's object if it is a reply.
fn reply<'o, 'a>(object: &'o Object<'a>) -> Option<&'o Object<'a>> {
    let is_reply = matches!(Line::of(object), Line::Message) && kind_of(object) == "gemini";
    is_reply.then_some(object)
}

/// The record's messages that are in the context.
struct Messages<'a> {
    list: Vec<Object<'a>>,
    /// Whether these messages replace all earlier messages.
    is_checkpoint: bool,
}

impl<'a> Messages<'a> {
    fn of(object: &Object<'a>) -> Self {
        let line = Line::of(object);
        let is_checkpoint = matches!(line, Line::Checkpoint(_));
        let mut list = line.into_messages(object);
        if let Some(portion) = &object.portion {
            list.retain(|message| SentMessage::of(message).is_some());
            portion.retain(&mut list);
        }
        Self { list, is_checkpoint }
    }

    fn sent(&self) -> Vec<SentMessage<'_, 'a>> {
        self.list.iter().filter_map(SentMessage::of).collect()
    }

    fn is_summary(&self) -> bool {
        self.is_checkpoint && log::is_compaction(&self.list)
    }

    /// Returns the role for the messages when they are read as one message; `None` if none of the
    /// messages is sent.
    fn role(&self, sent: &[SentMessage<'_, 'a>]) -> Option<Role> {
        let role = sent.first()?.role;
        let is_one = sent.iter().all(|message| message.role == role);
        let is_summary = self.is_summary() && is_summary_alone(sent);
        Some(if is_one || is_summary { role } else { Role::Other })
    }
}

/// Returns true if the messages consist of a summary alone, or of a summary and the model's answer
/// to it, which the client itself writes.
fn is_summary_alone(sent: &[SentMessage<'_, '_>]) -> bool {
    let has_no_more = matches!(sent, [_] | [_, SentMessage { role: Role::Assistant, .. }]);
    has_no_more && sent.iter().all(SentMessage::is_text)
}

/// Returns the text of a summary without the `state_snapshot` tags around it.
pub(crate) fn without_marks(text: Cow<'_, str>) -> Cow<'_, str> {
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix(SNAPSHOT);
    let inner = inner.and_then(|inner| inner.strip_suffix(SNAPSHOT_END));
    if let Some(inner) = inner { Cow::Owned(inner.trim().to_owned()) } else { text }
}
