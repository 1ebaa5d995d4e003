//! The classes of scored items, their weights, and the figures in a score.

use serde::{Serialize, Serializer};
use strum::IntoStaticStr;

use crate::ledger::ItemKind;

/// A class of scored items: the items of one kind, or the identifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, Serialize)]
#[strum(serialize_all = "lowercase")]
#[serde(into = "&'static str")]
pub enum Class {
    /// The items of one kind.
    #[strum(transparent)]
    Item(ItemKind),
    /// Names, numbers and addresses that a later call may need verbatim.
    Identifiers,
}

impl Class {
    /// All classes, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::Item(ItemKind::Ask),
        Self::Item(ItemKind::Constraint),
        Self::Item(ItemKind::Decision),
        Self::Item(ItemKind::Open),
        Self::Identifiers,
        Self::Item(ItemKind::Error),
        Self::Item(ItemKind::File),
        Self::Item(ItemKind::Command),
    ];

    /// Returns the weight of the class in the share of kept items. The user's words weigh most, and
    /// what a tool can find again weighs least.
    pub fn weight(self) -> f64 {
        match self {
            Self::Item(ItemKind::Ask | ItemKind::Constraint) => 3.0,
            Self::Item(ItemKind::Decision | ItemKind::Open) | Self::Identifiers => 2.0,
            Self::Item(ItemKind::Error | ItemKind::File | ItemKind::Command) => 1.0,
        }
    }
}

/// Where an item from the old session can be found after the compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// The new session contains the item word for word.
    Retained,
    /// The new session has a handle or a path for text that contains the item, so the model can
    /// recover the item.
    Recoverable,
    /// Only a snapshot contains the item, so a person can recover it, but the model cannot.
    Saved,
    /// The item cannot be found in any text.
    Lost,
}

impl Standing {
    /// Returns the credit for an item: 1 if it is kept, ½ if the model can recover it, and 0
    /// otherwise.
    pub fn credit(self) -> f64 {
        match self {
            Self::Retained => 1.0,
            Self::Recoverable => 0.5,
            Self::Saved | Self::Lost => 0.0,
        }
    }
}

/// An item from the old session, and where it can be found after the compaction.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The class of the item.
    pub class: Class,
    /// The text of the item on one line, without secrets.
    pub text: String,
    /// The line number of the item in the old session. An identifier has the number of the last
    /// line that contains it.
    pub line: u64,
    /// The weight of the item within its class. An identifier's weight is the probability that it
    /// is needed again, and any other item has the weight 1.
    pub weight: f64,
    /// Where the item can be found after the compaction.
    pub standing: Standing,
}

/// The figures for one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The class.
    #[serde(skip)]
    pub class: Class,
    /// The number of items in the class.
    pub total: u64,
    /// The number of items that the new session contains.
    pub retained: u64,
    /// The number of items that are missing from the new session but can be recovered, even if only
    /// from a snapshot.
    pub recoverable: u64,
    /// The number of items that can be recovered only from a snapshot.
    pub saved: u64,
    /// The number of items that cannot be recovered.
    pub lost: u64,
    /// The number of items that are not scored, because they are finished, superseded or in
    /// progress. Such items are not included in `total`.
    pub retired: u64,
    /// The weighted share of kept items, or `None` if the class has no items.
    #[serde(serialize_with = "rounded_share")]
    pub score: Option<f64>,
}

/// Rounds a share to four decimals for output. More decimals would be noise.
pub fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

/// Serializes a rounded share.
#[allow(clippy::ref_option)] // Serde's signature.
pub fn rounded_share<S: Serializer>(share: &Option<f64>, to: S) -> Result<S::Ok, S::Error> {
    share.map(rounded).serialize(to)
}

/// The results for all items of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// All items, grouped by class, in session order. Identifiers are ordered from most to least
    /// likely to be needed again.
    pub items: Vec<Scored>,
    /// The class of each item that is not scored, because it is finished, superseded or in
    /// progress.
    pub retired: Vec<Class>,
}

