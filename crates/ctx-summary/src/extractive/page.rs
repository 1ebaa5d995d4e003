//! Renders the story in the order of the session, with related lines together and the speaker of
//! each.

use std::fmt::Write as _;

use ctx_tokens::TokenCounter;

use super::pick::PER_LINE;
use crate::ledger::form::{Label, labelled};
use crate::ledger::{Index, Segment, SegmentKind};

/// The lines of the chosen segments. With `cite` what a user says has the line of the session
/// before it: there is the rest of the turn, too.
pub(super) fn write(index: &Index, chosen: &[bool], cite: bool) -> String {
    let mut text = String::new();
    let mut before: Option<LinePosition> = None;
    for number in order(index.segments(), chosen) {
        let segment = &index.segments()[number];
        let place = LinePosition::of(segment);
        let label = place.label;
        let words = words_of(index.text(segment), segment.kind);
        let goes_on = before.is_some_and(|before| place.goes_on(before));
        if !(goes_on && is_plain(&words)) {
            if cite && label == Label::User && place.line > 0 && before != Some(place) {
                let _ = write!(text, "[{}] ", place.line);
            }
            text.push_str(label.as_str());
        }
        before = Some(place);
        if label.goes_on() {
            text.push_str(&words);
        } else {
            // Each line of a tool's is marked.
            text.push_str(&marked(&words, label));
        }
        text.push('\n');
    }
    text
}

/// The numbers of the chosen segments, each behind what it stands under.
fn order(segments: &[Segment], chosen: &[bool]) -> impl Iterator<Item = usize> {
    let numbers = (0..segments.len()).filter(|number| chosen[*number]);
    let from_the_top = |number| {
        let mut chain: Vec<usize> = chain_of_heads(segments, number).collect();
        chain.reverse();
        (chain, number)
    };
    let mut order: Vec<(Vec<usize>, usize)> = numbers.map(from_the_top).collect();
    order.sort();
    order.into_iter().map(|(_, number)| number)
}

/// The speaker and the line.
#[derive(Clone, Copy, PartialEq, Eq)]
struct LinePosition {
    label: Label,
    turn: u32,
    line: u64,
}

impl LinePosition {
    fn of(segment: &Segment) -> Self {
        Self {
            label: Label::of(segment.origin, segment.kind),
            turn: segment.turn,
            line: segment.line,
        }
    }

    /// Whether the one who spoke before goes on here.
    fn goes_on(self, before: Self) -> bool {
        self.label.goes_on() && (self.label, self.turn) == (before.label, before.turn)
    }
}

/// A summary of this many tokens cites the lines that it quotes.
pub(super) const CITES: u64 = 600;

/// The words of a segment. Its headings are one level below those of the summary.
pub(super) fn words_of(text: &str, kind: SegmentKind) -> String {
    if kind == SegmentKind::Heading && text.starts_with('#') {
        return format!("### {}", text.trim_start_matches('#').trim_start());
    }
    text.to_owned()
}

/// Words of several lines with a label before each but the first, which has its own.
pub(super) fn marked(words: &str, label: Label) -> String {
    words.replace('\n', &format!("\n{}", label.as_str()))
}

/// Whether a line can pass neither for another speaker's nor for a heading of the summary.
pub(super) fn is_plain(words: &str) -> bool {
    !words.starts_with("## ") && !words.starts_with("⟦") && labelled(words).is_none()
}

/// A segment, then what it stands under, up to the top.
pub(super) fn chain_of_heads(segments: &[Segment], number: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(number), |at| segments[*at].head)
}

/// The tokens of the lines of some segments and of what they stand under; 0 for all others.
pub(super) fn tokens_with_heads(
    index: &Index,
    candidates: &[bool],
    counter: &dyn TokenCounter,
) -> Vec<u64> {
    let segments = index.segments();
    let mut needed = candidates.to_vec();
    // The head of a segment precedes it.
    for (number, segment) in segments.iter().enumerate().rev() {
        if let (true, Some(head)) = (needed[number], segment.head) {
            needed[head] = true;
        }
    }
    let count = |(segment, needed): (&Segment, &bool)| {
        if *needed { counter.count(index.text(segment)) + PER_LINE } else { 0 }
    };
    segments.iter().zip(&needed).map(count).collect()
}
