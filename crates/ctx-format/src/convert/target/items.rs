//! Writes items for the OpenAI Responses API.

use super::{Line, Notes, Target};
use crate::compaction::{LineText, list, quoted};
use crate::convert::media::DataLocation;
use crate::convert::report::LossKind;
use crate::convert::turn::{Answer, Piece, Summary, TurnMessage};
use crate::dialect::content::kind_of_raw;
use crate::dialect::items::{message, text};
use crate::dialect::responses::Responses;
use crate::record::json::one_line;
use crate::{Dialect, Media, Object, Part, Role};

/// The program that will read the written session. The program determines which items are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// The OpenAI API, which accepts every type of item.
    All,
    /// Codex, which ignores items that it cannot load.
    Codex,
}

/// The types of items, apart from messages, that Codex 0.169.0 loads and sends to the API.
const OF_CODEX: &str = "agent_message reasoning function_call function_call_output \
    custom_tool_call custom_tool_call_output local_shell_call tool_search_call \
    tool_search_output web_search_call image_generation_call compaction context_compaction";

impl Accepts {
    /// Writes the items for a message.
    pub(crate) fn said(self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        if !said.items.is_empty() {
            return said.items.iter().flat_map(|raw| self.item(raw, notes)).collect();
        }
        notes.name(said);
        let role = match said.role {
            Role::System if self == Self::Codex => Role::Developer,
            Role::System | Role::Developer | Role::Assistant => said.role,
            _ => Role::User,
        };
        let mut items = Vec::new();
        let mut content = Vec::new();
        for Piece { part, .. } in &said.pieces {
            if let Part::Call(call) = part {
                push_message(role, &mut content, &mut items);
                let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
                let item = LineText::of_type("function_call")
                    .text("name", &call.name)
                    .text("arguments", arguments)
                    .text("call_id", call.id.as_deref().unwrap_or_default());
                items.push(item.end());
            } else {
                content.extend(self.part(part, role == Role::Assistant, notes));
            }
        }
        if said.pieces.is_empty() {
            items.push(message(role, &content));
        }
        push_message(role, &mut content, &mut items);
        items
    }

    /// Writes an item unchanged if the target accepts it; otherwise writes only the parts that the
    /// target can represent.
    fn item(self, raw: &str, notes: &mut Notes<'_>) -> Vec<String> {
        if self.takes(raw) {
            return vec![one_line(raw).into_owned()];
        }
        let message = Object::parse(raw).ok();
        let Some(message) = message.and_then(|object| Responses.message(&object)) else {
            notes.opaque(raw);
            return Vec::new();
        };
        let said = TurnMessage {
            role: message.role,
            pieces: message.parts.into_iter().map(Piece::bare).collect(),
            ..TurnMessage::of_user(Vec::new(), Vec::new())
        };
        self.said(&said, notes)
    }

    /// Writes the item for a tool result.
    pub(crate) fn answer(self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        if let Some(raw) = answer.item.as_ref().filter(|raw| self.takes(raw)) {
            return one_line(raw).into_owned();
        }
        if answer.result.is_error {
            notes.count(LossKind::ErrorMark, "");
        }
        let output = match answer.result.parts.as_slice() {
            [] => quoted(""),
            [Part::Text(text)] => quoted(text),
            [Part::Opaque(raw)] => quoted(notes.as_text(raw)),
            _ => list(&notes.blocks(&answer.result, |part, notes| self.part(part, false, notes))),
        };
        LineText::of_type("function_call_output")
            .text("call_id", &answer.id)
            .json("output", &output)
            .end()
    }

    /// Returns true if the target accepts the item unchanged.
    fn takes(self, raw: &str) -> bool {
        let Ok(item) = Object::parse(raw) else { return false };
        let has_shape = || match item.text_of("type").as_deref() {
            None => false,
            Some("message") => {
                let kinds = ["input_text", "output_text", "input_image"];
                let parts = item.elements_of("content");
                let is_known = |parts: Vec<&str>| {
                    let mut parts = parts.into_iter();
                    parts.all(|raw| kinds.contains(&&*kind_of_raw(raw)))
                };
                item.get("role") != Some("\"system\"") && parts.is_some_and(is_known)
            }
            Some(kind) => OF_CODEX.split_ascii_whitespace().any(|taken| taken == kind),
        };
        self == Self::All || has_shape()
    }

    /// Writes a part of a message; `None` if the target cannot represent the part.
    fn part(self, part: &Part<'_>, is_reply: bool, notes: &mut Notes<'_>) -> Option<String> {
        let text_kind = if is_reply { "output_text" } else { "input_text" };
        match part {
            Part::Refusal(said) if is_reply && self == Self::All => {
                return Some(LineText::of_type("refusal").text("refusal", said).end());
            }
            Part::Text(said) | Part::Refusal(said) => return Some(text(text_kind, said)),
            Part::Media(media) if !is_reply => return self.media(media, notes),
            part => notes.left_out(part),
        }
        None
    }

    fn media(self, media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
        let takes_files = self == Self::All;
        let data = notes.data(media, |data| data.is_image() || data.is_pdf() && takes_files)?;
        if data.is_image() {
            let part = LineText::of_type("input_image");
            return Some(part.text("image_url", &data.url()).end());
        }
        let part = LineText::of_type("input_file");
        let part = match &data.place {
            DataLocation::Here(_) => {
                let name = data.name.as_deref().unwrap_or("document.pdf");
                part.text("filename", name).text("file_data", &data.url())
            }
            DataLocation::At(url) => part.text("file_url", url),
        };
        Some(part.end())
    }
}

/// Moves the content collected since the last item, if any, into a new message item.
fn push_message(role: Role, content: &mut Vec<String>, items: &mut Vec<String>) {
    if !content.is_empty() {
        items.push(message(role, content));
        content.clear();
    }
}

/// Writes sessions in the dialect `responses`.
pub(crate) struct Writer;

impl Target for Writer {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        Accepts::All.said(said, notes)
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        Accepts::All.answer(answer, notes)
    }

    fn summary(&mut self, summary: &Summary<'_>, _: &mut Notes<'_>) -> Vec<Line> {
        vec![Line::of_summary(&Responses, summary)]
    }
}
