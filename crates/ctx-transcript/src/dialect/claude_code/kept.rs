//! Old lines that a compaction keeps: they follow its summary, and nothing else before it stays.

use std::collections::HashSet;

use super::node::{Kind, Node, Preserved};
use super::path::Path;
use crate::dialect::key::Key;

impl Path<'_> {
    /// Puts the old lines that a compaction keeps behind its summary, and takes away all
    /// others before the last boundary. Returns the last line that is kept.
    pub(super) fn keep_what_the_last_boundary_names(&mut self) -> Option<Key> {
        let nodes = &self.tree.nodes;
        let is_boundary = |node: &Node| node.kind == Kind::Boundary;
        let last = nodes.iter().rposition(is_boundary)?;
        let names = |node: &Node| {
            let boundary = node.boundary.as_ref();
            boundary.is_some_and(|boundary| boundary.preserved.is_some())
        };
        if !nodes.iter().any(names) {
            return None;
        }
        let (mut anchor, mut kept) = (None, Vec::new());
        if let Some(preserved) = nodes[last]
            .boundary
            .as_ref()
            .and_then(|it| it.preserved.as_ref())
        {
            let (of, ids) = self.kept(preserved)?;
            let places: Option<Vec<usize>> = ids.iter().map(|id| self.place(Some(*id))).collect();
            (anchor, kept) = (Some(of), places?);
        }
        self.put_behind(anchor, &kept);
        let is_kept: HashSet<usize> = kept.iter().copied().collect();
        self.gone
            .extend((0..last).filter(|place| !is_kept.contains(place)));
        let end = nodes[*kept.last()?].id;
        for (place, node) in nodes.iter().enumerate() {
            let parent = self.tree.place(self.parent(place));
            if node.is_said() && parent.is_some_and(|parent| self.gone.contains(&parent)) {
                self.parents.insert(place, Some(end));
            }
        }
        Some(end)
    }

    /// The lines that are kept, the first one first, and behind which line.
    fn kept(&self, preserved: &Preserved) -> Option<(Key, Vec<Key>)> {
        match preserved {
            Preserved::List { anchor, ids } => Some((*anchor, ids.clone())),
            Preserved::Segment { anchor, head, tail } => {
                let mut ids = Vec::new();
                let mut seen = HashSet::new();
                let mut at = self.place(Some(*tail));
                while let Some(place) = at.filter(|place| seen.insert(*place)) {
                    let id = self.tree.nodes[place].id;
                    ids.push(id);
                    if id == *head {
                        ids.reverse();
                        return Some((*anchor, ids));
                    }
                    at = self.place(self.parent(place));
                }
                None
            }
        }
    }

    fn put_behind(&mut self, anchor: Option<Key>, kept: &[usize]) {
        let (Some(anchor), Some(last)) = (anchor, kept.last()) else {
            return;
        };
        let ids = kept.iter().map(|place| self.tree.nodes[*place].id);
        let parents = [anchor].into_iter().chain(ids);
        let new = kept.iter().zip(parents);
        self.parents
            .extend(new.map(|(place, parent)| (*place, Some(parent))));
        let end = self.tree.nodes[*last].id;
        for place in 0..self.tree.nodes.len() {
            if self.parent(place) == Some(anchor) && Some(&place) != kept.first() {
                self.parents.insert(place, Some(end));
            }
        }
    }
}
