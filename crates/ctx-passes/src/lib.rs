//! Passes over a session: records in, records out, notes as data.
//!
//! A pass takes the records of a session one by one, decides, and gives the new session
//! complete and checked, or an error; nothing is written before. What it has to say
//! beside that is in [`Notes`]. Nothing here prints, reads the environment or the clock,
//! or knows what a tool is: tools are thin shells over the passes, and a compaction is
//! a list of them.

mod bad;
mod bound;
mod call_names;
pub mod check;
mod checks;
pub mod compact;
pub mod convert;
pub mod count;
mod error;
pub mod extract;
#[cfg(all(test, feature = "clap"))]
mod flags;
mod in_order;
mod in_turn;
pub mod ledger;
mod note;
pub mod offload;
mod outlet;
pub mod pins;
pub mod prune;
pub mod score;
mod session;
pub mod split;
pub mod stats;
pub mod summarize;
mod tagged;
mod time;
mod unread;

pub use bad::{BadLines, Fate};
pub use checks::Checks;
pub use error::{ErrorKind, PassError};
pub use note::{Level, Note, Notes};
pub use pins::Pin;
pub use session::{Invalid, Session};
pub use tagged::TaggedWriter;
pub use time::Time;
