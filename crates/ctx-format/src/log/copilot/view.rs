//! Finds the events that the Copilot CLI sends, and the flaws of the session.
//!
//! The rules follow version 1.0.102. The context begins with the last event that clears it, or with
//! the last compaction if that is later. With the summary of a compaction, the agent sends the
//! user's earlier messages again, and the instructions of the last skill.

use std::collections::{HashMap, HashSet, VecDeque};

use ring::digest::{SHA256, digest};

use super::Copilot;
use super::event::{Event, EventKind, SHAPES, is_of_helper};
use crate::dialect::content::kind_of;
use crate::log::compaction::{Ids, LineText, is_uuid, quoted};
use crate::log::links::LineId;
use crate::log::view::{Outside, View, ViewBuilder};
use crate::log::{HeaderFacts, Log};
use crate::{Effect, Flaw, Object, Remedy, json};

/// An event that is in the context or was in it, or that decides what is in it.
struct Entry {
    record: usize,
    kind: EventKind,
    /// The ids of a reply's calls, or the id of the call that a result answers.
    calls: Vec<LineId>,
    /// The text, as raw JSON, that the agent sends in place of the event's own text: in a message
    /// of the user or of a skill, the text that it sends again with a summary.
    content: Option<String>,
}

/// Collects the events of a session.
#[derive(Default)]
pub(super) struct Events {
    entries: Vec<Entry>,
    /// The records of events that only describe what the agent did.
    traces: Vec<usize>,
    /// The commands that the user ran, by the id of the call.
    commands: HashMap<LineId, String>,
    /// The contents of skills, by the id by which later events refer to them.
    skills: HashMap<String, String>,
    /// The calls that have no result yet.
    open: HashSet<LineId>,
    /// The calls that had no result when the context was cleared. Until all of them have one, or
    /// another message follows, the agent omits replies.
    open_when_cleared: HashSet<LineId>,
    /// Whether the context was cleared, and the user has not said anything since. The agent omits
    /// skills until then.
    omits_skills: bool,
    pub(super) has_header: bool,
    known: HeaderFacts,
    first: Option<usize>,
    outside: View,
    flaws: Vec<Flaw>,
}

/// The beginnings of the types of events that describe what the agent did. A session continues in
/// the same way without them.
const TRACES: &str = "assistant.turn_ assistant.reasoning hook. model. permission. \
    session.compaction_start system.message tool.execution_start tool_search.";

/// The types of events after which no tool is running any more.
const ENDS: [&str; 2] = ["abort", "session.resume"];

impl Events {
    /// Returns the text of a skill as raw JSON; `None` if the event refers to a skill that is not
    /// in the file.
    fn skill(&mut self, event: &Event<'_>) -> Option<String> {
        let Some(id) = event.data.text_of("contentId") else {
            let content = event.data.text_of("content")?;
            let text = quoted(&content);
            self.skills.insert(content_id(&content), text.clone());
            return Some(text);
        };
        let content = self.skills.get(&*id)?;
        if event.kind == EventKind::SkillRef {
            return Some(content.clone());
        }
        let around = |key| event.data.text_of(key).unwrap_or_default();
        let text = [&around("prefix"), &*json::text(content)?, &around("suffix")].concat();
        Some(quoted(&text))
    }

    /// Returns true if the agent omits the event because of an earlier one. A tool clears the
    /// context while it runs, and what the model says to its result is omitted.
    fn omits(&mut self, event: &Event<'_>, calls: &[LineId]) -> bool {
        match event.kind {
            EventKind::Cleared => {
                self.open_when_cleared.extend(self.open.drain());
                self.omits_skills = true;
            }
            EventKind::Compaction if event.is_message() => self.open.clear(),
            EventKind::User => {
                self.open_when_cleared.clear();
                self.omits_skills = false;
            }
            EventKind::Notification | EventKind::ModeNotice if event.is_message() => {
                self.open_when_cleared.clear();
            }
            EventKind::Result => {
                self.open_when_cleared.remove(&calls[0]);
                self.open.remove(&calls[0]);
            }
            EventKind::Reply if self.open_when_cleared.is_empty() => self.open.extend(calls),
            EventKind::Reply => return true,
            EventKind::SkillContext | EventKind::SkillContextRef => return self.omits_skills,
            _ => {}
        }
        false
    }

    /// Returns true if the agent may believe that a tool is still running.
    pub(super) fn waits(&self) -> bool {
        !self.open.is_empty() || !self.open_when_cleared.is_empty()
    }

