//! Operations on a session: records in, records out, notes as data.
//!
//! An operation takes the records one by one, decides, and returns either the complete and checked
//! new session or an error. It writes nothing before that. Anything else to report is in [`Notes`].
//! This crate does not print, does not read the environment or the clock, and does not know any
//! tool. Tools only wrap the operations, and a compaction is a sequence of them.

mod allocate;
mod bound_reasoning;
pub mod calls;
pub mod check;
pub mod compact;
pub mod convert;
pub mod count;
mod error;
pub mod estimate {
    //! Estimates the tokens of the agent's next request, as its API counts them, from the recorded
    //! usage.

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
mod parallel;
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
