//! Operations on sessions, such as counting, pruning and compacting.
//!
//! An operation reads the records one by one, makes its decisions, and returns either a complete
//! and checked new session or an error. Nothing is written until the new session is complete.
//! Everything else that an operation reports is in [`Notes`]. This crate does not print anything,
//! and it reads neither the environment nor the clock. The crate does not depend on the tools,
//! which merely wrap its operations. A compaction combines several operations.

mod allocate;
mod appended;
mod bound_reasoning;
pub mod calls;
pub mod check;
pub mod compact;
pub mod convert;
pub mod count;
mod error;
pub mod estimate {
    //! Estimates how many tokens the API will count for the agent's next request, from the usage
    //! that the session records.

    mod calibrator;
    mod usage;

    pub use calibrator::{Calibrator, Estimate, Request};
    pub use usage::{Calibration, CalibrationPass, LastReply, Reply};
}
pub mod ledger;
pub mod message_counter;
mod note;
pub mod offload;
mod outlet;
mod output_check;
pub mod parallel;
pub mod pins;
pub mod placeholder;
pub mod prune;
pub mod score;
mod session;
pub mod split;
pub mod summarize;
mod time;
mod waiting;
pub mod zones;

pub use calls::CallNames;
pub use error::{ErrorKind, PassError, Result};
pub use note::{Level, Note, Notes};
pub use outlet::TaggedWriter;
pub use pins::Pin;
pub use session::{BadLineOutcome, BadLines, Invalid, Session};
pub use time::Time;
