//! Reports and checks the decisions about a session, and applies them while the session is written.

use std::io::Write;

use ctx_format::{Dialect, Edits, InvalidReasoning, Origin, Outline, Record, counted};
use ctx_policy::Rule;

use super::facts::NewUsage;
use super::log::{Leaving, LogCheck, LogLines, Unsent};
use super::verdicts::{changes_context, record_edits};
use super::{Freed, Plan, Spared, Sums, Verdicts};
use crate::appended::AppendedEdits;
use crate::bound_reasoning::{BoundReasoning, ends_loop};
use crate::estimate::CalibrationPass;
use crate::note::Level;
use crate::outlet::{Announced, Outlet};
use crate::output_check::OutputCheck;
use crate::waiting::WaitingRecords;
use crate::{ErrorKind, Notes, Result};

/// A session's records before the verdicts on them are known.
pub(super) struct Waiting<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) records: WaitingRecords,
    /// The lines of an agent's log, or `None` for a list of messages.
    pub(super) log: Option<LogLines>,
    /// Whether the bytes of the records are stored in addition to their positions.
    pub(super) has_bytes: bool,
    pub(super) announced: Announced,
}

/// A session and the verdicts on its records.
pub struct Decision<'p> {
    waiting: Waiting<'p>,
    pub(super) verdicts: Verdicts<'p>,
    /// Whether to apply the verdicts.
    pub changes: bool,
    /// How many tokens are freed by each rule's changes.
    pub sums: Sums,
    leaving: Leaving,
    /// How many lines and second copies of text each rule removes from an agent's log.
    pub unsent: Vec<Unsent>,
    /// The corrected usage of the last reply in an agent's log.
    new_usage: Option<NewUsage>,
    bound: BoundReasoning,
}

impl<'p> Decision<'p> {
    pub(super) fn new(waiting: Waiting<'p>, verdicts: Verdicts<'p>, may: bool) -> Self {
        let records = &waiting.records;
        let leaving = match (&waiting.log, waiting.dialect) {
            (Some(log), Some(dialect)) => {
                log.decide(&waiting.plan.options, dialect, &records.presences, &verdicts)
            }
            _ => Leaving::of_list(records.len(), &verdicts),
        };
        let plan = waiting.plan;
        Self {
            waiting,
            verdicts,
            changes: may,
            sums: Sums::default(),
            leaving,
            unsent: Vec::new(),
            new_usage: None,
            bound: BoundReasoning::new(plan.signed_reasoning),
        }
    }

    /// Reports and checks the decisions. Decisions that free too few tokens are reported but not
    /// applied.
    pub(super) fn report_and_check(
        &mut self,
        checks: Option<OutputCheck>,
        notes: &mut Notes,
    ) -> Result<()> {
        let plan = self.waiting.plan;
        if self.changes {
            self.sums = self.verdicts.sums();
            if plan.report_changes {
                self.report_changes(notes);
            }
            if let Some(log) = &self.waiting.log {
                self.unsent = self.leaving.sums(log);
            }
            if self.unsent.is_empty() || !self.sums.is_empty() {
                report_sums(&self.sums, notes);
            }
            if self.waiting.log.is_none() {
                self.report_other_lines(notes);
            }
        }
        let is_worth_it = self.sums.total().gain() >= plan.min_gain;
        self.changes &= is_worth_it;
        if let (Some(mut checks), Some(dialect)) = (checks, self.waiting.dialect) {
            if self.changes && self.waiting.has_bytes {
                self.check(dialect, &mut checks, notes)?;
                self.refuse_open_loop(dialect)?;
            }
            checks.finish(None, plan.strict, notes)?;
        }
        if !is_worth_it {
            report_small_gain(&self.sums, notes);
        }
        Ok(())
    }

    /// Returns what the rules would change if it were not protected.
    pub fn spared(&self) -> Spared {
        self.verdicts.decisions.spared
    }

