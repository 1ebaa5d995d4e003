//! Writes session files of Codex. Compared with what the client 0.169.0 loads.

use crate::convert::reading::Session;
use crate::convert::target::items::{Accepts, Item};
use crate::convert::target::{Line, Notes, Target};
use crate::convert::turn::{Turn, TurnMessage};
use crate::dialect::items;
use crate::log::compaction::{LineText, list};
use crate::{Part, Role};

/// The version that writes such files.
const VERSION: &str = "0.169.0";

pub(crate) struct Writer {
    session: Session,
    /// The items before a summary that is still to come, whose line holds them.
    before: Vec<Item>,
}

impl Writer {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, before: Vec::new() }
    }

    fn line(&mut self, kind: &str, payload: &str, origins: &[usize], time: Option<&str>) -> Line {
        let json = LineText::new()
            .text("timestamp", &self.session.time(time))
            .text("type", kind)
            .json("payload", payload);
        Line::of_log(json.end(), origins)
    }

    /// The screen's copy of a message: the client lists only sessions with a request of the user on
    /// the screen.
    fn event(&mut self, said: &TurnMessage<'_>) -> Option<Line> {
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
        if text.is_empty() {
            return None;
        }
        let payload = LineText::of_type(kind).text("message", &text);
        let payload = lists.iter().fold(payload, |payload, key| payload.json(key, "[]"));
        Some(self.line("event_msg", &payload.end(), &said.origins, None))
    }

    fn compacted(&mut self, text: &str, origins: &[usize], notes: &Notes<'_>) -> Line {
        let history = std::mem::take(&mut self.before).into_iter();
        let mut history: Vec<String> = history.map(|(item, _)| item).collect();
        history.push(items::of_user(text));
        let payload =
            LineText::new().text("message", text).json("replacement_history", &list(&history));
        self.line("compacted", &payload.end(), origins, notes.time_of(origins))
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
        notes.each(turns, |turn, notes| {
            let items = match turn {
                Turn::Message(said) => Accepts::Codex.said(said, notes),
                Turn::Results(results) => Accepts::Codex.results(results, notes),
                Turn::Summary { text, origins, .. } if notes.summary_comes => {
                    vec![(items::of_user(text), origins.clone())]
                }
                Turn::Summary { text, origins, .. } => {
                    return vec![self.compacted(text, origins, notes)];
                }
            };
            if notes.summary_comes {
                self.before.extend(items);
                return Vec::new();
            }
            let lines = items.iter().map(|(item, origins)| {
                self.line("response_item", item, origins, notes.time_of(origins))
            });
            let mut lines: Vec<Line> = lines.collect();
            if let Turn::Message(said) = turn {
                lines.extend(self.event(said));
            }
            lines
        })
    }

    fn end(&mut self) -> Vec<Line> {
        let left = std::mem::take(&mut self.before).into_iter();
        left.map(|(item, _)| self.line("response_item", &item, &[], None)).collect()
    }
}
