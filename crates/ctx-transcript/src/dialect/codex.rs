//! The session files of Codex (rollouts): a log of lines, each an item of OpenAI Responses,
//! an event, or what a compaction left.
//!
//! Where the rules come from: the client 0.169.0, what it sends when it resumes a file.

mod about;
mod agent;
mod base;
mod compacted;
mod compaction;
mod flaws;
mod header;
mod injected;
mod line;
mod loaded;
mod repaired;
mod replay;
#[cfg(test)]
mod tests;
mod view;

use std::borrow::Cow;

use self::agent::Agent;
use self::compacted::Compacted;
use self::line::Line;
use super::{Dialect, Held, Sealed, Sniff, Wrapped, items, kind_of};
use crate::compaction::CompactionWriter;
use crate::rules::{PairBy, Results};
use crate::usage::{lessen, sum};
use crate::view::ViewBuilder;
use crate::{
    About, Class, Edits, Effect, Flaw, Links, Message, Object, Outline, Role, Rules, Unread, Usage,
    UsageOf, json,
};

/// The dialect `codex`.
pub struct Codex;

/// The types of lines by which a file is known.
const OWN_LINES: [&str; 5] = [
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
];

impl Dialect for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        let kind = kind_of(object);
        let has = |key| object.get(key).is_some();
        let is_line = OWN_LINES.contains(&&*kind) && object.object_of("payload").is_some();
        // Files of before September 2025 have items without anything around them, behind
        // a first line like this.
        let is_old_head = kind.is_empty() && !has("role") && has("id") && has("timestamp");
        let is_old_head = is_old_head && has("instructions");
        let is_old_state = object.text_of("record_type").as_deref() == Some("state");
        if is_line || is_old_head || is_old_state {
            Sniff::Yes
        } else {
            Sniff::No
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        match Entry::of(object)? {
            Entry::Item(item) => {
                let outline = items::outline(&item)?;
                let begins_turn = outline.begins_turn && injected::is_request(&item);
                Some(Outline {
                    begins_turn,
                    ..outline
                })
            }
            Entry::Agent(_) => Some(Outline {
                role: Role::User,
                ..Outline::of_line()
            }),
            Entry::Compacted(compacted) => Some(compacted.outline()),
        }
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        match Entry::of(object)? {
            Entry::Item(item) => {
                let role = items::outline(&item)?.role;
                Some(Message::new(role, items::parts(object, &item)))
            }
            Entry::Agent(agent) => Some(Message::new(Role::User, agent.parts())),
            Entry::Compacted(compacted) => Some(compacted.message(object)),
        }
    }

    // What the client does not load is a flaw of the file.
    fn unread(&self, object: &Object<'_>) -> Option<Unread> {
        let unread = |item: &Object<'_>| items::unread(self.name(), item);
        match Entry::of(object)? {
            Entry::Item(item) if object.get("payload").is_none() => unread(&item),
            Entry::Item(item) if loaded::is_passed_over(&item) => None,
            Entry::Item(item) => unread(&item),
            Entry::Agent(_) => None,
            Entry::Compacted(compacted) => compacted.items()?.iter().find_map(unread),
        }
    }

    fn sealed(&self, object: &Object<'_>) -> Sealed {
        items::sealed_in(&match Entry::of(object) {
            Some(Entry::Item(item)) => vec![item],
            Some(Entry::Compacted(compacted)) => compacted.items().unwrap_or_default(),
            Some(Entry::Agent(_)) | None => Vec::new(),
        })
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<Held<'a>> {
        let one = |raw| {
            let message = self.message(object)?;
            Some(Held {
                message,
                raw,
                summary: None,
                begins_turn: self.begins_turn(object),
            })
        };
        match Entry::of(object) {
            None => Vec::new(),
            Some(Entry::Item(said)) => one(said.text().trim().into()).into_iter().collect(),
            Some(Entry::Agent(said)) => one(said.item().into()).into_iter().collect(),
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

    fn why_by_position(&self) -> Option<&'static str> {
        Some("Codex takes turns back by counting the lines that begin them")
    }

    /// The event comes behind the reply, in some versions behind the results of its calls. It
    /// is written again when the limits of the user's plan change, with the same numbers, and
    /// after a compaction with an estimate of the total alone.
    fn usage(&self, object: &Object<'_>) -> Option<Usage> {
        let info = count_of(object)?;
        let last = info.object_of("last_token_usage")?;
        Some(Usage {
            window: info
                .get("model_context_window")
                .and_then(|raw| raw.parse().ok()),
            of: UsageOf::Before,
            ..Usage::new(
                sum(&last, &["input_tokens"]),
                sum(&last, &["output_tokens"]),
            )?
        })
    }

    fn lessened(&self, object: &Object<'_>, prompt: u64) -> Edits {
        let mut edits = Edits::new();
        let info = count_of(object);
        if let Some(last) = info.and_then(|info| info.object_of("last_token_usage")) {
            // The total is what the client goes by, and the cached ones are part of the input.
            let more = |key| sum(&last, &[key]).saturating_sub(prompt);
            let by = more("input_tokens");
            for (key, by) in [
                ("input_tokens", by),
                ("cached_input_tokens", more("cached_input_tokens")),
                ("total_tokens", by),
            ] {
                lessen(&mut edits, object, &last, &[key], by);
            }
        }
        edits
    }

    fn model<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        payload_of(object, "turn_context")?.text_of("model")
    }

    fn about<'a>(&self, object: &Object<'a>) -> About<'a> {
        about::of(object)
    }

    // An old compaction keeps so many bytes of what the user asked; and what another agent
    // says is known as such by all of its text, which counts where turns are taken back.
    fn measures_texts(&self, object: &Object<'_>) -> bool {
        matches!(Line::of(object), Line::Summary(_) | Line::RolledBack(_))
    }

    fn rules(&self) -> Rules {
        Rules {
            // The client gives calls without one a result of its own, and leaves out
            // results without a call.
            results: Results::Later,
            pair_by: PairBy::Id,
            merges_roles: false,
            system_apart: true,
            user_first: false,
        }
    }

    fn is_log(&self) -> bool {
        true
    }

    fn session<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        if let Some(meta) = payload_of(object, "session_meta") {
            return meta.text_of("id");
        }
        let is_old_head = kind_of(object).is_empty() && object.get("instructions").is_some();
        is_old_head.then(|| object.text_of("id")).flatten()
    }

    fn view(&self) -> Option<Box<dyn ViewBuilder>> {
        Some(Box::<view::Builder>::default())
    }

    fn compaction_writer(&self) -> Option<Box<dyn CompactionWriter>> {
        Some(Box::<compaction::Writer>::default())
    }

    fn repaired(&self, object: &Object<'_>, flaw: &Flaw, numbers: &[usize]) -> Edits {
        repaired::repaired(object, flaw.rule, numbers)
    }

    fn on_damage(&self, class: Class) -> Option<(Effect, &'static str)> {
        let loads_nothing = (Effect::Refused, "Codex loads nothing of the file");
        (class == Class::NotUtf8).then_some(loads_nothing)
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        let text = json::quoted(text);
        // The client passes over a line without a time.
        format!(
            r#"{{"timestamp":"1970-01-01T00:00:00.000Z","type":"compacted","payload":{{"message":{text},"replacement_history":[{{"type":"message","role":"user","content":[{{"type":"input_text","text":{text}}}]}}]}}}}"#
        )
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        match Entry::of(object)? {
            Entry::Compacted(compacted) => compacted.summary(),
            _ => None,
        }
    }
}

/// The payload of a line of that type.
fn payload_of<'a>(object: &Object<'a>, kind: &str) -> Option<Object<'a>> {
    (kind_of(object) == kind).then(|| object.object_of("payload"))?
}

/// What the event `token_count` tells of the tokens.
fn count_of<'a>(object: &Object<'a>) -> Option<Object<'a>> {
    let event = payload_of(object, "event_msg").filter(|it| kind_of(it) == "token_count")?;
    event.object_of("info")
}

/// What of a line the model may be sent.
enum Entry<'a> {
    Item(Object<'a>),
    /// What another agent says, in the files of some versions.
    Agent(Agent<'a>),
    Compacted(Compacted<'a>),
}

impl<'a> Entry<'a> {
    fn of(object: &Object<'a>) -> Option<Self> {
        let payload = || object.object_of("payload");
        match kind_of(object).as_ref() {
            "response_item" => payload().map(Self::Item),
            "inter_agent_communication" => payload().map(Agent::of).map(Self::Agent),
            "compacted" => Compacted::of(object, &payload()?).map(Self::Compacted),
            _ if object.get("payload").is_some() => None,
            _ => items::Kind::of(object).map(|_| Self::Item(object.clone())),
        }
    }
}
