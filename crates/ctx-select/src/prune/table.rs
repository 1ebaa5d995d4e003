//! Names and other values that come again and again, each stored once.

use std::hash::Hash;
use std::num::NonZeroU32;

use indexmap::IndexSet;

use super::sparse::compact;

/// A value in a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(NonZeroU32);

/// Values by their ids.
#[derive(Clone, Debug)]
pub(super) struct Table<T>(IndexSet<T>);

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(IndexSet::new())
    }
}

impl<T: Hash + Eq> Table<T> {
    /// The id of a value: of equal values the same.
    pub(super) fn id(&mut self, value: T) -> Id {
        let (place, _) = self.0.insert_full(value);
        Id(NonZeroU32::MIN.saturating_add(compact(place as u64)))
    }
}

impl<T> std::ops::Index<Id> for Table<T> {
    type Output = T;

    fn index(&self, id: Id) -> &T {
        &self.0[id.0.get() as usize - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Table};

    #[test]
    fn equal_values_have_one_id() {
        let mut table = Table::default();
        let ids = ["a", "b", "a", ""].map(|name| table.id(name));
        assert_eq!(ids[0], ids[2]);
        assert_eq!(ids.map(|id| table[id]), ["a", "b", "a", ""]);
        assert_eq!(size_of::<Option<Id>>(), 4);
    }
}
