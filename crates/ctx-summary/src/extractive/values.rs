//! Chooses which segments to quote in a summary for the sake of the values in them. Values that are
//! likely to be needed are preferred, and readable lines are preferred to lines of code.

use ctx_tokens::TokenCounter;

use super::greedy::{Candidate, Greedy, Judge};
use super::page::{chain_of_heads, tokens_with_heads};
use super::segment_worth::{CODE_LINE, IMPORT, has_files, is_plain_prose};
use super::talk::Talk;
use crate::ledger::{Index, Mark, Origin, Segment, SegmentKind, is_frame, without_place};

/// The share of an identifier's worth that text covers. The first share is for text that does not
/// contain the identifier. The other shares are for text that contains the identifier with zero,
/// one, or several of the words around it.
const OF_COVERAGE: [f64; 4] = [0.0, 0.35, 0.5, 1.0];
/// A line is quoted only for an identifier that is needed with at least this probability.
const LEAST_CHANCE: f64 = 0.0005;

/// In a summary of less than a sixth of the text, a line of tool output is quoted only if it is worth
/// at least this much.
const LEAST_WORTH: f64 = 0.01;
const SPARSE: u64 = 6;

/// Below this length, in tokens, a summary quotes most values without the heading or call above
/// them, and omits lines that mean nothing on their own.
const LITTLE: u64 = 400;
/// Below this length, in tokens, a summary omits single lines of code that can be read again.
const SHORT: u64 = 1_300;

/// Judges segments by the identifiers in them that the summary does not contain yet.
pub(super) struct Picker<'i> {
    index: &'i Index,
    talk: Option<&'i Talk<'i>>,
    chances: Vec<f64>,
    coverage: Vec<f64>,
    reads: Vec<f64>,
    has_heads: bool,
    /// The worth that a line of tool output must exceed.
    least: f64,
}

impl<'i> Picker<'i> {
    /// Prepares to choose segments for a summary of `limit` tokens. `written` is the summary so
    /// far, which contains the `chosen` segments. `known` holds the token counts of the segments
    /// that have already been counted. `hidden` marks the segments that are not to be quoted.
    pub(super) fn greedy(
        index: &'i Index,
        talk: Option<&'i Talk<'i>>,
        hidden: &[bool],
        written: &str,
        (chosen, known): (&[bool], &[u64]),
        limit: u64,
        counter: &dyn TokenCounter,
    ) -> Greedy<Self> {
        let has_code = limit >= SHORT || limit >= LITTLE && !has_files(&index.segments);
        let coverage = index.coverage_with(written).into_iter();
        let coverage = coverage.map(|words| OF_COVERAGE[usize::from(words).min(3)]);
        let mut picker = Self {
            index,
            talk,
            chances: index.chances(),
            coverage: coverage.collect(),
            reads: Vec::new(),
            has_heads: limit >= LITTLE || talk.is_some(),
            least: if limit * 4 * SPARSE < index.arena.len() as u64 { LEAST_WORTH } else { 0.0 },
        };
        let says = |at: usize| talk.is_none_or(|talk| talk.lines[at].says);
        let is_open = |at: usize| !chosen[at] && !hidden[at] && !index.segments[at].is_covered;
        let mut tells: Vec<bool> =
            (0..chosen.len()).map(|at| is_open(at) && says(at) && picker.worth(at) > 0.0).collect();
        picker.reads = prose_worths(index, &tells);
        if !has_code {
            tells.iter_mut().zip(&picker.reads).for_each(|(tells, reads)| *tells &= *reads >= 1.0);
        }
        let tokens = tokens_with_heads(index, &tells, known.to_vec(), counter);
        Greedy::new(picker, tokens, chosen.to_vec(), &tells)
    }

