//! Where the records in waiting come from, and how long they are. Most are one whole line
//! behind the one before, so of most only the length is kept.

use ctx_transcript::{Piece, Spool};

use crate::PassError;

/// A record, or a piece of one, that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) piece: Piece,
    /// Longer records come in pieces.
    pub(super) length: u32,
}

impl Item {
    /// Its bytes, which come next in this spool.
    pub(super) fn pop(self, spool: &mut Spool) -> Result<Vec<u8>, PassError> {
        let bytes = spool.pop(self.length as usize);
        bytes.map_err(PassError::temporary)
    }
}

/// All of them, in their order.
#[derive(Default)]
pub(super) struct Items {
    lengths: Vec<u32>,
    /// Those that are no whole line behind the one before, by their numbers.
    others: Vec<(usize, u64, Piece)>,
    /// The line of the last one.
    line: u64,
}

impl Items {
    /// The next one.
    pub(super) fn push(&mut self, item: Item) {
        let Item {
            line,
            piece,
            length,
        } = item;
        if line != self.line + 1 || piece != Piece::Whole {
            self.others.push((self.lengths.len(), line, piece));
        }
        self.lengths.push(length);
        self.line = line;
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Item> {
        let mut others = self.others.iter().peekable();
        let mut last = 0;
        let lengths = self.lengths.iter().enumerate();
        lengths.map(move |(number, &length)| {
            let other = others.next_if(|(of, ..)| *of == number);
            let (line, piece) = other.map_or((last + 1, Piece::Whole), |it| (it.1, it.2));
            last = line;
            Item {
                line,
                piece,
                length,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use ctx_transcript::Piece;
    use proptest::prelude::*;

    use super::{Item, Items};

    proptest! {
        #[test]
        fn items_come_back_as_they_were(
            steps in prop::collection::vec((0..3_u64, 0..4_usize, 0..9_u32), 0..40),
        ) {
            let pieces = [Piece::Whole, Piece::First, Piece::Middle, Piece::Last];
            let mut line = 0;
            let all: Vec<Item> = steps.into_iter().map(|(step, piece, length)| {
                line += step;
                Item { line, piece: pieces[piece], length }
            }).collect();
            let mut items = Items::default();
            for item in &all {
                items.push(*item);
            }
            prop_assert_eq!(items.iter().collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn of_a_line_behind_another_only_the_length_is_kept() {
        let mut items = Items::default();
        for line in [1, 2, 5, 6] {
            let piece = Piece::Whole;
            items.push(Item {
                line,
                piece,
                length: 7,
            });
        }
        assert_eq!(items.others.len(), 1);
    }
}
