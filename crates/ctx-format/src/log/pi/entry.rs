//! Reads the part of an entry that the model may receive.

use crate::dialect::content::{blocks, call_of, kind_of, parts, with_sent_content};
use crate::dialect::unread::has_text;
use crate::legality::content::{ImageFix, image_fix};
use crate::{Object, Part, Role, Slot, ToolResult, scan};

/// The kinds of entries with content, named after the roles that pi assigns to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "camelCase")]
pub(super) enum EntryKind {
    User,
    Assistant,
    ToolResult,
    /// A command that the user ran directly, and its output.
    BashExecution,
    /// A text from an extension.
    Custom,
    /// A text from an extension, in version 1 and 2 files. In version 3 files, pi ignores such
    /// entries.
    HookMessage,
    /// The summary of an abandoned branch.
    BranchSummary,
    CompactionSummary,
}

/// An entry that has content for the model.
pub(super) struct Entry<'a> {
    pub(super) kind: EntryKind,
    /// The object with the content: the entry itself, or the message in it.
    pub(super) body: Object<'a>,
}

impl<'a> Entry<'a> {
    /// Reads an entry; `None` if the entry has no content that pi would send.
    pub(super) fn of(object: &Object<'a>) -> Option<Self> {
        let kind = match &*kind_of(object) {
            "message" => {
                let body = object.object_of("message")?;
                // Summaries have no role in the file, but pi assigns one when it sends them.
                let kind = body.text_of("role")?.parse().ok()?;
                return Some(Self { kind, body });
            }
            "custom_message" => EntryKind::Custom,
            "branch_summary" => EntryKind::BranchSummary,
            "compaction" => EntryKind::CompactionSummary,
            _ => return None,
        };
        Some(Self { kind, body: object.clone() })
    }

    /// The role of the message that pi sends. Everything that is not from the model or a tool has
    /// the user's role.
    pub(super) fn role(&self) -> Role {
        match self.kind {
            EntryKind::Assistant => Role::Assistant,
            EntryKind::ToolResult => Role::Tool,
            _ => Role::User,
        }
    }

    /// Returns true for a summary. The text of a summary is in the member `summary` instead of
    /// `content`.
    pub(super) fn is_summary(&self) -> bool {
        matches!(self.kind, EntryKind::CompactionSummary | EntryKind::BranchSummary)
    }

    /// Returns false if the entry is a reply that was interrupted or failed.
    pub(super) fn is_whole(&self) -> bool {
        let stop = self.body.text_of("stopReason");
        !stop.is_some_and(|stop| matches!(&*stop, "aborted" | "error"))
    }

    /// Returns true if pi sends the entry when it is in the context. `version` is the file's
    /// version.
    pub(super) fn is_sent(&self, version: f64) -> bool {
        let is_excluded = self.body.is_true("excludeFromContext");
        !is_excluded
            && match self.kind {
                EntryKind::Assistant => self.is_whole(),
                EntryKind::BranchSummary => self.body.get("summary") != Some("\"\""),
                EntryKind::HookMessage => version < 3.0,
                _ => true,
            }
    }

    /// The parts of the entry. The byte ranges in the parts refer to the text of `record`.
    pub(super) fn parts(&self, record: &Object<'a>) -> Vec<Part<'a>> {
        match self.kind {
            _ if self.is_summary() => Vec::from_iter(self.body.text_of("summary").map(Part::Text)),
            EntryKind::BashExecution => vec![Part::Text(shell_text(&self.body).into())],
            EntryKind::ToolResult => vec![Part::Result(self.result(record))],
            _ => parts(self.body.get("content"), &|block| part(record, block)),
        }
    }

    fn result(&self, record: &Object<'a>) -> ToolResult<'a> {
        let content = self.body.get("content");
        ToolResult {
            id: self.body.text_of("toolCallId"),
            name: self.body.text_of("toolName"),
            is_error: self.body.is_true("isError"),
            parts: parts(content, &|block| part(record, block)),
            slot: content.map(|raw| slot_of(record, raw)),
            ..ToolResult::default()
        }
    }

    /// The calls in the entry, if it is a reply.
    pub(super) fn calls(&self) -> Vec<Object<'a>> {
        let mut blocks = blocks(&self.body);
        blocks.retain(|block| kind_of(block) == "toolCall");
        blocks
    }

    /// Returns the images that no API accepts as they are.
    pub(super) fn bad_images(&self) -> Vec<(Object<'a>, ImageFix)> {
        if !self.body.text().contains("\"image\"") {
            return Vec::new();
        }
        let bad = |block: Object<'a>| {
            let text = |key| block.text_of(key).unwrap_or_default();
            let fix = image_fix(&text("mimeType"), &text("data"))?;
            Some((block, fix))
        };
        let is_image = |block: &Object<'_>| kind_of(block) == "image";
        blocks(&self.body).into_iter().filter(is_image).filter_map(bad).collect()
    }
}

