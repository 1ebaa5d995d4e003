//! What a consolidation of the memory replaces, kept as it was, and what it has to know of those
//! before it.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::atomic::persist;
use crate::error::{Naming, StoreError};
use crate::files::{if_there, names, open_plain, sync_name};
use crate::rename::create;
use crate::stamp::TIME;
use crate::store::make_dirs;
use crate::{Store, hash};

/// Where the old versions of files of the folders beside it are.
const FOLDER: &str = "history";
/// Digits of the sha256 in their names.
const DIGITS: usize = 16;

impl Store {
    /// The file in which a consolidation leaves what the next one has to know.
    pub fn consolidated_path(&self) -> PathBuf {
        self.memory().join("consolidated.json")
    }

    /// What it holds; `None` where it is not there, or is no text.
    pub fn read_consolidated(&self) -> Result<Option<String>, StoreError> {
        let path = self.consolidated_path();
        let bytes = if_there(read(&path).naming("read", &path))?;
        Ok(bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// Replaces it. When that fails, the consolidation is done all the same.
    pub fn replace_consolidated(&self, text: &str) -> Result<(), StoreError> {
        let path = self.consolidated_path();
        let replace = || {
            make_dirs(&self.memory())?;
            let mut temp = self.temp("consolidated.json", 0o600)?;
            temp.write_all(text.as_bytes()).not_written(&path)?;
            persist(temp, &path)
        };
        replace().map_err(|error| error.after("the consolidation"))
    }

    /// Keeps the bytes of a memory file that are about to be replaced by others than longer ones:
    /// as `history/STEM-TIME-SHA256.md`, once.
    pub fn keep_version(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let folder = self.memory().join(FOLDER);
        if is_kept(&folder, name, bytes) {
            return Ok(());
        }
        make_dirs(&folder)?;
        let time = self.now().format(TIME);
        let stem = name.trim_end_matches(".md");
        let path = folder.join(format!("{stem}-{time}{}", end(bytes)));
        let mut temp = self.temp(stem, 0o600)?;
        temp.write_all(bytes).not_written(&path)?;
        temp.file.sync_all().not_written(&path)?;
        // Nothing is replaced yet: what may not last is as good as not kept.
        let kept = create(temp, &path).and_then(|()| sync_name(&path));
        kept.map_err(StoreError::before)
    }
}

/// Whether the old version of a file lies where such versions are kept: beside its folder.
pub(crate) fn is_kept_beside(dir: &Path, name: &str, bytes: &[u8]) -> bool {
    is_kept(&dir.with_file_name(FOLDER), name, bytes)
}

fn is_kept(folder: &Path, name: &str, bytes: &[u8]) -> bool {
    let (begin, end) = (format!("{}-", name.trim_end_matches(".md")), end(bytes));
    // What cannot be looked at is as good as not there.
    let names = names(folder).unwrap_or_default().into_iter();
    let mut alike = names.filter(|name| name.starts_with(&begin) && name.ends_with(&end));
    alike.any(|name| read(&folder.join(name)).is_ok_and(|kept| kept == bytes))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How its name ends: by the first digits of its sha256.
fn end(bytes: &[u8]) -> String {
    let hash = hash(&mut &bytes[..]).expect("a slice is read without failure");
    format!("-{}.md", &hash[..DIGITS])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use crate::SharedFolder;
    use crate::testing::Bench;

    /// 16: each version is kept once, private and whole.
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
        let bytes: Vec<_> = found
            .iter()
            .map(|path| fs::read(path).expect("read"))
            .collect();
        assert_eq!(bytes, [b"one".to_vec(), b"two\xff".to_vec()]);
        let mode = fs::metadata(&found[0]).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // A damaged one is none.
        fs::write(&found[0], "onE").expect("damaged");
        bench.store.keep_version("master.md", b"one").expect("kept");
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 3);
    }

    /// 16: of a run that was killed in the middle of an exchange, the version that is kept elsewhere
    /// is removed, and that of somebody else is not.
    #[test]
    fn what_a_killed_run_took_out_is_removed_where_it_is_kept() {
        let bench = Bench::new();
        bench.store.prepare().expect("made");
        let dir = bench.store.memory().join("summary");
        let folder = SharedFolder::lock(&dir).expect("locked");
        fs::write(dir.join("master.md"), "new").expect("written");
        let ino = fs::metadata(dir.join("master.md")).expect("there").ino() + 1;
        for (name, text) in [("a", "ours"), ("b", "theirs")] {
            let aside = dir.join(format!(".master.md.ctx-old-{name}-{ino}"));
            fs::write(aside, text).expect("written");
        }
        bench
            .store
            .keep_version("master.md", b"ours")
            .expect("kept");
        let file = folder.read("master.md").expect("read");
        let left: Vec<_> = file
            .edits()
            .iter()
            .map(|path| fs::read(path).expect("read"))
            .collect();
        assert_eq!(left, [b"theirs".to_vec()]);
        assert_eq!(fs::read_dir(&dir).expect("there").count(), 2);
    }

    /// 16: what is left for the next run is read as it was written, and nothing else is.
    #[test]
    fn what_is_left_for_the_next_run_is_no_link() {
        let bench = Bench::new();
        let store = &bench.store;
        let read = || store.read_consolidated().expect("it can be read");
        assert_eq!(read(), None);
        store.prepare().expect("made");
        store.replace_consolidated("{}").expect("written");
        assert_eq!(read().as_deref(), Some("{}"));
        fs::write(store.consolidated_path(), b"\xff").expect("written");
        assert_eq!(read(), None);
        fs::remove_file(store.consolidated_path()).expect("removed");
        symlink("/etc/hostname", store.consolidated_path()).expect("a link");
        assert!(store.read_consolidated().is_err());
    }
}
