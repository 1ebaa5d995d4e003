//! The index in its folder: opened, checked, and rebuilt if it is damaged. The folder is private, and
//! a writer locks it. The numbers of the sources are stored in the engine's commit, so they match the
//! documents even after a crash.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::{Index, TantivyError};

use crate::schema::{Fields, Source, register};

/// An index that is open.
pub struct SearchIndex {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
    pub(crate) known: IndexedSources,
    pub(crate) folder: Folder,
    /// Held by who may write.
    lock: Option<File>,
    state: State,
}

/// How an index was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There was none.
    New,
    /// The index is complete.
    Whole,
    /// The index was damaged or of another version, and is now empty.
    Damaged,
}

impl SearchIndex {
    /// Opens the index in `folder`, and creates it if it is missing. While another run writes to
    /// the index, it can be read but not updated. If that run is creating it, waits for at most
    /// `patience`.
    pub fn open(folder: &Path, patience: Duration) -> Result<Self, SearchError> {
        let folder = Folder::make(folder)?;
        let (schema, fields) = Fields::new();
        let mut lock = folder.lock(Duration::ZERO)?;
        let mut found = load(&folder);
        if lock.is_none() && !matches!(found, FolderState::Whole(..)) {
            lock = folder.lock(patience)?;
            found = load(&folder);
        }
        let (index, known, state) = match (found, &lock) {
            (FolderState::Whole(index, known), _) => (index, known, State::Whole),
            (_, None) => return Err(SearchError::Busy),
            (other, Some(_)) => {
                folder.empty()?;
                let state = match other {
                    FolderState::Nothing => State::New,
                    _ => State::Damaged,
                };
                let index = Index::create_in_dir(folder.path(), schema)?;
                (index, IndexedSources::default(), state)
            }
        };
        register(&index);
        Ok(Self { index, fields, known, folder, lock, state })
    }

    /// How it was found.
    pub fn state(&self) -> State {
        self.state
    }

    /// Whether another run writes it, so that this one cannot.
    pub fn is_locked_by_another(&self) -> bool {
        self.lock.is_none()
    }
}

enum FolderState {
    Nothing,
    Whole(Index, IndexedSources),
    Damaged,
}

/// Looks at what is in the folder: all of it is held against its checksums, which takes
/// about a millisecond for each 5 MB, for what is damaged may give any answer.
fn load(folder: &Folder) -> FolderState {
    if !folder.path().join("meta.json").exists() {
        return FolderState::Nothing;
    }
    let (schema, _) = Fields::new();
    let whole = || {
        let index = Index::open_in_dir(folder.path()).ok()?;
        let payload = index.load_metas().ok()?.payload;
        // An index that was created and never written to is empty.
        let known = payload
            .map_or_else(|| Some(IndexedSources::default()), |text| IndexedSources::parse(&text))?;
        let is_sound = index.schema() == schema && index.validate_checksum().ok()?.is_empty();
        let all_there = index.reader().is_ok();
        (is_sound && all_there).then_some((index, known))
    };
    whole().map_or(FolderState::Damaged, |(index, known)| FolderState::Whole(index, known))
}

/// The time between two looks whether a lock is free.
const POLL: Duration = Duration::from_millis(20);

/// A folder for an index.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes it, if need be.
    pub(crate) fn make(path: &Path) -> Result<Self, SearchError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
        made.map_err(SearchError::io("create", path))?;
        Ok(Self { path: path.to_owned() })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the writers' lock; `None` if another run holds it after `patience`. It is next to the
    /// folder, so that it stays when the folder is emptied.
    pub(crate) fn lock(&self, patience: Duration) -> Result<Option<File>, SearchError> {
        let path = self.path.with_extension("lock");
        let mut options = OpenOptions::new();
        let options = options.create(true).append(true).mode(0o600);
        let file = options.open(&path).map_err(SearchError::io("open", &path))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::Error(error)) => {
                    return Err(SearchError::io("lock", &path)(error));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => return Ok(None),
                Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
            }
        }
    }

    /// Removes all files in it.
    pub(crate) fn empty(&self) -> Result<(), SearchError> {
        for file in self.files()? {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SearchError::io("remove", &file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes all files in it private: the engine makes them as the process's mask has it.
    pub(crate) fn make_private(&self) -> Result<(), SearchError> {
        for file in self.files()? {
            let private = Permissions::from_mode(0o600);
            match fs::set_permissions(&file, private) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(SearchError::io("change the mode of", &file)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<PathBuf>, SearchError> {
        let read = || -> io::Result<Vec<PathBuf>> {
            let entries = fs::read_dir(&self.path)?;
            entries.map(|entry| Ok(entry?.path())).collect()
        };
        read().map_err(SearchError::io("read", &self.path))
    }
}

/// Another one where the same text would be other words, or other fields.
const VERSION: u32 = 2;

/// The sources that are indexed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IndexedSources {
    version: u32,
    /// The number of the next source.
    pub(crate) next: u64,
    pub(crate) sources: Vec<KnownSource>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct KnownSource {
    pub(crate) number: u64,
    #[serde(flatten)]
    pub(crate) source: Source,
}

impl Default for IndexedSources {
    fn default() -> Self {
        Self { version: VERSION, next: 0, sources: Vec::new() }
    }
}

impl IndexedSources {
    /// The content of a commit; `None` for another version.
    pub(crate) fn parse(payload: &str) -> Option<Self> {
        let known: Self = serde_json::from_str(payload).ok()?;
        (known.version == VERSION).then_some(known)
    }

    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The source with this number.
    pub(crate) fn source(&self, number: u64) -> Option<&Source> {
        let place = self.sources.binary_search_by_key(&number, |known| known.number).ok()?;
        Some(&self.sources[place].source)
    }
}

/// Why nothing can be searched.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A call of the file system failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The operation that failed.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The engine failed.
    #[error("the search index: {0}")]
    Engine(#[from] TantivyError),
    /// Another run builds the index, and there is no finished one yet.
    #[error("another run builds the search index")]
    Busy,
}

impl SearchError {
    /// For `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
