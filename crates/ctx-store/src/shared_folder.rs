//! Changes files that people may edit at the same time, without losing their edits.
//!
//! A lock on the folder keeps out other runs of the tools, but an editor takes no lock. The old and
//! new versions of a file are therefore exchanged in one step, and the old version is checked
//! afterwards. If the old version differs from the one that was read, the two versions are
//! exchanged back.
//!
//! This module also keeps old versions of memory files that a consolidation replaces.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    PATIENCE, TempFile, create, file_names, hash, if_there, inherit, is_same_file, lock, make_dirs,
    marked, never_used, only_regular, open_careful, parent, reap, reap_beside, remove_file, rename,
    retained_in, sync_name, take_the_place,
};
use crate::id::TIME;
use crate::os::{Lease, keep_writers_out};
use crate::snapshot::meta::RETAINED;
use crate::store::Store;

/// A locked folder with files that people may edit. While the folder is locked, other runs of the
/// tools must wait.
#[derive(Debug)]
pub struct SharedFolder {
    dir: PathBuf,
    /// The folder where new versions are written, or `None` if they are written next to the files.
    staging: Option<PathBuf>,
    _lock: File,
}

/// A file in a [`SharedFolder`], with its content at the time of reading.
#[derive(Debug)]
pub struct SharedFile {
    path: PathBuf,
    /// The folder where new versions are written.
    dir: PathBuf,
    /// The content of the file.
    pub old: Vec<u8>,
    meta: Option<fs::Metadata>,
    /// The paths of other programs' versions that a killed run moved aside and did not restore.
    /// Versions that were moved aside are kept, because only their authors know whether they
    /// matter.
    pub edits: Vec<PathBuf>,
}

/// A file whose new version has been written but is not yet in place.
#[derive(Debug)]
pub struct StagedFile {
    file: SharedFile,
    temp: TempFile,
    /// The new content of the file.
    bytes: Vec<u8>,
}

impl Store {
    /// Locks a folder in the store. New versions of its files are written to `tmp/`. If new
    /// versions were written in the folder itself, the whole folder would have to be searched for
    /// unfinished files left by killed runs.
    pub fn shared_folder(&self, dir: &Path) -> Result<SharedFolder> {
        self.prepare()?;
        self.refuse_links(dir)?;
        let folder = SharedFolder::lock(dir)?;
        Ok(SharedFolder { staging: Some(self.tmp()), ..folder })
    }

    /// Returns the names of the shared files of which killed runs left versions in `tmp/`.
    pub fn unfinished_edits(&self) -> Result<BTreeSet<String>> {
        let stem = |name: String| Some(name.strip_prefix('.')?.split_once(RETAINED)?.0.to_owned());
        Ok(file_names(&self.tmp())?.into_iter().filter_map(stem).collect())
    }

    /// Saves a memory file's content as `history/STEM-TIME-SHA256.md`. This is necessary before the
    /// file is rewritten, but not before text is merely appended to it. Identical content is kept
    /// only once.
    pub fn keep_version(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let folder = self.memory().join(FOLDER);
        if is_kept(&folder, name, bytes) {
            return Ok(());
        }
        self.make_dirs(&folder)?;
        let time = self.now().format(TIME);
        let stem = name.trim_end_matches(".md");
        let path = folder.join(format!("{stem}-{time}{}", end(bytes)));
        let mut temp = self.temp(stem, 0o600)?;
        temp.write_all(bytes).or_not_written(&path)?;
        temp.file.sync_all().or_not_written(&path)?;
        // Nothing has been replaced yet, so a copy that may not survive a power cut is reported as
        // a failure.
        create(temp, &path).and_then(|()| sync_name(&path)).map_err(StoreError::before)
    }
}

impl SharedFolder {
    /// How many times to try to change a file that a person keeps editing.
    pub const TRIES: usize = 3;

    /// Locks the folder, and creates it if it does not exist.
    pub fn lock(dir: &Path) -> Result<Self> {
        make_dirs(dir)?;
        // Lock the folder itself, so that there is no lock file among the user's files.
        let folder = File::open(dir).or_cannot("open", dir)?;
        let busy = || format!("{} is being changed by another run", dir.display());
        lock(&folder, dir, PATIENCE, busy)?;
        Ok(Self { dir: dir.to_owned(), staging: None, _lock: folder })
    }

