//! The facts about a session on which decisions are based. Sessions may have a million records, so
//! each record's facts are kept small. Facts that apply to only a few records are stored
//! separately.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use ctx_format::files::{Access, FileUse};
use ctx_format::view::{Outside, Presence};
use ctx_format::{
    Dialect, Handle, MediaPlace, Message, Object, Outline, Part, Record, Role, Saved, ShortHash,
    ToolResult, Usage, UsageOf,
};
use ctx_policy::Rule;
use indexmap::IndexSet;

use super::{Freed, Options};
use crate::estimate::Calibration;
use crate::message_counter::{MessageCounter, saturating_u32, sealed};

/// The facts about all records.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) records: Vec<RecordFacts>,
    /// The results of all records, in order.
    pub(super) results: Vec<ResultFacts>,
    tools: IndexSet<Option<String>>,
    files: IndexSet<Option<FileUse>>,
    /// The names of calls as they appear in handles, one per line.
    call_names: String,
    /// For each record, how many tokens are freed by shortening call arguments.
    pub(super) arguments: BTreeMap<usize, Vec<Freed>>,
    /// The reasoning in each record, if a rule drops reasoning.
    pub(super) reasoning: BTreeMap<usize, Reasoning>,
    /// The images and documents in each record, if a rule drops them.
    pub(super) images: BTreeMap<usize, Vec<Image>>,
    /// For each record, the 1-based number of the first record in the same exchange, or 0 if the
    /// record is not in an exchange. The list is empty if there is no window.
    pub(super) exchanges: Vec<u32>,
    /// The handle of each result whose text was shortened by an earlier run.
    pub(super) handles: BTreeMap<usize, Handle>,
    /// The replacement for each result whose text can be shortened.
    pub(super) shortened: BTreeMap<usize, Replacement>,
    /// The sizes of results that consist of several texts. As in a message, each text is counted
    /// separately.
    pub(super) sizes_in_message: BTreeMap<usize, TextSize>,
}

/// The facts about a record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordFacts {
    /// The role of the record's message, or `None` if the record is not a message.
    pub(super) role: Option<Role>,
    pub(super) begins_message: bool,
    pub(super) begins_turn: bool,
    pub(super) is_summary: bool,
    /// Whether the record must stay unchanged.
    pub(super) is_fixed: bool,
    /// Whether the record is a reply without text or calls.
    pub(super) is_empty_reply: bool,
    /// Whether the record is an incomplete last line.
    pub(super) is_tail: bool,
    /// The token count of the record's message, or 0 if the count is not needed.
    pub(super) tokens: u32,
    /// The index just past the record's last result.
    pub(super) results_end: u32,
}

/// The facts about a tool result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResultFacts {
    /// The hash of the original text, if a handle may contain the hash or if another result has the
    /// same text.
    pub(super) hash: Option<ShortHash>,
    /// Whether the result consists of text that a rule may replace.
    pub(super) is_text: bool,
    /// Whether the tool seems to have failed.
    pub(super) has_failed: bool,
    pub(super) call: CallFacts,
    /// The size of the result's text.
    pub(super) size: TextSize,
}

/// The facts about the call that a result answers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CallFacts {
    /// The index of the tool in `Facts::tools`.
    pub(super) tool: u32,
    /// The index of the call's file use in `Facts::files`.
    file: u32,
    /// The position of the call's name in `call_names`.
    name: u32,
    /// Whether the call, and therefore its result, must stay unchanged.
    pub(super) is_fixed: bool,
}

/// The size of a text. `tokens` is 0 if the count is not needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextSize {
    pub(super) tokens: u32,
    pub(super) bytes: u32,
}

/// The replacement for a result's text: a note or the shortened text, followed by a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) rule: Rule,
    /// The reason for the note, or `None` if the text is shortened.
    pub(super) reason: Option<Reason>,
    pub(super) size: TextSize,
}

/// The reason for replacing a result with a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The result is old.
    Old,
    /// The result holds the content of a file that was read again later.
    ReadAgain,
    /// The result holds the content of a file that was written later.
    Written,
    /// A later result has the same text.
    Repeated,
}

impl Reason {
    pub(super) fn rule(self) -> Rule {
        match self {
            Self::Old => Rule::Clear,
            Self::ReadAgain | Self::Written => Rule::Superseded,
            Self::Repeated => Rule::Duplicates,
        }
    }

    /// Returns the text of the note. The note does not name the call, because the handle after it
    /// does.
    pub(super) fn note(self, options: &Options) -> &str {
        match self {
            Self::Old => options.clear.as_deref().unwrap_or_default(),
            Self::ReadAgain => "[Superseded: file read again later]",
            Self::Written => "[Superseded: file written later]",
            Self::Repeated => "[Repeated: a later result is the same]",
        }
    }
}

/// The reasoning in a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasoning {
    pub(super) tokens: u32,
    /// Whether the message contains nothing but reasoning.
    pub(super) is_all: bool,
}

