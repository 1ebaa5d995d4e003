//! The conversations of a batch, counted by several threads.

use ctx_select::count::MessageCounter;
use ctx_transcript::{Dialect, Object};

use super::{Counts, Plan};
use crate::in_turn::{InTurn, Work};

/// So many bytes of records are handed to a thread at a time.
const PORTION: usize = 256 << 10;

/// Counts the conversations that a portion holds.
struct Counting {
    dialect: &'static dyn Dialect,
    counter: MessageCounter,
}

impl Work for Counting {
    type Job = Vec<String>;
    type Done = Counts;
    type State = Counts;

    fn work(&self, portion: Vec<String>) -> Counts {
        let mut counts = Counts::default();
        for text in portion {
            if let Ok(object) = Object::parse(&text) {
                counts.conversation(&object, self.dialect, &self.counter);
            }
        }
        counts
    }

    fn absorb(&self, counts: &mut Counts, portion: Counts) {
        counts.merge(&portion);
    }
}

/// Batch at work on a batch.
pub(super) struct Batch {
    threads: InTurn<Counting>,
    portion: Vec<String>,
    bytes: usize,
}

impl Batch {
    pub(super) fn start(plan: &Plan, dialect: &'static dyn Dialect) -> Self {
        let work = Counting {
            dialect,
            counter: plan.counter,
        };
        Self {
            threads: InTurn::start_on(plan.threads, work, Counts::default()),
            portion: Vec::new(),
            bytes: 0,
        }
    }

    /// The text of the next record.
    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len();
        self.portion.push(text.to_owned());
        if self.bytes >= PORTION {
            self.bytes = 0;
            self.threads.push(std::mem::take(&mut self.portion));
        }
    }

    /// What all of them found.
    pub(super) fn finish(mut self) -> Counts {
        self.threads.push(self.portion);
        self.threads.finish()
    }
}
