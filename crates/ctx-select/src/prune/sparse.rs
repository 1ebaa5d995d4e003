//! Values that few records or results have, kept apart from what all of them have.

/// Values by the number of what they belong to, which only grows.
#[derive(Clone, Debug)]
pub(super) struct Sparse<T>(Vec<(u32, T)>);

impl<T> Default for Sparse<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Sparse<T> {
    /// Adds a value; `number` is not less than that of the one before.
    pub(super) fn push(&mut self, number: usize, value: T) {
        self.0.push((compact(number as u64), value));
    }

    /// All values of a number, in the order they were added.
    pub(super) fn all(&self, number: usize) -> impl Iterator<Item = &T> {
        let number = compact(number as u64);
        let begin = self.0.partition_point(|(other, _)| *other < number);
        let here = self.0[begin..].iter();
        here.take_while(move |(other, _)| *other == number)
            .map(|(_, value)| value)
    }

    /// The first value of a number.
    pub(super) fn get(&self, number: usize) -> Option<&T> {
        self.all(number).next()
    }
}

/// A number of a record or a result, or a count within one, in half the memory: more
/// than four billion of them are in no session that fits into memory.
pub(super) fn compact(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Sparse;

    #[test]
    fn values_are_found_by_their_number() {
        let mut values = Sparse::default();
        for (number, value) in [(2, 'a'), (5, 'b'), (5, 'c'), (9, 'd')] {
            values.push(number, value);
        }
        assert_eq!(values.get(2), Some(&'a'));
        assert_eq!(values.all(5).collect::<String>(), "bc");
        assert_eq!(values.get(9), Some(&'d'));
        for none in [0, 3, 10] {
            assert_eq!(values.get(none), None);
        }
    }
}
