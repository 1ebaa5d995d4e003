//! Writes the extractive summary. Within a token budget, an extractive summary contains the
//! segments that are most likely to be needed, in session order, followed by the task list and the
//! errors.

mod draft;
mod greedy;
mod now;
mod page;
mod refuted;
mod rules;
mod sections;
mod segment_worth;
mod story;
mod talk;
mod terms;
mod values;

use ctx_tokens::TokenCounter;
use page::CITES;
use rules::Rules;
pub use rules::{RuleCount, count_rules};
use sections::all_sections;
use talk::Talk;
pub use talk::is_talk;

use crate::earlier::RECORD_HEADING;
use crate::ledger::Ledger;
use crate::ledger::form::EXPLANATION;

/// A summary explains its marks if its limit is at least this many tokens.
const EXPLAINS: u64 = 1_200;

/// Writes the summary of `ledger` in at most `limit` tokens. Messages that the compaction keeps are
/// not repeated in the summary.
pub fn extractive(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    let mut rules = Rules::of(ledger, limit, counter);
    now::hide_outdated(&ledger.index, &mut rules.hidden);
    let talk = Talk::of(ledger, &rules.hidden);
    let mut head = format!("{RECORD_HEADING}\n\n");
    // A token is rarely shorter than 4 bytes, and a short session needs few words around it.
    let length = limit.min(ledger.index.arena.len() as u64 / 4);
    let is_work = talk.is_none();
    if is_work && length >= EXPLAINS {
        head.extend([EXPLANATION, "\n\n"]);
    }
    head.push_str(&rules.text);
    if is_work && length >= CITES {
        head.push_str(&now::now(&ledger.index));
    }
    draft::written(ledger, talk.as_ref(), &rules.hidden, &head, limit, counter)
}

/// Returns how many tokens the rules of the user take up, including the summary's heading.
pub fn rule_tokens(ledger: &Ledger, counter: &dyn TokenCounter) -> u64 {
    let rules = Rules::of(ledger, u64::MAX / 100, counter);
    counter.count(RECORD_HEADING) + counter.count(&rules.text)
}

/// Writes the items that a summary must contain, in at most `limit` tokens.
pub fn must_keep(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> String {
    all_sections(&ledger.items.list, limit, counter).trim_end().to_owned()
}

/// Estimates how many tokens a summary needs to cover everything important, up to `limit`. A long
/// session is assumed to need the whole `limit`.
pub fn needed_tokens(ledger: &Ledger, limit: u64, counter: &dyn TokenCounter) -> u64 {
    // A token is rarely longer than 8 bytes.
    if ledger.index.arena.len() as u64 / 8 > limit {
        return limit;
    }
    counter.count(&extractive(ledger, limit, counter))
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};
    use ctx_tokens::{Encoding, TokenCounter};

    use super::{
        RECORD_HEADING, RuleCount, count_rules, extractive, must_keep, needed_tokens, rule_tokens,
    };

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn ledger(texts: &[&str]) -> Ledger {
        let mut ledger = Ledger::default();
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
        assert_eq!(extractive(&Ledger::default(), 500, counter()), RECORD_HEADING);
        assert_eq!(must_keep(&Ledger::default(), 500, counter()), "");
        let heading = counter().count(RECORD_HEADING);
        assert_eq!(needed_tokens(&Ledger::default(), 500, counter()), heading);
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
    fn rules_come_first_and_hold_over_generations() {
        let talk = [
            "Our grant budget is $900.",
            "The weather was fine in the harbour.",
            "RULE: Never share the gate code heron-12. Ask Ada first.",
            "The food was good as well.",
            "Update: the grant budget is $700 now.",
            "We saw many birds there.",
            "Do not call before nine.",
            "It rained in the night.",
        ];
        let mut ledger = ledger(&talk);
        let mut summary = extractive(&ledger, 90, counter());
        for _ in 0..3 {
            assert!(
                summary.contains(
                    "## Rules\n- Never share the gate code heron-12. Ask Ada first.\n\
                     - the grant budget is $700 now.\n- Do not call before nine."
                ),
                "{summary}"
            );
            assert!(!summary.contains("$900"), "{summary}");
            let count = count_rules(&ledger, &summary);
            assert_eq!(count, RuleCount { found: 4, kept: 4 });
            ledger = Ledger::default();
            ledger.push_earlier(&summary);
            summary = extractive(&ledger, 90, counter());
        }
        assert_eq!(count_rules(&ledger, "nothing"), RuleCount { found: 4, kept: 0 });
        assert!(rule_tokens(&ledger, counter()) > 30);
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
        // The session has far more text than fits into the limit.
        let rows: Vec<String> = (0..2_000).map(|n| format!("row user_{n}\n")).collect();
        let rows = rows.concat();
        assert_eq!(needed_tokens(&ledger(&[&rows]), 100, counter()), 100);
    }
}
