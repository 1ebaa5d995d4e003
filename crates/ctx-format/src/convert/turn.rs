//! The turns of the new session. A turn is a message, the results of a reply, or a summary.

use crate::compaction::LineText;
use crate::convert::media::spell_out;
use crate::dialect::content::{kind_of, kind_of_raw};
use crate::log::gemini;
use crate::repair::MISSING_RESULT;
use crate::{Call, Denial, HeldMessage, Object, Part, Role, ToolResult, json};
use serde::Deserialize;
use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

/// The indexes, within the unit, of the records that something was made from. All lines of a long
/// reply have the same, so a copy must cost nothing.
pub(crate) type Origins = Rc<[usize]>;

/// A turn in the new session, which is written as a whole.
#[derive(Clone, Debug)]
pub(crate) enum Turn<'a> {
    /// A message from one speaker.
    Message(TurnMessage<'a>),
    /// The results of the calls in a reply.
    Results(Results<'a>),
    /// A summary of earlier messages.
    Summary(Summary<'a>),
}

/// A summary for the new session.
#[derive(Clone, Debug)]
pub(crate) struct Summary<'a> {
    pub(crate) role: Role,
    pub(crate) text: Cow<'a, str>,
    pub(crate) origins: Origins,
}

/// A message for the new session.
#[derive(Clone, Debug)]
pub(crate) struct TurnMessage<'a> {
    pub(crate) role: Role,
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) pieces: Vec<Piece<'a>>,
    /// The OpenAI Responses API items that the message was read from; empty for other source
    /// formats.
    pub(crate) items: Vec<Cow<'a, str>>,
    /// The model that wrote the message, or `None` if the session does not name it.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) origins: Origins,
}

/// Tool results for the new session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Results<'a> {
    pub(crate) answers: Vec<Answer<'a>>,
    /// Content other than results in the records that hold the results; it becomes a user message.
    pub(crate) beside: Vec<Piece<'a>>,
    /// The index, within the unit, of the first record that has content other than results.
    pub(crate) beside_origin: Option<usize>,
    /// The indexes, within the unit, of all records that the results came from.
    pub(crate) origins: Vec<usize>,
}

/// A tool result, with the id and tool of the call that it answers.
#[derive(Clone, Debug)]
pub(crate) struct Answer<'a> {
    /// The id of the call.
    pub(crate) id: String,
    /// The name of the tool, or an empty string if it is unknown.
    pub(crate) name: String,
    pub(crate) result: ToolResult<'a>,
    /// The source JSON of the result, as in [`Piece::block`].
    pub(crate) block: Option<Cow<'a, str>>,
    /// The index, within the unit, of the record that the result came from.
    pub(crate) origin: usize,
}

impl Answer<'_> {
    /// Creates the result of a call that has none.
    pub(crate) fn missing(id: String, name: String) -> Self {
        let parts = vec![Part::Text(MISSING_RESULT.into())];
        let result = ToolResult { is_error: true, parts, ..ToolResult::default() };
        Self { id, name, result, block: None, origin: 0 }
    }
}

impl<'a> TurnMessage<'a> {
    /// Creates a user message.
    pub(crate) fn of_user(pieces: Vec<Piece<'a>>, origins: Origins) -> Self {
        Self { role: Role::User, name: None, pieces, items: Vec::new(), model: None, origins }
    }

    /// Returns true if the message contains calls.
    pub(crate) fn has_calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece.part, Part::Call(_)))
    }
}

impl<'a> Results<'a> {
    /// Adds content from the record at `origin` that is not a result.
    pub(crate) fn add_beside(
        &mut self,
        pieces: impl IntoIterator<Item = Piece<'a>>,
        origin: usize,
    ) {
        self.beside.extend(pieces);
        self.beside_origin.get_or_insert(origin);
    }

    /// Returns all content other than results, as a user message; `None` if there is no such
    /// content.
    pub(crate) fn said_beside(&self) -> Option<TurnMessage<'_>> {
        let origins = self.beside_origin.into_iter().collect();
        let said = || TurnMessage::of_user(self.beside.clone(), origins);
        (!self.beside.is_empty()).then(said)
    }
}

