//! What was freed, by rule.

use std::collections::BTreeMap;

use super::rule::Rule;

/// What one change frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The rule that asked for it.
    pub rule: Rule,
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
}

/// Changes and their tokens, by rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sums(BTreeMap<Rule, Sum>);

/// Changes and their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many.
    pub changes: u64,
    /// Tokens before.
    pub before: u64,
    /// Tokens after.
    pub after: u64,
}

impl FromIterator<Freed> for Sums {
    fn from_iter<I: IntoIterator<Item = Freed>>(freed: I) -> Self {
        let mut sums = Self::default();
        for freed in freed {
            sums.0.entry(freed.rule).or_default().add(Sum {
                changes: 1,
                before: freed.before,
                after: freed.after,
            });
        }
        sums
    }
}

impl Sums {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rules that change anything, in the order of [`Rule`].
    pub fn by_rule(&self) -> impl Iterator<Item = (Rule, Sum)> {
        self.0.iter().map(|(rule, sum)| (*rule, *sum))
    }

    /// All of them.
    pub fn total(&self) -> Sum {
        self.0.values().fold(Sum::default(), |mut total, sum| {
            total.add(*sum);
            total
        })
    }
}

impl Sum {
    /// Tokens that are freed.
    pub fn gain(&self) -> u64 {
        self.before.saturating_sub(self.after)
    }

    fn add(&mut self, other: Self) {
        self.changes += other.changes;
        self.before += other.before;
        self.after += other.after;
    }
}

#[cfg(test)]
mod tests {
    use super::{Freed, Rule, Sum, Sums};

    #[test]
    fn changes_add_up_by_rule() {
        let freed = [(Rule::Window, 5, 0), (Rule::Trim, 9, 4), (Rule::Trim, 7, 6)];
        let freed = freed.map(|(rule, before, after)| Freed {
            rule,
            before,
            after,
        });
        let sums: Sums = freed.into_iter().collect();
        let sum = |changes, before, after| Sum {
            changes,
            before,
            after,
        };
        let by_rule: Vec<_> = sums.by_rule().collect();
        let expected = [(Rule::Trim, sum(2, 16, 10)), (Rule::Window, sum(1, 5, 0))];
        assert_eq!(by_rule, expected);
        assert_eq!(sums.total(), sum(3, 21, 10));
        assert_eq!(sums.total().gain(), 11);
        assert!(!sums.is_empty() && Sums::default().is_empty());
    }
}
