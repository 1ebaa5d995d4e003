//! Which items of a score are listed.

use ctx_summary::ledger::score::{Score, Scored, Standing};

/// What --list can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Listed {
    /// Items in AFTER
    Retained,
    /// Items that AFTER refers to, or that a snapshot has
    Recoverable,
    /// Items that are nowhere
    Lost,
    /// The questions of --evidence: + kept, - lost, ? not in BEFORE either
    Questions,
}

impl Listed {
    /// The items that stand so; no question is one.
    pub fn of(self, score: &Score) -> impl Iterator<Item = &Scored> {
        let items = score.items.iter();
        items.filter(move |item| self.has(item.standing))
    }

    fn has(self, standing: Standing) -> bool {
        match standing {
            Standing::Retained => self == Self::Retained,
            Standing::Recoverable | Standing::Saved => self == Self::Recoverable,
            Standing::Lost => self == Self::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::score::Standing;

    use super::Listed;

    #[test]
    fn what_only_a_snapshot_has_is_listed_as_recoverable() {
        let has = |listed: Listed| {
            let standings =
                [Standing::Retained, Standing::Recoverable, Standing::Saved, Standing::Lost];
            standings.map(|standing| listed.has(standing))
        };
        assert_eq!(has(Listed::Retained), [true, false, false, false]);
        assert_eq!(has(Listed::Recoverable), [false, true, true, false]);
        assert_eq!(has(Listed::Lost), [false, false, false, true]);
    }
}
