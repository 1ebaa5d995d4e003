//! Reads the part of a line that the model may receive.

use std::borrow::Cow;
use std::ops::Range;

use super::compaction::OPENING;
use crate::dialect::content::{
    cut_blocks, kind_of, parts, role_of, text_or_json, with_sent_content,
};
use crate::dialect::unread::has_text;
use crate::record::edit::cut_members;
use crate::{Call, Denial, Object, Part, Role, Slot, ToolResult, Unread, json, scan};

/// A line with content for the model.
pub(super) struct Entry<'a> {
    pub(super) kind: EntryKind,
    /// The object with the content: the message, the part, the event, or the line itself.
    pub(super) body: Object<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// A whole message.
    Message,
    /// A text, a thought or a media part of a reply.
    Part,
    /// A call in a reply.
    Call,
    /// The result of such a call.
    Result,
    Compaction,
}

/// Where a message with the user's role comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Source {
    /// The user wrote the message, or typed the command that wrote it.
    #[default]
    User,
    Summary,
    /// The agent added the message to the conversation.
    Injection,
    /// Another program wrote the message.
    Other,
}

impl<'a> Entry<'a> {
    /// Reads a line; `None` if the line has no content for the model.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let (kind, body) = match &*kind_of(object) {
            "context.append_message" => (EntryKind::Message, object.object_of("message")?),
            "context.apply_compaction" => (EntryKind::Compaction, object.clone()),
            "context.append_loop_event" => {
                let event = object.object_of("event")?;
                match &*kind_of(&event) {
                    "content.part" => (EntryKind::Part, event.object_of("part")?),
                    "tool.call" => (EntryKind::Call, event),
                    "tool.result" => (EntryKind::Result, event),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(Self { kind, body })
    }

    /// The role of the message that the model receives; `None` for a message without a role.
    pub(super) fn role(&self) -> Option<Role> {
        match self.kind {
            EntryKind::Message => role_of(&self.body),
            EntryKind::Part | EntryKind::Call => Some(Role::Assistant),
            EntryKind::Result => Some(Role::Tool),
            EntryKind::Compaction => Some(Role::User),
        }
    }

    /// The source of a message with the user's role.
    pub(super) fn source(&self) -> Source {
        if self.kind != EntryKind::Message {
            return Source::Summary;
        }
        let Some(origin) = self.body.object_of("origin") else { return Source::User };
        let is_typed = || origin.text_of("trigger").as_deref() == Some("user-slash");
        match &*origin.text_of("kind").unwrap_or_default() {
            "user" => Source::User,
            "skill_activation" | "plugin_command" if is_typed() => Source::User,
            "compaction_summary" => Source::Summary,
            "injection" => Source::Injection,
            _ => Source::Other,
        }
    }

    /// Returns true if the message has the user's role and comes from the given source.
    pub(super) fn is_of(&self, source: Source) -> bool {
        self.role() == Some(Role::User) && self.source() == source
    }

    /// Returns true if the message is a request, which begins a turn and can be undone.
    pub(super) fn is_request(&self) -> bool {
        let origin = self.body.object_of("origin");
        self.is_of(Source::User) && !origin.is_some_and(|origin| origin.is_true("inTurn"))
    }

    /// The text of a summary, without the words that the agent puts around its own summaries.
    pub(super) fn summary(&self) -> Option<Cow<'a, str>> {
        let own = self.body.text_of("summary").filter(|_| self.kind == EntryKind::Compaction);
        // A compaction that keeps an earlier summary writes it as a message.
        let bare = |text: String| text.strip_prefix(OPENING).map(str::to_owned).unwrap_or(text);
        let text = || self.content().map(|_| Cow::Owned(bare(self.text())));
        if self.is_of(Source::Summary) { own.or_else(text) } else { None }
    }

