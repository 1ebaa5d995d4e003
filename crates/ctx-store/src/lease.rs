//! Leases: the kernel keeps others waiting who want to open a file, until the lease is given
//! back. It grants one only while nobody has the file open in that way, so that to ask for one
//! is an atomic look at who has, which no look through `/proc` can give.
//!
//! A lease ends with its process. One that is not given back is taken away by the kernel, after
//! 45 seconds where nobody has changed that.

use std::fs::File;

/// Who is kept waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// Whoever opens the file for writing.
    Writers,
    /// Whoever opens it. Only a handle for writing, the only one there is, can ask for that.
    All,
}

/// The answer of the kernel.
pub(crate) enum Answer<'f> {
    /// Nobody has it open, and nobody will until this is dropped.
    Granted(Lease<'f>),
    /// Somebody has.
    InUse,
    /// Another owner's file, or a file system or a kernel that has no leases.
    Unknown,
}

/// A lease; it is given back when this is dropped.
pub(crate) struct Lease<'f> {
    file: &'f File,
    others: Others,
}

/// Asks for a lease.
pub(crate) fn ask(file: &File, others: Others) -> Answer<'_> {
    #[cfg(test)]
    if !crate::moments::has_leases() {
        return Answer::Unknown;
    }
    match kernel::set(file, others) {
        Some(true) => Answer::Granted(Lease { file, others }),
        Some(false) => Answer::InUse,
        None => Answer::Unknown,
    }
}

/// Whether nobody has the file open for writing, as the kernel says, if it does.
pub(crate) fn is_free(file: &File) -> Option<bool> {
    match ask(file, Others::Writers) {
        Answer::Granted(_given_back) => Some(true),
        Answer::InUse => Some(false),
        Answer::Unknown => None,
    }
}

impl Lease<'_> {
    /// Whether somebody is kept waiting by it.
    pub(crate) fn keeps_somebody_waiting(&self) -> bool {
        !kernel::is_unbroken(self.file, self.others)
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        kernel::give_back(self.file);
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    #![allow(unsafe_code)] // fcntl with F_SETLEASE is in no safe wrapper.

    use std::fs::File;
    use std::io::{Error, ErrorKind};
    use std::os::fd::AsRawFd;

    use super::Others;

    /// Of linux/fcntl.h; the libc crate has it for other systems only.
    const F_SETSIG: libc::c_int = 10;

    fn kind(others: Others) -> libc::c_int {
        match others {
            Others::Writers => libc::F_RDLCK,
            Others::All => libc::F_WRLCK,
        }
    }

    fn call(file: &File, command: libc::c_int, argument: libc::c_int) -> libc::c_int {
        // SAFETY: the descriptor is open for as long as `file` is borrowed, and the commands
        // used here take an integer and touch no memory of ours.
        unsafe { libc::fcntl(file.as_raw_fd(), command, argument) }
    }

    /// `None` where leases cannot be had.
    pub(super) fn set(file: &File, others: Others) -> Option<bool> {
        // Whoever opens the file meanwhile makes the kernel signal us: by SIGURG, which is
        // ignored, instead of SIGIO, which kills.
        if call(file, F_SETSIG, libc::SIGURG) == -1 {
            return None;
        }
        if call(file, libc::F_SETLEASE, kind(others)) == 0 {
            return Some(true);
        }
        let error = Error::last_os_error();
        (error.kind() == ErrorKind::WouldBlock).then_some(false)
    }

    pub(super) fn is_unbroken(file: &File, others: Others) -> bool {
        call(file, libc::F_GETLEASE, 0) == kind(others)
    }

    pub(super) fn give_back(file: &File) {
        call(file, libc::F_SETLEASE, libc::F_UNLCK);
    }
}

/// Other systems have no such leases.
#[cfg(not(target_os = "linux"))]
mod kernel {
    use std::fs::File;

    use super::Others;

    pub(super) fn set(_: &File, _: Others) -> Option<bool> {
        None
    }

    pub(super) fn is_unbroken(_: &File, _: Others) -> bool {
        true
    }

    pub(super) fn give_back(_: &File) {}
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::thread;
    use std::time::Duration;

    use super::{Answer, Others, ask, is_free};

    #[test]
    fn others_wait_until_it_is_given_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "").expect("writes");
        let handle = |write| OpenOptions::new().read(true).write(write).open(&path);
        for (others, opens_to_write) in [(Others::Writers, true), (Others::All, false)] {
            let file = handle(others == Others::All).expect("opens");
            let Answer::Granted(lease) = ask(&file, others) else {
                panic!("it is free");
            };
            assert!(!lease.keeps_somebody_waiting());
            thread::scope(|scope| {
                let waiting = scope.spawn(|| handle(opens_to_write).expect("opens"));
                while !lease.keeps_somebody_waiting() {
                    thread::sleep(Duration::from_millis(1));
                }
                assert!(!waiting.is_finished());
                drop(lease);
                let opened = waiting.join().expect("no panic");
                assert!(matches!(ask(&file, others), Answer::InUse));
                drop(opened);
            });
        }
        let file = File::open(&path).expect("opens");
        assert_eq!(is_free(&file), Some(true));
        let _writer = handle(true).expect("opens");
        assert_eq!(is_free(&file), Some(false));
    }
}
