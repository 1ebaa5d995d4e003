//! What is wrong with a session as pi 0.73.1 and 1.5.2 load it, each tried with their own loaders.

use std::collections::HashSet;

use super::node::{Boundary, Content};
use super::tree::Tree;
use crate::counted;
use crate::flaw::{Effect, Flaw, Remedy};

/// All of them; `path` is from the root to the newest entry.
pub(super) fn of(tree: &Tree, path: &[usize]) -> Vec<Flaw> {
    let nodes = &tree.nodes;
    let mut flaws = Vec::new();
    let is_boundary = |place: &usize| matches!(nodes[*place].content, Content::Boundary(_));
    let boundary = path.iter().rposition(is_boundary);
    match boundary {
        Some(at) => flaws.extend(not_kept(tree, &path[..at], path[at])),
        None => breaks(tree, path, &mut flaws),
    }
    // A path that never ends is one whatever compaction is on it.
    if boundary.is_some() && is_loop(tree, path) {
        flaws.push(looped(tree, path[0], Effect::Refused));
    }
    let newest = (0..nodes.len()).rev().find(is_boundary);
    let on_path = boundary.map(|at| path[at]);
    flaws.extend(newest.filter(|it| on_path != Some(*it)).map(|place| {
        let what = "this compaction is off the active path: pi goes on from an entry that does not hang on it, and sends what was before";
        let effect = Effect::Ignored;
        Flaw::new(nodes[place].record, "boundary-off-path", effect, what.to_owned())
    }));
    flaws
}

fn is_loop(tree: &Tree, path: &[usize]) -> bool {
    let top = path
        .first()
        .and_then(|top| tree.place(tree.nodes[*top].parent));
    top.is_some()
}

fn looped(tree: &Tree, place: usize, effect: Effect) -> Flaw {
    let what = "its parent hangs on it: pi never ends loading the file";
    Flaw::new(
        tree.nodes[place].record,
        "parent-loop",
        effect,
        what.to_owned(),
    )
}

/// A compaction that keeps entries from one on that is not above it.
fn not_kept(tree: &Tree, before: &[usize], place: usize) -> Option<Flaw> {
    let node = &tree.nodes[place];
    let Content::Boundary(Boundary { first_kept, .. }) = node.content else {
        return None;
    };
    let is_it = |place: &usize| tree.nodes[*place].id == first_kept;
    // One that names itself is meant to keep none.
    let is_there = first_kept.is_none() || first_kept == node.id || before.iter().any(is_it);
    let what = "the first entry that it keeps is not above it: pi keeps none of those before it";
    let effect = Effect::Lost;
    (!is_there).then(|| Flaw::new(node.record, "kept-entry-missing", effect, what.to_owned()))
}

/// Where the way up ends although there is more above.
fn breaks(tree: &Tree, path: &[usize], flaws: &mut Vec<Flaw>) {
    let nodes = &tree.nodes;
    let mut seen: HashSet<usize> = path.iter().copied().collect();
    let mut below = nodes.len();
    let mut top = path.first().copied();
    while let Some(place) = top.take() {
        let node = &nodes[place];
        let is_loop = tree.place(node.parent).is_some();
        let before = (0..place.min(below))
            .rev()
            .find(|it| nodes[*it].id.is_some() && !tree.is_superseded(*it) && !seen.contains(it));
        let (cut, next) = before.map_or((0, None), |it| fragment(tree, it, &mut seen));
        below = before.unwrap_or_default();
        let messages = counted(cut, "entry");
        let flaw = match node.parent {
            _ if is_loop => looped(tree, place, Effect::Refused),
            Some(_) if cut > 0 => {
                let what = format!(
                    "its parent is not in the file: pi goes no further up, and {messages} before are not sent"
                );
                Flaw::new(node.record, "missing-parent", Effect::Lost, what)
            }
            None if cut > 0 => {
                flaws.push(Flaw::second_root(node.record, &messages));
                return;
            }
            _ => return,
        };
        flaws.push(match before {
            Some(before) => flaw.repaired_by(Remedy::Link {
                key: "parentId",
                to: nodes[before].record,
                of: "id",
            }),
            None => flaw.repaired_by(Remedy::Change(Vec::new())),
        });
        top = next;
    }
}

/// How many entries that are sent hang together up from one, and the topmost of them.
fn fragment(tree: &Tree, before: usize, seen: &mut HashSet<usize>) -> (usize, Option<usize>) {
    let (mut cut, mut top) = (0, before);
    let mut at = Some(before);
    while let Some(place) = at.filter(|place| seen.insert(*place)) {
        let node = &tree.nodes[place];
        cut += usize::from(node.is_sent);
        if matches!(node.content, Content::Boundary(_)) {
            return (cut, None);
        }
        top = place;
        at = tree.place(node.parent);
    }
    (cut, tree.nodes[top].parent.map(|_| top))
}
