//! The code that depends on the operating system. The rest of the crate relies only on POSIX.
//!
//! `linux.rs` and `portable.rs` define the same functions. `portable.rs` is limited to what any
//! Unix supports: it cannot take leases, inspect other processes, or exchange the names of two
//! files. Network file systems on Linux have the same limits, so callers must handle them anyway.

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

/// Which processes have to wait when they open a file that has a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excluded {
    /// Processes that open the file for writing.
    Writers,
    /// All processes that open the file. The kernel grants this kind of lease only if our handle is
    /// open for writing and is the only handle to the file.
    Everyone,
}

/// The kernel's response to a request for a lease.
pub(crate) enum LeaseAnswer<'f> {
    /// The lease is granted. No excluded process has the file open, and none can open it until the
    /// lease is dropped.
    Granted(Lease<'f>),
    /// The lease is denied, because an excluded process has the file open.
    InUse,
    /// It is unknown whether the file is in use, because it belongs to another user, or because the
    /// file system or the kernel does not support leases.
    Unknown,
}

/// A kernel lease on a file. The kernel delays other processes that open the file until the lease
/// is dropped. The kernel grants a lease only if no process that the lease excludes already has the
/// file open. A request is therefore also an atomic check whether the file is in use, unlike a
/// search through the list of processes.
///
/// A lease ends when its process exits. By default, the kernel revokes a lease once another process
/// has waited for 45 seconds.
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

    /// Requests a lease that keeps out every other process. Returns `None` if the lease is not
    /// granted.
    pub(crate) fn on_everyone(file: &'f File) -> Option<Self> {
        match Self::request(file, Excluded::Everyone) {
            LeaseAnswer::Granted(lease) => Some(lease),
            LeaseAnswer::InUse | LeaseAnswer::Unknown => None,
        }
    }

    /// Whether another process is waiting for the lease to end.
    pub(crate) fn is_waited_for(&self) -> bool {
        !system::is_lease_intact(self.file, self.excluded)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        system::release_lease(self.file);
    }
}

/// Whether the file has no writers, according to the kernel. Returns `None` if the kernel cannot
/// tell.
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
    /// According to the kernel, no process has the file open for writing.
    None,
    /// No process that we can see has the file open for writing, but another user's process or one
    /// on another machine may.
    NoneSeen,
    /// A process has the file open for writing. The text is the name and id of the process, or "a
    /// process" if we are not allowed to see them.
    Some(String),
}

impl Writers {
    /// Asks the kernel whether the file has writers, and searches `/proc` if the kernel cannot
    /// tell.
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

/// Fails if another process has the file open for writing. Returns a lease that keeps writers out
/// until it is dropped, if the kernel grants one.
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

/// Whether the error means that a file was not opened because it is a symbolic link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    // FreeBSD reports EMLINK instead of ELOOP.
    matches!(Errno::from_io_error(error), Some(Errno::LOOP | Errno::MLINK))
}
