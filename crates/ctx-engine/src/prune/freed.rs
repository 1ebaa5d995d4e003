//! How many tokens each change frees, and the sums for each rule.

use std::collections::BTreeMap;

use ctx_policy::Rule;
use derive_more::{Add, AddAssign};
use serde::Serialize;

/// One change's effect on the token count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The rule that made the change.
    pub rule: Rule,
    /// The token count of the changed part before the change.
    pub before: u64,
    /// The token count of the changed part after the change.
    pub after: u64,
}

/// The combined effect of several changes on the token count.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Add, AddAssign, derive_more::Sum,
)]
pub struct Sum {
    /// The number of changes.
    pub changes: u64,
    /// The total token count of the changed parts before the changes.
    #[serde(rename = "tokens_before")]
    pub before: u64,
    /// The total token count of the changed parts after the changes.
    #[serde(rename = "tokens_after")]
    pub after: u64,
}

impl Sum {
    /// Returns the number of tokens freed by the changes.
    pub fn gain(&self) -> u64 {
        self.before.saturating_sub(self.after)
    }
}

impl From<Freed> for Sum {
    fn from(freed: Freed) -> Self {
        Self { changes: 1, before: freed.before, after: freed.after }
    }
}

/// The combined effect of each rule's changes on the token count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<Rule, Sum>);

impl FromIterator<Freed> for Sums {
    fn from_iter<I: IntoIterator<Item = Freed>>(changes: I) -> Self {
        let mut sums = Self::default();
        for freed in changes {
            *sums.0.entry(freed.rule).or_default() += freed.into();
        }
        sums
    }
}

impl Sums {
    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the combined effect of each rule that changes something, in the order of [`Rule`]'s
    /// variants.
    pub fn by_rule(&self) -> impl Iterator<Item = (Rule, Sum)> {
        self.0.iter().map(|(rule, sum)| (*rule, *sum))
    }

    /// Returns the combined effect of all changes.
    pub fn total(&self) -> Sum {
        self.0.values().copied().sum()
    }
}
