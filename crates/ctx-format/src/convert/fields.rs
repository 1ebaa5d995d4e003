//! Finds the values of a source message that do not occur in any record written for it.
//!
//! The search compares the values themselves, so that no list of known members can be incomplete.

use std::cell::Cell;
use std::ops::Range;

use memchr::memmem::find;

use crate::compaction::list;
use crate::convert::report::LossKind;
use crate::dialect::content::{kind_of, role_of};
use crate::{Member, Object, json, scan};

/// The members that identify or measure something, but are no part of what a message says.
const BOOKKEEPING: &str = "api call_id commandMode cwd finish_reason id index isError is_error \
    model parentId provider responseId status stop_reason stop_sequence timestamp toolCallId \
    tool_call_id tool_use_id ts uuid";

/// The members that are no part of what a message or a block says, even if they are objects.
const BESIDE_TAGS: &str = "cache_control caller internal_chat_message_metadata_passthrough \
    metadata metrics modelInfo stop_details usage";

/// The members that tell what an object is. They matter only in an object without other members.
const TAGS: [&str; 2] = ["type", "role"];

/// Values at a greater depth are examined as a whole: each level is scanned again, so a value that
/// is nested thousands of times would take minutes.
const MAX_DEPTH: usize = 64;

/// How many bytes after the last value are searched first.
const NEAR: usize = 4096;

/// The records written for a unit, in a form in which values can be found.
pub(crate) struct Written {
    /// The records as a JSON list, and all of its strings, decoded. Arguments are JSON within a
    /// string.
    texts: [String; 2],
    /// Where the last value was found in each text. Values are written in the order of the source,
    /// so the next one usually follows closely.
    last: [Cell<usize>; 2],
}

/// Whether a value is in the written records. A value that says nothing is neither there nor lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    Nothing,
    Lost,
    Written,
}

impl Written {
    pub(crate) fn of(lines: &[String]) -> Self {
        let (raw, mut decoded) = (list(lines), String::new());
        json::map_strings(&raw, |text| {
            decoded += text;
            decoded.push('\n');
            None
        });
        Self { texts: [raw, decoded], last: Default::default() }
    }

    /// Returns the values of `object` that are not in the records, each with its path. Only the
    /// values within `sent`, which are slices of the object's text, are examined. `path` is the
    /// path of the object.
    pub(crate) fn missing<'a>(
        &self,
        object: &Object<'a>,
        sent: &[&str],
        path: String,
    ) -> Vec<(String, &'a str)> {
        let sent = sent.iter().map(|raw| place(raw)).collect();
        let mut search = Search { written: self, sent, lost: Vec::new() };
        search.value(object.text().trim(), "", path);
        search.lost
    }

    /// Returns true if any of `needles` occurs. Searches shortly after the last value first, so
    /// that the time to find all values of a long unit is linear in its length.
    fn has(&self, needles: &[&str]) -> bool {
        for reach in [NEAR, usize::MAX] {
            for needle in needles {
                for (text, last) in self.texts.iter().zip(&self.last) {
                    let (text, start) = (text.as_bytes(), last.get());
                    let overlap = text.len().min(start + needle.len());
                    let near = &text[start..text.len().min(overlap.saturating_add(reach))];
                    let after = find(near, needle.as_bytes()).map(|at| start + at);
                    let before = if reach > NEAR { &text[..overlap] } else { &[] };
                    if let Some(found) = after.or_else(|| find(before, needle.as_bytes())) {
                        last.set(found);
                        return true;
                    }
                }
            }
        }
        false
    }
}

/// The types and keys of values that are reasoning.
const REASONING: &str = "encrypted_content reasoning reasoning_content redacted_thinking signature \
    thinking thought thoughts";

/// The types and keys of values that are images or files.
const MEDIA: &str = "audio_url computer_screenshot document file fileData image image_generation_call \
    image_url images inlineData input_audio input_file input_image video_url";

/// Returns the kind of the loss of `raw`, the value at `path`, and what the source calls the value.
pub(crate) fn kind_of_loss(raw: &str, path: &str) -> (LossKind, String) {
    let object = Object::within(raw);
    let kind = object.as_ref().map(kind_of).unwrap_or_default();
    let (_, key) = path.rsplit_once('.').unwrap_or_default();
    let keys = object.iter().flat_map(|it| it.members().iter().map(|member| &*member.key));
    let mut names =
        [&*kind, key.trim_end_matches(|c: char| c.is_ascii_digit() || "[]".contains(c))]
            .into_iter()
            .chain(keys);
    let is_in = |list: &str, name: &str| list.split_ascii_whitespace().any(|it| it == name);
    if let Some(name) = names.clone().find(|name| is_in(MEDIA, name)) {
        return (LossKind::Media, name.to_owned());
    }
    match key {
        "name" if path.matches('.').count() == 1 => (LossKind::Name, String::new()),
        _ if !kind.is_empty() && !is_in(REASONING, &kind) => (LossKind::Part, kind.to_string()),
        _ if names.any(|name| is_in(REASONING, name)) => (LossKind::Reasoning, String::new()),
        _ => (LossKind::Field, String::new()),
    }
}

