//! The extractive summary: the segments of a session that tell most of what is
//! likely to be needed, in their order, within a budget of tokens.

mod pick;

use ctx_tokens::TokenCounter;

use crate::earlier::RECORD_HEADING;
use crate::ledger::{Ledger, Origin};
use pick::Picker;

/// What is left is filled up so many times: how many tokens a text has is only
/// known when it is written.
const ROUNDS: usize = 4;

/// Writes the summary of what `ledger` holds: at most `limit` tokens, without what
/// the texts that stay tell already.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let mut picker = Picker::new(&ledger.index, counter);
    let mut text = layout(ledger, &picker.picked);
    for _ in 0..ROUNDS {
        let left = limit.saturating_sub(counter.count(&text));
        if left == 0 || !picker.pick(left) {
            break;
        }
        text = layout(ledger, &picker.picked);
        while counter.count(&text) > limit && picker.picked.pop().is_some() {
            text = layout(ledger, &picker.picked);
        }
    }
    text
}

fn layout(ledger: &Ledger, picked: &[usize]) -> String {
    let index = &ledger.index;
    let mut order = picked.to_vec();
    order.sort_unstable();
    let mut text = format!("{RECORD_HEADING}\n");
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
