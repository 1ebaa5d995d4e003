//! The session files of pi, and of `OpenClaw`, which grew out of it: a header, then entries that
//! name their parents.
//!
//! Shapes are those of pi 0.73.1 and 1.5.2, whose files have been of versions 1 to 3, and of
//! `OpenClaw` 2026.9.6. What the agent itself puts around a summary to say that it is one is not
//! counted as said. Nor are its `system` messages: they declare the prompt and the tools, which are no
//! part of the conversation.

mod about;
mod compaction;
mod entry;
mod flaws;
mod header;
mod links;
mod node;
mod reply;
mod shell;
mod system;
#[cfg(test)]
mod tests;
mod tree;
mod view;

use std::borrow::Cow;

use self::entry::{Entry, Kind};
use super::{Dialect, Sealed, Sniff, Wrapped, anthropic, kind_of, parts};
use crate::compaction::CompactionWriter;
use crate::rules::{PairBy, Results};
use crate::usage::{lessen, sum};
use crate::view::ViewBuilder;
use crate::{
    About, Class, Edits, Effect, Flaw, Links, Message, Object, Outline, Part, Role, Rules,
    SecondCopy, Unread, Usage, json,
};

/// The dialect `pi`.
pub struct Pi;

impl Pi {
    /// The `usage` of a reply of which nobody knows what it has used: each must have one.
    pub const NO_USAGE: &str = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}"#;
}

/// The numbers of a prompt; what was read from the cache is most of it.
const PROMPT: [&str; 3] = ["cacheRead", "cacheWrite", "input"];

/// Types of entries that have an id and a parent.
const IN_TREE: [&str; 13] = [
    "message",
    "compaction",
    "branch_summary",
    "custom_message",
    "custom",
    "model_change",
    "thinking_level_change",
    "label",
    "session_info",
    "usage",
    "context_edit",
    // The last ones are OpenClaw's.
    "reset",
    "leaf",
];