/// A search through the values of a message.
struct Search<'w, 'a> {
    written: &'w Written,
    /// The addresses of the values to examine. If there are none, all values are examined.
    sent: Vec<Range<usize>>,
    lost: Vec<(String, &'a str)>,
}

impl<'a> Search<'_, 'a> {
    /// Searches for the value `raw`. `key` is its key, which is empty for an element of a list.
    fn value(&mut self, raw: &'a str, key: &str, path: String) -> Fate {
        let own = place(raw);
        let holds =
            |it: &Range<usize>, own: &Range<usize>| it.start <= own.start && own.end <= it.end;
        let is_sent = self.sent.is_empty() || self.sent.iter().any(|it| holds(it, &own));
        if !is_sent && !self.sent.iter().any(|it| holds(&own, it)) {
            return Fate::Nothing;
        }
        let before = self.lost.len();
        let mut is_whole = true;
        let is_deep = path.matches(['.', '[']).count() > MAX_DEPTH;
        let fate = match raw.as_bytes()[0] {
            _ if is_deep && self.written.has(&[raw]) => Fate::Written,
            _ if is_deep => Fate::Lost,
            b'{' => {
                let Some(object) = Object::within(raw) else { return Fate::Nothing };
                // Of a result, what is in it is named.
                let is_result = object.get("tool_use_id").is_some();
                let is_block = (key.is_empty() || object.get("type").is_some()) && !is_result;
                let is_message = role_of(&object).is_some_and(|role| !role.is_system());
                is_whole = is_sent && is_block && !is_message;
                self.object(&object, &path)
            }
            b'[' => {
                is_whole = false;
                let elements = scan::elements(raw).unwrap_or_default().into_iter().enumerate();
                let fates = elements.map(|(at, raw)| self.value(raw, "", format!("{path}[{at}]")));
                fates.max().unwrap_or(Fate::Nothing)
            }
            b'"' => self.text(raw),
            b'n' | b'f' => Fate::Nothing,
            _ if key.is_empty() || self.written.has(&[&json::quoted(key)]) => Fate::Nothing,
            _ => Fate::Lost,
        };
        if fate == Fate::Lost && is_whole {
            self.lost.truncate(before);
            self.lost.push((path, raw));
        }
        fate
    }

    fn object(&mut self, object: &Object<'a>, path: &str) -> Fate {
        let mut members: Vec<&Member<'a>> = object.members().iter().collect();
        members.retain(|member| !is_bookkeeping(object, member));
        let is_result = object.get("tool_use_id").is_some();
        if is_result || !members.iter().all(|member| TAGS.contains(&&*member.key)) {
            members.retain(|member| !TAGS.contains(&&*member.key));
        }
        let fates = members
            .into_iter()
            .map(|Member { key, value, .. }| self.value(value, key, format!("{path}.{key}")));
        fates.max().unwrap_or(Fate::Nothing)
    }

    fn text(&self, raw: &str) -> Fate {
        let Some(text) = json::text(raw).filter(|text| !text.trim().is_empty()) else {
            return Fate::Nothing;
        };
        // The data of a `data:` URL can be stored without the URL.
        let (quoted, data) = (json::quoted(&text), text.rsplit(";base64,").next());
        if self.written.has(&[
            data.unwrap_or(&text),
            &raw[1..raw.len() - 1],
            &quoted[1..quoted.len() - 1],
        ]) {
            return Fate::Written;
        }
        // Arguments can be JSON in one format and a string with JSON in the other.
        let object = Object::parse(&text).ok().filter(|object| object.rest().trim().is_empty());
        let mut inside = Search { sent: Vec::new(), lost: Vec::new(), ..*self };
        match object.map(|object| inside.object(&object, "")) {
            Some(Fate::Written | Fate::Nothing) if inside.lost.is_empty() => Fate::Written,
            _ => Fate::Lost,
        }
    }
}

fn is_bookkeeping(object: &Object<'_>, member: &Member<'_>) -> bool {
    let is_in = |list: &str| list.split_ascii_whitespace().any(|key| key == member.key);
    let is_all = object.members().len() == 1;
    let has_tag = || TAGS.iter().any(|tag| object.get(tag).is_some());
    !is_all && !member.value.starts_with(['{', '[']) && is_in(BOOKKEEPING)
        || is_in(BESIDE_TAGS) && has_tag()
}

/// Returns the path, from the value `raw`, of the innermost value at the address `at`.
pub(crate) fn path_to(mut raw: &str, at: usize) -> String {
    let holds = |raw: &str| place(raw).contains(&at);
    let mut path = String::new();
    for _ in 0..MAX_DEPTH {
        let list = scan::elements(raw).into_iter().flatten().enumerate();
        let object = Object::within(raw);
        let members = object.iter().flat_map(Object::members);
        let members = members.map(|member| (format!(".{}", member.key), member.value));
        let mut values = list.map(|(n, raw)| (format!("[{n}]"), raw)).chain(members);
        let Some((step, inner)) = values.find(|(_, raw)| holds(raw)) else { break };
        (path, raw) = (path + &step, inner);
    }
    path
}

/// Returns the addresses of a text.
pub(crate) fn place(raw: &str) -> Range<usize> {
    let start = raw.as_ptr() as usize;
    start..start + raw.len()
}
