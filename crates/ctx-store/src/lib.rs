//! Snapshots, atomic replacement, locks, trash, audit log: the store on disk.
//!
//! [`Store::open`] names a directory; what writes into it creates what it needs.
//! [`Draft`] makes snapshots, [`Catalog`] finds and checks them, [`Store::replace`]
//! puts new content into a session file that an agent may be writing, and the
//! trash keeps what retention removed. The audit log has two records of every change,
//! one before it and one after it. [`retention`] decides what to keep, from a list of
//! snapshots and the time alone.

mod addition;
mod again;
mod append;
mod appended;
#[cfg(test)]
mod appends;
mod arrivals;
pub mod atomic;
mod audit;
mod bytes;
mod catalog;
mod chain;
mod clock;
pub mod collect;
pub mod compare;
mod content;
mod count;
mod daily;
mod derived;
mod destination;
pub mod diff;
mod draft;
mod entries;
mod error;
mod events;
mod exchange;
#[cfg(test)]
mod failed_runs;
mod figures;
mod files;
mod find;
mod hash;
mod history;
mod idle;
#[cfg(test)]
mod late_lines;
mod lease;
mod live;
mod lock;
mod look;
mod meta;
mod missing;
#[cfg(test)]
mod moments;
mod notes;
mod of_file;
mod offload;
mod pack;
mod purge;
mod query;
#[cfg(test)]
mod races;
mod recent;
mod removal;
mod rename;
mod repair;
mod replace;
pub mod restore;
mod retained;
pub mod retention;
mod session;
mod shared;
mod stamp;
mod store;
mod succession;
mod summary;
mod swap;
mod tail;
mod temp;
#[cfg(test)]
mod testing;
mod trash;
mod trash_list;
mod undelete;
mod undo;
mod unfinished;
mod usage;
mod verdict;
mod versions;
mod when;
mod withdraw;
mod writers;

pub use again::Saved;
pub use append::Addition;
pub use appended::Appended;
pub use audit::{Facts, Operation};
pub use bytes::SnapshotBytes;
pub use catalog::{Catalog, Entry, Flaw};
pub use chain::BrokenLink;
pub use content::NewContent;
pub use daily::Digest;
pub use destination::Destination;
pub use draft::{Draft, Snapshot};
pub use error::{Severity, StoreError};
pub use figures::{Compaction, Figures, Standing, Summing, Survived};
pub use files::open_plain;
pub use hash::{HashingReader, hash, hash_bytes};
pub use history::Event;
pub use idle::MinIdle;
pub use lock::SessionLock;
pub use look::{Look, refuse_replacement};
pub use meta::{BadLine, Meta, Packed, SnapshotKind, Successor, Tally, Tokens};
pub use missing::{Missing, Reason};
pub use notes::COMPACTION_STRIKES;
pub use of_file::OfFile;
pub use offload::{Content, Form, OffloadFolder, OffloadName, OffloadWriter, OffloadedFile, Taken};
pub use pack::{PackReport, Packing};
pub use removal::{RemovalReport, StoreItem};
pub use repair::Repaired;
pub use replace::{ReplaceOutcome, Replacement};
pub use retained::SweepReport;
pub use session::{SessionId, real_path};
pub use shared::{SharedFile, SharedFolder, StagedFile};
pub use stamp::{SnapshotId, Stamp};
pub use store::{Actor, Clock, Store, is_kept_aside, is_store};
pub use succession::{Growth, Succession};
pub use trash_list::{GRACE_DAYS, Trashed};
pub use undelete::UndeleteReport;
pub use usage::Usage;
pub use verdict::{Verdict, Verdicts};
pub use when::{When, WhenError};

/// Bytes as lower-case hex digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
