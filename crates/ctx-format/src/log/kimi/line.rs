//! The effect of each line on the context.

use std::rc::Rc;

use super::entry::{Entry, EntryKind, MEDIA, Source, is_vacuous};
use crate::dialect::content::kind_of;
use crate::log::links::LineId;
use crate::{Object, Role, json};

/// The effect of a line.
pub(super) enum Line {
    /// Adds a whole message.
    Message(Facts),
    /// Begins the reply with this id.
    Begin(LineId),
    /// Adds a part or a call to the reply with this id.
    Part(LineId, Facts),
    /// Answers a call of the reply.
    Result(LineId),
    /// Ends the reply.
    End,
    /// Undoes the given number of requests, and what follows them.
    Undo(usize),
    /// Removes everything from the context.
    Clear,
    /// Replaces the messages before this index, which counts from the end if it is negative.
    Compaction(i64),
    /// Replaces everything but the messages from the user, which come before the summary and are
    /// limited in size.
    KeepRequests,
    /// Begins a branch.
    Switch(Switch),
    Other,
}

/// What the replay needs to know about a message.
#[derive(Clone, Default)]
pub(super) struct Facts {
    pub(super) role: Role,
    pub(super) source: Source,
    pub(super) is_request: bool,
    pub(super) id: Option<LineId>,
    /// The hash of a message from the user.
    pub(super) body: LineId,
    /// The id of the request to which a message of the agent belongs.
    pub(super) owner: Option<LineId>,
    /// The ids of the calls; the default for a call without an id.
    pub(super) calls: Vec<LineId>,
    /// The call that the message answers.
    pub(super) answers: Option<LineId>,
    /// Whether the agent counts no part of the message as content.
    pub(super) is_vacuous: bool,
    /// The text of a message from the user, and the size in tokens as the agent estimates it.
    pub(super) text: Rc<str>,
    pub(super) tokens: usize,
}

/// The beginning of a branch, which continues an earlier one after one of its lines.
pub(super) struct Switch {
    pub(super) branch: LineId,
    pub(super) base: LineId,
    /// The number of the last line of the earlier branch, counted from 1.
    pub(super) line: i64,
    /// The number of the line that undoes the same for older versions.
    pub(super) undo: Option<i64>,
}

impl Facts {
    pub(super) fn of_result(call: LineId) -> Self {
        let answers = Some(call).filter(|call| *call != LineId::default());
        Self { role: Role::Tool, answers, ..Self::default() }
    }

    /// Returns true if the agent does not send the message.
    pub(super) fn is_void(&self) -> bool {
        self.is_vacuous && self.calls.is_empty()
    }

    fn of(entry: &Entry<'_>) -> Self {
        let (role, source, blocks) = (entry.role(), entry.source(), entry.blocks());
        let id = |raw: &str| json::text(raw).map(|id| LineId::of(&id));
        let calls = entry.calls();
        let calls = calls.iter().map(|it| entry.id_of(it).and_then(id).unwrap_or_default());
        let mut facts = Self {
            role: role.unwrap_or_default(),
            source,
            is_request: entry.is_request(),
            calls: calls.collect(),
            answers: entry.answers().and_then(id),
            is_vacuous: role != Some(Role::Tool) && blocks.iter().all(is_vacuous),
            ..Self::default()
        };
        if entry.kind == EntryKind::Message {
            facts.id = LineId::at(&entry.body, "id");
            let origin = entry.body.object_of("origin");
            facts.owner = origin.and_then(|origin| LineId::at(&origin, "ownerPromptId"));
            facts.is_vacuous &= entry.body.get("tools").is_none();
        }
        if role == Some(Role::User) && source == Source::User {
            facts.body = LineId::of(entry.body.text());
            facts.text = entry.text().into();
            facts.tokens = 1 + blocks.iter().map(tokens_of).sum::<usize>();
        }
        facts
    }
}

/// The size of a part, in tokens, as the agent estimates it.
fn tokens_of(part: &Object<'_>) -> usize {
    let kind = kind_of(part);
    let of_media = if MEDIA.contains(&&*kind) { 2_000 } else { 0 };
    part.text_of(&kind).map_or(of_media, |text| tokens(&text))
}

/// The size of a text, in tokens, as the agent estimates it.
pub(super) fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    ascii.div_ceil(4) + text.chars().count() - ascii
}

impl Line {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let event = object.object_of("event");
        let id = |key| LineId::at(event.as_ref()?, key);
        if let Some(entry) = Entry::of(object) {
            return match entry.kind {
                EntryKind::Message => Self::Message(Facts::of(&entry)),
                EntryKind::Part | EntryKind::Call => {
                    Self::Part(id("stepUuid").unwrap_or_default(), Facts::of(&entry))
                }
                EntryKind::Result => Self::Result(id("toolCallId").unwrap_or_default()),
                EntryKind::Compaction => Self::compaction(&entry).unwrap_or(Self::Other),
            };
        }
        let kind = event.as_ref().map(kind_of).unwrap_or_default();
        match (&*kind_of(object), &*kind) {
            ("context.append_loop_event", "step.begin") => {
                Self::Begin(id("uuid").unwrap_or_default())
            }
            ("context.append_loop_event", "step.end") => {
                // The agent ends an interrupted reply only when the next one begins.
                let reason = event.and_then(|event| event.text_of("finishReason"));
                let is_ended = !matches!(reason.as_deref(), Some("interrupted" | "error"));
                if is_ended { Self::End } else { Self::Other }
            }
            ("context.undo", _) => match object.get("count").and_then(|raw| raw.parse().ok()) {
                Some(count @ 1..) => Self::Undo(count),
                _ => Self::Other,
            },
            ("context.clear", _) => Self::Clear,
            ("agent.switched", _) => Switch::of(object).map_or(Self::Other, Self::Switch),
            _ => Self::Other,
        }
    }

    /// Reads a compaction; `None` if the agent skips the line.
    fn compaction(entry: &Entry<'_>) -> Option<Self> {
        let line = &entry.body;
        let count = number(line, "compactedCount").or_else(|| number(line, "count"))?;
        let optional = ["tokensBefore", "tokensAfter", "summaryOutputTokens", "droppedCount"];
        let is_bad = |key: &&str| line.get(key).is_some() && number(line, key).is_none();
        if entry.content().is_none() || optional.iter().any(is_bad) {
            return None;
        }
        let keeps_tail = match line.get("legacyTail") {
            Some(raw) => raw == "true",
            None => line.get("keptUserMessageCount").is_none(),
        };
        Some(if keeps_tail { Self::Compaction(count) } else { Self::KeepRequests })
    }
}

impl Switch {
    fn of(object: &Object<'_>) -> Option<Self> {
        let base = object.object_of("base")?;
        Some(Self {
            branch: LineId::at(object, "branch")?,
            base: LineId::at(&base, "branch")?,
            line: number(&base, "line")?,
            undo: number(object, "legacyUndoLine"),
        })
    }
}

/// Returns the number in a member, without its fraction; `None` if the value is not a number.
#[expect(clippy::cast_possible_truncation, reason = "a count or a line number")]
fn number(object: &Object<'_>, key: &str) -> Option<i64> {
    Some(object.get(key)?.parse::<f64>().ok()? as i64)
}
