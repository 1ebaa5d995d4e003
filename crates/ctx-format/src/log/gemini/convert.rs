//! Writes session files of the Gemini CLI in the format that version 0.61.0 uses.

use std::collections::HashMap;

use ring::digest::{SHA256, digest};

use super::message::{NOT_SENT, SentMessage, accepts, snapshot_of, written};
use crate::convert::media::{Data, DataLocation};
use crate::convert::report::LossKind;
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{Answer, Piece, Summary, TurnMessage};
use crate::dialect::gemini::{self as part, is_call_or_thought};
use crate::log::compaction::{LineText, list};
use crate::record::json::one_line;
use crate::{Call, Media, Object, Part, Role};

pub(crate) struct Writer;

/// Writes a message of the type `kind`. `at` lists the indexes, within the unit, of the source
/// records.
fn message_of(kind: &str, at: &[usize], content: &[String], notes: &mut Notes<'_>) -> LineText {
    let time = notes.time(at);
    written(&mut notes.session.ids, &time, kind, content)
}

/// Writes a reply and the results of its calls as one message; `None` if nothing in the reply can
/// be written.
fn reply(said: &TurnMessage<'_>, answers: &[Answer<'_>], notes: &mut Notes<'_>) -> Option<String> {
    // The calls get the same time as the reply that contains them.
    notes.time(&said.origins);
    // The client reads either all calls and thoughts from the content, or none.
    let is_whole = said.pieces.iter().any(|piece| piece.block.is_some_and(is_call_or_thought));
    // The first answer to a call is its result.
    let answers: HashMap<&str, &Answer<'_>> =
        answers.iter().rev().map(|answer| (&*answer.id, answer)).collect();
    let (mut content, mut thoughts, mut calls) = (Vec::new(), Vec::new(), Vec::new());
    for piece in &said.pieces {
        match (&piece.part, piece.block) {
            (Part::Call(call), block) => {
                let answer = call.id.as_deref().and_then(|id| answers.get(id).copied());
                calls.push(self::call(call, answer, notes));
                if is_whole {
                    content.push(call_part(call, block, notes));
                }
            }
            (Part::Reasoning(_), Some(raw)) if !is_call_or_thought(raw) => {
                thoughts.push(one_line(raw).into_owned());
            }
            // The client would not send a reply with an empty part.
            (Part::Text(text) | Part::Refusal(text), _) if text.is_empty() => {}
            _ => content.extend(own_part(piece)),
        }
    }
    if content.is_empty() && calls.is_empty() && thoughts.is_empty() {
        return None;
    }
    let message = message_of("gemini", &[], &content, notes)
        .some_list("thoughts", &thoughts)
        .some_list("toolCalls", &calls)
        .some_text("model", said.model.as_deref());
    Some(message.end())
}

/// Returns the raw JSON of each part of a message of the client, in the order of
/// [`SentMessage::parts`]. Calls outside the content have no part of their own.
pub(crate) fn raw_parts<'a>(message: &Object<'a>) -> Vec<Option<&'a str>> {
    let Some(sent) = SentMessage::of(message) else { return Vec::new() };
    let content = sent.content().into_iter().map(Some);
    if sent.role == Role::User {
        return content.collect();
    }
    let calls = sent.listed_calls();
    let is_whole = sent.is_whole();
    let thoughts = if is_whole { Vec::new() } else { sent.thoughts() };
    let results = calls.iter().flat_map(|call| match call.get("result") {
        Some(text) if text.starts_with('"') => vec![None; usize::from(text != "\"\"")],
        result => part::list(result).into_iter().map(Some).collect(),
    });
    let calls = calls.iter().filter(|_| !is_whole).map(|_| None);
    thoughts.into_iter().map(Some).chain(content).chain(calls).chain(results).collect()
}

/// Writes a call as a part. `block` is the part of the API from which the call was read, if any.
pub(crate) fn call_part(call: &Call<'_>, block: Option<&str>, notes: &mut Notes<'_>) -> String {
    if let Some(raw) = block.filter(|_| Object::parse(&call.arguments).is_ok()) {
        return one_line(raw).into_owned();
    }
    let function = notes.call(LineText::default(), call, "args").end();
    LineText::default().json("functionCall", &function).end()
}

fn call(call: &Call<'_>, answer: Option<&Answer<'_>>, notes: &mut Notes<'_>) -> String {
    let result = answer.map(|answer| response(answer, &call.name, notes));
    let status = match answer {
        Some(answer) if answer.result.is_error => "error",
        Some(_) => "success",
        None => "cancelled",
    };
    notes
        .call(LineText::default(), call, "args")
        .list("result", &result.into_iter().collect::<Vec<_>>())
        .text("status", status)
        .text("timestamp", &notes.session.now())
        .end()
}

