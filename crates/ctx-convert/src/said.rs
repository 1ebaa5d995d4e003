//! What a message says, piece by piece, with the JSON that it was read from where the other
//! dialect can take that as it is.

use std::borrow::Cow;

use ctx_transcript::{Call, Dialect, Held, Object, Part, ToolResult};

/// Formats whose messages are of the same shapes, whatever wraps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// OpenAI Chat.
    Chat,
    /// Blocks of the Anthropic API.
    Blocks,
    /// Items of OpenAI Responses.
    Items,
    /// Parts of the Gemini API.
    Gemini,
    /// pi's own.
    Pi,
}

impl Family {
    pub(crate) fn of(dialect: &dyn Dialect) -> Self {
        match dialect.name() {
            "anthropic" | "claude-code" => Self::Blocks,
            "responses" | "codex" => Self::Items,
            "gemini" => Self::Gemini,
            "pi" => Self::Pi,
            // Also of what could be several: a text is the same in all of them.
            _ => Self::Chat,
        }
    }
}

/// A part, and what it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) part: Part<'a>,
    /// Its JSON, when it is a block of the Anthropic API, which carries more than we read:
    /// signatures, citations.
    pub(crate) block: Option<&'a str>,
}

impl<'a> Piece<'a> {
    /// One that nothing stands behind.
    pub(crate) fn bare(part: Part<'a>) -> Self {
        Self { part, block: None }
    }
}

/// The pieces of a message.
pub(crate) fn pieces<'a>(held: &Held<'a>, family: Family) -> Vec<Piece<'a>> {
    let parts = held.message.parts.iter().cloned();
    let blocks = match &held.raw {
        Cow::Borrowed(raw) if family == Family::Blocks => Object::parse(raw).ok(),
        _ => None,
    };
    let blocks = blocks
        .and_then(|object| object.elements_of("content"))
        .filter(|blocks| blocks.len() == held.message.parts.len());
    match blocks {
        None => parts.map(Piece::bare).collect(),
        Some(blocks) => {
            let whole = |raw: &'a str| Object::parse(raw).is_ok().then_some(raw);
            let pieces = parts.zip(blocks);
            pieces
                .map(|(part, raw)| Piece {
                    part,
                    block: whole(raw),
                })
                .collect()
        }
    }
}

/// What pairs a call with its results: the id, or the name where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Box<str>);

impl Key {
    pub(crate) fn of_call(call: &Call<'_>) -> Self {
        Self::of(call.id.as_deref(), Some(&call.name))
    }

    pub(crate) fn of_result(result: &ToolResult<'_>) -> Self {
        Self::of(result.id.as_deref(), result.name.as_deref())
    }

    fn of(id: Option<&str>, name: Option<&str>) -> Self {
        Self(match id.filter(|id| !id.is_empty()) {
            Some(id) => format!("#{id}").into(),
            None => name.unwrap_or_default().into(),
        })
    }
}
