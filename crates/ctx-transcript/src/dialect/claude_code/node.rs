//! What a line of a session file says of its place among the others.

use chrono::DateTime;

use crate::Object;
use crate::dialect::key::Key;
use crate::dialect::kind_of;

/// What a line of the tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    User {
        /// Whether it holds the result of a tool.
        has_result: bool,
    },
    Assistant {
        /// The reply that it is a block of.
        reply: Option<Key>,
    },
    /// What the client puts beside what the user says.
    Attachment,
    /// The end of what a compaction stands for.
    Boundary,
    /// Another line of the system.
    System,
}

/// A line of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The number of its record, from 0.
    pub(super) record: usize,
    pub(super) id: Key,
    pub(super) parent: Option<Key>,
    pub(super) kind: Kind,
    /// Milliseconds since 1970; `None` where the line does not say it.
    pub(super) time: Option<i64>,
    /// Whether it belongs to a helper agent, which has a context of its own.
    pub(super) is_sidechain: bool,
    /// Whether the model is sent it when it is in the context.
    pub(super) is_sent: bool,
    /// Of a boundary: the last line before it, and which old lines stay.
    pub(super) boundary: Option<Box<Boundary>>,
}

/// What a compaction says of the lines before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Boundary {
    /// The last line that it stands for.
    pub(super) before: Option<Key>,
    pub(super) preserved: Option<Preserved>,
}

/// Old lines that stay in the context behind the summary.
#[derive(Clone, Debug)]
pub(super) enum Preserved {
    /// Each of them.
    List { anchor: Key, ids: Vec<Key> },
    /// The first and the last one of a chain.
    Segment { anchor: Key, head: Key, tail: Key },
}

/// A line, as far as it has to do with the tree.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Node(Node),
    /// Shown to the user while a tool runs: what hangs on it hangs on its parent.
    Progress {
        id: Key,
        parent: Option<Key>,
    },
    /// Where the user was when the client was last used.
    LastPrompt(LastPrompt),
    /// Anything else.
    Other,
}

/// Where the client was last used.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastPrompt {
    /// `None` where the conversation was emptied.
    pub(super) leaf: Option<Key>,
    /// Whether the user has gone there himself.
    pub(super) is_explicit: bool,
}

impl Node {
    /// Whether the user or the model said it, or a tool.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.kind, Kind::User { .. } | Kind::Assistant { .. })
    }
}

impl Line {
    /// Reads the line of record number `record`.
    pub(super) fn of(record: usize, object: &Object<'_>) -> Self {
        let key = |name: &str| object.text_of(name).map(|id| Key::of(&id));
        let kind = kind_of(object);
        if kind == "last-prompt" {
            return Self::LastPrompt(LastPrompt {
                leaf: key("leafUuid"),
                is_explicit: object.is_true("explicit"),
            });
        }
        let Some(id) = key("uuid") else {
            return Self::Other;
        };
        let parent = key("parentUuid");
        if kind == "progress" {
            return Self::Progress { id, parent };
        }
        let Some((kind, is_sent)) = kind_and_sent(&kind, object) else {
            return Self::Other;
        };
        let time = object.text_of("timestamp");
        let time = time.and_then(|time| DateTime::parse_from_rfc3339(&time).ok());
        Self::Node(Node {
            record,
            id,
            parent,
            kind,
            time: time.map(|time| time.timestamp_millis()),
            is_sidechain: object.is_true("isSidechain"),
            is_sent,
            boundary: (kind == Kind::Boundary).then(|| Box::new(Boundary::of(object))),
        })
    }
}

/// What a line of that type is; `None` when it is not of the tree.
fn kind_and_sent(kind: &str, object: &Object<'_>) -> Option<(Kind, bool)> {
    let message = || object.object_of("message");
    Some(match kind {
        "user" => {
            let content = message().and_then(|message| message.elements_of("content"));
            let mut blocks = content.unwrap_or_default().into_iter();
            let is_result =
                |raw| Object::within(raw).is_some_and(|block| kind_of(&block) == "tool_result");
            let has_result = blocks.any(is_result);
            (Kind::User { has_result }, true)
        }
        "assistant" => {
            let reply = message().and_then(|message| message.text_of("id").map(|id| Key::of(&id)));
            // What the client says itself when the server gave no answer.
            (
                Kind::Assistant { reply },
                !object.is_true("isApiErrorMessage"),
            )
        }
        "attachment" => (Kind::Attachment, true),
        "system" => match object.text_of("subtype").as_deref() {
            Some("compact_boundary") => (Kind::Boundary, false),
            subtype => (Kind::System, subtype == Some("local_command")),
        },
        _ => return None,
    })
}

impl Boundary {
    fn of(object: &Object<'_>) -> Self {
        let key = |object: &Object<'_>, name: &str| object.text_of(name).map(|id| Key::of(&id));
        let metadata = object.object_of("compactMetadata");
        let list = || {
            let list = metadata.as_ref()?.object_of("preservedMessages")?;
            let ids = list.elements_of("uuids")?;
            let ids = ids.into_iter().filter_map(crate::json::text);
            Some(Preserved::List {
                anchor: key(&list, "anchorUuid")?,
                ids: ids.map(|id| Key::of(&id)).collect(),
            })
        };
        let segment = || {
            let segment = metadata.as_ref()?.object_of("preservedSegment")?;
            Some(Preserved::Segment {
                anchor: key(&segment, "anchorUuid")?,
                head: key(&segment, "headUuid")?,
                tail: key(&segment, "tailUuid")?,
            })
        };
        Self {
            before: key(object, "logicalParentUuid"),
            preserved: list().or_else(segment),
        }
    }
}
