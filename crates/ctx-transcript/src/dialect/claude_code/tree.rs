//! The lines of a session as a tree, and the path that the agent goes on from.
//!
//! The rules are those of the client's own loader, read in version 2.1.197 and compared with
//! what it sends: the newest line, or the one that the user has gone back to, and its
//! parents; a reply's other blocks and their results, which hang beside the path where tools
//! ran at the same time; and of a compaction the old lines that it names.

use super::node::{Kind, LastPrompt, Line, Node};
use crate::dialect::key::{ById, Key};

/// The lines of a session that name their parents.
#[derive(Default)]
pub(super) struct Tree {
    /// In the order of the file; of lines with one id the last one.
    pub(super) nodes: Vec<Node>,
    places: ById<usize>,
    /// Of lines that only show progress: what those hang on that hang on them.
    progress: ById<Option<Key>>,
    /// Records of lines that came again, under the same id.
    pub(super) superseded: Vec<usize>,
    /// The last line of the main agent.
    pub(super) newest: Option<Key>,
    pub(super) last: LastUse,
}

/// Where the user was at the end.
#[derive(Default)]
pub(super) struct LastUse {
    pub(super) leaf: Option<Key>,
    /// Whether he went back there himself.
    pub(super) is_explicit: bool,
    /// Whether he emptied the conversation.
    pub(super) is_emptied: bool,
}

impl Tree {
    /// The next line.
    pub(super) fn push(&mut self, line: Line) {
        match line {
            Line::Node(node) => self.add(node),
            Line::Progress { id, parent } => {
                let parent = self.behind_progress(parent);
                self.progress.insert(id, parent);
            }
            Line::LastPrompt(prompt) => self.last.is_at(prompt),
            Line::Other => {}
        }
    }

    fn add(&mut self, mut node: Node) {
        node.parent = self.behind_progress(node.parent);
        if let Some(boundary) = &mut node.boundary {
            boundary.before = self.behind_progress(boundary.before);
        }
        if !node.is_sidechain {
            self.newest = Some(node.id);
            self.last.is_explicit = false;
            self.last.is_emptied = false;
        }
        if node.kind == Kind::Boundary {
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

    fn behind_progress(&self, parent: Option<Key>) -> Option<Key> {
        let parent = parent?;
        self.progress.get(&parent).copied().unwrap_or(Some(parent))
    }

    /// The place of the line with that id.
    pub(super) fn place(&self, id: Option<Key>) -> Option<usize> {
        self.places.get(&id?).copied()
    }

    pub(super) fn node(&self, id: Option<Key>) -> Option<&Node> {
        self.place(id).map(|place| &self.nodes[place])
    }
}

impl LastUse {
    fn is_at(&mut self, prompt: LastPrompt) {
        match prompt.leaf {
            Some(leaf) => {
                let is_same = self.leaf == Some(leaf);
                self.is_explicit = prompt.is_explicit || (self.is_explicit && is_same);
                self.leaf = Some(leaf);
                self.is_emptied = false;
            }
            None if prompt.is_explicit => {
                *self = Self {
                    is_emptied: true,
                    ..Self::default()
                };
            }
            None => {}
        }
    }
}
