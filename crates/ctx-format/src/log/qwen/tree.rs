//! The lines of a session as a tree, and the path from which Qwen Code continues.
//!
//! The rules follow the loader of version 0.24.4. The path consists of the last line and its
//! ancestors. If several lines have the same uuid, the client joins their messages into one, at the
//! place of the first of these lines.

use std::collections::HashMap;

use super::Qwen;
use super::body::{Body, is_system};
use crate::dialect::content::kind_of;
use crate::log::links::{LineId, Tree, TreeLine};
use crate::log::{Effect, Flaw, Log, Remedy};
use crate::{Object, Role, json};

/// The subtypes of lines that are not part of the tree, although they refer to a parent.
const APART: &str = "session_artifact_event session_artifact_snapshot session_sources_snapshot \
    managed_session_header_v1 managed_session_event_v1 managed_session_commit_v1";

/// The properties of a message that determine whether it is sent.
pub(super) struct Said {
    /// The number of the message's record, starting at 0.
    pub(super) record: usize,
    /// The index of the message in its record.
    pub(super) number: usize,
    pub(super) role: Role,
    pub(super) has_calls: bool,
    /// Whether the message has no part at all.
    is_empty: bool,
    pub(super) is_void: bool,
    pub(super) is_placeholder: bool,
    /// The text of a message that a command could have written in the user's name.
    pub(super) command: Option<LineId>,
}

/// What a line contributes to the context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    /// The messages of the line replace all earlier messages.
    Boundary,
    /// The outcome of a command. If the command was not for the model, the user message with this
    /// text before the line is not sent.
    Command(Option<LineId>),
    /// Nothing: settings, names, statistics, and the state of the client.
    State,
}

/// A line of the tree, or several lines with the same uuid.
pub(super) struct Node {
    pub(super) record: usize,
    parent: Option<LineId>,
    pub(super) kind: Kind,
    /// Whether the line is from the user, and not a tool's result.
    pub(super) is_of_user: bool,
    pub(super) said: Vec<Said>,
}

/// All lines of a session.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) nodes: Vec<Node>,
    /// For each uuid, the index of its node.
    places: HashMap<LineId, usize>,
    /// The index of the node of the last line.
    pub(super) newest: Option<usize>,
    /// The number of the first record, and whether it names the working folder.
    first: Option<(usize, bool)>,
    /// The number of the first record that names the working folder.
    folder: Option<usize>,
    /// The first line with a session id, and the id.
    session: Option<(usize, LineId)>,
    /// The flaws of individual lines.
    pub(super) flaws: Vec<Flaw>,
}

impl Lines {
    /// Adds an object in the record with this number.
    pub(super) fn add(&mut self, record: usize, object: &Object<'_>) {
        let has_folder = object.text_of("cwd").is_some();
        self.first.get_or_insert((record, has_folder));
        if has_folder {
            self.folder.get_or_insert(record);
        }
        let Some(id) = loaded_id(object) else { return };
        let session = LineId::at(object, "sessionId").unwrap_or_default();
        let (first, own) = *self.session.get_or_insert((record, session));
        if own != session {
            let flaw = Qwen.flaw(record, "other-session");
            let link = Remedy::Link { key: "sessionId", to: first, of: "sessionId" };
            self.flaws.push(flaw.repaired_by(link));
        }
        if is_apart(object) {
            return;
        }
        let node = Node::of(record, object);
        let place = *self.places.entry(id).or_insert(self.nodes.len());
        self.newest = Some(place);
        match self.nodes.get_mut(place) {
            None => self.nodes.push(node),
            // Of a line of the client that is written again, only the first copy counts.
            Some(first) if first.kind != Kind::Message => {}
            Some(first) => {
                let flaw = Qwen.flaw(record, "repeated-id");
                let roles = first.said.first().zip(node.said.first());
                self.flaws.push(match roles {
                    // No API accepts a result among the parts of a reply.
                    Some((one, other)) if one.role != other.role => {
                        let flaw = Flaw { effect: Effect::Refused, ..flaw };
                        flaw.repaired_by(Remedy::Change(vec![record]))
                    }
                    _ => flaw,
                });
                first.said.extend(node.said);
                // What makes one of the lines void may not make the joined message void.
                let is_empty = first.said.iter().all(|said| said.is_empty);
                for said in &mut first.said {
                    said.is_void &= is_empty || !said.is_empty;
                    said.is_placeholder = false;
                }
            }
        }
    }

