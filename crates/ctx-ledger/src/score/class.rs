//! What is scored, and how much it counts.

use crate::ItemKind;

/// A class of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// What the user asked for.
    Asks,
    /// What must or must not be done.
    Constraints,
    /// What was settled.
    Decisions,
    /// What is still to be done.
    Open,
    /// Names, numbers, addresses that a later call may need to the letter.
    Identifiers,
    /// Errors.
    Errors,
    /// Files that were read or changed.
    Files,
    /// Commands that were run.
    Commands,
}

impl Class {
    /// All classes, in the order of a report.
    pub const ALL: [Self; 8] = [
        Self::Asks,
        Self::Constraints,
        Self::Decisions,
        Self::Open,
        Self::Identifiers,
        Self::Errors,
        Self::Files,
        Self::Commands,
    ];

    /// Its word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asks => "asks",
            Self::Constraints => "constraints",
            Self::Decisions => "decisions",
            Self::Open => "open",
            Self::Identifiers => "identifiers",
            Self::Errors => "errors",
            Self::Files => "files",
            Self::Commands => "commands",
        }
    }

    /// How much it counts in the fidelity: the user's words most, then what no tool
    /// can tell again, then what a tool could.
    pub fn weight(self) -> f64 {
        match self {
            Self::Asks | Self::Constraints => 3.0,
            Self::Decisions | Self::Open | Self::Identifiers => 2.0,
            Self::Errors | Self::Files | Self::Commands => 1.0,
        }
    }
}

impl From<ItemKind> for Class {
    fn from(kind: ItemKind) -> Self {
        match kind {
            ItemKind::Ask => Self::Asks,
            ItemKind::Constraint => Self::Constraints,
            ItemKind::Decision => Self::Decisions,
            ItemKind::Open => Self::Open,
            ItemKind::Error => Self::Errors,
            ItemKind::File => Self::Files,
            ItemKind::Command => Self::Commands,
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
            assert_eq!(Class::from(kind).as_str(), kind.as_str());
        }
        // Identifiers are no items.
        assert_eq!(Class::ALL.len(), ItemKind::ALL.len() + 1);
        let words: HashSet<&str> = Class::ALL.map(Class::as_str).into();
        assert_eq!(words.len(), Class::ALL.len());
    }

    #[test]
    fn a_report_has_them_in_their_order() {
        assert!(Class::ALL.is_sorted());
    }

    #[test]
    fn the_users_words_count_most_and_every_class_counts() {
        let heaviest = Class::Asks.weight();
        for class in Class::ALL {
            assert!(class.weight() > 0.0 && class.weight() <= heaviest);
        }
        assert!(Class::Decisions.weight() > Class::Commands.weight());
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
