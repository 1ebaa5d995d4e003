//! A dialect that exists only for these tests and resembles the file of an agent: entries that name
//! their parents, branches, compactions that name the first entry that they keep, and replies with
//! one entry for each block.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use ctx_format::compaction::CompactionWriter;
use ctx_format::dialect::{Dialect, HeldMessage, Sniff, Wrapped};
use ctx_format::rules::{Results, Rules};
use ctx_format::view::{Outside, View, ViewBuilder};
use ctx_format::{
    About, Call, Edits, Effect, Flaw, Links, Log, Message, Object, Outline, Part, Role, Slot,
    ToolResult, Unread,
};

pub(crate) struct Tree;

fn kind_of<'a>(object: &Object<'a>) -> Cow<'a, str> {
    object.text_of("type").unwrap_or_default()
}

impl Dialect for Tree {
    fn name(&self) -> &'static str {
        "tree"
    }

    fn sniff(&self, object: &Object<'_>) -> Sniff {
        match object.get("id") {
            Some(_) => Sniff::Yes,
            None => Sniff::No,
        }
    }

    fn outline<'a>(&self, object: &Object<'a>) -> Option<Outline<'a>> {
        let mut outline = Outline::of_line();
        match kind_of(object).as_ref() {
            "user" => {
                outline.role = Role::User;
                outline.begins_turn = true;
            }
            "reply" => {
                outline.role = Role::Assistant;
                outline.calls.extend(object.text_of("call"));
            }
            "result" => {
                outline.role = Role::Tool;
                outline.has_content = false;
                outline.results.extend(object.text_of("of"));
            }
            "compaction" => {
                outline.role = Role::User;
                outline.is_summary = true;
            }
            _ => return None,
        }
        Some(outline)
    }

    fn unread(&self, _: &Object<'_>) -> Option<Unread> {
        None
    }

    fn message<'a>(&self, object: &Object<'a>) -> Option<Message<'a>> {
        let role = self.outline(object)?.role;
        let text = || object.text_of("text").map(Part::Text);
        let part = if role == Role::Tool {
            Some(Part::Result(ToolResult {
                id: object.text_of("of"),
                parts: text().into_iter().collect(),
                slot: object.get("text").map(|raw| Slot::text(object, raw)),

                ..ToolResult::default()
            }))
        } else if let Some(id) = object.text_of("call") {
            Some(Part::Call(Call {
                id: Some(id),
                name: "ls".into(),
                arguments: "{}".into(),
                slot: None,
            }))
        } else {
            text()
        };
        Some(Message::new(role, part.into_iter().collect()))
    }

    fn rules(&self) -> Rules {
        Rules {
            results: Results::BehindReply,
            merges_roles: false,
            system_apart: true,
            user_first: false,
            ..Rules::default()
        }
    }

    fn held<'a>(&self, object: &Object<'a>) -> Vec<HeldMessage<'a>> {
        let held = |message| HeldMessage {
            message,
            raw: object.text().into(),
            summary: self.summary_text(object),
            begins_turn: self.outline(object).is_some_and(|it| it.begins_turn),
        };
        self.message(object).map(held).into_iter().collect()
    }

    fn wrapped<'a>(&self, object: &Object<'a>) -> Wrapped<'a> {
        Wrapped { sent: vec![object.text()], copies: Vec::new() }
    }

    fn links<'a>(&self, _: &Object<'a>) -> Links<'a> {
        Links::default()
    }

    fn log(&self) -> Option<&dyn Log> {
        Some(self)
    }

    fn summary_role(&self, _: Role) -> Role {
        Role::User
    }

    fn summary_record(&self, _: Role, text: &str) -> String {
        let text = serde_json::Value::from(text);
        format!(r#"{{"type":"compaction","text":{text}}}"#)
    }

    fn summary_text<'a>(&self, object: &Object<'a>) -> Option<Cow<'a, str>> {
        let is_summary = kind_of(object) == "compaction";
        object.text_of("text").filter(|_| is_summary)
    }
}

impl Log for Tree {
    fn view_builder(&self) -> Box<dyn ViewBuilder> {
        Box::<Entries>::default()
    }

