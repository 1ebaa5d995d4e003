//! Files opened with care: no link is followed, no FIFO hangs.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::error::{Naming, StoreError};

/// How long a run waits for a lock that others hold for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it tries.
const POLL: Duration = Duration::from_millis(2);

/// Reading, without following a link and without hanging on a FIFO.
pub(crate) fn careful() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Opens a regular file for reading.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let file = careful().open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// What came of a call; `None` where nothing has that name.
pub(crate) fn if_there<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// The names in a folder that are text; none where there is no folder.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    let entries = if_there(fs::read_dir(folder)).naming("read", folder)?;
    for entry in entries.into_iter().flatten() {
        names.extend(entry.naming("read", folder)?.file_name().into_string());
    }
    Ok(names)
}

/// Waits for the lock on a file, up to 10 seconds; `busy` says why it cannot be had.
pub(crate) fn wait_for_lock(
    file: &File,
    path: &Path,
    busy: impl FnOnce() -> String,
) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                std::thread::sleep(POLL);
            }
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(busy())),
            Err(TryLockError::Error(error)) => return Err(error).naming("lock", path),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{if_there, names, open_plain, wait_for_lock};

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("written");
        symlink(&file, dir.path().join("link")).expect("a link");
        assert!(open_plain(&file).is_ok());
        for name in ["link", "."] {
            assert!(open_plain(&dir.path().join(name)).is_err(), "{name}");
        }
        let missing = if_there(open_plain(&dir.path().join("none")));
        assert!(missing.expect("no failure").is_none());
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_names() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("a"), "").expect("written");
        assert_eq!(names(dir.path()).expect("read"), ["a"]);
        assert!(names(&dir.path().join("none")).expect("none").is_empty());
        assert!(names(&dir.path().join("a")).is_err(), "no folder");
    }

    #[test]
    fn a_lock_is_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let holder = File::create(&path).expect("a file");
        holder.lock().expect("a lock");
        let waiting = std::thread::spawn({
            let file = File::open(&path).expect("a file");
            move || wait_for_lock(&file, Path::new("lock"), || "busy".to_owned())
        });
        holder.unlock().expect("free");
        assert!(waiting.join().expect("no panic").is_ok());
    }
}
