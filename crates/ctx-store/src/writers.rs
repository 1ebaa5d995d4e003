//! Does another process have this file open for writing?

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::entries::Entries;

/// The answer, and how far it can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writers {
    /// The kernel says: nobody. That was true at the moment of the question.
    Nobody,
    /// No process that we may look at. One of another user, or on another machine, might.
    NobodySeen,
    /// Somebody: its name and process id, where we may know them.
    Somebody(String),
}

/// Asks the kernel, and where it does not answer (another owner's file, a
/// network file system) looks through the processes.
pub(crate) fn writers(file: &File) -> Writers {
    match lease::is_free(file) {
        Some(true) => Writers::Nobody,
        Some(false) => Writers::Somebody(seen(file).unwrap_or_else(|| "a process".to_owned())),
        None => seen(file).map_or(Writers::NobodySeen, Writers::Somebody),
    }
}

/// Whether the kernel says that nobody does; the processes are not looked through.
pub(crate) fn nobody_writes(file: &File) -> bool {
    lease::is_free(file) == Some(true)
}

/// The first process seen that has `file` open for writing: `codex (pid 4711)`.
fn seen(file: &File) -> Option<String> {
    let wanted = file.metadata().ok()?;
    let is_it = |meta: fs::Metadata| (meta.dev(), meta.ino()) == (wanted.dev(), wanted.ino());
    let processes = Path::new("/proc");
    for pid in Entries::of(processes).ok()?.flatten() {
        let process = processes.join(&pid);
        let Some(pid) = pid
            .to_str()
            .filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()))
        else {
            continue;
        };
        let Ok(open_files) = Entries::of(&process.join("fd")) else {
            continue;
        };
        for open in open_files.flatten() {
            let info = process.join("fdinfo").join(&open);
            let open = process.join("fd").join(open);
            if fs::metadata(open).is_ok_and(is_it) && is_for_writing(&info) {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                return Some(format!("{} (pid {pid})", name.trim_end()));
            }
        }
    }
    None
}

/// The access mode is the lowest two bits of the octal `flags:`.
fn is_for_writing(info: &Path) -> bool {
    let info = fs::read_to_string(info).unwrap_or_default();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    flags
        .and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok())
        .is_some_and(|flags| flags & 3 != 0)
}

/// A read lease is granted only while nobody has the file open for writing:
/// an atomic answer, which no look through `/proc` can give.
#[cfg(target_os = "linux")]
mod lease {
    #![allow(unsafe_code)] // fcntl with F_SETLEASE is in no safe wrapper.

    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// Of linux/fcntl.h; the libc crate has it for other systems only.
    const F_SETSIG: libc::c_int = 10;

    /// `None` where leases cannot be had.
    pub(super) fn is_free(file: &File) -> Option<bool> {
        let fd = file.as_raw_fd();
        // SAFETY: `fd` is open for as long as `file` is borrowed, and these
        // commands of fcntl take an integer and touch no memory of ours.
        unsafe {
            // Whoever opens the file in the next microseconds makes the kernel
            // signal us: by SIGURG, which is ignored, instead of SIGIO, which kills.
            if libc::fcntl(fd, F_SETSIG, libc::SIGURG) == -1 {
                return None;
            }
            if libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK) == 0 {
                libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK);
                return Some(true);
            }
        }
        let error = std::io::Error::last_os_error();
        (error.kind() == std::io::ErrorKind::WouldBlock).then_some(false)
    }
}

/// Other systems have no such lease.
#[cfg(not(target_os = "linux"))]
mod lease {
    pub(super) fn is_free(_: &std::fs::File) -> Option<bool> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Writers, seen, writers};
    use std::fs::{File, OpenOptions};

    #[test]
    fn a_writer_is_seen_and_a_reader_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, "x").expect("writes");
        let file = File::open(&path).expect("opens");
        let _reader = File::open(&path).expect("opens");
        assert!(!matches!(writers(&file), Writers::Somebody(_)));
        assert_eq!(seen(&file), None);
        let writer = OpenOptions::new().append(true).open(&path).expect("opens");
        let pid = format!("(pid {})", std::process::id());
        let Writers::Somebody(who) = writers(&file) else {
            panic!("not seen");
        };
        assert!(who.ends_with(&pid), "{who}");
        drop(writer);
        assert!(!matches!(writers(&file), Writers::Somebody(_)));
    }
}
