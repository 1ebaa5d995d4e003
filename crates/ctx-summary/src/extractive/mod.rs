//! The extractive summary: typed items under fixed headings, and the segments of a
//! session that tell most of what is likely to be needed, in their order, within a
//! budget of tokens.

pub(crate) mod form;
mod pick;
mod sections;

use ctx_tokens::TokenCounter;

use crate::earlier::RECORD_HEADING;
use crate::ledger::Ledger;
use form::{DETAILS, citation, label, left_out};
use pick::Picker;
use sections::Sections;

/// What is left is filled up so many times: how many tokens a text has is only
/// known when it is written.
const ROUNDS: usize = 4;
/// Of the summary, citations of details may take one part in so many.
const CITATION_SHARE: u64 = 30;
/// Tokens of a citation.
const CITATION: u64 = 8;
/// A summary with fewer tokens does not say what it left out.
const TELLS_LEFT_OUT: u64 = 300;

/// Writes the summary of what `ledger` holds: at most `limit` tokens, without what
/// the texts that stay tell already.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let sections = Sections::of(ledger.items(), limit, counter);
    let mut counts = sections.left_out;
    ledger.add_left_out(&mut counts);
    let closing = if limit >= TELLS_LEFT_OUT {
        left_out(&counts)
    } else {
        String::new()
    };
    let mut picker = Picker::new(&ledger.index, &sections.text, counter);
    let write = |picked: &[usize]| {
        let details = details(ledger, picked, limit);
        let mut text = format!("{RECORD_HEADING}\n\n{}", sections.text);
        if !sections.text.is_empty() && !details.is_empty() {
            text.push_str(DETAILS);
            text.push('\n');
        }
        text.push_str(&details);
        text.push_str(&closing);
        text.truncate(text.trim_end().len());
        text
    };
    let mut text = write(&picker.picked);
    for _ in 0..ROUNDS {
        let left = limit.saturating_sub(counter.count(&text));
        if left == 0 || !picker.pick(left) {
            break;
        }
        text = write(&picker.picked);
        while counter.count(&text) > limit && picker.picked.pop().is_some() {
            text = write(&picker.picked);
        }
    }
    text
}

/// How many tokens of at most `limit` a summary would need to tell all that
/// is worth it; `limit`, without a closer look, where that is plainly more.
pub fn needed_tokens(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> u64 {
    // A token is seldom longer than 8 bytes.
    if ledger.index.bytes() / 8 > limit {
        return limit;
    }
    counter.count(&extractive(ledger, limit, counter))
}

/// Segments in the order of the session, each speaker named once; the lines they
/// come from are cited block by block.
fn details(ledger: &Ledger, picked: &[usize], limit: u64) -> String {
    let index = &ledger.index;
    let mut order = picked.to_vec();
    order.sort_unstable();
    let blocks = usize::try_from(limit / CITATION_SHARE / CITATION).unwrap_or(usize::MAX);
    let size = order.len().div_ceil(blocks.max(1)).max(1);
    let mut text = String::new();
    let mut before = None;
    for block in order.chunks(size) {
        let segments = block.iter().map(|number| &index.segments()[*number]);
        for segment in segments.clone() {
            let speaker = label(segment.origin);
            if before != Some(speaker) {
                text.push_str(speaker);
                before = Some(speaker);
            }
            text.push_str(index.text(segment));
            text.push('\n');
        }
        let lines = segments
            .map(|segment| segment.line)
            .filter(|line| *line > 0);
        if let (true, Some(first), Some(last)) = (blocks > 0, lines.clone().min(), lines.max()) {
            text.pop();
            text.push(' ');
            text.push_str(&citation(first, last));
            text.push('\n');
        }
    }
    text
}
