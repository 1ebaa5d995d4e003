//! Finds the messages that make up a session's context, and the flaws of the session.
//!
//! Flaws are problems that version 0.61.0 of the Gemini CLI has when it loads a session. Each kind
//! of flaw was tested with the client's own loader and checked against what the client sends.

use std::collections::{HashMap, HashSet};

use super::log::{Entry, Log, MessagePosition, Turn};
use super::message::SentMessage;
use crate::dialect::gemini as part;
use crate::log::links::LineId;
use crate::log::view::{ContextMessage, View, ViewBuilder};
use crate::repair::MISSING_RESULT;
use crate::{Edits, Effect, Flaw, Object, Remedy, json};

/// Creates the flaws for calls that the client sends without a result. The calls in the last reply
/// may still get their results.
fn unanswered(turns: &[(MessagePosition, &Turn)]) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let (mut waiting, mut answered) = (Vec::new(), HashSet::new());
    for (place, turn) in turns {
        if let Turn::Results(ids) = turn {
            answered.extend(ids);
            continue;
        }
        flaws.extend(missing(&waiting, &answered, Effect::Refused));
        (waiting, answered) = (Vec::new(), HashSet::new());
        if let Turn::Reply { unanswered, .. } = turn {
            waiting.extend(unanswered.iter().map(|it| (place.record, it)));
        }
    }
    flaws.extend(missing(&waiting, &answered, Effect::Waits));
    flaws
}

/// Creates the flaws for the calls in `waiting` whose ids are not in `answered`.
fn missing(waiting: &[(usize, &String)], answered: &HashSet<&LineId>, effect: Effect) -> Vec<Flaw> {
    let missing = waiting.iter().filter(|(_, id)| !answered.contains(&LineId::of(id)));
    let flaws = missing.map(|(record, id)| {
        let what = format!(
            "tool call {id} has no result: the Gemini CLI sends the call without one, which the API refuses"
        );
        let flaw = Flaw::new(*record, "unanswered-call", effect, what);
        Flaw { id: Some((*id).clone()), ..flaw.repaired_by(Remedy::Change(Vec::new())) }
    });
    flaws.collect()
}

/// Returns the edits that add a result for the call `id` to the record `object`, which contains
/// `messages`.
pub(super) fn answered(object: &Object<'_>, messages: &[Object<'_>], id: &str) -> Edits {
    let mut edits = Edits::default();
    let sent = messages.iter().filter_map(SentMessage::of);
    for call in sent.flat_map(|message| message.listed_calls()) {
        if part::name_of(&call) != id || !part::list(call.get("result")).is_empty() {
            continue;
        }
        let text = |key| json::quoted(&call.text_of(key).unwrap_or_default());
        let (id, name, missing) = (text("id"), text("name"), json::quoted(MISSING_RESULT));
        let result = format!(
            r#"[{{"functionResponse":{{"id":{id},"name":{name},"response":{{"error":{missing}}}}}}}]"#
        );
        let start = object.place_of(call.text()).start;
        edits.set(start, &call, "result", &result);
    }
    edits
}

impl ViewBuilder for Log {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        self.add(record, object);
    }

    fn begin_document(&mut self, _: &[(String, String)]) {
        // A document needs no header line, because its other members contain the same data as a
        // header.
        self.has_header = true;
    }

    fn view(&self) -> View {
        let turns = without_void(&self.entries);
        let mut messages = Messages::default();
        for (place, turn) in &turns {
            messages.push(*place, turn);
        }
        let mut view = self.outside.clone();
        view.flaws = unanswered(&turns);
        view.flaws.extend(self.flaws.iter().cloned());
        if !self.has_header {
            view.flaws.extend(self.headless.clone());
        }
        view.add_messages(&messages.all);
        view
    }
}

/// Returns the turns that the client sends. If any reply in an unbroken series of replies has an
/// empty part, the client omits the whole series. A series ends with a reply that contains results.
fn without_void(entries: &[Entry]) -> Vec<(MessagePosition, &Turn)> {
    let mut sent: Vec<(MessagePosition, &Turn)> = Vec::new();
    let (mut begin, mut has_void, mut goes_on) = (0, false, false);
    for entry in entries {
        let Some(turn) = &entry.turn else { continue };
        let Turn::Reply { has_results, is_void, .. } = turn else {
            goes_on = false;
            sent.push((entry.place, turn));
            continue;
        };
        if !goes_on {
            (begin, has_void) = (sent.len(), false);
        }
        has_void |= is_void;
        sent.push((entry.place, turn));
        if has_void {
            sent.truncate(begin);
        }
        goes_on = !has_results;
    }
    sent
}

/// The records of each message in the context. A reply and its results form one message, so that
/// results are never separated from their calls. Newer clients write the results a second time
/// after the reply, and send both copies.
#[derive(Default)]
struct Messages<'t> {
    all: Vec<ContextMessage>,
    /// For each group, the number of the group's last record.
    ends: Vec<usize>,
    /// The group of each record. All messages in a list belong to the same group.
    groups: HashMap<usize, usize>,
    /// The ids of the last reply's calls. `None` if another message came after the reply.
    calls: Option<&'t HashSet<LineId>>,
    last: usize,
}

impl<'t> Messages<'t> {
    fn push(&mut self, MessagePosition { record, number }: MessagePosition, turn: &'t Turn) {
        let continues = matches!(turn, Turn::Results(ids) if self.is_answered_by(record, ids));
        let known = self.groups.get(&record).copied();
        let group = known.unwrap_or_else(|| {
            if continues {
                self.ends[self.last] = record;
                self.last
            } else {
                self.ends.push(record);
                self.ends.len() - 1
            }
        });
        self.groups.insert(record, group);
        self.all.push(ContextMessage { record, number, group });
        match turn {
            Turn::Reply { calls, .. } => (self.calls, self.last) = (Some(calls), group),
            Turn::Results(_) if continues => {}
            Turn::User | Turn::Results(_) => self.calls = None,
        }
    }

    /// Returns true if record number `record`, with these results, continues the last reply. A
    /// record before the reply does not continue the reply. Such a record exists if the client
    /// wrote the reply again after its results.
    fn is_answered_by(&self, record: usize, ids: &[LineId]) -> bool {
        let are_of = |calls: &HashSet<LineId>| ids.iter().all(|id| calls.contains(id));
        self.calls.is_some_and(|calls| self.ends[self.last] < record && are_of(calls))
    }
}
