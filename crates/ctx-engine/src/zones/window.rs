//! Finds the first of the messages to keep at the end of a session.

use std::collections::VecDeque;

use ctx_format::Outline;
use ctx_policy::Keep;

/// The facts about a message whose exchange is already known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageFacts {
    /// Whether the message is an instruction from the operator.
    pub is_system: bool,
    /// Whether the record begins a message; false for a later fragment of the message.
    pub begins_message: bool,
    /// Whether the message begins a turn.
    pub begins_turn: bool,
    /// The token count of the message, if [`Keep::tokens`](Keep::tokens) is set.
    pub tokens: u64,
    /// Whether the message is pinned by a selector.
    pub pinned: bool,
    /// The exchange that contains the message, identified by the number of its first record.
    pub exchange: Option<u64>,
    /// Whether the message consists of results whose calls are missing, which no API accepts.
    pub is_orphan: bool,
}

/// Returns true if a message with this outline consists of results without a call. `exchange` is the
/// message's exchange.
pub(crate) fn is_orphan(outline: &Outline<'_>, exchange: Option<u64>) -> bool {
    exchange.is_none() && !outline.results.is_empty() && !outline.begins_turn
}

/// Finds where the kept tail begins, as messages arrive.
#[derive(Debug, Default)]
pub(super) struct Window {
    keep: Keep,
    messages: VecDeque<u64>,
    turns: VecDeque<u64>,
    counted: VecDeque<(u64, u64)>,
    tokens: u64,
}

impl Window {
    pub(super) fn new(keep: Keep) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Processes a record whose message is not a system message.
    pub(super) fn push(&mut self, number: u64, known: &MessageFacts) {
        if let Some(keep) = self.keep.messages.filter(|_| known.begins_message) {
            push_bounded(&mut self.messages, number, keep);
        }
        if let Some(keep) = self.keep.turns.filter(|_| known.begins_turn) {
            push_bounded(&mut self.turns, number, keep);
        }
        if let Some(keep) = self.keep.tokens {
            self.counted.push_back((number, known.tokens));
            self.tokens += known.tokens;
            while let Some((_, first)) = self.counted.front() {
                if self.tokens - first < keep {
                    break;
                }
                self.tokens -= first;
                self.counted.pop_front();
            }
        }
    }

    /// Returns the number of the first message in the tail. If the tail is empty, returns `next`,
    /// the number of the next record.
    pub(super) fn first_kept(&self, next: u64) -> u64 {
        let of_turns = |turns: u64| {
            // If there are fewer turns than requested, everything is kept, including what precedes
            // the first turn.
            if turns > 0 && (self.turns.len() as u64) < turns {
                Some(0)
            } else {
                self.turns.front().copied()
            }
        };
        let starts = [
            self.messages.front().copied(),
            self.keep.turns.and_then(of_turns),
            self.counted.front().map(|(number, _)| *number),
        ];
        starts.into_iter().flatten().min().unwrap_or(next)
    }
}

fn push_bounded(last: &mut VecDeque<u64>, number: u64, keep: u64) {
    last.push_back(number);
    if last.len() as u64 > keep {
        last.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::{Keep, MessageFacts, Window};

    /// Returns where the tail begins after four messages of 10 tokens. The first and third messages
    /// begin turns.
    fn first_kept(keep: Keep) -> u64 {
        let mut window = Window::new(keep);
        for number in 1..=4 {
            window.push(
                number,
                &MessageFacts {
                    begins_message: true,
                    begins_turn: number % 2 == 1,
                    tokens: 10,
                    ..MessageFacts::default()
                },
            );
        }
        window.first_kept(5)
    }

    #[test]
    fn the_floor_that_keeps_most_decides() {
        let keep = |messages, turns, tokens| Keep { messages, turns, tokens, recent_share: None };
        assert_eq!(first_kept(Keep::default()), 5);
        assert_eq!(first_kept(keep(Some(1), None, None)), 4);
        assert_eq!(first_kept(keep(Some(0), None, None)), 5);
        assert_eq!(first_kept(keep(None, Some(1), None)), 3);
        assert_eq!(first_kept(keep(None, None, Some(11))), 3);
        assert_eq!(first_kept(keep(Some(1), Some(1), Some(25))), 2);
        // With fewer turns than requested, everything is kept, including what precedes the first
        // turn.
        assert_eq!(first_kept(keep(None, Some(3), None)), 0);
    }

    #[test]
    fn fragments_count_as_one_message() {
        let mut window = Window::new(Keep { messages: Some(1), ..Keep::default() });
        for (number, begins_message) in [(1, true), (2, true), (3, false)] {
            let known = MessageFacts { begins_message, ..MessageFacts::default() };
            window.push(number, &known);
        }
        assert_eq!(window.first_kept(4), 2);
    }
}
