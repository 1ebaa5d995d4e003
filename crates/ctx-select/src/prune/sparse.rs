//! What only few records, or few results, have: found by their numbers, in little more memory
//! than it takes itself.

/// Values by number. They are added in the order of their numbers.
#[derive(Debug)]
pub(super) struct Sparse<T>(Vec<(u32, T)>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Sparse<T> {
    /// The value of a number that is greater than all before.
    pub(super) fn insert(&mut self, number: usize, value: T) {
        self.0.push((number_of(number), value));
    }

    /// The value of the number, if it has one.
    pub(super) fn get(&self, number: usize) -> Option<&T> {
        let number = number_of(number);
        let at = self.0.binary_search_by_key(&number, |(of, _)| *of).ok()?;
        Some(&self.0[at].1)
    }
}

impl<T: Default> Sparse<T> {
    /// The value of a number that is not less than all before; new if it has none.
    pub(super) fn last(&mut self, number: usize) -> &mut T {
        let number = number_of(number);
        if self.0.last().is_none_or(|(of, _)| *of != number) {
            self.0.push((number, T::default()));
        }
        let last = self.0.len() - 1;
        &mut self.0[last].1
    }
}

fn number_of(number: usize) -> u32 {
    super::session::compact(number as u64)
}

#[cfg(test)]
mod tests {
    use super::Sparse;

    #[test]
    fn values_are_found_by_their_numbers() {
        let mut sparse = Sparse::default();
        sparse.insert(3, 'a');
        sparse.insert(7, 'b');
        let found = [0, 3, 4, 7, 8].map(|number| sparse.get(number).copied());
        assert_eq!(found, [None, Some('a'), None, Some('b'), None]);
        let mut lists = Sparse::<Vec<u8>>::default();
        lists.last(2).push(1);
        lists.last(2).push(2);
        lists.last(5).push(3);
        assert_eq!(lists.get(2), Some(&vec![1, 2]));
        assert_eq!(lists.get(5), Some(&vec![3]));
    }
}