impl Target for Writer {
    fn begin(&mut self, session: &mut Session) -> Vec<Line> {
        let hash = digest(&SHA256, session.cwd.as_bytes());
        let digits = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
        let hash: String = digits.collect();
        let time = session.now();
        let header = LineText::default()
            .text("sessionId", &session.id)
            .text("projectHash", &hash)
            .text("startTime", &time)
            .text("lastUpdated", &time)
            .text("kind", "main");
        vec![Line::new(header.end(), [])]
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        if said.role == Role::Assistant {
            return reply(said, &[], notes).into_iter().collect();
        }
        if is_command(&said.pieces) {
            notes.count(LossKind::Command, "");
        }
        let parts: Vec<String> = said.pieces.iter().filter_map(own_part).collect();
        if parts.is_empty() {
            return Vec::new();
        }
        vec![message_of("user", &said.origins, &parts, notes).end()]
    }

    /// Writes a result whose call is not in the preceding reply.
    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let part = response(answer, &answer.name, notes);
        message_of("user", &[answer.origin], &[part], notes).end()
    }

    /// Writes the summary as the first message of the list that replaces all earlier messages. The
    /// client recognizes a summary only at the beginning of such a list.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let text = LineText::default().text("text", &snapshot_of(&summary.text)).end();
        let mut messages = vec![message_of("user", &[], &[text], notes).end()];
        messages.append(&mut notes.session.before);
        let set = LineText::default().json("messages", &list(&messages));
        let json = LineText::default().json("$set", &set.end()).end();
        vec![Line::new(json, summary.origins.clone())]
    }

    fn answered(
        &mut self,
        said: &TurnMessage<'_>,
        answers: &[Answer<'_>],
        notes: &mut Notes<'_>,
    ) -> Option<String> {
        reply(said, answers, notes)
    }
}

/// Returns true if the client would mistake the user message for a command or for a text that it
/// wrote itself.
fn is_command(pieces: &[Piece<'_>]) -> bool {
    let Some(Piece { part: Part::Text(text), .. }) = pieces.first() else { return false };
    NOT_SENT.iter().any(|begin| text.trim_start().starts_with(begin))
}

/// Copies a piece that is already a part of the API, and writes any other piece as a part; `None`
/// if the API does not support it.
pub(crate) fn own_part(piece: &Piece<'_>) -> Option<String> {
    let is_own = |raw: &&str| match &piece.part {
        Part::Text(_) | Part::Reasoning(_) => true,
        Part::Media(it) => media(it).is_some(),
        _ => ["executableCode", "codeExecutionResult"].iter().any(|key| raw.contains(key)),
    };
    let own = piece.block.filter(is_own).map(|raw| one_line(raw).into_owned());
    own.or_else(|| part(&piece.part))
}

/// Writes a part in the API's format; `None` if the API does not support such a part.
fn part(part: &Part<'_>) -> Option<String> {
    match part {
        Part::Media(media) => self::media(media),
        part => part.said().map(|text| LineText::default().text("text", text).end()),
    }
}

fn media(media: &Media<'_>) -> Option<String> {
    let is_accepted = |data: &Data| match &data.place {
        DataLocation::Here(base64) => accepts(&data.mime, base64),
        DataLocation::At(_) => data.mime != "image/svg+xml",
    };
    let data = Data::of(media).filter(|data| !data.mime.is_empty() && is_accepted(data))?;
    let inner = LineText::default().text("mimeType", &data.mime);
    let (key, inner) = match &data.place {
        DataLocation::Here(base64) => ("inlineData", inner.text("data", base64)),
        DataLocation::At(url) => ("fileData", inner.text("fileUri", url)),
    };
    Some(LineText::default().json(key, &inner.end()).end())
}

/// Writes a result of the tool `name` in the API's format.
pub(crate) fn response(answer: &Answer<'_>, name: &str, notes: &mut Notes<'_>) -> String {
    let Answer { id, result, .. } = answer;
    if let Some(raw) = answer.block.as_deref().filter(|_| result.name.as_deref() == Some(name)) {
        return one_line(raw).into_owned();
    }
    let texts = notes.texts(result);
    let media = |part: &Part<'_>| if let Part::Media(it) = part { self::media(it) } else { None };
    let media: Vec<String> = result.parts.iter().filter_map(media).collect();
    if texts.len() > 1 {
        // If a result has several texts, they are joined with line endings.
        notes.count_at(LossKind::AsText, "text", result.slot.as_ref());
    }
    let key = if result.is_error { "error" } else { "output" };
    let output = LineText::default().text(key, &texts.join("\n"));
    let response = LineText::default()
        .text("id", id)
        .text("name", name)
        .json("response", &output.end())
        .some_list("parts", &media);
    LineText::default().json("functionResponse", &response.end()).end()
}
