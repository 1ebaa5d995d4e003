//! The extractive summary: typed items under fixed headings, and the segments of a
//! session that tell most of what is likely to be needed, in their order, within a
//! budget of tokens.

mod draft;
mod pick;
mod sections;

use ctx_tokens::TokenCounter;

use crate::earlier::RECORD_HEADING;
use ctx_ledger::{Item, Ledger};
use draft::written;
use sections::Sections;

/// Less room is not worth a completion.
const LEAST_COMPLETION: u64 = 30;
/// Of a summary, what the sections of items may take, in percent.
const SECTIONS_SHARE: u64 = 39;

/// Writes the summary of what `ledger` holds: at most `limit` tokens, without what
/// the texts that stay tell already.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    written(
        ledger,
        &format!("{RECORD_HEADING}\n\n"),
        limit,
        false,
        counter,
    )
}

/// A summary that a model wrote, with what it leaves out behind it: the items of the
/// ledger that it does not have, and segments for what it does not tell, up to
/// `limit` tokens in all. It stays as it is where there is no room.
pub fn completed(ledger: &Ledger, summary: &str, limit: u64, counter: &dyn TokenCounter) -> String {
    let head = format!("{}\n\n", summary.trim_end());
    if counter.count(&head) + LEAST_COMPLETION > limit {
        return summary.to_owned();
    }
    // What it leaves out is asked for by kind before anything else.
    written(ledger, &head, limit, true, counter)
}

/// The items that a summary must have, at most `limit` tokens of them.
pub fn must_keep(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let items: Vec<&Item> = ledger.items().iter().collect();
    let share = limit * 100 / SECTIONS_SHARE;
    Sections::of(&items, share, limit, counter)
        .text
        .trim_end()
        .to_owned()
}

/// How many tokens of at most `limit` a summary would need to tell all that
/// is worth it; `limit`, without a closer look, where that is plainly more.
pub fn needed_tokens(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> u64 {
    // A token is seldom longer than 8 bytes.
    if ledger.index().bytes() / 8 > limit {
        return limit;
    }
    counter.count(&extractive(ledger, limit, counter))
}
