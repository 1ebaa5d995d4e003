//! The Linux implementation, which uses `fcntl` leases, `/proc` and `renameat2`.

#![allow(unsafe_code)] // No safe wrapper has fcntl with F_SETLEASE.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::{Errno, retry_on_intr};

use super::Excluded;
use crate::fs::{Entries, is_same_file};

/// `F_SETSIG` from linux/fcntl.h, which the libc crate does not define for this system.
const F_SETSIG: libc::c_int = 10;

fn lease_type(excluded: Excluded) -> libc::c_int {
    match excluded {
        Excluded::Writers => libc::F_RDLCK,
        Excluded::Everyone => libc::F_WRLCK,
    }
}

fn fcntl(file: &File, command: libc::c_int, argument: libc::c_int) -> libc::c_int {
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and the commands used here
    // take an integer and do not touch our memory.
    unsafe { libc::fcntl(file.as_raw_fd(), command, argument) }
}

/// Requests a lease. Returns whether the kernel granted the lease, or `None` if no lease is
/// possible on the file.
pub(super) fn set_lease(file: &File, excluded: Excluded) -> Option<bool> {
    // The kernel sends us a signal when another process opens the file. Choose SIGURG, which is
    // ignored by default, because the usual SIGIO would kill us.
    if fcntl(file, F_SETSIG, libc::SIGURG) == -1 {
        return None;
    }
    if fcntl(file, libc::F_SETLEASE, lease_type(excluded)) == 0 {
        return Some(true);
    }
    (io::Error::last_os_error().kind() == ErrorKind::WouldBlock).then_some(false)
}

pub(super) fn is_lease_intact(file: &File, excluded: Excluded) -> bool {
    fcntl(file, libc::F_GETLEASE, 0) == lease_type(excluded)
}

pub(super) fn release_lease(file: &File) {
    fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
}

/// Returns the name and id of a process that has `file` open for writing, such as `codex (pid
/// 4711)`.
pub(super) fn writer_of(file: &File) -> Option<String> {
    let wanted = file.metadata().ok()?;
    let is_wanted = |meta: Metadata| is_same_file(&meta, &wanted);
    let processes = Path::new("/proc");
    for pid in Entries::of(processes).ok()?.flatten() {
        let process = processes.join(&pid);
        let Some(pid) = pid.to_str().filter(|pid| pid.bytes().all(|b| b.is_ascii_digit())) else {
            continue;
        };
        let Ok(open_files) = Entries::of(&process.join("fd")) else { continue };
        for descriptor in open_files.flatten() {
            let info = process.join("fdinfo").join(&descriptor);
            let open_file = process.join("fd").join(descriptor);
            if fs::metadata(open_file).is_ok_and(is_wanted) && is_for_writing(&info) {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                return Some(format!("{} (pid {pid})", name.trim_end()));
            }
        }
    }
    None
}

/// Whether the file `info` in `/proc/PID/fdinfo/` describes a handle that is open for writing. The
/// lowest two bits of the octal number after `flags:` give the access mode.
fn is_for_writing(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 3 != 0)
}

/// Renames a file unless the new name is taken.
pub(crate) fn rename_to_free_name(from: &Path, to: &Path) -> Result<(), Errno> {
    rename(from, to, RenameFlags::NOREPLACE)
}

/// Exchanges the names of two files in one step.
pub(crate) fn exchange_names(one: &Path, other: &Path) -> Result<(), Errno> {
    rename(one, other, RenameFlags::EXCHANGE)
}

/// Renames a file. Tries again if a signal interrupts the call, which can happen on a FUSE file
/// system.
fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    retry_on_intr(|| renameat_with(CWD, from, CWD, to, flags))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, OpenOptions};
    use std::thread;
    use std::time::Duration;

    use super::super::{Excluded, Lease, LeaseAnswer, Writers, has_no_writer};

    #[test]
    fn others_wait_until_a_lease_is_released() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "").expect("writes");
        let handle = |write| OpenOptions::new().read(true).write(write).open(&path);
        for (excluded, opens_to_write) in [(Excluded::Writers, true), (Excluded::Everyone, false)] {
            let file = handle(excluded == Excluded::Everyone).expect("opens");
            let LeaseAnswer::Granted(lease) = Lease::request(&file, excluded) else {
                panic!("no process has the file open");
            };
            assert!(!lease.is_waited_for());
            thread::scope(|scope| {
                let waiting = scope.spawn(|| handle(opens_to_write).expect("opens"));
                while !lease.is_waited_for() {
                    thread::sleep(Duration::from_millis(1));
                }
                assert!(!waiting.is_finished());
                drop(lease);
                let opened = waiting.join().expect("no panic");
                assert!(matches!(Lease::request(&file, excluded), LeaseAnswer::InUse));
                drop(opened);
            });
        }
        let file = File::open(&path).expect("opens");
        assert_eq!(has_no_writer(&file), Some(true));
        let _writer = handle(true).expect("opens");
        assert_eq!(has_no_writer(&file), Some(false));
    }

    #[test]
    fn a_writer_is_seen_and_a_reader_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        fs::write(&path, "x").expect("writes");
        let file = File::open(&path).expect("opens");
        let _reader = File::open(&path).expect("opens");
        assert!(!matches!(Writers::of(&file), Writers::Some(_)));
        assert_eq!(super::writer_of(&file), None);
        let writer = OpenOptions::new().append(true).open(&path).expect("opens");
        let pid = format!("(pid {})", std::process::id());
        let Writers::Some(who) = Writers::of(&file) else {
            panic!("not seen");
        };
        assert!(who.ends_with(&pid), "{who}");
        drop(writer);
        assert!(!matches!(Writers::of(&file), Writers::Some(_)));
    }
}