    /// Removes unfinished files that killed runs left in a folder.
    pub fn remove_unfinished(dir: &Path) {
        reap(dir);
    }

    /// Reads a file. A missing file counts as empty. Refuses anything but a regular file, because a
    /// link could lead out of the folder.
    pub fn read(&self, name: &str) -> Result<SharedFile> {
        let path = self.dir.join(name);
        if self.staging.is_none() {
            reap_beside(&path);
        }
        let (old, meta) = if_there(read(&path))?.unzip();
        let mut file = SharedFile {
            dir: self.staging.as_deref().unwrap_or(parent(&path)).to_owned(),
            path,
            old: old.unwrap_or_default(),
            meta,
            edits: Vec::new(),
        };
        file.edits = file.clean_up();
        Ok(file)
    }
}

fn read(path: &Path) -> Result<(Vec<u8>, fs::Metadata)> {
    let mut file = only_regular(open_careful(path), "open", path)?;
    let meta = file.metadata().or_cannot("read", path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).or_cannot("read", path)?;
    Ok((bytes, meta))
}

impl SharedFile {
    /// Returns the name of the file without its folder.
    pub fn name(&self) -> Cow<'_, str> {
        self.file_name().to_string_lossy()
    }

    /// Appends `more` to the file, using [`Self::stage`] and [`StagedFile::commit`].
    pub fn append(self, more: &[u8]) -> Result<()> {
        self.stage(more)?.commit()
    }

    /// Writes a new version of the file, with `more` at the end. The new version is flushed to
    /// disk, so that a full disk is noticed before anything is replaced.
    pub fn stage(self, more: &[u8]) -> Result<StagedFile> {
        let bytes = [&self.old, more].concat();
        self.stage_whole(bytes)
    }

    /// Writes a new version that need not begin with the old content.
    /// [`Store::keep_version`](crate::Store::keep_version) must have saved the old version, so that
    /// a later run can recognize it if this run is killed.
    pub fn stage_whole(self, bytes: Vec<u8>) -> Result<StagedFile> {
        // Make the file private, because it contains session text. If there is an old file, use its
        // mode.
        let temp = TempFile::create(&self.dir, self.file_name(), 0o600);
        let mut temp = temp.or_cannot("create", &self.path)?;
        temp.write_all(&bytes).or_not_written(&self.path)?;
        if let Some(meta) = &self.meta {
            inherit(&temp.file, meta).or_not_written(&self.path)?;
        }
        temp.file.sync_all().or_not_written(&self.path)?;
        Ok(StagedFile { file: self, temp, bytes })
    }

    /// Cleans up after a run that was killed in the middle of an exchange. Removes an old version
    /// whose bytes are also at the start of the file or in `history/`, and a new version that was
    /// never put in place. Returns the paths of all other versions, which an editor must have
    /// written.
    fn clean_up(&self) -> Vec<PathBuf> {
        let mut edits = Vec::new();
        // Leave unreadable files to a later run.
        for (aside, end) in retained_in(&self.dir, self.file_name()).unwrap_or_default() {
            let number = end.rsplit_once('-').and_then(|(_, ino)| ino.parse().ok());
            let is_known = read(&aside).is_ok_and(|(bytes, meta)| {
                // Copies of old versions are in `history/`, next to the file's folder.
                let is_kept =
                    || is_kept(&parent(&self.path).with_file_name(FOLDER), &self.name(), &bytes);
                self.old.starts_with(&bytes) || number == Some(meta.ino()) || is_kept()
            });
            if number.is_some() && is_known {
                let _ = remove_file(&aside);
            } else if number.is_some() {
                edits.push(aside);
            }
        }
        edits.sort();
        edits
    }

    fn file_name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }

    fn is_as_read(&self, path: &Path, meta: &fs::Metadata) -> bool {
        read(path).is_ok_and(|(bytes, now)| is_same_file(&now, meta) && bytes == self.old)
    }
}

