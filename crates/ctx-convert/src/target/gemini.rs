//! Session files of the Gemini CLI. Shapes are those of version 0.61.0.

use std::fmt::Write;

use ctx_transcript::compaction::{LineText, list};
use ctx_transcript::dialect::Gemini;
use ctx_transcript::{Call, Dialect, Media, Object, Part, Role, ToolResult};
use sha2::{Digest, Sha256};

use super::{Line, Notes, Target};
use crate::Kind;
use crate::json::kind;
use crate::media::{Data, Place};
use crate::said::Piece;
use crate::session::Session;
use crate::turn::{Answer, Results, Said, Turn};

/// Writes the log of the Gemini CLI.
pub(super) struct Writer {
    session: Session,
    /// What stands before a summary that is still to come: they are one list.
    before: Vec<String>,
}

impl Writer {
    pub(super) fn new(session: Session) -> Self {
        let before = Vec::new();
        Self { session, before }
    }

    /// A message of the log.
    fn message(&mut self, kind: &str, time: Option<&str>, content: &str) -> LineText {
        LineText::new()
            .text("id", &self.session.ids.uuid())
            .text("timestamp", &self.session.time(time))
            .text("type", kind)
            .json("content", content)
    }

    fn said(&mut self, said: &Said<'_>, notes: &mut Notes<'_>) -> Option<(String, Vec<usize>)> {
        notes.name(said);
        if said.role.is_system() {
            notes.count(Kind::Instructions, "");
            return None;
        }
        let parts: Vec<&Part<'_>> = said.pieces.iter().map(|piece| &piece.part).collect();
        if is_command(&parts) {
            notes.count(Kind::Command, "");
        }
        let parts: Vec<String> = parts.iter().filter_map(|it| part(it, notes)).collect();
        if parts.is_empty() && !said.pieces.is_empty() {
            return None;
        }
        let time = notes.time_of(&said.origins);
        let message = self.message("user", time, &list(&parts));
        Some((message.end(), said.origins.clone()))
    }

    /// A reply with the results of its calls.
    fn reply(
        &mut self,
        said: &Said<'_>,
        results: Option<&Results<'_>>,
        notes: &mut Notes<'_>,
    ) -> Option<(String, Vec<usize>)> {
        notes.name(said);
        let time = notes.time_of(&said.origins);
        self.session.time(time);
        let answers = results.map_or(&[][..], |results| &results.answers);
        let mut texts = Vec::new();
        let mut calls = Vec::new();
        for Piece { part, .. } in &said.pieces {
            match part {
                Part::Call(call) => calls.push(self.call(call, answers, notes)),
                // A reply with an empty part is left out as a whole.
                Part::Text(text) | Part::Refusal(text) if text.is_empty() => {}
                part => texts.extend(self::part(part, notes)),
            }
        }
        if texts.is_empty() && calls.is_empty() {
            return None;
        }
        let model = said.model.as_deref();
        let message = self
            .message("gemini", None, &list(&texts))
            .some_list("toolCalls", &calls)
            .some_text("model", model);
        let mut origins = said.origins.clone();
        origins.extend(answers.iter().map(|answer| answer.origin));
        Some((message.end(), origins))
    }

