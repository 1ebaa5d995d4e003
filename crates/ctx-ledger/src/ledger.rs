//! The ledger: what a session holds that must not be lost, read once.

use ctx_transcript::{Message, Zone};

use crate::calls::Calls;
use crate::index::Index;
use crate::item::{Identifier, Item, ItemKind, State};
use crate::items::Items;
use crate::reading::{Event, Reading, Source};

/// Gathers what a session's messages say, in their order.
#[derive(Debug, Default)]
pub struct Ledger {
    index: Index,
    items: Items,
    calls: Calls,
    /// Items that earlier summaries had no room for.
    left_out: Vec<(ItemKind, usize)>,
    requests: u32,
    redacted: usize,
}

impl Ledger {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The next message, from this line of the session: [`Self::absorb`] of
    /// [`Reading::of`].
    pub fn push(&mut self, line: u64, message: &Message<'_>, zone: Zone) {
        self.absorb(line, Reading::of(message, zone));
    }

    /// The next reading, of the record in this line of the session.
    pub fn absorb(&mut self, line: u64, reading: Reading) {
        self.redacted += reading.secrets;
        match reading.source {
            Source::System => self.index.absorb_given(&reading),
            Source::Message { is_request } => {
                self.requests += u32::from(is_request);
                self.index.absorb(line, &reading, self.requests == 1);
                self.index.tell(&reading);
            }
            // It stands in no line, or nobody knows in which.
            Source::Earlier => self.index.absorb(0, &reading, false),
            Source::Stays => self.index.tell(&reading),
        }
        for event in reading.events {
            self.event(line, event);
        }
    }

    fn event(&mut self, line: u64, event: Event) {
        match event {
            Event::Statement {
                kind,
                text,
                takes_back,
            } => {
                let item = Item {
                    kind,
                    text,
                    line,
                    state: State::Current,
                    changed: false,
                };
                self.items.say(item, takes_back);
            }
            Event::Call(action) => self.calls.begin(action, line, &mut self.items),
            Event::Result(outcome) => self.calls.end(outcome, line, &mut self.items),
            Event::Item(item, takes_back) => self.items.carry(item, takes_back),
            Event::LeftOut(counts) => self.left_out.extend(counts),
        }
    }

    /// A summary of what was before: [`Self::absorb`] of [`Reading::of_earlier`].
    pub fn push_earlier(&mut self, text: &str) {
        self.absorb(0, Reading::of_earlier(text));
    }

    /// Adds to `counts` what summaries before left out, and what there were too many of.
    pub fn add_left_out(&self, counts: &mut [(ItemKind, usize)]) {
        for (kind, count) in counts {
            let before = self.left_out.iter().filter(|(of, _)| of == kind);
            *count += before.map(|(_, count)| count).sum::<usize>();
            *count += self.items.crowded_out(*kind);
        }
    }

    /// A message that was read before and stays: [`Self::absorb`] of
    /// [`Reading::of_stay`].
    pub fn stays(&mut self, message: &Message<'_>) {
        self.absorb(0, Reading::of_stay(message));
    }

    /// Every identifier with what is known of it, and the segments that hold one.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// What was asked, settled, left open, went wrong, was read and changed: in the
    /// order of the session.
    pub fn items(&self) -> &[Item] {
        self.items.all()
    }

    /// Each identifier with the line that had it last and the chance that it is
    /// needed again, the greatest chance first; without those of the system messages,
    /// which never leave.
    pub fn identifiers(&self) -> Vec<Identifier<'_>> {
        self.index.identifiers()
    }

    /// How many secrets were taken out.
    pub fn redacted(&self) -> usize {
        self.redacted
    }
}
