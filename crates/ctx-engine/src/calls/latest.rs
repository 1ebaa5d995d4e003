//! The calls that results may belong to. A result stands near its call, so that only the
//! latest calls are remembered.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The latest call of each id. Ids are only compared, so they are hashed.
#[derive(Debug)]
pub struct Latest<T> {
    recent: HashMap<u64, T>,
    /// Earlier calls.
    earlier: HashMap<u64, T>,
    /// Whether there were others before these.
    forgotten: bool,
}

/// At least so many calls are remembered, and at most twice as many.
const REMEMBERED: usize = 1 << 12;

/// The call of a result.
#[derive(Debug)]
pub enum Found<'a, T> {
    /// This one.
    Call(&'a T),
    /// No call.
    None,
    /// There may have been one.
    Forgotten,
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self { recent: HashMap::new(), earlier: HashMap::new(), forgotten: false }
    }
}

impl<T> Latest<T> {
    /// The next call.
    pub fn insert(&mut self, id: Option<&str>, call: T) {
        if self.recent.len() >= REMEMBERED {
            self.forgotten |= !self.earlier.is_empty();
            self.earlier = std::mem::take(&mut self.recent);
        }
        self.recent.insert(hashed(id), call);
    }

    /// The call of a result with that id.
    pub fn find(&self, id: Option<&str>) -> Found<'_, T> {
        let id = hashed(id);
        let found = self.recent.get(&id).or_else(|| self.earlier.get(&id));
        match found {
            Some(call) => Found::Call(call),
            None if self.forgotten => Found::Forgotten,
            None => Found::None,
        }
    }
}

/// Formats without ids have one for all calls: a result answers the latest.
fn hashed(id: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::{Found, Latest, REMEMBERED};

    #[test]
    fn the_latest_calls_are_remembered_and_not_all_of_them() {
        let mut calls = Latest::default();
        assert!(matches!(calls.find(Some("0")), Found::None));
        for number in 0..4 * REMEMBERED {
            calls.insert(Some(&number.to_string()), number);
            for back in [0, REMEMBERED - 1] {
                let before = number.saturating_sub(back);
                let found = calls.find(Some(&before.to_string()));
                assert!(matches!(found, Found::Call(it) if *it == before));
            }
        }
        assert!(calls.recent.len() + calls.earlier.len() <= 2 * REMEMBERED);
        assert!(matches!(calls.find(Some("0")), Found::Forgotten));
        assert!(matches!(calls.find(None), Found::Forgotten));
    }
}