    /// Returns each change with the line of the changed record. Returns nothing if the verdicts are
    /// not applied.
    pub fn freed(&self) -> impl Iterator<Item = (u64, Freed)> {
        let records = if self.changes { self.waiting.records.len() } else { 0 };
        (0..records).flat_map(move |index| {
            let freed = self.verdicts.freed(index).into_iter();
            freed.map(move |freed| (self.waiting.records.line(index), freed))
        })
    }

    fn report_changes(&self, notes: &mut Notes) {
        for (line, Freed { rule, before, after }) in self.freed() {
            let text = format_args!("{}: {before} tokens, now {after}", <&str>::from(rule));
            notes.add(Level::Detail, &[line], text);
        }
    }

    fn report_other_lines(&self, notes: &mut Notes) {
        let records = &self.waiting.records;
        let is_dropped_line = |index: &usize| {
            self.leaving.has(*index)
                && !self.verdicts.is_message(*index)
                && records.piece(*index).begins()
        };
        let count = (0..records.len()).filter(is_dropped_line).count();
        if count > 0 {
            notes.info(format_args!(
                "removed before the window: {} without a message",
                counted(count, "line")
            ));
        }
    }

    /// Checks the records that stay. From a pruned log, the agent must read the same context as
    /// before, except for the intended changes.
    fn check(
        &mut self,
        dialect: &'static dyn Dialect,
        checks: &mut OutputCheck,
        notes: &mut Notes,
    ) -> Result<()> {
        let plan = self.waiting.plan;
        if let Some((lines, why)) = self.leaving.kept {
            let lines = counted(lines, "line");
            notes.warn(format_args!("kept {lines} that a rule would have removed: {why}"));
        }
        // In a list of messages, only a reply without its reasoning can have a problem that it did
        // not have before.
        let is_list = self.waiting.log.is_none();
        let drops_reasoning = plan.options.drops(Rule::Reasoning);
        let changes_none = self.sums.is_empty() && !plan.options.drops(Rule::Copies);
        if self.leaving.is_empty() && (is_list && !drops_reasoning || changes_none) {
            return Ok(());
        }
        let mut log_check = if is_list { None } else { LogCheck::new(dialect) };
        let frees_tokens = self.sums.total().gain() > 0;
        let mut usage =
            (!is_list && frees_tokens).then(|| CalibrationPass::new(plan.counter, Some(dialect)));
        let mut appended = self.appended();
        let mut second = Unsent { rule: Rule::Copies.into(), count: 0, bytes: 0 };
        for index in 0..self.waiting.records.len() {
            let bytes = self.waiting.records.bytes(index)?;
            let record = self.waiting.records.record(index, &bytes);
            if let Some(usage) = &mut usage {
                let message = record.message(Some(dialect));
                let tokens = message.and_then(|it| self.verdicts.tokens_before(index, &it));
                usage.push(&record, tokens);
            }
            if self.leaving.has(index) {
                continue;
            }
            let outline = record.outline(Some(dialect));
            let (edits, copied) = self.edits(index, &record, dialect);
            let Some(log_check) = &mut log_check else {
                let new = record.edited(&edits);
                if let Some(outline) = record.origin.clone().record(&new).outline(Some(dialect)) {
                    checks.output(record.line, &outline);
                }
                continue;
            };
            if let Some(outline) = &outline {
                checks.output(record.line, outline);
            }
            second.count += u64::from(copied > 0);
            second.bytes += copied;
            if edits.is_empty() {
                if let Some(appended) = &mut appended {
                    appended.take(&record, None);
                }
                log_check.push(index, &record);
                continue;
            }
            let new_bytes = record.edited(&edits);
            let new = record.origin.clone().record(&new_bytes);
            let new_outline = new.outline(Some(dialect)).map(Outline::without_content);
            if new_outline != outline.map(Outline::without_content) {
                return Err(ErrorKind::OtherRecord.at(record.line));
            }
            let is_taken = |it: &mut AppendedEdits| it.take(&record, Some(&new_bytes));
            let is_taken = appended.as_mut().is_some_and(is_taken);
            log_check.push(index, if is_taken { &record } else { &new });
        }
        let appends = appended.as_ref().is_some_and(|appended| appended.count > 0);
        if let Some(mut log_check) = log_check {
            let records = &self.waiting.records;
            let lines = appended.map_or_else(Vec::new, AppendedEdits::finish);
            for (index, line) in (records.len()..).zip(lines.split_inclusive(|it| *it == b'\n')) {
                log_check.push(index, &Origin::ALONE.record(line));
            }
            log_check.finish(&records.presences, |at| self.leaving.has(at), records.len())?;
        }
        if second.count > 0 {
            self.unsent.push(second);
        }
        report_unsent(&self.unsent, notes);
        // An agent that reads new lines does not rely on usage from before such a line.
        self.new_usage = usage.filter(|_| !appends).and_then(|usage| self.new_usage_of(usage));
        if let Some(NewUsage { tokens: (before, after), .. }) = &self.new_usage {
            notes.info(format_args!(
                "recorded usage of the last reply: {before} tokens, now {after}"
            ));
        }
        Ok(())
    }

