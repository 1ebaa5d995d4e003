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
    if user_first && let Some(begin) = begin(session, &dropped) {
        dropped[begin..].fill(false);
    }
    dropped
}

/// From where all is kept, so that the first message is the user's; `None` where it is.
fn begin(session: &Session, dropped: &[bool]) -> Option<usize> {
    let records = &session.records;
    let is_said = |at: &usize| records[*at].role().is_some_and(|role| !role.is_system());
    let first = (0..records.len()).find(|at| !dropped[*at] && is_said(at))?;
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
    let begin = (0..records.len()).rev().find(begins).unwrap_or(0);
    (begin < first).then_some(begin)
}

#[cfg(test)]
mod tests {
    use ctx_transcript::{Message, Outline, Role, Zone};

    use super::dropped;
    use crate::prune::session::{Said, Session};
    use crate::split::{Reason, Verdict};

    /// Records by role: `s`ystem, `u`ser, `a`ssistant, `-` no message, which is
    /// kept; in capitals when the
    /// window keeps them, with a digit when they are in the exchange of that record, from 1.
    fn session(records: &[&str]) -> Session {
        let mut session = Session::default();
        for text in records {
            let letter = &text[..1];
            let role = match letter.to_lowercase().as_str() {
                "s" => Some(Role::System),
                "u" => Some(Role::User),
                "a" => Some(Role::Assistant),
                _ => None,
            };
            session.add_record(role.map(|role| {
                let outline = Outline {
                    role,
                    begins_turn: role == Role::User,
                    ..Outline::of_line()
                };
                Said::of(&outline, &Message::new(role, Vec::new()), false)
            }));
            let is_kept = letter.to_uppercase() == letter;
            session.window.push(Verdict {
                zone: if is_kept { Zone::Keep } else { Zone::Old },
                reason: Reason::Window,
                exchange: text[1..].parse().ok(),
            });
        }
        session
    }

    /// The records that stay, from 1.
    fn kept(records: &[&str], user_first: bool) -> Vec<usize> {
        let dropped = dropped(&session(records), user_first);
        (1..)
            .zip(dropped)
            .filter(|(_, gone)| !gone)
            .map(|(at, _)| at)
            .collect()
    }

    #[test]
    fn without_a_window_nothing_goes() {
        let mut session = session(&["u", "a"]);
        session.window.clear();
        assert_eq!(dropped(&session, true), [false, false]);
    }

    #[test]
    fn more_is_kept_until_the_user_is_first() {
        let records = ["S", "u", "a", "u", "A", "U"];
        assert_eq!(kept(&records, false), [1, 5, 6]);
        assert_eq!(kept(&records, true), [1, 4, 5, 6]);
        assert_eq!(kept(&["u", "a", "U"], true), [3]);
        assert_eq!(kept(&["a", "a", "A"], true), [1, 2, 3]);
        // What is between the latest user message, which stays, and the window goes.
        assert_eq!(kept(&["u", "U", "a3", "u3", "A"], true), [2, 5]);
        assert_eq!(kept(&["S", "u"], true), [1]);
        assert_eq!(kept(&["u", "a", "-", "A"], true), [1, 2, 3, 4]);
    }

    #[test]
    fn no_exchange_reaches_over_the_border() {
        // The exchange of record 2 reaches behind the user message that would be first.
        let records = ["u", "a2", "u", "A", "A2"];
        assert_eq!(kept(&records, false), [4, 5]);
        assert_eq!(kept(&records, true), [1, 2, 3, 4, 5]);
    }
}
