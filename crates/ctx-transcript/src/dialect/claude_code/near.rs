//! Lines by their times: where a parent is missing, the nearest one before takes its place.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::node::Node;

/// How near it has to be, in milliseconds.
const NEAR: i64 = 5_000;

/// The lines of one agent that are not on the path yet.
pub(super) struct Near {
    /// Time and place, by time; of one time the last one in the file first.
    lines: Vec<(i64, usize)>,
    /// For each line the next one down that is not on the path, or itself; one more than
    /// there are lines, since 0 is none. So a file of which all parents are missing costs
    /// no more than another.
    next: Vec<usize>,
}

impl Near {
    /// All lines of the main agent, or of helpers.
    pub(super) fn of<'n>(
        nodes: impl Iterator<Item = (usize, &'n Node)>,
        is_sidechain: bool,
    ) -> Self {
        let own = nodes.filter(|(_, node)| node.is_sidechain == is_sidechain);
        let mut lines: Vec<(i64, usize)> = own
            .filter_map(|(place, node)| Some((node.time?, place)))
            .collect();
        lines.sort_unstable_by_key(|(time, place)| (*time, Reverse(*place)));
        let next = (0..=lines.len()).collect();
        Self { lines, next }
    }

    /// The nearest line up to that time that was not seen; of one time the first in the file.
    pub(super) fn before(&mut self, time: i64, seen: &HashSet<usize>) -> Option<usize> {
        let mut at = self.lines.partition_point(|(other, _)| *other <= time);
        loop {
            at = self.down(at);
            let (found, place) = *self.lines.get(at.checked_sub(1)?)?;
            if time - found > NEAR {
                return None;
            }
            if !seen.contains(&place) {
                return Some(place);
            }
            self.next[at] = at - 1;
        }
    }

    /// The next one down that may not have been seen.
    fn down(&mut self, from: usize) -> usize {
        let mut end = from;
        while self.next[end] != end {
            end = self.next[end];
        }
        let mut at = from;
        while at != end {
            at = std::mem::replace(&mut self.next[at], end);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::node::{Kind, Node};
    use super::Near;
    use crate::dialect::key::Key;

    fn nodes(times: &[i64]) -> Vec<Node> {
        let nodes = times.iter().enumerate().map(|(record, time)| Node {
            record,
            id: Key::of(&record.to_string()),
            parent: None,
            kind: Kind::System,
            time: Some(*time),
            is_sidechain: false,
            is_sent: false,
            boundary: None,
        });
        nodes.collect()
    }

    #[test]
    fn the_nearest_that_was_not_seen_and_of_one_time_the_first() {
        let nodes = nodes(&[10, 20, 20, 30, 9_000]);
        let mut near = Near::of(nodes.iter().enumerate(), false);
        let mut seen = HashSet::new();
        for expected in [3, 1, 2, 0] {
            assert_eq!(near.before(30, &seen), Some(expected));
            seen.insert(expected);
        }
        assert_eq!(near.before(30, &seen), None);
        assert_eq!(near.before(8_999, &HashSet::new()), None, "too far");
        assert_eq!(
            Near::of(nodes.iter().enumerate(), true).before(30, &seen),
            None
        );
    }
}
