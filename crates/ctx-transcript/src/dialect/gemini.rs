//! The session files of the Gemini CLI: a log of messages, metadata and rewinds, one a line;
//! of older versions a document of messages, which is unwrapped to such lines.
//!
//! What is sent is what `convertSessionToClientHistory` makes of the loaded messages, in
//! version 0.61.0 of `@google/gemini-cli-core`. A call and its result stand in one record, or
//! the record with the result continues the message of its call: no outline names them.
//!
//! A `$set` with messages is one record that holds several, of the user and of the model. It
//! is one message with all their parts, and nobody's in particular: were it the user's, the
//! model's words would have his authority. A summary alone, with the client's own answer to
//! it, is the user's, as the client has it. With messages behind it in the same record it is
//! a summary that must be read like a message, so that nothing of these is lost.

mod about;
mod compaction;
mod flaws;
mod line;
mod log;
mod message;
mod part;
mod request;
#[cfg(test)]
mod tests;
mod turn;
mod view;

use std::borrow::Cow;

use self::line::Line;
use self::message::Said;
use self::request::SNAPSHOT;
use super::{Dialect, Held, Sniff, Wrapped, kind_of};
use crate::compaction::CompactionWriter;
use crate::rules::{PairBy, Results};
use crate::usage::sum;
use crate::view::ViewBuilder;
use crate::{
    About, Class, Edits, Effect, Flaw, Links, Message, Object, Outline, Role, Rules, SecondCopy,
    Unread, Usage, json,
};

/// The dialect `gemini`.
pub struct Gemini;

/// What a summary ends with.
const SNAPSHOT_END: &str = "</state_snapshot>";

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let is_own = match Line::of(object) {
            Line::Rewind(_) | Line::Checkpoint(_) => true,
            Line::Message => is_own_message(object),
            Line::Header(_) => object.get("type").is_none(),
            Line::Other => object.object_of("$set").is_some(),
        };
        if is_own { Sniff::Yes } else { Sniff::No }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let messages = Messages::of(object);
        let said = messages.said();
        let is_summary = messages.is_summary();
        Some(Outline {
            role: messages.role(&said)?,
            begins_turn: !is_summary && said.iter().any(Said::is_request),
            has_content: said.iter().any(Said::is_more_than_results),
            is_summary,
            ..Outline::of_line()
        })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let messages = Messages::of(object);
        let said = messages.said();
        let role = messages.role(&said)?;
        let parts = said.iter().flat_map(|said| said.parts(object)).collect();
        let mut message = Message::new(role, parts);
        for said in &said {
            message.reasoning.extend(said.reasoning(object));
        }
        // A message that is there twice stands at the place of the first, and thoughts may
        // stand before or behind the content.
        message.reasoning.sort_by_key(|cut| cut.start);
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let messages = Messages::of(object);
        let said = messages.said();
        let mut parts = said.iter().flat_map(Said::content);
        parts.find(|raw| !part::is_read(raw)).map(Unread::part)
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<Held<'a>> {
        let messages = Messages::of(object);
        let is_summary = messages.is_summary();
        let said = messages.said();
        let held = said.iter().enumerate().map(|(place, said)| {
            let summary = said.snapshot().filter(|_| is_summary && place == 0);
            Held {
                message: Message::new(said.role, said.parts(object)),
                raw: said.raw().into(),
                begins_turn: said.is_request(),
                summary: summary.filter(|_| said.is_text()).map(without_marks),
            }
        });
        held.collect()
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let mut wrapped = Wrapped::default();
        for message in &Messages::of(object).list {
            wrap(message, &mut wrapped);
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

    fn why_by_position(&self) -> Option<&'static str> {
        Some(
            "Gemini CLI puts a message that is written again at the place of its first line, and goes back by lines",
        )
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let mut copies = Vec::new();
        // Those of messages that were taken back are nothing but that either.
        for message in &Messages::of(&object.whole()).list {
            for raw in message.elements_of("toolCalls").unwrap_or_default() {
                if let Some(call) = Object::within(raw) {
                    copies.extend(SecondCopy::at(object, &call, "result", "resultDisplay"));
                }
            }
        }
        copies
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let tokens = reply(object)?.object_of("tokens")?;
        let prompt = sum(&tokens, &["input", "tool"]);
        Usage::new(prompt, sum(&tokens, &["output", "thoughts"]))
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        reply(object)?.text_of("model")
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        about::of(object)
    }

    fn rules(&self) -> Rules {
        Rules {
            results: Results::Later,
            pair_by: PairBy::Id,
            merges_roles: true,
            system_apart: true,
            // The client says something itself first.
            user_first: false,
        }
    }

    fn is_log(&self) -> bool {
        true
    }

    fn session<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        match Line::of(object) {
            // One that holds messages is the whole of a session, and gets longer with it.
            Line::Header(messages) if messages.is_empty() => object.text_of("sessionId"),
            _ => None,
        }
    }

    fn view(&self) -> Option<Box<dyn ViewBuilder>> {
        Some(Box::<view::Builder>::default())
    }

    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        Some(Box::<compaction::Writer>::default())
    }

    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, _: &[usize]) -> Edits {
        let messages = Messages::of(object).list;
        let id = flaw.id.as_deref();
        id.map_or_else(Edits::new, |id| flaws::answered(object, &messages, id))
    }

    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)> {
        let what = "the Gemini CLI reads other characters in their place";
        (class == Class::NotUtf8).then_some((Effect::Harmless, what))
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        let text = json::quoted(&format!("{SNAPSHOT}\n{text}\n{SNAPSHOT_END}"));
        format!(
            r#"{{"$set":{{"messages":[{{"id":"ctx_summary","type":"user","content":[{{"text":{text}}}]}}]}}}}"#
        )
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let messages = Messages::of(object);
        let said = messages.said();
        let text = said.first()?.snapshot()?;
        let is_alone = messages.is_summary() && is_summary_alone(&said);
        is_alone.then(|| without_marks(text))
    }
}