    fn call(&mut self, call: &Call<'_>, answers: &[Answer<'_>], notes: &mut Notes<'_>) -> String {
        let id = call.id.as_deref().unwrap_or_default();
        let answer = answers.iter().find(|answer| answer.id == id);
        let result = answer.map(|answer| response(id, &call.name, &answer.result, notes));
        let status = match answer {
            Some(answer) if answer.result.is_error => "error",
            Some(_) => "success",
            None => "cancelled",
        };
        LineText::new()
            .text("id", id)
            .text("name", &call.name)
            .json("args", &notes.arguments(&call.arguments))
            .list("result", &result.into_iter().collect::<Vec<_>>())
            .text("status", status)
            .text("timestamp", &self.session.now())
            .end()
    }

    /// Results that answer nothing in the record before.
    fn lone(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> (String, Vec<usize>) {
        let part = response(&answer.id, &answer.name, &answer.result, notes);
        let time = notes.time_of(&[answer.origin]);
        let message = self.message("user", time, &list(&[part]));
        (message.end(), vec![answer.origin])
    }

    /// The messages of turns that belong together.
    fn messages(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<(String, Vec<usize>)> {
        let mut messages = Vec::new();
        let mut turns = turns.iter().peekable();
        while let Some(turn) = turns.next() {
            notes.at(turn);
            match turn {
                Turn::Said(said) if said.role == Role::Assistant => {
                    let results = turns.next_if(|turn| matches!(turn, Turn::Results(_)));
                    let results = match results {
                        Some(Turn::Results(results)) => Some(results),
                        _ => None,
                    };
                    messages.extend(self.reply(said, results, notes));
                    let beside = results.and_then(Results::said_beside);
                    messages.extend(beside.and_then(|beside| self.said(&beside, notes)));
                    let is_lone = |answer: &&Answer<'_>| !answers_one(said, answer);
                    let answers = results.map_or(&[][..], |results| &results.answers);
                    let lone = answers.iter().filter(is_lone);
                    messages.extend(lone.map(|answer| self.lone(answer, notes)));
                }
                Turn::Said(said) => messages.extend(self.said(said, notes)),
                Turn::Results(results) => {
                    let answers = results.answers.iter();
                    messages.extend(answers.map(|answer| self.lone(answer, notes)));
                    let beside = results.said_beside();
                    messages.extend(beside.and_then(|beside| self.said(&beside, notes)));
                }
                Turn::Summary { text, origins, .. } => {
                    let piece = Piece::bare(Part::Text(text.clone()));
                    let said = Said::of_user(vec![piece], origins.clone());
                    messages.extend(self.said(&said, notes));
                }
            }
        }
        messages
    }

    /// The summary comes first in the list that takes the place of all before: else it would
    /// be none to the client.
    fn summary(&mut self, text: &str) -> String {
        let record = Gemini.summary_record(Role::User, text);
        let object = Object::parse(&record).ok();
        let set = object.and_then(|object| object.object_of("$set"));
        let first = set.and_then(|set| set.elements_of("messages"));
        let first = first.and_then(|first| Object::parse(first.first()?).ok());
        let content = first.and_then(|first| first.get("content"));
        let summary = self.message("user", None, content.unwrap_or("[]")).end();
        let mut messages = vec![summary];
        messages.append(&mut self.before);
        let set = LineText::new().json("messages", &list(&messages));
        LineText::new().json("$set", &set.end()).end()
    }
}

impl Target for Writer {
    fn begin(&mut self) -> Vec<Line> {
        let mut hash = String::new();
        for byte in Sha256::digest(&self.session.cwd) {
            // Writing to a `String` cannot fail.
            let _ = write!(hash, "{byte:02x}");
        }
        let time = self.session.now();
        let header = LineText::new()
            .text("sessionId", &self.session.id)
            .text("projectHash", &hash)
            .text("startTime", &time)
            .text("lastUpdated", &time)
            .text("kind", "main");
        vec![Line::of_log(header.end(), &[])]
    }

    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        if let [Turn::Summary { text, origins, .. }] = turns
            && !notes.summary_comes
        {
            return vec![Line::of_log(self.summary(text), origins)];
        }
        let messages = self.messages(turns, notes);
        if notes.summary_comes {
            for _ in &messages {
                notes.count(Kind::BeforeSummary, "");
            }
            self.before.extend(messages.into_iter().map(|it| it.0));
            return Vec::new();
        }
        let messages = messages.into_iter();
        messages
            .map(|(json, origins)| Line::of_log(json, &origins))
            .collect()
    }

    fn end(&mut self) -> Vec<Line> {
        let left = std::mem::take(&mut self.before).into_iter();
        left.map(|json| Line::of_log(json, &[])).collect()
    }
}

/// Whether a result answers a call of the reply.
fn answers_one(said: &Said<'_>, answer: &Answer<'_>) -> bool {
    said.pieces.iter().any(|piece| match &piece.part {
        Part::Call(call) => call.id.as_deref() == Some(&answer.id),
        _ => false,
    })
}

/// Whether the client takes a message of the user for a command, or for its own.
fn is_command(parts: &[&Part<'_>]) -> bool {
    let Some(Part::Text(text)) = parts.first() else {
        return false;
    };
    let begins = ["/", "?", "<session_context>", "<hook_context>"];
    begins
        .iter()
        .any(|begin| text.trim_start().starts_with(begin))
}

/// The part of the API; `None` when it cannot be carried.
fn part(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            return Some(LineText::new().text("text", text).end());
        }
        Part::Media(media) => return self::media(media, notes),
        Part::Reasoning(_) => notes.count(Kind::Reasoning, ""),
        Part::Opaque(raw) => notes.opaque(raw),
        // They stand beside the content.
        Part::Call(_) | Part::Result(_) => {}
    }
    None
}

fn media(media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
    let Some(data) = Data::of(media).filter(|data| !data.mime.is_empty()) else {
        notes.count(Kind::Media, media.kind);
        return None;
    };
    let inner = LineText::new().text("mimeType", &data.mime);
    let part = match &data.place {
        Place::Here(base64) => ("inlineData", inner.text("data", base64)),
        Place::At(url) => ("fileData", inner.text("fileUri", url)),
    };
    Some(LineText::new().json(part.0, &part.1.end()).end())
}

/// A result as the API has it.
fn response(id: &str, name: &str, result: &ToolResult<'_>, notes: &mut Notes<'_>) -> String {
    let mut texts = Vec::new();
    let mut beside = Vec::new();
    for part in &result.parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => texts.push(text.as_ref()),
            Part::Opaque(raw) => {
                notes.count(Kind::AsText, &kind(raw));
                texts.push(raw.as_ref());
            }
            part => beside.extend(self::part(part, notes)),
        }
    }
    if texts.len() > 1 {
        // They are lines of one.
        notes.count(Kind::AsText, "text");
    }
    let key = if result.is_error { "error" } else { "output" };
    let output = LineText::new().text(key, &texts.join("\n"));
    let response = LineText::new()
        .text("id", id)
        .text("name", name)
        .json("response", &output.end())
        .some_list("parts", &beside);
    LineText::new()
        .json("functionResponse", &response.end())
        .end()
}
