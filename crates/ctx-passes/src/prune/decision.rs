//! What was decided about a session: told, checked, and carried out as it is written.

use std::io::Write;
use std::path::Path;

use ctx_select::prune::{Sums, Verdict, Verdicts};
use ctx_transcript::view::Presences;
use ctx_transcript::{Dialect, Message, Origin, Piece, Record, Spool};

use super::Plan;
use crate::checks::Checks;
use crate::note::Level;
use crate::{Notes, PassError, TaggedWriter};

/// A record, or a piece of one, that waits.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) piece: Piece,
    pub(super) length: u32,
}

/// A session that waits, and the verdicts on its records.
pub struct Decision<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) items: Vec<Item>,
    pub(super) presences: Presences,
    /// The bytes of the records; `None` when they will not be written.
    pub(super) spool: Option<Spool>,
    pub(super) verdicts: Verdicts<'p>,
    /// Whether the verdicts are carried out.
    pub(super) changes: bool,
    /// What they free, if they may be carried out.
    pub sums: Sums,
    /// Whether a record came with a tag.
    pub(super) tagged: bool,
    /// How many records the input said that it has.
    pub(super) announced: Option<u64>,
}

impl<'p> Decision<'p> {
    /// Tells what would be done, and whether that is too little to do it.
    pub(super) fn tell(
        &mut self,
        checks: Option<Checks>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        if self.changes {
            self.sums = self.verdicts.sums();
            let told = self.items.iter().enumerate();
            for (record, item) in told.filter(|_| self.plan.tell_changes) {
                tell_changes(&self.verdicts, record, item.line, notes);
            }
            tell_sums(&self.sums, notes);
            self.tell_other_lines(notes);
        }
        let worth_it = is_worth_it(self.plan, &self.sums);
        self.changes &= worth_it;
        if let Some(checks) = checks {
            self.check(checks, notes)?;
        }
        if !worth_it {
            tell_gain(&self.sums, notes);
        }
        Ok(())
    }

    fn tell_other_lines(&self, notes: &mut Notes) {
        let is_other = |(record, item): &(usize, &Item)| {
            self.verdicts.is_dropped(*record)
                && !self.verdicts.is_message(*record)
                && is_begin(item.piece)
        };
        let count = self.items.iter().enumerate().filter(is_other).count();
        if count > 0 {
            notes.info(format_args!(
                "{count} lines before the window are no messages and go with it"
            ));
        }
    }

    /// Checks what will be written before any byte of it leaves. Only where records
    /// are left out: no change of a record changes its skeleton in any way that matters.
    fn check(&mut self, mut checks: Checks, notes: &mut Notes) -> Result<(), PassError> {
        if self.changes && self.verdicts.drop_any() {
            self.leave_out_dropped(&mut checks)?;
        }
        checks.finish(self.plan.strict, notes)
    }

    /// Takes the records that go out of the spool.
    fn leave_out_dropped(&mut self, checks: &mut Checks) -> Result<(), PassError> {
        let Some(mut all) = self.spool.take() else {
            return Ok(());
        };
        let mut rest = Spool::new(&self.plan.temp);
        for (record, item) in self.items.iter().enumerate() {
            let bytes = pop(&mut all, item.length)?;
            if self.verdicts.is_dropped(record) {
                continue;
            }
            let outline = self.record(record, *item, &bytes).outline(self.dialect);
            if let Some(outline) = outline {
                checks.output(item.line, &outline);
            }
            rest.push(&bytes).map_err(PassError::temporary)?;
        }
        self.spool = Some(rest);
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
        let mut outlet = Outlet::new(output, self.tagged, self.announced, &self.plan.temp);
        outlet.came = left_out;
        let mut spool = self.spool.take();
        for (record, item) in self.items.iter().enumerate() {
            let is_dropped = self.changes && self.verdicts.is_dropped(record);
            let Some(spool) = spool.as_mut().filter(|_| !is_dropped) else {
                outlet.drop(item.piece);
                continue;
            };
            let bytes = pop(spool, item.length)?;
            let waiting = self.record(record, *item, &bytes);
            let new = self.changes.then(|| self.changed(record, &waiting));
            outlet.write(&waiting, new.flatten())?;
        }
        outlet.finish()
    }

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

