//! What is scored, and how much it counts.

use crate::ItemKind;

/// A class of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Items of a kind.
    Item(ItemKind),
    /// Names, numbers, addresses that a later call may need to the letter.
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

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Item(kind) => kind.as_str(),
            Self::Identifiers => "identifiers",
        }
    }

    /// How much it counts among the items kept: the user's words most, then what no tool
    /// can tell again, then what a tool could.
    pub fn weight(self) -> f64 {
        match self {
            Self::Item(ItemKind::Ask | ItemKind::Constraint) => 3.0,
            Self::Item(ItemKind::Decision | ItemKind::Open) | Self::Identifiers => 2.0,
            Self::Item(ItemKind::Error | ItemKind::File | ItemKind::Command) => 1.0,
        }
    }
}

/// What became of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// It stands in the new session, word for word.
    Retained,
    /// It stands in a text that the new session names by a handle or a path: the
    /// model can have it back.
    Recoverable,
    /// It stands only in a snapshot: a person can have it back, the model cannot.
    Saved,
    /// It is nowhere.
    Lost,
}

impl Standing {
    /// The part of an item that counts as kept.
    pub fn credit(self) -> f64 {
        match self {
            Self::Retained => 1.0,
            Self::Recoverable => 0.5,
            Self::Saved | Self::Lost => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Class, Standing};
    use crate::ItemKind;

    #[test]
    fn every_kind_of_item_has_a_class_by_its_own_word() {
        for kind in ItemKind::ALL {
            assert_eq!(Class::Item(kind).as_str(), kind.as_str());
        }
        // Identifiers are no items.
        assert_eq!(Class::ALL.len(), ItemKind::ALL.len() + 1);
        let words: HashSet<&str> = Class::ALL.map(Class::as_str).into();
        assert_eq!(words.len(), Class::ALL.len());
    }

    #[test]
    fn a_report_has_them_in_their_order() {
        // Items stand as in a summary.
        let kinds = Class::ALL.into_iter().filter_map(|class| match class {
            Class::Item(kind) => Some(kind),
            Class::Identifiers => None,
        });
        assert!(kinds.eq(ItemKind::ALL));
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
        let credits = [
            Standing::Retained,
            Standing::Recoverable,
            Standing::Saved,
            Standing::Lost,
        ]
        .map(Standing::credit);
        assert!(credits[0] > credits[1] && credits[1] > credits[2]);
        assert!((credits[0] - 1.0).abs() < 1e-12);
        assert!(credits[2].abs() < 1e-12 && credits[3].abs() < 1e-12);
    }
}
