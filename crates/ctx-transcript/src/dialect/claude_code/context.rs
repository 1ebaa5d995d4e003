//! The lines that are sent.

use super::node::Kind;
use super::path::Path;

/// What is sent, and how the way to it was found.
pub(super) struct Context {
    /// The places of the lines, boundaries included, in their order.
    pub(super) lines: Vec<usize>,
    /// The line that the session goes on from.
    pub(super) leaf: Option<usize>,
    /// Lines whose parent is not there, with those that take its place.
    pub(super) jumps: Vec<(usize, usize)>,
}

impl Context {
    pub(super) fn of(path: &mut Path<'_>) -> Self {
        let kept_end = path.keep_what_the_last_boundary_names();
        let leaf = path.leaf(kept_end);
        let mut jumps = Vec::new();
        let all = leaf.map_or_else(Vec::new, |leaf| {
            path.up_from(leaf, &path.beside(), &mut jumps)
        });
        let is_boundary = |place: &usize| path.tree.nodes[*place].kind == Kind::Boundary;
        let begin = all.iter().rposition(is_boundary).unwrap_or(0);
        Self {
            lines: all[begin..].to_vec(),
            leaf,
            jumps,
        }
    }
}
