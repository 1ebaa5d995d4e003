//! Which records of a session are in the context, and which of them are one message.

use super::context::{Context, Siblings};
use super::flaws;
use super::line::{Line, Node};
use super::tree::{Lines, LoadedTree};
use crate::Object;
use crate::log::tree::ById;
use crate::log::view::{Outside, View, ViewBuilder};

/// Sees each record of a session once.
#[derive(Default)]
pub(super) struct Builder {
    lines: Lines,
    records: usize,
}

impl ViewBuilder for Builder {
    fn push(&mut self, object: Option<&Object<'_>>) {
        if let Some(object) = object {
            self.lines.push(Line::of(self.records, object));
        }
        self.records += 1;
    }

    /// The client reads the first object of a line, and not the rest.
    fn push_first_of(&mut self, object: &Object<'_>) {
        self.push(Some(object));
    }

    fn push_replaced(&mut self, object: &Object<'_>) {
        self.push(Some(object));
    }

    fn view(&self) -> View {
        let nodes = &self.lines.nodes;
        let mut tree = LoadedTree::new(&self.lines);
        let context = Context::of(&mut tree);
        let mut view = View::outside(self.reasons(context.lines.first().copied()));
        for message in messages(context.lines.iter().map(|place| &nodes[*place])) {
            view.add_message(&message);
        }
        view.flaws = flaws::of(&tree, &context);
        view
    }
}

impl Builder {
    /// Why each record is outside the context that begins with `begin`, if it is.
    fn reasons(&self, begin: Option<usize>) -> Vec<Outside> {
        let nodes = &self.lines.nodes;
        let mut reasons = vec![Outside::NeverSent; self.records];
        for node in nodes.iter().filter(|node| is_in_context(node)) {
            reasons[node.record] =
                if node.is_sidechain { Outside::OtherAgent } else { Outside::DeadBranch };
        }
        for place in begin.map_or_else(Vec::new, |begin| compacted(&self.lines, begin)) {
            if is_in_context(&nodes[place]) || nodes[place].is_boundary() {
                reasons[nodes[place].record] = Outside::BeforeCompaction;
            }
        }
        for record in &self.lines.superseded {
            reasons[*record] = Outside::Superseded;
        }
        reasons
    }
}

/// The places of the lines that compactions before `begin`, the first line of the context, stand
/// for.
fn compacted(lines: &Lines, begin: usize) -> Vec<usize> {
    let tree = LoadedTree::new(lines);
    let siblings = Siblings::of(&tree);
    let mut all = Vec::new();
    let mut next = Some(begin);
    while let Some(place) = next {
        let Some(boundary) = &lines.nodes[place].boundary else {
            break;
        };
        let named = lines.place(boundary.before).filter(|end| *end < place);
        // Some boundaries name a line that is not in the file.
        let is_of_main = |node: &Node| !node.is_sidechain && !node.is_boundary();
        let end = named.or_else(|| lines.nodes[..place].iter().rposition(is_of_main));
        let Some(end) = end else {
            break;
        };
        let earlier = tree.path_to(end, &siblings, &mut Vec::new());
        next = earlier.first().copied().filter(|first| *first < place);
        all.extend(earlier);
    }
    all
}

fn is_in_context(node: &Node) -> bool {
    node.is_sent && !node.is_boundary()
}

/// The records of each message: blocks of one reply are one, whatever is between them.
fn messages<'n>(context: impl Iterator<Item = &'n Node>) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    let mut replies: ById<usize> = ById::default();
    for node in context.filter(|node| is_in_context(node)) {
        if let Some(reply) = node.reply() {
            let message = *replies.entry(reply).or_insert(messages.len());
            if let Some(records) = messages.get_mut(message) {
                records.push(node.record);
                continue;
            }
        }
        messages.push(vec![node.record]);
    }
    messages
}
