//! Checks that the lines of an agent are in the order in which it wrote them.

use std::collections::{HashMap, HashSet};

use super::agent::Agent;
use super::lines::EXCHANGE;

/// The lines of one file that are out of order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The numbers of lines that occur more than once.
    pub twice: Vec<usize>,
    /// The numbers of lines that come after a line that was written later through the same
    /// descriptor.
    pub torn: Vec<usize>,
    /// The number of lines that directly follow a line that the same writer wrote later through
    /// another descriptor. A tool cannot prevent this if the kernel has no file leases.
    pub misplaced: usize,
}

impl Order {
    /// Checks the lines with these numbers, in the order of the file.
    pub fn of(agent: Agent, numbers: &[usize]) -> Self {
        let mut order = Self::default();
        let mut seen = HashSet::new();
        let mut last_of_descriptor: HashMap<usize, usize> = HashMap::new();
        let mut last_of_writer: HashMap<usize, usize> = HashMap::new();
        for number in numbers {
            if !seen.insert(number) {
                order.twice.push(*number);
                continue;
            }
            let last = last_of_descriptor.entry(agent.descriptor(*number)).or_default();
            let is_torn = *last > *number;
            if is_torn {
                order.torn.push(*number);
            }
            *last = *number.max(last);
            let last = last_of_writer.insert(agent.writer(*number), *number);
            order.misplaced += usize::from(!is_torn && last.is_some_and(|last| last > *number));
        }
        order
    }
}

impl Agent {
    /// Returns the number of the descriptor (or of the copy) through which an agent writes a line.
    fn descriptor(self, number: usize) -> usize {
        match self {
            Self::Holding(lines) => number / lines,
            Self::HoldingHalves => 0,
            Self::Exchanges | Self::Two | Self::Copying => number / EXCHANGE,
            Self::Opening | Self::OpeningForHalves | Self::WritingOver | Self::Renaming => number,
        }
    }

    /// Returns the number of the agent that writes a line, if there are two.
    fn writer(self, number: usize) -> usize {
        number / EXCHANGE % self.writers()
    }
}

#[cfg(test)]
mod tests {
    use super::{Agent, Order};

    #[test]
    fn what_one_descriptor_wrote_stays_in_order() {
        let order = |agent, numbers: &[usize]| {
            let Order { twice, torn, misplaced } = Order::of(agent, numbers);
            (twice, torn, misplaced)
        };
        let sound = (vec![], vec![], 0);
        assert_eq!(order(Agent::Holding(8), &[0, 1, 7, 8, 9]), sound);
        assert_eq!(order(Agent::Holding(8), &[0, 2, 1, 8]), (vec![], vec![1], 0));
        assert_eq!(order(Agent::Holding(8), &[8, 0, 9, 1]), (vec![], vec![], 2));
        assert_eq!(order(Agent::HoldingHalves, &[9, 0]), (vec![], vec![0], 0));
        assert_eq!(order(Agent::Opening, &[1, 0, 2]), (vec![], vec![], 1));
        assert_eq!(order(Agent::Opening, &[0, 1, 0]), (vec![0], vec![], 0));
        // Two agents each have an order of their own.
        assert_eq!(order(Agent::Two, &[4, 5, 0, 1]), sound);
        assert_eq!(order(Agent::Two, &[8, 0, 4]), (vec![], vec![], 1));
        assert_eq!(order(Agent::Two, &[1, 0]), (vec![], vec![0], 0));
    }
}
