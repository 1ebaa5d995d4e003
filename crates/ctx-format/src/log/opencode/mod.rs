//! The sessions of opencode, which keeps them in a database. `opencode export` prints a session as
//! a JSON document, and `opencode import` reads such a document. A record is one of its messages.
//!
//! The format is that of version 1.18.33. Outlines list no calls or results, because a call and its
//! result are in the same part. Before a summary, opencode sends a question of its own, which is
//! not part of the conversation here. A summary has the user role, because no message from the
//! user precedes it.

mod compaction;
mod convert;
mod message;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;

use self::message::{Entry, is_cleared, result};
use super::compaction::LineText;
use super::{About, Log};
use crate::dialect::content::kind_of;
use crate::dialect::interface::{Dialect, Wrapped};
use crate::dialect::unread::has_text;
use crate::dialect::usage::{lessen, sum};
use crate::record::edit::{cut_members, cuts};
use crate::{
    Bond, Edits, Flaw, Links, Media, Message, Object, Outline, Role, SecondCopy, Unread, Usage,
};

pub(crate) use convert::Writer;

/// The dialect `opencode`.
pub struct Opencode;

/// The member `tokens` of a reply whose token counts are unknown.
const NO_USAGE: &str = r#"{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;

impl Dialect for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let entry = Entry::of(object)?;
        let (parts, added) = entry.sent(object);
        if parts.is_empty() {
            return None;
        }
        let is_summary = entry.is_summary();
        Some(Outline {
            role: if is_summary { Role::User } else { entry.role },
            begins_turn: entry.role == Role::User && added.len() < parts.len(),
            is_summary,
            ..Outline::of_line()
        })
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let entry = Entry::of(object)?;
        let (parts, added) = entry.sent(object);
        if parts.is_empty() {
            return None;
        }
        if entry.is_summary() {
            return Some(Message::new(Role::User, parts).added_if(true));
        }
        let parts_of = object.elements_of("parts").unwrap_or_default().into_iter();
        let is_reasoning = |raw| Object::within(raw).is_some_and(|it| kind_of(&it) == "reasoning");
        let items = parts_of.map(|raw| (object.place_of(raw), is_reasoning(raw)));
        let reasoning =
            if entry.role == Role::Assistant { cuts(object.text(), items) } else { Vec::new() };
        Some(Message { added, reasoning, ..Message::new(entry.role, parts) })
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        const EVENTS: &str =
            "step-start step-finish patch snapshot agent retry compaction subtask file";
        let Some(entry) = Entry::of(object) else {
            let role = object.object_of("info")?.get("role")?;
            return Some(Unread::role(self.name(), role));
        };
        let is_read = |part: &&Object<'_>| match &*kind_of(part) {
            "text" | "reasoning" => has_text(part, "text"),
            "tool" => part.object_of("state").is_some(),
            kind => EVENTS.split(' ').any(|it| it == kind),
        };
        entry.parts.iter().find(|part| !is_read(part)).map(|part| Unread::part(part.text()))
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        // The counts of a summary are those of the request for it.
        let entry = Entry::of(object).filter(|it| !it.is_named_summary())?;
        let tokens = entry.info.object_of("tokens")?;
        let cache = tokens.object_of("cache");
        let cached = cache.map_or(0, |cache| sum(&cache, &["read", "write"]));
        let prompt = sum(&tokens, &["input"]).saturating_add(cached);
        Usage::new(prompt, sum(&tokens, &["output", "reasoning"]))
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let Entry { info, .. } = Entry::of(object)?;
        info.text_of("modelID").or_else(|| info.object_of("model")?.text_of("modelID"))
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        Entry::of(object)?.summary().map(Cow::Owned)
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let mut wrapped = Wrapped::default();
        let Some(entry) = Entry::of(object) else { return wrapped };
        for part in &entry.parts {
            match &*kind_of(part) {
                "text" if part.is_true("ignored") => {}
                "text" | "reasoning" => wrapped.sent.extend(part.get("text")),
                "file" => wrapped.sent.extend(part.get("url")),
                "tool" => {
                    let Some(state) = part.object_of("state") else { continue };
                    wrapped.sent.extend(state.get("input"));
                    if !is_cleared(&state) {
                        let result = result(object, part);
                        let place = result.slot.map(|slot| &object.text()[slot.range]);
                        let place = place.or_else(|| state.get("output"));
                        wrapped.sent.extend(place.into_iter().chain(state.get("attachments")));
                    }
                    wrapped.copies.extend(state.get("metadata"));
                }
                _ => {}
            }
        }
        wrapped
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        let Some(entry) = Entry::of(object) else { return Links::default() };
        let mut links = Links::of(&entry.info, "id");
        links.belongs(object, &entry.info, "sessionID");
        let bond = if entry.is_named_summary() { Bond::Needs } else { Bond::Mention };
        links.name(object, &entry.info, &["parentID"], bond);
        for part in &entry.parts {
            links.name(object, part, &["tail_start_id"], Bond::Needs);
        }
        links.names.sort_by_key(|link| link.place.start);
        links
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let entry = Entry::of(object);
        let states = entry.iter().flat_map(|entry| entry.tools().map(|(_, state)| state));
        let copies = states.filter_map(|state| {
            let (output, metadata) = (state.get("output")?, state.object_of("metadata")?);
            let is_copy = |key: &str| matches!(key, "output" | "preview");
            let cuts = cut_members(object, &metadata, |member| is_copy(&member.key));
            let of = object.place_of(output);
            Some(cuts.into_iter().map(move |cut| SecondCopy { of: of.clone(), cut }))
        });
        copies.flatten().collect()
    }

    fn in_place_of(&self, media: &Media<'_>, text: &str) -> String {
        let own = Object::parse(&media.raw).ok();
        let ids = ["id", "sessionID", "messageID"].into_iter();
        let ids = ids.filter_map(|key| Some((key, own.as_ref()?.get(key)?)));
        ids.fold(LineText::of_type("text"), |line, (key, id)| line.json(key, id))
            .text("text", text)
            .end()
    }
}

impl Log for Opencode {
    parts!(view::Lines, compaction::Writer);

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::default();
        let Some(usage) = self.usage(object) else { return edits };
        let by = usage.prompt.saturating_sub(prompt);
        let tokens = object.object_of("info").and_then(|info| info.object_of("tokens"));
        let Some(tokens) = tokens else { return edits };
        // opencode uses the total, if the message states one, to decide whether to compact.
        lessen(&mut edits, object, &tokens, &["total"], by);
        let cached = tokens.object_of("cache");
        let in_cache = cached.as_ref().map_or(0, |it| sum(it, &["read", "write"])).min(by);
        if let Some(cache) = &cached {
            lessen(&mut edits, object, cache, &["read", "write"], in_cache);
        }
        lessen(&mut edits, object, &tokens, &["input"], by - in_cache);
        edits
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        let Some(Entry { info, .. }) = Entry::of(object) else { return About::default() };
        let folder = info.object_of("path").and_then(|path| path.text_of("cwd"));
        About { session: info.text_of("sessionID"), folder, ..About::default() }
    }

    fn repaired(&self, _: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        Edits::default()
    }
}
