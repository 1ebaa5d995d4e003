//! What survived a compaction: the old session's ledger, looked up in the new one.
//!
//! An item is retained when its words stand in the new session, white space
//! folded, not as a part of longer words. Nothing is understood: a paraphrase is
//! a loss, and a list of bare values would be none; [`Future`] looks at what
//! stands beside a value as well.

mod after;
mod class;
mod future;
mod hay;
mod tally;

use std::collections::HashSet;

use ctx_transcript::{Handle, Message};

use crate::ledger::{Ledger, Place, State};
use crate::text::one_line;

pub use after::Texts;
pub use class::{Class, Standing};
pub use future::{Future, Needed};
use hay::Hay;
pub use tally::{Row, Score, Scored};

/// Reads the old session and scores it against the new one.
#[derive(Debug)]
pub struct Scorer {
    after: Texts,
    handles: HashSet<(String, u64)>,
    /// What the new session refers to.
    referred: Texts,
    ledger: Ledger,
    saved: bool,
}

/// What stands at the end of an item that is longer than the ledger's limit.
const CUT: char = '…';

impl Scorer {
    /// A scorer against `after`.
    pub fn new(after: Texts) -> Self {
        let handles = after.handles().into_iter();
        Self {
            handles: handles
                .map(|handle| (handle.hash().to_owned(), handle.bytes))
                .collect(),
            after,
            referred: Texts::new(),
            ledger: Ledger::new(),
            saved: false,
        }
    }

    /// The next message of the old session, from this line.
    pub fn push(&mut self, line: u64, message: &Message<'_>) {
        self.ledger.push(line, message, Place::Old);
        if self.handles.is_empty() {
            return;
        }
        for text in after::originals(message) {
            let of_length = |(_, bytes): &(String, u64)| *bytes == text.len() as u64;
            // Hashing every text takes longer than all the rest.
            if self.handles.iter().any(of_length) {
                let hash = Handle::of(&text, 0).hash().to_owned();
                if self.handles.contains(&(hash, text.len() as u64)) {
                    self.referred.add(&text);
                }
            }
        }
    }

    /// A text that the new session refers to, and that lies elsewhere.
    pub fn add_referred(&mut self, text: &str) {
        self.referred.add(text);
    }

    /// The old session's exact bytes are in a snapshot.
    pub fn saved(&mut self) {
        self.saved = true;
    }

    /// The score, once the whole of the old session was read.
    pub fn finish(self) -> Score {
        let after = Hay::of(&self.after.text);
        let referred = Hay::of(&self.referred.text);
        let standing = |text: &str| {
            if holds(&after, text) {
                Standing::Retained
            } else if holds(&referred, text) {
                Standing::Recoverable
            } else if self.saved {
                Standing::Saved
            } else {
                Standing::Lost
            }
        };
        let mut score = Score::default();
        for item in self.ledger.items() {
            let class = Class::from(item.kind);
            if item.state == State::Current {
                score.items.push(Scored {
                    class,
                    standing: standing(&item.text),
                    text: item.text.clone(),
                    line: item.line,
                    weight: 1.0,
                });
            } else {
                score.retired.push(class);
            }
        }
        let identifiers = self.ledger.identifiers().into_iter();
        score.items.extend(identifiers.map(|identifier| Scored {
            class: Class::Identifiers,
            standing: standing(identifier.text),
            text: one_line(identifier.text),
            line: identifier.line,
            weight: identifier.chance,
        }));
        // Stable: within a class nothing moves.
        score.items.sort_by_key(|item| item.class);
        score
    }
}

fn holds(hay: &Hay<'_>, text: &str) -> bool {
    let folded = one_line(text);
    match folded.strip_suffix(CUT) {
        None => hay.has(&folded),
        Some(beginning) => hay.has(&folded) || hay.has_beginning(beginning.trim_end()),
    }
}

#[cfg(test)]
mod tests;
