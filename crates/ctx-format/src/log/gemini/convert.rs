//! Writes session files of the Gemini CLI. Their shapes are those of version 0.61.0.

use sha2::{Digest, Sha256};

use super::message::{NOT_SENT, snapshot_of};
use crate::convert::LossKind;
use crate::convert::media::DataLocation;
use crate::convert::reading::Session;
use crate::convert::target::{Line, Notes, Target};
use crate::convert::turn::{Answer, Piece, Results, Turn, TurnMessage};
use crate::log::compaction::{LineText, list};
use crate::{Call, Media, Part, Role, ToolResult};

pub(crate) struct Writer {
    session: Session,
    /// The messages before a summary that is still to come: they are in one list with it.
    before: Vec<String>,
}

/// A message, and the places of its records among those of the unit.
type Message = (String, Vec<usize>);

impl Writer {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, before: Vec::new() }
    }

    fn message(&mut self, kind: &str, time: Option<&str>, content: &[String]) -> LineText {
        LineText::new()
            .text("id", &self.session.ids.uuid())
            .text("timestamp", &self.session.time(time))
            .text("type", kind)
            .list("content", content)
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Option<Message> {
        if !notes.is_for_agent(said) {
            return None;
        }
        if is_command(&said.pieces) {
            notes.count(LossKind::Command, "");
        }
        let parts = said.pieces.iter().filter_map(|piece| part(&piece.part, notes));
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() && !said.pieces.is_empty() {
            return None;
        }
        let message = self.message("user", notes.time_of(&said.origins), &parts);
        Some((message.end(), said.origins.clone()))
    }

    /// A reply with the results of its calls.
    fn reply(
        &mut self,
        said: &TurnMessage<'_>,
        answers: &[Answer<'_>],
        notes: &mut Notes<'_>,
    ) -> Option<Message> {
        notes.name(said);
        // The calls have the time of the reply.
        self.session.time(notes.time_of(&said.origins));
        let (mut texts, mut calls) = (Vec::new(), Vec::new());
        for Piece { part, .. } in &said.pieces {
            match part {
                Part::Call(call) => calls.push(self.call(call, answers, notes)),
                // The client leaves out a reply with an empty part.
                Part::Text(text) | Part::Refusal(text) if text.is_empty() => {}
                part => texts.extend(self::part(part, notes)),
            }
        }
        if texts.is_empty() && calls.is_empty() {
            return None;
        }
        let message = self
            .message("gemini", None, &texts)
            .some_list("toolCalls", &calls)
            .some_text("model", said.model.as_deref());
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

    /// A result that answers no call of the record before.
    fn lone(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> Message {
        let part = response(&answer.id, &answer.name, &answer.result, notes);
        let message = self.message("user", notes.time_of(&[answer.origin]), &[part]);
        (message.end(), vec![answer.origin])
    }

    /// The messages of turns that belong together.
    fn messages(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Message> {
        let mut messages = Vec::new();
        let mut turns = turns.iter().peekable();
        while let Some(turn) = turns.next() {
            notes.at(turn);
            match turn {
                Turn::Message(said) if said.role == Role::Assistant => {
                    let results = match turns.next_if(|turn| matches!(turn, Turn::Results(_))) {
                        Some(Turn::Results(results)) => Some(results),
                        _ => None,
                    };
                    let answers = results.map_or(&[][..], |results| &results.answers);
                    messages.extend(self.reply(said, answers, notes));
                    let beside = results.and_then(Results::said_beside);
                    messages.extend(beside.and_then(|beside| self.said(&beside, notes)));
                    let lone = answers.iter().filter(|answer| !calls(said, &answer.id));
                    messages.extend(lone.map(|answer| self.lone(answer, notes)));
                }
                Turn::Message(said) => messages.extend(self.said(said, notes)),
                Turn::Results(results) => {
                    let answers = results.answers.iter();
                    messages.extend(answers.map(|answer| self.lone(answer, notes)));
                    let beside = results.said_beside();
                    messages.extend(beside.and_then(|beside| self.said(&beside, notes)));
                }
                Turn::Summary { text, origins, .. } => {
                    let said = TurnMessage::of_text(text, origins);
                    messages.extend(self.said(&said, notes));
                }
            }
        }
        messages
    }

    /// The summary comes first in the list that takes the place of all before: otherwise the client
    /// would not take it for one.
    fn summary(&mut self, text: &str) -> String {
        let summary = LineText::new().text("text", &snapshot_of(text)).end();
        let mut messages = vec![self.message("user", None, &[summary]).end()];
        messages.append(&mut self.before);
        let set = LineText::new().json("messages", &list(&messages));
        LineText::new().json("$set", &set.end()).end()
    }
}

impl Target for Writer {
    fn begin(&mut self) -> Vec<Line> {
        let hash = Sha256::digest(&self.session.cwd);
        let digits = hash.iter().map(|byte| format!("{byte:02x}"));
        let hash: String = digits.collect();
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
            for (message, _) in messages {
                notes.count(LossKind::BeforeSummary, "");
                self.before.push(message);
            }
            return Vec::new();
        }
        messages.into_iter().map(|(json, origins)| Line::of_log(json, &origins)).collect()
    }

    fn end(&mut self) -> Vec<Line> {
        let left = std::mem::take(&mut self.before).into_iter();
        left.map(|json| Line::of_log(json, &[])).collect()
    }
}

/// Whether a reply holds the call of that id.
fn calls(said: &TurnMessage<'_>, id: &str) -> bool {
    said.pieces.iter().any(|piece| match &piece.part {
        Part::Call(call) => call.id.as_deref() == Some(id),
        _ => false,
    })
}

/// Whether the client takes a message of the user for a command, or for its own.
fn is_command(pieces: &[Piece<'_>]) -> bool {
    match pieces.first() {
        Some(Piece { part: Part::Text(text), .. }) => {
            NOT_SENT.iter().any(|begin| text.trim_start().starts_with(begin))
        }
        _ => false,
    }
}

/// The part of the API; `None` if it cannot be carried, or stands outside the content.
fn part(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            return Some(LineText::new().text("text", text).end());
        }
        Part::Media(media) => return self::media(media, notes),
        part => notes.left_out(part),
    }
    None
}

fn media(media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
    let data = notes.data(media, |data| !data.mime.is_empty())?;
    let inner = LineText::new().text("mimeType", &data.mime);
    let (key, inner) = match &data.place {
        DataLocation::Here(base64) => ("inlineData", inner.text("data", base64)),
        DataLocation::At(url) => ("fileData", inner.text("fileUri", url)),
    };
    Some(LineText::new().json(key, &inner.end()).end())
}

/// A result as the API has it.
fn response(id: &str, name: &str, result: &ToolResult<'_>, notes: &mut Notes<'_>) -> String {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in &result.parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => texts.push(text.as_ref()),
            Part::Opaque(raw) => texts.push(notes.as_text(raw)),
            part => media.extend(self::part(part, notes)),
        }
    }
    if texts.len() > 1 {
        // They become lines of one text.
        notes.count(LossKind::AsText, "text");
    }
    let key = if result.is_error { "error" } else { "output" };
    let output = LineText::new().text(key, &texts.join("\n"));
    let response = LineText::new()
        .text("id", id)
        .text("name", name)
        .json("response", &output.end())
        .some_list("parts", &media);
    LineText::new().json("functionResponse", &response.end()).end()
}
