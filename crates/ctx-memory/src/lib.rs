//! Extraction rules and the memory files they feed.
//!
//! [`Extractor`] reads messages and gives [`Item`]s: sentences that tell a
//! decision, a fact or a preference, quoted as they were written, and digests of
//! tool calls and errors. [`merge`] puts items into a memory file and keeps what
//! people wrote there.

mod extract;
mod item;
mod merge;
pub mod rules;
pub mod runtime;
pub mod sentence;
pub mod text;

pub use extract::Extractor;
pub use item::{Item, Kind};
pub use merge::{Merged, merge};
