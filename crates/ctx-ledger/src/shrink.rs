//! Bounded memory: of a session without end the better half of the segments stays,
//! again and again.

use std::collections::{HashMap, HashSet};

use crate::facts::Facts;
use crate::index::{Id, Index, Segment, hash};

/// Segments may take so many bytes, and so many identifiers may be known.
pub(crate) const MOST_BYTES: usize = 16 << 20;
pub(crate) const MOST_IDENTIFIERS: usize = 1 << 18;

impl Index {
    /// Whether it is time to [`Self::shrink`].
    pub(crate) fn is_full(&self) -> bool {
        self.arena.len() > MOST_BYTES || self.facts.len() > MOST_IDENTIFIERS
    }

    /// Keeps the segments that are worth most for their length, up to half of the
    /// bytes, and the identifiers in them.
    pub(crate) fn shrink(&mut self) {
        let chances = self.chances();
        let worth = |segment: &Segment| -> f64 {
            let marks = self.marks(segment).iter();
            let worth: f64 = marks
                .map(|mark| chances[mark.id as usize] * f64::from(1 + mark.words))
                .sum();
            #[allow(clippy::cast_precision_loss)] // A segment is short.
            let length = self.text(segment).len() as f64;
            worth / length
        };
        let mut order: Vec<(f64, usize)> = (self.segments.iter().map(worth)).zip(0..).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        let mut left = MOST_BYTES.min(self.arena.len()) / 2;
        let mut keep = vec![false; self.segments.len()];
        for (_, number) in order {
            let length = self.text(&self.segments[number]).len();
            if length > left {
                break;
            }
            left -= length;
            keep[number] = true;
        }
        self.keep_segments(&keep);
        self.keep_identifiers();
    }

    fn keep_segments(&mut self, keep: &[bool]) {
        let (mut arena, mut marks) = (String::new(), Vec::new());
        let mut segments = Vec::new();
        let mut seen = HashSet::new();
        for (segment, _) in self.segments.iter().zip(keep).filter(|(_, keep)| **keep) {
            let text = self.text(segment);
            seen.insert(hash(text));
            let text_start = arena.len();
            arena.push_str(text);
            let first_mark = marks.len();
            marks.extend_from_slice(self.marks(segment));
            segments.push(segment.moved(text_start..arena.len(), first_mark..marks.len()));
        }
        self.arena = arena;
        self.marks = marks;
        self.segments = segments;
        self.seen = seen;
    }

    /// Keeps the identifiers of the segments, and of the system's texts.
    fn keep_identifiers(&mut self) {
        let mut used: HashSet<Id> = self.marks.iter().map(|mark| mark.id).collect();
        used.extend(&self.given);
        used.extend(&self.current);
        let mut names: Vec<(Box<str>, Id)> = std::mem::take(&mut self.ids).into_iter().collect();
        names.retain(|(_, id)| used.contains(id));
        names.sort_by_key(|(_, id)| *id);
        let mut new_ids: HashMap<Id, Id> = HashMap::new();
        let mut facts: Vec<Facts> = Vec::new();
        let (mut told, mut lines) = (Vec::new(), Vec::new());
        for (name, id) in names {
            let new = u32::try_from(facts.len()).unwrap_or(u32::MAX);
            facts.push(self.facts[id as usize]);
            told.push(self.told[id as usize]);
            lines.push(self.lines[id as usize]);
            new_ids.insert(id, new);
            self.ids.insert(name, new);
        }
        self.facts = facts;
        self.told = told;
        self.lines = lines;
        for mark in &mut self.marks {
            mark.id = new_ids[&mark.id];
        }
        self.given = self.given.iter().map(|id| new_ids[id]).collect();
        self.current = self.current.iter().map(|id| new_ids[id]).collect();
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::Origin;
    use crate::index::Index;

    #[test]
    fn the_better_half_stays() {
        let mut index = Index::default();
        for number in 0..2_000 {
            index.begin(false);
            index.at(number);
            let text = if number % 50 == 0 {
                format!("the order ORD{number:05} was shipped to the customer")
            } else {
                format!("line {number:05} of a file that was listed in full")
            };
            index.add(&text, number, Origin::Result, true);
            if number % 50 == 0 {
                index.add_argument(&format!("ORD{number:05}"));
            }
            index.end();
        }
        let (bytes, segments) = (index.bytes(), index.segments().len());
        index.shrink();
        assert!(index.bytes() <= bytes / 2);
        assert!(index.segments().len() < segments);
        let kept: Vec<&str> = index.segments().iter().map(|s| index.text(s)).collect();
        for number in (0..2_000).step_by(50) {
            let order = format!("ORD{number:05}");
            assert!(kept.iter().any(|text| text.contains(&order)), "{order}");
        }
        assert!(index.segments().is_sorted_by_key(|segment| segment.line));
        // And it goes on.
        index.begin(false);
        index.at(2_001);
        index.add("the order ORD00000 is back", 2_001, Origin::User, true);
        index.end();
        assert_eq!(index.chances().len(), index.told().len());
        let lines = index.identifiers();
        let line = |name| lines.iter().find(|id| id.text == name).map(|id| id.line);
        assert_eq!(line("ORD00050"), Some(50));
        assert_eq!(line("ORD00000"), Some(2_001));
    }
}