/// An image or a document that can be replaced by a handle.
#[derive(Clone, Debug)]
pub(super) struct Image {
    /// The byte range of the part in the record.
    pub(super) place: Range<usize>,
    pub(super) handle: String,
    pub(super) freed: Freed,
}

impl Image {
    /// Returns the images and documents in a message that was read from `object`.
    pub(super) fn all_of(
        message: &Message<'_>,
        object: &Object<'_>,
        saved: Saved,
        counter: &MessageCounter,
    ) -> Vec<Self> {
        let image = |part: &Part<'_>| {
            let (Part::Media(media), Some(place)) = (part, place_of(part, object)) else {
                return None;
            };
            let (mime, base64) = media.data()?;
            let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
            let bytes = (base64.len() - padding) * 3 / 4;
            let handle = Handle::new(ShortHash::of(&base64), bytes as u64, &mime, saved);
            let handle = handle.to_string();
            let freed = Freed {
                rule: Rule::Images,
                before: counter.part(part).total(),
                after: counter.text(&handle),
            };
            (freed.after < freed.before).then_some(Self { place, handle, freed })
        };
        parts_of(message).filter_map(image).collect()
    }
}

/// Iterates over the parts of a message, and the parts of its results. Skips results whose media a
/// text cannot replace.
fn parts_of<'m, 'a>(message: &'m Message<'a>) -> impl Iterator<Item = &'m Part<'a>> {
    message.parts.iter().flat_map(|part| match part {
        Part::Result(ToolResult { media: MediaPlace::Apart { text: None }, .. }) => [].iter(),
        Part::Result(result) => result.parts.iter(),
        part => std::slice::from_ref(part).iter(),
    })
}

/// Returns the place of an image or a document in the record; `None` if the part is not in it.
pub(super) fn place_of(part: &Part<'_>, object: &Object<'_>) -> Option<Range<usize>> {
    match part {
        Part::Media(media) if matches!(media.raw, Cow::Borrowed(_)) => {
            Some(object.place_of(&media.raw))
        }
        _ => None,
    }
}

impl Facts {
    /// Adds the facts about a record. The facts about its results must be added first.
    pub(super) fn add_record(&mut self, record: RecordFacts) {
        let results_end = saturating_u32(self.results.len() as u64);
        self.records.push(RecordFacts { results_end, ..record });
    }

    /// Adds a call. `name` is the call's name in handles, or empty if no handle is written.
    pub(super) fn add_call(
        &mut self,
        tool: Option<String>,
        file: Option<FileUse>,
        name: &str,
        is_fixed: bool,
    ) -> CallFacts {
        let position = self.call_names.len();
        self.call_names.push_str(name);
        self.call_names.push('\n');
        CallFacts {
            tool: saturating_u32(self.tools.insert_full(tool).0 as u64),
            file: saturating_u32(self.files.insert_full(file).0 as u64),
            name: saturating_u32(position as u64),
            is_fixed,
        }
    }

    /// Returns a call's name in handles.
    pub(super) fn call_name(&self, call: CallFacts) -> &str {
        let names = self.call_names.get(call.name as usize..);
        names.and_then(|names| names.lines().next()).unwrap_or_default()
    }

    /// Returns the indexes of a record's results.
    pub(super) fn results_of(&self, record: usize) -> Range<usize> {
        let end = |record: usize| self.records[record].results_end as usize;
        record.checked_sub(1).map_or(0, end)..end(record)
    }

    pub(super) fn tool(&self, result: usize) -> Option<&str> {
        self.tools[self.results[result].call.tool as usize].as_deref()
    }

    /// Returns true if the call reads a file, so that a later call may supersede its result.
    pub(super) fn reads_file(&self, call: CallFacts) -> bool {
        let file = self.files[call.file as usize].as_ref();
        file.is_some_and(|file| matches!(file.access, Access::Read { .. }))
    }

    /// Returns the file read or written by the call that this result answers.
    pub(super) fn file(&self, result: usize) -> Option<&FileUse> {
        self.files[self.results[result].call.file as usize].as_ref()
    }

    /// Returns the handle for a result's original text.
    pub(super) fn handle(&self, result: usize, saved: Saved) -> Cow<'_, Handle> {
        if let Some(earlier) = self.handles.get(&result) {
            return Cow::Borrowed(earlier);
        }
        let ResultFacts { hash, size, call, .. } = self.results[result];
        let hash = hash.unwrap_or_default();
        Cow::Owned(Handle::new(hash, size.bytes.into(), self.call_name(call), saved))
    }

    /// Returns the length of a result's original text, in bytes.
    pub(super) fn original_bytes(&self, result: usize) -> u64 {
        let bytes = self.results[result].size.bytes.into();
        self.handles.get(&result).map_or(bytes, |earlier| earlier.bytes)
    }

    /// Returns the size of a result as it is counted in its message.
    pub(super) fn size_in_message(&self, result: usize) -> TextSize {
        self.sizes_in_message.get(&result).copied().unwrap_or(self.results[result].size)
    }
}

