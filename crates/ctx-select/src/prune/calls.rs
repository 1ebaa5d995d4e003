//! The calls that results may belong to. A result stands near its call, so that only the
//! latest calls are remembered.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::session::Called;

/// The latest call of each id. Ids are only compared, so they are hashed.
#[derive(Default)]
pub(super) struct Calls {
    latest: HashMap<u64, Called>,
    /// Those before.
    earlier: HashMap<u64, Called>,
    /// Whether there were others before these.
    forgotten: bool,
}

/// At least so many calls are remembered, and at most twice as many.
const REMEMBERED: usize = 1 << 12;

/// What is known of the call of a result.
pub(super) enum Found {
    /// It is this one.
    Call(Called),
    /// There is none.
    None,
    /// There may have been one.
    Forgotten,
}

impl Calls {
    pub(super) fn insert(&mut self, id: Option<&str>, call: Called) {
        if self.latest.len() >= REMEMBERED {
            self.forgotten |= !self.earlier.is_empty();
            self.earlier = std::mem::take(&mut self.latest);
        }
        self.latest.insert(hashed(id), call);
    }

    pub(super) fn find(&self, id: Option<&str>) -> Found {
        let id = hashed(id);
        let found = self.latest.get(&id).or_else(|| self.earlier.get(&id));
        match found {
            Some(call) => Found::Call(*call),
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
    use super::{Calls, Found, REMEMBERED};
    use crate::prune::session::Session;

    #[test]
    fn the_latest_calls_are_remembered_and_not_all_of_them() {
        let call = Session::default().called(None, None, true);
        let mut calls = Calls::default();
        assert!(matches!(calls.find(Some("0")), Found::None));
        for number in 0..4 * REMEMBERED {
            calls.insert(Some(&number.to_string()), call);
            for back in [0, REMEMBERED - 1] {
                let id = number.saturating_sub(back).to_string();
                assert!(matches!(calls.find(Some(&id)), Found::Call(it) if it.fixed));
            }
        }
        assert!(calls.latest.len() + calls.earlier.len() <= 2 * REMEMBERED);
        assert!(matches!(calls.find(Some("0")), Found::Forgotten));
        assert!(matches!(calls.find(None), Found::Forgotten));
    }
}
