//! A message as the model receives it: a role and parts.

use std::borrow::Cow;
use std::ops::Range;

use super::presence::Fragment;
use crate::{Content, Object, Slot};

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

/// The speaker of a message.
#[derive(Serialize, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Instructions from the application's operator.
    System,
    /// The name of [`Role::System`] in newer versions of the OpenAI API.
    Developer,
    /// A message from the user.
    User,
    /// A message from the model.
    Assistant,
    /// The result of a tool call (`chat`).
    Tool,
    /// The result of a function call (`chat`, deprecated).
    Function,
    /// A role that none of the formats defines.
    #[default]
    Other,
}

impl Role {
    /// Parses the name of a role as it appears in session files.
    pub fn from_word(word: &str) -> Self {
        word.parse().unwrap_or(Self::Other)
    }

    /// The name of the role as it appears in session files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns true for system and developer messages, which are never summarized or moved.
    pub fn is_system(self) -> bool {
        matches!(self, Self::System | Self::Developer)
    }
}

/// The role of a message that contains a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, IntoStaticStr, Serialize)]
#[strum(serialize_all = "lowercase")]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SummaryRole {
    /// A user message
    #[default]
    User,
    /// A message from the model
    Assistant,
    /// A system message
    System,
}

impl From<SummaryRole> for Role {
    fn from(role: SummaryRole) -> Self {
        Self::from_word(role.into())
    }
}

/// The skeleton of a message: enough to find exchanges and turns without decoding any content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline<'a> {
    /// The role of the message.
    pub role: Role,
    /// Whether a turn begins with this message: it is from the user, contains more than tool
    /// results, and is not a summary written by one of our tools.
    pub begins_turn: bool,
    /// The ids of calls whose results are expected in other records. An id is empty if the format
    /// has no ids.
    pub calls: Vec<Cow<'a, str>>,
    /// The ids of the calls, made in other records, whose results are in this record.
    pub results: Vec<Cow<'a, str>>,
    /// Whether the results name a tool instead of a call, as Ollama's do. Each then answers the
    /// first call that waits.
    pub answers_in_order: bool,
    /// Whether other content comes before a result, although the API requires results to come
    /// first.
    pub results_late: bool,
    /// Whether the message has content other than results.
    pub has_content: bool,
    /// Whether the message is a summary that a tool wrote. Whatever its role, an old summary is
    /// summarized again along with other old messages.
    pub is_summary: bool,
    /// The part of a context message that this record holds, if known from the session's view.
    /// Dialects leave this field empty, because they read only one record at a time.
    pub fragment: Option<Fragment>,
    /// What rules other than those for calls and turns need to know, if anything.
    pub content: Option<Box<Content>>,
}

impl Outline<'_> {
    /// The outline of a line whose format is unknown.
    pub fn of_line() -> Self {
        Self { has_content: true, ..Self::default() }
    }

    /// Returns a copy that does not borrow from the record.
    pub(crate) fn into_owned(self) -> Outline<'static> {
        Outline {
            role: self.role,
            begins_turn: self.begins_turn,
            calls: self.calls.into_iter().map(owned).collect(),
            results: self.results.into_iter().map(owned).collect(),
            answers_in_order: self.answers_in_order,
            results_late: self.results_late,
            has_content: self.has_content,
            is_summary: self.is_summary,
            fragment: self.fragment,
            content: self.content,
        }
    }

    /// Returns true if this record begins a message, or false if it continues one.
    pub fn begins_message(&self) -> bool {
        self.fragment.is_none_or(|fragment| fragment.begins)
    }
}

/// A message with all its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message<'a> {
    /// The role of the message.
    pub role: Role,
    /// The name of the participant or, for a tool result, the name of the tool.
    pub name: Option<Cow<'a, str>>,
    /// The parts of the message, in the order in which the record holds them.
    pub parts: Vec<Part<'a>>,
    /// The indexes of the parts that another program or another agent added, although the message
    /// has the user's role. They are not the user's words.
    pub added: Range<usize>,
    /// The byte ranges to cut from the object's text to remove the reasoning, in order and without
    /// overlaps.
    pub reasoning: Vec<Range<usize>>,
    /// The number of characters in reasoning signatures. Only the API can read the signatures,
    /// which may contain more than the readable text.
    pub sealed: u64,
    /// Whether this record continues a message that began in an earlier record. Dialects leave this
    /// field `false`, just as they leave [`Outline::fragment`] empty.
    pub continues: bool,
}