    /// What takes the place of a record.
    fn changed(&self, number: usize, record: &Record<'_>) -> Option<Vec<u8>> {
        let (bytes, _) = changed(&self.verdicts, number, record, self.dialect?)?;
        Some(bytes)
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

/// A line a change of a record.
pub(crate) fn tell_changes(verdicts: &Verdicts<'_>, record: usize, line: u64, notes: &mut Notes) {
    for freed in verdicts.freed(record) {
        let rule = freed.rule.as_str();
        let (before, after) = (freed.before, freed.after);
        notes.add(
            Level::Detail,
            &[line],
            format_args!("{rule}: {before} tokens, now {after}"),
        );
    }
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

/// Whether enough is freed to change anything.
pub(crate) fn is_worth_it(plan: &Plan, sums: &Sums) -> bool {
    sums.total().gain() >= plan.min_gain
}

/// That it is not.
pub(crate) fn tell_gain(sums: &Sums, notes: &mut Notes) {
    if !sums.is_empty() {
        let gain = sums.total().gain();
        notes.info(format_args!(
            "{gain} tokens are fewer than --min-gain: nothing was changed"
        ));
    }
}

fn pop(spool: &mut Spool, length: u32) -> Result<Vec<u8>, PassError> {
    let bytes = spool.pop(length as usize);
    bytes.map_err(PassError::temporary)
}

/// Writes records with the tags they came with; what the tag of a changed record says
/// of its size is put right.
pub struct Outlet<W> {
    writer: TaggedWriter<W>,
    tagged: bool,
    announced: Option<u64>,
    came: u64,
    written: u64,
}

impl<W: Write> Outlet<W> {
    /// `tagged`: whether any record came with a tag; `announced`: how many the input
    /// said that it has.
    pub fn new(output: W, tagged: bool, announced: Option<u64>, temp: &Path) -> Self {
        Self {
            writer: TaggedWriter::new(output, temp),
            tagged,
            announced,
            came: 0,
            written: 0,
        }
    }

    /// A record is left out.
    pub fn drop(&mut self, piece: Piece) {
        self.came += u64::from(is_begin(piece));
    }

    /// A record goes out, with other bytes if there are any.
    pub fn write(&mut self, record: &Record<'_>, new: Option<Vec<u8>>) -> Result<(), PassError> {
        let is_begin = u64::from(is_begin(record.piece));
        self.came += is_begin;
        self.written += is_begin;
        let Some(mut tag) = record.tag().filter(|_| self.tagged) else {
            let bytes = new.unwrap_or_else(|| record.bytes.to_vec());
            return self.writer.write(bytes, None);
        };
        let Some(bytes) = new else {
            let splice = record.splice().map(|splice| (splice, tag));
            return self.writer.write(record.untagged().into_owned(), splice);
        };
        let changed = record.origin().record(&bytes);
        tag.bytes = Some((bytes.len() - changed.line_end().len()) as u64);
        (tag.tokens, tag.encoding) = (None, None);
        let splice = changed.splice().map(|splice| (splice, tag));
        self.writer.write(bytes, splice)
    }

    /// Writes the rest; the output comes back.
    pub fn finish(self) -> Result<W, PassError> {
        // A stream that came with tags keeps its end, or the lack of it: if the tool
        // before died, the one after must see that.
        let whole = !self.tagged || self.announced == Some(self.came);
        self.writer.finish(whole.then_some(self.written))
    }
}

fn is_begin(piece: Piece) -> bool {
    matches!(piece, Piece::Whole | Piece::First)
}