impl StagedFile {
    /// Puts the new version in place. If another program has changed the file since it was read,
    /// the commit fails, and that program's version stays.
    pub fn commit(self) -> Result<()> {
        let Self { file, mut temp, bytes } = self;
        match &file.meta {
            None => create(temp, &file.path)?,
            Some(meta) => replace(&file, &mut temp, meta, &bytes)?,
        }
        sync_name(&file.path)
    }
}

/// Opens the file again. Fails with [`StoreError::Changed`] if the file is gone or is no longer a
/// regular file.
fn open_as_read(path: &Path) -> Result<File> {
    match if_there(only_regular(open_careful(path), "open", path)) {
        Ok(None) | Err(StoreError::Refused { .. }) => Err(StoreError::Changed(path.to_owned())),
        Ok(Some(file)) => Ok(file),
        Err(error) => Err(error),
    }
}

fn replace(
    file: &SharedFile,
    temp: &mut TempFile,
    meta: &fs::Metadata,
    bytes: &[u8],
) -> Result<()> {
    let path = &file.path;
    // Before the exchange, the new version is at this path; after the exchange, the old version is.
    // The path ends with the new version's inode number, so that a later run can tell which version
    // is there.
    let (_, ino) = temp.name.id;
    let end = format!("{}-{ino}", never_used());
    let aside = file.dir.join(marked(file.file_name(), RETAINED, &end));
    // Keep writers out of the old file, because anything written to it through an open handle would
    // be lost.
    let old = open_as_read(path)?;
    let alone = keep_writers_out(&old, path)?;
    let is_as_read = |found: &Path| {
        let somebody_comes = alone.as_ref().is_some_and(Lease::is_waited_for);
        file.is_as_read(found, meta) && !somebody_comes
    };
    match take_the_place(&mut temp.name, aside.clone(), path, is_as_read, |_| {}) {
        Ok(true) => {
            // Ignore a failure, because the next run will remove the old version.
            let _ = remove_file(&aside);
            Ok(())
        }
        // This file system cannot exchange names, so check the file first and then replace it.
        Ok(false) if !file.is_as_read(path, meta) => Err(StoreError::Changed(path.clone())),
        Ok(false) => rename(temp.path(), path).or_cannot("replace", path),
        Err(error) => {
            // Remove our file only if its content has not changed, because an editor may have
            // written to it while it was in place.
            if read(&aside).is_ok_and(|(found, _)| found == bytes) {
                let _ = remove_file(&aside);
            }
            Err(error)
        }
    }
}

/// The name of the folder for old versions, next to the folders that contain the files.
const FOLDER: &str = "history";
/// How many hex digits of the sha256 appear in an old version's file name.
const DIGITS: usize = 16;

/// Whether the folder for old versions already contains a version of the file with these bytes.
fn is_kept(folder: &Path, name: &str, bytes: &[u8]) -> bool {
    let (begin, end) = (format!("{}-", name.trim_end_matches(".md")), end(bytes));
    // Treat a folder that cannot be read as empty.
    let names = file_names(folder).unwrap_or_default().into_iter();
    let mut alike = names.filter(|name| name.starts_with(&begin) && name.ends_with(&end));
    alike.any(|name| read(&folder.join(name)).is_ok_and(|(kept, _)| kept == bytes))
}

/// Returns the last part of an old version's file name: the first digits of the sha256, followed by
/// `.md`.
fn end(bytes: &[u8]) -> String {
    format!("-{}.md", &hash(&mut &bytes[..]).expect("reading from a slice cannot fail")[..DIGITS])
}

