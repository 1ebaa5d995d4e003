//! Names of files given and exchanged in one step.
//!
//! A new file changes places with the one that it replaces under a name that no run takes for
//! that of an unfinished file. What an exchange took out is looked at afterwards: a file that
//! an agent put there since the last look goes back, and nothing is removed before it is
//! known what it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::{Errno, retry_on_intr};

use crate::StoreError;
use crate::error::Naming;
use crate::files::file_id;
use crate::temp::{TempFile, TempName};

/// How often files change places until nobody comes in between.
const ROUNDS: usize = 16;

/// Gives a file its name, which must be free.
pub(crate) fn create(temp: TempFile, path: &Path) -> Result<(), StoreError> {
    rename_to_free(temp.path(), path)?;
    temp.keep();
    Ok(())
}

fn rename_to_free(from: &Path, path: &Path) -> Result<(), StoreError> {
    match rename(from, path, RenameFlags::NOREPLACE) {
        // Somebody made a file there meanwhile.
        Err(Errno::EXIST) => Err(StoreError::Changed(path.to_owned())),
        // This file system cannot refuse to replace a file: look first.
        Err(Errno::INVAL | Errno::NOSYS) if path.try_exists().is_ok_and(|it| !it) => {
            fs::rename(from, path).naming("create", path)
        }
        other => other.naming("create", path),
    }
}

/// Puts a finished file into the place of the one at `path`, which gets the name `aside`.
/// When that is not the one that `is_expected` knows, it goes back, and [`StoreError::Changed`]
/// says so; then what is left at `aside`, if anything, is for the caller to judge. `false` on a
/// file system that cannot exchange names.
///
/// `taken_out` is told of each file of others before it goes back: an agent that has read what
/// stood there meanwhile, or has not read this one, may soon put another in its place.
pub(crate) fn take_place(
    new: &mut TempName,
    aside: PathBuf,
    path: &Path,
    is_expected: impl FnOnce(&Path) -> bool,
    mut taken_out: impl FnMut(&Path),
) -> Result<bool, StoreError> {
    rename_to_free(&new.path, &aside)?;
    let unfinished = std::mem::replace(&mut new.path, aside);
    match change_places(&new.path, path) {
        Ok(()) if is_expected(&new.path) => Ok(true),
        Ok(()) => {
            // Others may have written to our file while it stood there.
            new.keep = true;
            let what = || format!("the replacement of {}", path.display());
            taken_out(&new.path);
            put_back(new, path, taken_out).map_err(|error| error.after(what()))?;
            Err(StoreError::Changed(path.to_owned()))
        }
        Err(Errno::INVAL | Errno::NOSYS) => {
            rename_to_free(&new.path, &unfinished)?;
            new.path = unfinished;
            Ok(false)
        }
        // It was removed meanwhile.
        Err(Errno::NOENT) => Err(StoreError::Changed(path.to_owned())),
        Err(error) => Err(error).naming("replace", path),
    }
}

/// Exchanges the names again, until what comes out is what was put in the time before: then
/// the newest file stands at `path`, and nobody has come in between.
fn put_back(
    new: &TempName,
    path: &Path,
    mut taken_out: impl FnMut(&Path),
) -> Result<(), StoreError> {
    let aside = &new.path;
    let id = |path: &Path| -> Result<_, StoreError> { file_id(path).naming("read", path) };
    let mut placed = new.id;
    for _ in 0..ROUNDS {
        let out = id(aside)?;
        match change_places(aside, path) {
            Ok(()) => {}
            // Somebody removed it, who would not have it back.
            Err(Errno::NOENT) if is_gone(path) => return Ok(()),
            Err(error) => return Err(error).naming("put back", path),
        }
        if id(aside)? == placed {
            return Ok(());
        }
        taken_out(aside);
        placed = out;
    }
    Ok(())
}

/// A signal does not end it, as it may on a file system of FUSE.
fn rename(from: &Path, to: &Path, flags: RenameFlags) -> Result<(), Errno> {
    retry_on_intr(|| renameat_with(CWD, from, CWD, to, flags))
}

fn is_gone(path: &Path) -> bool {
    file_id(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn change_places(aside: &Path, path: &Path) -> Result<(), Errno> {
    #[cfg(test)]
    crate::moments::moment();
    let done = rename(aside, path, RenameFlags::EXCHANGE);
    #[cfg(test)]
    crate::moments::moment();
    done
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use super::{create, take_place};
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

    /// A file beside `x`, which is written.
    fn unfinished(dir: &Path) -> TempFile {
        let mut temp = TempFile::create(dir, OsStr::new("x"), 0o600).expect("a file");
        temp.write_all(b"new").expect("written");
        temp
    }

    #[test]
    fn two_files_change_places() {
        let dir = tempfile::tempdir().expect("a folder");
        let (path, aside) = (dir.path().join("x"), dir.path().join("aside"));
        let take = |temp: &mut TempFile, expected| {
            let is_expected = |found: &Path| {
                assert_eq!(fs::read(found).expect("reads"), b"old");
                expected
            };
            let taken_out = |found: &Path| assert_eq!(fs::read(found).expect("reads"), b"old");
            take_place(&mut temp.name, aside.clone(), &path, is_expected, taken_out)
        };
        let gone = take(&mut unfinished(dir.path()), true);
        assert!(matches!(gone, Err(StoreError::Changed(_))));
        assert!(!aside.exists());
        fs::write(&path, "old").expect("written");
        let other = take(&mut unfinished(dir.path()), false);
        assert!(matches!(other, Err(StoreError::Changed(_))));
        assert_eq!(fs::read(&path).expect("reads"), b"old");
        assert_eq!(fs::read(&aside).expect("reads"), b"new", "not judged here");
        fs::remove_file(&aside).expect("removed");
        assert!(take(&mut unfinished(dir.path()), true).expect("exchanged"));
        assert_eq!(fs::read(&path).expect("reads"), b"new");
        assert_eq!(fs::read(&aside).expect("reads"), b"old", "it is not ours");
    }
}
