//! Decides which lines to remove from an agent's log, and relinks the remaining lines.
//!
//! Some rules drop lines that are not sent to a model. A line in the context is removed only if the
//! verdict on its message says so. A line stays if a remaining line depends on it. Before a pruned
//! log is written, a check makes sure that the agent would read the same context from it as before,
//! except for the intended changes.

use std::collections::{BTreeMap, HashMap, HashSet};

use ctx_format::view::{Outside, Presence, ViewBuilder};
use ctx_format::{Bond, Dialect, Edits, GoodFor, Object, Portion, Presences, Record, show_to_view};
use ctx_policy::Rule;
use indexmap::IndexSet;
use serde::Serialize;

use super::{Options, Verdicts};
use crate::{ErrorKind, PassError, Result};

/// The lines of a log.
#[derive(Default)]
pub(super) struct LogLines {
    lines: Vec<Line>,
    /// The ids of lines, each stored only once because lines refer to ids by index.
    ids: IndexSet<Box<str>>,
    /// The reason why no line may be removed, if there is one.
    keeps_all: Option<&'static str>,
}

/// A line in a log, or a fragment of a line that is too long to parse.
#[derive(Default)]
struct Line {
    id: Option<usize>,
    parent: Option<usize>,
    /// The ids of the lines on which this line depends.
    needs: Vec<usize>,
    good_for: Option<GoodFor>,
    /// Whether the line must stay.
    stays: bool,
    replaces_all: bool,
    bytes: u64,
}

impl Line {
    /// Returns true if the line is useless without its parent.
    fn depends_on_parent(&self) -> bool {
        matches!(self.good_for, Some(GoodFor::ItsParent | GoodFor::Progress))
    }
}

/// For each line, the rule that removes it, or `None` if it stays.
type Dropped = Vec<Option<Rule>>;

/// The records that are removed from a session.
#[derive(Default)]
pub(super) struct Leaving {
    dropped: Dropped,
    /// Maps the id of each removed line to the id of its nearest remaining ancestor.
    moved: HashMap<usize, Option<usize>>,
    /// The ids of progress lines that are removed. Links to progress lines, except parent links,
    /// are left in place, because agents do not follow them.
    progress: HashSet<usize>,
    /// The number of lines that stay only because of the log's format, and the reason.
    pub(super) kept: Option<(u64, &'static str)>,
}

impl LogLines {
    /// Adds the next record to the log. `stays` is true if the record must stay.
    pub(super) fn push(&mut self, record: &Record<'_>, dialect: &dyn Dialect, stays: bool) {
        let bytes = record.bytes.len() as u64;
        let Some(object) = record.whole_object() else {
            self.lines.push(Line { stays: true, bytes, ..Line::default() });
            return;
        };
        let links = dialect.links(object);
        self.keeps_all = self.keeps_all.or(links.keeps_all);
        let mut index = |id: &str| {
            let known = self.ids.get_index_of(id);
            known.unwrap_or_else(|| self.ids.insert_full(Box::from(id)).0)
        };
        let needed = links.names.iter().filter(|link| link.bond == Bond::Needs);
        self.lines.push(Line {
            parent: links.parent().map(&mut index),
            needs: needed.filter_map(|link| link.to.as_deref()).map(&mut index).collect(),
            id: links.id.as_deref().map(&mut index),
            good_for: links.good_for,
            stays: stays || links.stays,
            replaces_all: links.replaces_all,
            bytes,
        });
    }

    /// Returns true if the line must stay unchanged.
    pub(super) fn stays(&self, line: usize) -> bool {
        self.lines[line].stays
    }

