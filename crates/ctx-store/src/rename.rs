//! Names of files given and exchanged in one step.

use std::fs;
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::StoreError;
use crate::error::Naming;
use crate::temp::TempFile;

/// Gives a file its name, which must be free.
pub(crate) fn create(temp: TempFile, path: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, temp.path(), CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Somebody made a file there meanwhile.
        Err(Errno::EXIST) => return Err(StoreError::Changed(path.to_owned())),
        // This file system cannot refuse to replace a file: look first.
        Err(Errno::INVAL | Errno::NOSYS) if path.try_exists().is_ok_and(|it| !it) => {
            fs::rename(temp.path(), path).naming("create", path)?;
        }
        Err(error) => return Err(error).naming("create", path),
    }
    temp.keep();
    Ok(())
}

/// Exchanges the names of a file and of the one at `path`; `false` on a file system that
/// cannot do that.
pub(crate) fn exchange(temp: &TempFile, path: &Path) -> Result<bool, StoreError> {
    match change_places(temp, path) {
        Ok(()) => Ok(true),
        Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
        // It was removed meanwhile.
        Err(Errno::NOENT) => Err(StoreError::Changed(path.to_owned())),
        Err(error) => Err(error).naming("replace", path),
    }
}

/// Exchanges them again: what stood at `path` stands there once more.
pub(crate) fn put_back(temp: &TempFile, path: &Path) -> Result<(), StoreError> {
    change_places(temp, path).naming("put back", path)
}

fn change_places(temp: &TempFile, path: &Path) -> Result<(), Errno> {
    renameat_with(CWD, temp.path(), CWD, path, RenameFlags::EXCHANGE)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;

    use super::{create, exchange, put_back};
    use crate::StoreError;
    use crate::temp::TempFile;

    #[test]
    fn a_name_that_is_taken_is_not_given_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        for first in [true, false] {
            let mut temp = TempFile::create(dir.path(), OsStr::new("x"), 0o600).expect("a file");
            temp.write_all(if first { b"1" } else { b"2" })
                .expect("written");
            let done = create(temp, &path);
            assert_eq!(done.is_ok(), first);
            assert!(first || matches!(done, Err(StoreError::Changed(_))));
        }
        assert_eq!(fs::read(&path).expect("reads"), b"1");
        assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 1);
    }

    #[test]
    fn two_files_change_places() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        let mut temp = TempFile::create(dir.path(), OsStr::new("x"), 0o600).expect("a file");
        temp.write_all(b"new").expect("written");
        let gone = exchange(&temp, &path);
        assert!(matches!(gone, Err(StoreError::Changed(_))));
        fs::write(&path, "old").expect("written");
        assert!(exchange(&temp, &path).expect("exchanged"));
        assert_eq!(fs::read(&path).expect("reads"), b"new");
        assert_eq!(fs::read(temp.path()).expect("reads"), b"old");
        put_back(&temp, &path).expect("put back");
        assert_eq!(fs::read(&path).expect("reads"), b"old");
    }
}
