//! The session files of pi, and of `OpenClaw`, which is based on pi. A file consists of a header
//! and entries, each of which refers to its parent.
//!
//! The formats are those of pi 0.73.1 and 1.5.2, whose files have versions 1 to 3, and of
//! `OpenClaw` 2026.9.6. When pi sends a summary, it adds words before and after the text. These
//! words are not read as part of the summary. Messages with the role `system` declare the prompt
//! and the tools, and do not count as messages here.

mod compaction;
mod convert;
mod edit;
mod entry;
#[cfg(test)]
mod tests;
mod tree;
mod view;

use std::borrow::Cow;

use self::entry::{Entry, EntryKind};
use super::{About, EditWriter, Log};
use crate::dialect::anthropic;
use crate::dialect::content::{cut_blocks, kind_of};
use crate::dialect::interface::{Dialect, InvalidReasoning, Sealed, Wrapped};
use crate::dialect::items::NAME;
use crate::dialect::usage::{lessen, sum};
use crate::legality::content::Mend;
use crate::log::compaction::LineText;
use crate::repair::{MISSING_RESULT, RecordChange};
use crate::{
    Bond, Edits, Flaw, Links, Message, Object, Outline, Role, Rule, SecondCopy, Unread, Usage,
};

pub(crate) use convert::Writer;

/// The dialect `pi`.
pub struct Pi;

/// The member `usage` for a reply whose token counts are unknown. pi requires this member in every
/// reply.
const NO_USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;

/// The members of `usage` that add up to the prompt size. The cached tokens come first, because
/// they usually make up most of the prompt.
const PROMPT: [&str; 3] = ["cacheRead", "cacheWrite", "input"];

