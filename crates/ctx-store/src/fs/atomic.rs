//! Writes files atomically, so that they appear completely or not at all, and exchanges the names
//! of two files.
//!
//! A new file is written next to its target, flushed to disk and renamed. A reader therefore sees
//! either the old file or the complete new one, even after a power cut.
//!
//! A session file and its replacement exchange names, because an exchange loses neither file.
//! Before the exchange, the new file is renamed so that it is no longer marked as unfinished and no
//! other run removes it. After the exchange, the replaced file is checked. If an agent has put
//! another file at the session's path since the last check, the names are exchanged back. No file
//! is removed before it has been checked.
//!
//! A temporary file is locked for as long as its writer lives, so that later runs can recognize and
//! remove files left by dead writers.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memchr::memmem;
use rustix::io::Errno;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::folder::Entries;
use crate::fs::{
    FileId, PATIENCE, careful, file_id, id_of, if_there, is_there, is_unchanged, open_plain,
    parent, remove_file, rename, sync_name, try_lock,
};
use crate::os;
use crate::snapshot::meta::RETAINED;

/// How many times to try to undo an exchange of names if other processes interfere.
const ROUNDS: usize = 16;

/// Renames a finished file to its final name. Fails if that name is taken.
pub(crate) fn create(temp: TempFile, path: &Path) -> Result<()> {
    rename_to_free(temp.path(), path)?;
    temp.keep();
    Ok(())
}

fn rename_to_free(from: &Path, path: &Path) -> Result<()> {
    match os::rename_to_free_name(from, path) {
        // Another process has just created a file with this name.
        Err(Errno::EXIST) => Err(StoreError::Changed(path.to_owned())),
        // This file system does not support a rename that fails if the target exists, so check for
        // the target first.
        Err(Errno::INVAL | Errno::NOSYS) if path.try_exists().is_ok_and(|it| !it) => {
            rename(from, path).or_cannot("create", path)
        }
        other => other.or_cannot("create", path),
    }
}

