//! Lists the entries in a folder, and removes folders. The standard library is not used to list
//! folders, because it panics if a folder cannot be closed, and fails if a signal arrives while a
//! folder is being opened.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, openat, unlinkat};
use rustix::io::{Errno, retry_on_intr};

use crate::error::{OrCannot, Result};
use crate::fs::{create_private_dir, parent, sync_dir};

/// An iterator over the names in a folder.
pub(crate) struct Entries(Dir);

impl Entries {
    /// Opens a folder and lists its entries.
    pub(crate) fn of(folder: &Path) -> io::Result<Self> {
        Ok(Self(Dir::new(open(CWD, folder.as_os_str(), OFlags::empty())?)?))
    }

    /// Lists all entries in an open folder.
    pub(crate) fn of_open(folder: impl AsFd) -> io::Result<Self> {
        Ok(Self(retry_on_intr(|| Dir::read_from(&folder))?))
    }

    /// Returns the names that are UTF-8.
    pub(crate) fn names(self) -> io::Result<Vec<String>> {
        self.filter_map(|name| name.map(|name| name.into_string().ok()).transpose()).collect()
    }
}

impl Iterator for Entries {
    type Item = io::Result<OsString>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.next()? {
                Ok(entry) if matches!(entry.file_name().to_bytes(), b"." | b"..") => {}
                Ok(entry) => {
                    return Some(Ok(OsStr::from_bytes(entry.file_name().to_bytes()).to_owned()));
                }
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

/// Removes a file, or a folder with everything in it. Does not follow links.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    remove_in(CWD, path.as_os_str())
}

fn remove_in(folder: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    match retry_on_intr(|| unlinkat(folder, name, AtFlags::empty())) {
        Ok(()) => return Ok(()),
        // If the path is a folder, Linux reports EISDIR, and other systems report EPERM.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error.into()),
    }
    let inner = open(folder, name, OFlags::NOFOLLOW)?;
    // Read all names first, because some file systems skip entries if files are removed while the
    // folder is read.
    for name in Entries::of_open(&inner)?.collect::<io::Result<Vec<_>>>()? {
        match remove_in(inner.as_fd(), &name) {
            // Another process has just removed the entry.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(retry_on_intr(|| unlinkat(folder, name, AtFlags::REMOVEDIR))?)
}

fn open(folder: BorrowedFd<'_>, name: &OsStr, more: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | more;
    Ok(retry_on_intr(|| openat(folder, name, flags, Mode::empty()))?)
}

/// Creates a private directory and its missing parents, and flushes them to disk.
pub(crate) fn make_dirs(dir: &Path) -> Result<()> {
    let is_root = dir.parent().is_none();
    match fs::metadata(dir) {
        Ok(meta) if meta.is_dir() => return Ok(()),
        Err(error) if is_root || error.kind() != io::ErrorKind::NotFound => {
            return Err(error).or_cannot("create", dir);
        }
        _ => {}
    }
    let above = parent(dir);
    make_dirs(above)?;
    match create_private_dir(dir) {
        Ok(()) => sync_dir(above),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error).or_cannot("create", dir),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::unix::fs::symlink;

    use super::{Entries, remove_tree};

    #[test]
    fn a_folder_has_the_names_that_were_put_into_it() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(Entries::of(dir.path()).expect("a folder").count(), 0);
        for number in 0..3 {
            fs::write(dir.path().join(number.to_string()), "").expect("writes");
        }
        let names = Entries::of(dir.path()).expect("a folder");
        let mut names: Vec<_> = names.map(|name| name.expect("a name")).collect();
        names.sort();
        assert_eq!(names, ["0", "1", "2"]);
        let missing = Entries::of(&dir.path().join("none")).err();
        assert_eq!(missing.expect("none").kind(), io::ErrorKind::NotFound);
        assert!(Entries::of(&dir.path().join("0")).is_err());
    }

    #[test]
    fn a_tree_goes_and_what_a_link_names_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let (tree, other) = (dir.path().join("tree"), dir.path().join("other"));
        fs::create_dir_all(tree.join("a/b")).expect("folders");
        fs::create_dir(&other).expect("a folder");
        for path in [tree.join("a/b/file"), tree.join("file"), other.join("file")] {
            fs::write(path, "").expect("writes");
        }
        symlink(&other, tree.join("a/link")).expect("a link");
        remove_tree(&tree).expect("removed");
        assert!(!tree.exists() && other.join("file").exists());
        symlink(&other, &tree).expect("a link");
        remove_tree(&tree).expect("removed");
        assert!(!tree.is_symlink() && other.join("file").exists());
        let gone = remove_tree(&tree).expect_err("gone");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
