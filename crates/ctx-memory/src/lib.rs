//! What a session tells that is worth remembering, and the memory files.
//!
//! [`Extractor`] reads messages and gives [`Item`]s: sentences that tell a
//! decision, a fact or a preference, quoted as they were written, and digests of
//! tool calls and errors. [`MemoryFolder`] puts items into memory files and keeps what
//! people wrote there.

mod alone;
pub mod consolidate;
mod consolidation;
mod entry;
mod extract;
mod folder;
mod hash;
pub mod inject;
mod item;
mod lines;
mod merge;
mod near;
mod options;
mod scope;
mod settle;

pub use consolidation::{Change, Consolidated, Consolidation};
pub use entry::{Entry, Place};
pub use extract::Extractor;
pub use folder::{MemoryFolder, MergeCounts, MergeError};
pub use item::Item;
use merge::{Merged, file_name, merge};
pub use settle::settle;