    /// Decides which lines to remove.
    pub(super) fn decide(
        &self,
        options: &Options,
        dialect: &dyn Dialect,
        presences: &Presences,
        verdicts: &Verdicts<'_>,
    ) -> Leaving {
        let is_inside = |line: usize| matches!(presences.of(line), Some(Presence::Inside(_)));
        let mut dropped = self.dropped_by_rules(options, presences, verdicts);
        let kept = self.keep_by_position(dialect, &is_inside, &mut dropped);
        let lines_by_id = self.lines_by_id();
        self.keep_needed(&lines_by_id, &mut dropped);
        self.keep_parents_of_context(&lines_by_id, &is_inside, &mut dropped);
        let moved = self.moved_ids(&dropped);
        let progress = self.lines.iter().filter(|it| it.good_for == Some(GoodFor::Progress));
        let progress = progress.filter_map(|line| line.id).filter(|id| moved.contains_key(id));
        Leaving { progress: progress.collect(), dropped, moved, kept }
    }

    /// Applies the rules to each line, without considering the lines that depend on it.
    fn dropped_by_rules(
        &self,
        options: &Options,
        presences: &Presences,
        verdicts: &Verdicts<'_>,
    ) -> Dropped {
        let mut dropped: Dropped = Vec::with_capacity(self.lines.len());
        let mut lines_by_id: HashMap<usize, usize> = HashMap::new();
        for (number, line) in self.lines.iter().enumerate() {
            let mut rule = match presences.of(number) {
                Some(Presence::Inside(_)) => verdicts.dropped_by(number),
                Some(Presence::Outside(why)) => {
                    rule_for(why, line.good_for).filter(|rule| options.drops(*rule))
                }
                None => None,
            };
            if rule.is_none() && line.depends_on_parent() {
                let parent = line.parent.and_then(|parent| lines_by_id.get(&parent));
                rule = parent.and_then(|parent| dropped[*parent]);
            }
            dropped.push(if line.stays { None } else { rule });
            if let Some(id) = line.id {
                lines_by_id.insert(id, number);
            }
        }
        dropped
    }

    /// Keeps lines if the format refers to lines by their position. If a line in such a format
    /// replaces everything before it, lines before it may still be removed. Returns the number of
    /// lines kept because of their position, and the reason.
    fn keep_by_position(
        &self,
        dialect: &dyn Dialect,
        is_inside: &dyn Fn(usize) -> bool,
        dropped: &mut Dropped,
    ) -> Option<(u64, &'static str)> {
        let by_position = dialect.format().by_position;
        let (why, free_until) = match (self.keeps_all, by_position) {
            (Some(why), _) => (why, 0),
            (None, Some(why)) => {
                let replaces_all = |at: &usize| self.lines[*at].replaces_all && is_inside(*at);
                (why, (0..self.lines.len()).rev().find(replaces_all).unwrap_or(0))
            }
            (None, None) => return None,
        };
        let mut count = 0;
        for (number, rule) in dropped.iter_mut().enumerate().skip(free_until) {
            // Lines in the context are subject to the verdicts, and the context is checked later.
            let may_go = is_inside(number) && self.keeps_all.is_none();
            if !may_go && rule.take().is_some() {
                count += 1;
            }
        }
        (count > 0).then_some((count, why))
    }

    /// Keeps the lines on which remaining lines depend. Also keeps the last line with an id,
    /// because the agent will use it as the parent of its next line.
    fn keep_needed(&self, lines_by_id: &HashMap<usize, usize>, dropped: &mut Dropped) {
        if let Some(last) = self.lines.iter().rposition(|line| line.id.is_some()) {
            dropped[last] = None;
        }
        let has_needs = |line: &usize| !self.lines[*line].needs.is_empty();
        let all = (0..self.lines.len()).filter(has_needs);
        let mut remaining: Vec<usize> = all.filter(|line| dropped[*line].is_none()).collect();
        while let Some(line) = remaining.pop() {
            for id in &self.lines[line].needs {
                let Some(needed) = lines_by_id.get(id) else { continue };
                if dropped[*needed].take().is_some() && has_needs(needed) {
                    remaining.push(*needed);
                }
            }
        }
    }

