//! Zones: which records are system messages, old, or kept.

mod batch;
mod sink;

use std::io::Write;
use std::path::PathBuf;

use ctx_select::count::MessageCounter;
use ctx_select::split::{Facts, Keep, Splitter};
use ctx_transcript::{Class, Dialect, Record, Tag, Zone};

use crate::{PassError, Pin, pins};
pub use sink::ZoneCounts;
use sink::{Item, Sink};

/// What is kept, and what is written.
pub struct Plan {
    /// How much of the end is kept.
    pub keep: Keep,
    /// Records that are kept.
    pub pins: Vec<Pin>,
    /// There when tokens decide.
    pub counter: Option<MessageCounter>,
    /// Only records of this zone are written.
    pub only: Option<Zone>,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// Tags the records of a session with their zones, as soon as these cannot change any
/// more.
pub struct SplitPass<'p, W> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    splitter: Splitter,
    sink: Sink<W>,
    /// Bytes so far of a line that comes in pieces.
    length: usize,
}

impl<'p, W: Write> SplitPass<'p, W> {
    /// A pass that writes to `output`.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, output: W) -> Self {
        Self {
            plan,
            dialect,
            splitter: Splitter::new(plan.keep),
            sink: Sink::new(output, plan.only, &plan.temp),
            length: 0,
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let untagged = record.untagged();
        self.sink.spool(&untagged)?;
        self.length += untagged.len();
        if !record.piece.ends() {
            return Ok(());
        }
        let mut tag = record.tag().unwrap_or_default();
        let length = (untagged.len() - record.line_end().len()) as u64;
        tag.pin = self.decide(record, &mut tag, length);
        tag.line = Some(record.line);
        tag.bytes = Some(length);
        self.sink.expect(Item {
            length: std::mem::take(&mut self.length),
            splice: record.splice(),
            tag,
        });
        self.write()
    }

    /// The next record, which is a whole conversation.
    pub fn push_batch(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        batch::split(self.plan, self.dialect, record, &mut self.sink)
    }

    /// Writes the rest, and that this is all; the output comes back.
    pub fn finish(mut self) -> Result<(W, ZoneCounts), PassError> {
        self.splitter.finish();
        self.write()?;
        self.sink.finish()
    }

    /// Tells the splitter of the record, and its tag of its tokens; returns the selector
    /// that pins it.
    fn decide(&mut self, record: &Record<'_>, tag: &mut Tag, length: u64) -> Option<String> {
        if record.class == Class::Tail {
            self.splitter.push(Facts::Tail);
            return None;
        }
        let Some(outline) = record.outline(self.dialect) else {
            self.splitter.push(Facts::Line);
            return None;
        };
        let message = || record.message(self.dialect);
        let pin = pins::first(&self.plan.pins, record, outline.role, message);
        if let Some(counter) = &self.plan.counter {
            tag.tokens = Some(match self.dialect {
                Some(_) => counter.total(Some(tag), length, message),
                None => counter.text(&String::from_utf8_lossy(record.bytes)),
            });
            tag.encoding = Some(counter.encoding().name().to_owned());
        }
        let counted = self.plan.counter.and(tag.tokens);
        self.splitter.push(Facts::Message {
            outline: &outline,
            tokens: counted.unwrap_or(0),
            pinned: pin.is_some(),
        });
        pin.map(ToString::to_string)
    }

    /// Writes what is decided.
    fn write(&mut self) -> Result<(), PassError> {
        while let Some(verdict) = self.splitter.next() {
            self.sink.decided(&verdict)?;
        }
        Ok(())
    }
}
