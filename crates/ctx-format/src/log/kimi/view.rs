//! Finds the records that make up a session's context, and the flaws of the session.
//!
//! The flaws were tested with version 2.1.0 of the agent.

use std::collections::HashSet;

use super::entry::Entry;
use super::line::Line;
use super::replay::{Replay, active};
use crate::dialect::content::kind_of;
use crate::log::view::{Outside, View, ViewBuilder};
use crate::log::{Effect, Flaw, Remedy};
use crate::{Object, Role, counted};

/// Collects the lines of a session.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines that the agent reads, each with its record. Blank lines do not count.
    read: Vec<(usize, Line)>,
    /// The agent that the first line with an agent names, as raw JSON. The lines of other agents do
    /// not count.
    pub(super) agent: Option<String>,
    /// The flaw of the first line that is not JSON, and the number of lines with content after it.
    cut: Option<(Flaw, u64)>,
    flaws: Vec<Flaw>,
}

impl ViewBuilder for Lines {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        if let Some((_, lost)) = &mut self.cut {
            *lost += u64::from(Entry::of(object).is_some());
            return;
        }
        let line = Line::of(object);
        let own = object.get("agentId");
        let agent = own.map(|own| self.agent.get_or_insert_with(|| own.to_owned()).as_str());
        if own != agent && !matches!(line, Line::Switch(_)) {
            return self.read.push((record, Line::Other));
        }
        if self.read.is_empty() && kind_of(object) == "metadata" {
            self.flaws.extend(bad_header(record, object));
        }
        let is_compaction = kind_of(object) == "context.apply_compaction";
        if is_compaction && matches!(line, Line::Other) {
            let what = "the compaction has no summary or no count, or a count is not a number: Kimi Code ignores it";
            self.flaws.push(Flaw::new(record, "compaction-not-read", Effect::Ignored, what));
        }
        self.read.push((record, line));
    }

    fn push_bad(&mut self, record: usize) {
        self.cut.get_or_insert_with(|| (cut_off(record), 0));
    }

    fn push_blank(&mut self, record: usize, text: &[u8]) {
        if !text.is_empty() {
            self.cut.get_or_insert_with(|| (cut_off(record).repaired_by(Remedy::Remove), 0));
        }
    }

    fn view(&self) -> View {
        let (mut replay, flaw) = self.replay();
        replay.settle();
        let mut view = View::default();
        for (record, why) in &replay.outside {
            view.leave(*record, *why);
        }
        view.flaws.clone_from(&self.flaws);
        view.flaws.extend(flaw);
        view.flaws.extend(replay.stray.iter().map(|(record, role)| stray(*record, *role)));
        if let Some((flaw, lost @ 1..)) = &self.cut {
            let message =
                format!("{} {} with content after it", flaw.message, counted(*lost, "line"));
            view.flaws.push(Flaw { message, ..flaw.clone() });
        }
        let mut shortened = HashSet::new();
        for item in replay.sent().into_iter().map(|at| &replay.items[at]) {
            let Some(record) = item.records.first() else { continue };
            let content = if item.is_short { replay.short_content(item.facts.body) } else { None };
            // The agent sends the beginning and the end of a very long message as two messages.
            if content.is_none() || shortened.insert(*record) {
                view.add_message(&item.records);
            }
            if let Some(content) = content {
                view.replace_content(*record, &content);
            }
        }
        view
    }
}

impl Lines {
    /// Replays the lines on the active branch. If the agent cannot follow the branches, replays all
    /// lines, and returns a flaw.
    pub(super) fn replay(&self) -> (Replay, Option<Flaw>) {
        let on = active(&self.read);
        let what = "the branches before this one form a loop, or lead to one that is not in the file: Kimi Code does not open the session";
        let flaw = |at: usize| Flaw::new(self.read[at].0, "missing-parent", Effect::Refused, what);
        let flaw = on.as_ref().err().map(|at| flaw(*at));
        let on = on.unwrap_or_else(|_| vec![true; self.read.len()]);
        let mut replay = Replay::default();
        for ((record, line), is_on) in self.read.iter().zip(on) {
            if is_on {
                replay.add(*record, line);
            } else if !matches!(line, Line::Other) {
                replay.outside.push((*record, Outside::DeadBranch));
            }
        }
        (replay, flaw)
    }
}

/// Creates the flaw for a line that is not JSON, without the number of lost lines.
fn cut_off(record: usize) -> Flaw {
    let what = "Kimi Code reads nothing from this line on, and removes";
    Flaw::new(record, "cut-off", Effect::Lost, what)
}

/// Creates the flaw for a part or a result that belongs to no open reply.
fn stray(record: usize, of: Role) -> Flaw {
    let (rule, what) = match of {
        Role::Tool => ("orphan-result", "no call waits for this result"),
        _ => ("stray-part", "the reply to which this part belongs is not open"),
    };
    Flaw::new(record, rule, Effect::Ignored, format!("{what}: Kimi Code leaves it out"))
}

/// Creates the flaw for a header with which the agent does not open the session.
fn bad_header(record: usize, object: &Object<'_>) -> Option<Flaw> {
    let is_time = object.get("created_at").is_some_and(|raw| raw.parse::<f64>().is_ok());
    let version = object.text_of("protocol_version").filter(|_| is_time);
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let what = "the header has no time or no known version: Kimi Code does not open the session";
    let flaw = || Flaw::new(record, "bad-header", Effect::Refused, what);
    major.is_none_or(|major| major == 0).then(|| flaw().repaired_by(Remedy::Change(Vec::new())))
}
