//! Session files of pi. Shapes are those of version 0.73.1, whose files are of version 3.

use ctx_transcript::compaction::{LineText, list, quoted};
use ctx_transcript::dialect::Pi;
use ctx_transcript::{Media, Part, Role};

use super::{Line, Notes, Target};
use crate::Kind;
use crate::json::kind;
use crate::media::{Data, Place};
use crate::said::Piece;
use crate::session::Session;
use crate::turn::{Answer, Results, Said, Turn};

/// Writes the entries of pi.
pub(super) struct Writer {
    session: Session,
    /// The id of the last entry.
    parent: Option<String>,
    /// The id of the first one.
    first: Option<String>,
}

impl Writer {
    pub(super) fn new(session: Session) -> Self {
        Self {
            session,
            parent: None,
            first: None,
        }
    }

    /// An entry whose own members `add` adds; it is given the id.
    fn entry(
        &mut self,
        kind: &str,
        (origins, notes): (&[usize], &Notes<'_>),
        add: impl FnOnce(LineText, &str, &Self) -> LineText,
    ) -> Line {
        let time = notes.time_of(origins);
        let id = self.session.ids.short();
        let parent = self.parent.as_deref().map_or("null".to_owned(), quoted);
        let time = self.session.time(time);
        let line = LineText::new()
            .text("type", kind)
            .text("id", &id)
            .json("parentId", &parent)
            .text("timestamp", &time);
        let line = add(line, &id, self).end();
        self.first.get_or_insert_with(|| id.clone());
        self.parent = Some(id);
        Line::of_log(line, origins)
    }

    fn message(
        &mut self,
        at: (&[usize], &Notes<'_>),
        message: impl FnOnce(LineText) -> LineText,
    ) -> Line {
        self.entry("message", at, |line, _, writer| {
            let time = writer.session.time.timestamp_millis().to_string();
            let message = message(LineText::new()).json("timestamp", &time);
            line.json("message", &message.end())
        })
    }

    fn said(&mut self, said: &Said<'_>, notes: &mut Notes<'_>) -> Option<Line> {
        notes.name(said);
        if said.role.is_system() {
            notes.count(Kind::Instructions, "");
            return None;
        }
        let is_reply = said.role == Role::Assistant;
        let content = match said.pieces.as_slice() {
            [
                Piece {
                    part: Part::Text(text),
                    ..
                },
            ] if !is_reply => quoted(text),
            pieces => {
                let blocks = pieces.iter();
                let blocks = blocks.filter_map(|piece| block(&piece.part, notes));
                let blocks: Vec<String> = blocks.collect();
                if blocks.is_empty() && !pieces.is_empty() {
                    return None;
                }
                list(&blocks)
            }
        };
        let mut parts = said.pieces.iter().map(|piece| &piece.part);
        let has_calls = parts.any(|part| matches!(part, Part::Call(_)));
        let model = said.model.as_deref().unwrap_or("unknown");
        let (api, provider) = api_of(model);
        Some(self.message((&said.origins, notes), |message| {
            if !is_reply {
                return message.text("role", "user").json("content", &content);
            }
            message
                .text("role", "assistant")
                .json("content", &content)
                .text("api", api)
                .text("provider", provider)
                .text("model", model)
                .json("usage", Pi::NO_USAGE)
                .text("stopReason", if has_calls { "toolUse" } else { "stop" })
        }))
    }

    fn results(&mut self, results: &Results<'_>, notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for answer in &results.answers {
            let content = list(&content(answer, notes));
            lines.push(self.message((&[answer.origin], notes), |message| {
                let is_error = answer.result.is_error.to_string();
                message
                    .text("role", "toolResult")
                    .text("toolCallId", &answer.id)
                    .text("toolName", &answer.name)
                    .json("content", &content)
                    .json("isError", &is_error)
            }));
        }
        if let Some(beside) = results.said_beside() {
            lines.extend(self.said(&beside, notes));
        }
        lines
    }

    /// What stands before it is what it keeps: it says that first, whatever its place is.
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
        let header = LineText::new()
            .text("type", "session")
            .json("version", "3")
            .text("id", &self.session.id)
            .text("timestamp", &self.session.now())
            .text("cwd", &self.session.cwd);
        vec![Line::of_log(header.end(), &[])]
    }

    fn unit(&mut self, turns: &[Turn<'_>], notes: &mut Notes<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for turn in turns {
            notes.at(turn);
            match turn {
                Turn::Said(said) => lines.extend(self.said(said, notes)),
                Turn::Results(results) => lines.extend(self.results(results, notes)),
                Turn::Summary { text, origins, .. } if notes.summary_comes => {
                    let piece = Piece::bare(Part::Text(text.clone()));
                    let said = Said::of_user(vec![piece], origins.clone());
                    lines.extend(self.said(&said, notes));
                }
                Turn::Summary { text, origins, .. } => {
                    lines.push(self.summary(text, (origins, notes)));
                    continue;
                }
            }
            if notes.summary_comes {
                notes.count(Kind::BeforeSummary, "");
            }
        }
        lines
    }
}

/// Which API a model is used by, as far as its name tells.
fn api_of(model: &str) -> (&'static str, &'static str) {
    if model.starts_with("claude") {
        ("anthropic-messages", "anthropic")
    } else if model.starts_with("gemini") {
        ("google-generative-ai", "google")
    } else {
        ("openai-responses", "openai")
    }
}

fn text_block(text: &str) -> String {
    LineText::new()
        .text("type", "text")
        .text("text", text)
        .end()
}

/// The block that `part` is; `None` when it cannot be carried.
fn block(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => return Some(text_block(text)),
        Part::Call(call) => {
            let block = LineText::new()
                .text("type", "toolCall")
                .text("id", call.id.as_deref().unwrap_or_default())
                .text("name", &call.name)
                .json("arguments", &notes.arguments(&call.arguments));
            return Some(block.end());
        }
        Part::Media(media) => return image(media, notes),
        Part::Reasoning(_) => notes.count(Kind::Reasoning, ""),
        Part::Opaque(raw) => notes.opaque(raw),
        // They are entries of their own.
        Part::Result(_) => {}
    }
    None
}

fn image(media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match Data::of(media) {
        Some(Data {
            mime,
            place: Place::Here(data),
            ..
        }) if mime.starts_with("image/") => {
            let block = LineText::new().text("type", "image").text("data", &data);
            Some(block.text("mimeType", &mime).end())
        }
        _ => {
            notes.count(Kind::Media, media.kind);
            None
        }
    }
}

fn content(answer: &Answer<'_>, notes: &mut Notes<'_>) -> Vec<String> {
    let parts = answer.result.parts.iter();
    let blocks = parts.filter_map(|part| match part {
        Part::Opaque(raw) => {
            notes.count(Kind::AsText, &kind(raw));
            Some(text_block(raw))
        }
        part => block(part, notes),
    });
    blocks.collect()
}
