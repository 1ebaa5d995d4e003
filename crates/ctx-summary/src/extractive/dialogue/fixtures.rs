//! Builds dialogues for tests.

use crate::ledger::Ledger;
use ctx_format::{Message, Part, Role, Zone};

/// Returns a ledger for messages that a user and an assistant write in turn.
pub(super) fn ledger(texts: &[&str]) -> Ledger {
    let mut ledger = Ledger::new();
    for (line, text) in (1..).zip(texts) {
        let role = [Role::Assistant, Role::User][usize::from(line % 2 == 1)];
        let message = Message::new(role, vec![Part::Text((*text).into())]);
        ledger.push(line, &message, Zone::Old);
    }
    ledger
}
