//! Builds dialogues for tests.

use crate::ledger::Ledger;
use ctx_format::{Message, Part, Role, Zone};

/// Returns the ledger of a session in which a user and an assistant take turns.
pub(super) fn ledger(texts: &[&str]) -> Ledger {
    let mut ledger = Ledger::default();
    for (line, text) in (1..).zip(texts) {
        let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
        let message = Message::new(role, vec![Part::Text((*text).into())]);
        ledger.push(line, &message, Zone::Old);
    }
    ledger
}
