//! The decision about a session: reported, checked, and applied while it is written.

use std::io::Write;

use ctx_format::{Dialect, Edits, Origin, Record, Spool, counted};
use ctx_policy::Rule;

use super::facts::{NewUsage, PrunedUsage};
use super::log::{Leaving, LogCheck};
use super::pass::{Waiting, WaitingRecord};
use super::verdicts::{changes_context, record_edits};
use super::{Freed, Sums, Verdicts};
use crate::checks::{BoundReasoning, Checks};
use crate::note::Level;
use crate::outlet::Outlet;
use crate::{ErrorKind, Notes, PassError};

/// A session with the verdicts on its records.
pub struct Decision<'p> {
    waiting: Waiting<'p>,
    pub(crate) verdicts: Verdicts<'p>,
    /// Whether the verdicts are carried out.
    pub(crate) changes: bool,
    /// What the changes free, if they may be applied.
    pub sums: Sums,
    /// The lines that leave; `None` for a list of messages.
    leaving: Option<Leaving>,
    /// Lines of an agent's log that go without being part of the context: rule, count and bytes.
    pub unsent: Vec<(Rule, u64, u64)>,
    /// The new usage of the last reply in an agent's log.
    new_usage: Option<NewUsage>,
    bound: BoundReasoning,
}

impl<'p> Decision<'p> {
    pub(super) fn new(waiting: Waiting<'p>, verdicts: Verdicts<'p>, may: bool) -> Self {
        let log = waiting.log.as_ref().zip(waiting.dialect);
        let leaving = log.map(|(log, dialect)| {
            log.decide(&waiting.plan.options, dialect, &waiting.presences, &verdicts)
        });
        Self {
            waiting,
            verdicts,
            changes: may,
            sums: Sums::default(),
            leaving,
            unsent: Vec::new(),
            new_usage: None,
            bound: BoundReasoning::default(),
        }
    }

    /// Reports what would be done, and whether it frees too little to be done.
    pub(super) fn report_and_check(
        &mut self,
        checks: Option<Checks>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let plan = self.waiting.plan;
        if self.changes {
            self.sums = self.verdicts.sums();
            if plan.report_changes {
                self.report_changes(notes);
            }
            if let (Some(log), Some(leaving)) = (&self.waiting.log, &self.leaving) {
                self.unsent = leaving.sums(log);
            }
            if self.unsent.is_empty() || !self.sums.is_empty() {
                report_sums(&self.sums, notes);
            }
            if self.leaving.is_none() {
                self.report_other_lines(notes);
            }
        }
        let is_worth_it = self.sums.total().gain() >= plan.min_gain;
        self.changes &= is_worth_it;
        if let Some(mut checks) = checks {
            match self.waiting.dialect {
                Some(dialect) if self.leaving.is_some() => {
                    self.check_log(dialect, &mut checks, notes)?;
                }
                _ => self.check_list(&mut checks)?,
            }
            checks.finish(plan.strict, notes)?;
        }
        if !is_worth_it {
            report_small_gain(&self.sums, notes);
        }
        Ok(())
    }

    /// Each change with the line of its record; nothing if no change is made.
    pub fn freed(&self) -> impl Iterator<Item = (u64, Freed)> {
        let records = if self.changes { &self.waiting.records[..] } else { &[] };
        records.iter().enumerate().flat_map(|(index, record)| {
            let freed = self.verdicts.freed(index).into_iter();
            freed.map(|freed| (record.line, freed))
        })
    }

    fn report_changes(&self, notes: &mut Notes) {
        for (line, Freed { rule, before, after }) in self.freed() {
            let text = format_args!("{}: {before} tokens, now {after}", rule.as_str());
            notes.add(Level::Detail, &[line], text);
        }
    }

    fn report_other_lines(&self, notes: &mut Notes) {
        let is_dropped_line = |(index, record): &(usize, &WaitingRecord)| {
            self.verdicts.is_dropped(*index)
                && !self.verdicts.is_message(*index)
                && record.piece.begins()
        };
        let records = self.waiting.records.iter().enumerate();
        let count = records.filter(is_dropped_line).count();
        if count > 0 {
            notes.info(format_args!(
                "{} without a message before the window left with it",
                counted(count, "line")
            ));
        }
    }