    /// Returns the index of the last entry of one of these kinds.
    fn last(&self, kinds: &[EventKind]) -> Option<usize> {
        self.entries.iter().rposition(|entry| kinds.contains(&entry.kind))
    }

    /// Returns the index of the entry that replaces all earlier ones.
    fn begin(&self) -> Option<usize> {
        self.last(&[EventKind::Cleared, EventKind::Compaction])
    }

    /// Returns the entries after the beginning of the context.
    fn after(&self) -> &[Entry] {
        &self.entries[self.begin().map_or(0, |begin| begin + 1)..]
    }

    /// Returns the records in the context, in the order in which they are sent, each with its
    /// content if the agent sends other content than the event's own.
    pub(super) fn context(&self) -> Vec<(usize, Option<&str>)> {
        let mut sent = Vec::new();
        if let Some(end) = self.begin().filter(|at| self.entries[*at].kind != EventKind::Cleared) {
            let start = self.last(&[EventKind::Cleared]).unwrap_or(0);
            let before = self.entries[start..end].iter();
            let repeated = before.filter_map(|it| Some((it, it.content.as_deref()?)));
            let of_user = |kind| matches!(kind, EventKind::User | EventKind::Cleared);
            let is_skill = |kind| matches!(kind, EventKind::Skill | EventKind::SkillRef);
            let said = repeated.clone().filter(|(entry, _)| of_user(entry.kind));
            let skill = repeated.rev().find(|(entry, _)| is_skill(entry.kind));
            sent.extend(said.map(|(entry, text)| (entry.record, Some(text))));
            sent.push((self.entries[end].record, None));
            sent.extend(skill.map(|(entry, text)| (entry.record, Some(text))));
        }
        let answers = self.answers();
        for Entry { record, kind, calls, content } in self.after() {
            match kind {
                EventKind::Skill | EventKind::SkillRef => continue,
                EventKind::Result if content.is_none() => continue,
                EventKind::User => sent.push((*record, None)),
                _ => sent.push((*record, content.as_deref())),
            }
            if *kind == EventKind::Reply {
                let results = (0..calls.len()).filter_map(|at| answers.get(&(*record, at)));
                sent.extend(results.map(|result| (*result, None)));
            }
        }
        sent
    }

    /// Returns the record of each call's result. A call is given by its reply's record and its
    /// index. The agent moves each result to its call.
    fn answers(&self) -> HashMap<(usize, usize), usize> {
        let mut answers = HashMap::new();
        let mut waiting: HashMap<LineId, VecDeque<(usize, usize)>> = HashMap::new();
        let mut done = HashSet::new();
        for Entry { record, kind, calls, content } in self.after() {
            for (at, id) in calls.iter().enumerate() {
                let waiting = waiting.entry(*id).or_default();
                if *kind == EventKind::Reply {
                    // The id can be used again once no call with it waits.
                    if waiting.is_empty() {
                        done.remove(id);
                    }
                    waiting.push_back((*record, at));
                // The first result of a call counts.
                } else if content.is_none() && done.insert(*id) {
                    answers.extend(waiting.pop_front().map(|call| (call, *record)));
                }
            }
        }
        answers
    }

    /// Returns the line of a header, made from the facts in other lines.
    fn new_header(&self) -> String {
        let [id, time, cwd] = self.known.quoted();
        let data = format!(
            r#"{{"sessionId":{id},"version":1,"producer":"copilot-agent","copilotVersion":"1.0.102","startTime":{time},"context":{{"cwd":{cwd}}}}}"#
        );
        LineText::of_type("session.start")
            .json("data", &data)
            .json("id", &id)
            .json("timestamp", &time)
            .json("parentId", "null")
            .end()
    }
}

