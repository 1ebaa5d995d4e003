//! Files that people edit too: lines are added to them, and no edit is lost.
//!
//! The tools lock the folder against each other. An editor takes no lock, so at
//! the commit the two versions change places in one step, and only then is
//! looked at what was there: when it is not what was read, they change back.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::atomic::{AtomicError, inherit, sync_dir};
use crate::error::{Naming, StoreError};
use crate::store::make_dirs;
use crate::temp::{self, TempFile};

/// How long a run waits for another one, which holds the folder for milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder of such files, locked against other runs of the tools.
#[derive(Debug)]
pub struct SharedFolder {
    dir: PathBuf,
    _lock: File,
}

/// One file of it, as it was read.
#[derive(Debug)]
pub struct SharedFile {
    path: PathBuf,
    old: Vec<u8>,
    meta: Option<fs::Metadata>,
}

/// A file whose new version lies beside it.
#[derive(Debug)]
pub struct StagedFile {
    file: SharedFile,
    temp: TempFile,
}

impl SharedFolder {
    /// Creates the folder if need be, and locks it.
    pub fn lock(dir: &Path) -> Result<Self, StoreError> {
        make_dirs(dir)?;
        // The folder itself carries the lock: no file of ours lies among the user's.
        let lock = File::open(dir).naming("open", dir)?;
        let begun = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(TryLockError::WouldBlock) => {
                    let why = format!("{} is being changed by another run", dir.display());
                    return Err(StoreError::Busy(why));
                }
                Err(TryLockError::Error(error)) => return Err(error).naming("lock", dir),
            }
        }
        Ok(Self {
            dir: dir.to_owned(),
            _lock: lock,
        })
    }

    /// Reads a file; one that is not there is empty. What is no regular file is
    /// refused, and so is a link: it may lead out of the folder.
    pub fn read(&self, name: &str) -> Result<SharedFile, StoreError> {
        temp::reap(&self.dir, Some(OsStr::new(name)));
        let path = self.dir.join(name);
        match read(&path) {
            Ok((old, meta)) => Ok(SharedFile {
                path,
                old,
                meta: Some(meta),
            }),
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(SharedFile {
                    path,
                    old: Vec::new(),
                    meta: None,
                })
            }
            Err(error) => Err(error),
        }
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, fs::Metadata), StoreError> {
    let refused = |why| StoreError::Refused {
        path: path.to_owned(),
        why,
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let mut file = match opened {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(refused("is a symbolic link"));
        }
        other => other.naming("open", path)?,
    };
    let meta = file.metadata().naming("read", path)?;
    if !meta.is_file() {
        return Err(refused("is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).naming("read", path)?;
    Ok((bytes, meta))
}

impl SharedFile {
    /// What stands in it.
    pub fn bytes(&self) -> &[u8] {
        &self.old
    }

    /// Where it stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds `more` at its end: [`Self::stage`] and [`StagedFile::commit`].
    pub fn append(self, more: &[u8]) -> Result<(), StoreError> {
        self.stage(more)?.commit()
    }

    /// Writes the file with `more` at its end beside it, durably. What can fail
    /// for lack of space fails here, before anything is replaced.
    pub fn stage(self, more: &[u8]) -> Result<StagedFile, StoreError> {
        let dir = crate::atomic::parent(&self.path);
        let name = self.path.file_name().unwrap_or_default();
        // Words of a session: private, until their owner says otherwise.
        let mut temp = TempFile::create(dir, name, 0o600).naming("create", &self.path)?;
        temp.write_all(&self.old)
            .and_then(|()| temp.write_all(more))
            .and_then(|()| match &self.meta {
                Some(meta) => inherit(temp.file(), meta),
                None => Ok(()),
            })
            .and_then(|()| temp.file().sync_all())
            .map_err(|source| AtomicError::Unchanged {
                path: self.path.clone(),
                source,
            })?;
        Ok(StagedFile { file: self, temp })
    }

    fn is_as_read(&self, path: &Path, meta: &fs::Metadata) -> bool {
        read(path).is_ok_and(|(bytes, now)| {
            (now.dev(), now.ino()) == (meta.dev(), meta.ino()) && bytes == self.old
        })
    }
}

impl StagedFile {
    /// Puts the new version in place. When somebody changed the file since it
    /// was read, that is an error and the file is theirs.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { file, temp } = self;
        let path = &file.path;
        match &file.meta {
            None => create(path, temp)?,
            Some(meta) => exchange(&file, &temp, meta)?,
        }
        sync_dir(crate::atomic::parent(path)).map_err(|source| {
            StoreError::from(AtomicError::Uncertain {
                path: path.clone(),
                source,
            })
        })
    }
}

fn create(path: &Path, temp: TempFile) -> Result<(), StoreError> {
    match renameat_with(CWD, temp.path(), CWD, path, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(changed(path)),
        Err(Errno::INVAL | Errno::NOSYS) if !path.exists() => {
            fs::rename(temp.path(), path).naming("create", path)?;
        }
        Err(error) => return Err(io::Error::from(error)).naming("create", path),
    }
    drop(temp.into_file());
    Ok(())
}

/// After the exchange the old version lies under the temporary name, and goes
/// with it.
fn exchange(file: &SharedFile, temp: &TempFile, meta: &fs::Metadata) -> Result<(), StoreError> {
    let path = &file.path;
    let swap = || renameat_with(CWD, temp.path(), CWD, path, RenameFlags::EXCHANGE);
    match swap() {
        Ok(()) if file.is_as_read(temp.path(), meta) => Ok(()),
        Ok(()) => {
            swap().map_err(io::Error::from).naming("put back", path)?;
            Err(changed(path))
        }
        // It was removed meanwhile.
        Err(Errno::NOENT) => Err(changed(path)),
        // A file system that cannot exchange: look first, then replace.
        Err(Errno::INVAL | Errno::NOSYS) => {
            if !file.is_as_read(path, meta) {
                return Err(changed(path));
            }
            fs::rename(temp.path(), path).naming("replace", path)
        }
        Err(error) => Err(io::Error::from(error)).naming("replace", path),
    }
}

fn changed(path: &Path) -> StoreError {
    StoreError::Changed(path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::SharedFolder;
    use crate::{Severity, StoreError};

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .expect("a folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect();
        names.sort();
        names
    }

    fn content(path: &Path) -> Option<(Option<PathBuf>, Vec<u8>)> {
        path.symlink_metadata().ok()?;
        Some((fs::read_link(path).ok(), fs::read(path).unwrap_or_default()))
    }

    #[test]
    fn a_file_appears_and_grows() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = SharedFolder::lock(&dir.path().join("a/b")).expect("a lock");
        folder
            .read("x.md")
            .expect("none")
            .append(b"one\n")
            .expect("written");
        let path = dir.path().join("a/b/x.md");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        folder
            .read("x.md")
            .expect("one")
            .append(b"two\n")
            .expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"one\ntwo\n");
        assert_eq!(path.metadata().expect("a file").mode() & 0o777, 0o640);
        assert_eq!(names(&dir.path().join("a/b")), ["x.md"]);
    }

    #[test]
    fn an_edit_meanwhile_wins() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("x.md");
        let edits: [(&str, &dyn Fn()); 4] = [
            ("in place", &|| fs::write(&path, "mine\n").expect("written")),
            ("replaced", &|| {
                fs::write(dir.path().join("y"), "old\n").expect("written");
                fs::rename(dir.path().join("y"), &path).expect("renamed");
            }),
            ("removed", &|| fs::remove_file(&path).expect("removed")),
            ("made a link", &|| {
                fs::remove_file(&path).expect("removed");
                symlink("elsewhere", &path).expect("a link");
            }),
        ];
        for (what, edit) in edits {
            let _ = fs::remove_file(&path);
            fs::write(&path, "old\n").expect("written");
            let folder = SharedFolder::lock(dir.path()).expect("a lock");
            let file = folder.read("x.md").expect("a file");
            edit();
            let theirs = content(&path);
            let error = file.append(b"new\n").expect_err(what);
            assert_eq!(error.severity(), Severity::Busy, "{what}");
            assert_eq!(content(&path), theirs, "{what}");
            assert!(
                names(dir.path()).iter().all(|name| name == "x.md"),
                "{what}"
            );
        }
    }

    #[test]
    fn a_file_created_meanwhile_wins() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        let file = folder.read("x.md").expect("none");
        fs::write(dir.path().join("x.md"), "mine\n").expect("written");
        assert!(matches!(file.append(b"new\n"), Err(StoreError::Changed(_))));
        assert_eq!(
            fs::read(dir.path().join("x.md")).expect("a file"),
            b"mine\n"
        );
        assert_eq!(names(dir.path()), ["x.md"]);
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir(dir.path().join("folder")).expect("a folder");
        symlink("/etc/passwd", dir.path().join("link")).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            dir.path().join("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .expect("a FIFO");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        for name in ["folder", "link", "fifo"] {
            let error = folder.read(name).expect_err(name);
            assert!(
                matches!(error, StoreError::Refused { .. }),
                "{name}: {error}"
            );
        }
    }

    #[test]
    fn leftovers_of_a_killed_run_go() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(".x.md.ctx-tmp-1-2-3"), "half").expect("written");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        folder.read("x.md").expect("none");
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn one_run_at_a_time() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().to_owned();
        let runs: Vec<_> = (0..4)
            .map(|run| {
                let path = path.clone();
                std::thread::spawn(move || {
                    for turn in 0..10 {
                        let folder = SharedFolder::lock(&path).expect("a lock");
                        let line = format!("{run} {turn}\n");
                        folder
                            .read("x")
                            .expect("a file")
                            .append(line.as_bytes())
                            .expect("written");
                    }
                })
            })
            .collect();
        for run in runs {
            run.join().expect("no panic");
        }
        assert_eq!(
            fs::read_to_string(path.join("x"))
                .expect("a file")
                .lines()
                .count(),
            40
        );
    }
}
