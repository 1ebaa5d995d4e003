//! Ids that a view compares and never shows.

use std::hash::{DefaultHasher, Hash, Hasher};

/// An id, which is only compared: a long session has many, and none of their texts is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    pub(super) fn of(id: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        Self(hasher.finish())
    }
}