impl ViewBuilder for Events {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        let name = kind_of(object);
        self.first.get_or_insert(record);
        self.flaws.extend(refused(record, object));
        if !self.has_header && self.known.time.is_none() {
            self.known.time = object.text_of("timestamp").map(Into::into);
        }
        if is_of_helper(object) {
            self.outside.leave(record, Outside::OtherAgent);
            return;
        }
        if ENDS.contains(&&*name) {
            self.open.clear();
            self.open_when_cleared.clear();
        }
        let Some(event) = Event::of(object) else {
            if TRACES.split(' ').any(|begin| name.starts_with(begin)) {
                self.traces.push(record);
            }
            return;
        };
        let calls = event.call_ids();
        if self.omits(&event, &calls) {
            return;
        }
        let is_sent = event.is_message();
        let content = match event.kind {
            EventKind::User | EventKind::Cleared => event.repeated().map(str::to_owned),
            EventKind::Result if event.is_of_user_shell() => {
                let command = self.commands.get(&calls[0]).map(String::as_str);
                Some(quoted(&event.shell_text(command)))
            }
            EventKind::Skill
            | EventKind::SkillRef
            | EventKind::SkillContext
            | EventKind::SkillContextRef => {
                let Some(content) = self.skill(&event) else {
                    let what = "the skill is not in the file: the Copilot CLI loads nothing";
                    self.flaws.push(Flaw::new(record, "bad-event", Effect::Refused, what));
                    return;
                };
                (!is_sent).then_some(content)
            }
            _ => None,
        };
        match event.kind {
            EventKind::Start => self.has_header = true,
            EventKind::Command => self.commands.extend(event.command().map(|it| (calls[0], it))),
            EventKind::Compaction if event.data.is_true("success") && !is_sent => {
                self.flaws.push(Copilot.flaw(record, "compaction-not-read"));
            }
            kind if is_sent || content.is_some() || kind == EventKind::Cleared => {
                self.entries.push(Entry { record, kind, calls, content });
            }
            _ => {}
        }
    }

    /// The Copilot CLI skips lines that are not UTF-8.
    fn push_replaced(&mut self, record: usize, _: &Object<'_>) {
        self.push_bad(record);
    }

    fn view(&self) -> View {
        let mut view = self.outside.clone();
        view.flaws.clone_from(&self.flaws);
        let begin = self.begin().map_or(0, |begin| self.entries[begin].record);
        let all = self.entries.iter().map(|entry| entry.record).chain(self.traces.iter().copied());
        for record in all.filter(|record| *record < begin) {
            view.leave(record, Outside::BeforeCompaction);
        }
        let context = self.context();
        for (record, content) in &context {
            if let Some(content) = content {
                view.replace_content(*record, content);
            }
            view.add_message(&[*record]);
        }
        let sent: HashSet<usize> = context.iter().map(|(record, _)| *record).collect();
        let is_lone = |it: &&Entry| it.kind == EventKind::Result && !sent.contains(&it.record);
        for entry in self.after().iter().filter(is_lone) {
            view.flaws.push(Copilot.flaw(entry.record, "orphan-result"));
        }
        if let (false, Some(record)) = (self.has_header, self.first) {
            let flaw = Copilot.flaw(record, "no-header");
            view.flaws.push(flaw.repaired_by(Remedy::Before(self.new_header())));
        }
        view
    }
}

/// Creates the flaw for an event because of which the Copilot CLI refuses the file.
fn refused(record: usize, object: &Object<'_>) -> Option<Flaw> {
    let flaw = |what: &str| {
        let what = format!("{what}: the Copilot CLI loads nothing");
        Flaw::new(record, "bad-event", Effect::Refused, what)
    };
    let bad = bad_members(object);
    if !bad.is_empty() {
        let what = format!("the event needs other values of {}", bad.join(", "));
        return Some(flaw(&what).repaired_by(Remedy::Change(Vec::new())));
    }
    let shape = SHAPES.get(&*kind_of(object))?;
    (!shape.is_of(object)).then(|| flaw("the data of the event lack what the agent requires"))
}

/// Returns the members of an event that do not have the form that the agent requires.
pub(super) fn bad_members(object: &Object<'_>) -> Vec<&'static str> {
    let is_uuid = |key| object.text_of(key).is_some_and(|id| is_uuid(&id));
    let checks = [
        ("id", is_uuid("id")),
        ("timestamp", object.time().is_some()),
        ("parentId", object.get("parentId") == Some("null") || is_uuid("parentId")),
    ];
    checks.into_iter().filter(|(_, is_good)| !is_good).map(|(key, _)| key).collect()
}

/// Returns the id by which later events refer to the content of a skill.
pub(super) fn content_id(content: &str) -> String {
    let hash = digest(&SHA256, content.as_bytes());
    let digits = hash.as_ref().iter().map(|byte| format!("{byte:02x}"));
    format!("sha256:{}", digits.collect::<String>())
}

/// Creates an id for an event from a text, so that the same text always gets the same id.
pub(super) fn id_from(text: &str) -> String {
    Ids::new(digest(&SHA256, text.as_bytes()).as_ref()).uuid()
}