#[cfg(test)]
mod shared_tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use super::SharedFolder;
    use crate::{Severity, StoreError};

    fn file_names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
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
        folder.read("x.md").expect("none").append(b"one\n").expect("written");
        let path = dir.path().join("a/b/x.md");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("a mode");
        folder.read("x.md").expect("one").append(b"two\n").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"one\ntwo\n");
        assert_eq!(path.metadata().expect("a file").mode() & 0o777, 0o640);
        assert_eq!(file_names(&dir.path().join("a/b")), ["x.md"]);
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
            assert!(file_names(dir.path()).iter().all(|name| name == "x.md"), "{what}");
        }
    }

    #[test]
    fn a_file_created_meanwhile_wins() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        let file = folder.read("x.md").expect("none");
        fs::write(dir.path().join("x.md"), "mine\n").expect("written");
        assert!(matches!(file.append(b"new\n"), Err(StoreError::Changed(_))));
        assert_eq!(fs::read(dir.path().join("x.md")).expect("a file"), b"mine\n");
        assert_eq!(file_names(dir.path()), ["x.md"]);
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
            assert!(matches!(error, StoreError::Refused { .. }), "{name}: {error}");
        }
    }

    #[test]
    fn leftovers_of_a_killed_run_go() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join(".x.md.ctx-tmp-1-2-3"), "half").expect("written");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        folder.read("x.md").expect("none");
        assert!(file_names(dir.path()).is_empty());
    }

    /// An editor saves the file between two steps of a run, and the run is then killed.
    #[test]
    fn an_edit_that_a_killed_run_took_out_is_known() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(dir.path().join(name), text).expect("written");
        };
        write("x.md", "old\nmore\n");
        write(".x.md.ctx-old-1-2-3-99", "edited\n");
        write(".x.md.ctx-old-1-2-4-99", "old\n");
        let folder = SharedFolder::lock(dir.path()).expect("a lock");
        let file = folder.read("x.md").expect("one");
        assert_eq!(file.edits, [dir.path().join(".x.md.ctx-old-1-2-3-99")]);
        assert_eq!(file_names(dir.path()), [".x.md.ctx-old-1-2-3-99", "x.md"]);
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
                        folder.read("x").expect("a file").append(line.as_bytes()).expect("written");
                    }
                })
            })
            .collect();
        for run in runs {
            run.join().expect("no panic");
        }
        assert_eq!(fs::read_to_string(path.join("x")).expect("a file").lines().count(), 40);
    }
}

#[cfg(test)]
mod versions_tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::SharedFolder;
    use crate::tests::Bench;

    /// Each version is kept only once, in a private and complete file.
    #[test]
    fn a_version_is_kept_once() {
        let bench = Bench::new();
        bench.store.prepare().expect("made");
        for bytes in [&b"one"[..], b"two\xff", b"one"] {
            bench.store.keep_version("master.md", bytes).expect("kept");
            bench.wait_days(1);
        }
        let folder = bench.store.memory().join("history");
        let mut found: Vec<_> = fs::read_dir(&folder)
            .expect("there")
            .map(|entry| entry.expect("an entry").path())
            .collect();
        found.sort();
        let bytes: Vec<_> = found.iter().map(|path| fs::read(path).expect("read")).collect();
        assert_eq!(bytes, [b"one".to_vec(), b"two\xff".to_vec()]);
        let mode = fs::metadata(&found[0]).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A damaged old version does not count as kept.
        fs::write(&found[0], "onE").expect("damaged");
        bench.store.keep_version("master.md", b"one").expect("kept");
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 3);
    }

    /// If a run is killed in the middle of an exchange, the next run removes a version that is kept
    /// elsewhere, but not an editor's version.
    #[test]
    fn what_a_killed_run_took_out_is_removed_where_it_is_kept() {
        let bench = Bench::new();
        bench.store.prepare().expect("made");
        let dir = bench.store.memory().join("summary");
        let folder = SharedFolder::lock(&dir).expect("locked");
        fs::write(dir.join("master.md"), "new").expect("written");
        for (name, text) in [("a", "ours"), ("b", "theirs")] {
            // No file has the inode number 0, so each file is recognized only by its content.
            let aside = dir.join(format!(".master.md.ctx-old-{name}-0"));
            fs::write(aside, text).expect("written");
        }
        bench.store.keep_version("master.md", b"ours").expect("kept");
        let file = folder.read("master.md").expect("read");
        let left: Vec<_> = file.edits.iter().map(|path| fs::read(path).expect("read")).collect();
        assert_eq!(left, [b"theirs".to_vec()]);
        assert_eq!(fs::read_dir(&dir).expect("there").count(), 2);
    }
}