impl Turn<'_> {
    /// Returns true for a reply, unless the server's summary in it may begin a session.
    pub(crate) fn is_no_beginning(&self) -> bool {
        let Self::Message(TurnMessage { role: Role::Assistant, pieces, .. }) = self else {
            return false;
        };
        let mut blocks = pieces.iter().filter_map(|piece| piece.block);
        !blocks.any(|raw| kind_of_raw(raw) == "compaction")
    }

    /// The index, within the unit, of the first record that the turn came from.
    pub(crate) fn origin(&self) -> usize {
        let origins = match self {
            Self::Message(said) => &*said.origins,
            Self::Results(results) => &results.origins,
            Self::Summary(summary) => &summary.origins,
        };
        origins.first().copied().unwrap_or(0)
    }
}

/// A family of formats. Formats in the same family write messages in the same way, but may wrap
/// them differently.
#[derive(Default, Deserialize, Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Family {
    /// Messages consist of Anthropic API blocks.
    Blocks,
    /// Messages are OpenAI Responses API items.
    Items,
    /// Messages are those of the OpenAI Chat Completions API.
    Chat,
    /// Messages consist of Gemini API parts.
    Gemini,
    /// Messages have a format that no other dialect shares.
    #[default]
    Other,
}

/// A part of a message, together with the JSON that it was read from.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) part: Part<'a>,
    /// The JSON of the part, if the target could take it. The JSON may have members, such as
    /// signatures and citations, that `part` does not contain.
    pub(crate) block: Option<&'a str>,
}

impl<'a> Piece<'a> {
    /// Returns true for a text with which `is_it` returns true.
    pub(crate) fn is_text(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.part.text().is_some_and(is_it)
    }

    /// The id of the call, if the piece is a call.
    pub(crate) fn call_id(&self) -> Option<&str> {
        if let Part::Call(call) = &self.part { call.id.as_deref() } else { None }
    }

    /// Creates a piece whose original JSON is dropped.
    pub(crate) fn bare(part: Part<'a>) -> Self {
        Self { part, block: None }
    }
}

/// Splits a message into pieces. The pieces of a message that stays in its `family` of formats keep
/// their JSON.
pub(crate) fn pieces<'a>(held: &HeldMessage<'a>, family: Family, stays: bool) -> Vec<Piece<'a>> {
    let mut parts = held.message.parts.clone();
    let object = match &held.raw {
        Cow::Borrowed(raw) if stays || matches!(family, Family::Items | Family::Chat) => {
            Object::parse(raw).ok()
        }
        _ => None,
    };
    if !stays {
        parts.iter_mut().for_each(spell_out);
    }
    let Some(object) = object else { return parts.into_iter().map(Piece::bare).collect() };
    if family == Family::Items {
        for part in &mut parts {
            add_verdict(&object, part);
        }
    }
    let blocks = if stays { blocks(&object, &parts, family) } else { Vec::new() };
    let blocks = blocks.into_iter().chain(std::iter::repeat(None));
    let is_object = |raw: &&str| Object::parse(raw).is_ok();
    let pieces = parts.into_iter().zip(blocks);
    let pieces = pieces.map(|(part, raw)| Piece { part, block: raw.filter(is_object) });
    let beside = if family == Family::Chat { beside(&object) } else { Vec::new() };
    pieces.chain(beside.into_iter().map(Piece::bare)).collect()
}

