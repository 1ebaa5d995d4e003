//! The lines of a summary, written so that no text can pass for another speaker's.

use crate::ledger::Kind;
use crate::ledger::form::{Label, labelled};

/// A summary of this many tokens cites the lines that it quotes.
pub(super) const CITES: u64 = 600;

/// The words of a segment. Its headings are one level below those of the summary.
pub(super) fn words_of(text: &str, kind: Kind) -> String {
    if kind == Kind::Heading && text.starts_with('#') {
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