/// Whether a record says that the user denied a call. The result of a denied call contains the
/// user's words. The text of a result never proves a denial, because any tool can print the same
/// text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Denial {
    /// The record does not report a denial.
    #[default]
    None,
    /// The record reports the denial as a tool error. A tool could forge such a report in its
    /// output.
    Reported,
    /// The record marks the denial in a field that only the agent itself writes.
    Marked,
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A piece of text.
    Text(Cow<'a, str>),
    /// A refusal by the model.
    Refusal(Cow<'a, str>),
    /// The model's reasoning.
    Reasoning(Cow<'a, str>),
    /// A tool call.
    Call(Call<'a>),
    /// The result of a tool call.
    Result(ToolResult<'a>),
    /// An image, an audio clip or a file.
    Media(Media<'a>),
    /// A part of an unknown kind, as raw JSON.
    Opaque(Cow<'a, str>),
}

/// An image, an audio clip or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media<'a> {
    /// The type of the part in its format, such as `image_url`, `input_audio` or `document`.
    pub kind: &'static str,
    /// The JSON of the part. Each format stores the data in a different member.
    pub raw: Cow<'a, str>,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// The id of the call; `None` for the deprecated `function_call`.
    pub id: Option<Cow<'a, str>>,
    /// The name of the tool.
    pub name: Cow<'a, str>,
    /// The arguments as the model wrote them: JSON or free text.
    pub arguments: Cow<'a, str>,
    /// Where the arguments can be replaced; `None` for a call without arguments.
    pub slot: Option<Slot>,
}

/// Where a format keeps the media of a tool result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MediaPlace {
    /// Among the texts, so that a text can take the place of each.
    #[default]
    AmongTexts,
    /// In a list that may not contain texts.
    Apart {
        /// The only text of the result; `None` if the result is not text.
        text: Option<Slot>,
    },
}

/// A tool result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolResult<'a> {
    /// The id of the call that this result answers.
    pub id: Option<Cow<'a, str>>,
    /// The name of the tool, if the record states it.
    pub name: Option<Cow<'a, str>>,
    /// Whether the record marks the result as an error.
    pub is_error: bool,
    /// Whether the record says that the user denied the call.
    pub denial: Denial,
    /// The content of the result: text, media and opaque parts.
    pub parts: Vec<Part<'a>>,
    /// Where the media in `parts` are.
    pub media: MediaPlace,
    /// Where the content can be replaced; `None` if there is no content, or if a text cannot
    /// replace it.
    pub slot: Option<Slot>,
}

impl<'a> Part<'a> {
    /// Returns the text of a part that is text.
    pub fn text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// Returns the text of a part that is text or a refusal.
    pub fn said(&self) -> Option<&str> {
        if let Self::Text(text) | Self::Refusal(text) = self { Some(text) } else { None }
    }

    /// Reads `block` as media; `None` if the type of `block` is not in `kinds`.
    pub(crate) fn media_of(block: &Object<'a>, kinds: &[&'static str]) -> Option<Self> {
        let own = block.text_of("type")?;
        let kind = kinds.iter().find(|kind| **kind == own)?;
        Some(Self::media(kind, block.text().trim()))
    }

    /// Creates a media part of the type `kind` from the JSON `raw`.
    pub fn media(kind: &'static str, raw: impl Into<Cow<'a, str>>) -> Self {
        let raw = raw.into();
        Self::Media(Media { kind, raw })
    }
}

impl<'a> Message<'a> {
    /// Creates a message that was not read from a record.
    pub fn new(role: Role, parts: Vec<Part<'a>>) -> Self {
        Self { role, parts, ..Self::default() }
    }

    /// Marks all parts as added by a program if `is_added` is true.
    pub(crate) fn added_if(self, is_added: bool) -> Self {
        Self { added: 0..if is_added { self.parts.len() } else { 0 }, ..self }
    }

    /// Returns a copy that neither borrows from the record nor contains byte ranges in it.
    pub fn into_owned(self) -> Message<'static> {
        Message {
            role: self.role,
            name: self.name.map(owned),
            parts: self.parts.into_iter().map(owned_part).collect(),
            added: self.added,
            reasoning: Vec::new(),
            sealed: self.sealed,
            continues: self.continues,
        }
    }

    /// All texts in the message, in order, including the names and arguments of calls, the texts in
    /// tool results, and the raw JSON of opaque parts.
    pub fn texts(&self) -> Vec<&str> {
        let mut texts = Vec::new();
        collect_texts(&self.parts, &mut texts);
        texts
    }

    /// The calls in the message.
    pub fn calls(&self) -> impl Iterator<Item = &Call<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// The results in the message.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult<'a>> {
        self.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        })
    }

    /// Returns true if `part` is removed when [`Self::reasoning`] is cut from `object`, from which
    /// the message was read. An opaque part may be reasoning that only the API can read.
    pub fn is_cut_as_reasoning(&self, part: &Part<'_>, object: &Object<'_>) -> bool {
        match part {
            Part::Reasoning(_) => !self.reasoning.is_empty(),
            Part::Opaque(Cow::Borrowed(raw)) => {
                let start = object.place_of(raw).start;
                self.reasoning.iter().any(|cut| cut.contains(&start))
            }
            _ => false,
        }
    }
}

