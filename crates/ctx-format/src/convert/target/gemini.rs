//! Parts of the Gemini API.

use super::Notes;
use crate::compaction::LineText;
use crate::convert::media::DataLocation;
use crate::convert::report::LossKind;
use crate::{Media, Part, ToolResult};

/// The part of the API; `None` if it cannot be carried, or is not part of the content.
pub(crate) fn part(part: &Part<'_>, notes: &mut Notes<'_>) -> Option<String> {
    match part {
        Part::Text(text) | Part::Refusal(text) => {
            return Some(LineText::new().text("text", text).end());
        }
        Part::Media(media) => return self::media(media, notes),
        part => notes.left_out(part),
    }
    None
}

fn media(media: &Media<'_>, notes: &mut Notes<'_>) -> Option<String> {
    let data = notes.data(media, |data| !data.mime.is_empty())?;
    let inner = LineText::new().text("mimeType", &data.mime);
    let (key, inner) = match &data.place {
        DataLocation::Here(base64) => ("inlineData", inner.text("data", base64)),
        DataLocation::At(url) => ("fileData", inner.text("fileUri", url)),
    };
    Some(LineText::new().json(key, &inner.end()).end())
}

/// Writes a result in the form of the API.
pub(crate) fn response(
    id: &str,
    name: &str,
    result: &ToolResult<'_>,
    notes: &mut Notes<'_>,
) -> String {
    let (mut texts, mut media) = (Vec::new(), Vec::new());
    for part in &result.parts {
        match part {
            Part::Text(text) | Part::Refusal(text) => texts.push(text.as_ref()),
            Part::Opaque(raw) => texts.push(notes.as_text(raw)),
            part => media.extend(self::part(part, notes)),
        }
    }
    if texts.len() > 1 {
        // Several texts become the lines of one.
        notes.count(LossKind::AsText, "text");
    }
    let key = if result.is_error { "error" } else { "output" };
    let output = LineText::new().text(key, &texts.join("\n"));
    let response = LineText::new()
        .text("id", id)
        .text("name", name)
        .json("response", &output.end())
        .some_list("parts", &media);
    LineText::new().json("functionResponse", &response.end()).end()
}