    /// Changes are written as new lines if no line would be removed or change anyway.
    fn appended(&self) -> Option<AppendedEdits> {
        let Waiting { plan, dialect, announced, .. } = self.waiting;
        let rewrites = !self.leaving.is_empty() || plan.options.drops(Rule::Copies);
        let appended = || AppendedEdits::new(dialect.map(|it| it as &dyn Dialect));
        if rewrites || announced.is_tagged { None } else { appended() }
    }

    /// Returns the corrected usage of the last reply: the tokens freed before the reply are
    /// subtracted.
    fn new_usage_of(&self, usage: CalibrationPass) -> Option<NewUsage> {
        let records = &self.waiting.records;
        NewUsage::of(&usage.finish(), |line| {
            let before = (0..records.len()).filter(|index| records.line(*index) < line);
            before.map(|index| self.verdicts.gain(index)).sum()
        })
    }

    /// Returns the edits to a record that stays, and how many bytes the edits cut from second
    /// copies of unchanged text.
    fn edits(&self, index: usize, record: &Record<'_>, dialect: &dyn Dialect) -> (Edits, u64) {
        let Some(object) = record.whole_object() else { return (Edits::default(), 0) };
        let changed = record_edits(&self.verdicts, index, record, dialect);
        let mut edits = changed.map_or_else(Edits::default, |(edits, _)| edits);
        let mut copied_bytes = 0;
        if let Some(log) = &self.waiting.log {
            let is_protected = index >= self.verdicts.decisions.protected_from;
            let may_cut = !log.stays(index) && !is_protected;
            if may_cut && self.waiting.plan.options.drops(Rule::Copies) {
                for copy in dialect.second_copies(object) {
                    if !edits.touch(&copy.cut) {
                        copied_bytes += copy.cut.len() as u64;
                        edits.cut([copy.cut]);
                    }
                }
            }
            self.leaving.relink(log, dialect, object, &mut edits);
        }
        (edits, copied_bytes)
    }

    /// Writes the session and returns the output. `left_out` is the number of input records that
    /// were not pushed.
    pub fn write<W: Write>(&mut self, left_out: u64, output: W) -> Result<W> {
        let Waiting { plan, dialect, announced, .. } = self.waiting;
        let mut outlet = Outlet::new(output, announced, &plan.temp);
        let mut bound = std::mem::take(&mut self.bound);
        let mut appended = if self.changes { self.appended() } else { None };
        for index in 0..self.waiting.records.len() {
            let changes = self.changes && changes_context(&self.verdicts, index);
            if self.changes && self.leaving.has(index) {
                bound.skip(changes);
                outlet.skip(self.waiting.records.piece(index));
                continue;
            }
            let bytes = self.waiting.records.bytes(index)?;
            let record = self.waiting.records.record(index, &bytes);
            let mut new = None;
            if let Some(dialect) = dialect.filter(|_| self.changes) {
                let (edits, _) = self.edits(index, &record, dialect);
                new = (!edits.is_empty()).then(|| record.edited(&edits));
                new = bound.write(&record, new, dialect, changes);
            }
            new = self.with_new_usage(&record, new);
            if appended.as_mut().is_some_and(|it| it.take(&record, new.as_deref())) {
                new = None;
            }
            outlet.write(&record, new)?;
        }
        self.bound = bound;
        outlet.append(&appended.map_or_else(Vec::new, AppendedEdits::finish))?;
        outlet.finish(left_out)
    }

