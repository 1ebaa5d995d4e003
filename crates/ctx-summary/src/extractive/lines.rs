//! How words stand in the lines of a summary, so that nobody passes for somebody else.

use ctx_ledger::Kind;
use ctx_ledger::form::{Label, labelled};

/// A summary of so many tokens cites the lines that it quotes.
pub(super) const CITES: u64 = 600;

/// The words of a segment; a heading of somebody's stands below those of the summary.
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

/// Whether a line cannot pass for somebody else's, or for a heading of the summary's.
pub(super) fn is_plain(words: &str) -> bool {
    !words.starts_with("## ") && !words.starts_with("⟦") && labelled(words).is_none()
}
