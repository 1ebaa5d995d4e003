//! Describes a session's records briefly, so that two sessions of any size can be compared in
//! memory. This module also lists the differences between two versions of a message.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};

use ctx_format::{Dialect, Handle, Media, Message, Options, Part, Record, Records, Role, counted};

/// A short description of a record (usually a message).
#[derive(Clone, Debug)]
pub struct Brief {
    /// The record's 1-based line number.
    pub line: u64,
    /// The length of the record in bytes, not counting its line terminator.
    pub bytes: u64,
    /// The role of the message, or `None` if the record is not a message.
    pub role: Option<Role>,
    /// The first words of the record, on one line.
    pub words: String,
    pub(super) hash: u64,
    pub(super) parts: Vec<PartBrief>,
    /// Hashes of the ids that identify the same record in another session.
    pub(super) keys: Vec<u64>,
}

/// A short description of one part of a message.
#[derive(Clone, Debug)]
pub(super) struct PartBrief {
    pub(super) kind: &'static str,
    /// The hash of the call's or result's id, or 0 if the part has no such id.
    pub(super) id: u64,
    pub(super) characters: usize,
    pub(super) hash: u64,
    /// Whether the part ends with a handle that refers to the offloaded original.
    pub(super) has_handle: bool,
}

/// The kinds of parts, in the order in which their changes are listed.
const KINDS: [&str; 5] = ["text", "reasoning", "arguments", "result", "other part"];

/// How many characters to keep from the start of a record's text.
const WORDS: usize = 80;

/// Reads all records of a session. Both sessions must be read with the same `hasher`.
pub(super) fn read(input: impl Read, hasher: &RandomState) -> io::Result<Vec<Brief>> {
    let options = Options {
        // Compare all records in the file, including those outside the context.
        unseen: true,
        ..Options::default()
    };
    let mut records = Records::open(input, &options)?;
    let dialect = records.dialect();
    let mut briefs: Vec<Brief> = Vec::new();
    while let Some(record) = records.next()? {
        let brief = Brief::of(&record, dialect, hasher);
        match briefs.last_mut() {
            // This record continues a line that was too long for one record, so merge the two
            // records.
            Some(last) if last.line == brief.line && record.message(dialect).is_none() => {
                last.bytes += brief.bytes;
                last.hash = hasher.hash_one((last.hash, brief.hash));
            }
            _ => briefs.push(brief),
        }
    }
    Ok(briefs)
}

impl Brief {
    fn of(record: &Record<'_>, dialect: Option<&dyn Dialect>, hasher: &RandomState) -> Self {
        let bytes = &record.bytes[..record.bytes.len() - record.line_end().len()];
        let message = record.message(dialect);
        let parts = message.as_ref().map_or_else(Vec::new, |message| {
            message.parts.iter().map(|part| PartBrief::of(part, hasher)).collect()
        });
        Self {
            line: record.line,
            bytes: bytes.len() as u64,
            role: message.as_ref().map(|message| message.role),
            words: message.as_ref().map_or_else(|| kind(record), first_words),
            hash: hasher.hash_one(bytes),
            keys: keys(record, &parts, hasher),
            parts,
        }
    }
}

/// Returns what is displayed for a record that is not a message: its `type` in parentheses, if it
/// has one.
fn kind(record: &Record<'_>) -> String {
    let kind = record.object().and_then(|object| object.text_of("type"));
    kind.map_or_else(|| "(no message)".to_owned(), |kind| format!("({})", line(&kind)))
}

/// Returns the hash of the record's own id or, if it has none, the hashes of its calls' and
/// results' ids.
fn keys(record: &Record<'_>, parts: &[PartBrief], hasher: &RandomState) -> Vec<u64> {
    let own = record.object().and_then(|it| it.text_of("uuid").or_else(|| it.text_of("id")));
    if let Some(own) = own.filter(|id| !id.is_empty()) {
        return vec![hasher.hash_one(("record", own.as_ref()))];
    }
    let named = parts.iter().filter(|part| part.id != 0);
    named.map(|part| hasher.hash_one((part.kind, part.id))).collect()
}