/// Exchanges the names of a finished file and the file at `path`; the latter ends up at `aside`. If
/// `is_expected` rejects the file at `aside`, the names are exchanged back, and
/// [`StoreError::Changed`] is returned. In that case, the caller must check the file that is at
/// `aside` afterwards. Returns `false` on a file system that cannot exchange names.
///
/// If another process has put a file at `path`, calls `taken_out` with that file before restoring
/// it. An agent may have read our file in the meantime, and may soon overwrite the restored file
/// with a new version of ours.
pub(crate) fn take_the_place(
    new: &mut TempName,
    aside: PathBuf,
    path: &Path,
    is_expected: impl FnOnce(&Path) -> bool,
    mut taken_out: impl FnMut(&Path),
) -> Result<bool> {
    rename_to_free(&new.path, &aside)?;
    let unfinished = std::mem::replace(&mut new.path, aside);
    match change_places(&new.path, path) {
        Ok(()) if is_expected(&new.path) => Ok(true),
        Ok(()) => {
            // Keep our file, because other processes may have written to it while it had the
            // session's name.
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
        // Another process has just removed the file.
        Err(Errno::NOENT) => Err(StoreError::Changed(path.to_owned())),
        Err(error) => Err(error).or_cannot("replace", path),
    }
}

/// Undoes an exchange of names. The exchange is repeated until the file moved away from `path` is
/// the one that the previous exchange placed there. The newest file then ends up at `path`.
fn put_back(new: &TempName, path: &Path, mut taken_out: impl FnMut(&Path)) -> Result<()> {
    let aside = &new.path;
    let id = |path: &Path| -> Result<_> { file_id(path).or_cannot("read", path) };
    let mut placed = new.id;
    for _ in 0..ROUNDS {
        let out = id(aside)?;
        match change_places(aside, path) {
            Ok(()) => {}
            // Another process removed the file, so there is nothing to restore.
            Err(Errno::NOENT) if matches!(is_there(path), Ok(false)) => return Ok(()),
            Err(error) => return Err(error).or_cannot("put back", path),
        }
        if id(aside)? == placed {
            return Ok(());
        }
        taken_out(aside);
        placed = out;
    }
    Ok(())
}

fn change_places(aside: &Path, path: &Path) -> Result<(), Errno> {
    #[cfg(test)]
    crate::tests::moments::moment();
    let done = os::exchange_names(aside, path);
    #[cfg(test)]
    crate::tests::moments::moment();
    done
}

/// The number of bytes that are buffered before each write.
const BUFFER: usize = 128 * 1024;

/// The path of a file to be written, and what existed there at the first check.
#[derive(Debug)]
pub struct OutputTarget {
    /// The path of the target.
    pub target: PathBuf,
    /// The metadata of the existing file or of a link to a missing file, or `None` if nothing
    /// exists at the path. The new file inherits the existing file's mode and owner.
    replaced: Option<fs::Metadata>,
}

impl OutputTarget {
    /// Checks `target`. If `target` is a symbolic link, the file that it points to will be
    /// replaced, not the link.
    pub fn look(target: &Path) -> Result<Self> {
        let look = || match fs::metadata(target) {
            Ok(meta) if meta.is_file() => Ok((fs::canonicalize(target)?, Some(meta))),
            Ok(_) => Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok((target.to_owned(), fs::symlink_metadata(target).ok()))
            }
            Err(error) => Err(error),
        };
        let (target, replaced) = look().or_not_written(target)?;
        Ok(Self { target, replaced })
    }

    /// Returns the metadata of the existing file, or `None` if there is no regular file.
    pub fn file(&self) -> Option<&fs::Metadata> {
        self.replaced.as_ref().filter(|replaced| replaced.is_file())
    }

    /// Whether the target is unchanged since the first check.
    fn is_as_seen(&self) -> Result<bool> {
        let now = if_there(fs::symlink_metadata(&self.target).or_cannot("read", &self.target))?;
        Ok(match (&now, &self.replaced) {
            (Some(now), Some(then)) => is_unchanged(now, then),
            (now, then) => now.is_none() && then.is_none(),
        })
    }
}

/// A file that is written completely or not at all.
///
/// The target does not change until [`AtomicFile::commit`] is called. If this value is dropped
/// before that, the temporary file is removed. If a run is killed, the next [`AtomicFile::create`]
/// for the same target removes the unfinished file.
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<TempFile>,
    /// The target.
    pub output: OutputTarget,
}

impl AtomicFile {
    /// Creates the temporary file.
    pub fn create(output: OutputTarget) -> Result<Self> {
        // A new file gets the mode that a shell would give it. A file that replaces another one
        // stays private until it inherits the mode of the old file.
        let mode = output.file().map_or(0o666, |_| 0o600);
        let temp = TempFile::beside(&output.target, mode).or_not_written(&output.target)?;
        let writer = BufWriter::with_capacity(BUFFER, temp);
        Ok(Self { writer, output })
    }

