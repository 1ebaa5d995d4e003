//! Finds the lines that make up a session's context, and the flaws of the session.
//!
//! Flaws are problems that version 2.1.197 of the client has when it loads a session. Each kind of
//! flaw was tested with that version. Only the path from which the session continues is examined,
//! because a missing parent on an abandoned branch is harmless.

use std::collections::HashSet;

use super::context::{Context, Siblings};
use super::tree::{Lines, LoadedTree, Node};
use crate::log::links::{ById, Tree};
use crate::log::view::{Outside, View, ViewBuilder};
use crate::record::edit;
use crate::{Edits, Effect, Flaw, Object, Remedy, counted, json};

impl ViewBuilder for Lines {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        self.add(record, object);
    }

    /// If a line has several objects, the client reads only the first.
    fn push_first_of(&mut self, record: usize, object: &Object<'_>) {
        self.push(record, object);
    }

    fn view(&self) -> View {
        let mut tree = LoadedTree::new(self);
        let context = Context::of(&mut tree);
        let mut view = outside(self, context.lines.first().copied());
        for message in messages(context.lines.iter().map(|place| &self.nodes[*place])) {
            view.add_message(&message);
        }
        view.flaws = flaws(&tree, &context);
        view
    }
}

/// Stores, for each record outside the context, the reason why it is outside. `begin` is the index
/// of the first line in the context.
fn outside(lines: &Lines, begin: Option<usize>) -> View {
    let mut view = View::default();
    for node in lines.nodes.iter().filter(|node| node.is_sent) {
        let why = if node.is_sidechain { Outside::OtherAgent } else { Outside::DeadBranch };
        view.leave(node.record, why);
    }
    for place in begin.map_or_else(Vec::new, |begin| compacted(lines, begin)) {
        let node = &lines.nodes[place];
        if node.is_sent || node.boundary.is_some() {
            view.leave(node.record, Outside::BeforeCompaction);
        }
    }
    for record in &lines.superseded {
        view.leave(*record, Outside::Superseded);
    }
    view
}

/// Returns the indexes of the lines that compactions replaced. `begin` is the index of the first
/// line in the context.
fn compacted(lines: &Lines, begin: usize) -> Vec<usize> {
    let tree = LoadedTree::new(lines);
    let siblings = Siblings::of(&tree);
    let mut all = Vec::new();
    let mut next = Some(begin);
    while let Some(place) = next {
        let Some(boundary) = lines.nodes[place].boundary.as_ref() else { break };
        let named = lines.place(boundary.before).filter(|end| *end < place);
        // Some boundaries name a line that is not in the file.
        let is_of_main = |node: &Node| !node.is_sidechain && node.boundary.is_none();
        let end = named.or_else(|| lines.nodes[..place].iter().rposition(is_of_main));
        let Some(end) = end else { break };
        let earlier = tree.path_to(end, &siblings, &mut Vec::new());
        next = earlier.first().copied().filter(|first| *first < place);
        all.extend(earlier);
    }
    all
}

/// Returns the records of each message. The blocks of a reply form one message, even if other lines
/// come between them.
fn messages<'n>(context: impl Iterator<Item = &'n Node>) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    let mut replies: ById<usize> = ById::default();
    for node in context.filter(|node| node.is_sent) {
        let next = messages.len();
        let message = node.reply.map_or(next, |reply| *replies.entry(reply).or_insert(next));
        if message == next {
            messages.push(Vec::new());
        }
        messages[message].push(node.record);
    }
    messages
}

/// Returns the problems that the client has when it loads the session.
fn flaws(tree: &LoadedTree<'_>, context: &Context) -> Vec<Flaw> {
    let nodes = &tree.lines.nodes;
    let is_sent: HashSet<usize> = context.lines.iter().copied().collect();
    let jumps = context.jumps.iter().filter(|(place, _)| is_sent.contains(place));
    // The client replaces the missing parent of such a line with another line.
    let jumps = jumps.map(|(place, to)| {
        let ((rule, why), line) = (tree.why_it_ends(*place), nodes[*to].record + 1);
        let what =
            format!("{why}: Claude Code continues from line {line}, at most five seconds earlier");
        Flaw::new(nodes[*place].record, rule, Effect::Harmless, what)
    });
    let mut flaws: Vec<Flaw> = jumps.collect();
    let first = context.lines.first().copied();
    match first.filter(|first| nodes[*first].boundary.is_some()) {
        Some(boundary) => flaws.extend(kept_lines_missing(tree, boundary)),
        None => flaws.extend(tree.breaks(&context.lines)),
    }
    let newest = nodes.iter().rposition(|node| node.boundary.is_some() && !node.is_sidechain);
    flaws.extend(first.and_then(|_| tree.off_the_path(newest, first)));
    if let Some(record) = tree.lines.superseded.first() {
        let lines = counted(tree.lines.superseded.len(), "line");
        let what = format!("{lines} with the uuid of a later line, which Claude Code uses instead");
        flaws.push(Flaw::new(*record, "repeated-id", Effect::Harmless, what));
    }
    flaws
}

/// Creates the flaw for a compaction if some of the old lines that it keeps are not in the file.
fn kept_lines_missing(tree: &LoadedTree<'_>, boundary: usize) -> Option<Flaw> {
    let node: &Node = &tree.lines.nodes[boundary];
    let preserved = node.boundary.as_ref()?.preserved.as_ref()?;
    let flaw = |what| Flaw::new(node.record, "kept-lines-missing", Effect::Lost, what);
    if preserved.is_chain {
        let what = "the first line that the compaction keeps is not above the last one";
        let flaw = flaw(format!("{what}: Claude Code keeps no old lines"));
        return tree.preserved(preserved).is_none().then_some(flaw);
    }
    let ids = preserved.ids.iter().enumerate();
    let missing = ids.filter(|(_, id)| tree.lines.place(Some(**id)).is_none());
    let missing: Vec<usize> = missing.map(|(number, _)| number).collect();
    let what = format!(
        "the file lacks {} of the {} lines that the compaction keeps: Claude Code keeps no old lines",
        missing.len(),
        preserved.ids.len()
    );
    (!missing.is_empty()).then(|| flaw(what).repaired_by(Remedy::Change(missing)))
}

/// Removes the entries with the given numbers from the list of old lines that the compaction
/// `object` keeps.
pub(super) fn kept_without(object: &Object<'_>, numbers: &[usize]) -> Edits {
    let mut edits = Edits::default();
    let list = || {
        let metadata = object.object_of("compactMetadata")?;
        metadata.object_of("preservedMessages")?.elements_of("uuids")
    };
    // Only the list's strings are counted, so their numbers differ from their indexes if the list
    // has other entries.
    let mut texts = 0..;
    let items = list().unwrap_or_default().into_iter().map(|raw| {
        let number = json::text(raw).and_then(|_| texts.next());
        (object.place_of(raw), number.is_some_and(|number| numbers.binary_search(&number).is_ok()))
    });
    edits.cut(edit::cuts(object.text(), items));
    edits
}
