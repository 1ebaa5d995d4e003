//! Keeps snapshots of sessions in a store on disk, and replaces session files to which agents may
//! be writing.
//!
//! The main modules, from the lowest level to the highest:
//!
//! - [`error`] defines the errors.
//! - `os` contains the code that depends on the operating system.
//! - `fs` writes files atomically.
//! - `id` defines the ids of sessions and snapshots.
//! - `store` defines the layout of the directory and the locks.
//! - `audit` records every change in the audit log, before and after it is made.
//! - `snapshot` lists, takes, checks and packs snapshots.
//! - `replace` gives a session file new content without losing what an agent writes in the
//!   meantime, and restores snapshots.
//! - `offload` keeps each large tool result in its own file.
//! - `trash` keeps removed items until their grace period is over.
//! - [`retention`] decides which snapshots stay, given only the list of snapshots, the policy and
//!   the time.
//! - [`collect`] carries out the garbage collection for `ctx-gc`.

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
pub use audit::{BrokenLink, Facts, Figures, Operation};
pub use error::{MissingReason, MissingSnapshot, Severity, StoreError};
pub use fs::atomic::{AtomicFile, OutputTarget};
pub use fs::{HashingReader, each_block, file_names, hash, open_plain};
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
pub use snapshot::draft::{Draft, Saved, Snapshot};
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