impl ToolResult<'_> {
    /// Returns the content of the result as a single text, with line endings between its parts;
    /// `None` if the result has content other than text.
    pub fn text(&self) -> Option<Cow<'_, str>> {
        let texts = self.parts.iter().map(Part::text);
        Some(match texts.collect::<Option<Vec<&str>>>()?.as_slice() {
            [] => Cow::Borrowed(""),
            [text] => Cow::Borrowed(text),
            texts => Cow::Owned(texts.join("\n")),
        })
    }
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

fn owned_part(part: Part<'_>) -> Part<'static> {
    match part {
        Part::Text(text) => Part::Text(owned(text)),
        Part::Refusal(text) => Part::Refusal(owned(text)),
        Part::Reasoning(text) => Part::Reasoning(owned(text)),
        Part::Call(call) => Part::Call(Call {
            id: call.id.map(owned),
            name: owned(call.name),
            arguments: owned(call.arguments),
            slot: None,
        }),
        Part::Result(result) => Part::Result(ToolResult {
            id: result.id.map(owned),
            name: result.name.map(owned),
            is_error: result.is_error,
            denial: result.denial,
            parts: result.parts.into_iter().map(owned_part).collect(),
            media: MediaPlace::default(),
            slot: None,
        }),
        Part::Media(media) => Part::media(media.kind, media.raw.into_owned()),
        Part::Opaque(raw) => Part::Opaque(owned(raw)),
    }
}

fn collect_texts<'m>(parts: &'m [Part<'_>], texts: &mut Vec<&'m str>) {
    for part in parts {
        match part {
            Part::Text(text) | Part::Refusal(text) | Part::Reasoning(text) => texts.push(text),
            Part::Call(call) => texts.extend([call.name.as_ref(), call.arguments.as_ref()]),
            Part::Result(result) => collect_texts(&result.parts, texts),
            Part::Media(_) => {}
            Part::Opaque(raw) => texts.push(raw),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Denial, Message, Part, Role, ToolResult};

    #[test]
    fn an_owned_message_says_the_same() {
        let parts = || {
            vec![
                Part::Text("a".into()),
                Part::Refusal("b".into()),
                Part::Reasoning("c".into()),
                Part::media("image", "{}"),
                Part::Opaque("{}".into()),
            ]
        };
        let result = Part::Result(ToolResult {
            id: Some("1".into()),
            name: Some("ls".into()),
            is_error: true,
            denial: Denial::Marked,
            parts: parts(),
            ..ToolResult::default()
        });
        let call = Part::Call(Call {
            id: Some("1".into()),
            name: "ls".into(),
            arguments: "[]".into(),
            slot: None,
        });
        let message = Message {
            name: Some("n".into()),
            sealed: 9,
            continues: true,
            ..Message::new(Role::User, [parts(), vec![call, result]].concat())
        };
        let with_places = Message { reasoning: vec![1..2, 3..4], ..message.clone() };
        assert_eq!(with_places.into_owned(), message);
    }

    #[test]
    fn only_a_result_of_text_is_a_text() {
        let text = |parts| {
            let result = ToolResult { parts, ..ToolResult::default() };
            result.text().map(std::borrow::Cow::into_owned)
        };
        let said = |text: &'static str| Part::Text(text.into());
        let image = Part::media("image", "{}");
        assert_eq!(text(vec![]).as_deref(), Some(""));
        assert_eq!(text(vec![said("a")]).as_deref(), Some("a"));
        assert_eq!(text(vec![said("a"), said("b")]).as_deref(), Some("a\nb"));
        assert_eq!(text(vec![said("a"), image]), None);
    }
}
