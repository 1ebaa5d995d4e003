//! Writes messages for the OpenAI Chat Completions API.

use crate::compaction::{LineText, list, quoted};
use crate::dialect::chat::role_in_text;
use crate::record::json::one_line;
use crate::{Call, Media, Object, Part, Role};

use super::{Notes, Target, text_block};
use crate::convert::media::Data;
use crate::convert::turn::{Answer, Piece, TurnMessage};

/// Writes sessions in the dialect `chat`.
pub(crate) struct Writer;

impl Target for Writer {
    fn said(&mut self, said: &TurnMessage<'_>, notes: &mut Notes<'_>) -> Vec<String> {
        let role = role_in_text(said.role);
        let is_reply = role == Role::Assistant;
        let (mut calls, mut refusals, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        let mut audio = None;
        for Piece { part, .. } in &said.pieces {
            match part {
                Part::Call(call) => calls.push(tool_call(call, notes)),
                Part::Refusal(text) if is_reply => refusals.push(text.as_ref()),
                Part::Media(media) if media.kind == "audio" && is_reply && notes.is_same_api => {
                    audio = Object::within(&media.raw).and_then(|audio| audio.text_of("id"));
                }
                part => rest.push(part),
            }
        }
        let content = content(&rest, role);
        if content.is_none() && calls.is_empty() && refusals.is_empty() && audio.is_none() {
            return Vec::new();
        }
        let mut json = LineText::default()
            .text("role", role.as_str())
            .some_text("name", said.name.as_deref())
            .json("content", content.as_deref().unwrap_or("null"))
            .some_text("refusal", Some(&refusals.join("\n")))
            .some_list("tool_calls", &calls);
        if let Some(id) = audio {
            json = json.json("audio", &LineText::default().text("id", &id).end());
        }
        vec![json.end()]
    }

    fn answer(&mut self, answer: &Answer<'_>, notes: &mut Notes<'_>) -> String {
        // The content can only be text in this API.
        let content = match notes.texts(&answer.result).as_slice() {
            [] => quoted(""),
            [text] => quoted(text),
            texts => list(&texts.iter().map(|text| text_block(text)).collect::<Vec<_>>()),
        };
        notes.no_error_mark(answer);
        LineText::default()
            .text("role", "tool")
            .text("tool_call_id", &answer.id)
            .json("content", &content)
            .end()
    }
}

/// Writes the content of a message. A single text is written as a string instead of a list of
/// blocks. Only user messages can have media.
fn content(parts: &[&Part<'_>], role: Role) -> Option<String> {
    let texts: Vec<&str> = parts.iter().filter_map(|part| part.said()).collect();
    let block = |part: &&Part<'_>| match part {
        Part::Media(media) if role == Role::User => self::media(media),
        part => part.said().map(text_block),
    };
    let blocks: Vec<String> = parts.iter().filter_map(block).collect();
    match (texts.as_slice(), blocks.as_slice()) {
        (_, []) => None,
        ([text], [_]) => Some(quoted(text)),
        _ => Some(list(&blocks)),
    }
}

fn tool_call(call: &Call<'_>, notes: &mut Notes<'_>) -> String {
    let arguments = notes.arguments(&call.arguments, call.slot.as_ref());
    let function = LineText::default().text("name", &call.name).text("arguments", &arguments).end();
    LineText::default()
        .text("id", call.id.as_deref().unwrap_or_default())
        .text("type", "function")
        .json("function", &function)
        .end()
}

/// Returns the part as it is if the API takes it.
fn own(media: &Media<'_>) -> Option<String> {
    let inner = Object::within(&media.raw)?.object_of(media.kind)?;
    let is_taken = match media.kind {
        "image_url" => Data::of(media)?.is_image_at(&inner.text_of("url")?),
        "input_audio" => matches!(&*Data::of(media)?.mime, "audio/wav" | "audio/mp3"),
        kind => kind == "file",
    };
    let part = LineText::of_type(media.kind);
    is_taken.then(|| part.json(media.kind, &one_line(inner.text())).end())
}

fn media(media: &Media<'_>) -> Option<String> {
    if let Some(own) = own(media) {
        return Some(own);
    }
    let data = Data::of(media).filter(|data| data.is_image() || data.is_pdf())?;
    let url = data.url();
    let (kind, value) = if data.is_image() {
        ("image_url", LineText::default().text("url", &url))
    } else {
        let name = data.name.as_deref().unwrap_or("document.pdf");
        let file = LineText::default().text("filename", name);
        ("file", file.text("file_data", &url))
    };
    Some(LineText::of_type(kind).json(kind, &value.end()).end())
}