    /// Flushes and syncs the file, renames it, and syncs the directory. If another process has
    /// created or changed the target since the first check, the new file is removed and the target
    /// is left alone.
    pub fn commit(mut self) -> Result<()> {
        let target = &self.output.target;
        self.writer.flush().or_not_written(target)?;
        let (temp, _) = self.writer.into_parts();
        if let Some(replaced) = self.output.file() {
            inherit(&temp.file, replaced).or_not_written(target)?;
        }
        temp.file.sync_all().or_not_written(target)?;
        // A change to the target between this check and the rename is overwritten unnoticed.
        if !self.output.is_as_seen()? {
            return Err(StoreError::Changed(target.clone()));
        }
        if self.output.replaced.is_some() {
            return rename_over(temp, target);
        }
        create(temp, target).map_err(|error| match error {
            StoreError::Io { path, source, .. } => StoreError::NotWritten { path, source },
            other => other,
        })?;
        sync_name(target)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Syncs the file, renames it to `target`, and syncs the directory. Because of this order, a power
/// cut cannot leave the new name without its bytes.
pub(crate) fn persist(temp: TempFile, target: &Path) -> Result<()> {
    temp.file.sync_all().or_not_written(target)?;
    rename_over(temp, target)
}

fn rename_over(temp: TempFile, target: &Path) -> Result<()> {
    rename(temp.path(), target).or_not_written(target)?;
    temp.keep();
    sync_name(target)
}

/// Gives a file the mode and owner of the file that it replaces. The new file is never readable by
/// more users than the old one was.
pub(crate) fn inherit(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    let mut mode = replaced.mode() & 0o777;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid())
        && fchown(file, Some(replaced.uid()), Some(replaced.gid())).is_err()
    {
        // The owner could not be set, so the permissions for "group" and "others" would apply to
        // different users than before.
        mode &= 0o700;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

/// The mark in the names of unfinished files, which have the form `.TARGET.ctx-tmp-…`.
const MARK: &str = ".ctx-tmp-";

/// The name of a file. Dropping this value removes the file, unless `keep` is set or the name now
/// belongs to another file.
#[derive(Debug)]
pub(crate) struct TempName {
    pub(crate) path: PathBuf,
    pub(crate) keep: bool,
    /// The device and inode number of the file that was created with this name.
    pub(crate) id: FileId,
}

impl Drop for TempName {
    fn drop(&mut self) {
        let remove = || {
            if file_id(&self.path)? == self.id {
                remove_file(&self.path)?;
            }
            Ok(())
        };
        if !self.keep
            && remove().is_err_and(|error: io::Error| error.kind() != io::ErrorKind::NotFound)
        {
            // A destructor cannot report this failure. The next run will try to remove the file
            // again.
            LEFT.store(true, Ordering::Relaxed);
        }
    }
}

/// True if this process could not remove one of its unfinished files.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether this process is leaving behind an unfinished file that the next run must remove.
pub(crate) fn is_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// An unfinished file. The file stays locked for as long as its writer lives, so that [`reap`] can
/// recognize a dead writer's file without guessing from its age or from process ids. Dropping this
/// value removes the file, unless [`TempFile::keep`] was called.
#[derive(Debug)]
pub(crate) struct TempFile {
    // This field must be dropped before the file is closed, because another file can get the same
    // inode number once the file is closed.
    pub(crate) name: TempName,
    pub(crate) file: File,
}

impl TempFile {
    /// Removes unfinished files that killed runs left next to `target`, and creates an unfinished
    /// file there.
    pub(crate) fn beside(target: &Path, mode: u32) -> io::Result<Self> {
        let name = target.file_name();
        let name = name.ok_or_else(|| io::Error::other("it names no file"))?;
        reap_beside(target);
        Self::create(parent(target), name, mode)
    }

    /// Creates the file `.STEM.ctx-tmp-…` in `dir`. Its permissions are `mode` without the bits in
    /// the umask.
    pub(crate) fn create(dir: &Path, stem: &OsStr, mode: u32) -> io::Result<Self> {
        loop {
            // Use a name that no file has had before. Another run might otherwise remove the new
            // file when it means to remove an old one with the same name.
            let path = dir.join(marked(stem, MARK, &never_used()));
            let opened = careful().write(true).create_new(true).mode(mode).open(&path);
            let file = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Ignore the failure on a file system without locks: there, no other run can lock the
            // file in order to remove it.
            let _ = try_lock(&file, PATIENCE);
            let meta = file.metadata();
            let meta = meta.inspect_err(|_| LEFT.store(true, Ordering::Relaxed))?;
            let name = TempName { path, keep: false, id: id_of(&meta) };
            // Another run may have removed the file after it was opened and before it was locked.
            if meta.nlink() > 0 {
                return Ok(Self { name, file });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.name.path
    }

    /// Makes the file read-only for its owner, and syncs it.
    pub(crate) fn seal(&self) -> Result<()> {
        let mode = self.file.set_permissions(Permissions::from_mode(0o400));
        mode.or_cannot("change the mode of", self.path())?;
        self.file.sync_all().or_cannot("sync", self.path())
    }

    /// Returns the open file without removing its name. Intended for a file that has been renamed,
    /// or whose name is no longer ours.
    pub(crate) fn keep(mut self) -> File {
        self.name.keep = true;
        self.file
    }
}

impl Write for TempFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Builds a file name from a dot, `stem`, `mark` and `end`.
pub(crate) fn marked(stem: &OsStr, mark: &str, end: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(OsStr::from_bytes(short(stem)));
    name.push(mark);
    name.push(end);
    name
}

/// Returns a suffix that no file name has had before.
pub(crate) fn never_used() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{nanos:x}-{count}", std::process::id())
}

/// Cuts a target's name to 180 bytes, so that it still fits into 255 bytes with the mark added. A
/// character is not cut.
fn short(stem: &OsStr) -> &[u8] {
    let bytes = stem.as_bytes();
    let is_within = |at: &usize| bytes.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    let end = (0..=bytes.len().min(180)).rev().find(|at| !is_within(at));
    &bytes[..end.unwrap_or_default()]
}

/// Removes the unfinished files that dead writers left in `dir`, and returns how many were removed.
/// Files that cannot be opened or removed are left for a later run.
pub(crate) fn reap(dir: &Path) -> usize {
    reap_those(dir, |_| true)
}

/// Like [`reap`], but removes only unfinished files for the given targets.
pub(crate) fn reap_all(dir: &Path, targets: &HashSet<OsString>) -> usize {
    let stems: HashSet<&[u8]> = targets.iter().map(|name| short(name)).collect();
    reap_those(dir, |stem| stems.contains(stem))
}

/// Removes the unfinished files next to `target` whose writers are dead.
pub(crate) fn reap_beside(target: &Path) -> usize {
    reap_those(parent(target), |stem| stem == short(target.file_name().unwrap_or_default()))
}

fn reap_those(dir: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> usize {
    let names = Entries::of(dir).into_iter().flatten().flatten();
    names
        .filter(|name| parts(name, MARK).is_some_and(|(stem, _)| is_wanted(stem)))
        .map(|name| dir.join(name))
        .filter(|path| abandoned(path).is_some_and(|_locked| remove_file(path).is_ok()))
        .count()
}

/// Splits a name built by [`marked`] into the parts before and after the mark. The first part is
/// the target's name, cut off if it is long.
fn parts<'a>(name: &'a OsStr, mark: &str) -> Option<(&'a [u8], &'a [u8])> {
    let rest = name.as_bytes().strip_prefix(b".")?;
    let at = memmem::rfind(rest, mark.as_bytes())?;
    Some((&rest[..at], &rest[at + mark.len()..]))
}

/// Returns the paths in `dir` whose names have the form that [`marked`] builds from `stem`, each
/// with the text after the mark.
pub(crate) fn retained_in(dir: &Path, stem: &OsStr) -> io::Result<Vec<(PathBuf, String)>> {
    let is_of = |name: &OsString| {
        let (_, end) = parts(name, RETAINED).filter(|(before, _)| *before == short(stem))?;
        Some((dir.join(name), String::from_utf8_lossy(end).into_owned()))
    };
    Entries::of(dir)?.filter_map(|name| name.map(|name| is_of(&name)).transpose()).collect()
}

/// Opens and locks a file, unless its writer is still alive. The caller must hold the lock until it
/// has removed the file. A writer that is waiting for the lock in [`TempFile::create`] then sees
/// that its file is gone, and creates another one.
fn abandoned(path: &Path) -> Option<File> {
    let file = open_plain(path).ok()?;
    try_lock(&file, Duration::ZERO).is_ok().then_some(file)
}

#[cfg(test)]
mod rename_tests {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;
    use std::path::Path;

    use super::{create, take_the_place};
    use crate::StoreError;
    use crate::fs::atomic::TempFile;

    #[test]
    fn a_name_that_is_taken_is_not_given_again() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x");
        for first in [true, false] {
            let mut temp = TempFile::create(dir.path(), OsStr::new("x"), 0o600).expect("a file");
            temp.write_all(if first { b"1" } else { b"2" }).expect("written");
            let done = create(temp, &path);
            assert_eq!(done.is_ok(), first);
            assert!(first || matches!(done, Err(StoreError::Changed(_))));
        }
        assert_eq!(fs::read(&path).expect("reads"), b"1");
        assert_eq!(fs::read_dir(dir.path()).expect("reads").count(), 1);
    }

    /// Creates an unfinished file next to `x`.
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
            take_the_place(&mut temp.name, aside.clone(), &path, is_expected, taken_out)
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

#[cfg(test)]
mod atomic_tests {
    use super::{AtomicFile, OutputTarget};
    use crate::{Severity, StoreError};
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    fn file_names(dir: &Path) -> Vec<PathBuf> {
        fs::read_dir(dir)
            .expect("reads")
            .map(|entry| entry.expect("an entry").file_name().into())
            .collect()
    }

    fn create(target: &Path) -> Result<AtomicFile, StoreError> {
        OutputTarget::look(target).and_then(AtomicFile::create)
    }

    #[test]
    fn nothing_is_seen_before_the_commit_and_nothing_stays_without_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let target = dir.path().join("out");
        fs::write(&target, "old").expect("writes");
        let mut file = create(&target).expect("creates");
        file.write_all(&vec![b'x'; 300_000]).expect("writes");
        assert_eq!(fs::read(&target).expect("reads"), b"old");
        drop(file);
        assert_eq!(file_names(dir.path()), [PathBuf::from("out")]);

        let mut file = create(&target).expect("creates");
        file.write_all(b"new").expect("writes");
        file.commit().expect("commits");
        assert_eq!(fs::read(&target).expect("reads"), b"new");
        assert_eq!(file_names(dir.path()), [PathBuf::from("out")]);
    }

    /// Another process creates or replaces the target while we write the new version.
    #[test]
    fn what_came_to_its_place_meanwhile_stays() {
        type Act = fn(&Path);
        let acts: [(&str, bool, Act); 4] = [
            ("created", false, |target| {
                fs::write(target, "theirs").expect("writes");
            }),
            ("replaced", true, |target| {
                let beside = target.with_extension("theirs");
                fs::write(&beside, "theirs").expect("writes");
                fs::rename(&beside, target).expect("renames");
            }),
            ("written over", true, |target| {
                fs::write(target, "theirs").expect("writes");
            }),
            ("linked", false, |target| {
                let beside = target.with_extension("theirs");
                fs::write(&beside, "theirs").expect("writes");
                symlink(&beside, target).expect("links");
            }),
        ];
        for (what, was_there, act) in acts {
            let dir = tempfile::tempdir().expect("a folder");
            let target = dir.path().join("out");
            if was_there {
                fs::write(&target, "old").expect("writes");
            }
            // The target is checked before the input is read, and the temporary file is created
            // afterwards.
            let output = OutputTarget::look(&target).expect("a output");
            act(&target);
            let mut file = AtomicFile::create(output).expect("creates");
            file.write_all(b"new").expect("writes");
            let error = file.commit().expect_err(what);
            assert!(matches!(error, StoreError::Changed(_)), "{what}: {error}");
            assert_eq!(fs::read(&target).expect("reads"), b"theirs", "{what}");
            let unfinished = file_names(dir.path())
                .into_iter()
                .filter(|name| name.to_string_lossy().contains(".ctx-"));
            assert_eq!(unfinished.count(), 0, "{what}");
        }
    }

    #[test]
    fn a_link_that_leads_nowhere_gives_way() {
        let dir = tempfile::tempdir().expect("a folder");
        let link = dir.path().join("link");
        symlink("nowhere", &link).expect("links");
        let mut file = create(&link).expect("creates");
        file.write_all(b"new").expect("writes");
        file.commit().expect("commits");
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&link).expect("reads"), b"new");
    }

    #[test]
    fn the_mode_of_the_replaced_file_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let target = dir.path().join("out");
        fs::write(&target, "old").expect("writes");
        fs::set_permissions(&target, Permissions::from_mode(0o640)).expect("chmod");
        create(&target).and_then(AtomicFile::commit).expect("commits");
        let mode = fs::metadata(&target).expect("stat").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }

