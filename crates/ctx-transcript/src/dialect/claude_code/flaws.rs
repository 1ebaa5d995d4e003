//! What is wrong with a session as the client 2.1.197 loads it, each tried with the client.
//!
//! Only the path that the session goes on from counts: a parent that is missing on a branch
//! that was left harms nobody.

use std::collections::HashSet;

use super::ascent::Ascent;
use super::context::Context;
use super::node::{Kind, Node, Preserved};
use super::path::Path;

use crate::counted;
use crate::flaw::{Effect, Flaw, Remedy};
use crate::{Edits, Object, cut};

/// All of them.
pub(super) fn of(path: &Path<'_>, context: &Context) -> Vec<Flaw> {
    let nodes = &path.tree.nodes;
    let mut flaws = Vec::new();
    let ascent = Ascent::of(path, context);
    flaws.extend(ascent.jumps());
    if let Some(boundary) = context.lines.first().filter(|it| is_boundary(&nodes[**it])) {
        flaws.extend(not_kept(path, *boundary));
    } else {
        ascent.breaks(&mut flaws);
    }
    flaws.extend(off_the_path(nodes, context));
    let repeated = path.tree.superseded.len();
    flaws.extend(path.tree.superseded.first().map(|record| {
        let lines = counted(repeated, "line");
        let what = format!("{lines} with the uuid of a later one, which Claude Code takes instead");
        Flaw::new(*record, "repeated-id", Effect::Harmless, what)
    }));
    flaws
}

fn is_boundary(node: &Node) -> bool {
    node.kind == Kind::Boundary
}

/// A compaction that the session does not go on from: an agent that was running when another
/// program appended it has gone on from its own last line.
fn off_the_path(nodes: &[Node], context: &Context) -> Option<Flaw> {
    let is_of_main = |node: &Node| is_boundary(node) && !node.is_sidechain;
    let newest = nodes.iter().rposition(is_of_main)?;
    let is_on = context.lines.first() == Some(&newest);
    let what = "this compaction is off the active path: Claude Code goes on from a line that does not hang on it, and sends what was before";
    let effect = Effect::Ignored;
    (!is_on && !context.lines.is_empty()).then(|| {
        Flaw::new(
            nodes[newest].record,
            "boundary-off-path",
            effect,
            what.into(),
        )
    })
}

/// Old lines that a compaction names and that are not there.
fn not_kept(path: &Path<'_>, boundary: usize) -> Option<Flaw> {
    let node = &path.tree.nodes[boundary];
    let preserved = node.boundary.as_ref()?.preserved.as_ref()?;
    let is_there = |id| path.tree.place(Some(id)).is_some();
    let flaw = |what| Flaw::new(node.record, "kept-lines-missing", Effect::Lost, what);
    let lost = "are not in the file: Claude Code keeps none of them";
    match preserved {
        Preserved::List { ids, .. } => {
            let numbers = (0..ids.len()).filter(|number| !is_there(ids[*number]));
            let missing: Vec<usize> = numbers.collect();
            let what = format!(
                "{} of the {} lines that it keeps {lost}",
                missing.len(),
                ids.len()
            );
            (!missing.is_empty()).then(|| flaw(what).repaired_by(Remedy::Change(missing)))
        }
        Preserved::Segment { head, tail, .. } => {
            let mut up = path
                .tree
                .place(Some(*tail))
                .into_iter()
                .flat_map(|it| path.walk(it));
            let head = path.tree.place(Some(*head));
            let is_whole = head.is_some() && up.any(|place| Some(place) == head);
            let what = "the first of the lines that it keeps is not above the last one";
            (!is_whole).then(|| flaw(format!("{what}: Claude Code keeps none of them")))
        }
    }
}

/// The list of old lines that the compaction of `object` keeps, without those of these numbers.
pub(super) fn kept_without(object: &Object<'_>, numbers: &[usize]) -> Edits {
    let mut edits = Edits::new();
    let list = || {
        let metadata = object.object_of("compactMetadata")?;
        metadata
            .object_of("preservedMessages")?
            .elements_of("uuids")
    };
    let all = list().unwrap_or_default();
    // The view counts texts alone.
    let texts = all.iter().filter(|raw| crate::json::text(raw).is_some());
    let gone: HashSet<*const u8> = texts
        .enumerate()
        .filter(|(number, _)| numbers.contains(number))
        .map(|(_, raw)| raw.as_ptr())
        .collect();
    let items = all
        .iter()
        .map(|raw| (object.place_of(raw), gone.contains(&raw.as_ptr())));
    for place in cut::places(object.text(), items) {
        edits.cut(place);
    }
    edits
}
