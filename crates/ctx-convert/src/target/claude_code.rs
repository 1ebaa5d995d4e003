//! Session files of Claude Code. Compared with what the client 2.1.197 loads.

use ctx_transcript::compaction::{LineText, list, quoted};
use ctx_transcript::dialect::ClaudeCode;
use ctx_transcript::{Part, Role};

use super::{Line, Notes, Target, anthropic};
use crate::Kind;
use crate::session::Session;
use crate::turn::{Results, Said, Turn};

/// The version whose files these are.
const VERSION: &str = "2.1.197";

/// The model of replies that no model of the API has said: the client goes on with its own
/// default. Without any it hangs.
const NO_MODEL: &str = "<synthetic>";

/// Writes the lines of Claude Code, one block of a reply a line.
pub(super) struct Writer {
    session: Session,
    /// The id of the last line.
    parent: Option<String>,
    /// The model of the last reply.
    model: String,
}

impl Writer {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            parent: None,
            model: NO_MODEL.to_owned(),
        }
    }

    /// A line of a message.
    fn line(
        &mut self,
        kind: &str,
        message: &str,
        (origins, notes): (&[usize], &Notes<'_>),
        is_summary: bool,
    ) -> Line {
        let time = notes.time_of(origins);
        let id = self.session.ids.uuid();
        let parent = self.parent.as_deref().map_or("null".to_owned(), quoted);
        let line = LineText::new()
            .json("parentUuid", &parent)
            .json("isSidechain", "false")
            .text("userType", "external")
            .text("cwd", &self.session.cwd)
            .text("sessionId", &self.session.id)
            .text("version", VERSION)
            .text("gitBranch", "")
            .text("type", kind)
            .is("isCompactSummary", is_summary)
            .is("isVisibleInTranscriptOnly", is_summary)
            .json("message", message)
            .text("uuid", &id)
            .text("timestamp", &self.session.time(time));
        self.parent = Some(id);
        Line::of_log(line.end(), origins)
    }

    fn said(&mut self, said: &Said<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        notes.name(said);
        match said.role {
            Role::System | Role::Developer => {
                notes.count(Kind::Instructions, "");
                Vec::new()
            }
            Role::Assistant => self.reply(said, notes),
            _ => {
                let content = anthropic::content(&said.pieces, notes);
                let lines = content.map(|content| {
                    let message = message("user", &content);
                    self.line("user", &message, (&said.origins, notes), false)
                });
                lines.into_iter().collect()
            }
        }
    }

    /// A line for each block.
    fn reply(&mut self, said: &Said<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let blocks = anthropic::blocks(&said.pieces, notes);
        let id = format!("msg_{}", self.session.ids.uuid().replace('-', ""));
        let is_claude = |model: &&str| model.starts_with("claude");
        let model = said.model.as_deref().filter(is_claude);
        if let Some(model) = model {
            model.clone_into(&mut self.model);
        }
        let mut calls = said.pieces.iter().map(|piece| &piece.part);
        let has_calls = calls.any(|part| matches!(part, Part::Call(_)));
        let stop = if has_calls { "tool_use" } else { "end_turn" };
        let lines = blocks.into_iter().map(|block| {
            let message = LineText::new()
                .text("id", &id)
                .text("type", "message")
                .text("role", "assistant")
                .text("model", &self.model)
                .json("content", &list(&[block]))
                .text("stop_reason", stop)
                .json("stop_sequence", "null")
                .json("usage", ClaudeCode::NO_USAGE);
            let message = message.end();
            self.line("assistant", &message, (&said.origins, notes), false)
        });
        lines.collect()
    }

    /// A line for each result, and one for what the user says beside them.
    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for answer in &results.answers {
            let block = anthropic::answer(answer, notes);
            let message = message("user", &list(&[block]));
            lines.push(self.line("user", &message, (&[answer.origin], notes), false));
        }
        if let Some(beside) = results.said_beside() {
            lines.extend(self.said(&beside, notes));
        }
        lines
    }
}

impl Target for Writer {
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for turn in turns {
            notes.at(turn);
            match turn {
                Turn::Said(said) => lines.extend(self.said(said, notes)),
                Turn::Results(results) => lines.extend(self.results(results, notes)),
                Turn::Summary { text, origins, .. } => {
                    let message = message("user", &quoted(text));
                    lines.push(self.line("user", &message, (origins, notes), true));
                }
            }
        }
        lines
    }
}

fn message(role: &str, content: &str) -> String {
    LineText::new()
        .text("role", role)
        .json("content", content)
        .end()
}
