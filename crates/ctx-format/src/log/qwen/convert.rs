//! Writes session files of Qwen Code in the format that version 0.24.4 uses.

use super::body;
use super::compaction;
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{Answer, Origins, Piece, Summary, TurnMessage};
use crate::dialect::gemini::is_call_or_thought;
use crate::log::compaction::{LineText, quoted};
use crate::log::gemini::{call_part, own_part, response};
use crate::{Object, Part, Role};

#[derive(Default)]
pub(crate) struct Writer {
    /// The uuid of the last line so far, which is the parent of the next one.
    parent: Option<String>,
    /// The model that wrote the last reply.
    model: Option<String>,
}

impl Writer {
    /// Begins a line of the type `kind` with a new uuid.
    fn begin_line(&mut self, kind: &str, at: &[usize], notes: &mut Notes<'_>) -> LineText {
        let time = notes.time(at);
        let Session { ids, id, cwd, .. } = &mut *notes.session;
        let own = ids.uuid();
        let line = LineText::default()
            .text("uuid", &own)
            .json("parentUuid", &self.parent.as_deref().map_or("null".to_owned(), quoted))
            .text("sessionId", id)
            .text("timestamp", &time)
            .text("type", kind)
            .text("cwd", cwd)
            .text("version", "0.24.4");
        self.parent = Some(own);
        line
    }
}

impl Target for Writer {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        let is_reply = said.role == Role::Assistant;
        let pieces = said.pieces.iter().filter_map(|piece| part(piece, is_reply, notes));
        let parts: Vec<String> = pieces.collect();
        if parts.is_empty() {
            return Vec::new();
        }
        self.model = said.model.as_deref().filter(|_| is_reply).map(str::to_owned);
        vec![body::content(if is_reply { "model" } else { "user" }, &parts)]
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        body::content("user", &[response(answer, &answer.name, notes)])
    }

    fn line(&mut self, role: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        let kind = match role {
            Role::Assistant => "assistant",
            Role::Tool => "tool_result",
            _ => "user",
        };
        let model = self.model.take();
        let line = self.begin_line(kind, at, notes).some_text("model", model.as_deref());
        Line::new(line.json("message", &json).end(), at.clone())
    }

    /// Writes the summary as the first of the messages that replace all earlier ones.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let before = std::mem::take(&mut notes.session.before);
        let message = |line: &String| Some(Object::within(line)?.get("message")?.to_owned());
        let mut messages = vec![body::said_summary(&summary.text)];
        messages.extend(before.iter().filter_map(message));
        // The lines before it, which are its ancestors so far, are now inside this line.
        self.parent = None;
        let begin = self.begin_line("system", &summary.origins, notes);
        vec![Line::new(compaction::line(begin, &messages, ""), summary.origins.clone())]
    }
}

/// Writes a piece as a part of the API; `None` if the API does not support it.
fn part(piece: &Piece<'_>, is_reply: bool, notes: &mut Notes<'_>) -> Option<String> {
    match (&piece.part, piece.block) {
        (Part::Call(call), block) if is_reply => Some(call_part(call, block, notes)),
        // The client would not send a reply with an empty part.
        (Part::Text(text) | Part::Refusal(text), _) if text.is_empty() => None,
        // The Gemini CLI stores thoughts in a form of its own.
        (Part::Reasoning(_), Some(raw)) if !is_call_or_thought(raw) => None,
        _ => own_part(piece),
    }
}
