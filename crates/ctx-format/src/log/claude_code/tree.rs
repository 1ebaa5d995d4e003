//! The lines of a session as a tree. A compaction changes the parents of some lines.
//!
//! The rules in this file, in `context.rs` and in `view.rs` follow the loaders in client versions
//! 2.1.197 and 2.1.332, and were checked against what these versions send.

use std::collections::{HashMap, HashSet};

use super::{is_snapshot, version};
use crate::dialect::content::{blocks, kind_of};
use crate::log::links::{ById, LineId, Tree, TreeLine};
use crate::{Object, json};

/// A line of the file as a node in the tree.
#[derive(Default)]
pub(super) struct Node {
    /// The number of the line's record, starting at 0.
    pub(super) record: usize,
    pub(super) id: LineId,
    pub(super) parent: Option<LineId>,
    /// Whether the line names an empty id as its parent, at which the client ends the path.
    pub(super) is_cut_off: bool,
    /// The time of the line in milliseconds since 1970, if it has one.
    pub(super) time: Option<i64>,
    /// Whether the user, the model or a tool wrote the line. The client itself adds all other
    /// lines: attachments, notes and boundaries.
    pub(super) is_said: bool,
    /// Whether the line contains a tool result.
    pub(super) has_result: bool,
    /// The id of the line with the call that the result answers.
    pub(super) caller: Option<LineId>,
    /// Whether the client added the line to the conversation, for itself or for the model.
    pub(super) is_added: bool,
    /// Whether the line contains a call.
    pub(super) has_call: bool,
    /// The id of the reply, if the line contains a block from a reply.
    pub(super) reply: Option<LineId>,
    /// The references of a boundary to earlier lines; `None` if the line is not a boundary.
    pub(super) boundary: Option<Box<Boundary>>,
    /// Whether the line belongs to a subagent, which has its own context.
    pub(super) is_sidechain: bool,
    /// Whether the client sends the line when it is in the context.
    pub(super) is_sent: bool,
}

/// A compaction's references to the lines before it.
pub(super) struct Boundary {
    /// The id of the last line that the compaction replaces.
    pub(super) before: Option<LineId>,
    pub(super) preserved: Option<Preserved>,
}

/// The old lines that a compaction keeps in the context, after its summary.
pub(super) struct Preserved {
    /// The id of the line after which the kept lines are placed.
    anchor: LineId,
    /// The ids of all kept lines, or, if they form a chain of parents, only those of the first and
    /// last line.
    pub(super) ids: Vec<LineId>,
    pub(super) is_chain: bool,
}

impl Preserved {
    fn of(boundary: &Object<'_>) -> Option<Self> {
        let metadata = boundary.object_of("compactMetadata")?;
        Self::list(&metadata).or(Self::chain(&metadata))
    }

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

/// All lines of a session, each of which names its parent.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines in file order. If several lines have the same id, only the last of them is
    /// included.
    pub(super) nodes: Vec<Node>,
    places: ById<usize>,
    /// The parents of lines that only show a tool's progress. Such lines are skipped when parents
    /// are followed.
    progress: ById<Option<LineId>>,
    /// The numbers of records whose id is repeated by a later line.
    pub(super) superseded: Vec<usize>,
    /// The id of the main agent's last line.
    pub(super) newest: Option<LineId>,
    pub(super) last: LastUse,
    /// The version of the client that wrote the last line, as raw JSON.
    version: String,
}

/// Where the user last was in the conversation.
#[derive(Default)]
pub(super) struct LastUse {
    pub(super) leaf: Option<LineId>,
    /// Whether the user explicitly moved to this line.
    pub(super) is_explicit: bool,
    /// Whether the user cleared the conversation.
    pub(super) is_emptied: bool,
}

