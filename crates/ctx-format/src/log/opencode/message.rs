//! A message of opencode with its parts, as `toModelMessages` in version 1.18.33 sends it.

use std::ops::Range;

use crate::dialect::content::kind_of;
use crate::dialect::unread::has_text;
use crate::{Call, MediaPlace, Object, Part, Role, Slot, ToolResult};

/// The text that opencode sends in place of an output that it has pruned.
const CLEARED: &str = "[Old tool result content cleared]";

/// The error that opencode sends for a call that has not ended.
const INTERRUPTED: &str = "[Tool execution was interrupted]";

/// The text that opencode sends in place of a task that the user gave to a subagent.
const SUBTASK: &str = "The following tool was executed by the user";

/// A message: what describes it, and its parts.
pub(super) struct Entry<'a> {
    pub(super) info: Object<'a>,
    /// The parts in the order of their ids, in which opencode reads them from its database.
    pub(super) parts: Vec<Object<'a>>,
    pub(super) role: Role,
}

impl<'a> Entry<'a> {
    /// Reads a message; `None` if the object is not a message of opencode.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let info = object.object_of("info")?;
        let role = match &*info.text_of("role")? {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return None,
        };
        let mut parts: Vec<Object<'a>> = object.objects_of("parts")?.flatten().collect();
        parts.sort_by(|a, b| a.text_of("id").cmp(&b.text_of("id")));
        Some(Self { info, parts, role })
    }

    /// The part that makes a user message the request for a compaction.
    pub(super) fn compaction(&self) -> Option<&Object<'a>> {
        let is_user = self.role == Role::User;
        self.parts.iter().find(|part| is_user && kind_of(part) == "compaction")
    }

    /// Returns true if the message is the summary of a compaction. A summary that failed or was
    /// interrupted is not one.
    pub(super) fn is_summary(&self) -> bool {
        let is_ended = self.info.text_of("finish").is_some_and(|finish| !finish.is_empty());
        self.is_named_summary() && is_ended && self.error().is_none()
    }

    /// Returns true if the message is marked as a summary, even if it is not complete.
    pub(super) fn is_named_summary(&self) -> bool {
        self.role == Role::Assistant && self.info.is_true("summary")
    }

    /// The text of the summary, if the message is one.
    pub(super) fn summary(&self) -> Option<String> {
        let parts = self.is_summary().then_some(&self.parts)?;
        let texts = parts.iter().filter(|part| kind_of(part) == "text");
        let texts = texts.filter_map(|part| part.text_of("text"));
        let texts: Vec<_> = texts.filter(|text| !text.trim().is_empty()).collect();
        Some(texts.join("\n\n"))
    }

    fn error(&self) -> Option<&'a str> {
        self.info.get("error").filter(|raw| *raw != "null")
    }

    /// Returns true if opencode leaves out the whole reply, because it failed. It sends the
    /// beginning of a reply that the user interrupted.
    fn has_failed(&self) -> bool {
        let Some(error) = self.error() else { return false };
        let name = Object::within(error).and_then(|error| error.text_of("name"));
        let is_content = |part: &Object<'_>| !matches!(&*kind_of(part), "step-start" | "reasoning");
        name.as_deref() != Some("MessageAbortedError") || !self.parts.iter().any(is_content)
    }

    /// Returns the parts that opencode sends, and the range of those that the user did not write.
    /// The byte ranges in the parts refer to the text of `record`.
    pub(super) fn sent(&self, record: &Object<'a>) -> (Vec<Part<'a>>, Range<usize>) {
        match self.role {
            Role::User => self.user_parts(),
            _ => (self.reply_parts(record), 0..0),
        }
    }

    fn user_parts(&self) -> (Vec<Part<'a>>, Range<usize>) {
        let mut added = 0..0;
        let mut parts = Vec::new();
        for part in &self.parts {
            let is_added = match &*kind_of(part) {
                "text" => {
                    let text = part.text_of("text").filter(|text| !text.is_empty());
                    let Some(text) = text.filter(|_| !part.is_true("ignored")) else { continue };
                    parts.push(Part::Text(text));
                    part.is_true("synthetic")
                }
                "file" if is_media(part) => {
                    parts.push(Part::media("file", part.text().trim()));
                    false
                }
                "subtask" => {
                    parts.push(Part::Text(SUBTASK.into()));
                    true
                }
                _ => continue,
            };
            if is_added {
                let start = if added.is_empty() { parts.len() - 1 } else { added.start };
                added = start..parts.len();
            }
        }
        (parts, added)
    }

    fn reply_parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        let (mut parts, mut results) = (Vec::new(), Vec::new());
        if self.has_failed() {
            return parts;
        }
        for part in &self.parts {
            let text = || part.text_of("text").unwrap_or_default();
            match &*kind_of(part) {
                "text" if !text().is_empty() => parts.push(Part::Text(text())),
                "reasoning" if !text().trim().is_empty() => parts.push(Part::Reasoning(text())),
                "tool" => {
                    parts.push(Part::Call(call(record, part)));
                    results.push(Part::Result(result(record, part)));
                }
                // Each step is a reply of its own, which the results of its calls follow.
                "step-start" => parts.append(&mut results),
                _ => {}
            }
        }
        parts.append(&mut results);
        parts
    }

    /// The tool parts, each with its state.
    pub(super) fn tools(&self) -> impl Iterator<Item = (&Object<'a>, Object<'a>)> {
        let tools = self.parts.iter().filter(|part| kind_of(part) == "tool");
        tools.filter_map(|part| Some((part, part.object_of("state")?)))
    }
}

