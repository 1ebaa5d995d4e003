//! The messages that make the context, where a record may hold several.

use std::collections::{BTreeMap, HashMap};

use super::{Outside, Presence, View};
use crate::Portion;

/// A message of the context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said {
    /// The number of its record.
    pub(crate) record: usize,
    /// Its number in there.
    pub(crate) number: usize,
    /// What is handed out as one message: a number for each of these, in the order in which
    /// they begin.
    pub(crate) group: usize,
}

/// Why each message is out of the context, if it is, of the records that hold several.
pub(crate) type Lists = HashMap<usize, Vec<Outside>>;

impl View {
    /// The messages that make the context, in their order. The records of a group come in the
    /// order of the file.
    pub(crate) fn add(&mut self, said: &[Said], lists: &Lists) {
        let mut groups: BTreeMap<usize, (u64, Vec<usize>)> = BTreeMap::new();
        let mut places: BTreeMap<usize, Vec<(usize, u64)>> = BTreeMap::new();
        let mut last = None;
        for one in said {
            if last.replace(one.group) != Some(one.group) {
                self.messages += 1;
            }
            // A group that others stand in is at the place of its beginning.
            let place = self.messages - 1;
            let (_, records) = groups
                .entry(one.group)
                .or_insert_with(|| (place, Vec::new()));
            if records.last().is_none_or(|last| *last < one.record) {
                records.push(one.record);
            }
            let inside = places.entry(one.record).or_default();
            inside.push((one.number, place));
        }
        for (place, records) in groups.values() {
            self.put(*place, records);
        }
        for (record, inside) in places {
            let reasons = lists.get(&record).map_or(&[][..], Vec::as_slice);
            self.add_portion(record, inside, reasons);
        }
    }

    fn add_portion(&mut self, record: usize, inside: Vec<(usize, u64)>, reasons: &[Outside]) {
        let Presence::Inside(fragment) = self.of(record) else {
            return;
        };
        let is_together = inside.iter().all(|(_, place)| *place == fragment.message);
        if is_together && inside.len() >= reasons.len() {
            return;
        }
        let portion = Portion::new(inside, reasons);
        self.portions.insert(record, portion);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Outside, Presence, View};
    use super::{Lists, Said};

    fn said(all: &[(usize, usize, usize)]) -> Vec<Said> {
        let said = all.iter().map(|(record, number, group)| Said {
            record: *record,
            number: *number,
            group: *group,
        });
        said.collect()
    }

    #[test]
    fn a_list_of_which_all_is_there_together_is_a_whole_record() {
        let mut view = View::outside([Outside::NeverSent; 3]);
        let lists = Lists::from([(0, vec![Outside::NeverSent; 2])]);
        view.add(&said(&[(0, 0, 0), (0, 1, 0), (1, 0, 1), (2, 0, 1)]), &lists);
        assert!((0..3).all(|record| view.portion(record).is_none()));
        let message = |record| match view.of(record) {
            Presence::Inside(fragment) => (fragment.message, fragment.begins, fragment.ends),
            Presence::Outside(_) => panic!("outside"),
        };
        assert_eq!(message(0), (0, true, true));
        assert_eq!(message(1), (1, true, false));
        assert_eq!(message(2), (1, false, true));
    }

    #[test]
    fn what_stands_between_the_messages_of_a_list_parts_them() {
        let mut view = View::outside([Outside::NeverSent; 2]);
        let lists = Lists::from([(0, vec![Outside::Superseded; 3])]);
        view.add(&said(&[(0, 2, 0), (1, 0, 1), (0, 0, 0)]), &lists);
        let portion = view.portion(0).expect("not all of it together");
        assert_eq!(portion.inside(), [(0, 2), (2, 0)]);
        assert_eq!(portion.outside(), [(1, Outside::Superseded)]);
        assert!(portion.holds(0) && !portion.holds(1));
        assert_eq!(view.portion(1), None);
        // What follows is a message of its own.
        view.add_message(&[1]);
        assert!(matches!(view.of(1), Presence::Inside(it) if it.message == 3));
    }
}