impl Lines {
    /// Adds the next record.
    pub(super) fn add(&mut self, record: usize, object: &Object<'_>) {
        let kind = kind_of(object);
        if kind == "last-prompt" {
            self.last.is_at(LineId::at(object, "leafUuid"), object.is_true("explicit"));
        }
        let Some(id) = LineId::at(object, "uuid") else { return };
        let named = |key| {
            let parent = LineId::at_filled(object, key)?;
            self.progress.get(&parent).copied().unwrap_or(Some(parent))
        };
        let mut node = Node {
            record,
            id,
            parent: named("parentUuid"),
            is_cut_off: object.get("parentUuid") == Some("\"\""),
            is_sidechain: object.is_true("isSidechain"),
            is_sent: true,
            ..Node::default()
        };
        match &*kind {
            "progress" => {
                self.progress.insert(id, node.parent);
                return;
            }
            "user" => {
                (node.is_said, node.has_result) = (true, has_block(object, "tool_result"));
                node.caller = LineId::at(object, "sourceToolAssistantUUID");
                node.is_added = !node.has_result && object.is_true("isMeta");
            }
            "assistant" => {
                let message = object.object_of("message");
                node.reply = message.and_then(|message| LineId::at(&message, "id"));
                // If the server does not respond, the client writes an error message as the reply.
                (node.is_said, node.is_sent) = (true, !object.is_true("isApiErrorMessage"));
                node.has_call = has_block(object, "tool_use");
            }
            "attachment" => (node.is_added, node.is_sent) = (true, !is_snapshot(object)),
            "system" => {
                let subtype = object.text_of("subtype");
                node.is_sent = subtype.as_deref() == Some("local_command");
                if subtype.is_some_and(|subtype| subtype == "compact_boundary") {
                    let before = named("logicalParentUuid");
                    let preserved = Preserved::of(object);
                    node.boundary = Some(Box::new(Boundary { before, preserved }));
                }
                node.is_added = node.boundary.is_none();
            }
            _ => return,
        }
        if let Some(version) = object.get("version").filter(|version| *version != self.version) {
            version.clone_into(&mut self.version);
        }
        node.time = object.time().map(|time| time.timestamp_millis());
        self.add_node(node);
    }

    fn add_node(&mut self, node: Node) {
        if !node.is_sidechain {
            self.newest = Some(node.id);
            self.last.is_explicit = false;
            self.last.is_emptied = false;
        }
        if node.boundary.is_some() {
            self.last.leaf = None;
            self.last.is_explicit = false;
        }
        if let Some(place) = self.places.get(&node.id) {
            self.superseded.push(self.nodes[*place].record);
            self.nodes[*place] = node;
        } else {
            self.places.insert(node.id, self.nodes.len());
            self.nodes.push(node);
        }
    }

    /// Returns true if the client inserts blocks that are not on the path where they were written.
    /// Older clients send such blocks after the last block of the reply that is on the path.
    pub(super) fn keeps_order(&self) -> bool {
        version(&self.version) >= [2, 1, 261]
    }

    /// Returns the index of the line with the given id; `None` if no line has this id.
    pub(super) fn place(&self, id: Option<LineId>) -> Option<usize> {
        self.places.get(&id?).copied()
    }
}

fn has_block(object: &Object<'_>, kind: &str) -> bool {
    let is_of_kind = |block: &Object<'_>| kind_of(block) == kind;
    object.object_of("message").is_some_and(|message| blocks(&message).iter().any(is_of_kind))
}

impl LastUse {
    fn is_at(&mut self, leaf: Option<LineId>, is_explicit: bool) {
        if leaf.is_some() {
            let is_same = self.leaf == leaf;
            self.is_explicit = is_explicit || (self.is_explicit && is_same);
            self.leaf = leaf;
            self.is_emptied = false;
        } else if is_explicit {
            *self = Self { is_emptied: true, ..Self::default() };
        }
    }
}

