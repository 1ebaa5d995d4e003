//! The positions of a record's words, to see whether some of them are close together.

use std::collections::HashMap;

use super::words::MOST;

/// Every word of a record, with its places.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// The last place of each word.
    last: HashMap<u64, u32>,
    /// By place, the one before it of the same word.
    before: Vec<u32>,
    is_full: bool,
}

/// Before the first place of a word, and between texts.
const NONE: u32 = u32::MAX;
/// About 16 MB.
const MOST_PLACES: usize = 4_000_000;
/// Words of one statement, or of one object of a list, are no farther apart.
const WINDOW: usize = 16;

impl Places {
    /// The next word of a text.
    pub(super) fn insert(&mut self, word: u64) {
        if self.last.len() >= MOST && !self.last.contains_key(&word) {
            self.is_full = true;
            return;
        }
        let place = match u32::try_from(self.before.len()) {
            Ok(place) if self.before.len() < MOST_PLACES => place,
            _ => NONE,
        };
        let before = self.last.insert(word, place).unwrap_or(NONE);
        if place != NONE {
            self.before.push(before);
        }
    }

    /// The text ends: its words are not near those of the next one.
    pub(super) fn end_text(&mut self) {
        let with_gap = self.before.len() + WINDOW;
        self.before.resize(with_gap.min(MOST_PLACES), NONE);
    }

    /// Whether a word is there, or may have been.
    pub(super) fn has(&self, word: u64) -> bool {
        self.is_full || self.last.contains_key(&word)
    }

    /// Whether rows of words stand near one another, each without others between its words.
    pub(super) fn are_near(&self, rows: &[Vec<u64>]) -> bool {
        if self.is_full || self.before.len() >= MOST_PLACES {
            return true;
        }
        let mut places = rows.iter().map(|row| self.of_row(row));
        let Some(first) = places.next() else {
            return false;
        };
        let others: Vec<Vec<usize>> = places.collect();
        let is_near = |places: &[usize], at: usize| {
            let below = places.partition_point(|place| *place > at + WINDOW);
            places.get(below).is_some_and(|place| place + WINDOW >= at)
        };
        first.iter().any(|at| others.iter().all(|places| is_near(places, *at)))
    }

    /// The positions of a sequence, last first.
    fn of_row(&self, row: &[u64]) -> Vec<usize> {
        let Some((first, others)) = row.split_first() else {
            return Vec::new();
        };
        let mut begins: Vec<usize> = self.of(*first).collect();
        for (behind, word) in (1..).zip(others) {
            let places: Vec<usize> = self.of(*word).collect();
            let follows = |begin: &usize| {
                let at = places.binary_search_by(|place| (begin + behind).cmp(place));
                at.is_ok()
            };
            begins.retain(follows);
        }
        begins
    }

    /// The places of a word, the last one first.
    fn of(&self, word: u64) -> impl Iterator<Item = usize> {
        let place = |place: u32| (place != NONE).then_some(place as usize);
        let last = self.last.get(&word).copied().and_then(place);
        std::iter::successors(last, move |at| place(self.before[*at]))
    }
}

#[cfg(test)]
mod tests {
    use super::{Places, WINDOW};

    fn of(texts: &[&[u64]]) -> Places {
        let mut places = Places::default();
        for text in texts {
            text.iter().for_each(|word| places.insert(*word));
            places.end_text();
        }
        places
    }

    #[test]
    fn near_are_words_of_one_text_with_few_others_between() {
        let far = [vec![1, 2], vec![0; WINDOW - 1], vec![3, 4]].concat();
        let places = of(&[&far, &[5, 6, 1]]);
        for there in [
            vec![vec![1]],
            vec![vec![1], vec![2]],
            vec![vec![3], vec![2], vec![3, 4]],
            vec![vec![1], vec![6], vec![5]],
        ] {
            assert!(places.are_near(&there), "{there:?}");
        }
        for missing in [
            vec![],
            vec![vec![7]],
            vec![vec![2, 1]],
            vec![vec![1], vec![4]],
            vec![vec![5], vec![4]],
        ] {
            assert!(!places.are_near(&missing), "{missing:?}");
        }
        assert!(places.has(5) && !places.has(7));
    }
}
