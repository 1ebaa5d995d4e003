//! Temporary files. Their names show whether their writer is dead, so that they can be removed.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use memchr::memmem;

use crate::fs::folder::Entries;
use crate::fs::{FileId, careful, file_id, id_of, lock, open_plain, parent, try_lock};

/// The mark in the names of unfinished files, after a dot and the target's name.
const MARK: &str = ".ctx-tmp-";

/// A name of a file, which is removed when this is dropped, unless `keep` is set, or the
/// name is another file's by then.
#[derive(Debug)]
pub(crate) struct TempName {
    pub(crate) path: PathBuf,
    pub(crate) keep: bool,
    /// The file that has the name.
    pub(crate) id: FileId,
}

impl Drop for TempName {
    fn drop(&mut self) {
        let remove = || {
            if file_id(&self.path)? == self.id {
                fs::remove_file(&self.path)?;
            }
            Ok(())
        };
        if !self.keep
            && remove().is_err_and(|error: io::Error| error.kind() != io::ErrorKind::NotFound)
        {
            // There is nowhere to report this; the next run tries again.
            LEFT.store(true, Ordering::Relaxed);
        }
    }
}

/// Whether this process could not remove one of its unfinished files.
static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether something of this process stays that the next run has to look for.
pub(crate) fn is_left() -> bool {
    LEFT.load(Ordering::Relaxed)
}

/// An unfinished file. It holds the kernel's lock on it as long as its writer
/// lives, so [`reap`] can tell a dead writer's file without guessing from age
/// or process ids. Dropped without [`TempFile::keep`], it is removed.
#[derive(Debug)]
pub(crate) struct TempFile {
    // Dropped before the file is closed: until then no other file gets its number.
    pub(crate) name: TempName,
    pub(crate) file: File,
}

impl TempFile {
    /// Creates a file next to `target` and removes what killed runs left there.
    pub(crate) fn beside(target: &Path, mode: u32) -> io::Result<Self> {
        let name = target.file_name();
        let name = name.ok_or_else(|| io::Error::other("it names no file"))?;
        reap_beside(target);
        Self::create(parent(target), name, mode)
    }

    /// A new file `.STEM.ctx-tmp-…` in `dir`, of at most `mode` less the umask.
    pub(crate) fn create(dir: &Path, stem: &OsStr, mode: u32) -> io::Result<Self> {
        loop {
            // A name that was never used before: a reaper that has read an old one must not find a
            // new file under it.
            let path = dir.join(marked(stem, MARK, &never_used()));
            let opened = careful().write(true).create_new(true).mode(mode).open(&path);
            let file = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // On a file system without locks, nothing is removed either.
            let _ = lock(&file);
            let meta = file.metadata();
            let meta = meta.inspect_err(|_| LEFT.store(true, Ordering::Relaxed))?;
            let name = TempName { path, keep: false, id: id_of(&meta) };
            // A reaper may have come between open and lock.
            if meta.nlink() > 0 {
                return Ok(Self { name, file });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.name.path
    }

    /// The file; its name here is not removed, because it was renamed, or is not ours now.
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

/// `.STEM` with a mark and what follows it.
pub(crate) fn marked(stem: &OsStr, mark: &str, end: &str) -> OsString {
    let mut name = OsString::from(".");
    name.push(OsStr::from_bytes(short(stem)));
    name.push(mark);
    name.push(end);
    name
}

/// A suffix that no file name has had before.
pub(crate) fn never_used() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{}-{nanos:x}-{count}", std::process::id())
}

/// The first 180 bytes of a target's name: with the mark, a name may have 255.
fn short(stem: &OsStr) -> &[u8] {
    let bytes = stem.as_bytes();
    &bytes[..bytes.len().min(180)]
}

/// Removes unfinished files of dead writers in `dir`, of one target or of all;
/// returns how many. What cannot be opened or removed is left for a later run.
pub(crate) fn reap(dir: &Path, stem: Option<&OsStr>) -> usize {
    let is_of = |target: &[u8]| stem.is_none_or(|stem| short(stem) == target);
    reap_those(dir, is_of)
}

/// The same of several targets, in one look at the folder.
pub(crate) fn reap_all(dir: &Path, stems: &HashSet<OsString>) -> usize {
    let stems: HashSet<&[u8]> = stems.iter().map(|stem| short(stem)).collect();
    reap_those(dir, |target| stems.contains(target))
}

fn reap_those(dir: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> usize {
    let Ok(entries) = Entries::of(dir) else {
        return 0;
    };
    entries
        .flatten()
        .filter(|name| parts(name, MARK).is_some_and(|(target, _)| is_wanted(target)))
        .map(|name| dir.join(name))
        .filter(|path| abandoned(path).is_some_and(|_locked| fs::remove_file(path).is_ok()))
        .count()
}

/// Removes what dead writers of `target` left next to it.
pub(crate) fn reap_beside(target: &Path) {
    if let Some(name) = target.file_name() {
        reap(parent(target), Some(name));
    }
}

/// The parts of a name before and after the mark of [`marked`]: the first one is the name of the
/// target, or the beginning of it.
fn parts<'a>(name: &'a OsStr, mark: &str) -> Option<(&'a [u8], &'a [u8])> {
    let rest = name.as_bytes().strip_prefix(b".")?;
    let at = memmem::rfind(rest, mark.as_bytes())?;
    Some((&rest[..at], &rest[at + mark.len()..]))
}

/// The paths in `dir` whose names [`marked`] made of `stem`, each with its end.
pub(crate) fn marked_in(
    dir: &Path,
    stem: &OsStr,
    mark: &str,
) -> io::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for name in Entries::of(dir)? {
        let name = name?;
        if let Some((before, end)) = parts(&name, mark)
            && before == short(stem)
        {
            found.push((dir.join(&name), String::from_utf8_lossy(end).into_owned()));
        }
    }
    Ok(found)
}

/// The locked file, unless it has a writer. Keep the lock until after the removal: a writer that
/// waits for it in [`TempFile::create`] then sees that its file is gone and starts again.
fn abandoned(path: &Path) -> Option<File> {
    let file = open_plain(path).ok()?;
    try_lock(&file).is_ok().then_some(file)
}

#[cfg(test)]
mod tests {
    use super::{TempFile, reap};
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
        assert_eq!(reap(dir.path(), Some(OsStr::new("a"))), 1);
        assert!(living.path().exists());
        assert!(dir.path().join(".b.ctx-tmp-1-2-3").exists());
        assert_eq!(reap(dir.path(), None), 1);
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
        assert_eq!(reap(dir.path(), Some(OsStr::new(&name))), 1);
    }
}