    /// Shows the records that remain of a list to the checks, and removes the others from the
    /// spool. Changes within a record cannot break what the checks look at.
    fn check_list(&mut self, checks: &mut Checks) -> Result<(), PassError> {
        if !self.changes || !self.verdicts.drop_any() {
            return Ok(());
        }
        let Some(mut spool) = self.waiting.spool.take() else {
            return Ok(());
        };
        let mut remaining = Spool::new(&self.waiting.plan.temp);
        for index in 0..self.waiting.records.len() {
            let bytes = self.waiting.pop(index, &mut spool)?;
            if self.verdicts.is_dropped(index) {
                continue;
            }
            let record = self.waiting.record(index, &bytes);
            if let Some(outline) = record.outline(self.waiting.dialect) {
                checks.output(record.line, &outline);
            }
            remaining.push(&bytes).map_err(PassError::temporary)?;
        }
        self.waiting.spool = Some(remaining);
        Ok(())
    }

    /// Does the same for a log, whose changed records must be those that were decided, and whose
    /// context must be the same. Learns what its last reply has used then.
    fn check_log(
        &mut self,
        dialect: &'static dyn Dialect,
        checks: &mut Checks,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let plan = self.waiting.plan;
        let Some(leaving) = self.leaving.as_ref().filter(|_| self.changes) else {
            return Ok(());
        };
        if let Some((lines, why)) = leaving.kept {
            let stay = if lines == 1 { "line stays" } else { "lines stay" };
            notes.warn(&[], format_args!("{lines} {stay} that would go: {why}"));
        }
        if leaving.is_empty() && self.sums.is_empty() && !plan.options.drops(Rule::Copies) {
            return Ok(());
        }
        let (Some(mut spool), Some(mut log_check)) =
            (self.waiting.spool.take(), LogCheck::new(dialect))
        else {
            return Ok(());
        };
        let mut remaining = Spool::new(&plan.temp);
        let frees_tokens = self.sums.total().gain() > 0;
        let mut usage = frees_tokens.then(|| PrunedUsage::new(plan.counter, dialect));
        let (mut records_with_copies, mut copied_bytes) = (0, 0);
        let count = self.waiting.records.len();
        for index in 0..count {
            let bytes = self.waiting.pop(index, &mut spool)?;
            let record = self.waiting.record(index, &bytes);
            if let Some(usage) = &mut usage {
                let message = record.message(Some(dialect));
                let tokens = message.and_then(|it| self.verdicts.tokens_before(index, &it));
                usage.push(&record, tokens, self.verdicts.gain(index));
            }
            if leaving.has(index) {
                continue;
            }
            let outline = record.outline(Some(dialect));
            if let Some(outline) = &outline {
                checks.output(record.line, outline);
            }
            let (edits, copied) = self.edits(index, &record, dialect);
            records_with_copies += u64::from(copied > 0);
            copied_bytes += copied;
            if edits.is_empty() {
                log_check.push(index, &record);
            } else {
                let new_bytes = record.edited(&edits);
                let new = record.origin().record(&new_bytes);
                if new.outline(Some(dialect)) != outline {
                    return Err(ErrorKind::OtherRecord.at(record.line));
                }
                log_check.push(index, &new);
            }
            remaining.push(&bytes).map_err(PassError::temporary)?;
        }
        log_check.finish(&self.waiting.presences, |at| leaving.has(at), count)?;
        self.waiting.spool = Some(remaining);
        if copied_bytes > 0 {
            self.unsent.push((Rule::Copies, records_with_copies, copied_bytes));
        }
        report_unsent(&self.unsent, notes);
        self.new_usage = usage.and_then(PrunedUsage::finish);
        if let Some(NewUsage { tokens: (before, after), .. }) = &self.new_usage {
            notes.info(format_args!(
                "recorded usage of the last reply: {before} tokens, now {after}"
            ));
        }
        Ok(())
    }

    /// The edits of a record that remains, and how many bytes of second copies they cut that would
    /// not have changed otherwise.
    fn edits(&self, index: usize, record: &Record<'_>, dialect: &dyn Dialect) -> (Edits, u64) {
        let Some(object) = record.whole_object() else {
            return (Edits::new(), 0);
        };
        let changed = record_edits(&self.verdicts, index, record, dialect);
        let mut edits = changed.map_or_else(Edits::new, |(edits, _)| edits);
        let mut copied_bytes = 0;
        if let (Some(leaving), Some(log)) = (&self.leaving, &self.waiting.log) {
            let may_cut = !log.stays(index) && !self.verdicts.is_protected(index);
            if may_cut && self.waiting.plan.options.drops(Rule::Copies) {
                for copy in dialect.second_copies(object) {
                    if !edits.touch(&copy.cut) {
                        copied_bytes += copy.cut.len() as u64;
                        edits.cut(copy.cut);
                    }
                }
            }
            leaving.relink(log, dialect, object, &mut edits);
        }
        (edits, copied_bytes)
    }

