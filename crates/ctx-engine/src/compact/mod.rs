//! A compaction: old messages become a summary, and the latest stay.
//!
//! A session is read twice. The first reading is a survey, from which everything is decided; the
//! second one carries the decisions out. Where a result is not small enough, the next attempt
//! shortens more.

mod batch;
mod compaction;
mod content;
mod entries;
mod forecast;
mod ladder;
mod log;
mod offloaded;
mod options;
mod pruning;
mod report;
mod source;
mod stream;
mod survey;
#[cfg(test)]
mod tests;
mod within;

pub use batch::{BatchLine, BatchPass, TakeLine};
pub use compaction::{Compacted, Compaction, MessageReader};
pub use content::{Content, temporary};
pub use forecast::{Forecast, Leaving, ZoneCount};
pub use offloaded::{Offloaded, Originals};
pub use options::{Environment, MakeWriter, Options};
pub use report::{Attempt, Attention, Outcome, PRUNED_FIRST, Report, Survivors};
pub use source::{NewFile, Source};
pub use stream::compact_stream;
