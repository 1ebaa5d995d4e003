//! Everything that differs between operating systems; the rest of the crate is POSIX.
//!
//! `linux.rs` and `portable.rs` have the same functions. `portable.rs` is what any Unix can do: it
//! has no leases, cannot look at other processes and cannot exchange names. A network file system
//! gives the same answers on Linux, so that callers know them all.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::io::Errno;

use crate::error::{Result, StoreError};
#[cfg(target_os = "linux")]
use linux as system;
#[cfg(not(target_os = "linux"))]
use portable as system;

pub(crate) use system::{exchange_names, rename_to_free_name};

/// Whom a lease keeps waiting when they open the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    /// Whoever opens it for writing.
    Writers,
    /// Whoever opens it. Only the one handle that is open for writing can ask for that.
    Everyone,
}

/// The kernel's answer to a request for a lease.
pub(crate) enum LeaseAnswer<'f> {
    /// No other process has the file open, and none can open it until the lease is dropped.
    Granted(Lease<'f>),
    /// Somebody has it open.
    InUse,
    /// The file has another owner, or the file system or the kernel has no leases.
    Unknown,
}

/// A lease: the kernel delays other processes that open the file until the lease is dropped. It
/// grants the lease only if no process has the file open in that way, so the request is also an
/// atomic check. Looking at processes cannot be atomic.
///
/// A lease ends with its process. The kernel revokes it after 45 seconds by default.
pub(crate) struct Lease<'f> {
    file: &'f File,
    excluded: Excluded,
}

impl<'f> Lease<'f> {
    /// Requests a lease.
    pub(crate) fn request(file: &'f File, excluded: Excluded) -> LeaseAnswer<'f> {
        #[cfg(test)]
        if !crate::tests::moments::has_leases() {
            return LeaseAnswer::Unknown;
        }
        match system::set_lease(file, excluded) {
            Some(true) => LeaseAnswer::Granted(Self { file, excluded }),
            Some(false) => LeaseAnswer::InUse,
            None => LeaseAnswer::Unknown,
        }
    }

    /// A lease that keeps everybody out; `None` if it is not granted.
    pub(crate) fn on_everyone(file: &'f File) -> Option<Self> {
        match Self::request(file, Excluded::Everyone) {
            LeaseAnswer::Granted(lease) => Some(lease),
            LeaseAnswer::InUse | LeaseAnswer::Unknown => None,
        }
    }

    /// Whether another process is waiting for the end of the lease.
    pub(crate) fn is_waited_for(&self) -> bool {
        !system::is_lease_intact(self.file, self.excluded)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        system::release_lease(self.file);
    }
}

/// Whether no process has the file open for writing; `None` if the kernel does not know.
pub(crate) fn has_no_writer(file: &File) -> Option<bool> {
    match Lease::request(file, Excluded::Writers) {
        LeaseAnswer::Granted(_released) => Some(true),
        LeaseAnswer::InUse => Some(false),
        LeaseAnswer::Unknown => None,
    }
}

/// Whether other processes have a file open for writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// No process has: the kernel said so at that moment.
    None,
    /// No visible process has. A process of another user or machine might.
    NoneSeen,
    /// One has: its name and id, as far as we may know them.
    Some(String),
}

impl Writers {
    /// Asks the kernel, and looks at the processes if it does not tell.
    pub(crate) fn of(file: &File) -> Self {
        match has_no_writer(file) {
            Some(true) => Self::None,
            Some(false) => Self::known(file),
            None => system::writer_of(file).map_or(Self::NoneSeen, Self::Some),
        }
    }

    fn known(file: &File) -> Self {
        Self::Some(system::writer_of(file).unwrap_or_else(|| "a process".to_owned()))
    }
}

/// Refuses a file that a process has open for writing. If the kernel grants a lease, it keeps
/// writers out until that is dropped.
pub(crate) fn keep_writers_out<'f>(file: &'f File, path: &Path) -> Result<Option<Lease<'f>>> {
    let writers = match Lease::request(file, Excluded::Writers) {
        LeaseAnswer::Granted(lease) => return Ok(Some(lease)),
        LeaseAnswer::InUse => Writers::known(file),
        LeaseAnswer::Unknown => Writers::of(file),
    };
    match writers {
        Writers::Some(who) => {
            Err(StoreError::Busy(format!("{} is open for writing by {who}", path.display())))
        }
        Writers::None | Writers::NoneSeen => Ok(None),
    }
}

/// Waits until the bytes, the length and the mode of a file, or the names in a folder, are on the
/// disk.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Waits until the bytes and the length of a file are on the disk.
pub(crate) fn sync_data(file: &File) -> io::Result<()> {
    file.sync_data()
}

/// Whether a file was not opened because it is a symbolic link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    // FreeBSD says EMLINK.
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::MLINK))
}
