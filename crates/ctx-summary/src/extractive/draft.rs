//! A summary in the making: sections of items, then as many segments as there is
//! room for.

use ctx_tokens::TokenCounter;

use super::pick::Picker;
use super::sections::Sections;
use ctx_ledger::form::{DETAILS, citation, label, labelled, left_out};
use ctx_ledger::text::one_line;
use ctx_ledger::{Item, Ledger, Origin};

/// What is left is filled up so many times: how many tokens a text has is only
/// known when it is written.
const ROUNDS: usize = 4;
/// Of the summary, citations of details may take one part in so many.
const CITATION_SHARE: u64 = 30;
/// Tokens of a citation.
const CITATION: u64 = 8;
/// A summary with fewer tokens does not say what it left out.
const TELLS_LEFT_OUT: u64 = 300;
/// Behind a model's summary the sections of items get so many times their share.
const ITEMS_FIRST: u64 = 3;
/// Tokens of the last line, at most.
const CLOSING: u64 = 60;
/// Sections grow up to so many times their share where the rest needs less.
const MOST_WEIGHT: u64 = 16;

/// `head`, the typed items that it does not have, and segments for what is not told
/// yet, up to `limit` tokens in all; `of_model`: what `head` says was written by a model.
/// Then what it leaves out is asked for by kind before anything else, and no quote
/// stands under a heading of the model's.
pub(super) fn written(
    ledger: &Ledger,
    head: &str,
    limit: u64,
    of_model: bool,
    counter: &dyn TokenCounter,
) -> String {
    let said = one_line(head);
    let mut weight = if of_model { ITEMS_FIRST } else { 1 };
    let items = ledger.items().iter();
    let items: Vec<&Item> = items.filter(|item| !said.contains(&item.text)).collect();
    loop {
        let mut draft = Draft::new(ledger, &items, (head, of_model), limit, weight, counter);
        draft.fill();
        let tokens = counter.count(&draft.text);
        if !draft.lacks_items || tokens > limit / 4 * 3 || weight >= MOST_WEIGHT {
            return draft.text;
        }
        weight *= 2;
    }
}

struct Draft<'l> {
    ledger: &'l Ledger,
    counter: &'l dyn TokenCounter,
    limit: u64,
    /// What the head leaves.
    room: u64,
    /// Everything before the details.
    head: String,
    /// Whether there are headings before the details.
    sections: bool,
    /// The last line.
    closing: String,
    /// Whether items had no room.
    lacks_items: bool,
    picker: Picker<'l>,
    text: String,
}

impl<'l> Draft<'l> {
    fn new(
        ledger: &'l Ledger,
        items: &[&Item],
        (head, of_model): (&str, bool),
        limit: u64,
        weight: u64,
        counter: &'l dyn TokenCounter,
    ) -> Self {
        let room = limit.saturating_sub(counter.count(head));
        let sections = Sections::of(items, room * weight, room.saturating_sub(CLOSING), counter);
        let mut counts = sections.left_out;
        let lacks_items = counts.iter().any(|(_, count)| *count > 0);
        ledger.add_left_out(&mut counts);
        let tells = room >= TELLS_LEFT_OUT;
        let head = format!("{head}{}", sections.text);
        let mut draft = Self {
            ledger,
            counter,
            limit,
            room,
            sections: of_model || !sections.text.is_empty(),
            closing: if tells {
                left_out(&counts)
            } else {
                String::new()
            },
            lacks_items,
            picker: Picker::new(ledger.index(), &head, counter),
            head,
            text: String::new(),
        };
        draft.write();
        draft
    }

    fn fill(&mut self) {
        for _ in 0..ROUNDS {
            let left = self.limit.saturating_sub(self.counter.count(&self.text));
            if left == 0 || !self.picker.pick(left) {
                break;
            }
            self.write();
            loop {
                let over = self.counter.count(&self.text).saturating_sub(self.limit);
                if over == 0 || !self.picker.drop_last(over) {
                    break;
                }
                self.write();
            }
        }
    }

    fn write(&mut self) {
        let details = self.details();
        self.text.clone_from(&self.head);
        if self.sections && !details.is_empty() {
            self.text.push_str(DETAILS);
            self.text.push('\n');
        }
        self.text.push_str(&details);
        self.text.push_str(&self.closing);
        self.text.truncate(self.text.trim_end().len());
    }

    /// Segments in the order of the session, whose speakers can be told apart; the
    /// lines they come from are cited block by block.
    fn details(&self) -> String {
        let index = self.ledger.index();
        let mut order: Vec<usize> = self.picker.picked().collect();
        order.sort_unstable();
        let blocks = usize::try_from(self.room / CITATION_SHARE / CITATION).unwrap_or(usize::MAX);
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
            if let (true, Some(first), Some(last)) = (blocks > 0, lines.clone().min(), lines.max())
            {
                text.pop();
                text.push(' ');
                text.push_str(&citation(first, last));
                text.push('\n');
            }
        }
        text
    }
}