    fn compaction_writer(&self) -> Box<dyn CompactionWriter> {
        unimplemented!("no test compacts a session of this dialect")
    }

    fn about<'a>(&self, _: &Object<'a>) -> About<'a> {
        About::default()
    }

    fn repaired(&self, _: &Object<'_>, _: &Flaw, _: &[usize]) -> Edits {
        Edits::default()
    }

    fn on_damage(&self, _: &str) -> Option<(Effect, &'static str)> {
        None
    }
}

/// The entries of a session. The context is the path from the root to the newest leaf, beginning at
/// the last compaction, with the entries that the compaction keeps.
#[derive(Default)]
struct Entries(Vec<Entry>);

#[derive(Default)]
struct Entry {
    kind: String,
    id: Option<String>,
    parent: Option<String>,
    /// The id of the first entry that a compaction keeps.
    first_kept: Option<String>,
    /// The id of the reply that the entry belongs to, if any.
    reply: Option<String>,
}

impl ViewBuilder for Entries {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        self.0.resize_with(record, Entry::default);
        let text = |key| object.text_of(key).map(Cow::into_owned);
        self.0.push(Entry {
            kind: text("type").unwrap_or_default(),
            id: text("id"),
            parent: text("parent"),
            first_kept: text("firstKept"),
            reply: text("reply"),
        });
    }

    fn view(&self) -> View {
        let path = self.path();
        let (context, compacted) = self.context(&path);
        let on_path: HashSet<usize> = path.into_iter().collect();
        let reason = |at: usize| match &self.0[at] {
            entry if entry.id.is_none() || entry.kind == "progress" => Outside::NeverSent,
            _ if !on_path.contains(&at) => Outside::DeadBranch,
            _ if compacted.contains(&at) => Outside::BeforeCompaction,
            _ => Outside::NeverSent,
        };
        let mut view = View::default();
        for record in 0..self.0.len() {
            view.leave(record, reason(record));
        }
        for message in self.messages(&context) {
            view.add_message(&message);
        }
        view
    }
}

impl Entries {
    /// The indexes of the entries from the root to the newest leaf.
    fn path(&self) -> Vec<usize> {
        let ids = self.0.iter().enumerate();
        let ids: HashMap<&str, usize> =
            ids.filter_map(|(at, entry)| Some((entry.id.as_deref()?, at))).collect();
        let mut at = self.0.iter().rposition(|entry| entry.id.is_some());
        let mut path = Vec::new();
        while let Some(here) = at.filter(|here| !path.contains(here)) {
            path.push(here);
            let parent = self.0[here].parent.as_deref();
            at = parent.and_then(|parent| ids.get(parent).copied());
        }
        path.reverse();
        path
    }

    /// The part of the path that is sent, in order, and the entries that were replaced by a
    /// compaction.
    fn context(&self, path: &[usize]) -> (Vec<usize>, HashSet<usize>) {
        let is_compaction = |at: &usize| self.0[*at].kind == "compaction";
        let Some(last) = path.iter().rposition(is_compaction) else {
            return (path.to_vec(), HashSet::new());
        };
        let first_kept = self.0[path[last]].first_kept.as_deref();
        let is_first = |at: &usize| self.0[*at].id.as_deref() == first_kept;
        let kept = path[..last].iter().position(is_first).unwrap_or(last);
        let context = [&path[last..=last], &path[kept..last], &path[last + 1..]];
        (context.concat(), path[..kept].iter().copied().collect())
    }

    /// The entries of one reply are one message, whatever entries are between them.
    fn messages(&self, context: &[usize]) -> Vec<Vec<usize>> {
        let mut messages: Vec<Vec<usize>> = Vec::new();
        let mut replies: HashMap<&str, usize> = HashMap::new();
        for at in context {
            let entry = &self.0[*at];
            if entry.kind == "progress" {
                continue;
            }
            let known = entry.reply.as_deref().and_then(|id| replies.get(id));
            if let Some(message) = known {
                messages[*message].push(*at);
                continue;
            }
            if let Some(reply) = entry.reply.as_deref() {
                replies.insert(reply, messages.len());
            }
            messages.push(vec![*at]);
        }
        messages
    }
}
