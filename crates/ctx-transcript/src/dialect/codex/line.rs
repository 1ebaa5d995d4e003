//! What a line of a session file has to do with which others are sent.

use super::compacted::Compacted;
use super::{Entry, injected, loaded};
use crate::dialect::items::Kind;
use crate::dialect::key::Key;
use crate::dialect::{kind_of, role_of};
use crate::{Object, Role};

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// An item of the context.
    Item(Item),
    /// Items that take the place of all before.
    Replacement(Vec<Item>),
    /// A summary that takes the place of all before but what the user said.
    Summary(Item),
    /// A turn begins.
    Began(Key),
    /// A turn tells its settings.
    Settings(Key),
    /// A turn has ended, or has been cut off.
    Ended,
    /// The user has asked, as the screen shows it.
    UserEvent,
    /// The newest turns have been taken back: how many.
    RolledBack(u32),
    /// Anything else.
    Other,
}

/// An item of the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// The length of its texts.
    pub(super) bytes: usize,
}

/// What an item has to do with turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// What the user asks.
    Request,
    /// What another agent asks.
    AgentRequest,
    /// What the client puts before a request.
    Injected,
    /// Of a reply of the model.
    Reply,
    /// A result, a summary, an instruction.
    Other,
}

impl Item {
    fn of(item: &Object<'_>) -> Self {
        Self {
            kind: ItemKind::of(item),
            bytes: injected::texts(item).iter().map(|text| text.len()).sum(),
        }
    }

    /// Of the summary of a compaction without items.
    fn of_summary(text: &str) -> Self {
        Self {
            // One that does not begin as the client's do is taken for the user's.
            kind: if injected::is_summary(text) {
                ItemKind::Other
            } else {
                ItemKind::Request
            },
            bytes: text.len(),
        }
    }

    /// Whether a turn that can be taken back begins with it.
    pub(super) fn begins_turn(self) -> bool {
        matches!(self.kind, ItemKind::Request | ItemKind::AgentRequest)
    }
}

impl ItemKind {
    fn of(item: &Object<'_>) -> Self {
        match Kind::of(item) {
            Some(Kind::AgentMessage) => Self::AgentRequest,
            Some(Kind::Message) => match role_of(item) {
                Some(Role::Assistant) if is_of_agent(item) => Self::AgentRequest,
                Some(Role::Assistant) => Self::Reply,
                _ if injected::is_injected(item) => Self::Injected,
                Some(Role::User) if injected::summary(item).is_none() => Self::Request,
                _ => Self::Other,
            },
            Some(Kind::Reasoning | Kind::Call | Kind::Server) => Self::Reply,
            Some(Kind::Result) | None => Self::Other,
        }
    }
}

/// Whether a message of the model is one that another agent has sent, as JSON.
fn is_of_agent(message: &Object<'_>) -> bool {
    let texts = injected::texts(message);
    let [text] = texts.as_slice() else {
        return false;
    };
    Object::parse(text).is_ok_and(|sent| {
        let keys = ["author", "recipient", "content", "trigger_turn"];
        keys.iter().all(|key| sent.get(key).is_some())
    })
}

impl Line {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let is_bare = object.get("payload").is_none();
        // The client passes over a line without a time.
        if !is_bare && object.text_of("timestamp").is_none() {
            return Self::Other;
        }
        match Entry::of(object) {
            Some(Entry::Item(item)) => {
                // Of bare lines no client of today has a say.
                let is_loaded = is_bare || loaded::is_loaded(&item);
                if is_loaded && loaded::is_sent(&item) {
                    Self::Item(Item::of(&item))
                } else {
                    Self::Other
                }
            }
            Some(Entry::Agent(agent)) if !agent.is_loaded() => Self::Other,
            Some(Entry::Agent(_)) => Self::Item(Item {
                kind: ItemKind::AgentRequest,
                bytes: 0,
            }),
            Some(Entry::Compacted(compacted)) => Self::of_compaction(&compacted),
            None => Self::of_turn(object).unwrap_or(Self::Other),
        }
    }

    fn of_compaction(compacted: &Compacted<'_>) -> Self {
        if !compacted.replaces_all() {
            return Self::Summary(Item::of_summary(&compacted.text()));
        }
        match compacted.items() {
            Some(items) if items.iter().all(loaded::is_loaded) => {
                Self::Replacement(items.iter().map(Item::of).collect())
            }
            _ => Self::Other,
        }
    }

    /// Of a line that tells of turns.
    fn of_turn(object: &Object<'_>) -> Option<Self> {
        let payload = object.object_of("payload")?;
        let turn = || payload.text_of("turn_id").map(|id| Key::of(&id));
        if kind_of(object) == "turn_context" {
            return turn().map(Self::Settings);
        }
        if kind_of(object) != "event_msg" {
            return None;
        }
        match kind_of(&payload).as_ref() {
            "task_started" | "turn_started" => turn().map(Self::Began),
            "task_complete" | "turn_complete" | "turn_aborted" => turn().map(|_| Self::Ended),
            "user_message" => payload.text_of("message").map(|_| Self::UserEvent),
            "thread_rolled_back" => {
                let turns = payload.get("num_turns")?.parse().ok();
                turns.map(Self::RolledBack)
            }
            _ => None,
        }
    }
}