    /// Makes sure that a line in the context does not lose all its ancestors, because some agents
    /// treat a line without a parent as the beginning of another session.
    fn keep_parents_of_context(
        &self,
        lines_by_id: &HashMap<usize, usize>,
        is_inside: &dyn Fn(usize) -> bool,
        dropped: &mut Dropped,
    ) {
        let moved = self.moved_ids(dropped);
        let orphaned: Vec<usize> = (0..self.lines.len())
            .filter(|line| dropped[*line].is_none() && is_inside(*line))
            .filter_map(|line| self.lines[line].parent)
            .filter(|parent| moved.get(parent) == Some(&None))
            .collect();
        for parent in orphaned {
            let mut at = lines_by_id.get(&parent);
            // Walks up to the first line that does not depend on its parent.
            while let Some(number) = at {
                if dropped[*number].take().is_none() {
                    break;
                }
                let line = &self.lines[*number];
                let above = if line.depends_on_parent() { line.parent } else { None };
                at = above.and_then(|above| lines_by_id.get(&above));
            }
        }
    }

    /// Returns, for each id, the last line with that id.
    fn lines_by_id(&self) -> HashMap<usize, usize> {
        let lines = self.lines.iter().enumerate();
        lines.filter_map(|(number, line)| Some((line.id?, number))).collect()
    }

    /// Maps the id of each removed line to the id of its nearest remaining ancestor.
    fn moved_ids(&self, dropped: &Dropped) -> HashMap<usize, Option<usize>> {
        let mut parents: HashMap<usize, Option<usize>> = HashMap::new();
        let lines = || self.lines.iter().zip(dropped);
        for (line, rule) in lines() {
            if let (Some(id), Some(_)) = (line.id, rule) {
                parents.insert(id, line.parent);
            }
        }
        // An id remains in use as long as any line has that id.
        for (line, rule) in lines() {
            if let (Some(id), None) = (line.id, rule) {
                parents.remove(&id);
            }
        }
        let mut moved: HashMap<usize, Option<usize>> = HashMap::new();
        for id in self.lines.iter().filter_map(|line| line.id) {
            let mut path = HashSet::new();
            let mut at = Some(id);
            let ancestor = loop {
                let Some(above) = at else { break None };
                if let Some(known) = moved.get(&above) {
                    break *known;
                }
                let Some(parent) = parents.get(&above) else { break Some(above) };
                // The links from lines to their parents may form a cycle.
                at = if path.insert(above) { *parent } else { None };
            };
            moved.extend(path.into_iter().map(|id| (id, ancestor)));
        }
        moved
    }
}

/// Returns the rule that applies to a line outside the context, if there is one.
fn rule_for(why: Outside, good_for: Option<GoodFor>) -> Option<Rule> {
    match (why, good_for) {
        (Outside::NeverSent, Some(GoodFor::Progress)) => Some(Rule::Progress),
        (Outside::NeverSent, Some(GoodFor::FileHistory)) => Some(Rule::FileHistory),
        (Outside::NeverSent, Some(GoodFor::Requests)) => Some(Rule::ApiRequests),
        (Outside::NeverSent, _) => None,
        (Outside::OtherAgent, _) => Some(Rule::Sidechains),
        (Outside::DeadBranch, _) => Some(Rule::DeadBranches),
        (Outside::BeforeCompaction, _) => Some(Rule::BeforeCompaction),
        (Outside::Superseded, _) => Some(Rule::Rewritten),
    }
}

impl Leaving {
    /// Returns the messages removed by the verdicts from a list of messages.
    pub(super) fn of_list(count: usize, verdicts: &Verdicts<'_>) -> Self {
        let dropped = (0..count).map(|record| verdicts.dropped_by(record));
        Self { dropped: dropped.collect(), ..Self::default() }
    }

    /// Returns true if the record is removed.
    pub(super) fn has(&self, line: usize) -> bool {
        self.dropped[line].is_some()
    }

    /// Returns true if no record is removed.
    pub(super) fn is_empty(&self) -> bool {
        self.dropped.iter().all(Option::is_none)
    }

