//! Measures what the last compaction kept and lost, using the same score as `ctx-score`.

use ctx_engine::compact::Survivors;
use ctx_engine::ledger::LedgerReader;
use ctx_engine::score::MOST_SCORED_BYTES;
use ctx_engine::summarize::recognizer;
use ctx_format::{Dialect, Record};
use ctx_summary::ledger::Ledger;
use ctx_summary::ledger::score::{After, Class, Score, Scored, Scorer, Standing, rounded};
use serde::Serialize;
use serde_json::Value;

use super::Step;
use crate::{counts_of, fidelity};

/// The maximum number of lost identifiers to list. Compactions lose many identifiers, and the other
/// lost items are more informative.
const MOST_NAMES: usize = 15;

/// The maximum number of lost items to list.
pub const MOST_LOST: usize = 50;

/// What a compaction kept and lost, by item class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompactionScore {
    /// For each class that has items, how many were retained, recoverable and lost.
    pub classes: Vec<(Class, Survivors)>,
    /// The fraction of items that were kept, from 0 to 1.
    pub kept: f64,
    /// The first lost items, each with its class, its line before the compaction, and its text. If
    /// only the audit log is available, this list is empty.
    pub lost: Vec<(Class, u64, String)>,
}

impl CompactionScore {
    /// Returns the figures for a score, or `None` if the session has no items.
    pub fn of_score(score: &Score) -> Option<Self> {
        let classes: Vec<(Class, Survivors)> = Survivors::of_classes(score).collect();
        let mut names = 0;
        let is_listed = |item: &&Scored| {
            let is_name = item.class == Class::Identifiers;
            let is_lost = item.standing == Standing::Lost;
            names += usize::from(is_lost && is_name);
            is_lost && !(is_name && names > MOST_NAMES)
        };
        let lost = score.items.iter().filter(is_listed);
        let lost = lost.map(|item| (item.class, item.line, item.text.clone()));
        (!classes.is_empty()).then(|| Self {
            kept: rounded(score.items_kept()),
            lost: lost.take(MOST_LOST).collect(),
            classes,
        })
    }

    /// Returns the figures from the audit log, for a session whose earlier state no longer exists.
    pub fn of_log(survived: &Value) -> Option<Self> {
        Some(Self {
            classes: counts_of(survived).collect(),
            kept: fidelity(survived)?,
            lost: Vec::new(),
        })
    }

    /// Returns the total item counts for all classes.
    pub fn total(&self) -> Survivors {
        self.classes.iter().map(|(_, counts)| *counts).sum()
    }
}

/// Scores the last compaction recorded in a session, whose records are passed in one by one.
#[derive(Default)]
pub(super) struct RecordedCompaction {
    before: LedgerReader,
    bytes: u64,
    after: After,
    /// The ledger of the messages before the last summary.
    ledger: Option<Ledger>,
}

impl RecordedCompaction {
    pub(super) fn push(&mut self, record: &Record<'_>, step: &Step<'_>, dialect: &dyn Dialect) {
        if self.ledger.is_some() {
            return;
        }
        if step.is_inside {
            self.after.push(&step.message);
        }
        if step.is_summary && step.before.is_some_and(|before| before.total() > 0) {
            let before = std::mem::take(&mut self.before);
            if step.is_inside {
                self.ledger = Some(before.finish());
                return;
            }
            drop(before.finish());
            self.bytes = 0;
        }
        self.bytes += record.bytes.len() as u64;
        if self.bytes > MOST_SCORED_BYTES {
            return;
        }
        self.before.push_old(record, &step.message, dialect, &recognizer(None));
    }

    /// Returns the score, or `None` if the session records no compaction or was too long to score.
    pub(super) fn finish(self) -> Option<CompactionScore> {
        let ledger = self.ledger.filter(|_| self.bytes <= MOST_SCORED_BYTES)?;
        CompactionScore::of_score(&Scorer::new(self.after).finish(&ledger))
    }
}

#[cfg(test)]
mod tests {
    use ctx_summary::ledger::ItemKind;
    use ctx_summary::ledger::score::{Class, Score, Scored, Standing};
    use serde_json::json;

    use super::{CompactionScore, MOST_LOST, Survivors};

    fn lost(class: Class, number: u64) -> Scored {
        Scored {
            class,
            text: format!("{number}"),
            line: number,
            weight: 1.0,
            standing: Standing::Lost,
        }
    }

    /// Lost items of all classes are listed, no matter how many identifiers were lost.
    #[test]
    fn names_do_not_fill_the_list() {
        let [ask, error] = [ItemKind::Ask, ItemKind::Error].map(Class::Item);
        let of = |class, count| (0..count).map(move |number| lost(class, number));
        let items = of(ask, 3).chain(of(Class::Identifiers, 90)).chain(of(error, 60));
        let score = Score { items: items.collect(), retired: Vec::new() };
        let scored = CompactionScore::of_score(&score).expect("it has items");
        assert_eq!(scored.lost.len(), MOST_LOST);
        let listed = |class| scored.lost.iter().filter(|item| item.0 == class).count();
        assert_eq!([ask, Class::Identifiers, error].map(listed), [3, 15, 32]);
        assert_eq!((scored.total().lost, scored.kept), (153, 0.0));
        assert_eq!(CompactionScore::of_score(&Score::default()), None);
    }

    /// If only the audit log is left, its counts are used and no lost items are listed.
    #[test]
    fn the_log_has_numbers_and_no_words() {
        let survived = json!({"asks": {"retained": 1, "recoverable": 2, "lost": 1}, "moods": 7});
        let scored = CompactionScore::of_log(&survived).expect("scored");
        let counts = Survivors { retained: 1, recoverable: 2, lost: 1 };
        assert_eq!(scored.classes, [(Class::Item(ItemKind::Ask), counts)]);
        assert_eq!((scored.kept, scored.lost.len()), (0.5, 0));
        assert_eq!(CompactionScore::of_log(&json!({})), None);
        assert_eq!(CompactionScore::of_log(&json!({"asks": {"lost": 0}})), None);
    }
}
