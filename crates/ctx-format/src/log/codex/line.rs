//! The effect of each line on the context.

use super::entry::{Compacted, Entry};
use super::item::{self, SHAPES};
use crate::dialect::content::{kind_of, role_of};
use crate::dialect::items::ItemType;
use crate::log::links::LineId;
use crate::{Object, Role};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Adds an item to the context.
    Item(Item),
    /// Replaces the whole context with the given items.
    Replacement(Vec<Item>),
    /// Replaces the context with a summary, but keeps the user's requests.
    Summary(Item),
    /// Begins the turn with the given id.
    Began(LineId),
    /// Contains the settings of the turn with the given id.
    Settings(LineId),
    /// Ends a turn, which may have been interrupted.
    Ended,
    /// Contains the on-screen copy of a user request.
    UserEvent,
    /// Undoes the given number of turns, beginning with the newest.
    RolledBack(u32),
    Other,
}

/// What the replay needs to know about a context item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) kind: ItemKind,
    /// The total length of the item's texts in bytes.
    pub(super) bytes: usize,
}

/// The role of an item within its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// A request from the user.
    Request,
    /// A request from another agent.
    AgentRequest,
    /// A text that the client inserts before a request.
    Injected,
    /// Part of a reply from the model.
    Reply,
    /// A tool result, a summary, or an instruction.
    Other,
}

impl Item {
    fn of(item: &Object<'_>) -> Self {
        let texts = item::texts(item);
        Self { kind: ItemKind::of(item), bytes: texts.iter().map(|text| text.len()).sum() }
    }

    /// Returns true if the item begins a turn that a rollback can undo.
    pub(super) fn begins_turn(self) -> bool {
        matches!(self.kind, ItemKind::Request | ItemKind::AgentRequest)
    }
}

impl ItemKind {
    fn of(item: &Object<'_>) -> Self {
        match ItemType::of(item) {
            Some(ItemType::AgentMessage) => Self::AgentRequest,
            Some(ItemType::Message) => match role_of(item) {
                Some(Role::Assistant) if is_of_agent(item) => Self::AgentRequest,
                Some(Role::Assistant) => Self::Reply,
                _ if item::is_injected(item) => Self::Injected,
                Some(Role::User) if item::summary(item).is_none() => Self::Request,
                _ => Self::Other,
            },
            Some(ItemType::Reasoning | ItemType::Call | ItemType::Server) => Self::Reply,
            Some(ItemType::Result | ItemType::Setting) | None => Self::Other,
        }
    }
}

/// Returns true if a model message actually comes from another agent and is stored as JSON.
fn is_of_agent(message: &Object<'_>) -> bool {
    let is_sent = |text: &str| Object::parse(text).is_ok_and(|it| SHAPES.agent_text.is_of(&it));
    matches!(item::texts(message).as_slice(), [text] if is_sent(text))
}

impl Line {
    pub(super) fn of(object: &Object<'_>) -> Self {
        let is_bare = object.get("payload").is_none();
        // The client skips a line that has no timestamp.
        if !is_bare && object.text_of("timestamp").is_none() {
            return Self::Other;
        }
        match Entry::of(object) {
            // The current client does not load lines without an envelope, so its rules for items do
            // not apply to them.
            Some(Entry::Item(item))
                if SHAPES.sent.is_of(&item) && (is_bare || item::is_loaded(&item)) =>
            {
                Self::Item(Item::of(&item))
            }
            Some(Entry::Agent(agent)) if SHAPES.agent_message.is_of(&agent) => {
                Self::Item(Item { kind: ItemKind::AgentRequest, bytes: 0 })
            }
            Some(Entry::Compacted(compacted)) => Self::of_compaction(&compacted),
            Some(Entry::Item(_) | Entry::Agent(_)) => Self::Other,
            None => Self::of_turn(object).unwrap_or(Self::Other),
        }
    }

    fn of_compaction(compacted: &Compacted<'_>) -> Self {
        if !compacted.replaces_all() {
            // If a summary does not begin like the client's own summaries, the client treats it as
            // a user message.
            let text = compacted.text();
            let kind = if item::is_summary(&text) { ItemKind::Other } else { ItemKind::Request };
            return Self::Summary(Item { kind, bytes: text.len() });
        }
        match compacted.items() {
            Some(items) if items.iter().all(item::is_loaded) => {
                Self::Replacement(items.iter().map(Item::of).collect())
            }
            _ => Self::Other,
        }
    }

    fn of_turn(object: &Object<'_>) -> Option<Self> {
        let payload = object.object_of("payload")?;
        let turn = || LineId::at(&payload, "turn_id");
        match (&*kind_of(object), &*kind_of(&payload)) {
            ("turn_context", _) => turn().map(Self::Settings),
            ("event_msg", "task_started" | "turn_started") => turn().map(Self::Began),
            ("event_msg", "task_complete" | "turn_complete" | "turn_aborted") => {
                turn().map(|_| Self::Ended)
            }
            ("event_msg", "user_message") => payload.text_of("message").map(|_| Self::UserEvent),
            ("event_msg", "thread_rolled_back") => {
                payload.get("num_turns")?.parse().ok().map(Self::RolledBack)
            }
            _ => None,
        }
    }
}
