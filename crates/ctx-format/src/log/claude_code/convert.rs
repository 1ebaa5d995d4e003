//! Writes session files of Claude Code, one block of a reply a line. Compared with what the client
//! 2.1.197 loads.

use super::NO_USAGE;
use crate::Role;
use crate::convert::reading::Session;
use crate::convert::target::{Line, Notes, Target, anthropic};
use crate::convert::turn::{Results, Turn, TurnMessage};
use crate::log::compaction::{LineText, list, quoted};

/// The version that writes such files.
const VERSION: &str = "2.1.197";

/// The model of replies that no model of the API wrote: the client goes on with its own default.
/// Without any it hangs.
const NO_MODEL: &str = "<synthetic>";

pub(crate) struct Writer {
    session: Session,
    /// The id of the last line.
    parent: Option<String>,
    /// The model of the last reply.
    model: String,
}

impl Writer {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, parent: None, model: NO_MODEL.to_owned() }
    }

    /// A line of a message.
    fn line(
        &mut self,
        role: &str,
        message: LineText,
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
            .text("type", role)
            .is("isCompactSummary", is_summary)
            .is("isVisibleInTranscriptOnly", is_summary)
            .json("message", &message.end())
            .text("uuid", &id)
            .text("timestamp", &self.session.time(time));
        self.parent = Some(id);
        Line::of_log(line.end(), origins)
    }

    fn user(&mut self, content: &str, at: (&[usize], &Notes<'_>), is_summary: bool) -> Line {
        let message = LineText::new().text("role", "user").json("content", content);
        self.line("user", message, at, is_summary)
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        if !notes.is_for_agent(said) {
            return Vec::new();
        }
        if said.role == Role::Assistant {
            return self.reply(said, notes);
        }
        let content = anthropic::content(&said.pieces, notes);
        let line = content.map(|it| self.user(&it, (&said.origins, notes), false));
        line.into_iter().collect()
    }

    /// A line for each block.
    fn reply(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let blocks = anthropic::blocks(&said.pieces, notes);
        let id = format!("msg_{}", self.session.ids.uuid().replace('-', ""));
        if let Some(model) = said.model.as_deref()
            && model.starts_with("claude")
        {
            model.clone_into(&mut self.model);
        }
        let stop = if said.has_calls() { "tool_use" } else { "end_turn" };
        let lines = blocks.into_iter().map(|block| {
            let message = LineText::new()
                .text("id", &id)
                .text("type", "message")
                .text("role", "assistant")
                .text("model", &self.model)
                .json("content", &list(&[block]))
                .text("stop_reason", stop)
                .json("stop_sequence", "null")
                .json("usage", NO_USAGE);
            self.line("assistant", message, (&said.origins, notes), false)
        });
        lines.collect()
    }

    /// One line per result, and one for the user's other content.
    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for answer in &results.answers {
            let content = list(&[anthropic::answer(answer, notes)]);
            lines.push(self.user(&content, (&[answer.origin], notes), false));
        }
        if let Some(beside) = results.said_beside() {
            lines.extend(self.said(&beside, notes));
        }
        lines
    }
}

impl Target for Writer {
    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        notes.each(turns, |turn, notes| match turn {
            Turn::Message(said) => self.said(said, notes),
            Turn::Results(results) => self.results(results, notes),
            Turn::Summary { text, origins, .. } => {
                vec![self.user(&quoted(text), (origins, notes), true)]
            }
        })
    }
}
