//! Writes session files of Kimi Code, in which each message is a line, as the agent does when it
//! imports the sessions of its predecessor. Version 2.1.0 loads the written files.

use super::REPLACES_NONE;
use crate::convert::media::Data;
use crate::convert::target::{Line, Notes, Session, Target, text_block};
use crate::convert::turn::{Answer, Origins, Piece, Summary, TurnMessage};
use crate::dialect::content::kind_of;
use crate::log::compaction::LineText;
use crate::record::json::one_line;
use crate::{Object, Part, Role};

pub(crate) struct Writer;

/// Begins a message without calls.
pub(super) fn message(role: &str, content: &[String]) -> LineText {
    LineText::default().text("role", role).list("content", content).json("toolCalls", "[]")
}

/// Begins a line of the main agent, which ends with the time.
fn wrap(kind: &str, key: &str, json: &str, notes: &Notes<'_>) -> String {
    let time = notes.session.time.timestamp_millis().to_string();
    let line = LineText::of_type(kind).text("agentId", "main").json(key, json);
    line.json("time", &time).end()
}

impl Target for Writer {
    fn begin(&mut self, session: &mut Session) -> Vec<Line> {
        let time = session.time.timestamp_millis().to_string();
        let header = LineText::of_type("metadata").text("protocol_version", "1.5");
        vec![Line::new(header.json("created_at", &time).end(), [])]
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        let (mut content, mut calls) = (Vec::new(), Vec::new());
        for piece in &said.pieces {
            match &piece.part {
                Part::Call(call) => {
                    let arguments = notes.arguments(&call.arguments, call.slot.as_ref());
                    let line = LineText::of_type("function");
                    let line = line.text("id", call.id.as_deref().unwrap_or_default());
                    calls.push(line.text("name", &call.name).text("arguments", &arguments).end());
                }
                _ => content.extend(part(piece)),
            }
        }
        if content.is_empty() && calls.is_empty() {
            return Vec::new();
        }
        let is_reply = said.role == Role::Assistant;
        let line = LineText::default().text("role", if is_reply { "assistant" } else { "user" });
        let line = line.list("content", &content).list("toolCalls", &calls);
        vec![if is_reply { line } else { line.json("origin", r#"{"kind":"user"}"#) }.end()]
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let parts = notes.blocks(&answer.result, |part, _| self::part(&Piece::bare(part.clone())));
        let line = message("tool", &parts).text("toolCallId", &answer.id);
        line.is("isError", answer.result.is_error).end()
    }

    /// Writes a compaction that keeps all messages before it, because Kimi Code sends the summary
    /// before the kept messages.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        notes.time(&summary.origins);
        let line = wrap("context.apply_compaction", "compactedCount", REPLACES_NONE, notes);
        let line = LineText::of_object(line).text("summary", &summary.text).is("legacyTail", true);
        vec![Line::new(line.end(), summary.origins.clone())]
    }

    fn line(&mut self, _: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        notes.time(at);
        Line::new(wrap("context.append_message", "message", &json, notes), at.clone())
    }
}

/// Writes a part of a message; `None` if the format does not support it. Only signed thoughts of
/// Kimi Code stay what they are.
fn part(piece: &Piece<'_>) -> Option<String> {
    let is_own = |raw: &str| {
        Object::within(raw).is_some_and(|own| {
            let is_media = kind_of(&own).ends_with("_url") && own.get("image_url").is_none();
            is_media || kind_of(&own) == "think" && own.get("encrypted").is_some()
        })
    };
    if let Some(own) = piece.block.filter(|raw| is_own(raw)) {
        return Some(one_line(own).into_owned());
    }
    match &piece.part {
        Part::Media(media) => {
            let image = Data::of(media).filter(Data::is_image)?;
            let url = LineText::default().text("url", &image.url());
            Some(LineText::of_type("image_url").json("imageUrl", &url.end()).end())
        }
        part => part.said().map(text_block),
    }
}
