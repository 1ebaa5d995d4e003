//! The entries of a session as a tree, and the path that the agent goes on from.
//!
//! The rules are those of the loaders of pi 0.73.1 and 1.5.2: the first line that is JSON is the header, or
//! nothing is read; the newest entry and its parents are the path. Entries of version 1 have
//! no ids: each hangs on the one before it. What is `OpenClaw`'s is said where it is.

use std::collections::{HashMap, HashSet};

use super::header;
use super::node::{Content, Node};
use crate::dialect::key::Key;
use crate::dialect::kind_of;
use crate::{Flaw, Object};

/// The entries of a session.
#[derive(Default)]
pub(super) struct Tree {
    /// In the order of the file.
    pub(super) nodes: Vec<Node>,
    /// Of entries with one id the last one.
    places: HashMap<Key, usize>,
    /// What the header says. Without one, the first line is something else: the agent reads nothing.
    pub(super) version: Option<f64>,
    /// How many lines there were that are JSON: entries, and headers.
    lines: usize,
    pub(super) newest: Option<usize>,
    /// Said when there is no header.
    pub(super) headless: Option<Flaw>,
    /// `OpenClaw`: what hangs on the first one hangs on the second one.
    stands_for: Option<(Key, Option<Key>)>,
}

impl Tree {
    /// The next record, of number `record`.
    pub(super) fn push(&mut self, record: usize, object: &Object<'_>) {
        let is_header = header::is_of_kind(object);
        if self.lines == 0 {
            self.version = header::version(object);
            let is_missing = self.version.is_none();
            self.headless = is_missing.then(|| header::missing(record, object));
        }
        if let Some(version) = self.version.filter(|_| !is_header) {
            let mut node = Node::of(record, object, version);
            if header::is_first(version) {
                self.hang_on_the_one_before(&mut node, object);
            }
            self.add(node, object);
        }
        self.lines += 1;
    }

    fn hang_on_the_one_before(&self, node: &mut Node, object: &Object<'_>) {
        node.id = Some(Key::of_number(self.lines));
        node.parent = self.nodes.last().and_then(|last| last.id);
        if let Content::Boundary(boundary) = &mut node.content {
            let number = object.get("firstKeptEntryIndex");
            let number = number.and_then(|raw| raw.parse().ok());
            boundary.first_kept = number.map(Key::of_number);
        }
    }

    fn add(&mut self, mut node: Node, object: &Object<'_>) {
        let place = self.nodes.len();
        let moves = moves(object, |id| self.places.contains_key(&id));
        if kind_of(object) == "leaf" {
            if moves {
                self.go_to(&mut node, object);
            }
        } else if moves {
            let stands_for = self.stands_for.take();
            if let Some((_, leaf)) = stands_for.filter(|(it, _)| Some(*it) == node.parent) {
                node.parent = leaf;
            }
        } else {
            // What comes next is hung on it, and goes on from where the session was.
            let leaf = self.newest.and_then(|newest| self.nodes[newest].id);
            self.stands_for = node.id.map(|id| (id, leaf));
        }
        if moves {
            self.newest = Some(place);
        }
        if let Some(id) = node.id {
            self.places.insert(id, place);
        }
        self.nodes.push(node);
    }

    /// `OpenClaw`: the session goes on from an entry that is named.
    fn go_to(&mut self, node: &mut Node, object: &Object<'_>) {
        let target = Key::at(object, "targetId");
        node.parent = target;
        let hung_on = Key::at(object, "appendParentId");
        self.stands_for = hung_on.map(|hung_on| (hung_on, target));
    }

    pub(super) fn place(&self, id: Option<Key>) -> Option<usize> {
        self.places.get(&id?).copied()
    }

    /// Whether a later entry has the id of the one at `place`.
    pub(super) fn is_superseded(&self, place: usize) -> bool {
        let last = self.place(self.nodes[place].id);
        last.is_some_and(|last| last != place)
    }

    /// The places of the entries from the root to the newest one.
    pub(super) fn path(&self) -> Vec<usize> {
        let mut seen = HashSet::new();
        let up = std::iter::successors(self.newest, |place| self.place(self.nodes[*place].parent));
        let mut path: Vec<usize> = up.take_while(|place| seen.insert(*place)).collect();
        path.reverse();
        path
    }
}

/// Whether the session goes on from an entry. `OpenClaw` notes beside the path what is not to
/// move it, and names in a `leaf` from which entry it goes on, where that is there.
pub(super) fn moves(object: &Object<'_>, is_there: impl Fn(Key) -> bool) -> bool {
    if kind_of(object) != "leaf" {
        return object.get("appendMode") != Some("\"side\"");
    }
    match Key::at(object, "targetId") {
        Some(target) => is_there(target),
        None => object.get("targetId") == Some("null"),
    }
}
