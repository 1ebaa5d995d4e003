//! Renders the story in the order of the session, with related lines together and the speaker of
//! each.

use std::fmt::Write as _;

use super::heads;
use super::lines::{is_plain, marked, words_of};
use crate::ledger::form::Label;
use crate::ledger::{Index, Segment};

/// The lines of the chosen segments. With `cite` what a user says has the line of the session
/// before it: there is the rest of the turn, too.
pub(super) fn write(index: &Index, chosen: &[bool], cite: bool) -> String {
    let mut text = String::new();
    let mut before: Option<Place> = None;
    for number in order(index.segments(), chosen) {
        let segment = &index.segments()[number];
        let place = Place::of(segment);
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
        let mut chain: Vec<usize> = heads::chain(segments, number).collect();
        chain.reverse();
        (chain, number)
    };
    let mut order: Vec<(Vec<usize>, usize)> = numbers.map(from_the_top).collect();
    order.sort();
    order.into_iter().map(|(_, number)| number)
}

/// The speaker and the line.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    label: Label,
    turn: u32,
    line: u64,
}

impl Place {
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
