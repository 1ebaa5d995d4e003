//! The index in its folder: opened, checked, and rebuilt if it is damaged.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use tantivy::Index;

use crate::SearchError;
use crate::folder::Folder;
use crate::known::Known;
use crate::schema::{Fields, register};

/// An index that is open.
pub struct SearchIndex {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
    pub(crate) known: Known,
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
        if lock.is_none() && !matches!(found, Found::Whole(..)) {
            lock = folder.lock(patience)?;
            found = load(&folder);
        }
        let (index, known, state) = match (found, &lock) {
            (Found::Whole(index, known), _) => (index, known, State::Whole),
            (_, None) => return Err(SearchError::Busy),
            (other, Some(_)) => {
                folder.empty()?;
                let state = match other {
                    Found::Nothing => State::New,
                    _ => State::Damaged,
                };
                let index = Index::create_in_dir(folder.path(), schema)?;
                (index, Known::default(), state)
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

enum Found {
    Nothing,
    Whole(Index, Known),
    Damaged,
}

/// Looks at what is in the folder: all of it is held against its checksums, which takes
/// about a millisecond for each 5 MB, for what is damaged may give any answer.
fn load(folder: &Folder) -> Found {
    if !folder.path().join("meta.json").exists() {
        return Found::Nothing;
    }
    let (schema, _) = Fields::new();
    let whole = || {
        let index = Index::open_in_dir(folder.path()).ok()?;
        let payload = index.load_metas().ok()?.payload;
        // An index that was created and never written to is empty.
        let known = payload.map_or_else(|| Some(Known::default()), |text| Known::parse(&text))?;
        let is_sound = index.schema() == schema && index.validate_checksum().ok()?.is_empty();
        let all_there = index.reader().is_ok();
        (is_sound && all_there).then_some((index, known))
    };
    whole().map_or(Found::Damaged, |(index, known)| Found::Whole(index, known))
}