impl RecordFacts {
    /// Returns the facts about a message, except for its token count.
    pub(super) fn of_message(outline: &Outline<'_>, message: &Message<'_>, is_fixed: bool) -> Self {
        Self {
            role: Some(outline.role),
            begins_message: outline.begins_message(),
            begins_turn: outline.begins_turn,
            is_summary: outline.is_summary,
            is_fixed,
            is_empty_reply: message.role == Role::Assistant && message.parts.iter().all(is_blank),
            ..Self::default()
        }
    }

    /// Returns true if the record is a message other than a system message.
    pub(super) fn is_conversation(&self) -> bool {
        self.role.is_some_and(|role| !role.is_system())
    }
}

impl Reasoning {
    pub(super) fn of(message: &Message<'_>, object: &Object<'_>, counter: &MessageCounter) -> Self {
        let (mut tokens, mut reasoning, mut is_all) = (0, 0, true);
        for part in &message.parts {
            let is_cut = message.is_cut_as_reasoning(part, object);
            if is_cut || matches!(part, Part::Reasoning(_)) {
                let count = counter.part(part);
                reasoning += count.reasoning;
                tokens += if is_cut { count.total() } else { 0 };
            }
            is_all &= is_cut || is_blank(part);
        }
        Self { tokens: saturating_u32(tokens + sealed(message, reasoning)), is_all }
    }
}

fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.trim().is_empty())
}

impl TextSize {
    pub(super) fn new(tokens: u64, bytes: u64) -> Self {
        Self { tokens: saturating_u32(tokens), bytes: saturating_u32(bytes) }
    }
}

/// The corrected usage of the last reply in an agent's log. Agents rely on the recorded usage
/// rather than on the messages. Without the correction, agents would compact a pruned session as
/// soon as it is opened.
///
/// Claude Code adds up the figures recorded for the last reply, Codex uses the total in its last
/// token count event, pi uses the total of the last reply that was not aborted, and Kimi Code uses
/// counts in lines of their own (docs/agents.md).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewUsage {
    of: UsageOf,
    /// The range of lines in which the usage is recorded.
    lines: RangeInclusive<u64>,
    prompt: u64,
    /// The number of tokens in the prompt and reply together, before and after pruning.
    pub(super) tokens: (u64, u64),
}

impl NewUsage {
    /// Corrects the recorded `usage` by the number of tokens freed before a line. Returns `None` if
    /// the request for the last reply does not change, or if a compaction follows the reply,
    /// because agents then ignore its usage.
    pub(super) fn of(usage: &Calibration, freed: impl FnOnce(u64) -> u64) -> Option<Self> {
        let last = usage.last.as_ref()?;
        let prompt = usage.without(freed(last.begins))?;
        if prompt >= last.usage.prompt {
            return None;
        }
        Some(Self {
            of: last.of,
            lines: last.lines.clone(),
            prompt,
            tokens: (last.usage.total(), prompt.saturating_add(last.usage.output)),
        })
    }

    /// Returns the bytes of `record` with the corrected usage, or `None` if the usage is not
    /// recorded in it.
    pub(super) fn applied_to(&self, record: &Record<'_>, dialect: &dyn Dialect) -> Option<Vec<u8>> {
        let never_sent = record.presence == Some(Presence::Outside(Outside::NeverSent));
        let is_read = never_sent || !record.is_outside();
        let object = record.whole_object().filter(|_| is_read)?;
        // Kimi Code relies on counts in lines of their own, which are not the usage of a reply.
        let is_of_last = |usage: Usage| self.lines.contains(&record.line) && usage.of == self.of;
        if !dialect.usage(object).is_none_or(is_of_last) {
            return None;
        }
        let edits = dialect.log()?.lessened(object, self.prompt);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }
}

#[cfg(test)]
mod tests {
    use super::{Facts, RecordFacts, ResultFacts};

    /// A one-gigabyte session has 600,000 records.
    #[test]
    fn facts_are_small() {
        assert!(size_of::<RecordFacts>() <= 16, "{}", size_of::<RecordFacts>());
        assert!(size_of::<ResultFacts>() <= 32, "{}", size_of::<ResultFacts>());
    }

    #[test]
    fn equal_names_are_stored_once() {
        let mut facts = Facts::default();
        let [first, second, third] =
            ["a", "b", "a"].map(|name| facts.add_call(Some(name.to_owned()), None, "", false));
        assert!(first.tool == third.tool && first.tool != second.tool);
        let unknown = facts.add_call(None, None, "ls src", false);
        assert_eq!(facts.call_name(unknown), "ls src");
        assert_eq!(facts.tools[unknown.tool as usize], None);
    }
}