/// The raw JSON of each of the `parts` of a message, as far as the part has JSON of its own.
fn blocks<'a>(object: &Object<'a>, parts: &[Part<'_>], family: Family) -> Vec<Option<&'a str>> {
    match family {
        Family::Gemini => match object.elements_of("parts") {
            // Qwen Code has the messages of the API.
            Some(parts) => parts.into_iter().map(Some).collect(),
            None => gemini::raw_parts(object),
        },
        Family::Items if matches!(parts, [Part::Call(_) | Part::Result(_)]) => {
            vec![Some(object.text().trim())]
        }
        Family::Blocks | Family::Other => {
            // pi has the message in an entry.
            let entry = object.object_of("message").filter(|_| family == Family::Other);
            let content = entry.as_ref().unwrap_or(object).elements_of("content");
            let content = content.unwrap_or_default();
            let is_each = content.len() == parts.len();
            content.into_iter().filter(|_| is_each).map(Some).collect()
        }
        _ => Vec::new(),
    }
}

/// The images in an Ollama message, which are outside its content, and audio that only the server
/// has.
fn beside(message: &Object<'_>) -> Vec<Part<'static>> {
    let images = message.elements_of("images").unwrap_or_default().into_iter();
    let images = images.filter_map(json::text).map(|data| {
        let json = LineText::default().text("mimeType", "image/png").text("data", &data);
        Part::media("image", json.end())
    });
    let audio = message.object_of("audio").filter(|audio| audio.text_of("transcript").is_none());
    let audio = audio.map(|audio| Part::media("audio", audio.text().to_owned()));
    images.chain(audio).collect()
}

/// Says in the result of a request for approval whether the user approved the call.
fn add_verdict(item: &Object<'_>, part: &mut Part<'_>) {
    let Part::Result(result) = part else { return };
    if kind_of(item) != "mcp_approval_response" || !result.parts.is_empty() {
        return;
    }
    let verdict = if item.is_true("approve") {
        "approved"
    } else {
        (result.is_error, result.denial) = (true, Denial::Marked);
        "denied"
    };
    let reason = item.text_of("reason").filter(|reason| !reason.is_empty());
    let reason = reason.map_or(String::new(), |reason| format!(" Reason: {reason}"));
    result.parts = vec![Part::Text(format!("The user {verdict} this call.{reason}").into())];
}

/// The key that pairs a call with its results: the call's id or, if it has none, the tool name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Box<str>);

impl Key {
    pub(crate) fn of_call(call: &Call<'_>) -> Self {
        Self::of(call.id.as_deref(), Some(&call.name))
    }

    pub(crate) fn of_result(result: &ToolResult<'_>) -> Self {
        Self::of(result.id.as_deref(), result.name.as_deref())
    }

    /// Returns true if a result with the given key can answer the call with this key. A result
    /// without an id answers a call that has one, and without a name any call.
    pub(crate) fn is_answered_by(&self, result: &Self) -> bool {
        self == result || !result.has_id() && (result.0.is_empty() || self.has_id())
    }

    pub(crate) fn has_id(&self) -> bool {
        self.0.starts_with('#')
    }

    fn of(id: Option<&str>, name: Option<&str>) -> Self {
        Self(match id.filter(|id| !id.is_empty()) {
            Some(id) => format!("#{id}").into(),
            None => name.unwrap_or_default().into(),
        })
    }
}

/// Combines all messages in `held` into one turn. If any of them is a summary, the turn is a
/// summary.
pub(crate) fn blob<'a>(held: &[Vec<HeldMessage<'a>>]) -> Vec<Turn<'a>> {
    let origins: Origins = (0..held.len()).collect();
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

/// Adds the content of a message to `pieces` as texts, each prefixed with the speaker's role.
fn add<'a>(held: &HeldMessage<'a>, pieces: &mut Vec<Piece<'a>>) {
    let role = held.message.role.as_str();
    for part in &held.message.parts {
        let text = match part {
            Part::Text(text) | Part::Refusal(text) => format!("[{role}]\n{text}"),
            Part::Reasoning(text) => format!("[{role} reasoning]\n{text}"),
            Part::Call(call) => format!("[{role} calls {}]\n{}", call.name, call.arguments),
            Part::Result(result) => {
                let texts = result.parts.iter().map(|part| match part {
                    Part::Text(text) | Part::Opaque(text) => text.as_ref(),
                    Part::Media(media) => media.raw.as_ref(),
                    _ => "",
                });
                format!("[result]\n{}", texts.collect::<Vec<_>>().join("\n"))
            }
            Part::Media(_) | Part::Opaque(_) => {
                pieces.push(Piece::bare(part.clone()));
                continue;
            }
        };
        pieces.push(Piece::bare(Part::Text(text.into())));
    }
}