/// Returns true if opencode sends the file itself. It has written the content of text files and
/// folders to a text.
fn is_media(part: &Object<'_>) -> bool {
    !matches!(&*part.text_of("mime").unwrap_or_default(), "text/plain" | "application/x-directory")
}

/// Returns true if opencode has pruned the output of a call.
pub(super) fn is_cleared(state: &Object<'_>) -> bool {
    let time = state.object_of("time");
    time.and_then(|time| time.get("compacted")).is_some_and(|raw| !matches!(raw, "0" | "null"))
}

fn call<'a>(record: &Object<'a>, part: &Object<'a>) -> Call<'a> {
    let input = part.object_of("state").and_then(|state| state.get("input"));
    Call {
        id: part.text_of("callID"),
        name: part.text_of("tool").unwrap_or_default(),
        arguments: input.unwrap_or("{}").into(),
        slot: input.map(|raw| Slot::json(record, raw)),
    }
}

pub(super) fn result<'a>(record: &Object<'a>, part: &Object<'a>) -> ToolResult<'a> {
    let mut result = ToolResult {
        id: part.text_of("callID"),
        name: part.text_of("tool"),
        ..ToolResult::default()
    };
    let state = part.object_of("state");
    let status = state.as_ref().and_then(|state| state.text_of("status")).unwrap_or_default();
    let metadata = state.as_ref().and_then(|state| state.object_of("metadata"));
    // What a command wrote before it was interrupted.
    let partial = metadata.filter(|it| status == "error" && it.is_true("interrupted"));
    let partial = partial.filter(|metadata| has_text(metadata, "output"));
    let (of, key) = match (&*status, state) {
        ("completed", Some(state)) if is_cleared(&state) => {
            result.parts.push(Part::Text(CLEARED.into()));
            return result;
        }
        ("completed", Some(state)) => (state, "output"),
        ("error", Some(state)) => {
            result.is_error = partial.is_none();
            partial.map_or((state, "error"), |metadata| (metadata, "output"))
        }
        _ => {
            result.is_error = true;
            result.parts.push(Part::Text(INTERRUPTED.into()));
            return result;
        }
    };
    result.parts.push(Part::Text(of.text_of(key).unwrap_or_default()));
    let media = of.elements_of("attachments").unwrap_or_default();
    let text = of.get(key).filter(|raw| raw.starts_with('"')).map(|raw| Slot::text(record, raw));
    // One text could not replace both the output and the media.
    result.slot = text.clone().filter(|_| media.is_empty());
    result.media = MediaPlace::Apart { text };
    result.parts.extend(media.into_iter().map(|raw| Part::media("file", raw)));
    result
}
