//! The lines of a session, reduced to what matters for the tree.

use crate::dialect::content::{blocks, kind_of};
use crate::log::links::LineId;
use crate::{Object, json};

/// A line, reduced to what matters for the tree.
#[derive(Clone, Debug)]
pub(super) enum Line {
    Node(Node),
    /// The progress of a tool. The tree skips the line: its children become those of its parent.
    Progress {
        id: LineId,
        parent: Option<LineId>,
    },
    /// The user's position when the client was last used.
    LastPrompt {
        /// `None` if the user cleared the conversation.
        leaf: Option<LineId>,
        /// Whether the user moved there explicitly.
        is_explicit: bool,
    },
    Other,
}

/// A line of the tree.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The number of its record, from 0.
    pub(super) record: usize,
    pub(super) id: LineId,
    pub(super) parent: Option<LineId>,
    pub(super) kind: NodeKind,
    /// Milliseconds since 1970, if the line has a time.
    pub(super) time: Option<i64>,
    /// Whether it belongs to a subagent, which has a context of its own.
    pub(super) is_sidechain: bool,
    /// Whether the client sends the line if it is in the context.
    pub(super) is_sent: bool,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    User {
        has_result: bool,
    },
    Assistant {
        /// The reply that the line has a block of.
        reply: Option<LineId>,
    },
    /// The line with which the context begins after a compaction.
    Boundary(Box<Boundary>),
    /// A line that the client added: attachments, notes.
    Client,
}

/// The links of a compaction to the lines before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Boundary {
    /// The last line that it replaces.
    pub(super) before: Option<LineId>,
    pub(super) preserved: Option<Preserved>,
}

/// Old lines that stay in the context after the summary.
#[derive(Clone, Debug)]
pub(super) struct Preserved {
    /// The line after which they are placed.
    pub(super) anchor: LineId,
    /// The ids of all of them, or of the first and the last one of a chain of parents.
    pub(super) ids: Vec<LineId>,
    pub(super) is_chain: bool,
}

impl Node {
    /// Returns true if the user, the model or a tool wrote the line.
    pub(super) fn is_said(&self) -> bool {
        matches!(self.kind, NodeKind::User { .. } | NodeKind::Assistant { .. })
    }

    pub(super) fn is_boundary(&self) -> bool {
        self.boundary().is_some()
    }

    pub(super) fn boundary(&self) -> Option<&Boundary> {
        match &self.kind {
            NodeKind::Boundary(boundary) => Some(boundary),
            _ => None,
        }
    }

    pub(super) fn reply(&self) -> Option<LineId> {
        match self.kind {
            NodeKind::Assistant { reply } => reply,
            _ => None,
        }
    }
}

impl Line {
    /// Reads the line of that record number.
    pub(super) fn of(record: usize, object: &Object<'_>) -> Self {
        let kind = kind_of(object);
        if kind == "last-prompt" {
            return Self::LastPrompt {
                leaf: LineId::at(object, "leafUuid"),
                is_explicit: object.is_true("explicit"),
            };
        }
        let Some(id) = LineId::at(object, "uuid") else {
            return Self::Other;
        };
        let parent = LineId::at(object, "parentUuid");
        let (kind, is_sent) = match &*kind {
            "progress" => return Self::Progress { id, parent },
            "user" => (NodeKind::User { has_result: has_result(object) }, true),
            "assistant" => {
                let message = object.object_of("message");
                let reply = message.and_then(|message| LineId::at(&message, "id"));
                // If the server did not answer, the client writes the reply itself.
                (NodeKind::Assistant { reply }, !object.is_true("isApiErrorMessage"))
            }
            "attachment" => (NodeKind::Client, true),
            "system" => match object.text_of("subtype").as_deref() {
                Some("compact_boundary") => {
                    (NodeKind::Boundary(Box::new(Boundary::of(object))), false)
                }
                subtype => (NodeKind::Client, subtype == Some("local_command")),
            },
            _ => return Self::Other,
        };
        Self::Node(Node {
            record,
            id,
            parent,
            kind,
            time: object.time().map(|time| time.timestamp_millis()),
            is_sidechain: object.is_true("isSidechain"),
            is_sent,
        })
    }
}

fn has_result(object: &Object<'_>) -> bool {
    let is_result = |block: &Object<'_>| kind_of(block) == "tool_result";
    object.object_of("message").is_some_and(|message| blocks(&message).iter().any(is_result))
}

impl Boundary {
    fn of(object: &Object<'_>) -> Self {
        let metadata = object.object_of("compactMetadata");
        let preserved = metadata.and_then(|it| Preserved::list(&it).or(Preserved::chain(&it)));
        Self { before: LineId::at(object, "logicalParentUuid"), preserved }
    }
}

impl Preserved {
    fn list(metadata: &Object<'_>) -> Option<Self> {
        let list = metadata.object_of("preservedMessages")?;
        let ids = list.elements_of("uuids")?.into_iter().filter_map(json::text);
        let ids = ids.map(|id| LineId::of(&id)).collect();
        Some(Self { anchor: LineId::at(&list, "anchorUuid")?, ids, is_chain: false })
    }

    fn chain(metadata: &Object<'_>) -> Option<Self> {
        let segment = metadata.object_of("preservedSegment")?;
        let id = |key| LineId::at(&segment, key);
        let ids = vec![id("headUuid")?, id("tailUuid")?];
        Some(Self { anchor: id("anchorUuid")?, ids, is_chain: true })
    }
}
