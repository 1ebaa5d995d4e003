//! Ids that a view compares and never shows.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::Object;

/// An id, which is only compared: a long session has many, and none of their texts is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

/// What is known by ids, which are hashes already.
pub(super) type ById<T> = HashMap<Key, T, foldhash::fast::RandomState>;

impl Key {
    pub(super) fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// The id at `name`; an empty one counts as none.
    pub(super) fn at(object: &Object<'_>, name: &str) -> Option<Self> {
        let id = object.text_of(name).filter(|id| !id.is_empty())?;
        Some(Self::of(&id))
    }

    /// What stands for the id of the record of that number, where records have none.
    pub(super) fn of_number(number: usize) -> Self {
        Self(number as u64)
    }
}
