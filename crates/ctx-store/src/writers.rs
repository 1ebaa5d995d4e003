//! Does another process have this file open for writing?

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::StoreError;
use crate::entries::Entries;
use crate::lease::{self, Answer, Lease, Others};

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
        Some(false) => somebody(file),
        None => seen(file).map_or(Writers::NobodySeen, Writers::Somebody),
    }
}

fn somebody(file: &File) -> Writers {
    Writers::Somebody(seen(file).unwrap_or_else(|| "a process".to_owned()))
}

/// Keeps writers out of a file, where the kernel does that; when one has it open, that is an
/// error.
pub(crate) fn keep_out<'f>(file: &'f File, path: &Path) -> Result<Option<Lease<'f>>, StoreError> {
    let writers = match lease::ask(file, Others::Writers) {
        Answer::Granted(lease) => return Ok(Some(lease)),
        Answer::InUse => somebody(file),
        Answer::Unknown => writers(file),
    };
    match writers {
        Writers::Somebody(who) => {
            let name = path.display();
            Err(StoreError::Busy(format!(
                "{name} is open for writing by {who}"
            )))
        }
        Writers::Nobody | Writers::NobodySeen => Ok(None),
    }
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