    /// The raw value of the content that the agent sends.
    pub(super) fn content(&self) -> Option<&'a str> {
        match self.kind {
            EntryKind::Message => self.body.get("content"),
            EntryKind::Part => Some(self.body.text().trim()),
            EntryKind::Call => self.body.get("args"),
            EntryKind::Result => self.body.object_of("result")?.get("output"),
            EntryKind::Compaction => {
                let get = |key| self.body.get(key).filter(|raw| raw.starts_with('"'));
                let message = || self.body.object_of("summary")?.get("content");
                message().or_else(|| get("contextSummary")).or_else(|| get("summary"))
            }
        }
    }

    /// The objects in the content.
    pub(super) fn blocks(&self) -> Vec<Object<'a>> {
        if self.kind == EntryKind::Part {
            return vec![self.body.clone()];
        }
        let all = self.content().and_then(scan::elements).unwrap_or_default();
        all.into_iter().filter_map(Object::within).collect()
    }

    /// The texts in the content.
    pub(super) fn text(&self) -> String {
        let parts = parts(self.content(), &part).into_iter();
        parts.filter_map(|part| part.text().map(str::to_owned)).collect()
    }

    /// The calls of a reply, each as an object with an id.
    pub(super) fn calls(&self) -> Vec<Object<'a>> {
        if self.kind == EntryKind::Call {
            return vec![self.body.clone()];
        }
        self.body.objects_of("toolCalls").into_iter().flatten().flatten().collect()
    }

    /// The member with the id of a call, or of the call that a result answers.
    pub(super) fn id_key(&self) -> &'static str {
        let is_listed = self.kind == EntryKind::Message && self.role() != Some(Role::Tool);
        if is_listed { "id" } else { "toolCallId" }
    }

    /// The id, as raw JSON, of a call of the reply.
    pub(super) fn id_of(&self, call: &Object<'a>) -> Option<&'a str> {
        call.get(self.id_key())
    }

    /// The id, as raw JSON, of the call that a result answers.
    pub(super) fn answers(&self) -> Option<&'a str> {
        self.body.get("toolCallId").filter(|_| self.role() == Some(Role::Tool))
    }

    /// The parts of the entry. The byte ranges in the parts refer to the text of `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        if self.role() == Some(Role::Tool) {
            return vec![Part::Result(self.result(record))];
        }
        let content = self.content().filter(|_| self.kind != EntryKind::Call);
        let mut all = parts(content, &part);
        // Nothing is left of such a thought.
        all.retain(|part| !matches!(part, Part::Reasoning(text) if text.is_empty()));
        all.extend(self.calls().iter().map(|it| Part::Call(self.call(record, it))));
        all
    }

    fn call(&self, record: &Object<'a>, call: &Object<'a>) -> Call<'a> {
        let function = function_of(call);
        let raw = function.get("args").or_else(|| function.get("arguments"));
        let (arguments, slot) = text_or_json(record, raw.filter(|raw| *raw != "null"));
        let name = function.text_of("name").unwrap_or_default();
        Call { id: self.id_of(call).and_then(json::text), name, arguments, slot }
    }

    /// Reads a result. The agent sends the member `note` in a line of its own.
    fn result(&self, record: &Object<'a>) -> ToolResult<'a> {
        let output = self.content();
        let inner = self.body.object_of("result").unwrap_or_else(|| self.body.clone());
        let note = inner.get("note").filter(|raw| *raw != "\"\"");
        let mut all = parts(output, &part);
        all.extend(note.and_then(json::text).map(Part::Text));
        let is_error = inner.is_true("isError");
        let denied = " was not run because the user rejected the approval request.";
        let is_denied = is_error && output.is_some_and(|raw| raw.contains(denied));
        ToolResult {
            id: self.body.id_of("toolCallId"),
            is_error,
            denial: if is_denied { Denial::Reported } else { Denial::None },
            parts: all,
            slot: output.and_then(|raw| slot(record, raw, note)),
            ..ToolResult::default()
        }
    }

    /// The byte ranges to cut from the text of `record` to remove the reasoning. If the line is a
    /// thought, an empty thought stays, which the agent does not count as content.
    pub(super) fn reasoning(&self, record: &Object<'a>) -> Vec<Range<usize>> {
        let is_thought = |block: &Object<'_>| kind_of(block) == "think";
        match self.kind {
            EntryKind::Message if self.role() == Some(Role::Assistant) => {
                cut_blocks(record, &self.body, is_thought)
            }
            EntryKind::Part if is_thought(&self.body) => {
                let mut cuts = cut_members(record, &self.body, |it| it.key == "encrypted");
                let thought = self.body.get("think").filter(|raw| raw.len() > 2);
                cuts.extend(thought.map(|raw| record.place_of(&raw[1..raw.len() - 1])));
                cuts.sort_by_key(|cut| cut.start);
                cuts
            }
            _ => Vec::new(),
        }
    }

    /// The signatures of the thoughts in a reply.
    pub(super) fn signatures(&self) -> Vec<Cow<'a, str>> {
        let blocks = self.blocks().into_iter().filter(|block| kind_of(block) == "think");
        blocks.filter_map(|block| block.text_of("encrypted")).collect()
    }

    /// The first content that cannot be read.
    pub(super) fn unread(&self, dialect: &str) -> Option<Unread> {
        match self.kind {
            EntryKind::Call => None,
            EntryKind::Part => (!is_read(&self.body)).then(|| Unread::part(self.body.text())),
            _ if self.role().is_none_or(|role| role == Role::Other) => {
                Some(Unread::role(dialect, self.body.get("role").unwrap_or("null")))
            }
            _ => Unread::in_content(self.content(), is_read),
        }
    }
}

