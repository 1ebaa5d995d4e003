//! A compaction: a list of passes over one session, which is read twice.
//!
//! The first reading is a survey: it counts, finds the exchanges, gathers what pruning
//! and a score have to know. Everything is decided from that. The second reading carries
//! the decisions out: records stay, change, or leave for the summary.

#[cfg(feature = "clap")]
mod asked;
mod batch;
mod batch_file;
mod content;
mod digest;
mod entries;
mod forecast;
mod in_place;
mod job;
mod ladder;
mod linked;
mod offloading;
mod outcome;
mod plan;
mod pruning;
mod stream;
mod strikes;
mod survey;
#[cfg(test)]
mod tests;

#[cfg(feature = "clap")]
pub use asked::{Asked, Given, NoSummary};
pub use batch::{BatchLine, BatchPass, TakeLine, compact_batch};
pub use batch_file::BatchEnd;
pub use content::Content;
pub use forecast::{Forecast, Leaving, ZoneCount};
pub use in_place::SessionFile;
pub use offloading::Stores;
pub(crate) use outcome::milliseconds;
pub use outcome::{Attempt, Attention, Outcome, PRUNED_FIRST, Report};
pub use plan::{MakeWriter, Plan};
pub use stream::compact_stream;
