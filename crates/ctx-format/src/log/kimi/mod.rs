//! The session files of Kimi Code. Some lines add whole messages, replies are added part by part,
//! and others undo or compact what was added before.
//!
//! The rules follow version 2.1.0, and were checked against what that version sends. The agent adds
//! words to some content when it sends it: notes on failed and empty results, and after its own
//! compaction. These words are not in the file, and are not read.

mod compaction;
mod convert;
mod entry;
mod line;
mod replay;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;

use self::convert::message;
use self::entry::{Entry, EntryKind, Source, function_of};
use super::Log;
use crate::convert::target::text_block;
use crate::dialect::content::{bad_images, kind_of};
use crate::dialect::interface::{Dialect, InvalidReasoning, Sealed, Wrapped};
use crate::dialect::items::NAME;
use crate::dialect::usage::{lessen, sum};
use crate::legality::content::Mend;
use crate::log::compaction::LineText;
use crate::repair::{MISSING_RESULT, RecordChange};
use crate::{
    Edits, Flaw, Links, Message, Object, Outline, Role, Rule, Unread, Usage, UsageOf, json,
};

pub(crate) use convert::Writer;

/// The dialect `kimi`.
pub struct Kimi;

/// The count of a compaction that replaces all messages, however many there are, and of one that
/// replaces none.
const REPLACES_ALL: &str = "9007199254740991";
const REPLACES_NONE: &str = "0";

/// The members of `usage` that add up to the prompt size.
const PROMPT: [&str; 3] = ["inputOther", "inputCacheRead", "inputCacheCreation"];

/// The token counts at the end of a reply.
fn usage_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    let event = object.object_of("event").filter(|event| kind_of(event) == "step.end")?;
    event.object_of("usage")
}

impl Dialect for Kimi {
    fn name(&self) -> &'static str {
        "kimi"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let entry = Entry::of(object)?;
        let role = entry.role()?;
        let mut outline = Outline {
            role,
            begins_turn: entry.is_request(),
            is_summary: entry.is_of(Source::Summary),
            has_content: role != Role::Tool,
            ..Outline::of_line()
        };
        for call in entry.calls() {
            let id = entry.id_of(&call).and_then(json::text).unwrap_or_default();
            outline.fault_if(id.is_empty(), Rule::BadCallId, &id);
            outline.check_tool_name(&function_of(&call), NAME, &id);
            outline.calls.push(id);
        }
        if role == Role::Tool {
            outline.results.push(entry.body.id_of("toolCallId").unwrap_or_default());
        }
        outline.fault_if(!bad_images(entry.blocks()).is_empty(), Rule::BadImage, "");
        Some(outline)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        if let Some(text) = entry::shortened(object) {
            return Some(self.message(&Object::parse(&text).ok()?)?.into_owned());
        }
        let entry = Entry::of(object)?;
        let message = Message {
            reasoning: entry.reasoning(object),
            sealed: entry.signatures().iter().map(|text| text.len() as u64).sum(),
            ..Message::new(entry.role()?, entry.parts(object))
        };
        let is_added = message.role == Role::User && entry.source() != Source::User;
        Some(message.added_if(is_added))
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        Entry::of(object)?.unread(self.name())
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let reasoning = Entry::of(object).map_or(0, |entry| entry.signatures().len());
        Sealed { reasoning, ..Sealed::default() }
    }

    fn invalid_reasoning(&self) -> InvalidReasoning {
        InvalidReasoning::Rejected
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        let Some(entry) = Entry::of(object) else { return };
        // What is accepted as the name of a tool is also accepted as the id of a call.
        for call in entry.calls() {
            mend.name(&function_of(&call), "name", NAME);
            mend.name(&call, entry.id_key(), NAME);
        }
        if entry.role() == Some(Role::Tool) {
            mend.name(&entry.body, entry.id_key(), NAME);
        }
        mend.bad_images(entry.blocks());
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let usage = usage_of(object)?;
        let counts = Usage::new(sum(&usage, &PROMPT), sum(&usage, &["output"]))?;
        Some(Usage { of: UsageOf::Before, ..counts })
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if kind_of(object) == "llm.request" { object.text_of("model") } else { None }
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        Entry::of(object)?.summary()
    }

    fn as_sent(&self, object: &Object<'_>) -> Option<String> {
        entry::shortened(object)
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let Some(entry) = Entry::of(object) else { return Wrapped::default() };
        let is_whole = entry::shortened(object).is_none();
        let note = entry.body.object_of("result").and_then(|result| result.get("note"));
        let more = ["toolCalls", "name"].into_iter().filter_map(|key| entry.body.get(key));
        let content = entry.content().filter(|_| is_whole);
        let summary = entry.body.get("contextSummary").and_then(|_| entry.body.get("summary"));
        Wrapped {
            sent: content.into_iter().chain(more).chain(note).collect(),
            copies: entry.body.get("display").into_iter().chain(summary).collect(),
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let kind = kind_of(object);
        let why = "Kimi Code's branches, which an undo begins, identify lines by number";
        Links {
            stays: kind == "metadata",
            replaces_all: kind == "context.apply_compaction"
                && object.get("compactedCount") == Some(REPLACES_ALL),
            keeps_all: (kind == "agent.switched").then_some(why),
            ..Links::default()
        }
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        let Some(entry) = Entry::of(object) else { return object.text().to_owned() };
        let calls = entry.calls();
        let ids: Vec<_> = calls.iter().map(|call| entry.id_of(call)).collect();
        change.renames(object, &ids, entry.answers()).of_object(object)
    }

    fn missing_result(&self, call: &Object<'_>, id: &str) -> Option<String> {
        let mut edits = Edits::default();
        if Entry::of(call)?.kind == EntryKind::Call {
            let output = LineText::default().text("output", MISSING_RESULT).is("isError", true);
            let event = LineText::of_type("tool.result").text("toolCallId", id);
            edits.set(0, call, "event", &event.json("result", &output.end()).end());
        } else {
            let message = message("tool", &[text_block(MISSING_RESULT)]);
            let message = message.text("toolCallId", id).is("isError", true);
            edits.set(0, call, "message", &message.end());
        }
        Some(edits.of_object(call))
    }
}

impl Log for Kimi {
    parts!(view::Lines, compaction::Writer);

    /// Lowers the count in lines of their own, by which the agent decides when to compact.
    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::default();
        if kind_of(object).starts_with("token_counting.") {
            let by = sum(object, &["tokens"]).saturating_sub(prompt);
            lessen(&mut edits, object, object, &["tokens"], by);
        }
        if let Some(usage) = usage_of(object) {
            let by = sum(&usage, &PROMPT).saturating_sub(prompt);
            lessen(&mut edits, object, &usage, &PROMPT, by);
        }
        edits
    }

    fn repaired(&self, object: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        let mut edits = Edits::default();
        edits.set(0, object, "protocol_version", "\"1.5\"");
        let time = object.get("created_at").filter(|raw| raw.parse::<f64>().is_ok());
        edits.set(0, object, "created_at", time.unwrap_or("0"));
        edits
    }
}
