//! Whether records that wait are in the context.

use std::collections::HashMap;

use crate::presence::Presence;
use crate::{Portion, Record};

/// Presences of records that wait elsewhere, by their order there. It takes no room
/// where the session is linear.
#[derive(Clone, Debug, Default)]
pub struct Presences {
    records: Vec<Presence>,
    portions: HashMap<usize, Portion>,
}

impl Presences {
    /// The next record that waits.
    pub fn push(&mut self, record: &Record<'_>) {
        if let Some(portion) = &record.portion {
            let number = self.records.len();
            self.portions.insert(number, portion.clone());
        }
        self.records.extend(record.presence);
    }

    /// The presence of the record that was the `number`th to wait, from 0; `None` in a linear
    /// session.
    pub fn of(&self, number: usize) -> Option<Presence> {
        self.records.get(number).copied()
    }

    /// What of it is in the context, where that is not all of it.
    pub fn portion(&self, number: usize) -> Option<Portion> {
        self.portions.get(&number).cloned()
    }
}