    #[test]
    fn a_link_stays_a_link() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("real")).expect("mkdir");
        let real = dir.path().join("real/out");
        fs::write(&real, "old").expect("writes");
        let link = dir.path().join("link");
        symlink("real/out", &link).expect("links");
        let mut file = create(&link).expect("creates");
        file.write_all(b"new").expect("writes");
        file.commit().expect("commits");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).expect("reads"), b"new");
    }

    #[test]
    fn devices_directories_and_missing_parents_are_refused() {
        for (path, why) in [
            ("/dev/null", "it is not a regular file"),
            ("/", "it is not a regular file"),
            ("/no/such/out", "No such file or directory (os error 2)"),
        ] {
            let error = create(Path::new(path)).expect_err(path);
            assert_eq!(error.severity(), Severity::Failed);
            assert_eq!(
                error.to_string(),
                format!("cannot write {path}: {why}; nothing was changed")
            );
        }
    }

    #[test]
    fn what_a_killed_run_left_is_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(".out.ctx-tmp-1-2-3"), "half").expect("writes");
        create(&dir.path().join("out")).and_then(AtomicFile::commit).expect("commits");
        assert_eq!(file_names(dir.path()), [PathBuf::from("out")]);
    }
}

#[cfg(test)]
mod temp_tests {
    use super::{TempFile, reap, reap_beside};
    use std::ffi::OsStr;
    use std::fs;

