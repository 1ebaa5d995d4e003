//! The extractive summary: the segments of a session that tell most of what is
//! likely to be needed, in their order, within a budget of tokens.

mod pick;

use ctx_tokens::TokenCounter;

use crate::ledger::{Ledger, Origin};
use pick::pick;

/// Tokens that headings and names may add to a line.
const FRAME: u64 = 12;

/// Writes the summary of what `ledger` holds: at most `limit` tokens, without what
/// the texts that stay tell already.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let picked = pick(&ledger.index, limit.saturating_sub(FRAME), counter);
    let mut picked = picked.segments;
    loop {
        let text = layout(ledger, &picked);
        if picked.is_empty() || counter.count_up_to(&text, limit).is_some() {
            return text;
        }
        let fewer = picked.len() - 1 - picked.len() / 50;
        picked.truncate(fewer);
    }
}

fn layout(ledger: &Ledger, picked: &[usize]) -> String {
    let index = &ledger.index;
    let mut order = picked.to_vec();
    order.sort_unstable();
    let mut text = String::new();
    let mut before = None;
    for number in order {
        let segment = &index.segments()[number];
        let speaker = match segment.origin {
            Origin::User => "user",
            Origin::Said | Origin::Call => "agent",
            Origin::Result => "result",
        };
        if before != Some(speaker) {
            text.push_str(speaker);
            text.push_str(": ");
            before = Some(speaker);
        }
        text.push_str(index.text(segment));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
