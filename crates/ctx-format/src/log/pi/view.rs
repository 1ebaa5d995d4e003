//! Finds the entries that make up a session's context, and the flaws of the session.
//!
//! The rules follow pi 0.73.1 and 1.5.2, and were checked against what those versions send. The
//! context consists of the last compaction on the path, the entries that it keeps, and the entries
//! after it. Edits in the context change the content of other entries. A reset in `OpenClaw`
//! 2026.9.6 is a boundary, like a compaction. The flaws were tested with the loaders of pi and
//! `OpenClaw`.

use std::collections::{HashMap, HashSet};

use super::Pi;
use super::tree::{Content, Entries, Node};
use crate::log::Log;
use crate::log::links::{LineId, Tree};
use crate::log::view::{Outside, View, ViewBuilder};
use crate::{Flaw, Object};

impl ViewBuilder for Entries {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        self.add(record, object);
    }

    fn view(&self) -> View {
        let path = self.path_to(self.newest);
        let context = context(self, &path);
        let edits = edits(&context);
        let edit_of = |node: &Node| edits.get(&node.id?).copied();
        let mut view = outside(self, &path, &context, &edits);
        for node in context.iter().filter(|node| node.is_sent) {
            match edit_of(node) {
                Some(None) => continue,
                Some(Some(new)) => view.replace_content(node.record, new),
                None => {}
            }
            view.add_message(&[node.record]);
        }
        view.flaws = flaws(self, &path);
        view.flaws.extend(self.headless.clone());
        view
    }
}

/// Stores, for each record outside the context, the reason why it is outside.
fn outside(entries: &Entries, path: &[usize], context: &[&Node], edits: &Edits<'_>) -> View {
    let mut view = View::default();
    let on_path: HashSet<usize> = path.iter().copied().collect();
    let has_place = |(_, node): &(usize, &Node)| node.is_sent || node.edit.is_some();
    for (place, node) in entries.nodes.iter().enumerate().filter(has_place) {
        let why = if on_path.contains(&place) {
            Outside::BeforeCompaction
        } else if entries.is_superseded(place) {
            Outside::Superseded
        } else {
            Outside::DeadBranch
        };
        view.leave(node.record, why);
    }
    for node in context {
        let is_omitted = || node.id.is_some_and(|id| edits.get(&id) == Some(&None));
        if node.edit.is_some() {
            view.leave(node.record, Outside::NeverSent);
        } else if node.is_sent && is_omitted() {
            view.leave(node.record, Outside::Superseded);
        }
    }
    view
}

/// Returns the entries on the path that are in the context, in the order in which pi sends them.
pub(super) fn context<'t>(entries: &'t Entries, path: &[usize]) -> Vec<&'t Node> {
    let path: Vec<&Node> = path.iter().map(|place| &entries.nodes[*place]).collect();
    let Some(last) = path.iter().rposition(|node| node.is_boundary()) else { return path };
    let mut context = vec![path[last]];
    if let Content::Boundary { first_kept, keeps_messages_only } = path[last].content {
        // Every entry on a path, except the last, has an id. If the first entry to keep is not on
        // the path, no earlier entry is kept.
        let first = path[..last].iter().position(|node| node.id == first_kept);
        let stays = |node: &&Node| match node.content {
            Content::Message => true,
            Content::Extra => !keeps_messages_only,
            Content::Boundary { .. } => false,
            Content::State => node.edit.is_some(),
        };
        context.extend(path[first.unwrap_or(last)..last].iter().copied().filter(stays));
    }
    context.extend(&path[last + 1..]);
    context
}

/// The new content of each edited entry, as raw JSON, keyed by the entry's id; `None` if the entry
/// is no longer sent.
pub(super) type Edits<'t> = HashMap<LineId, Option<&'t str>>;

/// Returns the edits in the context. If an entry is edited several times, the last edit applies.
pub(super) fn edits<'t>(context: &[&'t Node]) -> Edits<'t> {
    let edits = context.iter().filter_map(|node| node.edit.as_ref());
    edits.map(|(target, content)| (*target, content.as_deref())).collect()
}

/// Returns the problems that pi has when it loads a session. `path` leads from the root to the
/// newest entry.
fn flaws(entries: &Entries, path: &[usize]) -> Vec<Flaw> {
    let nodes = &entries.nodes;
    let boundary = path.iter().rposition(|place| nodes[*place].is_boundary());
    let mut flaws = match boundary {
        Some(at) => kept_entry_missing(entries, &path[..at], path[at]).into_iter().collect(),
        None => entries.breaks(path),
    };
    // A loop of parents is a flaw even if the path contains a compaction.
    if boundary.is_some() {
        flaws.extend(entries.endless(path[0]));
    }
    let newest = nodes.iter().rposition(Node::is_boundary);
    flaws.extend(entries.off_the_path(newest, boundary.map(|at| path[at])));
    flaws
}

/// Creates the flaw for a compaction whose first kept entry is not among its ancestors.
fn kept_entry_missing(entries: &Entries, before: &[usize], place: usize) -> Option<Flaw> {
    let node = &entries.nodes[place];
    let Content::Boundary { first_kept, .. } = node.content else { return None };
    let is_first = |place: &usize| entries.nodes[*place].id == first_kept;
    // A compaction that refers to itself is meant to keep no entries.
    if first_kept.is_none() || first_kept == node.id || before.iter().any(is_first) {
        return None;
    }
    Some(Pi.flaw(node.record, "kept-entry-missing"))
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