impl Dialect for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        if let Some(text) = entry::edited(object) {
            return Some(self.outline(&Object::parse(&text).ok()?)?.into_owned());
        }
        let entry = Entry::of(object)?;
        let mut outline = Outline {
            role: entry.role(),
            begins_turn: entry.kind == EntryKind::User,
            is_summary: entry.kind == EntryKind::CompactionSummary,
            ..Outline::of_line()
        };
        match entry.kind {
            EntryKind::Assistant => {
                for call in entry.calls() {
                    let id = call.text_of("id").unwrap_or_default();
                    outline.check_tool_name(&call, NAME, &id);
                    outline.calls.push(id);
                }
            }
            EntryKind::ToolResult => {
                outline.has_content = false;
                let id = entry.body.text_of("toolCallId");
                outline.results.push(id.unwrap_or_default());
            }
            _ => {}
        }
        outline.fault_if(!entry.bad_images().is_empty(), Rule::BadImage, "");
        Some(outline)
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        let Some(entry) = Entry::of(object) else { return };
        for call in entry.calls() {
            mend.name(&call, "name", NAME);
        }
        for (image, fix) in entry.bad_images() {
            mend.image(&image, (&image, "mimeType", "data"), &fix);
        }
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        if let Some(text) = entry::edited(object) {
            return Some(self.message(&Object::parse(&text).ok()?)?.into_owned());
        }
        let entry = Entry::of(object)?;
        let parts = entry.parts(object);
        let mut message = Message {
            sealed: anthropic::sealed(&entry.body, &parts, "thinkingSignature"),
            // Only tool results have a name.
            name: entry.body.text_of("toolName"),
            ..Message::new(entry.role(), parts)
        };
        message = message.added_if(entry.role() == Role::User && entry.kind != EntryKind::User);
        if entry.kind == EntryKind::Assistant {
            let is_reasoning = |block: &Object<'_>| kind_of(block) == "thinking";
            message.reasoning = cut_blocks(object, &entry.body, is_reasoning);
        }
        Some(message)
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        if let Some(entry) = Entry::of(object) {
            if entry.is_summary() || entry.kind == EntryKind::BashExecution {
                return None;
            }
            return Unread::in_content(entry.body.get("content"), entry::is_read);
        }
        match &*kind_of(object) {
            "context_edit" => Unread::in_content(entry::new_content(object), entry::is_read),
            "message" => {
                let message = object.object_of("message")?;
                let role = message.get("role").unwrap_or("null");
                (role != entry::SYSTEM).then(|| Unread::role(self.name(), role))
            }
            _ => None,
        }
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let entry = Entry::of(object);
        entry.map_or_else(Sealed::default, |it| anthropic::sealed_in(&it.body, "thinkingSignature"))
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let usage = usage_of(object)?;
        Usage::new(sum(&usage, &PROMPT), sum(&usage, &["output"]))
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if kind_of(object) == "model_change" {
            return object.text_of("modelId");
        }
        let entry = Entry::of(object).filter(|entry| entry.kind == EntryKind::Assistant)?;
        entry.body.text_of("model")
    }

    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::Rejected
    }

    fn as_sent(&self, object: &Object<'_>) -> Option<String> {
        entry::edited(object)
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let Some(entry) = Entry::of(object) else { return Wrapped::default() };
        let sent: &[&str] = match entry.kind {
            _ if entry.is_summary() => &["summary"],
            EntryKind::BashExecution => &["command", "output"],
            _ if entry::edited(object).is_some() => &[],
            _ => &["content"],
        };
        let is_result = entry.kind == EntryKind::ToolResult;
        let copies: &[&str] = if is_result { &["details"] } else { &[] };
        let values = |keys: &[&str]| keys.iter().filter_map(|key| entry.body.get(key)).collect();
        Wrapped { sent: values(sent), copies: values(copies) }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        if tree::is_header(object) {
            let has_no_ids = tree::header_version(object).is_some_and(tree::has_no_ids);
            let why = "version 1 of pi's format identifies lines by number";
            let keeps_all = has_no_ids.then_some(why);
            let mut links = Links { stays: true, keeps_all, ..Links::default() };
            links.belongs(object, object, "id");
            return links;
        }
        let mut links = Links::of(object, "id");
        links.name(object, object, &["parentId"], Bond::Parent);
        // If an edited entry is removed, its edit must not be applied to the entry's parent
        // instead.
        let is_edit = kind_of(object) == "context_edit";
        let bond = if is_edit { Bond::Needs } else { Bond::Mention };
        links.name(object, object, &["targetId"], bond);
        links.name(object, object, &["appendParentId", "fromId"], Bond::Mention);
        links.name(object, object, &["firstKeptEntryId"], Bond::Needs);
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let result = Entry::of(object).filter(|entry| entry.kind == EntryKind::ToolResult);
        let copy = result.and_then(|it| SecondCopy::at(object, &it.body, "content", "details"));
        copy.into_iter().collect()
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let entry = Entry::of(object).filter(|entry| entry.kind == EntryKind::CompactionSummary)?;
        entry.body.text_of("summary")
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        let Some(entry) = Entry::of(object) else { return object.text().to_owned() };
        let calls = entry.calls();
        let ids: Vec<_> = calls.iter().map(|call| call.get("id")).collect();
        change.renames(object, &ids, entry.body.get("toolCallId")).of_object(object)
    }

    fn missing_result(&self, call: &Object<'_>, id: &str) -> Option<String> {
        let reply = Entry::of(call)?;
        let own = reply.calls().into_iter().find(|it| it.text_of("id").as_deref() == Some(id));
        let name = own.and_then(|own| own.text_of("name")).unwrap_or_default();
        let text = LineText::of_type("text").text("text", MISSING_RESULT).end();
        let mut message = LineText::default()
            .text("role", "toolResult")
            .text("toolCallId", id)
            .text("toolName", &name)
            .list("content", &[text])
            .is("isError", true);
        if let Some(time) = reply.body.get("timestamp") {
            message = message.json("timestamp", time);
        }
        let mut edits = Edits::default();
        edits.set(0, call, "message", &message.end());
        Some(edits.of_object(call))
    }
}

impl Log for Pi {
    parts!(tree::Entries, compaction::Writer);

    fn edit_writer(&self) -> Option<Box<dyn EditWriter>> {
        Some(Box::<edit::Edits>::default())
    }

    fn edited<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if kind_of(object) == "context_edit" { object.text_of("targetId") } else { None }
    }

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::default();
        if let Some(usage) = usage_of(object) {
            let by = sum(&usage, &PROMPT).saturating_sub(prompt);
            lessen(&mut edits, object, &usage, &PROMPT, by);
            // pi uses the total, if the record states one, to decide whether to compact.
            lessen(&mut edits, object, &usage, &["totalTokens"], by);
        }
        edits
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let mut about = About::default();
        if tree::is_header(object) {
            (about.session, about.folder) = (object.text_of("id"), object.text_of("cwd"));
        } else if kind_of(object) == "session_info" {
            about.name = object.text_of("name");
        }
        about
    }

    fn repaired(&self, object: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        let mut edits = Edits::default();
        if let Some(parent) = object.get("parentId") {
            edits.replace(object.place_of(parent), "null".to_owned());
        }
        edits
    }
}

/// Returns the `usage` of a reply. Interrupted replies are skipped, because their counts are
/// preliminary.
fn usage_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    let entry = Entry::of(object).filter(|entry| entry.kind == EntryKind::Assistant)?;
    if entry.is_whole() { entry.body.object_of("usage") } else { None }
}
