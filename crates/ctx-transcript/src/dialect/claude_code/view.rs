//! Which records of a session are in the context, and which of them are one message.

use super::context::Context;
use super::flaws;
use super::node::{Kind, Line, Node};
use super::path::Path;
use super::tree::Tree;
use crate::Object;
use crate::dialect::key::ById;
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
            self.tree.push(Line::of(self.records, object));
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

    fn finish(self: Box<Self>) -> View {
        let nodes = &self.tree.nodes;
        let mut path = Path::new(&self.tree);
        let context = Context::of(&mut path);
        let flaws = flaws::of(&path, &context);
        let context = context.lines;
        let begin = context.first().copied();
        let compacted = begin.map_or_else(Vec::new, |begin| compacted(&self.tree, begin));
        let mut reasons = vec![Outside::NeverSent; self.records];
        for node in nodes.iter().filter(|node| is_said_to_model(node)) {
            reasons[node.record] = if node.is_sidechain {
                Outside::OtherAgent
            } else {
                Outside::DeadBranch
            };
        }
        for node in compacted.iter().map(|place| &nodes[*place]) {
            if is_said_to_model(node) || node.kind == Kind::Boundary {
                reasons[node.record] = Outside::BeforeCompaction;
            }
        }
        for record in &self.tree.superseded {
            reasons[*record] = Outside::Superseded;
        }
        let mut view = View::outside(reasons);
        for message in messages(context.iter().map(|place| &nodes[*place])) {
            view.add_message(&message);
        }
        view.flaws = flaws;
        view
    }
}

/// The places of the lines that compactions before `begin`, the first line of the
/// context, stand for.
fn compacted(tree: &Tree, begin: usize) -> Vec<usize> {
    let path = Path::new(tree);
    let beside = path.beside();
    let mut all = Vec::new();
    let mut at = Some(begin);
    while let Some(place) = at {
        let Some(boundary) = &tree.nodes[place].boundary else {
            break;
        };
        // Some boundaries name a line that is not in the file.
        let is_of_main = |node: &Node| !node.is_sidechain && node.kind != Kind::Boundary;
        let before = || tree.nodes[..place].iter().rposition(is_of_main);
        let Some(end) = tree
            .place(boundary.before)
            .filter(|end| *end < place)
            .or_else(before)
        else {
            break;
        };
        let earlier = path.up_from(end, &beside, &mut Vec::new());
        at = earlier.first().copied().filter(|first| *first < place);
        all.extend(earlier);
    }
    all
}

fn is_said_to_model(node: &Node) -> bool {
    node.is_sent && node.kind != Kind::Boundary
}

/// The records of each message: blocks of one reply are one, whatever stands between them.
fn messages<'n>(context: impl Iterator<Item = &'n Node>) -> Vec<Vec<usize>> {
    let mut messages: Vec<Vec<usize>> = Vec::new();
    let mut replies: ById<usize> = ById::default();
    for node in context.filter(|node| is_said_to_model(node)) {
        let reply = match node.kind {
            Kind::Assistant { reply } => reply,
            _ => None,
        };
        if let Some(message) = reply.and_then(|reply| replies.get(&reply)) {
            messages[*message].push(node.record);
            continue;
        }
        if let Some(reply) = reply {
            replies.insert(reply, messages.len());
        }
        messages.push(vec![node.record]);
    }
    messages
}
