//! Finds the records that make up a session's context, and the flaws of the session.
//!
//! The flaws were tested with version 2.1.0 of the agent.

use std::collections::HashMap;

use super::entry::Entry;
use super::line::Line;
use super::replay::{Replay, active};
use crate::compaction::list;
use crate::convert::target::text_block;
use crate::dialect::content::kind_of;
use crate::log::view::{Outside, View, ViewBuilder};
use crate::log::{Effect, Flaw, Remedy};
use crate::{Object, Role, counted};

/// Collects the lines of a session.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines that the agent reads, each with its record. Blank lines do not count.
    read: Vec<(usize, Line)>,
    /// The record of the first line that is not JSON, and the number of lines after it.
    cut: Option<(usize, usize)>,
    flaws: Vec<Flaw>,
}

impl ViewBuilder for Lines {
    fn push(&mut self, record: usize, object: &Object<'_>) {
        if let Some((_, lost)) = &mut self.cut {
            *lost += usize::from(Entry::of(object).is_some());
            return;
        }
        let line = Line::of(object);
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

    /// The agent reads nothing from a line on that is not JSON, and removes the rest of the file.
    fn push_bad(&mut self, record: usize) {
        self.cut.get_or_insert((record, 0));
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
        if let Some((record, lost @ 1..)) = self.cut {
            let what = "Kimi Code reads nothing from this line on, and removes";
            let what = format!("{what} {} with content after it", counted(lost, "line"));
            view.flaws.push(Flaw::new(record, "cut-off", Effect::Lost, what));
        }
        // The agent sends the beginning and the end of a very long message as two messages.
        let mut shortened: HashMap<usize, Vec<String>> = HashMap::new();
        for item in replay.sent().into_iter().map(|at| &replay.items[at]) {
            let Some(record) = item.records.first() else { continue };
            if item.is_short {
                shortened.entry(*record).or_default().push(text_block(&item.facts.text));
            }
            if shortened.get(record).is_none_or(|parts| parts.len() == 1) {
                view.add_message(&item.records);
            }
        }
        for (record, parts) in &shortened {
            view.replace_content(*record, &list(parts));
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
