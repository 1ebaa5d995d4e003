//! The sliding window: which records are before it.

use ctx_transcript::{Role, Zone};

use super::session::Session;

/// Whether each record goes. Where the API wants the user's message first, more is kept
/// until it is.
pub(super) fn dropped(session: &Session, user_first: bool) -> Vec<bool> {
    if session.window.is_empty() {
        return vec![false; session.records.len()];
    }
    let is_before = session.window.iter().map(|place| place.zone == Zone::Old);
    let mut dropped: Vec<bool> = is_before.collect();
    if user_first {
        let begin = begin(session, &dropped);
        dropped[begin..].fill(false);
    }
    dropped
}

/// From where all is kept, so that the first message is the user's.
fn begin(session: &Session, dropped: &[bool]) -> usize {
    let records = &session.records;
    let is_said = |at: &usize| records[*at].role().is_some_and(|role| !role.is_system());
    let Some(first) = (0..records.len()).find(|at| !dropped[*at] && is_said(at)) else {
        return records.len();
    };
    // No exchange may reach over the border.
    let mut whole_from = u64::MAX;
    let begins = |at: &usize| {
        let exchange = session.window[*at].exchange.unwrap_or(u64::MAX);
        whole_from = whole_from.min(exchange);
        let record = &records[*at];
        // Exchanges are numbered from 1.
        *at <= first
            && (*at as u64) < whole_from
            && record.role() == Some(Role::User)
            && record.begins()
    };
    (0..records.len()).rev().find(begins).unwrap_or(0)
}