impl Score {
    /// Returns the figures for each class, in the order of [`Class::ALL`].
    pub fn rows(&self) -> [Row; 8] {
        Class::ALL.map(|class| {
            let items = || self.items.iter().filter(move |item| item.class == class);
            let count = |standing| items().filter(|item| item.standing == standing).count() as u64;
            let saved = count(Standing::Saved);
            let weight: f64 = items().map(|item| item.weight).sum();
            let kept: f64 = items().map(|item| item.weight * item.standing.credit()).sum();
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

    /// Returns the share of kept items, from 0 to 1. The share is the weighted mean over all
    /// classes that have items, or 1 if there are no items.
    ///
    /// The items come from the same ledger from which our summaries are written. The share
    /// therefore says little about how much a reader knows, or about how one summary compares with
    /// another.
    pub fn items_kept(&self) -> f64 {
        let rows = self.rows();
        let scored = rows.iter().filter_map(|row| Some((row.class.weight(), row.score?)));
        let kept: f64 = scored.clone().map(|(weight, score)| weight * score).sum();
        let all: f64 = scored.map(|(weight, _)| weight).sum();
        if all > 0.0 { kept / all } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Class, Row, Score, Scored, Standing};
    use crate::ledger::ItemKind;

    #[test]
    fn every_kind_of_item_has_a_class_by_its_own_word() {
        for kind in ItemKind::ALL.iter().copied() {
            assert_eq!(<&str>::from(Class::Item(kind)), <&str>::from(kind));
        }
        // Identifiers are not items.
        assert_eq!(Class::ALL.len(), ItemKind::ALL.len() + 1);
        let words: HashSet<&str> = Class::ALL.map(Class::into).into();
        assert_eq!(words.len(), Class::ALL.len());
    }

    #[test]
    fn a_report_has_them_in_their_order() {
        // Apart from identifiers, the classes have the same order as the sections of a summary.
        let kinds = Class::ALL.into_iter().filter_map(|class| match class {
            Class::Item(kind) => Some(kind),
            Class::Identifiers => None,
        });
        assert!(kinds.eq(ItemKind::ALL.iter().copied()));
    }

    #[test]
    fn the_users_words_count_most_and_every_class_counts() {
        let weight = |kind| Class::Item(kind).weight();
        let heaviest = weight(ItemKind::Ask);
        for class in Class::ALL {
            assert!(class.weight() > 0.0 && class.weight() <= heaviest);
        }
        assert!(weight(ItemKind::Decision) > weight(ItemKind::Command));
    }

    #[test]
    fn only_what_the_model_can_have_is_credited() {
        let credits = [Standing::Retained, Standing::Recoverable, Standing::Saved, Standing::Lost]
            .map(Standing::credit);
        assert!(credits[0] > credits[1] && credits[1] > credits[2]);
        assert!((credits[0] - 1.0).abs() < 1e-12);
        assert!(credits[2].abs() < 1e-12 && credits[3].abs() < 1e-12);
    }

    const ASKS: Class = Class::Item(ItemKind::Ask);
    const ERRORS: Class = Class::Item(ItemKind::Error);
    const FILES: Class = Class::Item(ItemKind::File);

    fn scored(class: Class, weight: f64, standing: Standing) -> Scored {
        Scored { class, text: "words".to_owned(), line: 1, weight, standing }
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
        assert_eq!((asks.total, asks.retained, asks.lost, asks.retired), (4, 1, 1, 2));
        // Items that only a snapshot contains also count as recoverable.
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
        let score =
            Score { items: vec![scored(Class::Identifiers, 0.0, Standing::Lost)], retired: vec![] };
        let row = row(&score, Class::Identifiers);
        assert_eq!((row.total, row.lost, row.score), (1, 1, None));
        assert!(is_about(score.items_kept(), 1.0));
    }

    #[test]
    fn classes_count_by_their_weight_however_many_items_they_have() {
        let mut items = vec![scored(ASKS, 1.0, Standing::Retained)];
        items.extend(vec![scored(FILES, 1.0, Standing::Lost); 9]);
        let score = Score { items, retired: vec![] };
        let (asks, files) = (ASKS.weight(), FILES.weight());
        assert!(is_about(score.items_kept(), asks / (asks + files)));
    }
}
