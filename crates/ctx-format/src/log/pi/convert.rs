//! Writes session files of pi. Their shapes are those of version 0.73.1, which writes version 3.

use super::NO_USAGE;
use crate::convert::LossKind;
use crate::convert::media::{Data, DataLocation};
use crate::convert::reading::Session;
use crate::convert::target::{Line, Notes, Target, text_block};
use crate::convert::turn::{Piece, Results, Turn, TurnMessage};
use crate::log::compaction::{LineText, list, quoted};
use crate::{Media, Part, Role};

pub(crate) struct Writer {
    session: Session,
    /// The id of the first entry.
    first: Option<String>,
    /// The id of the last entry.
    parent: Option<String>,
}

impl Writer {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, first: None, parent: None }
    }

    /// An entry with its own members.
    fn entry(
        &mut self,
        kind: &str,
        (origins, notes): (&[usize], &Notes<'_>),
        own: impl FnOnce(LineText, &str, &Self) -> LineText,
    ) -> Line {
        let time = notes.time_of(origins);
        let id = self.session.ids.short();
        let line = LineText::of_type(kind)
            .text("id", &id)
            .json("parentId", &self.parent.as_deref().map_or("null".to_owned(), quoted))
            .text("timestamp", &self.session.time(time));
        let line = own(line, &id, self).end();
        self.first.get_or_insert_with(|| id.clone());
        self.parent = Some(id);
        Line::of_log(line, origins)
    }

    fn message(&mut self, message: LineText, at: (&[usize], &Notes<'_>)) -> Line {
        self.entry("message", at, |line, _, writer| {
            let time = writer.session.time.timestamp_millis().to_string();
            line.json("message", &message.json("timestamp", &time).end())
        })
    }

    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Option<Line> {
        if !notes.is_for_agent(said) {
            return None;
        }
        let is_reply = said.role == Role::Assistant;
        let content = match said.pieces.as_slice() {
            [Piece { part: Part::Text(text), .. }] if !is_reply => quoted(text),
            pieces => {
                let blocks = pieces.iter().filter_map(|piece| block(&piece.part, notes));
                let blocks: Vec<String> = blocks.collect();
                if blocks.is_empty() && !pieces.is_empty() {
                    return None;
                }
                list(&blocks)
            }
        };
        let role = if is_reply { "assistant" } else { "user" };
        let mut message = LineText::new().text("role", role).json("content", &content);
        if is_reply {
            let stop = if said.has_calls() { "toolUse" } else { "stop" };
            let model = said.model.as_deref().unwrap_or("unknown");
            let (api, provider) = api_of(model);
            message = message
                .text("api", api)
                .text("provider", provider)
                .text("model", model)
                .json("usage", NO_USAGE)
                .text("stopReason", stop);
        }
        Some(self.message(message, (&said.origins, notes)))
    }

    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for answer in &results.answers {
            let message = LineText::new()
                .text("role", "toolResult")
                .text("toolCallId", &answer.id)
                .text("toolName", &answer.name)
                .list("content", &notes.blocks(&answer.result, block))
                .json("isError", &answer.result.is_error.to_string());
            lines.push(self.message(message, (&[answer.origin], notes)));
        }
        if let Some(beside) = results.said_beside() {
            lines.extend(self.said(&beside, notes));
        }
        lines
    }

    /// A compaction that keeps all entries before it: the agent sends the summary first anyway.
    fn summary(&mut self, text: &str, at: (&[usize], &Notes<'_>)) -> Line {
        let first = self.first.clone();
        self.entry("compaction", at, |line, id, _| {
            line.text("summary", text)
                .text("firstKeptEntryId", first.as_deref().unwrap_or(id))
                .json("tokensBefore", "0")
        })
    }
}

impl Target for Writer {
    fn begin(&mut self) -> Vec<Line> {
        let header = LineText::of_type("session")
            .json("version", "3")
            .text("id", &self.session.id)
            .text("timestamp", &self.session.now())
            .text("cwd", &self.session.cwd);
        vec![Line::of_log(header.end(), &[])]
    }

    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        notes.each(turns, |turn, notes| {
            let lines = match turn {
                Turn::Message(said) => self.said(said, notes).into_iter().collect(),
                Turn::Results(results) => self.results(results, notes),
                Turn::Summary { text, origins, .. } if notes.summary_comes => {
                    let said = TurnMessage::of_text(text, origins);
                    self.said(&said, notes).into_iter().collect()
                }
                Turn::Summary { text, origins, .. } => {
                    return vec![self.summary(text, (origins, notes))];
                }
            };
            if notes.summary_comes {
                notes.count(LossKind::BeforeSummary, "");
            }
            lines
        })
    }
}

/// The API and the provider of a model, as far as its name shows them.
fn api_of(model: &str) -> (&'static str, &'static str) {
    if model.starts_with("claude") {
        ("anthropic-messages", "anthropic")
    } else if model.starts_with("gemini") {
        ("google-generative-ai", "google")
    } else {
        ("openai-responses", "openai")
    }
}

/// The block of a part; `None` if it cannot be carried, or is an entry of its own.
fn block(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => return Some(text_block(text)),
        Part::Call(call) => {
            let block = LineText::of_type("toolCall")
                .text("id", call.id.as_deref().unwrap_or_default())
                .text("name", &call.name)
                .json("arguments", &notes.arguments(&call.arguments));
            return Some(block.end());
        }
        Part::Media(media) => return image(media, notes),
        part => notes.left_out(part),
    }
    None
}

fn image(media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
    let is_here = |data: &Data| matches!(data.place, DataLocation::Here(_));
    let image = notes.data(media, |data| data.is_image() && is_here(data))?;
    let DataLocation::Here(data) = &image.place else {
        return None;
    };
    Some(LineText::of_type("image").text("data", data).text("mimeType", &image.mime).end())
}
