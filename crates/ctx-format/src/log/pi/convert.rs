//! Writes pi session files in version 3 of the format, as pi 0.73.1 does.

use super::NO_USAGE;
use crate::convert::target::{Line, Notes, Session, Target, text_block};
use crate::convert::turn::{Answer, Origins, Piece, Summary, TurnMessage};
use crate::dialect::content::kind_of;
use crate::dialect::unread::has_text;
use crate::log::compaction::{LineText, list, quoted};
use crate::record::json::one_line;
use crate::{Object, Part, Role};

#[derive(Default)]
pub(crate) struct Writer {
    /// The id of the first entry in the file.
    first: Option<String>,
    /// The id of the last entry so far. That entry is the parent of the next one.
    parent: Option<String>,
}

impl Writer {
    /// Begins an entry of the type `kind` with a new id.
    fn entry(&mut self, kind: &str, at: &[usize], notes: &mut Notes<'_>) -> (String, LineText) {
        let id = notes.session.ids.short();
        let line = LineText::of_type(kind)
            .text("id", &id)
            .json("parentId", &self.parent.as_deref().map_or("null".to_owned(), quoted))
            .text("timestamp", &notes.time(at));
        self.first.get_or_insert_with(|| id.clone());
        self.parent = Some(id.clone());
        (id, line)
    }
}

/// Ends a message with its time in milliseconds since 1970.
fn timed(message: LineText, at: &[usize], notes: &mut Notes<'_>) -> String {
    notes.time(at);
    message.json("timestamp", &notes.session.time.timestamp_millis().to_string()).end()
}

impl Target for Writer {
    fn begin(&mut self, session: &mut Session) -> Vec<Line> {
        let header = LineText::of_type("session")
            .json("version", "3")
            .text("id", &session.id)
            .text("timestamp", &session.now())
            .text("cwd", &session.cwd);
        vec![Line::new(header.end(), [])]
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        let is_reply = said.role == Role::Assistant;
        let model = said.model.as_deref();
        let content = match said.pieces.as_slice() {
            [Piece { part: Part::Text(text), .. }] if !is_reply => quoted(text),
            pieces => {
                let blocks = pieces.iter().filter_map(|piece| match piece.block {
                    Some(raw) if is_signed(raw) => Some(one_line(raw).into_owned()),
                    _ => block(&piece.part, notes),
                });
                let blocks: Vec<String> = blocks.collect();
                if blocks.is_empty() {
                    return Vec::new();
                }
                list(&blocks)
            }
        };
        let role = if is_reply { "assistant" } else { "user" };
        let mut message = LineText::default().text("role", role).json("content", &content);
        if is_reply {
            let stop = if said.has_calls() { "toolUse" } else { "stop" };
            let model = model.unwrap_or("unknown");
            // The API and the provider are guessed from the model's name.
            let (api, provider) = if model.starts_with("claude") {
                ("anthropic-messages", "anthropic")
            } else if model.starts_with("gemini") {
                ("google-generative-ai", "google")
            } else {
                ("openai-responses", "openai")
            };
            message = message
                .text("api", api)
                .text("provider", provider)
                .text("model", model)
                .json("usage", NO_USAGE)
                .text("stopReason", stop);
        }
        vec![timed(message, &said.origins, notes)]
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        let message = LineText::default()
            .text("role", "toolResult")
            .text("toolCallId", &answer.id)
            .text("toolName", &answer.name)
            .list("content", &notes.blocks(&answer.result, block))
            .json("isError", &answer.result.is_error.to_string());
        timed(message, &[answer.origin], notes)
    }

    /// Writes a compaction that keeps all entries before it, because pi sends the summary before
    /// the kept entries.
    fn summary(&mut self, summary: &Summary<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let (id, line) = self.entry("compaction", &summary.origins, notes);
        let line = line
            .text("summary", &summary.text)
            .text("firstKeptEntryId", self.first.as_deref().unwrap_or(&id))
            .json("tokensBefore", "0");
        vec![Line::new(line.end(), summary.origins.clone())]
    }

    fn line(&mut self, _: Role, json: String, at: &Origins, notes: &mut Notes<'_>) -> Line {
        let (_, line) = self.entry("message", at, notes);
        Line::new(line.json("message", &json).end(), at.clone())
    }
}

fn is_signed(raw: &str) -> bool {
    Object::within(raw)
        .is_some_and(|it| kind_of(&it) == "thinking" && has_text(&it, "thinkingSignature"))
}

/// Writes the block for a part; `None` if the format does not support such a block.
fn block(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Call(call) => {
            Some(notes.call(LineText::of_type("toolCall"), call, "arguments").end())
        }
        Part::Media(media) => media.image_block("image"),
        part => part.said().map(text_block),
    }
}
