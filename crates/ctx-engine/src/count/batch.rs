//! The conversations of a batch, counted by several threads.

use crate::counter::MessageCounter;
use ctx_format::{Dialect, Object};

use super::Counts;
use crate::in_turn::Work;

/// Counts the conversations in the texts of records.
pub(super) struct Counting {
    pub(super) dialect: &'static dyn Dialect,
    pub(super) counter: MessageCounter,
}

impl Work for Counting {
    type Item = String;
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