    #[test]
    fn dropped_means_removed() {
        let dir = tempfile::tempdir().expect("a folder");
        let temp = TempFile::create(dir.path(), OsStr::new("a"), 0o600).expect("creates");
        assert!(temp.path().exists());
        let path = temp.path().to_owned();
        drop(temp);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_files_of_dead_writers_are_reaped() {
        let dir = tempfile::tempdir().expect("a folder");
        let living = TempFile::create(dir.path(), OsStr::new("a"), 0o600).expect("creates");
        for name in [".a.ctx-tmp-1-2-3", ".b.ctx-tmp-1-2-3", "a.ctx-tmp-1", ".a"] {
            fs::write(dir.path().join(name), "x").expect("writes");
        }
        assert_eq!(reap_beside(&dir.path().join("a")), 1);
        assert!(living.path().exists());
        assert!(dir.path().join(".b.ctx-tmp-1-2-3").exists());
        assert_eq!(reap(dir.path()), 1);
        assert!(dir.path().join("a.ctx-tmp-1").exists());
        assert!(dir.path().join(".a").exists());
    }

    #[test]
    fn a_long_target_name_leaves_room_for_the_mark() {
        let dir = tempfile::tempdir().expect("a folder");
        let name = "n".repeat(255);
        let temp = TempFile::create(dir.path(), OsStr::new(&name), 0o600).expect("creates");
        let path = temp.path().to_owned();
        drop(temp);
        fs::write(&path, "left by a killed run").expect("writes");
        assert_eq!(reap_beside(&dir.path().join(&name)), 1);
    }
}
