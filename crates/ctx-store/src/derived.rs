//! Files of the store that are made of others and may be lost: they cost time, and nothing else.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;

use crate::Store;
use crate::error::{Naming, StoreError};
use crate::store::make_dirs;
use crate::temp::TempFile;

impl Store {
    /// The index of the sessions on this machine.
    pub fn session_index(&self) -> PathBuf {
        self.root().join("index/sessions.jsonl")
    }

    /// The folder of the index of words by which the store is searched. Its lock has the same
    /// name and ends in `.lock`.
    pub fn search_index(&self) -> PathBuf {
        self.root().join("index/search")
    }

    /// What the index of sessions holds; `None` where it cannot be read, for whatever reason.
    pub fn read_session_index(&self) -> Option<String> {
        let file = File::open(self.session_index()).ok()?;
        let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut text = String::new();
        // What is appended to it meanwhile is not the tools'.
        file.take(meta.len()).read_to_string(&mut text).ok()?;
        Some(text)
    }

    /// Replaces the index of sessions. No lock and no flush to the disk: of two runs at the
    /// same time the later one's stays, and one that a crash tore is as good as none.
    pub fn replace_session_index(&self, text: &str) -> Result<(), StoreError> {
        self.prepare()?;
        let path = self.session_index();
        make_dirs(&self.root().join("index"))?;
        let mut temp = TempFile::beside(&path, 0o600).naming("create", &path)?;
        temp.write_all(text.as_bytes()).naming("write", &path)?;
        fs::rename(temp.path(), &path).naming("replace", &path)?;
        temp.keep();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::testing::Bench;

    #[test]
    fn the_index_is_private_and_may_be_lost() {
        let Bench {
            store, dir: _dir, ..
        } = Bench::new();
        assert_eq!(store.read_session_index(), None);
        store.replace_session_index("a\n").expect("written");
        store.replace_session_index("b\n").expect("written");
        assert_eq!(store.read_session_index().as_deref(), Some("b\n"));
        let mode = |path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        let path = store.session_index();
        let folder = path.parent().expect("its folder");
        assert_eq!((mode(path.as_path()), mode(folder)), (0o600, 0o700));
        assert_eq!(fs::read_dir(folder).expect("its folder").count(), 1);
        fs::write(&path, b"\xff").expect("written");
        assert_eq!(store.read_session_index(), None);
    }
}
