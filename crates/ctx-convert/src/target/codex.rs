//! Session files of Codex. Compared with what the client 0.169.0 loads.

use ctx_transcript::Part;
use ctx_transcript::Role;
use ctx_transcript::compaction::{LineText, list};

use super::items::{self, Accepts, Item};
use super::{Line, Notes, Target};
use crate::session::Session;
use crate::turn::{Said, Turn};

/// The version whose files these are.
const VERSION: &str = "0.169.0";

/// Writes the lines of Codex.
pub(super) struct Writer {
    session: Session,
    /// What stands before a summary that is still to come: the line of the summary holds it.
    before: Vec<Item>,
}

impl Writer {
    pub(super) fn new(session: Session) -> Self {
        let before = Vec::new();
        Self { session, before }
    }

    fn line(&mut self, kind: &str, payload: &str, origins: &[usize], time: Option<&str>) -> Line {
        let json = LineText::new()
            .text("timestamp", &self.session.time(time))
            .text("type", kind)
            .json("payload", payload);
        Line::of_log(json.end(), origins)
    }

    fn items(&mut self, items: Vec<Item>, notes: &Notes<'_>) -> Vec<Line> {
        let items = items.into_iter();
        let lines = items.map(|(item, origins)| {
            let time = notes.time_of(&origins);
            self.line("response_item", &item, &origins, time)
        });
        lines.collect()
    }

    /// What the screen shows of a message: the client lists only sessions in which the user
    /// is shown to have asked.
    fn event(&mut self, said: &Said<'_>) -> Option<Line> {
        let (kind, lists): (_, &[&str]) = match said.role {
            Role::User => ("user_message", &["images", "local_images", "text_elements"]),
            Role::Assistant => ("agent_message", &[]),
            _ => return None,
        };
        let texts = said.pieces.iter().filter_map(|piece| match &piece.part {
            Part::Text(text) => Some(text.as_ref()),
            _ => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let mut payload = LineText::new().text("type", kind).text("message", &text);
        for key in lists {
            payload = payload.json(key, "[]");
        }
        let line = self.line("event_msg", &payload.end(), &said.origins, None);
        (!text.is_empty()).then_some(line)
    }

    fn compacted(&mut self, text: &str, origins: &[usize], notes: &Notes<'_>) -> Line {
        let history = std::mem::take(&mut self.before).into_iter();
        let mut history: Vec<String> = history.map(|(item, _)| item).collect();
        history.push(items::of_user(text));
        let payload = LineText::new()
            .text("message", text)
            .json("replacement_history", &list(&history));
        let time = notes.time_of(origins);
        self.line("compacted", &payload.end(), origins, time)
    }
}

impl Target for Writer {
    fn begin(&mut self) -> Vec<Line> {
        let payload = LineText::new()
            .text("id", &self.session.id)
            .text("timestamp", &self.session.now())
            .text("cwd", &self.session.cwd)
            .text("originator", "codex_exec")
            .text("cli_version", VERSION)
            .text("source", "exec");
        vec![self.line("session_meta", &payload.end(), &[], None)]
    }

    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for turn in turns {
            notes.at(turn);
            let items = match turn {
                Turn::Said(said) => Accepts::Codex.said(said, notes),
                Turn::Results(results) => Accepts::Codex.results(results, notes),
                Turn::Summary { text, origins, .. } if notes.summary_comes => {
                    vec![(items::of_user(text), origins.clone())]
                }
                Turn::Summary { text, origins, .. } => {
                    lines.push(self.compacted(text, origins, notes));
                    continue;
                }
            };
            if notes.summary_comes {
                self.before.extend(items);
                continue;
            }
            lines.extend(self.items(items, notes));
            if let Turn::Said(said) = turn {
                lines.extend(self.event(said));
            }
        }
        lines
    }

    fn end(&mut self) -> Vec<Line> {
        let left = std::mem::take(&mut self.before).into_iter();
        let lines = left.map(|(item, _)| self.line("response_item", &item, &[], None));
        lines.collect()
    }
}
