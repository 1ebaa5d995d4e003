//! The output: made and checked before any byte of it leaves.

use ctx_cli::{Failure, Io};
use ctx_select::prune::{Freed, Gone, Rule, Verdict};
use ctx_transcript::{Dialect, Line, Piece, Record, Spool};

use super::plan::Plan;
use super::report::Report;
use crate::output::Output;
use crate::passes;
use crate::tagged::{TaggedWriter, cannot_spool};
use ctx_passes::{Checks, Notes};

/// A record, or a piece of one, in a spool.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) piece: Piece,
    pub(super) length: usize,
}

/// What takes the place of a record.
#[derive(Clone, Copy)]
enum New {
    Nothing,
    /// So many bytes, which stand behind the record's own in the spool.
    Bytes(usize),
}

/// Makes the output.
pub(super) struct Made<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    spool: Spool,
    items: Vec<(Item, Option<New>)>,
    checks: Option<Checks>,
    /// Whether records are left out: calls and results may be parted only then,
    /// since no change of a record changes its skeleton in any way that matters.
    drops: bool,
    report: Report,
    /// Lines that are no messages and go with the window.
    other_lines: u64,
}

/// The output, complete and checked.
pub(super) struct Done {
    spool: Spool,
    items: Vec<(Item, Option<New>)>,
    /// Whether the changes are worth it.
    changed: bool,
    tagged: bool,
    announced: Option<u64>,
    pub(super) report: Report,
}

impl<'p> Made<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
        checks: Option<Checks>,
        drops: bool,
    ) -> Self {
        Self {
            plan,
            dialect,
            name,
            spool: Spool::new(std::env::temp_dir()),
            items: Vec::new(),
            checks,
            drops,
            report: Report::default(),
            other_lines: 0,
        }
    }

    /// The next record and what was decided about it.
    pub(super) fn record(
        &mut self,
        item: Item,
        bytes: &[u8],
        verdict: &Verdict,
        io: &mut Io,
    ) -> Result<(), Failure> {
        self.push(bytes)?;
        let new = if matches!(verdict, Verdict::Keep) && !self.drops {
            None
        } else {
            self.judged(&record_of(item, bytes), verdict, io)?
        };
        self.items.push((item, new));
        Ok(())
    }

    /// What takes the place of a record that has to be looked at again.
    fn judged(
        &mut self,
        record: &Record<'_>,
        verdict: &Verdict,
        io: &mut Io,
    ) -> Result<Option<New>, Failure> {
        if let Verdict::Drop(gone) = verdict {
            self.dropped(record, *gone, io);
            return Ok(Some(New::Nothing));
        }
        if self.drops
            && let Some(checks) = &mut self.checks
            && let Some(outline) = record.outline(self.dialect)
        {
            checks.output(record.line, &outline);
        }
        self.changed(record, verdict, io)
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.spool.push(bytes).map_err(|error| cannot_spool(&error))
    }

    fn changed(
        &mut self,
        record: &Record<'_>,
        verdict: &Verdict,
        io: &mut Io,
    ) -> Result<Option<New>, Failure> {
        let (Verdict::Change(changes), Some(dialect), Some(object)) =
            (verdict, self.dialect, record.whole_object())
        else {
            return Ok(None);
        };
        let (policy, counter) = (&self.plan.policy, &self.plan.counting.counter);
        let (edits, freed) = policy.apply(changes, dialect, object, counter);
        if edits.is_empty() {
            return Ok(None);
        }
        for freed in freed {
            self.report.add(freed, self.name, record.line, io);
        }
        let bytes = record.edited(&edits);
        self.push(&bytes)?;
        Ok(Some(New::Bytes(bytes.len())))
    }

    fn dropped(&mut self, record: &Record<'_>, gone: Gone, io: &mut Io) {
        let object = record.whole_object();
        let message = object.and_then(|object| self.dialect?.message(object));
        let Some(message) = message else {
            self.other_lines += u64::from(is_begin(record.piece));
            return;
        };
        let freed = Freed {
            rule: match gone {
                Gone::Window => Rule::Window,
                Gone::Empty => Rule::Empty,
            },
            before: self.plan.counting.counter.message(&message).total(),
            after: 0,
        };
        self.report.add(freed, self.name, record.line, io);
    }

    /// Says what was done.
    pub(super) fn tell(&self, io: &mut Io) {
        let name = self.name;
        if self.report.is_empty() {
            io.note(format_args!("{name}: nothing to prune"));
        } else {
            self.report.tell(name, io);
        }
        if self.other_lines > 0 {
            io.note(format_args!(
                "{name}: {} lines before the window are no messages and go with it",
                self.other_lines
            ));
        }
    }

    /// Checks the whole output; `tagged` and `announced` are what the input said
    /// of itself.
    pub(super) fn finish(
        self,
        tagged: bool,
        announced: Option<u64>,
        io: &mut Io,
    ) -> Result<Done, Failure> {
        let name = self.name;
        if let Some(checks) = self.checks {
            let mut notes = Notes::new();
            let checked = checks.finish(self.plan.strict, &mut notes);
            passes::tell(notes, name, io);
            checked.map_err(|error| passes::failure(error, name))?;
        }
        let gain = self.report.gain();
        let changed = gain >= self.plan.min_gain;
        if !changed && !self.report.is_empty() {
            io.note(format_args!(
                "{name}: {gain} tokens are fewer than --min-gain: nothing was changed"
            ));
        }
        Ok(Done {
            spool: self.spool,
            items: self.items,
            changed,
            tagged,
            announced,
            report: self.report,
        })
    }
}

impl Done {
    /// The lines whose records are left out.
    pub(super) fn dropped(&self) -> Vec<u64> {
        let items = self.items.iter().filter(|_| self.changed);
        let dropped = items.filter(|(_, new)| matches!(new, Some(New::Nothing)));
        dropped.map(|(item, _)| item.line).collect()
    }

    /// Writes it. `left_out` is how many records of the input were not taken.
    pub(super) fn write(mut self, left_out: u64, output: Output<'_>) -> Result<(), Failure> {
        let mut writer = TaggedWriter::new(output);
        let (mut came, mut written) = (left_out, 0);
        for (item, new) in std::mem::take(&mut self.items) {
            let is_begin = u64::from(is_begin(item.piece));
            came += is_begin;
            let original = self.pop(item.length)?;
            let new = match new {
                Some(New::Bytes(length)) => Some(self.pop(length)?),
                Some(New::Nothing) if self.changed => continue,
                Some(New::Nothing) | None => None,
            };
            written += is_begin;
            let new = new.filter(|_| self.changed);
            if self.tagged {
                write(item, original, new, &mut writer)?;
            } else {
                writer.write(new.unwrap_or(original), None)?;
            }
        }
        // A stream that came with tags keeps its end, or the lack of it: if the tool
        // before died, the one after must see that.
        let whole = !self.tagged || self.announced == Some(came);
        writer.finish(whole.then_some(written))
    }

    fn pop(&mut self, length: usize) -> Result<Vec<u8>, Failure> {
        self.spool.pop(length).map_err(|error| cannot_spool(&error))
    }
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
