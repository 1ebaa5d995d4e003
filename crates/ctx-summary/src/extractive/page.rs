//! The story as it is written: in the order of the session, what belongs together in one
//! place, and who speaks.

use std::fmt::Write as _;

use super::heads;
use ctx_ledger::form::{Label, labelled};
use ctx_ledger::{Index, Kind};

/// The lines of the chosen segments. With `cite` what a user says has the line of the session
/// before it: there is the rest of the turn, too.
pub(super) fn write(index: &Index, chosen: &[bool], cite: bool) -> String {
    let segments = index.segments();
    let mut order: Vec<(Vec<usize>, usize)> = Vec::new();
    for number in (0..segments.len()).filter(|number| chosen[*number]) {
        let mut chain: Vec<usize> = heads::chain(segments, number).collect();
        chain.reverse();
        order.push((chain, number));
    }
    order.sort();
    let mut text = String::new();
    let mut before: Option<(Label, u32, u64)> = None;
    for (_, number) in order {
        let segment = &segments[number];
        let label = Label::of(segment.origin, segment.kind);
        let words = written(index.text(segment), segment.kind);
        let place = (label, segment.turn, segment.line);
        let same = before.is_some_and(|(of, turn, _)| (of, turn) == (label, segment.turn));
        if !(same && label.goes_on() && is_plain(&words)) {
            if cite && label == Label::User && segment.line > 0 && before != Some(place) {
                let _ = write!(text, "[{}] ", segment.line);
            }
            text.push_str(label.as_str());
        }
        before = Some(place);
        // Each line of a tool's is marked.
        let marked = format!("\n{}", label.as_str());
        text.push_str(&if label.goes_on() {
            words
        } else {
            words.replace('\n', &marked)
        });
        text.push('\n');
    }
    text
}

pub(super) fn written(words: &str, kind: Kind) -> String {
    if kind == Kind::Heading && words.starts_with('#') {
        return format!("### {}", words.trim_start_matches('#').trim_start());
    }
    words.to_owned()
}

/// Whether a line cannot pass for somebody else's, or for a heading of the summary's.
pub(super) fn is_plain(words: &str) -> bool {
    !words.starts_with("## ") && !words.starts_with("⟦") && labelled(words).is_none()
}