/// The record itself, where it is a reply.
fn reply<'o, 'a>(object: &'o Object<'a>) -> Option<&'o Object<'a>> {
    let is_reply = matches!(Line::of(object), Line::Message) && kind_of(object) == "gemini";
    is_reply.then_some(object)
}

/// The messages in a record, of which the object tells which are in the context.
struct Messages<'a> {
    list: Vec<Object<'a>>,
    /// Whether they take the place of all before them.
    is_checkpoint: bool,
}

impl<'a> Messages<'a> {
    fn of(object: &Object<'a>) -> Self {
        let line = Line::of(object);
        let is_checkpoint = matches!(line, Line::Checkpoint(_));
        let mut list = line.into_messages(object);
        if let Some(portion) = &object.portion {
            let sent = list
                .into_iter()
                .filter(|message| Said::of(message).is_some());
            let sent = sent.enumerate();
            let sent = sent.filter(|(number, _)| portion.holds(*number));
            list = sent.map(|(_, message)| message).collect();
        }
        Self {
            list,
            is_checkpoint,
        }
    }

    fn said(&self) -> Vec<Said<'_, 'a>> {
        self.list.iter().filter_map(Said::of).collect()
    }

    fn is_summary(&self) -> bool {
        self.is_checkpoint && log::is_compaction(&self.list)
    }

    /// Who speaks; `None` when the model is sent nothing of them.
    fn role(&self, said: &[Said<'_, 'a>]) -> Option<Role> {
        let role = said.first()?.role;
        let is_one = said.iter().all(|said| said.role == role);
        let is_summary = self.is_summary() && is_summary_alone(said);
        Some(if is_one || is_summary {
            role
        } else {
            Role::Other
        })
    }
}

/// Whether there is a summary and nothing else, but the model's answer to it, which the client
/// writes.
fn is_summary_alone(said: &[Said<'_, '_>]) -> bool {
    match said {
        [summary] => summary.is_text(),
        [summary, answer] => {
            summary.is_text() && answer.role == Role::Assistant && answer.is_text()
        }
        _ => false,
    }
}

/// A summary without the element that the client has the model write it in.
fn without_marks(text: Cow<'_, str>) -> Cow<'_, str> {
    let trimmed = text.trim();
    let inner = trimmed.strip_prefix(SNAPSHOT);
    let inner = inner.and_then(|inner| inner.strip_suffix(SNAPSHOT_END));
    match inner {
        Some(inner) => Cow::Owned(inner.trim().to_owned()),
        None => text,
    }
}

/// Whether no other format has such a message.
fn is_own_message(object: &Object<'_>) -> bool {
    let kind = kind_of(object);
    let is_kind = ["user", "gemini", "info", "error", "warning"].contains(&&*kind);
    let has = |key| object.get(key).is_some();
    is_kind && object.text_of("timestamp").is_some() && has("content") && !has("role")
}

/// Adds what of `message` the model is sent.
fn wrap<'a>(message: &Object<'a>, wrapped: &mut Wrapped<'a>) {
    let Some(said) = Said::of(message) else {
        return;
    };
    let of_message = |key| message.get(key);
    wrapped.sent.extend(of_message("content"));
    wrapped.copies.extend(of_message("displayContent"));
    if said.role == Role::User {
        return;
    }
    let beside = if said.is_whole() {
        &mut wrapped.copies
    } else {
        &mut wrapped.sent
    };
    beside.extend(of_message("thoughts"));
    for call in said.listed_calls() {
        beside.extend(
            ["id", "name", "args"]
                .into_iter()
                .filter_map(|key| call.get(key)),
        );
    }
    for call in said.listed_calls() {
        wrapped.sent.extend(call.get("result"));
        wrapped.copies.extend(call.get("resultDisplay"));
    }
}
