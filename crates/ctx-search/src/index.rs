//! Opens and checks the search index, and rebuilds it if it is damaged. The folder is private, and
//! only the run that holds a lock may write to it. The source numbers are stored in the engine's
//! commit, so they match the documents even after a crash.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::schema::Schema;
use tantivy::{Index, TantivyError};

use crate::schema::{Fields, Source, register};

/// An open index.
pub struct SearchIndex {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
    pub(crate) known: IndexedSources,
    pub(crate) folder: PathBuf,
    /// The writer's lock; `None` if another run holds it.
    lock: Option<File>,
    /// Whether the index was emptied because it was damaged or had another format version.
    pub was_damaged: bool,
}

impl SearchIndex {
    /// Opens the index in `folder`, or creates it if it is missing. While another run is writing to
    /// the index, this run can read it but not update it. If another run is still creating the
    /// index, waits for at most `patience`.
    pub fn open(folder: &Path, patience: Duration) -> Result<Self, SearchError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(SearchError::io("create", folder))?;
        let (schema, fields) = Fields::new();
        let mut lock = take_lock(folder, Duration::ZERO)?;
        let mut found = load(folder, &schema);
        if lock.is_none() && found.is_none() {
            lock = take_lock(folder, patience)?;
            found = load(folder, &schema);
        }
        let mut was_damaged = false;
        let (index, known) = match (found, &lock) {
            (Some(found), _) => found,
            (None, None) => return Err(SearchError::Busy),
            (None, Some(_)) => {
                was_damaged = folder.join("meta.json").exists();
                each_file(folder, "remove", |file| fs::remove_file(file))?;
                (Index::create_in_dir(folder, schema)?, IndexedSources::default())
            }
        };
        register(&index);
        Ok(Self { index, fields, known, folder: folder.to_owned(), lock, was_damaged })
    }

    /// Whether another run is writing to the index, which prevents this run from writing.
    pub fn is_locked_by_another(&self) -> bool {
        self.lock.is_none()
    }

    /// Makes all index files private. The engine creates its files with a mode that depends on the
    /// process's umask.
    pub(crate) fn make_private(&self) -> Result<(), SearchError> {
        let private = |file: &Path| fs::set_permissions(file, Permissions::from_mode(0o600));
        each_file(&self.folder, "change the mode of", private)
    }
}

/// Loads the index in the folder; `None` if the index is missing or damaged, or its format version
/// differs. Checks all files against their checksums, because a damaged index may return wrong
/// hits. Checking takes about a millisecond per 5 MB.
fn load(folder: &Path, schema: &Schema) -> Option<(Index, IndexedSources)> {
    let index = Index::open_in_dir(folder).ok()?;
    let known: IndexedSources = match index.load_metas().ok()?.payload {
        Some(text) => serde_json::from_str(&text).ok()?,
        // An index that has been created but never updated has no payload and no sources.
        None => IndexedSources::default(),
    };
    let is_known = known.version == VERSION && index.schema() == *schema;
    let is_sound = is_known && index.validate_checksum().ok()?.is_empty();
    (is_sound && index.reader().is_ok()).then_some((index, known))
}

/// The pause between two attempts to take the lock.
const POLL: Duration = Duration::from_millis(20);

/// Takes the writers' lock; `None` if another run still holds it after `patience`. The lock file is
/// next to the folder, so that emptying the folder does not remove it.
fn take_lock(folder: &Path, patience: Duration) -> Result<Option<File>, SearchError> {
    let path = folder.with_extension("lock");
    let mut options = OpenOptions::new();
    let options = options.create(true).append(true).mode(0o600);
    let file = options.open(&path).map_err(SearchError::io("open", &path))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::Error(error)) => return Err(SearchError::io("lock", &path)(error)),
            Err(TryLockError::WouldBlock) if begun.elapsed() >= patience => return Ok(None),
            Err(TryLockError::WouldBlock) => std::thread::sleep(POLL),
        }
    }
}

/// Calls a function for each file in a folder. Files that no longer exist are ignored.
fn each_file(
    folder: &Path,
    action: &'static str,
    change: impl Fn(&Path) -> io::Result<()>,
) -> Result<(), SearchError> {
    let unread = || SearchError::io("read", folder);
    for entry in fs::read_dir(folder).map_err(unread())? {
        let file = entry.map_err(unread())?.path();
        let failed = change(&file).err().filter(|error| error.kind() != io::ErrorKind::NotFound);
        if let Some(error) = failed {
            return Err(SearchError::io(action, &file)(error));
        }
    }
    Ok(())
}

/// The version of the index format. Increase the version whenever a change causes the same text to
/// be indexed with different words or fields.
const VERSION: u32 = 2;

/// The sources in the index, as stored with each commit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct IndexedSources {
    version: u32,
    /// The last number assigned to a source.
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
    /// The source with this number.
    pub(crate) fn source(&self, number: u64) -> Option<&Source> {
        let place = self.sources.binary_search_by_key(&number, |known| known.number).ok()?;
        Some(&self.sources[place].source)
    }
}

/// The reason why the index cannot be searched or updated.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// A file operation failed.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The verb in the message, such as "read" or "create".
        action: &'static str,
        /// The file or folder that the operation failed on.
        path: PathBuf,
        /// The error from the operating system.
        source: io::Error,
    },
    /// The search engine failed.
    #[error("the search engine failed: {0}")]
    Engine(#[from] TantivyError),
    /// Another run is building the first index, so there is no finished index to search yet.
    #[error("another run is building the search index")]
    Busy,
}

impl SearchError {
    /// Returns a function that wraps an I/O error in this type, for use with `map_err`.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}
