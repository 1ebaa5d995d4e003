//! Finds the records that make up a session's context, and the flaws of the session.
//!
//! The flaws were tested with version 2.1.0 of the agent.

use std::collections::HashSet;

use super::Kimi;
use super::entry::Entry;
use super::line::Line;
use super::replay::{Replay, active};
use crate::dialect::content::kind_of;
use crate::log::view::{Outside, View, ViewBuilder};
use crate::log::{Flaw, Log, Remedy};
use crate::{Object, counted};

/// Collects the lines of a session.
#[derive(Default)]
pub(super) struct Lines {
    /// The lines that the agent reads, each with its record. Blank lines do not count.
    pub(super) read: Vec<(usize, Line)>,
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
        let kind = kind_of(object);
        if self.read.is_empty() && kind == "metadata" && is_bad_header(object) {
            let flaw = Kimi.flaw(record, "bad-header");
            self.flaws.push(flaw.repaired_by(Remedy::Change(Vec::new())));
        } else if kind == "context.apply_compaction" && matches!(line, Line::Other) {
            self.flaws.push(Kimi.flaw(record, "compaction-not-read"));
        }
        self.read.push((record, line));
    }

    fn push_bad(&mut self, record: usize) {
        self.cut.get_or_insert_with(|| (Kimi.flaw(record, "cut-off"), 0));
    }

    fn push_blank(&mut self, record: usize, text: &[u8]) {
        if !text.is_empty() {
            let flaw = Kimi.flaw(record, "cut-off").repaired_by(Remedy::Remove);
            self.cut.get_or_insert((flaw, 0));
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
        view.flaws.extend(replay.stray.iter().map(|(record, rule)| Kimi.flaw(*record, rule)));
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
        let flaw = on.as_ref().err().map(|at| Kimi.flaw(self.read[*at].0, "missing-parent"));
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

/// Returns true if the agent does not open a session with this header.
fn is_bad_header(object: &Object<'_>) -> bool {
    let is_time = object.get("created_at").is_some_and(|raw| raw.parse::<f64>().is_ok());
    let version = object.text_of("protocol_version").filter(|_| is_time);
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    major.is_none_or(|major| major == 0)
}
