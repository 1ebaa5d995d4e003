//! The sliding window: which records are before it.

use ctx_transcript::{Role, Zone};

use super::policy::Policy;
use super::session::{Record, Session};
use crate::split::{Keep, Known, KnownFacts, TailFinder};

/// Whether each record goes; empty where no window is asked for. Where the API wants the
/// user's message first, more is kept until it is.
pub(super) fn dropped(session: &Session, policy: &Policy) -> Vec<bool> {
    let window = policy
        .window_messages
        .filter(|_| !session.exchanges.is_empty());
    let Some(messages) = window else {
        return Vec::new();
    };
    let mut dropped = before(session, messages);
    if policy.user_first {
        keep_users_first(session, &mut dropped);
    }
    dropped
}

/// Whether each record is before the window.
fn before(session: &Session, messages: u64) -> Vec<bool> {
    let records = || (1..).zip(session.records.iter().zip(&session.exchanges));
    let facts = |(record, exchange): (&Record, &u32)| facts(record, *exchange);
    let mut tail = TailFinder::new(Keep {
        messages: Some(messages),
        ..Keep::default()
    });
    records().for_each(|(number, record)| tail.push(number, &facts(record)));
    let mut kept = tail.finish();
    records().for_each(|(number, record)| kept.push(number, &facts(record)));
    let mut zones = kept.zones();
    let zones = records().map(|(number, record)| zones.next(number, &facts(record)));
    zones.map(|verdict| verdict.zone == Zone::Old).collect()
}

fn facts(record: &Record, exchange: u32) -> KnownFacts {
    match record.said() {
        None if record.is_tail => KnownFacts::Tail,
        None => KnownFacts::Line,
        Some(said) => KnownFacts::Message(Known {
            is_system: said.role.is_system() && !said.is_summary,
            begins_message: said.begins_message,
            begins_turn: said.begins_turn,
            tokens: 0,
            // An earlier summary stays: it is all that is left of what it stands for.
            pinned: said.fixed || said.is_summary,
            exchange: (exchange > 0).then_some(exchange.into()),
        }),
    }
}

fn keep_users_first(session: &Session, dropped: &mut [bool]) {
    if let Some(begin) = begin(session, dropped) {
        dropped[begin..].fill(false);
    }
}

/// From where all is kept, so that the first message is the user's; `None` where it is.
fn begin(session: &Session, dropped: &[bool]) -> Option<usize> {
    let records = &session.records;
    let is_said = |at: &usize| records[*at].role().is_some_and(|role| !role.is_system());
    let first = (0..records.len()).find(|at| !dropped[*at] && is_said(at))?;
    // No exchange may reach over the border.
    let mut whole_from = u64::MAX;
    let begins = |at: &usize| {
        if let exchange @ 1.. = session.exchanges[*at] {
            whole_from = whole_from.min(exchange.into());
        }
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
    use ctx_transcript::{Message, Outline, Role};

    use super::{dropped, keep_users_first};
    use crate::prune::Policy;
    use crate::prune::session::{Said, Session};

    /// Records by role: `s`ystem, `u`ser, `a`ssistant, `-` no message, which is
    /// kept; in capitals when the
    /// window keeps them, with a digit when they are in the exchange of that record, from 1.
    fn session(records: &[&str]) -> (Session, Vec<bool>) {
        let mut session = Session::default();
        let mut dropped = Vec::new();
        for text in records {
            let letter = &text[..1];
            let role = match letter.to_lowercase().as_str() {
                "s" => Some(Role::System),
                "u" => Some(Role::User),
                "a" => Some(Role::Assistant),
                _ => None,
            };
            if let Some(role) = role {
                let outline = Outline {
                    role,
                    begins_turn: role == Role::User,
                    ..Outline::of_line()
                };
                let message = Message::new(role, Vec::new());
                session.add_message(Said::of(&outline, &message, false));
            } else {
                session.add_line(false);
            }
            dropped.push(letter.to_uppercase() != letter);
            session.exchanges.push(text[1..].parse().unwrap_or(0));
        }
        (session, dropped)
    }

    /// The records that stay, from 1.
    fn kept(records: &[&str], user_first: bool) -> Vec<usize> {
        let (session, mut dropped) = session(records);
        if user_first {
            keep_users_first(&session, &mut dropped);
        }
        (1..)
            .zip(dropped)
            .filter(|(_, gone)| !gone)
            .map(|(at, _)| at)
            .collect()
    }

    #[test]
    fn without_a_window_nothing_goes() {
        let (session, _) = session(&["u", "a"]);
        let policy = Policy {
            user_first: true,
            ..Policy::default()
        };
        assert!(dropped(&session, &policy).is_empty());
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
