//! The extractive summary: typed items under fixed headings, and the segments of a
//! session that tell most of what is likely to be needed, in their order, within a
//! budget of tokens.

pub(crate) mod form;
mod pick;
mod sections;

use ctx_tokens::TokenCounter;

use crate::earlier::RECORD_HEADING;
use crate::ledger::{Item, Ledger, Origin};
use crate::text::one_line;
use form::{DETAILS, citation, label, labelled, left_out};
use pick::Picker;
use sections::Sections;

/// What is left is filled up so many times: how many tokens a text has is only
/// known when it is written.
const ROUNDS: usize = 4;
/// Of the summary, citations of details may take one part in so many.
const CITATION_SHARE: u64 = 30;
/// Less room is not worth a completion.
const LEAST_COMPLETION: u64 = 30;
/// Of a summary, what the sections of items may take, in percent.
const SECTIONS_SHARE: u64 = 26;
/// Behind a model's summary the sections of items get so many times their share.
const ITEMS_FIRST: u64 = 3;
/// Tokens of a citation.
const CITATION: u64 = 8;
/// A summary with fewer tokens does not say what it left out.
const TELLS_LEFT_OUT: u64 = 300;

/// Writes the summary of what `ledger` holds: at most `limit` tokens, without what
/// the texts that stay tell already.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    written(ledger, &format!("{RECORD_HEADING}\n\n"), limit, counter)
}

/// A summary that a model wrote, with what it leaves out behind it: the items of the
/// ledger that it does not have, and segments for what it does not tell, up to
/// `limit` tokens in all. It stays as it is where there is no room.
pub fn completed(ledger: &Ledger, summary: &str, limit: u64, counter: &dyn TokenCounter) -> String {
    let head = format!("{}\n\n", summary.trim_end());
    if counter.count(&head) + LEAST_COMPLETION > limit {
        return summary.to_owned();
    }
    written_behind(ledger, &head, limit, true, counter)
}

/// The items that a summary must have, at most `limit` tokens of them.
pub fn must_keep(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let items: Vec<Item> = ledger.items().to_vec();
    let share = limit * 100 / SECTIONS_SHARE;
    Sections::of(&items, share, counter)
        .text
        .trim_end()
        .to_owned()
}

/// `head`, the typed items that it does not have, and segments for what is not told
/// yet.
fn written(ledger: &Ledger, head: &str, limit: u64, counter: &dyn TokenCounter) -> String {
    written_behind(ledger, head, limit, false, counter)
}

/// The same; `of_model`: what `head` says was written by a model. Then what it leaves
/// out is asked for by kind before anything else, and no quote stands under a
/// heading of the model's.
fn written_behind(
    ledger: &Ledger,
    head: &str,
    limit: u64,
    of_model: bool,
    counter: &dyn TokenCounter,
) -> String {
    let said = one_line(head);
    let missing = ledger
        .items()
        .iter()
        .filter(|item| !said.contains(&item.text));
    let missing: Vec<Item> = missing.cloned().collect();
    let room = limit.saturating_sub(counter.count(head));
    let weight = if of_model { ITEMS_FIRST } else { 1 };
    let sections = Sections::of(&missing, room * weight, counter);
    let mut counts = sections.left_out;
    ledger.add_left_out(&mut counts);
    let closing = if room >= TELLS_LEFT_OUT {
        left_out(&counts)
    } else {
        String::new()
    };
    let head = format!("{head}{}", sections.text);
    let mut picker = Picker::new(&ledger.index, &head, counter);
    let write = |picked: &[usize]| {
        let details = details(ledger, picked, room);
        let mut text = head.clone();
        if (of_model || !sections.text.is_empty()) && !details.is_empty() {
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
            let words = index.text(segment);
            // What the model said goes on until somebody else speaks, or seems to.
            let goes_on = matches!(segment.origin, Origin::Said | Origin::Call)
                && before == Some(speaker)
                && !words.starts_with('#')
                && labelled(words).is_none();
            if !goes_on {
                text.push_str(speaker);
                before = Some(speaker);
            }
            text.push_str(words);
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
