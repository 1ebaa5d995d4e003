//! Chooses the segments that tell the story of a session. Segments are preferred if they contain
//! something new that is useful to a reader who continues the work.

use ctx_tokens::TokenCounter;

use super::greedy::{Candidate, Greedy, Judge};
use super::page::{chain_of_heads, tokens_with_heads};
use super::segment_worth::{later_words, worths};
use super::terms::{WordLists, Words, is_wide, says_something};
use crate::ledger::identifier::{WORD, run};
use crate::ledger::{Index, Origin, Segment};

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

/// Judges segments by how many of their words the story does not contain yet.
pub(super) struct Teller<'i> {
    index: &'i Index,
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
        hidden: &[bool],
        counter: &dyn TokenCounter,
    ) -> Greedy<Self> {
        let worths = worths(index, hidden);
        let candidates: Vec<bool> = worths.iter().map(|worth| *worth > 0.0).collect();
        let tokens = tokens_with_heads(index, &candidates, Vec::new(), counter);
        let teller = Self {
            index,
            words: Words::of_segments(index, &candidates),
            asked: 0,
            most_asked: 0,
            later: later_words(index),
            worths,
        };
        Greedy::new(teller, tokens, vec![false; candidates.len()], &candidates)
    }

    fn is_asked(&self, number: usize) -> bool {
        self.index.segments[number].origin == Origin::User
    }
}

impl Judge for Teller<'_> {
    fn begin(&mut self, room: u64) {
        self.most_asked = room * ASKED_SHARE / 100;
    }

    fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>) {
        let heads = chain_of_heads(&self.index.segments, number);
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
        Some(Candidate::for_length(worth, number, tokens))
    }

    fn take(&mut self, chain: &[usize], tokens: &[u64]) {
        self.words.tell(chain[0]);
        let asked = chain.iter().filter(|number| self.is_asked(**number));
        self.asked += asked.map(|number| tokens[*number]).sum::<u64>();
    }
}

/// The factors for a word that occurs in no line of the story, in one, or in several.
const AGAIN: [f64; 3] = [1.0, 0.25, 0.08];
/// The factor for a word that occurs in a statement, not only in tool output.
const SAID: f64 = 1.6;

impl Words {
    /// Collects the words in the `candidates`.
    fn of_segments(index: &Index, candidates: &[bool]) -> Self {
        let segments = &index.segments;
        let [mut lists, others] = index.in_halves(|half| {
            let (mut lists, mut lower) = (WordLists::default(), String::new());
            for number in half {
                let text = if candidates[number] { index.text(&segments[number]) } else { "" };
                lists.add(|found| words(text, &mut lower, found));
            }
            lists
        });
        lists.append(&others);
        let is_said = |segment: &Segment| matches!(segment.origin, Origin::User | Origin::Said);
        let counts = lists.counts(|_| true);
        let said = lists.counts(|number| is_said(&segments[number]));
        let all: u32 = candidates.iter().map(|is_candidate| u32::from(*is_candidate)).sum();
        let rare =
            |count: u32| (1.0 + f64::from(all) / f64::from(count)).ln() / f64::from(all + 1).ln();
        let counts = counts.iter().zip(&said);
        let worths = counts.map(|(count, said)| rare(*count) * if *said > 0 { SAID } else { 1.0 });
        Self::new(lists, worths.collect(), AGAIN)
    }
}

/// Calls `found` with each word, in lower case. Each Chinese character counts as a word. `lower` is
/// a buffer that is reused for each text.
fn words(text: &str, lower: &mut String, found: &mut dyn FnMut(&str)) {
    let mut tell = |word: &str| {
        if says_something(word) {
            found(word);
        }
    };
    if !text.is_ascii() {
        let words = ctx_text::words(text, is_wide);
        return words.for_each(|word| tell(&text[word].to_lowercase()));
    }
    lower.clear();
    lower.push_str(text);
    lower.make_ascii_lowercase();
    let mut at = 0;
    while at < lower.len() {
        let end = at + run(lower.as_bytes(), at, WORD);
        tell(&lower[at..end]);
        at = end + 1;
    }
}