    /// Returns the worth that a segment adds to the summary.
    fn worth(&self, number: usize) -> f64 {
        let worth = |mark: &Mark| {
            let id = mark.id as usize;
            let chance = self.chances[id];
            let more = OF_COVERAGE[usize::from(mark.words) + 1] - self.coverage[id];
            if chance > LEAST_CHANCE && more > 0.0 { chance * more } else { 0.0 }
        };
        self.index.marks(&self.index.segments[number]).iter().map(worth).sum()
    }
}

impl Judge for Picker<'_> {
    fn chain(&self, number: usize, chosen: &[bool], chain: &mut Vec<usize>) {
        let segment = &self.index.segments[number];
        // A list item or a bare figure means nothing without the heading or call above it.
        let is_bare = || !self.index.text(segment).contains(char::is_alphabetic);
        let has_heads = self.has_heads || segment.kind == SegmentKind::Item || is_bare();
        let most = if has_heads { usize::MAX } else { 1 };
        let heads = chain_of_heads(self.index, self.talk, number).take(most);
        chain.clear();
        chain.extend(heads.take_while(|number| !chosen[*number]));
    }

    fn candidate(&self, chain: &[usize], tokens: u64) -> Option<Candidate> {
        let number = *chain.first()?;
        let worth = self.worth(number) * self.reads[number];
        let is_output = self.index.segments[number].origin == Origin::Result;
        let least = if is_output { self.least } else { 0.0 };
        (worth > least).then(|| Candidate::new(worth, number, tokens))
    }

    fn take(&mut self, chain: &[usize], _tokens: &[u64]) {
        for number in chain {
            for mark in self.index.marks(&self.index.segments[*number]) {
                let coverage = &mut self.coverage[mark.id as usize];
                *coverage = coverage.max(OF_COVERAGE[usize::from(mark.words) + 1]);
            }
        }
    }
}

/// The factor for pasted text, which is less useful than the user's own words.
const PASTED: f64 = 0.3;
const OUTCOME: f64 = 1.3;
/// The factor for a passed test or a stack frame, which is usually one of many.
const PASSED: f64 = 0.3;
/// The beginnings of lines for a single passed or started test.
const PASSES: [&str; 7] = ["ok ", "--- PASS", "PASS ", "✓", "✔", "=== RUN", "=== CONT"];
/// The factor for a line of code that only imports names.
const IMPORTED: f64 = 0.3;
/// The factor for a line of code that the model wrote, which is now in a file.
const WRITTEN: f64 = 0.2;
/// The factor for a line of control flow in code, and for a line around a search result.
const STATEMENT: f64 = 0.3;
/// The factor for a sentence of the model that only introduces what follows.
const LEAD: f64 = 0.4;
/// The factor for a call of which only the names in it are of use.
const CALL: f64 = 0.2;
/// The factor for the result of a change, which only repeats the change.
const ECHO: f64 = 0.3;

/// Returns the readability of each candidate: 1 for a line that is clear when read with the heading
/// or call above it.
fn prose_worths(index: &Index, candidates: &[bool]) -> Vec<f64> {
    let is_echo = |segment: &Segment| {
        segment.origin == Origin::Result
            && segment.head.is_some_and(|head| index.segments[head].kind == SegmentKind::Change)
    };
    let reads = |number: usize| match &index.segments[number] {
        _ if !candidates[number] => 0.0,
        segment if is_echo(segment) => ECHO,
        segment => reads(segment, index.text(segment)),
    };
    index.in_halves(|half| half.map(reads).collect::<Vec<f64>>()).concat()
}

fn reads(segment: &Segment, text: &str) -> f64 {
    match segment.origin {
        Origin::Said if segment.kind == SegmentKind::Quoted => {}
        Origin::Said if segment.kind == SegmentKind::Lead => return LEAD,
        Origin::User | Origin::Said | Origin::Earlier => return 1.0,
        Origin::Pasted => return PASTED,
        Origin::Call | Origin::Result => {}
    }
    match (segment.kind, segment.origin) {
        (_, Origin::Result) if PASSES.iter().any(|word| text.starts_with(word)) => PASSED,
        (SegmentKind::Line, _) if is_frame(text) => PASSED,
        (SegmentKind::Outcome, _) => OUTCOME,
        (SegmentKind::Line | SegmentKind::Name, _) if IMPORT.is_match(text) => IMPORTED,
        (SegmentKind::Line, Origin::Result) if is_statement(text) => STATEMENT,
        (SegmentKind::Call, _) => CALL,
        (SegmentKind::Line, Origin::Call) if !is_plain_prose(text) => WRITTEN,
        _ => 1.0,
    }
}

