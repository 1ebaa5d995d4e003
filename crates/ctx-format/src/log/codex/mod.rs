//! The session files of Codex (rollouts). Each line is an item of the OpenAI Responses API, an
//! event, or a compaction.
//!
//! The rules follow client version 0.169.0, and were checked against what that version sends when
//! it resumes a session file.

mod compaction;
mod convert;
mod entry;
mod flaws;
mod item;
mod line;
mod replay;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::entry::Entry;
use self::line::Line;
use super::{About, Log};
use crate::dialect::content::{kind_of, with_text};
use crate::dialect::interface::{Dialect, HeldMessage, Sealed, Wrapped};
use crate::dialect::items;
use crate::dialect::usage::{lessen, sum};
use crate::legality::content::{Mend, Names};
use crate::record::edit::cut_members;
use crate::repair::{NewResult, RecordChange};
use crate::{Edits, Flaw, Links, Message, Object, Outline, Role, Unread, Usage, UsageOf};

pub(crate) use convert::Writer;

/// The dialect `codex`.
pub struct Codex;

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let (mut outline, text) = match Entry::of(object)? {
            Entry::Item(item) => (item::outline(&item)?, item.text()),
            Entry::Agent(_) => return Some(Outline { role: Role::User, ..Outline::of_line() }),
            Entry::Compacted(compacted) => (compacted.outline(), object.text()),
        };
        outline.check_surrogates(text);
        Some(outline)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        match Entry::of(object)? {
            Entry::Item(item) => items::message_of(object, &item),
            Entry::Agent(agent) => {
                Some(self.message(&Object::parse(&items::of_agent(&agent)).ok()?)?.into_owned())
            }
            Entry::Compacted(compacted) => Some(compacted.message(object)),
        }
    }

    // Items that the client does not load are reported as flaws in the file.
    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let has_envelope = object.get("payload").is_some();
        match Entry::of(object)? {
            Entry::Item(item) if has_envelope && item::is_passed_over(&item) => None,
            entry => entry.items()?.iter().find_map(|item| items::unread(self.name(), item)),
        }
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let items = Entry::of(object).and_then(|entry| entry.items());
        items::sealed_in(&items.unwrap_or_default())
    }

    fn names(&self) -> Names {
        Names { calls: items::CALL_ID, tools: items::TOOL }
    }

    fn mend(&self, object: &Object<'_>, mend: &mut Mend<'_, '_>) {
        if let Some(Entry::Item(item)) = Entry::of(object) {
            items::mend(&item, mend);
        }
    }

    /// Reads the token counts from the event after a reply or, in some versions, after the results
    /// of its calls. If the limits of the user's plan change, the client writes another event with
    /// the same counts. After a compaction, the client writes an event that only estimates the
    /// total.
    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let info = count_of(object)?;
        let last = info.object_of("last_token_usage")?;
        Some(Usage {
            window: info.get("model_context_window").and_then(|raw| raw.parse().ok()),
            of: UsageOf::Before,
            ..Usage::new(sum(&last, &["input_tokens"]), sum(&last, &["output_tokens"]))?
        })
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        payload_of(object, "turn_context")?.text_of("model")
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let Entry::Compacted(compacted) = Entry::of(object)? else { return None };
        compacted.summary()
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        match Entry::of(object) {
            None => Vec::new(),
            Some(Entry::Item(item)) => HeldMessage::alone(self, object, item.text().trim().into()),
            Some(Entry::Agent(it)) => HeldMessage::alone(self, object, items::of_agent(&it).into()),
            Some(Entry::Compacted(compacted)) => compacted.held(object),
        }
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        match Entry::of(object) {
            Some(Entry::Compacted(compacted)) => compacted.wrapped(),
            _ => Wrapped {
                sent: vec![object.get("payload").unwrap_or(object.text().trim_end())],
                copies: Vec::new(),
            },
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let meta = payload_of(object, "session_meta");
        let mut links = Links {
            stays: meta.is_some(),
            replaces_all: matches!(Line::of(object), Line::Replacement(_)),
            ..Links::default()
        };
        if let Some(meta) = meta {
            links.belongs(object, &meta, "id");
        }
        links
    }

    fn changed(&self, object: &Object<'_>, change: &RecordChange, _into: Vec<String>) -> String {
        let item = object.object_of("payload");
        let edits = item.map(|item| items::changed(object, &item, change));
        edits.unwrap_or_default().of_object(object)
    }

    fn new_result(&self, result: &NewResult<'_>) -> Option<String> {
        let line = result.found.as_ref().map_or(&result.call, |(line, _)| line);
        let item = line.object_of("payload")?;
        let item = match result.found {
            Some(_) => with_text(&item, "call_id", result.id),
            None => items::missing_result(&item, result.id)?,
        };
        let mut edits = Edits::default();
        // Two lines cannot have the same number.
        edits.cut(cut_members(line, line, |member| member.key == "ordinal"));
        edits.set(0, line, "payload", &item);
        Some(edits.of_object(line))
    }
}

impl Log for Codex {
    parts!(replay::Builder, compaction::Writer);

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::default();
        let info = count_of(object);
        if let Some(last) = info.and_then(|info| info.object_of("last_token_usage")) {
            let [input, cached] = ["input_tokens", "cached_input_tokens"];
            // Cached tokens are included in the input tokens. The client compares the total with a
            // limit to decide whether to compact.
            for (key, of) in [(input, input), (cached, cached), ("total_tokens", input)] {
                let by = sum(&last, &[of]).saturating_sub(prompt);
                lessen(&mut edits, object, &last, &[key], by);
            }
        }
        edits
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let mut about = About::default();
        if let Some(meta) = payload_of(object, "session_meta") {
            (about.session, about.folder) = (meta.text_of("id"), meta.text_of("cwd"));
        } else if let Some(event) = event_of(object, "thread_name_updated") {
            about.name = event.text_of("thread_name");
        } else if kind_of(object).is_empty() && object.get("instructions").is_some() {
            about.session = object.text_of("id");
        }
        about
    }

    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, numbers: &[usize]) -> Edits {
        flaws::repaired(object, flaw.rule, numbers)
    }
}

/// The payload of a line, if the line has the type `kind`.
fn payload_of<'a>(object: &Object<'a>, kind: &str) -> Option<Object<'a>> {
    if kind_of(object) == kind { object.object_of("payload") } else { None }
}

/// Returns true if a header states that the session begins in another file. Codex writes such files
/// when the user goes back in a session, or forks it.
fn begins_elsewhere(header: &Object<'_>) -> bool {
    header.object_of("history_base").is_some()
}

/// Returns true if a header states that every line in the file has a number.
fn is_paginated(header: &Object<'_>) -> bool {
    header.text_of("history_mode").as_deref() == Some("paginated")
}

fn event_of<'a>(object: &Object<'a>, kind: &str) -> Option<Object<'a>> {
    payload_of(object, "event_msg").filter(|event| kind_of(event) == kind)
}

/// The token counts in an event, if it has any.
fn count_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    event_of(object, "token_count")?.object_of("info")
}
