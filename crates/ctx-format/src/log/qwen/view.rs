//! Finds the messages that make up a session's context, and the flaws of the session.
//!
//! The flaws were tested with version 0.24.4 of Qwen Code.

use std::collections::HashSet;

use super::tree::{Kind, Lines, Said};
use crate::log::links::Tree;
use crate::log::view::{ContextMessage, Outside, View, ViewBuilder};
use crate::{Flaw, Object, Role};

impl ViewBuilder for Lines {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        self.add(record, object);
    }

    /// Adds all objects on the line, because the client reads all of them. Only the message in the
    /// first object can be shown.
    fn push_first_of(&mut self, record: usize, object: &Object<'_>) {
        self.add(record, object);
        let mut rest = object.rest();
        while let Ok(next) = Object::parse(rest) {
            let before = self.nodes.len();
            self.add(record, &next);
            self.nodes[before..].iter_mut().for_each(|node| node.said.clear());
            rest = next.rest();
        }
    }

    fn view(&self) -> View {
        let path = self.path_to(self.newest);
        let mut view = outside(self, &path);
        let mut messages = Vec::new();
        for (group, said) in context(self, &path, &mut view) {
            let Said { record, number, .. } = *said;
            messages.push(ContextMessage { record, number, group });
        }
        view.add_messages(&messages);
        view.flaws = flaws(self, &path);
        view
    }
}

/// Stores, for each record with messages, the reason why it is outside the context if it is.
fn outside(lines: &Lines, path: &[usize]) -> View {
    let mut view = View::default();
    let on_path: HashSet<usize> = path.iter().copied().collect();
    for (place, node) in lines.nodes.iter().enumerate() {
        let is_before = on_path.contains(&place);
        let why = if is_before { Outside::BeforeCompaction } else { Outside::DeadBranch };
        for said in &node.said {
            view.leave(said.record, why);
        }
    }
    view
}

/// Returns the messages that the client sends, each with the index of its node.
fn context<'t>(lines: &'t Lines, path: &[usize], view: &mut View) -> Vec<(usize, &'t Said)> {
    let mut sent: Vec<(usize, &Said)> = Vec::new();
    // The node of the last message, unless a command has come after it.
    let mut last = None;
    for place in path {
        let node = &lines.nodes[*place];
        match node.kind {
            Kind::Message => last = Some(*place),
            Kind::Boundary => {
                sent.clear();
                last = None;
                view.hold(node.record, node.said.len());
            }
            Kind::Command(command) => {
                if let Some(before) = last.filter(|before: &usize| lines.nodes[*before].is_of_user)
                {
                    if let [said] = &lines.nodes[before].said[..]
                        && command.is_some()
                        && said.command == command
                    {
                        view.leave(said.record, Outside::DeadBranch);
                        sent.pop();
                    }
                    last = None;
                }
                continue;
            }
            Kind::State => continue,
        }
        sent.extend(node.said.iter().map(|said| (*place, said)));
    }
    without_void(&sent, view)
}

/// Removes what the client leaves out of a request: user messages without content, and each series
/// of replies in which a reply has an empty part. A reply with calls ends a series, because the
/// client adds the results that are missing.
fn without_void<'t>(all: &[(usize, &'t Said)], view: &mut View) -> Vec<(usize, &'t Said)> {
    let is_reply = |said: &Said| said.role == Role::Assistant;
    let series =
        all.chunk_by(|(_, one), (_, other)| is_reply(one) && is_reply(other) && !one.has_calls);
    let mut sent = Vec::new();
    for series in series {
        let is_void = series.iter().any(|(_, said)| said.is_void);
        for (place, said) in series {
            if is_void || said.is_placeholder {
                view.leave_message(said.record, said.number, Outside::NeverSent);
            } else {
                sent.push((*place, *said));
            }
        }
    }
    sent
}

/// Returns the problems that the client has when it loads a session. `path` leads from the root to
/// the last line.
fn flaws(lines: &Lines, path: &[usize]) -> Vec<Flaw> {
    let is_boundary = |place: &usize| lines.nodes[*place].kind == Kind::Boundary;
    let boundary = path.iter().copied().rfind(is_boundary);
    let mut flaws = lines.flaws.clone();
    flaws.extend(lines.no_folder());
    if boundary.is_none() {
        flaws.extend(lines.breaks(path));
    }
    let newest = (0..lines.nodes.len()).rfind(is_boundary);
    flaws.extend(lines.off_the_path(newest, boundary));
    flaws
}