    /// Whether a record is not written.
    fn is_dropped(&self, index: usize) -> bool {
        self.changes
            && match &self.leaving {
                Some(leaving) => leaving.has(index),
                None => self.verdicts.is_dropped(index),
            }
    }

    /// Writes the session and returns the output. `left_out` is the number of records of the input
    /// that were not pushed.
    pub fn write<W: Write>(&mut self, left_out: u64, output: W) -> Result<W, PassError> {
        let mut spool = self.waiting.spool.take();
        let waiting = &self.waiting;
        let mut outlet = Outlet::new(output, waiting.announced, &waiting.plan.temp);
        for index in 0..waiting.records.len() {
            let changes = self.changes && changes_context(&self.verdicts, index);
            let (false, Some(spool)) = (self.is_dropped(index), &mut spool) else {
                if changes {
                    self.bound.changed = true;
                }
                outlet.skip(waiting.records[index].piece);
                continue;
            };
            let bytes = waiting.pop(index, spool)?;
            let record = waiting.record(index, &bytes);
            let new = waiting.dialect.and_then(|dialect| self.new_bytes(index, &record, dialect));
            if let Some(dialect) = waiting.dialect {
                self.bound.write(&record, new.as_deref(), dialect, changes);
            }
            outlet.write(&record, self.with_new_usage(&record, new))?;
        }
        outlet.finish(left_out)
    }

    fn new_bytes(
        &self,
        index: usize,
        record: &Record<'_>,
        dialect: &dyn Dialect,
    ) -> Option<Vec<u8>> {
        if !self.changes {
            return None;
        }
        let (edits, _) = self.edits(index, record, dialect);
        (!edits.is_empty()).then(|| record.edited(&edits))
    }

    /// The new bytes of a record, with the new usage if it belongs to the last reply.
    fn with_new_usage(&self, record: &Record<'_>, new: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let (Some(usage), Some(dialect)) = (&self.new_usage, self.waiting.dialect) else {
            return new;
        };
        let applied = match &new {
            Some(bytes) => usage.applied_to(&record.origin().record(bytes), dialect),
            None => usage.applied_to(record, dialect),
        };
        applied.or(new)
    }

    /// Warns of signed reasoning after a change, once the session is written.
    pub fn warn_of_reasoning(&self, notes: &mut Notes) {
        self.bound.warn(notes);
    }
}

impl Waiting<'_> {
    /// The bytes of a record, which must be the next ones in `spool`.
    fn pop(&self, index: usize, spool: &mut Spool) -> Result<Vec<u8>, PassError> {
        spool.pop(self.records[index].length as usize).map_err(PassError::temporary)
    }

    fn record<'r>(&self, index: usize, bytes: &'r [u8]) -> Record<'r> {
        let WaitingRecord { line, piece, .. } = self.records[index];
        let origin = Origin {
            line,
            offset: 0,
            piece,
            presence: self.presences.of(index),
            portion: self.presences.portion(index),
        };
        origin.record(bytes)
    }
}

/// Reports what each rule frees, and all of them.
pub(crate) fn report_sums(sums: &Sums, notes: &mut Notes) {
    if sums.is_empty() {
        return notes.info("nothing to prune");
    }
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    for (what, sum) in rules.chain([("in all", sums.total())]) {
        let changes = counted(sum.changes, "change");
        notes.info(format_args!("{what}: {changes}: {} tokens, now {}", sum.before, sum.after));
    }
}

/// Reports that too little is freed to change anything.
pub(crate) fn report_small_gain(sums: &Sums, notes: &mut Notes) {
    if !sums.is_empty() {
        let gain = sums.total().gain();
        notes.info(format_args!("{gain} tokens are fewer than --min-gain: nothing was changed"));
    }
}

/// Reports the lines of an agent's log that go without being part of the context.
fn report_unsent(unsent: &[(Rule, u64, u64)], notes: &mut Notes) {
    for (rule, count, bytes) in unsent {
        let noun = if *rule == Rule::Copies { "second copy" } else { "line" };
        let (count, bytes) = (counted(*count, noun), counted(*bytes, "byte"));
        notes.info(format_args!("{}: {count}, {bytes}", rule.as_str()));
    }
}
