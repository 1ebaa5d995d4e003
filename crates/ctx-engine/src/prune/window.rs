//! The sliding window of `--window-messages`.

use ctx_format::{Role, Zone};
use ctx_policy::keep::Keep;

use super::Options;
use super::facts::{Facts, RecordFacts};
use crate::zones::{Known, KnownFacts, TailFinder};

/// Whether each record is before the window; empty if there is no window.
pub(super) fn records_before(facts: &Facts, options: &Options) -> Vec<bool> {
    let Some(messages) = options.window_messages else {
        return Vec::new();
    };
    // The facts were gathered for options without a window.
    if facts.exchanges.is_empty() {
        return Vec::new();
    }
    let mut before = split_at_window(facts, messages);
    if options.user_first {
        extend_to_user(facts, &mut before);
    }
    before
}

fn split_at_window(facts: &Facts, messages: u64) -> Vec<bool> {
    let numbered = || (1..).zip(facts.records.iter().zip(&facts.exchanges).map(known));
    let mut tail = TailFinder::new(Keep { messages: Some(messages), ..Keep::default() });
    for (number, known) in numbered() {
        tail.push(number, &known);
    }
    let mut kept = tail.finish();
    for (number, known) in numbered() {
        kept.push(number, &known);
    }
    let mut zones = kept.zones();
    numbered().map(|(number, known)| zones.next(number, &known).zone == Zone::Old).collect()
}

fn known((record, exchange): (&RecordFacts, &u32)) -> KnownFacts {
    match record.role {
        None if record.is_tail => KnownFacts::Tail,
        None => KnownFacts::Line,
        Some(role) => KnownFacts::Message(Known {
            is_system: role.is_system() && !record.is_summary,
            begins_message: record.begins_message,
            begins_turn: record.begins_turn,
            tokens: 0,
            // An earlier summary stays: the messages that it replaced are gone.
            pinned: record.is_fixed || record.is_summary,
            exchange: (*exchange > 0).then_some((*exchange).into()),
        }),
    }
}

/// Keeps more records, so that the conversation begins with a message of the user. No exchange is
/// cut.
fn extend_to_user(facts: &Facts, before: &mut [bool]) {
    let records = &facts.records;
    let is_first = |at: &usize| !before[*at] && records[*at].is_conversation();
    let Some(first) = (0..records.len()).find(is_first) else {
        return;
    };
    // The first record, from 1, of all exchanges that end here or later.
    let mut first_of_exchanges = u64::MAX;
    let begins_window = |at: &usize| {
        let exchange = u64::from(facts.exchanges[*at]);
        if exchange > 0 {
            first_of_exchanges = first_of_exchanges.min(exchange);
        }
        let record = &records[*at];
        *at <= first
            && (*at as u64) < first_of_exchanges
            && record.role == Some(Role::User)
            && (record.begins_turn || record.is_summary)
    };
    let begin = (0..records.len()).rev().find(begins_window).unwrap_or(0);
    if begin < first {
        before[begin..].fill(false);
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::{Message, Outline, Role};

    use super::{extend_to_user, records_before};
    use crate::prune::Options;
    use crate::prune::facts::{Facts, RecordFacts};

    /// Records by role: `s`ystem, `u`ser, `a`ssistant, `-` for no message; in capitals if the
    /// window keeps them, with a digit if they are in the exchange of that record, from 1.
    fn facts(records: &[&str]) -> (Facts, Vec<bool>) {
        let mut facts = Facts::default();
        let mut before = Vec::new();
        for text in records {
            let letter = &text[..1];
            let role = match letter.to_lowercase().as_str() {
                "s" => Some(Role::System),
                "u" => Some(Role::User),
                "a" => Some(Role::Assistant),
                _ => None,
            };
            let record = role.map_or_else(RecordFacts::default, |role| {
                let outline =
                    Outline { role, begins_turn: role == Role::User, ..Outline::of_line() };
                RecordFacts::of_message(&outline, &Message::new(role, Vec::new()), false)
            });
            facts.add_record(record);
            before.push(letter.to_uppercase() != letter);
            facts.exchanges.push(text[1..].parse().unwrap_or(0));
        }
        (facts, before)
    }

    /// The records that stay, from 1, when the user must be first.
    fn kept(records: &[&str]) -> Vec<usize> {
        let (facts, mut before) = facts(records);
        extend_to_user(&facts, &mut before);
        (1..).zip(before).filter(|(_, is_before)| !is_before).map(|(at, _)| at).collect()
    }

    #[test]
    fn without_a_window_nothing_goes() {
        let (facts, _) = facts(&["u", "a"]);
        let options = Options { user_first: true, ..Options::default() };
        assert!(records_before(&facts, &options).is_empty());
    }

    #[test]
    fn more_is_kept_until_the_user_is_first() {
        assert_eq!(kept(&["S", "u", "a", "u", "A", "U"]), [1, 4, 5, 6]);
        assert_eq!(kept(&["u", "a", "U"]), [3]);
        assert_eq!(kept(&["a", "a", "A"]), [1, 2, 3]);
        // The window keeps the user's second message; what follows it may go.
        assert_eq!(kept(&["u", "U", "a3", "u3", "A"]), [2, 5]);
        assert_eq!(kept(&["S", "u"]), [1]);
        assert_eq!(kept(&["u", "a", "-", "A"]), [1, 2, 3, 4]);
    }

    #[test]
    fn no_exchange_is_cut() {
        // The exchange of record 2 ends after the third, with which the window could begin.
        assert_eq!(kept(&["u", "a2", "u", "A", "A2"]), [1, 2, 3, 4, 5]);
    }
}
