//! Which entries of a session are in the context.
//!
//! The rules are those of pi 0.73.1 and 1.5.2, compared with what they send: of the path, the last
//! compaction says first what it stands for, then come the entries that it keeps, then those behind
//! it; edits among them change what the others say. `OpenClaw` 2026.9.6 has a second such boundary,
//! a reset.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::flaws;
use super::node::{Boundary, Content, Node};
use super::tree::Tree;
use crate::Object;
use crate::dialect::key::Key;
use crate::view::{Outside, View, ViewBuilder};

/// Sees each record of a session once.
#[derive(Default)]
pub(super) struct Builder {
    tree: Tree,
    records: usize,
}

impl ViewBuilder for Builder {
    fn push(&mut self, object: Option<&Object<'_>>) {
        if let Some(object) = object {
            self.tree.push(self.records, object);
        }
        self.records += 1;
    }

    fn push_replaced(&mut self, object: &Object<'_>) {
        self.push(Some(object));
    }

    fn finish(self: Box<Self>) -> View {
        let nodes = &self.tree.nodes;
        let path = self.tree.path();
        let mut flaws = flaws::of(&self.tree, &path);
        flaws.extend(self.tree.headless.clone());
        let mut reasons = vec![Outside::NeverSent; self.records];
        let has_place = |node: &Node| node.is_sent || node.edit.is_some();
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| has_place(node)) {
            reasons[node.record] = if self.tree.is_superseded(place) {
                Outside::Superseded
            } else {
                Outside::DeadBranch
            };
        }
        let of_path = path.iter().map(|place| &nodes[*place]);
        for node in of_path.filter(|node| has_place(node)) {
            reasons[node.record] = Outside::BeforeCompaction;
        }
        let context = context(&self.tree, &path);
        let edits = edits(&context);
        let edit_of = |node: &Node| edits.get(&node.id?).copied();
        for node in &context {
            if node.edit.is_some() {
                reasons[node.record] = Outside::NeverSent;
            } else if node.is_sent && edit_of(node) == Some(None) {
                reasons[node.record] = Outside::Superseded;
            }
        }
        let mut view = View::outside(reasons);
        for node in context.into_iter().filter(|node| node.is_sent) {
            match edit_of(node) {
                Some(None) => continue,
                Some(Some(new)) => view.replace_content(node.record, new),
                None => {}
            }
            view.add_message(&[node.record]);
        }
        view.flaws = flaws;
        view
    }
}

/// The entries of the path that count, in the order in which pi sends them.
pub(super) fn context<'t>(tree: &'t Tree, path: &[usize]) -> Vec<&'t Node> {
    let path: Vec<&Node> = path.iter().map(|place| &tree.nodes[*place]).collect();
    let is_boundary = |node: &&Node| matches!(node.content, Content::Boundary(_));
    let boundary = path.iter().rposition(is_boundary);
    let (before, rest) = path.split_at(boundary.unwrap_or(0));
    let (itself, behind) = rest.split_at(usize::from(boundary.is_some()));
    let kept = match itself.first().map(|node| node.content) {
        Some(Content::Boundary(boundary)) => kept(before, boundary),
        _ => Vec::new(),
    };
    [itself, &kept, behind].concat()
}

/// The contents that edits in the context give to entries, raw; `None` for what is not sent. Of
/// several for one entry the last one counts.
pub(super) fn edits<'t>(context: &[&'t Node]) -> HashMap<Key, Option<&'t str>> {
    let edits = context.iter().filter_map(|node| node.edit.as_ref());
    let edits = edits.map(|(target, content)| (*target, content.as_deref()));
    edits.collect()
}

/// What of the entries before a boundary stays: nothing, when the first one that it names is
/// not among them.
fn kept<'n>(before: &[&'n Node], boundary: Boundary) -> Vec<&'n Node> {
    // All but the last entry of a path have ids.
    let is_first = |node: &&Node| node.id == boundary.first_kept;
    let start = before.iter().position(is_first).unwrap_or(before.len());
    let stays = |node: &&Node| match node.content {
        Content::Message => true,
        Content::Beside => !boundary.keeps_messages_only,
        Content::Boundary(_) => false,
        Content::State => node.edit.is_some(),
    };
    before[start..].iter().copied().filter(stays).collect()
}
