//! Chooses the segments that tell the story of a session. Segments are preferred if they contain
//! something new that is useful to a reader who continues the work.

use ctx_tokens::TokenCounter;

use super::greedy::{Candidate, Greedy, Judge};
use super::page::{chain_of_heads, tokens_with_heads};
use super::segment_worth::{later_words, worths};
use super::talk::{Line, Talk};
use super::terms::Words;
use crate::ledger::{Index, Origin};

/// The part of a segment's worth that does not depend on how many of its words are new.
const ALONE: f64 = 0.1;
/// The part of a request's worth that does not depend on how many of its words are new. This part
/// is large, so that a request is quoted in full if it fits.
const ALONE_ASKED: f64 = 0.6;
/// If the user's words take up more than [`ASKED_SHARE`] percent of the story, the worth of a
/// request's later words is multiplied by [`CROWDED`]. A long request mostly names things that have
/// since been done.
const ASKED_SHARE: u64 = 35;
const CROWDED: f64 = 0.5;

/// The number of tokens that a message in a dialogue takes up in addition to its name and text.
const PER_MESSAGE: u64 = 3;

/// Judges segments by how many of their words the story does not contain yet.
pub(super) struct Teller<'i> {
    index: &'i Index,
    talk: Option<&'i Talk<'i>>,
    worths: Vec<f64>,
    words: Words,
    /// The number of tokens in the user's chosen segments. Once this exceeds `most_asked`, segments
    /// from the later part of a long request are worth less.
    asked: u64,
    most_asked: u64,
    later: Vec<bool>,
}

impl<'i> Teller<'i> {
    pub(super) fn greedy(
        index: &'i Index,
        talk: Option<&'i Talk<'i>>,
        hidden: &[bool],
        counter: &dyn TokenCounter,
    ) -> Greedy<Self> {
        let worths = worths(index, talk, hidden);
        let candidates: Vec<bool> = worths.iter().map(|worth| *worth > 0.0).collect();
        let tokens = match talk {
            Some(talk) => {
                let count = |line: &Line<'_>| counter.count(line.name) + counter.count(line.text);
                talk.lines.iter().map(|line| count(line) + PER_MESSAGE).collect()
            }
            None => tokens_with_heads(index, &candidates, Vec::new(), counter),
        };
        let teller = Self {
            index,
            talk,
            words: Words::of(index, talk.is_some(), &candidates),
            asked: 0,
            most_asked: 0,
            later: later_words(index),
            worths,
        };
        Greedy::new(teller, tokens, vec![false; candidates.len()], &candidates)
    }

    /// Returns true if a segment belongs to a request. A dialogue has none.
    fn is_asked(&self, number: usize) -> bool {
        self.talk.is_none() && self.index.segments[number].origin == Origin::User
    }
}

impl Judge for Teller<'_> {
    fn begin(&mut self, room: u64) {
        self.most_asked = room * ASKED_SHARE / 100;
    }

    fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>) {
        let heads = chain_of_heads(self.index, self.talk, number);
        chain.clear();
        chain.extend(heads.take_while(|number| !chosen[*number]));
    }

    fn candidate(&self, chain: &[usize], tokens: u64) -> Option<Candidate> {
        let number = *chain.first()?;
        let alone = if self.is_asked(number) { ALONE_ASKED } else { ALONE };
        let mut worth = self.worths[number] * (alone + self.words.news(number));
        if self.asked > self.most_asked && self.later[number] {
            worth *= CROWDED;
        }
        Some(Candidate::new(worth, number, tokens))
    }

    fn take(&mut self, chain: &[usize], tokens: &[u64]) {
        self.words.tell(chain[0]);
        let asked = chain.iter().filter(|number| self.is_asked(**number));
        self.asked += asked.map(|number| tokens[*number]).sum::<u64>();
    }
}
