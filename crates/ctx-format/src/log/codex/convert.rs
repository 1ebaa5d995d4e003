//! Writes session files of Codex. Version 0.169.0 of the client was tested, and loads the written
//! files.

use super::entry::compacted;
use crate::convert::target::items::Accepts;
use crate::convert::target::{Line, Notes, Session, Target};
use crate::convert::turn::{Answer, Origins, Summary, Turn, TurnMessage};
use crate::dialect::items;
use crate::log::compaction::LineText;
use crate::{Object, Role};

pub(crate) struct Writer;

fn wrap(time: &str, kind: &str, payload: &str, origins: &Origins) -> Line {
    let json = LineText::default().text("timestamp", time).text("type", kind);
    Line::new(json.json("payload", payload).end(), origins.clone())
}

/// Writes the copy of a message that Codex shows on its screen. The client lists only sessions that
/// contain such a copy of a user request.
fn event(said: &TurnMessage<'_>, notes: &Notes<'_>) -> Option<Line> {
    let (kind, lists): (_, &[&str]) = match said.role {
        Role::User => ("user_message", &["images", "local_images", "text_elements"]),
        Role::Assistant => ("agent_message", &[]),
        _ => return None,
    };
    let texts = said.pieces.iter().filter_map(|piece| piece.part.text());
    let text = texts.collect::<Vec<_>>().join("\n");
    if text.is_empty() {
        return None;
    }
    let payload = LineText::of_type(kind).text("message", &text);
    let payload = lists.iter().fold(payload, |payload, key| payload.json(key, "[]"));
    Some(wrap(&notes.session.now(), "event_msg", &payload.end(), &said.origins))
}

impl Target for Writer {
    fn begin(&mut self, session: &mut Session) -> Vec<Line> {
        let payload = LineText::default()
            .text("id", &session.id)
            .text("timestamp", &session.now())
            .text("cwd", &session.cwd)
            .members(r#""originator":"codex_exec","cli_version":"0.169.0","source":"exec""#);
        vec![wrap(&session.now(), "session_meta", &payload.end(), &[].into())]
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        Accepts::Codex.said(said, notes)
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        Accepts::Codex.answer(answer, notes)
    }

    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let Summary { text, origins, .. } = summary;
        let before = std::mem::take(&mut notes.session.before);
        let item = |line: &String| Some(Object::within(line)?.get("payload")?.to_owned());
        let mut history: Vec<String> = before.iter().filter_map(item).collect();
        history.push(items::of_user(text));
        vec![wrap(&notes.time(origins), "compacted", &compacted(text, &history), origins)]
    }

    fn line(&mut self, _: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        wrap(&notes.time(at), "response_item", &json, at)
    }

    fn event(&self, turn: &Turn<'_>, notes: &Notes<'_>) -> Option<Line> {
        match turn {
            Turn::Message(said) if !notes.summary_comes => event(said, notes),
            _ => None,
        }
    }
}