impl Dialect for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let kind = kind_of(object);
        let has_all = |keys: [&str; 3]| keys.iter().all(|key| object.get(key).is_some());
        let is_header = kind == "session" && has_all(["id", "timestamp", "cwd"]);
        let is_of_tree = || has_all(["id", "parentId", "timestamp"]);
        if is_header || (IN_TREE.contains(&&*kind) && is_of_tree()) {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        if let Some(text) = self.edited(object) {
            return Some(self.outline(&Object::parse(&text).ok()?)?.into_owned());
        }
        let entry = Entry::of(object)?;
        let mut outline = Outline {
            role: role(entry.kind),
            begins_turn: entry.kind == Kind::User,
            is_summary: entry.kind == Kind::Compaction,
            ..Outline::of_line()
        };
        match entry.kind {
            Kind::Assistant => outline.calls = reply::ids_of_calls(&entry.said),
            Kind::ToolResult => {
                outline.has_content = false;
                let id = entry.said.text_of("toolCallId");
                outline.results.push(id.unwrap_or_default());
            }
            _ => {}
        }
        Some(outline)
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        if let Some(text) = self.edited(object) {
            let message = self.message(&Object::parse(&text).ok()?)?;
            return Some(message.into_owned().without_places());
        }
        let Entry { kind, said } = Entry::of(object)?;
        let parts = match kind {
            Kind::Compaction | Kind::Summary => said
                .text_of("summary")
                .map(Part::Text)
                .into_iter()
                .collect(),
            Kind::Shell => vec![Part::Text(shell::text(&said).into())],
            Kind::ToolResult => vec![Part::Result(reply::result(object, &said))],
            _ => parts(said.get("content"), &|block| reply::part(object, block)),
        };
        let is_reply = kind == Kind::Assistant;
        let place = is_reply.then(|| reply::place_of_reasoning(object, &said));
        let sealed = anthropic::sealed(&said, &parts, "thinkingSignature");
        Some(Message {
            sealed,
            // Only results have it.
            name: said.text_of("toolName"),
            reasoning: place.unwrap_or_default(),
            ..Message::new(role(kind), parts)
        })
    }

    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let Some(Entry { kind, said }) = Entry::of(object) else {
            if kind_of(object) == "context_edit" {
                return Unread::in_content(entry::new_content(object), reply::is_read);
            }
            let message = object.object_of("message");
            let message = message.filter(|_| kind_of(object) == "message")?;
            let role = message.get("role").unwrap_or("null");
            return (role != system::ROLE).then(|| Unread::role(self.name(), role));
        };
        match kind {
            Kind::Compaction | Kind::Summary | Kind::Shell => None,
            _ => Unread::in_content(said.get("content"), reply::is_read),
        }
    }

    fn edited(&self, object: &Object<'_>) -> Option<String> {
        entry::edited(object)
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        let Some(Entry { kind, said }) = Entry::of(object) else {
            return Wrapped::default();
        };
        let is_edited = self.edited(object).is_some();
        let of = |keys: &[&str]| keys.iter().filter_map(|key| said.get(key)).collect();
        Wrapped {
            sent: match kind {
                Kind::Compaction | Kind::Summary => of(&["summary"]),
                Kind::Shell => of(&["command", "output"]),
                _ if is_edited => Vec::new(),
                _ => of(&["content"]),
            },
            copies: match kind {
                Kind::ToolResult => of(&["details"]),
                _ => Vec::new(),
            },
        }
    }

    fn links<'a>(&self, object: &Object<'a>) -> Links<'a> {
        links::of(object)
    }

    fn second_copies(&self, object: &Object<'_>) -> Vec<SecondCopy> {
        let entry = Entry::of(object).filter(|entry| entry.kind == Kind::ToolResult);
        let copy =
            entry.and_then(|entry| SecondCopy::at(object, &entry.said, "content", "details"));
        copy.into_iter().collect()
    }

    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let usage = usage_of(object)?;
        Usage::new(sum(&usage, &PROMPT), sum(&usage, &["output"]))
    }

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::new();
        if let Some(usage) = usage_of(object) {
            let by = sum(&usage, &PROMPT).saturating_sub(prompt);
            lessen(&mut edits, object, &usage, &PROMPT, by);
            // The agent goes by the total where it is there.
            lessen(&mut edits, object, &usage, &["totalTokens"], by);
        }
        edits
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if kind_of(object) == "model_change" {
            return object.text_of("modelId");
        }
        let entry = Entry::of(object).filter(|entry| entry.kind == Kind::Assistant)?;
        entry.said.text_of("model")
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        about::of(object)
    }

    fn rules(&self) -> Rules {
        Rules {
            // The agent makes up results that are missing, and moves none.
            results: Results::BehindReply,
            pair_by: PairBy::Id,
            merges_roles: false,
            system_apart: false,
            user_first: false,
        }
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        let entry = Entry::of(object);
        entry.map_or_else(Sealed::default, |it| {
            anthropic::sealed_in(&it.said, "thinkingSignature")
        })
    }

    fn is_log(&self) -> bool {
        true
    }

    fn session<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let is_header = kind_of(object) == "session";
        is_header.then(|| object.text_of("id")).flatten()
    }

    fn view(&self) -> Option<Box<dyn ViewBuilder>> {
        Some(Box::<view::Builder>::default())
    }

    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        Some(Box::<compaction::Writer>::default())
    }

    fn repaired(&self, object: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        let mut edits = Edits::new();
        if let Some(parent) = object.get("parentId") {
            edits.replace(object.place_of(parent), "null".to_owned());
        }
        edits
    }

    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)> {
        (class == Class::NotUtf8)
            .then_some((Effect::Harmless, "pi reads other characters in their place"))
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        format!(
            r#"{{"type":"compaction","summary":{}}}"#,
            json::quoted(text)
        )
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let entry = Entry::of(object)?;
        let is_summary = entry.kind == Kind::Compaction;
        is_summary.then(|| entry.said.text_of("summary")).flatten()
    }
}

/// Who speaks, for the model: all that is no reply and no result is the user's.
/// The numbers of a reply.
fn usage_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    let entry = Entry::of(object).filter(|entry| entry.kind == Kind::Assistant)?;
    // What was broken off has the numbers of when it was.
    entry.is_whole().then(|| entry.said.object_of("usage"))?
}

fn role(kind: Kind) -> Role {
    match kind {
        Kind::Assistant => Role::Assistant,
        Kind::ToolResult => Role::Tool,
        _ => Role::User,
    }
}
