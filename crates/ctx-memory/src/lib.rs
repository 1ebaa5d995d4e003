//! What a session tells that is worth remembering, and the memory files.
//!
//! [`Extractor`] reads messages and gives [`Item`]s: sentences that tell a
//! decision, a fact or a preference, quoted as they were written, and digests of
//! tool calls and errors. [`merge`] puts items into a memory file and keeps what
//! people wrote there.

mod extract;
mod item;
mod merge;

pub use extract::Extractor;
pub use item::Item;
pub use merge::{Merged, file_name, merge};
