//! Writes Claude Code session files, with each block of a reply on its own line. Version 2.1.197 of
//! the client was tested, and loads the written files.

use super::NO_USAGE;
use crate::Role;
use crate::convert::target::{Line, Notes, Target, anthropic};
use crate::convert::turn::{Answer, Origins, Summary, TurnMessage};
use crate::log::compaction::{LineText, list, quoted};

/// The client version that the written files claim to come from.
const VERSION: &str = "2.1.197";

/// The model name for replies that do not come from an Anthropic API model. A client that reads
/// this model name continues with its default model; if a reply has no model name, the client
/// hangs.
const NO_MODEL: &str = "<synthetic>";

#[derive(Default)]
pub(crate) struct Writer {
    /// The id of the last line so far. That line is the parent of the next one.
    parent: Option<String>,
    /// The model of the last reply that came from an Anthropic API model.
    model: Option<String>,
}

impl Writer {
    /// Writes a line that wraps `members`, which are already JSON.
    fn wrap(&mut self, members: &str, at: &Origins, notes: &mut Notes<'_>) -> Line {
        let id = notes.session.ids.uuid();
        let line = LineText::default()
            .json("parentUuid", &self.parent.as_deref().map_or("null".to_owned(), quoted))
            .members(r#""isSidechain":false,"userType":"external""#)
            .text("cwd", &notes.session.cwd)
            .text("sessionId", &notes.session.id)
            .text("version", VERSION)
            .text("gitBranch", "")
            .members(members)
            .text("uuid", &id)
            .text("timestamp", &notes.time(at));
        self.parent = Some(id);
        Line::new(line.end(), at.clone())
    }

    /// Splits a reply into messages with a single block each.
    fn reply(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        let pieces = anthropic::accepted(said, true, notes.is_whole);
        let blocks = anthropic::blocks(said.role, &pieces, notes);
        let id = format!("msg_{}", notes.session.ids.uuid().replace('-', ""));
        let model = said.model.as_deref().filter(|model| model.starts_with("claude"));
        self.model = model.map(str::to_owned).or(self.model.take());
        let stop = if said.has_calls() { "tool_use" } else { "end_turn" };
        let messages = blocks.into_iter().map(|block| {
            LineText::default()
                .text("id", &id)
                .members(r#""type":"message","role":"assistant""#)
                .text("model", self.model.as_deref().unwrap_or(NO_MODEL))
                .json("content", &list(&[block]))
                .text("stop_reason", stop)
                .json("stop_sequence", "null")
                .json("usage", NO_USAGE)
                .end()
        });
        messages.collect()
    }
}

impl Target for Writer {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        if said.role == Role::Assistant {
            return self.reply(said, notes);
        }
        let content = anthropic::content(Role::User, &said.pieces, notes);
        content.iter().map(|content| anthropic::message("user", content)).collect()
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        anthropic::message("user", &list(&[anthropic::answer(answer, notes)]))
    }

    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let message = anthropic::message("user", &quoted(&summary.text));
        let members = format!(
            r#""type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{message}"#
        );
        vec![self.wrap(&members, &summary.origins, notes)]
    }

    fn line(&mut self, role: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        let role = if role == Role::Assistant { "assistant" } else { "user" };
        self.wrap(&format!(r#""type":"{role}","message":{json}"#), at, notes)
    }
}