    /// Returns an error if a tool loop is open at the end of the session and the changes before it
    /// would invalidate its signed reasoning.
    fn refuse_open_loop(&mut self, dialect: &dyn Dialect) -> Result<()> {
        if dialect.invalid_reasoning() != InvalidReasoning::Rejected {
            return Ok(());
        }
        let records = &mut self.waiting.records;
        let mut bound = self.bound.clone();
        let mut loop_records = Vec::new();
        for index in (0..records.len()).rev() {
            let bytes = records.bytes(index)?;
            let outline = records.record(index, &bytes).outline(Some(dialect));
            let is_end = outline.is_some_and(|it| ends_loop(&it));
            loop_records.push((index, bytes));
            if is_end {
                break;
            }
        }
        let first = loop_records.last().map_or(0, |(index, _)| *index);
        bound.changed = (0..first).any(|index| changes_context(&self.verdicts, index));
        for (index, bytes) in loop_records.iter().rev() {
            let changes = changes_context(&self.verdicts, *index);
            bound.write(&records.record(*index, bytes), None, dialect, changes);
        }
        bound.finish(&mut Notes::default())
    }

    /// Returns the new bytes of a record. If the record contains the usage of the last reply, that
    /// usage is corrected.
    fn with_new_usage(&self, record: &Record<'_>, new: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let (Some(usage), Some(dialect)) = (&self.new_usage, self.waiting.dialect) else {
            return new;
        };
        let changed = new.as_ref().map(|bytes| record.origin.clone().record(bytes));
        let applied = usage.applied_to(changed.as_ref().unwrap_or(record), dialect);
        applied.or(new)
    }

    /// Warns about signed reasoning that follows a change. Must be called after the session has
    /// been written.
    pub fn warn_of_reasoning(&self, notes: &mut Notes) {
        // An open loop was already refused.
        _ = self.bound.finish(notes);
    }
}

/// Reports how many tokens are freed by each rule and in total.
pub(crate) fn report_sums(sums: &Sums, notes: &mut Notes) {
    if sums.is_empty() {
        return notes.info("nothing to prune");
    }
    let rules = sums.by_rule().map(|(rule, sum)| (rule.into(), sum));
    for (what, sum) in rules.chain([("all rules", sums.total())]) {
        let changes = counted(sum.changes, "change");
        notes.info(format_args!("{what}: {changes}, from {} to {} tokens", sum.before, sum.after));
    }
}

/// Reports that nothing is changed because too few tokens would be freed.
pub(crate) fn report_small_gain(sums: &Sums, notes: &mut Notes) {
    if !sums.is_empty() {
        let gain = sums.total().gain();
        notes.info(format_args!(
            "{gain} tokens would be freed, fewer than --min-gain: nothing was changed"
        ));
    }
}

/// Reports how many lines and second copies of text each rule removes from an agent's log.
fn report_unsent(unsent: &[Unsent], notes: &mut Notes) {
    for Unsent { rule, count, bytes } in unsent {
        let noun = if *rule == <&str>::from(Rule::Copies) { "second copy" } else { "line" };
        let (count, bytes) = (counted(*count, noun), counted(*bytes, "byte"));
        notes.info(format_args!("{rule}: {count}, {bytes}"));
    }
}
