//! What was decided about a session: told, checked, and carried out as it is written.

use ctx_cli::{Failure, Io, Verbosity};
use ctx_passes::{Checks, Notes};
use ctx_select::prune::{Sums, Verdict, Verdicts};
use ctx_transcript::{Dialect, Line, Piece, Record, Spool};

use super::plan::Plan;
use super::report;
use crate::output::Output;
use crate::passes;
use crate::tagged::{TaggedWriter, cannot_spool};

/// A record, or a piece of one, that waits.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) piece: Piece,
    pub(super) length: u32,
}

/// A session that waits, and the verdicts on its records.
pub(super) struct Decision<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) name: &'p str,
    pub(super) items: Vec<Item>,
    /// The bytes of the records; `None` when they will not be written.
    pub(super) spool: Option<Spool>,
    pub(super) verdicts: Verdicts<'p>,
    /// Whether the verdicts are carried out.
    pub(super) changes: bool,
    /// What they free, if they may be carried out.
    pub(super) sums: Sums,
    /// Whether a record came with a tag.
    pub(super) tagged: bool,
    /// How many records the input said that it has.
    pub(super) announced: Option<u64>,
}

impl Decision<'_> {
    /// Tells what would be done, and whether that is too little to do it.
    pub(super) fn tell(&mut self, checks: Option<Checks>, io: &mut Io) -> Result<(), Failure> {
        let name = self.name;
        if self.changes {
            self.sums = self.verdicts.sums();
            self.tell_changes(io);
            report::tell(&self.sums, name, io);
            self.tell_other_lines(io);
        }
        let gain = self.sums.total().gain();
        let worth_it = gain >= self.plan.min_gain;
        self.changes &= worth_it;
        if let Some(checks) = checks {
            self.check(checks, io)?;
        }
        if !worth_it && !self.sums.is_empty() {
            io.note(format_args!(
                "{name}: {gain} tokens are fewer than --min-gain: nothing was changed"
            ));
        }
        Ok(())
    }

    /// Under `-vv`: a line a change.
    fn tell_changes(&self, io: &mut Io) {
        if io.verbosity() < Verbosity::Debug {
            return;
        }
        for (record, item) in self.items.iter().enumerate() {
            for freed in self.verdicts.freed(record) {
                io.note(format_args!(
                    "{}:{}: {}: {} tokens, now {}",
                    self.name,
                    item.line,
                    freed.rule.as_str(),
                    freed.before,
                    freed.after
                ));
            }
        }
    }

    fn tell_other_lines(&self, io: &mut Io) {
        let is_other = |(record, item): &(usize, &Item)| {
            self.verdicts.is_dropped(*record)
                && !self.verdicts.is_message(*record)
                && is_begin(item.piece)
        };
        let count = self.items.iter().enumerate().filter(is_other).count();
        if count > 0 {
            io.note(format_args!(
                "{}: {count} lines before the window are no messages and go with it",
                self.name
            ));
        }
    }

    /// Checks what will be written before any byte of it leaves. Only where records
    /// are left out: no change of a record changes its skeleton in any way that matters.
    fn check(&mut self, mut checks: Checks, io: &mut Io) -> Result<(), Failure> {
        if self.changes && self.verdicts.drop_any() {
            self.leave_out_dropped(&mut checks)?;
        }
        let mut notes = Notes::new();
        let checked = checks.finish(self.plan.strict, &mut notes);
        passes::tell(notes, self.name, io);
        checked.map_err(|error| passes::failure(error, self.name))
    }

    /// Takes the records that go out of the spool.
    fn leave_out_dropped(&mut self, checks: &mut Checks) -> Result<(), Failure> {
        let Some(mut all) = self.spool.take() else {
            return Ok(());
        };
        let mut rest = Spool::new(std::env::temp_dir());
        for (record, item) in self.items.iter().enumerate() {
            let bytes = pop(&mut all, item.length)?;
            if self.verdicts.is_dropped(record) {
                continue;
            }
            if let Some(outline) = record_of(*item, &bytes).outline(self.dialect) {
                checks.output(item.line, &outline);
            }
            rest.push(&bytes).map_err(|error| cannot_spool(&error))?;
        }
        self.spool = Some(rest);
        Ok(())
    }

    /// The lines whose records are left out.
    pub(super) fn dropped(&self) -> Vec<u64> {
        let items = self.items.iter().enumerate();
        let dropped = items.filter(|(record, _)| self.drops(*record));
        dropped.map(|(_, item)| item.line).collect()
    }

    fn drops(&self, record: usize) -> bool {
        self.changes && self.verdicts.is_dropped(record)
    }

    /// Writes it. `left_out` is how many records of the input were not taken.
    pub(super) fn write(mut self, left_out: u64, output: Output<'_>) -> Result<(), Failure> {
        let mut writer = TaggedWriter::new(output);
        let (mut came, mut written) = (left_out, 0);
        let mut spool = self.spool.take();
        for (record, item) in self.items.iter().enumerate() {
            let is_begin = u64::from(is_begin(item.piece));
            came += is_begin;
            let Some(spool) = spool.as_mut().filter(|_| !self.drops(record)) else {
                continue;
            };
            written += is_begin;
            let original = pop(spool, item.length)?;
            let new = self.changed(record, *item, &original);
            if self.tagged {
                write(*item, original, new, &mut writer)?;
            } else {
                writer.write(new.unwrap_or(original), None)?;
            }
        }
        // A stream that came with tags keeps its end, or the lack of it: if the tool
        // before died, the one after must see that.
        let whole = !self.tagged || self.announced == Some(came);
        writer.finish(whole.then_some(written))
    }

    /// What takes the place of a record.
    fn changed(&self, record: usize, item: Item, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.changes {
            return None;
        }
        let Verdict::Change(changes) = self.verdicts.get(record) else {
            return None;
        };
        let record = record_of(item, bytes);
        let object = record.whole_object()?;
        let message = self.dialect?.message(object)?;
        let (edits, _) = changes.carry_out(message, object);
        Some(record.edited(&edits))
    }
}

fn pop(spool: &mut Spool, length: u32) -> Result<Vec<u8>, Failure> {
    let bytes = spool.pop(length as usize);
    bytes.map_err(|error| cannot_spool(&error))
}

/// Writes a record with the tag it came with; what the tag says of its size is
/// put right.
fn write(
    item: Item,
    original: Vec<u8>,
    new: Option<Vec<u8>>,
    writer: &mut TaggedWriter<'_>,
) -> Result<(), Failure> {
    let record = record_of(item, &original);
    let Some(mut tag) = record.tag() else {
        return writer.write(new.unwrap_or(original), None);
    };
    let Some(bytes) = new else {
        let splice = record.splice().map(|splice| (splice, tag));
        return writer.write(record.untagged().into_owned(), splice);
    };
    let changed = record_of(item, &bytes);
    tag.bytes = Some((bytes.len() - changed.line_end().len()) as u64);
    (tag.tokens, tag.encoding) = (None, None);
    let splice = changed.splice().map(|splice| (splice, tag));
    writer.write(bytes, splice)
}

fn record_of(item: Item, bytes: &[u8]) -> Record<'_> {
    Record::classify(Line {
        bytes,
        number: item.line,
        offset: 0,
        piece: item.piece,
    })
}

fn is_begin(piece: Piece) -> bool {
    matches!(piece, Piece::Whole | Piece::First)
}