/// Reads a part of a message or a result; `None` if the part cannot be read.
fn part<'a>(part: &Object<'a>) -> Option<Part<'a>> {
    Some(match &*kind_of(part) {
        "text" => Part::Text(part.text_of("text")?),
        "think" => Part::Reasoning(part.text_of("think")?),
        _ => return Part::media_of(part, &MEDIA),
    })
}

pub(super) const MEDIA: [&str; 3] = ["image_url", "audio_url", "video_url"];

fn is_read(part: &Object<'_>) -> bool {
    match &*kind_of(part) {
        kind @ ("text" | "think") => has_text(part, kind),
        kind => MEDIA.contains(&kind),
    }
}

/// Returns true if the agent does not count the part as content: a blank text, or a blank thought
/// without a signature.
pub(super) fn is_vacuous(part: &Object<'_>) -> bool {
    let kind = kind_of(part);
    let is_blank = |c: char| (c.is_whitespace() && c != '\u{85}') || c == '\u{feff}';
    matches!(&*kind, "text" | "think")
        && part.get("encrypted").is_none()
        && part.text_of(&kind).is_some_and(|text| text.chars().all(is_blank))
}

/// The object with the name and the arguments of a call. Versions before 1.1 of the format nest it.
pub(super) fn function_of<'a>(call: &Object<'a>) -> Object<'a> {
    call.object_of("function").unwrap_or_else(|| call.clone())
}

/// Returns the slot of a result. A new text replaces the output and the note; if other members are
/// between them, it cannot.
fn slot(record: &Object<'_>, output: &str, note: Option<&str>) -> Option<Slot> {
    let Some(note) = note else {
        let is_list = output.starts_with('[');
        return Some(if is_list {
            Slot::blocks(record, output)
        } else {
            Slot::text(record, output)
        });
    };
    let (output, note) = (record.place_of(output), record.place_of(note));
    let between = record.text().get(output.end..note.start)?;
    let is_next = between.chars().filter(|c| !c.is_whitespace()).eq(r#","note":"#.chars());
    is_next.then(|| Slot::text(record, &record.text()[output.start..note.end]))
}

/// Returns the text of a message that the agent sends with other content, because its compaction
/// shortened the message; `None` for any other record.
pub(super) fn shortened(object: &Object<'_>) -> Option<String> {
    with_sent_content(object, Entry::of(object)?.body.get("content")?)
}
