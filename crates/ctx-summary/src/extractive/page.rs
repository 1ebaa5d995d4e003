//! Renders the story in the order of the session, with related lines next to each other. Each line
//! begins with its speaker.

use std::borrow::Cow;
use std::fmt::Write as _;

use ctx_tokens::TokenCounter;

use crate::ledger::form::{Label, labelled};
use crate::ledger::{Index, Segment, SegmentKind};

/// Writes the chosen segments as lines. With `cite`, the user's lines begin with their line number
/// in the session, where the reader finds the whole turn.
pub(super) fn write(index: &Index, chosen: &[bool], cite: bool) -> String {
    let mut text = String::new();
    // The speaker, the turn and the line of the previous segment.
    let mut before: Option<(Label, u32, u64)> = None;
    for number in order(index.segments(), chosen) {
        let segment = &index.segments()[number];
        let label = Label::of(segment.origin, segment.kind);
        let words = words_of(index.text(segment), segment.kind);
        let is_same = before.is_some_and(|(of, turn, _)| (of, turn) == (label, segment.turn));
        let place = Some((label, segment.turn, segment.line));
        if !(is_same && label.goes_on() && is_plain(&words)) {
            if cite && label == Label::User && segment.line > 0 && before != place {
                let _ = write!(text, "[{}] ", segment.line);
            }
            text.push_str(label.as_str());
        }
        before = place;
        if label.goes_on() || !words.contains('\n') {
            text.push_str(&words);
        } else {
            // In a tool's output, every line gets the label.
            text.push_str(&marked(&words, label));
        }
        text.push('\n');
    }
    text
}

/// Returns the numbers of the chosen segments, each after the segment above it.
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

/// The number of tokens that a line needs in addition to its text.
pub(super) const PER_LINE: u64 = 1;
/// A summary with a limit of at least this many tokens cites the lines that it quotes.
pub(super) const CITES: u64 = 600;

/// Returns the text of a segment. A heading becomes one level lower than the headings of the
/// summary.
pub(super) fn words_of(text: &str, kind: SegmentKind) -> Cow<'_, str> {
    if kind == SegmentKind::Heading && text.starts_with('#') {
        return format!("### {}", text.trim_start_matches('#').trim_start()).into();
    }
    text.into()
}

/// Puts a label before each line of a text except the first, whose label is already written.
pub(super) fn marked(words: &str, label: Label) -> String {
    words.replace('\n', &format!("\n{}", label.as_str()))
}

/// Returns true if the line cannot be mistaken for another speaker or for a heading of the summary.
pub(super) fn is_plain(words: &str) -> bool {
    !words.starts_with("## ") && !words.starts_with("⟦") && labelled(words).is_none()
}

/// Returns a segment, then the segment above it, and so on to the top.
pub(super) fn chain_of_heads(segments: &[Segment], number: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(number), |at| segments[*at].head)
}

/// Returns the number of tokens in each candidate and in each segment above a candidate; 0 for all
/// other segments. `known` has the numbers of the segments that were counted before, and 0 for the
/// segments that were not.
pub(super) fn tokens_with_heads(
    index: &Index,
    candidates: &[bool],
    mut known: Vec<u64>,
    counter: &dyn TokenCounter,
) -> Vec<u64> {
    known.resize(candidates.len(), 0);
    let segments = index.segments();
    let mut needed = candidates.to_vec();
    // The head of a segment comes before it.
    for (number, segment) in segments.iter().enumerate().rev() {
        if let (true, Some(head)) = (needed[number], segment.head) {
            needed[head] = true;
        }
    }
    let tokens = |number: usize| match known[number] {
        0 if needed[number] => counter.count(index.text(&segments[number])) + PER_LINE,
        known => known,
    };
    index.in_halves(|half| half.map(tokens).collect::<Vec<u64>>()).concat()
}
