//! The score: items with their standing, and the figures made of them.

use super::class::{Class, Standing};

/// An item of the old session and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// What it is.
    pub class: Class,
    /// Its words, on one line, without secrets.
    pub text: String,
    /// Its line in the old session; of an identifier, the last that has it.
    pub line: u64,
    /// What it counts within its class: of an identifier the chance that it is
    /// needed again, else 1.
    pub weight: f64,
    /// What became of it.
    pub standing: Standing,
}

/// The figures of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Which.
    pub class: Class,
    /// How many items.
    pub total: u64,
    /// How many stand in the new session.
    pub retained: u64,
    /// How many do not, but can be had back, be it from a snapshot only.
    pub recoverable: u64,
    /// How many of these from a snapshot only.
    pub saved: u64,
    /// How many are nowhere.
    pub lost: u64,
    /// How many more were done or superseded, and need not be kept.
    pub retired: u64,
    /// The kept share by weight; `None` without items.
    pub score: Option<f64>,
}

/// A share with four decimals, as it is shown: more would be noise.
pub fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// What became of all that a session held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Each item: by class, in the order of the session; identifiers begin with
    /// those that are needed most likely.
    pub items: Vec<Scored>,
    /// The class of each item that need not be kept.
    pub retired: Vec<Class>,
}

impl Score {
    /// The figures of each class, in the order of [`Class::ALL`].
    pub fn rows(&self) -> [Row; 8] {
        Class::ALL.map(|class| {
            let items = || self.items.iter().filter(move |item| item.class == class);
            let count = |standing| items().filter(|item| item.standing == standing).count() as u64;
            let saved = count(Standing::Saved);
            let weight: f64 = items().map(|item| item.weight).sum();
            let kept: f64 = items()
                .map(|item| item.weight * item.standing.credit())
                .sum();
            Row {
                class,
                total: items().count() as u64,
                retained: count(Standing::Retained),
                recoverable: count(Standing::Recoverable) + saved,
                saved,
                lost: count(Standing::Lost),
                retired: self.retired.iter().filter(|other| **other == class).count() as u64,
                score: (weight > 0.0).then(|| kept / weight),
            }
        })
    }

    /// The share of the items that is kept, from 0 to 1: the mean of the classes that
    /// have items, by their weights; 1 when there was nothing to lose.
    ///
    /// The items are those that a ledger finds, and our summaries are written from the
    /// same ledger: of what a reader knows, and of a summary beside another's, it says little.
    pub fn items_kept(&self) -> f64 {
        let (mut kept, mut all) = (0.0, 0.0);
        for row in self.rows() {
            if let Some(score) = row.score {
                kept += row.class.weight() * score;
                all += row.class.weight();
            }
        }
        if all > 0.0 { kept / all } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Class, Row, Score, Scored, Standing};
    use crate::ItemKind;

    const ASKS: Class = Class::Item(ItemKind::Ask);
    const ERRORS: Class = Class::Item(ItemKind::Error);
    const FILES: Class = Class::Item(ItemKind::File);

    fn scored(class: Class, weight: f64, standing: Standing) -> Scored {
        Scored {
            class,
            text: "words".to_owned(),
            line: 1,
            weight,
            standing,
        }
    }

    fn row(score: &Score, class: Class) -> Row {
        let rows = score.rows();
        *rows.iter().find(|row| row.class == class).expect("a row")
    }

    fn is_about(found: f64, expected: f64) -> bool {
        (found - expected).abs() < 1e-12
    }

    #[test]
    fn where_there_was_nothing_nothing_is_lost() {
        let score = Score::default();
        assert!(is_about(score.items_kept(), 1.0));
        for (row, class) in score.rows().iter().zip(Class::ALL) {
            assert_eq!((row.class, row.total, row.score), (class, 0, None));
        }
    }

    #[test]
    fn a_row_counts_each_standing() {
        let score = Score {
            items: vec![
                scored(ASKS, 1.0, Standing::Retained),
                scored(ASKS, 1.0, Standing::Recoverable),
                scored(ASKS, 1.0, Standing::Saved),
                scored(ASKS, 1.0, Standing::Lost),
                scored(FILES, 1.0, Standing::Lost),
            ],
            retired: vec![ASKS, ERRORS, ASKS],
        };
        let asks = row(&score, ASKS);
        assert_eq!(
            (asks.total, asks.retained, asks.lost, asks.retired),
            (4, 1, 1, 2)
        );
        // What is in a snapshot only can be had back, too.
        assert_eq!((asks.recoverable, asks.saved), (2, 1));
        assert!(is_about(asks.score.expect("a score"), 1.5 / 4.0));
        let errors = row(&score, ERRORS);
        assert_eq!((errors.total, errors.retired, errors.score), (0, 1, None));
    }

    #[test]
    fn within_a_class_items_count_by_their_weight() {
        let score = Score {
            items: vec![
                scored(Class::Identifiers, 0.75, Standing::Retained),
                scored(Class::Identifiers, 0.25, Standing::Lost),
            ],
            retired: vec![],
        };
        assert!(is_about(score.items_kept(), 0.75));
    }

    #[test]
    fn items_of_no_weight_make_no_score() {
        let score = Score {
            items: vec![scored(Class::Identifiers, 0.0, Standing::Lost)],
            retired: vec![],
        };
        let row = row(&score, Class::Identifiers);
        assert_eq!((row.total, row.lost, row.score), (1, 1, None));
        assert!(is_about(score.items_kept(), 1.0));
    }

    #[test]
    fn classes_count_by_their_weight_however_many_items_they_have() {
        let mut items = vec![scored(ASKS, 1.0, Standing::Retained)];
        items.extend(vec![scored(FILES, 1.0, Standing::Lost); 9]);
        let score = Score {
            items,
            retired: vec![],
        };
        let (asks, files) = (ASKS.weight(), FILES.weight());
        assert!(is_about(score.items_kept(), asks / (asks + files)));
    }
}
