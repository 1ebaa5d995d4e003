//! The tail that is to be kept: where it begins.

use std::collections::VecDeque;

/// How much of the end is kept at least. Several are ORed: what one of them
/// keeps is kept. None at all keeps nothing but pins and the latest user message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Keep {
    /// The last N messages, system ones not counted.
    pub messages: Option<u64>,
    /// The last N turns.
    pub turns: Option<u64>,
    /// The last messages that hold at least N tokens.
    pub tokens: Option<u64>,
}

/// Follows the beginning of the kept tail as messages come.
#[derive(Debug)]
pub(super) struct Window {
    keep: Keep,
    messages: VecDeque<u64>,
    turns: VecDeque<u64>,
    counted: VecDeque<(u64, u64)>,
    tokens: u64,
}

impl Window {
    pub(super) fn new(keep: Keep) -> Self {
        Self {
            keep,
            messages: VecDeque::new(),
            turns: VecDeque::new(),
            counted: VecDeque::new(),
            tokens: 0,
        }
    }

    /// The next message that is no system message.
    pub(super) fn push(&mut self, number: u64, begins_turn: bool, tokens: u64) {
        if let Some(keep) = self.keep.messages {
            push_bounded(&mut self.messages, number, keep);
        }
        if let Some(keep) = self.keep.turns.filter(|_| begins_turn) {
            push_bounded(&mut self.turns, number, keep);
        }
        if let Some(keep) = self.keep.tokens {
            self.counted.push_back((number, tokens));
            self.tokens += tokens;
            while let Some((_, first)) = self.counted.front() {
                if self.tokens - first < keep {
                    break;
                }
                self.tokens -= first;
                self.counted.pop_front();
            }
        }
    }

    /// Number of the first message in the tail; `next`, the number of the record
    /// that comes next, when the tail is empty.
    pub(super) fn first_kept(&self, next: u64) -> u64 {
        let of_turns = |turns: u64| {
            // Before the first of the last N turns lie only older turns; until
            // there are N, everything is kept.
            if turns > 0 && (self.turns.len() as u64) < turns {
                Some(0)
            } else {
                self.turns.front().copied()
            }
        };
        let starts = [
            self.keep
                .messages
                .and_then(|_| self.messages.front().copied()),
            self.keep.turns.and_then(of_turns),
            self.keep
                .tokens
                .and_then(|_| self.counted.front().map(|(number, _)| *number)),
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
