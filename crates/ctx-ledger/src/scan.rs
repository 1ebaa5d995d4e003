//! What stands in a segment: identifiers, in prose also names and figures, each with
//! the words beside it.

use std::ops::Range;

use crate::context::Words;
use crate::identifier::{self, Shape};
use crate::term;

/// An identifier in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) place: Range<usize>,
    pub(crate) shape: Shape,
    /// How many words beside it say what it is, up to [`crate::context::ENOUGH`].
    pub(crate) words: u8,
}

/// Reads segments; what it allocates serves all of them.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    found: Vec<Match>,
    words: Words,
}

impl Scan {
    /// The identifiers of a segment; in `prose` also terms, behind them. Words are
    /// counted only when asked for.
    pub(crate) fn read(&mut self, text: &str, prose: bool, with_words: bool) -> &[Match] {
        self.found.clear();
        let found = &mut self.found;
        let words = 0;
        identifier::scan(text, |place, shape| {
            found.push(Match {
                place,
                shape,
                words,
            });
        });
        if prose {
            let identifiers = found.len();
            term::scan(text, |place| {
                let known = found[..identifiers].iter();
                if !known.map(|known| &known.place).any(|known| *known == place) {
                    let shape = Shape::Term;
                    found.push(Match {
                        place,
                        shape,
                        words,
                    });
                }
            });
        }
        if with_words && !found.is_empty() {
            self.words.read(text);
            for found in found.iter_mut() {
                found.words = self.words.beside(text, &found.place);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;

    fn found(text: &str, prose: bool) -> Vec<(&str, u8)> {
        let mut scan = Scan::default();
        scan.read("an earlier_segment that is forgotten", true, true);
        let found = scan.read(text, prose, true).iter();
        found
            .map(|found| (&text[found.place.clone()], found.words))
            .collect()
    }

    #[test]
    fn terms_come_behind_identifiers_and_only_in_prose() {
        let text = "met John Smith about order_17 for 3 nights";
        assert_eq!(found(text, false), [("order_17", 2)]);
        assert_eq!(
            found(text, true),
            [("order_17", 2), ("John Smith", 1), ("3 nights", 2)]
        );
    }

    #[test]
    fn what_is_an_identifier_is_no_term_as_well() {
        assert_eq!(found("it rose 1250% in price", true), [("1250%", 2)]);
    }

    #[test]
    fn words_are_counted_when_asked_for() {
        let mut scan = Scan::default();
        assert_eq!(
            scan.read("the order W123 was shipped", true, false)[0].words,
            0
        );
        assert_eq!(
            scan.read("the order W123 was shipped", true, true)[0].words,
            2
        );
        assert_eq!(scan.read("", true, true), []);
    }
}
