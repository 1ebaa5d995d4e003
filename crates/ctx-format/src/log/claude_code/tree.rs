//! The lines of a session as a tree, with the parents that a compaction gives them.
//!
//! The rules here and in `context.rs` are those of the client's own loader, read in version 2.1.197
//! and compared with what it sends.

use std::collections::{HashMap, HashSet};

use super::line::{LastPrompt, Line, Node, Preserved};
use crate::log::tree::{ById, LineId, Tree};

/// The lines of a session that name their parents.
#[derive(Default)]
pub(super) struct Lines {
    /// In the order of the file; for an id that repeats, the last line.
    pub(super) nodes: Vec<Node>,
    places: ById<usize>,
    /// The parents of lines that only show progress.
    progress: ById<Option<LineId>>,
    /// Records whose line came again with the same id.
    pub(super) superseded: Vec<usize>,
    /// The last line of the main agent.
    pub(super) newest: Option<LineId>,
    pub(super) last: LastUse,
}

/// The user's position at the end.
#[derive(Default)]
pub(super) struct LastUse {
    pub(super) leaf: Option<LineId>,
    /// Whether the user went back there himself.
    pub(super) is_explicit: bool,
    /// Whether the user emptied the conversation.
    pub(super) is_emptied: bool,
}

impl Lines {
    pub(super) fn push(&mut self, line: Line) {
        match line {
            Line::Node(node) => self.add(node),
            Line::Progress { id, parent } => {
                let parent = self.without_progress(parent);
                self.progress.insert(id, parent);
            }
            Line::LastPrompt(prompt) => self.last.is_at(prompt),
            Line::Other => {}
        }
    }

    fn add(&mut self, mut node: Node) {
        node.parent = self.without_progress(node.parent);
        if let Some(boundary) = &mut node.boundary {
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

    /// The place of the line with that id.
    pub(super) fn place(&self, id: Option<LineId>) -> Option<usize> {
        self.places.get(&id?).copied()
    }
}

impl LastUse {
    fn is_at(&mut self, prompt: LastPrompt) {
        if let Some(leaf) = prompt.leaf {
            let is_same = self.leaf == Some(leaf);
            self.is_explicit = prompt.is_explicit || (self.is_explicit && is_same);
            self.leaf = Some(leaf);
            self.is_emptied = false;
        } else if prompt.is_explicit {
            *self = Self { is_emptied: true, ..Self::default() };
        }
    }
}

/// The tree as the loader sees it: without the lines that a compaction with kept lines removed, and
/// with other parents.
pub(super) struct LoadedTree<'l> {
    pub(super) lines: &'l Lines,
    /// The new parents of lines that have one.
    parents: HashMap<usize, LineId>,
    gone: HashSet<usize>,
    /// Whether the context is that of a helper agent.
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

    /// The lines that are still there.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (usize, &'l Node)> {
        let nodes = self.lines.nodes.iter().enumerate();
        nodes.filter(|(place, _)| !self.gone.contains(place))
    }

    /// Moves the old lines that the last compaction keeps after its summary, and removes all others
    /// before it. Returns the last line that is kept.
    pub(super) fn keep_preserved(&mut self) -> Option<LineId> {
        let nodes = &self.lines.nodes;
        let preserved = |node: &'l Node| node.boundary.as_ref()?.preserved.as_ref();
        let last = nodes.iter().rposition(Node::is_boundary)?;
        if !nodes.iter().any(|node| preserved(node).is_some()) {
            return None;
        }
        let mut kept = Vec::new();
        if let Some(preserved) = preserved(&nodes[last]) {
            let (anchor, places) = self.preserved(preserved)?;
            kept = places;
            self.put_behind(anchor, &kept);
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

    /// The line that kept lines follow, and their places; `None` if one of them is missing.
    fn preserved(&self, preserved: &Preserved) -> Option<(LineId, Vec<usize>)> {
        match preserved {
            Preserved::List { anchor, ids } => {
                let places = ids.iter().map(|id| self.place(Some(*id)));
                Some((*anchor, places.collect::<Option<_>>()?))
            }
            Preserved::Segment { anchor, head, tail } => {
                let mut places = Vec::new();
                for place in self.ancestors(self.place(Some(*tail))?) {
                    places.push(place);
                    if self.lines.nodes[place].id == *head {
                        places.reverse();
                        return Some((*anchor, places));
                    }
                }
                None
            }
        }
    }

    /// Puts kept lines between `anchor` and its children.
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
    fn parent(&self, place: usize) -> Option<usize> {
        self.place(self.parent_id(place))
    }

    fn names_parent(&self, place: usize) -> bool {
        self.lines.nodes[place].parent.is_some()
    }

    fn is_boundary(&self, place: usize) -> bool {
        self.lines.nodes[place].is_boundary()
    }

    fn is_sent(&self, place: usize) -> bool {
        let node = &self.lines.nodes[place];
        node.is_said() && node.is_sent
    }

    fn may_be_parent(&self, place: usize) -> bool {
        let node = &self.lines.nodes[place];
        node.is_said() && node.is_sidechain == self.is_sidechain
    }
}
