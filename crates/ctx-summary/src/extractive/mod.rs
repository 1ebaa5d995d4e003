//! The extractive summary: within a budget of tokens, the segments of a session that are most
//! likely to be needed, in order, and then open items and errors. A dialogue has its own rules.

mod dialogue;
mod draft;
mod page;
mod pick;
mod sections;
mod terms;
mod worth;

use std::cmp::Reverse;

use ctx_tokens::TokenCounter;
use draft::written;
use sections::all_sections;

use crate::earlier::RECORD_HEADING;
use crate::ledger::Ledger;

/// Writes the summary of `ledger` in at most `limit` tokens. It does not repeat what kept texts
/// say.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let head = format!("{RECORD_HEADING}\n\n");
    if is_talk(ledger) {
        return dialogue::written(ledger, &head, limit, counter);
    }
    written(ledger, &head, limit, counter)
}

/// Returns true if the session is a dialogue in short messages, without tools. Such a session needs
/// few of its latest messages, since important statements may be anywhere.
pub fn is_talk(ledger: &Ledger) -> bool {
    dialogue::is_talk(ledger.index())
}

/// Writes the items that a summary must contain, in at most `limit` tokens.
pub fn must_keep(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    all_sections(ledger.items(), limit, counter).trim_end().to_owned()
}

/// Estimates how many tokens, up to `limit`, a summary needs for everything worth saying. A long
/// session is assumed to need all of them.
pub fn needed_tokens(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> u64 {
    // A token is rarely longer than 8 bytes.
    if ledger.index().bytes() / 8 > limit {
        return limit;
    }
    counter.count(&extractive(ledger, limit, counter))
}

/// Favours longer segments a little over many short ones, because they read better.
const LENGTH_POWER: f64 = 0.8;

/// A segment and its worth for its length. Of two with equal worth, the earlier one is greater.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// The bits of a non-negative number, which sort like the number itself.
    gain: u64,
    number: Reverse<usize>,
    tokens: u64,
}

impl Candidate {
    fn new(gain: f64, number: usize, tokens: u64) -> Self {
        Self { gain: gain.max(0.0).to_bits(), number: Reverse(number), tokens }
    }

    /// Creates a candidate from its total worth.
    fn for_length(worth: f64, number: usize, tokens: u64) -> Self {
        #[allow(clippy::cast_precision_loss)] // A segment has few tokens.
        let gain = worth / (tokens as f64).powf(LENGTH_POWER);
        Self::new(gain, number, tokens)
    }
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::{RECORD_HEADING, extractive, must_keep, needed_tokens};

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn ledger(texts: &[&str]) -> Ledger {
        let mut ledger = Ledger::new();
        for (line, text) in (1..).zip(texts) {
            let message = Message::new(Role::User, vec![Part::Text((*text).into())]);
            ledger.push(line, &message, Zone::Old);
        }
        ledger
    }

    fn session() -> Ledger {
        ledger(&[
            "Please fix the login of user_4711. Never touch src/db.rs.",
            "请发送订单 W8123。我们决定用 SQLite。",
            "Please ship order_17, too.",
        ])
    }

    #[test]
    fn the_summary_of_nothing_is_its_heading() {
        assert_eq!(extractive(&Ledger::new(), 500, counter()), RECORD_HEADING);
        assert_eq!(must_keep(&Ledger::new(), 500, counter()), "");
        let heading = counter().count(RECORD_HEADING);
        assert_eq!(needed_tokens(&Ledger::new(), 500, counter()), heading);
    }

    #[test]
    fn a_summary_holds_what_was_asked_for_and_keeps_its_limit() {
        let session = session();
        let whole = extractive(&session, 2_000, counter());
        for word in ["login of user_4711", "src/db.rs", "W8123", "order_17"] {
            assert!(whole.contains(word), "{word}: {whole}");
        }
        for limit in [20, 40, 80, 160] {
            let text = extractive(&session, limit, counter());
            assert!(counter().count(&text) <= limit, "{limit}: {text}");
        }
    }

    #[test]
    fn what_must_be_kept_fits_into_its_limit() {
        let session = session();
        let all = must_keep(&session, 1_000, counter());
        assert!(all.contains("login of user_4711") && all.contains("SQLite"), "{all}");
        for limit in [0, 10, 40, 60, 100] {
            let some = must_keep(&session, limit, counter());
            assert!(counter().count(&some) <= limit, "{limit}: {some}");
        }
    }

    #[test]
    fn what_is_needed_is_at_most_the_limit() {
        let session = session();
        let needed = needed_tokens(&session, 1_000, counter());
        assert_eq!(needed, counter().count(&extractive(&session, 1_000, counter())));
        assert!(needed < 1_000);
        // Clearly more than the limit allows.
        let rows: Vec<String> = (0..2_000).map(|n| format!("row user_{n}\n")).collect();
        let rows = rows.concat();
        assert_eq!(needed_tokens(&ledger(&[&rows]), 100, counter()), 100);
    }
}

#[cfg(test)]
mod candidate_tests {
    use super::Candidate;

    #[test]
    fn of_equals_the_earlier_one_is_greater() {
        let candidate = |gain, number| Candidate::new(gain, number, 1);
        assert!(candidate(0.2, 5) > candidate(0.1, 1));
        assert!(candidate(0.1, 1) > candidate(0.1, 2));
        assert!(candidate(0.1, 1) == candidate(0.1, 1));
    }
}