impl PartBrief {
    fn of(part: &Part<'_>, hasher: &RandomState) -> Self {
        let id = |id: Option<&str>| id.map_or(0, |id| hasher.hash_one(id));
        let [of_text, of_reasoning, of_call, of_result, other] = KINDS;
        let result_text;
        let (kind, id, text) = match part {
            Part::Text(text) | Part::Refusal(text) => (of_text, 0, text.as_ref()),
            Part::Reasoning(text) => (of_reasoning, 0, text.as_ref()),
            Part::Call(call) => (of_call, id(call.id.as_deref()), call.arguments.as_ref()),
            Part::Result(result) => {
                result_text = result.text().unwrap_or_default();
                (of_result, id(result.id.as_deref()), result_text.as_ref())
            }
            Part::Media(Media { raw, .. }) | Part::Opaque(raw) => (other, 0, raw.as_ref()),
        };
        let hash = match part {
            // Hash the result's debug representation, because some of its parts, such as images,
            // have no text.
            Part::Result(result) => hasher.hash_one(format!("{:?}", result.parts)),
            _ => hasher.hash_one(text),
        };
        let has_handle = Handle::split(text).is_some();
        Self { kind, id, characters: text.chars().count(), hash, has_handle }
    }
}

/// Returns the first words of the message's text. If the message has no text, returns the first
/// words of its first call, result or other part.
fn first_words(message: &Message<'_>) -> String {
    let mut texts = message.parts.iter().filter_map(Part::said).map(line);
    if let Some(text) = texts.find(|text| !text.is_empty()) {
        return text;
    }
    let other = message.parts.iter().find_map(|part| match part {
        Part::Call(call) => Some(format!("{} {}", call.name, call.arguments)),
        Part::Result(result) => result.text().map(std::borrow::Cow::into_owned),
        Part::Reasoning(text) => Some(text.to_string()),
        Part::Media(media) => Some(format!("({})", media.kind)),
        _ => None,
    });
    line(&other.unwrap_or_default())
}

/// Shortens text to [`WORDS`] characters on one line.
fn line(text: &str) -> String {
    let begin: String = text.chars().take(4 * WORDS).collect();
    let words: Vec<&str> = begin.split_whitespace().collect();
    let words = words.join(" ");
    if words.chars().count() <= WORDS && begin.len() == text.len() {
        return words;
    }
    words.chars().take(WORDS - 1).collect::<String>().trim_end().to_owned() + "…"
}

/// Describes the differences in words, for example `result: 12000 → 900 characters, now ends with a
/// handle`.
pub(super) fn changes_within(old: &Brief, new: &Brief) -> Vec<String> {
    let mut changes = Vec::new();
    if old.role != new.role {
        let name = |brief: &Brief| brief.role.map_or("no message", |role| role.as_str());
        changes.push(format!("{} → {}", name(old), name(new)));
    }
    for kind in KINDS {
        changes.extend(changes_of_kind(kind, &old.parts, &new.parts));
    }
    if changes.is_empty() {
        changes.push("only JSON members outside the message changed".to_owned());
    }
    changes
}

/// Compares the parts of a single kind. Parts are paired by their call ids or, if they have no ids,
/// by their order.
fn changes_of_kind(kind: &str, old: &[PartBrief], new: &[PartBrief]) -> Vec<String> {
    let is_of_kind = |part: &&PartBrief| part.kind == kind;
    let mut left: Vec<&PartBrief> = new.iter().filter(is_of_kind).collect();
    let mut changes = Vec::new();
    for part in old.iter().filter(is_of_kind) {
        match left.iter().position(|it| it.id == part.id).map(|at| left.remove(at)) {
            Some(other) if other.hash != part.hash => changes.push(change(kind, part, other)),
            Some(_) => {}
            None => changes.push(format!("{kind} gone: {}", size(part))),
        }
    }
    changes.extend(left.into_iter().map(|part| format!("{kind} new: {}", size(part))));
    changes
}

fn change(kind: &str, old: &PartBrief, new: &PartBrief) -> String {
    let before = old.characters;
    let handle = match (old.has_handle, new.has_handle) {
        (false, true) => ", now ends with a handle",
        (true, false) => ", no longer ends with a handle",
        _ => "",
    };
    if before == new.characters {
        return format!("{kind} changed: {}{handle}", size(old));
    }
    format!("{kind}: {before} → {}{handle}", size(new))
}

fn size(part: &PartBrief) -> String {
    counted(part.characters, "character")
}
