//! Scores what survived a compaction: looks up the old session's ledger in the new one.
//!
//! An item is retained if the new session has its words, with white space folded and not as a part
//! of longer words, or if its own ledger finds it. There is no understanding: a paraphrase is a
//! loss, and a list of bare values is not; [`Future`] also checks the words around a value.

mod after;
mod future;
mod hay;
mod quotes;
mod report;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use ctx_format::{Message, ShortHash};
use ctx_text::one_line;

use crate::ledger::{Item, ItemKind, Ledger, State};

pub use after::After;
pub use future::{Future, Needed};
use hay::Hay;
pub use quotes::{Quotes, add_said};
pub use report::{Class, Row, Score, Scored, Standing, rounded};

/// Looks the old session up in the new one.
#[derive(Debug)]
pub struct Scorer {
    after: After,
    handles: HashSet<(ShortHash, u64)>,
    /// The texts that the new session refers to, and their lines in the old one.
    referred: String,
    referred_lines: HashSet<u64>,
    saved: bool,
}

/// May end a truncated text.
const CUT: char = '…';
/// Longer texts may have been cut without a sign.
const MAY_BE_CUT: usize = 100;

impl Scorer {
    /// A scorer against the new session.
    pub fn new(after: After) -> Self {
        let handles = after.handles().into_iter();
        Self {
            handles: handles.map(|handle| (handle.hash, handle.bytes)).collect(),
            after,
            referred: String::new(),
            referred_lines: HashSet::new(),
            saved: false,
        }
    }

    /// The new session.
    pub fn after(&self) -> &After {
        &self.after
    }

    /// Whether the new session refers to anything: if not, there are no originals to
    /// look for.
    pub fn refers(&self) -> bool {
        !self.handles.is_empty()
    }

    /// Looks for texts in a message of the old session that the new one refers to.
    pub fn look_for_originals(&mut self, line: u64, message: &Message<'_>) {
        if self.handles.is_empty() {
            return;
        }
        for text in after::originals(message) {
            let of_length = |(_, bytes): &(ShortHash, u64)| *bytes == text.len() as u64;
            // Hashing every text takes longer than all the rest.
            if self.handles.iter().any(of_length) {
                let hash = ShortHash::of(&text);
                if self.handles.contains(&(hash, text.len() as u64)) {
                    after::add(&mut self.referred, &text);
                    self.referred_lines.insert(line);
                }
            }
        }
    }

    /// A text that the new session refers to, and that lies elsewhere.
    pub fn add_referred(&mut self, text: &str) {
        after::add(&mut self.referred, text);
        // The line in the old session counts as referred to as well.
        let hash = ShortHash::of(text);
        self.handles.insert((hash, text.len() as u64));
    }

    /// The old session's exact bytes are in a snapshot.
    pub fn saved(&mut self) {
        self.saved = true;
    }

    /// The score of the old session, whose ledger this is.
    pub fn finish(self, ledger: &Ledger) -> Score {
        let search = Search {
            new: Hay::of(self.after.as_str()),
            items: self.after.items(),
            referred: Hay::of(&self.referred),
            referred_lines: &self.referred_lines,
            saved: self.saved,
        };
        let mut score = Score::default();
        for item in ledger.items() {
            let class = Class::Item(item.kind);
            if item.state == State::Current {
                score.items.push(Scored {
                    class,
                    standing: search.item(item),
                    text: item.text.clone(),
                    line: item.line,
                    weight: 1.0,
                });
            } else {
                score.retired.push(class);
            }
        }
        let identifiers = ledger.identifiers().into_iter();
        score.items.extend(identifiers.map(|identifier| Scored {
            class: Class::Identifiers,
            standing: if self.after.knows(identifier.text) {
                Standing::Retained
            } else {
                search.text(identifier.text)
            },
            text: one_line(identifier.text),
            line: identifier.line,
            weight: identifier.chance,
        }));
        // Stable: within a class nothing moves.
        let place = |item: &Scored| Class::ALL.iter().position(|class| *class == item.class);
        score.items.sort_by_key(place);
        score
    }
}

/// All places where an item may still be.
struct Search<'s> {
    new: Hay<'s>,
    items: HashSet<(ItemKind, &'s str)>,
    referred: Hay<'s>,
    referred_lines: &'s HashSet<u64>,
    saved: bool,
}

impl Search<'_> {
    fn item(&self, item: &Item) -> Standing {
        if self.items.contains(&(item.kind, &item.text)) {
            return Standing::Retained;
        }
        // The tool's name in a command was not typed.
        let words = match item.text.split_once(": ") {
            Some((_, words)) if item.kind == ItemKind::Command => words,
            _ => &item.text,
        };
        match self.text(words) {
            Standing::Retained => Standing::Retained,
            // The words of an error are the ledger's, but its line is known.
            _ if item.kind == ItemKind::Error && self.referred_lines.contains(&item.line) => {
                Standing::Recoverable
            }
            other => other,
        }
    }

    fn text(&self, text: &str) -> Standing {
        let folded = one_line(text);
        let beginning = match folded.strip_suffix(CUT) {
            Some(beginning) => beginning.trim_end(),
            None if folded.len() > MAY_BE_CUT => &folded,
            None => "",
        };
        let is_in = |hay: &Hay<'_>| hay.has(&folded) || hay.has_beginning(beginning);
        if is_in(&self.new) {
            Standing::Retained
        } else if is_in(&self.referred) {
            Standing::Recoverable
        } else if self.saved {
            Standing::Saved
        } else {
            Standing::Lost
        }
    }
}
