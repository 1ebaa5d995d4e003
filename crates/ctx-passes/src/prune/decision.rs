//! What was decided about a session: told, checked, and carried out as it is written.

use std::io::Write;

use ctx_select::prune::{Sums, Verdict, Verdicts};
use ctx_transcript::view::Presences;
use ctx_transcript::{Dialect, Message, Origin, Piece, Record, Spool};

use super::Plan;
use crate::checks::Checks;
use crate::note::Level;
use crate::outlet::{Announced, Outlet};
use crate::{Notes, PassError};

/// A record, or a piece of one, that waits.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) piece: Piece,
    pub(super) length: u32,
}

/// A session that waits for the verdicts on its records.
pub(super) struct Waiting<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) items: Vec<Item>,
    pub(super) presences: Presences,
    /// The bytes of the records; `None` when they will not be written.
    pub(super) spool: Option<Spool>,
    pub(super) announced: Announced,
}

/// A session with the verdicts on its records.
pub struct Decision<'p> {
    pub(super) waiting: Waiting<'p>,
    pub(super) verdicts: Verdicts<'p>,
    /// Whether the verdicts are carried out.
    pub(super) changes: bool,
    /// What they free, if they may be carried out.
    pub sums: Sums,
}

impl<'p> Decision<'p> {
    /// Tells what would be done, and whether that is too little to do it.
    pub(super) fn tell(
        &mut self,
        checks: Option<Checks>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let plan = self.waiting.plan;
        if self.changes {
            self.sums = self.verdicts.sums();
            if plan.tell_changes {
                self.tell_changes(notes);
            }
            tell_sums(&self.sums, notes);
            self.tell_other_lines(notes);
        }
        let worth_it = self.sums.total().gain() >= plan.min_gain;
        self.changes &= worth_it;
        if let Some(mut checks) = checks {
            self.check(&mut checks)?;
            checks.finish(plan.strict, notes)?;
        }
        if !worth_it {
            tell_gain(&self.sums, notes);
        }
        Ok(())
    }

    /// A line a change of a record.
    fn tell_changes(&self, notes: &mut Notes) {
        for (record, item) in self.waiting.items.iter().enumerate() {
            for freed in self.verdicts.freed(record) {
                let rule = freed.rule.as_str();
                let (before, after) = (freed.before, freed.after);
                let text = format_args!("{rule}: {before} tokens, now {after}");
                notes.add(Level::Detail, &[item.line], text);
            }
        }
    }

    fn tell_other_lines(&self, notes: &mut Notes) {
        let is_other = |(record, item): &(usize, &Item)| {
            self.verdicts.is_dropped(*record)
                && !self.verdicts.is_message(*record)
                && item.piece.begins()
        };
        let count = self
            .waiting
            .items
            .iter()
            .enumerate()
            .filter(is_other)
            .count();
        if count > 0 {
            notes.info(format_args!(
                "{count} lines before the window are no messages and go with it"
            ));
        }
    }

    /// Takes the records that will not go out of the spool, and shows the others to the
    /// checks. Only where records are left out: no change of a record changes its skeleton
    /// in any way that matters.
    fn check(&mut self, checks: &mut Checks) -> Result<(), PassError> {
        let waiting = &mut self.waiting;
        if !self.changes || !self.verdicts.drop_any() {
            return Ok(());
        }
        let Some(mut all) = waiting.spool.take() else {
            return Ok(());
        };
        let mut rest = Spool::new(&waiting.plan.temp);
        for (record, item) in waiting.items.iter().enumerate() {
            let bytes = item.pop(&mut all)?;
            if self.verdicts.is_dropped(record) {
                continue;
            }
            let record_of = waiting.record(record, *item, &bytes);
            if let Some(outline) = record_of.outline(waiting.dialect) {
                checks.output(item.line, &outline);
            }
            rest.push(&bytes).map_err(PassError::temporary)?;
        }
        waiting.spool = Some(rest);
        Ok(())
    }

    /// Whether anything changes.
    pub fn changes(&self) -> bool {
        self.changes
    }

    /// The verdicts, once nothing is to be written any more.
    pub fn verdicts(&self) -> &Verdicts<'p> {
        &self.verdicts
    }

    /// Writes it; the output comes back. `left_out` is how many records of the input
    /// were not taken.
    pub fn write<W: Write>(&mut self, left_out: u64, output: W) -> Result<W, PassError> {
        let waiting = &mut self.waiting;
        let mut outlet = Outlet::new(output, waiting.announced, &waiting.plan.temp);
        let mut spool = waiting.spool.take();
        for (number, item) in waiting.items.iter().enumerate() {
            let is_dropped = self.changes && self.verdicts.is_dropped(number);
            let Some(spool) = spool.as_mut().filter(|_| !is_dropped) else {
                outlet.skip(item.piece);
                continue;
            };
            let bytes = item.pop(spool)?;
            let record = waiting.record(number, *item, &bytes);
            let dialect = waiting.dialect.filter(|_| self.changes);
            let new = dialect.and_then(|it| changed(&self.verdicts, number, &record, it));
            outlet.write(&record, new.map(|(bytes, _)| bytes))?;
        }
        outlet.finish(left_out)
    }
}

impl Item {
    /// Its bytes, which come next in this spool.
    fn pop(self, spool: &mut Spool) -> Result<Vec<u8>, PassError> {
        let bytes = spool.pop(self.length as usize);
        bytes.map_err(PassError::temporary)
    }
}

impl Waiting<'_> {
    /// The record of that number, which waited with these bytes.
    fn record<'r>(&self, number: usize, item: Item, bytes: &'r [u8]) -> Record<'r> {
        let origin = Origin {
            line: item.line,
            offset: 0,
            piece: item.piece,
            presence: self.presences.of(number),
        };
        origin.record(bytes)
    }
}

/// The bytes of a record after its change, and the message in them; `None` where it
/// does not change.
pub(crate) fn changed<'r>(
    verdicts: &Verdicts<'_>,
    number: usize,
    record: &Record<'r>,
    dialect: &dyn Dialect,
) -> Option<(Vec<u8>, Message<'r>)> {
    let Verdict::Change(changes) = verdicts.get(number) else {
        return None;
    };
    let object = record.whole_object()?;
    let (edits, message) = changes.carry_out(record.message(Some(dialect))?, object);
    Some((record.edited(&edits), message))
}

/// A line a rule, and the sum.
pub(crate) fn tell_sums(sums: &Sums, notes: &mut Notes) {
    if sums.is_empty() {
        return notes.info("nothing to prune");
    }
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    for (what, sum) in rules.chain([("in all", sums.total())]) {
        let count = sum.changes;
        let changes = if count == 1 { "change" } else { "changes" };
        notes.info(format_args!(
            "{what}: {count} {changes}: {} tokens, now {}",
            sum.before, sum.after
        ));
    }
}

/// That too little is freed to change anything.
pub(crate) fn tell_gain(sums: &Sums, notes: &mut Notes) {
    if !sums.is_empty() {
        let gain = sums.total().gain();
        notes.info(format_args!(
            "{gain} tokens are fewer than --min-gain: nothing was changed"
        ));
    }
}