/// The tree as the client's loader builds it. If a compaction keeps old lines, all other old lines
/// are removed from the tree, and some lines get a new parent.
pub(super) struct LoadedTree<'l> {
    pub(super) lines: &'l Lines,
    /// The new parent of each moved line, by the line's index.
    parents: HashMap<usize, LineId>,
    gone: HashSet<usize>,
    /// Whether the context belongs to a subagent.
    pub(super) is_sidechain: bool,
}

impl<'l> LoadedTree<'l> {
    pub(super) fn new(lines: &'l Lines) -> Self {
        Self { lines, parents: HashMap::new(), gone: HashSet::new(), is_sidechain: false }
    }

    pub(super) fn place(&self, id: Option<LineId>) -> Option<usize> {
        self.lines.place(id).filter(|place| !self.gone.contains(place))
    }

    pub(super) fn parent_id(&self, place: usize) -> Option<LineId> {
        self.parents.get(&place).copied().or(self.lines.nodes[place].parent)
    }

    /// The lines that are still in the tree.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &'l Node)> {
        let nodes = self.lines.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !self.gone.contains(place))
    }

    /// Moves the old lines kept by the last compaction to the place after its summary and removes
    /// all other lines before the compaction. Returns the id of the last kept line.
    pub(super) fn keep_preserved(&mut self) -> Option<LineId> {
        let nodes = &self.lines.nodes;
        let preserved = |node: &'l Node| node.boundary.as_ref()?.preserved.as_ref();
        let last = nodes.iter().rposition(|node| node.boundary.is_some())?;
        if !nodes.iter().any(|node| preserved(node).is_some()) {
            return None;
        }
        let mut kept = Vec::new();
        if let Some(preserved) = preserved(&nodes[last]) {
            kept = self.preserved(preserved)?;
            self.put_behind(preserved.anchor, &kept);
        }
        let is_kept: HashSet<usize> = kept.iter().copied().collect();
        self.gone.extend((0..last).filter(|place| !is_kept.contains(place)));
        let end = nodes[*kept.last()?].id;
        for (place, node) in nodes.iter().enumerate() {
            let parent = self.lines.place(self.parent_id(place));
            if node.is_said && parent.is_some_and(|parent| self.gone.contains(&parent)) {
                self.parents.insert(place, end);
            }
        }
        Some(end)
    }

    /// Returns the indexes of the lines that a compaction keeps; `None` if any of them is missing.
    pub(super) fn preserved(&self, kept: &Preserved) -> Option<Vec<usize>> {
        let places = kept.ids.iter().map(|id| self.place(Some(*id)));
        let places: Vec<usize> = places.collect::<Option<_>>()?;
        let (true, [head, tail]) = (kept.is_chain, &places[..]) else { return Some(places) };
        let mut up: Vec<usize> = self.ancestors(*tail).collect();
        up.truncate(up.iter().position(|place| place == head)? + 1);
        up.reverse();
        Some(up)
    }

    /// Inserts the lines `kept` between the line `anchor` and the children of that line.
    fn put_behind(&mut self, anchor: LineId, kept: &[usize]) {
        let mut end = anchor;
        for place in kept {
            self.parents.insert(*place, end);
            end = self.lines.nodes[*place].id;
        }
        for place in 0..self.lines.nodes.len() {
            if self.parent_id(place) == Some(anchor) && Some(&place) != kept.first() {
                self.parents.insert(place, end);
            }
        }
    }
}

impl Tree for LoadedTree<'_> {
    const DIALECT: &'static str = "claude-code";

    fn parent(&self, place: usize) -> Option<usize> {
        self.place(self.parent_id(place))
    }

    fn line(&self, place: usize) -> TreeLine {
        let node = &self.lines.nodes[place];
        TreeLine {
            record: node.record,
            names_parent: self.parent_id(place).is_some() || node.is_cut_off,
            is_boundary: node.boundary.is_some(),
            is_sent: node.is_said && node.is_sent,
            may_be_parent: node.is_said && node.is_sidechain == self.is_sidechain,
        }
    }
}
