//! Zones: which records are system messages, old, or kept.

mod batch;
mod sink;
mod stream;

use std::io::Write;
use std::path::PathBuf;

use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_transcript::{Dialect, Record, Zone};

use crate::{PassError, Pin};
use sink::Sink;
pub use sink::ZoneCounts;
use stream::Stream;

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
    stream: Stream<'p>,
    sink: Sink<W>,
}

impl<'p, W: Write> SplitPass<'p, W> {
    /// A pass that writes to `output`.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, output: W) -> Self {
        Self {
            plan,
            dialect,
            stream: Stream::new(plan, dialect),
            sink: Sink::new(output, plan.only, &plan.temp),
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        self.stream.take(record, &mut self.sink)
    }

    /// The next record, which is a whole conversation.
    pub fn push_batch(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        batch::split(self.plan, self.dialect, record, &mut self.sink)
    }

    /// Writes the rest, and that this is all; the output comes back.
    pub fn finish(mut self) -> Result<(W, ZoneCounts), PassError> {
        self.stream.finish(&mut self.sink)?;
        self.sink.finish()
    }
}
