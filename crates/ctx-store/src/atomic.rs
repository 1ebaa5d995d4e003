//! Files that appear whole or not at all: written beside their target, flushed
//! to the disk, renamed over it, unless somebody else was there meanwhile.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::files::{if_there, is_unchanged, sync_name};
use crate::rename;
use crate::temp::TempFile;

/// How many bytes are gathered before they are written.
const BUFFER: usize = 128 * 1024;

/// Where a file will stand, and what was there at the look.
#[derive(Debug)]
pub struct Spot {
    target: PathBuf,
    /// A file, whose mode and owner are taken over, or a link that leads nowhere.
    replaced: Option<fs::Metadata>,
}

impl Spot {
    /// Looks at `target`. A symbolic link is followed: the file it names will be replaced,
    /// not the link.
    pub fn look(target: &Path) -> Result<Self, StoreError> {
        let look = || match fs::metadata(target) {
            Ok(meta) if meta.is_file() => Ok((fs::canonicalize(target)?, Some(meta))),
            Ok(_) => Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok((target.to_owned(), fs::symlink_metadata(target).ok()))
            }
            Err(error) => Err(error),
        };
        let (target, replaced) = look().not_written(target)?;
        Ok(Self { target, replaced })
    }

    /// The file that was there.
    pub fn file(&self) -> Option<&fs::Metadata> {
        self.replaced.as_ref().filter(|replaced| replaced.is_file())
    }

    /// Whether what is there now is what was there at the look.
    fn is_as_seen(&self) -> Result<bool, StoreError> {
        let now = if_there(fs::symlink_metadata(&self.target).naming("read", &self.target))?;
        Ok(match (&now, &self.replaced) {
            (Some(now), Some(then)) => is_unchanged(now, then),
            (now, then) => now.is_none() && then.is_none(),
        })
    }
}

/// A file to be written whole or not at all.
///
/// Until [`AtomicFile::commit`] the target is untouched; a value dropped before
/// that removes what it wrote. What a killed run left beside the same target is
/// removed by the next [`AtomicFile::create`].
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<TempFile>,
    spot: Spot,
}

impl AtomicFile {
    /// Begins a file that will stand at a spot.
    pub fn create(spot: Spot) -> Result<Self, StoreError> {
        // A new file gets the mode that a shell would give it. A replacement is private until
        // it takes over the mode of the old file.
        let mode = spot.file().map_or(0o666, |_| 0o600);
        let temp = TempFile::beside(&spot.target, mode).not_written(&spot.target)?;
        let writer = BufWriter::with_capacity(BUFFER, temp);
        Ok(Self { writer, spot })
    }

    /// Where the file will stand.
    pub fn target(&self) -> &Path {
        &self.spot.target
    }

    /// Flush, fsync, rename, fsync of the directory. What somebody else has put there or
    /// changed since the look stays, and the new file goes.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let target = &self.spot.target;
        self.writer.flush().not_written(target)?;
        let (temp, _) = self.writer.into_parts();
        if let Some(replaced) = self.spot.file() {
            inherit(&temp.file, replaced).not_written(target)?;
        }
        temp.file.sync_all().not_written(target)?;
        // Of what is there, nothing sees a change between this look and the rename.
        if !self.spot.is_as_seen()? {
            return Err(StoreError::Changed(target.clone()));
        }
        if self.spot.replaced.is_some() {
            return rename_over(temp, target);
        }
        rename::create(temp, target).map_err(|error| match error {
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

/// fsync, rename over `target`, fsync of the directory.
pub(crate) fn persist(temp: TempFile, target: &Path) -> Result<(), StoreError> {
    temp.file.sync_all().not_written(target)?;
    rename_over(temp, target)
}

fn rename_over(temp: TempFile, target: &Path) -> Result<(), StoreError> {
    fs::rename(temp.path(), target).not_written(target)?;
    temp.keep();
    sync_name(target)
}

/// Gives a file the mode and owner of the one that it replaces; it is never readable by more
/// users than that one was.
pub(crate) fn inherit(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    let mut mode = replaced.mode() & 0o777;
    if (own.uid(), own.gid()) != (replaced.uid(), replaced.gid())
        && fchown(file, Some(replaced.uid()), Some(replaced.gid())).is_err()
    {
        // With another owner, "group" and "others" would be other people.
        mode &= 0o700;
    }
    file.set_permissions(Permissions::from_mode(mode))
}

#[cfg(test)]
mod tests {
    use super::{AtomicFile, Spot};
    use crate::{Severity, StoreError};
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    fn names(dir: &Path) -> Vec<PathBuf> {
        fs::read_dir(dir)
            .expect("reads")
            .map(|entry| entry.expect("an entry").file_name().into())
            .collect()
    }

    fn create(target: &Path) -> Result<AtomicFile, StoreError> {
        Spot::look(target).and_then(AtomicFile::create)
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
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);

        let mut file = create(&target).expect("creates");
        file.write_all(b"new").expect("writes");
        file.commit().expect("commits");
        assert_eq!(fs::read(&target).expect("reads"), b"new");
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);
    }

    /// D1: an agent begins its session where the output will be, or writes another one there.
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
            // The look is taken before the input is read, the file is begun after it.
            let spot = Spot::look(&target).expect("a spot");
            act(&target);
            let mut file = AtomicFile::create(spot).expect("creates");
            file.write_all(b"new").expect("writes");
            let error = file.commit().expect_err(what);
            assert!(matches!(error, StoreError::Changed(_)), "{what}: {error}");
            assert_eq!(fs::read(&target).expect("reads"), b"theirs", "{what}");
            let unfinished = names(dir.path())
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
        create(&target)
            .and_then(AtomicFile::commit)
            .expect("commits");
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
        create(&dir.path().join("out"))
            .and_then(AtomicFile::commit)
            .expect("commits");
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);
    }
}
