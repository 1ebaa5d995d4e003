//! Memory files record what was decided, found out and requested in sessions, for use in later
//! sessions.
//!
//! [`Extractor`] reads messages and returns [`MemoryItem`]s: sentences that state a decision, a
//! fact or a preference, quoted verbatim, and digests of tool calls and errors. [`MemoryFolder`]
//! adds items to memory files and keeps everything that people wrote there. [`Consolidation`]
//! merges the memory of all sessions into one file, and [`inject`] assembles the context for a new
//! session.

pub mod consolidate;
mod entry;
mod extract;
mod files;
mod folder;
pub mod inject;
mod memory_file;
mod similarity;

pub use consolidate::run::{Change, Consolidated, Consolidation};
pub use entry::{Citation, Entry, MemoryItem};
pub use extract::{Extractor, reconcile};
pub use files::{DailyEntry, append_summary, names_in, read_file, summary_path, tidy_logs};
pub use folder::{MemoryFolder, MergeCounts, MergeError};