/// Returns true for a line of control flow in code, and for a line that a search shows because it
/// is near a match, such as `a.go-12-x := 1`.
fn is_statement(text: &str) -> bool {
    let code = without_place(text);
    let place = text[..text.len() - code.len()].trim_end();
    place.ends_with('-') || CODE_LINE.is_match(code)
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::super::page::PER_LINE;
    use super::{Greedy, Picker};

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    /// Returns the ledger of a session in which each entry in `segments` is a user message.
    fn ledger(segments: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
        for (line, text) in (1..).zip(segments) {
            let message = Message::new(Role::User, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        ledger
    }

    fn picker<'l>(ledger: &'l Ledger, written: &str) -> Greedy<Picker<'l>> {
        let chosen = vec![false; ledger.index.segments.len()];
        Picker::greedy(&ledger.index, None, &chosen, written, (&chosen, &[]), 1_000, counter())
    }

    fn picked(picker: &Greedy<Picker<'_>>) -> Vec<usize> {
        picker.order.clone()
    }

    #[test]
    fn from_nothing_nothing_is_picked() {
        let ledger = ledger(&["", "no names in here"]);
        let mut picker = picker(&ledger, "");
        assert!(!picker.more(1_000) && !picker.drop_last(1_000));
        assert_eq!(picked(&picker), [0; 0]);
    }

    #[test]
    fn every_segment_is_picked_once_where_there_is_room() {
        let ledger = ledger(&["the order W8123", "订单 W9999 已发货", "see src/main.rs for it"]);
        let mut picker = picker(&ledger, "");
        assert!(picker.more(1_000));
        let mut all = picked(&picker);
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2]);
        assert!(!picker.more(1_000));
    }

    #[test]
    fn what_is_written_already_is_not_picked() {
        let ledger = ledger(&["the order W8123 was shipped", "see src/main.rs for it"]);
        let mut picker = picker(&ledger, "the order W8123 was shipped");
        picker.more(1_000);
        assert_eq!(picked(&picker), [1]);
    }

    #[test]
    fn of_two_that_tell_the_same_one_is_enough() {
        let ledger = ledger(&["the order W8123 was shipped", "so the order W8123 was shipped"]);
        let mut picker = picker(&ledger, "");
        picker.more(1_000);
        assert_eq!(picked(&picker).len(), 1);
    }

    #[test]
    fn what_is_too_long_waits_for_more_room() {
        let long = format!("order W8123 {}", "and words ".repeat(20));
        let ledger = ledger(&[&long, "see user_4711 there"]);
        let mut picker = picker(&ledger, "");
        let room = counter().count("see user_4711 there") + PER_LINE;
        assert!(!picker.more(room - 1));
        assert!(picker.more(room));
        assert_eq!(picked(&picker), [1]);
        assert!(picker.more(1_000));
        assert_eq!(picked(&picker), [1, 0]);
    }

    #[test]
    fn the_last_ones_are_given_back_first() {
        let ledger = ledger(&["the order W8123", "the order W8124", "the order W8125"]);
        let mut picker = picker(&ledger, "");
        picker.more(1_000);
        let all = picked(&picker);
        assert!(!picker.drop_last(0));
        assert!(picker.drop_last(1));
        assert_eq!(picked(&picker), all[..2]);
        assert!(picker.drop_last(u64::MAX));
        assert_eq!(picked(&picker), [0; 0]);
        assert!(!picker.drop_last(1));
    }
}
