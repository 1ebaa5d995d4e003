//! Operations on a session: records in, records out, notes as data.
//!
//! An operation takes the records one by one, decides, and returns either the complete and checked
//! new session or an error. It writes nothing before that. Anything else to report is in [`Notes`].
//! This crate does not print, does not read the environment or the clock, and does not know any
//! tool. Tools only wrap the operations, and a compaction is a sequence of them.

pub mod allocate;
pub mod calls;
pub mod check;
mod checks;
pub mod compact;
pub mod convert;
pub mod count;
pub mod counter;
mod error;
pub mod estimate;
pub mod ledger;
mod note;
pub mod offload;
mod outlet;
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
pub use checks::Checks;
pub use error::{ErrorKind, PassError, Result};
pub use note::{Level, Note, Notes};
pub use outlet::TaggedWriter;
pub use pins::Pin;
pub use session::{BadLineOutcome, BadLines, Invalid, Session};
pub use time::Time;
