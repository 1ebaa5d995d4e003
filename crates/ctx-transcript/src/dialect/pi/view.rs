//! Which entries of a session are in the context.
//!
//! The rules are those of pi 0.73.1, compared with what its loader makes of files: of the path,
//! the last compaction says first what it stands for, then come the entries that it keeps, then
//! those behind it. `OpenClaw` 2026.9.6 has a second such boundary, a reset.

#[cfg(test)]
mod tests;

use super::flaws;
use super::node::{Boundary, Content, Node};
use super::tree::Tree;
use crate::Object;
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
        let is_boundary = |place: &usize| matches!(nodes[*place].content, Content::Boundary(_));
        let boundary = path.iter().rposition(is_boundary);
        let mut reasons = vec![Outside::NeverSent; self.records];
        for (place, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_sent) {
            reasons[node.record] = if self.tree.is_superseded(place) {
                Outside::Superseded
            } else {
                Outside::DeadBranch
            };
        }
        for place in &path[..boundary.unwrap_or(0)] {
            if nodes[*place].is_sent {
                reasons[nodes[*place].record] = Outside::BeforeCompaction;
            }
        }
        let path: Vec<&Node> = path.into_iter().map(|place| &nodes[place]).collect();
        let mut view = View::outside(reasons);
        for node in context(&path, boundary)
            .into_iter()
            .filter(|node| node.is_sent)
        {
            view.add_message(&[node.record]);
        }
        view.flaws = flaws;
        view
    }
}

/// The path as it is sent when its last boundary is at `boundary`.
fn context<'n>(path: &[&'n Node], boundary: Option<usize>) -> Vec<&'n Node> {
    let (before, rest) = path.split_at(boundary.unwrap_or(0));
    let (itself, behind) = rest.split_at(usize::from(boundary.is_some()));
    let kept = match itself.first().map(|node| node.content) {
        Some(Content::Boundary(boundary)) => kept(before, boundary),
        _ => Vec::new(),
    };
    [itself, &kept, behind].concat()
}

/// What of the entries before a boundary stays: nothing, when the first one that it names is
/// not among them.
fn kept<'n>(before: &[&'n Node], boundary: Boundary) -> Vec<&'n Node> {
    let Boundary {
        first_kept,
        keeps_messages_only,
    } = boundary;
    // All but the last entry of a path have ids.
    let is_first = |node: &&Node| node.id == first_kept;
    let start = before.iter().position(is_first).unwrap_or(before.len());
    let stays = |node: &&Node| match node.content {
        Content::Message => true,
        Content::Beside => !keeps_messages_only,
        Content::Boundary(_) | Content::State => false,
    };
    before[start..].iter().copied().filter(stays).collect()
}