/// Reads `block`, a value within `record`; `None` if the block cannot be read.
fn part<'a>(record: &Object<'a>, block: &Object<'a>) -> Option<Part<'a>> {
    Some(match &*kind_of(block) {
        "text" => Part::Text(block.text_of("text")?),
        // Only the API can read redacted reasoning.
        "thinking" if block.is_true("redacted") => return None,
        "thinking" => Part::Reasoning(block.text_of("thinking")?),
        "image" => Part::media("image", block.text().trim()),
        "toolCall" => Part::Call(call_of(record, block, "arguments")),
        _ => return None,
    })
}

/// Returns true if the whole content of the block can be read.
pub(super) fn is_read(block: &Object<'_>) -> bool {
    match &*kind_of(block) {
        "text" => has_text(block, "text"),
        "thinking" => block.is_true("redacted") || has_text(block, "thinking"),
        kind => matches!(kind, "image" | "toolCall"),
    }
}

/// Returns the slot for a result's content. pi requires a list of blocks, so if the only block is a
/// text, just this text is replaced.
fn slot_of(record: &Object<'_>, content: &str) -> Slot {
    let only = match scan::elements(content).as_deref() {
        Some([block]) => Object::within(block).filter(|block| kind_of(block) == "text"),
        _ => None,
    };
    let text = only.and_then(|block| block.get("text")).filter(|raw| raw.starts_with('"'));
    text.map_or_else(|| Slot::blocks(record, content), |raw| Slot::text(record, raw))
}

/// The text in which pi tells the model about a command that the user ran, and about its outcome.
fn shell_text(shell: &Object<'_>) -> String {
    let of = |key| shell.text_of(key).unwrap_or_default();
    let (output, file) = (of("output"), of("fullOutputPath"));
    let mut text = format!("Ran `{}`\n", of("command"));
    if output.is_empty() {
        text.push_str("(no output)");
    } else {
        text.extend(["```\n", &output, "\n```"]);
    }
    let status = shell.get("exitCode").and_then(|raw| raw.parse::<f64>().ok());
    if shell.is_true("cancelled") {
        text.push_str("\n\n(command cancelled)");
    } else if let Some(status) = status.filter(|status| *status != 0.0) {
        text.extend(["\n\nCommand exited with code ", &status.to_string()]);
    }
    if shell.is_true("truncated") && !file.is_empty() {
        text.extend(["\n\n[Output truncated. Full output: ", &file, "]"]);
    }
    text
}

/// Returns the text of an entry with its content replaced by a `context_edit`; `None` if the entry
/// was not edited. Summaries and commands have no content that could be replaced.
pub(super) fn edited(object: &Object<'_>) -> Option<String> {
    with_sent_content(object, Entry::of(object)?.body.get("content")?)
}

/// Returns the new content from a `context_edit`, as raw JSON; `None` if the edit removes the entry
/// from the context. Content in an unknown format counts as empty.
pub(super) fn new_content<'a>(object: &Object<'a>) -> Option<&'a str> {
    if object.get("replacement") == Some("null") {
        return None;
    }
    object.object_of("replacement").and_then(|it| it.get("content")).or(Some("{}"))
}

/// The role of a system message, as raw JSON.
pub(super) const SYSTEM: &str = r#""system""#;

/// Returns the system message in an entry or a compaction, as raw JSON.
pub(super) fn system_message<'a>(object: &Object<'a>) -> Option<&'a str> {
    let key = match &*kind_of(object) {
        "compaction" => "systemMessage",
        "message" => "message",
        _ => return None,
    };
    let message = object.object_of(key)?;
    (message.get("role") == Some(SYSTEM)).then(|| message.text())
}
