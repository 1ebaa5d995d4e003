//! The store on disk: snapshots of sessions, and the replacement of session files that agents may
//! be writing.
//!
//! The modules are layers; each uses only those above it:
//!
//! - [`error`], `os` (what differs by operating system), `fs` (files that appear whole or not at
//!   all), `id`, `store` (the layout of the directory, the locks), `audit` (two records of every
//!   change, one before and one after it);
//! - `snapshot`: the catalog, the commit records, the bytes, plain or packed;
//! - `replace`: new content for a session file, without losing what an agent writes meanwhile, and
//!   the way back to a snapshot;
//! - `offload`: large tool results as files; `trash`: removed items, until their grace ends;
//! - [`retention`]: decides which snapshots stay, from the list and the time alone; [`collect`]: a
//!   run of `ctx-gc`.

mod audit;
pub mod collect;
pub mod compare;
pub mod error;
mod fs;
mod id;
mod offload;
mod os;
mod replace;
pub mod retention;
mod shared_folder;
mod snapshot;
mod store;
#[cfg(test)]
mod tests;
mod trash;
mod when;

pub use audit::history::Event;
pub use audit::{
    BrokenLink, ClassCounts, Compaction, Facts, Figures, Operation, Summing, Survived,
};
pub use error::{MissingReason, MissingSnapshot, Severity, StoreError};
pub use fs::atomic::{AtomicFile, OutputTarget};
pub use fs::{HashingReader, file_names, hash, open_plain};
pub use id::{SessionId, SnapshotId, Stamp, real_path};
pub use offload::write::{OffloadWriter, TakenResults};
pub use offload::{Content, Form, OffloadFolder, OffloadName, OffloadedFile};
pub use replace::append::Addition;
pub use replace::restore::{Appended, OfFile, Restore, SnapshotChoice};
pub use replace::retained::SweepReport;
pub use replace::session_file::{MinIdle, SessionFile, refuse_replacement};
pub use replace::target::{Destination, Growth, PendingReplacement};
pub use replace::{NewContent, ReplaceOutcome, Replacement};
pub use shared_folder::{SharedFile, SharedFolder, StagedFile};
pub use snapshot::draft::Saved;
pub use snapshot::draft::{Draft, Snapshot};
pub use snapshot::meta::{FileHash, Meta, SnapshotKind, Tokens};
pub use snapshot::pack::{PackReport, Packing};
pub use snapshot::recent::COMPACTION_STRIKES;
pub use snapshot::repair::Repaired;
pub use snapshot::verified::SnapshotBytes;
pub use snapshot::{Catalog, Entry, Flaw, Usage, Verdicts};
pub use store::{Actor, Clock, SessionLock, Store, is_kept_aside, is_store};
pub use trash::list::Trashed;
pub use trash::removal::{RemovalReport, StoreItem};
pub use when::{When, WhenError};
