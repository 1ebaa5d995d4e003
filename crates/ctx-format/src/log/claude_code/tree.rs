//! The lines of a session as a tree, with the parents that a compaction gives them.
//!
//! The rules here, in `context.rs` and in `view.rs` come from the client's own loader in version 2.1.197, and
//! were compared with what it sends.

use std::collections::{HashMap, HashSet};

use super::line::{Line, Node, NodeKind, Preserved};
use crate::log::links::{ById, LineId, Tree, TreeAgent, TreeLine};

/// The lines of a session, which name their parents.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines in the order of the file. If an id repeats, only the last line with it.
    pub(super) nodes: Vec<Node>,
    places: ById<usize>,
    /// The parents of lines that only show progress.
    progress: ById<Option<LineId>>,
    /// Records whose id a later line repeats.
    pub(super) superseded: Vec<usize>,
    /// The last line of the main agent.
    pub(super) newest: Option<LineId>,
    pub(super) last: LastUse,
}

/// The user's last position.
#[derive(Default)]
pub(super) struct LastUse {
    pub(super) leaf: Option<LineId>,
    /// Whether the user moved there explicitly.
    pub(super) is_explicit: bool,
    /// Whether the user cleared the conversation.
    pub(super) is_emptied: bool,
}

impl Lines {
    pub(super) fn add(&mut self, line: Line) {
        match line {
            Line::Node(node) => self.add_node(node),
            Line::Progress { id, parent } => {
                let parent = self.without_progress(parent);
                self.progress.insert(id, parent);
            }
            Line::LastPrompt { leaf, is_explicit } => self.last.is_at(leaf, is_explicit),
            Line::Other => {}
        }
    }

    fn add_node(&mut self, mut node: Node) {
        node.parent = self.without_progress(node.parent);
        if let NodeKind::Boundary(boundary) = &mut node.kind {
            boundary.before = self.without_progress(boundary.before);
        }
        if !node.is_sidechain {
            self.newest = Some(node.id);
            self.last.is_explicit = false;
            self.last.is_emptied = false;
        }
        if node.is_boundary() {
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

    fn without_progress(&self, parent: Option<LineId>) -> Option<LineId> {
        let parent = parent?;
        self.progress.get(&parent).copied().unwrap_or(Some(parent))
    }

    /// Returns the index of the line with that id.
    pub(super) fn place(&self, id: Option<LineId>) -> Option<usize> {
        self.places.get(&id?).copied()
    }
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

/// The tree as the loader sees it: without the lines that a compaction with kept lines removed, and
/// with the changed parents.
pub(super) struct LoadedTree<'l> {
    pub(super) lines: &'l Lines,
    /// The new parents of moved lines.
    parents: HashMap<usize, LineId>,
    gone: HashSet<usize>,
    /// Whether the context is that of a subagent.
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

    /// The lines that were not removed.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &'l Node)> {
        let nodes = self.lines.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !self.gone.contains(place))
    }

    /// Moves the old lines that the last compaction keeps after its summary, and removes all other
    /// lines before it. Returns the last kept line.
    pub(super) fn keep_preserved(&mut self) -> Option<LineId> {
        let nodes = &self.lines.nodes;
        let preserved = |node: &'l Node| node.boundary()?.preserved.as_ref();
        let last = nodes.iter().rposition(Node::is_boundary)?;
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
            if node.is_said() && parent.is_some_and(|parent| self.gone.contains(&parent)) {
                self.parents.insert(place, end);
            }
        }
        Some(end)
    }

    /// The indexes of kept lines; `None` if one of them is missing.
    pub(super) fn preserved(
        &self,
        Preserved { ids, is_chain, .. }: &Preserved,
    ) -> Option<Vec<usize>> {
        let places: Vec<usize> =
            ids.iter().map(|id| self.place(Some(*id))).collect::<Option<_>>()?;
        let (true, [head, tail]) = (*is_chain, places.as_slice()) else {
            return Some(places);
        };
        let mut up: Vec<usize> = self.ancestors(*tail).collect();
        up.truncate(up.iter().position(|place| place == head)? + 1);
        up.reverse();
        Some(up)
    }

    /// Inserts kept lines between `anchor` and its children.
    fn put_behind(&mut self, anchor: LineId, kept: &[usize]) {
        let Some(last) = kept.last() else {
            return;
        };
        let mut parent = anchor;
        for place in kept {
            self.parents.insert(*place, parent);
            parent = self.lines.nodes[*place].id;
        }
        let end = self.lines.nodes[*last].id;
        for place in 0..self.lines.nodes.len() {
            if self.parent_id(place) == Some(anchor) && Some(&place) != kept.first() {
                self.parents.insert(place, end);
            }
        }
    }
}

impl Tree for LoadedTree<'_> {
    const AGENT: TreeAgent = TreeAgent {
        name: "Claude Code",
        line: "line",
        parent: "parentUuid",
        id: "uuid",
        on_loop: None,
    };

    fn parent(&self, place: usize) -> Option<usize> {
        self.place(self.parent_id(place))
    }

    fn line(&self, place: usize) -> TreeLine {
        let node = &self.lines.nodes[place];
        TreeLine {
            record: node.record,
            names_parent: self.parent_id(place).is_some(),
            is_boundary: node.is_boundary(),
            is_sent: node.is_said() && node.is_sent,
            may_be_parent: node.is_said() && node.is_sidechain == self.is_sidechain,
        }
    }
}
