//! Finds the messages that opencode sends, and the flaws of the session.
//!
//! The rules follow `filterCompacted` in version 1.18.33, and were checked against what that
//! version sends. opencode reads messages in the order of their times and then of their ids. The
//! last complete compaction replaces everything before its tail, which follows the summary.

use std::collections::{BTreeMap, HashSet};

use super::Opencode;
use super::message::Entry;
use crate::log::Log;
use crate::log::view::{Outside, View, ViewBuilder};
use crate::{Effect, Flaw, Object, Role, json};

/// The facts about a message that decide whether it is sent.
pub(super) struct Line {
    record: usize,
    /// The time in milliseconds, and the id.
    pub(super) order: (i64, String),
    /// Whether the message is the request for a compaction.
    is_request: bool,
    /// The id in `tail_start_id`, if the message is such a request.
    tail: Option<String>,
    /// The id of the request that this summary answers, and whether the summary is complete.
    summary_of: Option<(String, bool)>,
    /// Whether the message has content for the model.
    pub(super) is_sent: bool,
}

impl Line {
    fn id(&self) -> &str {
        &self.order.1
    }

    /// Returns true if the message is part of a compaction.
    pub(super) fn is_compaction(&self) -> bool {
        self.is_request || self.summary_of.is_some()
    }
}

/// The messages of a session.
#[derive(Default)]
pub(super) struct Lines {
    /// The messages in the order in which opencode reads them.
    by_time: BTreeMap<(i64, String), Line>,
    ids: HashSet<String>,
    /// The records that opencode does not import, because an earlier message has the same id.
    repeated: Vec<usize>,
    /// The first message that the user took back. opencode removes it, and all after it, with the
    /// next request.
    undone: Option<String>,
    flaws: Vec<Flaw>,
}

impl Lines {
    /// The messages in the order in which opencode reads them.
    pub(super) fn all(&self) -> Vec<&Line> {
        self.by_time.values().collect()
    }

    /// The messages that the user has not undone.
    fn valid(&self) -> Vec<&Line> {
        let mut all = self.all();
        let undone = self.undone.as_deref();
        let at = all.iter().position(|line| Some(line.id()) == undone);
        all.truncate(at.unwrap_or(all.len()));
        all
    }
}

/// Returns the messages that opencode reads as the context, in the order in which it sends them.
fn context<'l>(all: &[&'l Line]) -> Vec<&'l Line> {
    let mut done: HashSet<&str> = HashSet::new();
    let mut tail = None;
    let mut begin = 0;
    for (place, line) in all.iter().enumerate().rev() {
        if let Some(tail) = tail {
            if line.id() == tail {
                begin = place;
                break;
            }
        } else if line.is_request && done.contains(line.id()) {
            tail = line.tail.as_deref();
            if tail.is_none_or(|tail| tail == line.id()) {
                begin = place;
                break;
            }
        } else if let Some((of, true)) = &line.summary_of {
            done.insert(of);
        }
    }
    let read = &all[begin..];
    moved(read).unwrap_or_else(|| read.to_vec())
}

/// Returns the messages with the tail of the last compaction after its summary; `None` if the tail
/// stays where it is.
fn moved<'l>(read: &[&'l Line]) -> Option<Vec<&'l Line>> {
    let request = read.iter().rposition(|line| line.tail.is_some())?;
    let (id, tail) = (read[request].id(), read[request].tail.as_deref()?);
    let answers = |line: &&Line| line.summary_of.as_ref().is_some_and(|(of, _)| of == id);
    let summary = request + 1 + read[request + 1..].iter().position(answers)?;
    let begin = read.iter().position(|line| line.id() == tail).filter(|it| *it < request)?;
    Some([&read[request..=summary], &read[begin..request], &read[summary + 1..]].concat())
}

impl ViewBuilder for Lines {
    fn begin_document(&mut self, members: &[(String, String)]) {
        let info = members.iter().find(|(key, _)| key == "info");
        let info = info.and_then(|(_, raw)| Object::parse(raw).ok());
        let revert = info.and_then(|info| info.object_of("revert"));
        self.undone =
            revert.and_then(|it| it.get("messageID").and_then(json::text).map(Into::into));
    }

    fn push(&mut self, record: usize, object: &Object<'_>) {
        let Some(entry) = Entry::of(object) else { return };
        let id = entry.info.text_of("id").unwrap_or_default().into_owned();
        if !self.ids.insert(id.clone()) {
            let what =
                format!("an earlier message has the id {id}: opencode does not import this one");
            self.flaws.push(Flaw::new(record, "repeated-id", Effect::Lost, what));
            self.repeated.push(record);
            return;
        }
        if let Some(key) = lacks(&entry) {
            let what = format!("the message has no {key}: opencode imports nothing from here on");
            self.flaws.push(Flaw::new(record, "missing-member", Effect::Refused, what));
        }
        let tail = |part: &Object<'_>| part.text_of("tail_start_id").map(Into::into);
        let parent = || entry.info.text_of("parentID").unwrap_or_default().into_owned();
        let time = entry.info.object_of("time").and_then(|it| it.get("created")?.parse().ok());
        let order = (time.unwrap_or_default(), id);
        let line = Line {
            record,
            order: order.clone(),
            is_request: entry.compaction().is_some(),
            tail: entry.compaction().and_then(tail),
            summary_of: entry.is_named_summary().then(|| (parent(), entry.is_summary())),
            is_sent: !entry.sent(object).0.is_empty(),
        };
        self.by_time.insert(order, line);
    }

    fn view(&self) -> View {
        let mut view = View::default();
        view.flaws.clone_from(&self.flaws);
        let valid = self.valid();
        for line in self.all() {
            view.leave(line.record, Outside::DeadBranch);
        }
        for line in &valid {
            view.leave(line.record, Outside::BeforeCompaction);
        }
        for record in &self.repeated {
            view.leave(*record, Outside::Superseded);
        }
        for line in context(&valid) {
            if line.is_sent {
                view.add_message(&[line.record]);
            } else {
                view.leave(line.record, Outside::NeverSent);
            }
        }
        let ids: HashSet<&str> = valid.iter().map(|line| line.id()).collect();
        let missing = |line: &&&Line| line.tail.as_deref().is_some_and(|tail| !ids.contains(tail));
        let missing = valid.iter().filter(missing);
        let missing = missing.map(|line| Opencode.flaw(line.record, "kept-entry-missing"));
        view.flaws.extend(missing);
        let undone = self.all().into_iter().find(|it| Some(it.id()) == self.undone.as_deref());
        view.flaws.extend(undone.map(|line| Opencode.flaw(line.record, "pending-undo")));
        view
    }
}

/// Returns the first member that opencode requires but the message does not have.
fn lacks(entry: &Entry<'_>) -> Option<&'static str> {
    const OF_USER: &str = "agent time.created model.providerID model.modelID";
    const OF_REPLY: &str = "agent time.created parentID modelID providerID mode path.cwd path.root \
        cost tokens.input tokens.output tokens.reasoning tokens.cache.read tokens.cache.write";
    let required = if entry.role == Role::User { OF_USER } else { OF_REPLY };
    let has = |path: &str| {
        let (above, key) = path.rsplit_once('.').unwrap_or(("", path));
        let mut keys = above.split('.').filter(|key| !key.is_empty());
        let within = keys.try_fold(entry.info.clone(), |within, key| within.object_of(key));
        within.is_some_and(|within| within.get(key).is_some())
    };
    required.split(' ').find(|path| !has(path))
}
