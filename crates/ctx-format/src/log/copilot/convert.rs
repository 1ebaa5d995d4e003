//! Writes session files of the Copilot CLI, as version 1.0.102 does.

use crate::convert::report::LossKind;
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{Answer, Origins, Piece, Summary, TurnMessage};
use crate::log::compaction::{LineText, quoted};
use crate::{Part, Role};

#[derive(Default)]
pub(crate) struct Writer {
    /// The id of the last event so far. That event is the parent of the next one.
    pub(super) parent: Option<String>,
}

impl Writer {
    pub(super) fn event(&mut self, kind: &str, data: &str, time: &str, id: String) -> String {
        let line = LineText::of_type(kind)
            .json("data", data)
            .text("id", &id)
            .text("timestamp", time)
            .json("parentId", &self.parent.as_deref().map_or("null".to_owned(), quoted));
        self.parent = Some(id);
        line.end()
    }
}

impl Target for Writer {
    fn begin(&mut self, session: &mut Session) -> Vec<Line> {
        let time = session.now();
        let context = LineText::default().text("cwd", &session.cwd).end();
        let data = LineText::default()
            .text("sessionId", &session.id)
            .members(r#""version":1,"producer":"copilot-agent","copilotVersion":"1.0.102""#)
            .text("startTime", &time)
            .json("context", &context);
        let id = session.ids.uuid();
        vec![Line::new(self.event("session.start", &data.end(), &time, id), [])]
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        match said.role {
            Role::Assistant => reply(said, notes),
            _ => user(&said.pieces),
        }
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let texts = notes.texts(&answer.result);
        if texts.len() > 1 {
            // If a result has several texts, they are joined with line endings.
            notes.count_at(LossKind::AsText, "text", answer.result.slot.as_ref());
        }
        let text = texts.join("\n");
        let is_error = answer.result.is_error;
        let data = LineText::default()
            .text("toolCallId", &answer.id)
            .json("success", if is_error { "false" } else { "true" });
        if is_error {
            let error = LineText::default().text("message", &text).text("code", "failure");
            return data.json("error", &error.end()).end();
        }
        data.json("result", &LineText::default().text("content", &text).end()).end()
    }

    /// Writes the messages before the summary after it, because the agent sends nothing that comes
    /// before a compaction but the user's messages.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let data =
            LineText::default().json("success", "true").text("summaryContent", &summary.text);
        let time = notes.time(&summary.origins);
        let id = notes.session.ids.uuid();
        let line = self.event("session.compaction_complete", &data.end(), &time, id);
        let before = std::mem::take(&mut notes.session.before).into_iter();
        let lines = [line].into_iter().chain(before);
        lines.map(|line| Line::new(line, summary.origins.clone())).collect()
    }

    fn line(&mut self, role: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        let kind = match role {
            Role::Assistant => "assistant.message",
            Role::Tool => "tool.execution_complete",
            _ => "user.message",
        };
        let time = notes.time(at);
        let id = notes.session.ids.uuid();
        Line::new(self.event(kind, &json, &time, id), at.clone())
    }
}

/// Writes a reply. An event has only one text, and its calls follow the text, so each further text
/// begins a new event.
fn reply(said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
    let mut events: Vec<(&str, Vec<String>)> = Vec::new();
    for Piece { part, .. } in &said.pieces {
        if let Part::Call(call) = part {
            let arguments = notes.arguments(&call.arguments, call.slot.as_ref());
            let call = LineText::default()
                .text("toolCallId", call.id.as_deref().unwrap_or_default())
                .text("name", &call.name)
                .json("arguments", &arguments)
                .text("type", "function");
            if events.is_empty() {
                events.push(("", Vec::new()));
            }
            if let Some((_, calls)) = events.last_mut() {
                calls.push(call.end());
            }
        } else if let Some(text) = part.said().filter(|text| !text.is_empty()) {
            events.push((text, Vec::new()));
        }
    }
    let events = events.into_iter().map(|(text, calls)| {
        LineText::default()
            .text("messageId", &notes.session.ids.uuid())
            .some_text("model", said.model.as_deref())
            .text("content", text)
            .list("toolRequests", &calls)
            .end()
    });
    events.collect()
}

/// Writes a user message. An event has only one text. The agent sends its images after the text.
fn user(pieces: &[Piece<'_>]) -> Vec<String> {
    let mut events: Vec<(&str, Vec<String>)> = Vec::new();
    for Piece { part, .. } in pieces {
        match part {
            Part::Media(media) => {
                let Some(image) = media.image_block("blob") else { continue };
                match events.last_mut() {
                    Some((_, images)) => images.push(image),
                    None => events.push(("", vec![image])),
                }
            }
            part => events.extend(part.said().map(|text| (text, Vec::new()))),
        }
    }
    let events = events.into_iter().filter(|(text, images)| !text.is_empty() || !images.is_empty());
    let events = events.map(|(text, images)| {
        LineText::default().text("content", text).some_list("attachments", &images).end()
    });
    events.collect()
}
