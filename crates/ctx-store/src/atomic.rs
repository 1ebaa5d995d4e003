//! Files that appear whole or not at all: written beside their target, flushed
//! to the disk, renamed over it.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use crate::error::{Naming, StoreError};
use crate::files::sync_name;
use crate::temp::TempFile;

/// How many bytes are gathered before they are written.
const BUFFER: usize = 128 * 1024;

/// A file to be written whole or not at all.
///
/// Until [`AtomicFile::commit`] the target is untouched; a value dropped before
/// that removes what it wrote. What a killed run left beside the same target is
/// removed by the next [`AtomicFile::create`].
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<TempFile>,
    target: PathBuf,
    /// The file that is replaced: its mode and owner are taken over.
    replaced: Option<fs::Metadata>,
}

impl AtomicFile {
    /// Begins a file that will stand at `target`. A symbolic link is followed:
    /// the file it names is replaced, not the link.
    pub fn create(target: &Path) -> Result<Self, StoreError> {
        Self::begin(target).not_written(target)
    }

    fn begin(target: &Path) -> io::Result<Self> {
        let (target, replaced) = match fs::metadata(target) {
            Ok(meta) if meta.is_file() => (fs::canonicalize(target)?, Some(meta)),
            Ok(_) => return Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (target.to_owned(), None),
            Err(error) => return Err(error),
        };
        // A new file gets the mode that a shell would give it. A replacement is private until
        // it takes over the mode of the old file.
        let mode = if replaced.is_some() { 0o600 } else { 0o666 };
        Ok(Self {
            writer: BufWriter::with_capacity(BUFFER, TempFile::beside(&target, mode)?),
            target,
            replaced,
        })
    }

    /// Where the file will stand.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Flush, fsync, rename, fsync of the directory.
    pub fn commit(mut self) -> Result<(), StoreError> {
        self.writer.flush().not_written(&self.target)?;
        let (temp, _) = self.writer.into_parts();
        if let Some(replaced) = &self.replaced {
            inherit(&temp.file, replaced).not_written(&self.target)?;
        }
        persist(temp, &self.target)
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
    let synced = temp.file.sync_all();
    let renamed = synced.and_then(|()| fs::rename(temp.path(), target));
    renamed.not_written(target)?;
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
    use super::AtomicFile;
    use crate::Severity;
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

    #[test]
    fn nothing_is_seen_before_the_commit_and_nothing_stays_without_it() {
        let dir = tempfile::tempdir().expect("a folder");
        let target = dir.path().join("out");
        fs::write(&target, "old").expect("writes");
        let mut file = AtomicFile::create(&target).expect("creates");
        file.write_all(&vec![b'x'; 300_000]).expect("writes");
        assert_eq!(fs::read(&target).expect("reads"), b"old");
        drop(file);
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);

        let mut file = AtomicFile::create(&target).expect("creates");
        file.write_all(b"new").expect("writes");
        file.commit().expect("commits");
        assert_eq!(fs::read(&target).expect("reads"), b"new");
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);
    }

    #[test]
    fn the_mode_of_the_replaced_file_stays() {
        let dir = tempfile::tempdir().expect("a folder");
        let target = dir.path().join("out");
        fs::write(&target, "old").expect("writes");
        fs::set_permissions(&target, Permissions::from_mode(0o640)).expect("chmod");
        AtomicFile::create(&target)
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
        let mut file = AtomicFile::create(&link).expect("creates");
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
            let error = AtomicFile::create(Path::new(path)).expect_err(path);
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
        AtomicFile::create(&dir.path().join("out"))
            .and_then(AtomicFile::commit)
            .expect("commits");
        assert_eq!(names(dir.path()), [PathBuf::from("out")]);
    }
}