    /// Creates the flaw for a first line without a working folder.
    pub(super) fn no_folder(&self) -> Option<Flaw> {
        let (first, _) = self.first.filter(|(_, has_folder)| !has_folder)?;
        let flaw = Qwen.flaw(first, "no-header");
        Some(match self.folder {
            Some(to) => flaw.repaired_by(Remedy::Link { key: "cwd", to, of: "cwd" }),
            None => flaw,
        })
    }
}

impl Tree for Lines {
    const DIALECT: &'static str = "qwen";

    fn parent(&self, place: usize) -> Option<usize> {
        self.places.get(&self.nodes[place].parent?).copied()
    }

    fn line(&self, place: usize) -> TreeLine {
        let node = &self.nodes[place];
        TreeLine {
            record: node.record,
            names_parent: node.parent.is_some(),
            is_boundary: node.kind == Kind::Boundary,
            is_sent: !node.said.is_empty(),
            may_be_parent: true,
        }
    }
}

impl Node {
    fn of(record: usize, object: &Object<'_>) -> Self {
        let body = Body::of(object);
        let kind = match &body {
            Some(body) if body.is_compaction => Kind::Boundary,
            Some(_) => Kind::Message,
            None if is_system(object, "slash_command") => Kind::Command(local_command(object)),
            None => Kind::State,
        };
        let is_of_user = kind_of(object) == "user";
        let may_be_command = is_of_user && object.get("subtype").is_none();
        let messages = body.into_iter().flat_map(|body| body.messages).enumerate();
        let said = messages.map(|(number, message)| {
            let is_plain = may_be_command && message.role() == Role::User;
            let command = message.bare_text().filter(|_| is_plain);
            Said {
                record,
                number,
                role: message.role(),
                has_calls: !message.calls().is_empty(),
                is_empty: message.raw_parts().is_empty(),
                is_void: message.is_void(),
                is_placeholder: message.is_placeholder(),
                command: command.map(|text| LineId::of(&text)),
            }
        });
        let parent = LineId::at_filled(object, "parentUuid");
        Self { record, parent, kind, is_of_user, said: said.collect() }
    }
}

/// Returns true if the client loads the line as a part of the tree.
pub(super) fn is_node(object: &Object<'_>) -> bool {
    loaded_id(object).is_some() && !is_apart(object)
}

fn is_apart(object: &Object<'_>) -> bool {
    let subtype = object.text_of("subtype");
    kind_of(object) == "system"
        && subtype.is_some_and(|subtype| APART.split(' ').any(|it| it == subtype))
}

/// Returns the uuid of a line that the client loads; `None` if it ignores the line.
fn loaded_id(object: &Object<'_>) -> Option<LineId> {
    let parent = object.get("parentUuid")?;
    let has_parent = parent == "null" || json::text(parent).is_some();
    let is_known = matches!(&*kind_of(object), "user" | "assistant" | "tool_result" | "system");
    let has_session = object.text_of("sessionId").is_some_and(|id| !id.is_empty());
    LineId::at_filled(object, "uuid").filter(|_| has_parent && is_known && has_session)
}

/// Returns the text of a command whose outcome is only for the screen.
fn local_command(object: &Object<'_>) -> Option<LineId> {
    let payload = object.object_of("systemPayload")?;
    let mut shown = payload.objects_of("outputHistoryItems")?.peekable();
    let is_local = payload.get("phase") == Some("\"result\"")
        && !payload.is_true("sentToModel")
        && shown.peek().is_some()
        && shown.all(|item| item.is_some_and(|item| kind_of(&item) == "assistant"));
    LineId::at(&payload, "rawCommand").filter(|_| is_local)
}
