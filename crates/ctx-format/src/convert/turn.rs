//! The units of output, one turn after the other: a message, or the results of a reply.

use crate::{Call, HeldMessage, Object, Part, Role, ToolResult};
use std::borrow::Cow;
use std::sync::Arc;

/// A unit of output.
#[derive(Clone, Debug)]
pub(crate) enum Turn<'a> {
    /// Someone says something.
    Message(TurnMessage<'a>),
    /// Tools answer a reply.
    Results(Results<'a>),
    /// A summary of what was before it.
    Summary(Summary<'a>),
}

/// A summary.
#[derive(Clone, Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) role: Role,
    pub(crate) text: Cow<'a, str>,
    /// The places of its records among those of the unit.
    pub(crate) origins: Vec<usize>,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct TurnMessage<'a> {
    pub(crate) role: Role,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The items of OpenAI Responses that it was read from, if it was.
    pub(crate) items: Vec<Cow<'a, str>>,
    /// The model that said it, where the session says which.
    pub(crate) model: Option<Arc<str>>,
    /// The places of its records among those of the unit.
    pub(crate) origins: Vec<usize>,
}

/// The results of tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results<'a> {
    pub(crate) answers: Vec<Answer<'a>>,
    /// Other content of the records with the results, as the user's.
    pub(crate) beside: Vec<Piece<'a>>,
    /// The index of the first record with other content.
    pub(crate) beside_origin: Option<usize>,
    /// The places of all these records among those of the unit.
    pub(crate) origins: Vec<usize>,
}

/// A result.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    /// The id of its call.
    pub(crate) id: String,
    /// The tool; empty if unknown.
    pub(crate) name: String,
    pub(crate) result: ToolResult<'a>,
    /// Like [`Piece::block`].
    pub(crate) block: Option<&'a str>,
    /// The item of OpenAI Responses that it was read from, if it was.
    pub(crate) item: Option<Cow<'a, str>>,
    /// The place of its record among those of the unit.
    pub(crate) origin: usize,
}

impl<'a> TurnMessage<'a> {
    /// A user message.
    pub(crate) fn of_user(pieces: Vec<Piece<'a>>, origins: Vec<usize>) -> Self {
        Self { role: Role::User, name: None, pieces, items: Vec::new(), model: None, origins }
    }

    /// A user message whose text is a summary.
    pub(crate) fn of_summary(summary: &Summary<'a>) -> Self {
        let text = Part::Text(summary.text.clone());
        Self::of_user(vec![Piece::bare(text)], summary.origins.clone())
    }

    /// Whether it holds calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.part, Part::Call(_)))
    }
}

impl Results<'_> {
    /// The user's content next to the results.
    pub(crate) fn said_beside(&self) -> Option<TurnMessage<'_>> {
        let origins = self.beside_origin.into_iter().collect();
        let said = || TurnMessage::of_user(self.beside.clone(), origins);
        (!self.beside.is_empty()).then(said)
    }
}

impl Turn<'_> {
    /// The place of its first record among those of the unit.
    pub(crate) fn origin(&self) -> usize {
        let origins = match self {
            Self::Message(said) => &said.origins,
            Self::Results(results) => &results.origins,
            Self::Summary(summary) => &summary.origins,
        };
        origins.first().copied().unwrap_or(0)
    }
}

/// Formats whose messages are of the same shapes, whatever wraps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Blocks of the Anthropic API.
    Blocks,
    /// Items of OpenAI Responses.
    Items,
    /// Shapes that no other format has.
    Other,
}

/// A part, and what it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) part: Part<'a>,
    /// Its JSON, if it is a block of the Anthropic API, which has more than we read: signatures,
    /// citations.
    pub(crate) block: Option<&'a str>,
}

impl<'a> Piece<'a> {
    /// A part without JSON of its own.
    pub(crate) fn bare(part: Part<'a>) -> Self {
        Self { part, block: None }
    }
}

/// The pieces of a message.
pub(crate) fn pieces<'a>(held: &HeldMessage<'a>, family: Family) -> Vec<Piece<'a>> {
    let parts = held.message.parts.iter().cloned();
    let blocks = match &held.raw {
        Cow::Borrowed(raw) if family == Family::Blocks => Object::parse(raw).ok(),
        _ => None,
    };
    let blocks = blocks
        .and_then(|object| object.elements_of("content"))
        .filter(|blocks| blocks.len() == held.message.parts.len());
    let Some(blocks) = blocks else {
        return parts.map(Piece::bare).collect();
    };
    let whole = |raw: &'a str| Object::parse(raw).is_ok().then_some(raw);
    parts.zip(blocks).map(|(part, raw)| Piece { part, block: whole(raw) }).collect()
}

/// What pairs a call with its results: the id, or the name if there is no id.
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

/// The turn that all of `held` are. With a summary among them it is a summary.
pub(crate) fn blob<'a>(held: &[Vec<HeldMessage<'a>>]) -> Vec<Turn<'a>> {
    let origins: Vec<usize> = (0..held.len()).collect();
    let all = || held.iter().flatten();
    let mut pieces = Vec::new();
    let mut summaries: Vec<Cow<'a, str>> = Vec::new();
    for held in all() {
        match &held.summary {
            Some(summary) => summaries.push(summary.clone()),
            None => add(held, &mut pieces),
        }
    }
    if summaries.is_empty() {
        return vec![Turn::Message(TurnMessage::of_user(pieces, origins))];
    }
    let beside = pieces.iter().map(|piece| match &piece.part {
        Part::Text(text) | Part::Opaque(text) => text.clone(),
        Part::Media(media) => Cow::Owned(format!("({})", media.kind)),
        _ => Cow::Borrowed(""),
    });
    summaries.extend(beside);
    let text = summaries.join("\n\n");
    vec![Turn::Summary(Summary { role: Role::User, text: text.into(), origins })]
}

/// Adds what a message says, under who says it.
fn add<'a>(held: &HeldMessage<'a>, pieces: &mut Vec<Piece<'a>>) {
    let role = held.message.role.as_str();
    for part in &held.message.parts {
        let text = match part {
            Part::Text(text) | Part::Refusal(text) => format!("[{role}]\n{text}"),
            Part::Reasoning(text) => format!("[{role} reasoning]\n{text}"),
            Part::Call(call) => format!("[{role} calls {}]\n{}", call.name, call.arguments),
            Part::Result(result) => format!("[result]\n{}", texts(&result.parts).join("\n")),
            Part::Media(_) | Part::Opaque(_) => {
                pieces.push(Piece::bare(part.clone()));
                continue;
            }
        };
        pieces.push(Piece::bare(Part::Text(text.into())));
    }
}

fn texts<'p>(parts: &'p [Part<'_>]) -> Vec<&'p str> {
    let texts = parts.iter().map(|part| match part {
        Part::Text(text) | Part::Opaque(text) => text.as_ref(),
        Part::Media(media) => media.raw.as_ref(),
        _ => "",
    });
    texts.collect()
}