    /// Edits a remaining line so that its links to removed lines point to remaining ancestors
    /// instead.
    pub(super) fn relink(
        &self,
        log: &LogLines,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        edits: &mut Edits,
    ) {
        if self.moved.is_empty() {
            return;
        }
        let new_target = |id: &str, bond| {
            let id = log.ids.get_index_of(id)?;
            if bond != Bond::Parent && self.progress.contains(&id) {
                return None;
            }
            Some(self.moved.get(&id)?.and_then(|id| log.ids.get_index(id)).map(|id| &**id))
        };
        dialect.links(object).moved(new_target, edits);
    }

    /// Returns, for each rule, the number of removed lines and their total length in bytes.
    pub(super) fn sums(&self, log: &LogLines) -> Vec<Unsent> {
        let mut sums: BTreeMap<Rule, Unsent> = BTreeMap::new();
        for (rule, line) in self.dropped.iter().zip(&log.lines) {
            if let Some(rule) = *rule {
                let sum =
                    sums.entry(rule).or_insert(Unsent { rule: rule.into(), count: 0, bytes: 0 });
                sum.count += 1;
                sum.bytes += line.bytes;
            }
        }
        sums.into_values().collect()
    }
}

/// The lines, or the second copies of text, that one rule removes from an agent's log.
#[derive(Debug, Serialize)]
pub struct Unsent {
    /// The name of the rule.
    pub rule: &'static str,
    /// The number of removed lines or second copies.
    pub count: u64,
    /// The total length of the removed lines or copies, in bytes.
    pub bytes: u64,
}

/// Checks a pruned log by reading it as the agent would.
pub(super) struct LogCheck {
    view: Box<dyn ViewBuilder>,
    /// The index and the line number of each record that has been read.
    records: Vec<(usize, u64)>,
}

impl LogCheck {
    /// Creates the check, or returns `None` if the format is not an agent's log.
    pub(super) fn new(dialect: &dyn Dialect) -> Option<Self> {
        Some(Self { view: dialect.log()?.view_builder(), records: Vec::new() })
    }

    /// Reads the new bytes of the next remaining record.
    pub(super) fn push(&mut self, index: usize, record: &Record<'_>) {
        // A line that is too long arrives in several pieces but is one record.
        if record.piece.begins() {
            show_to_view(self.view.as_mut(), self.records.len(), record);
            self.records.push((index, record.line));
        }
    }

    /// Returns an error unless the new context equals the old context without the removed records.
    /// `before` holds the presences of the `count` records in the old log.
    pub(super) fn finish(
        self,
        before: &Presences,
        has_left: impl Fn(usize) -> bool,
        count: usize,
    ) -> Result<()> {
        let remaining = (0..count).filter(|at| !has_left(*at));
        let expected = messages(remaining, |at| (before.of(at), before.portion(at)));
        let view = self.view.view();
        let positions: BTreeMap<usize, usize> =
            (0..).zip(&self.records).map(|(position, (index, _))| (*index, position)).collect();
        let actual = messages(positions.keys().copied(), |at| {
            let position = positions[&at];
            (Some(view.of(position)), view.portion(position))
        });
        if expected == actual {
            return Ok(());
        }
        let first = expected.iter().zip(&actual).position(|(one, other)| one != other);
        let first = first.unwrap_or(expected.len().min(actual.len()));
        let record = expected.get(first).or(actual.get(first)).and_then(|records| records.first());
        let position = record.and_then(|(record, _)| positions.get(record));
        let lines = position.into_iter().map(|position| self.records[*position].1).collect();
        Err(PassError { lines, kind: ErrorKind::ChangedContext })
    }
}

/// Returns the messages in the context. Each message is described by the indexes of its records
/// and, for each record, how many messages in it are outside the context. Message numbers are not
/// used, because they change when other messages are removed from the same list.
fn messages(
    records: impl Iterator<Item = usize>,
    presence: impl Fn(usize) -> (Option<Presence>, Option<Portion>),
) -> Vec<Vec<(usize, usize)>> {
    let mut messages: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for record in records {
        if let (Some(Presence::Inside(fragment)), portion) = presence(record) {
            let outside = portion.map_or(0, |portion| portion.outside.len());
            messages.entry(fragment.message).or_default().push((record, outside));
        }
    }
    messages.into_values().collect()
}
