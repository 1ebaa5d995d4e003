//! Writes the summary of a dialogue: what two people said to each other, by speaker and in order. A
//! dialogue has no tool calls and no files, so the summary says in whole sentences who said what
//! and when.

mod choose;
#[cfg(test)]
mod fixtures;
mod page;
mod prefix;
mod statement_worth;
mod talk;

use crate::ledger::{Ledger, Origin};
use ctx_tokens::TokenCounter;

use super::page::CITES;
use super::segment_worth::has_tools;
use choose::Chooser;
use talk::Talk;

/// The minimum number of messages in a dialogue.
const LEAST_MESSAGES: usize = 6;
/// The maximum average length of a dialogue's messages, in bytes.
const LONGEST_MEAN: usize = 500;

/// Returns true if the session is a dialogue, in which two people, or a person and an assistant,
/// write short messages without using tools. A compaction keeps only a few of the latest messages
/// in a dialogue, because important statements are just as likely to be in earlier messages.
pub fn is_talk(ledger: &Ledger) -> bool {
    if has_tools(&ledger.index.segments) {
        return false;
    }
    let talk = Talk::of(&ledger.index);
    let count = |origin| talk.said.iter().filter(|said| said.origin == origin).count();
    let (of_user, of_agent) = (count(Origin::User), count(Origin::Said));
    let messages = of_user + of_agent;
    let bytes: usize = talk.statements.iter().map(|one| one.text.len()).sum();
    messages >= LEAST_MESSAGES
        && bytes <= messages * LONGEST_MEAN
        && (of_user.min(of_agent) > 1 || talk.names.len() > 1)
}

/// Returns true if the messages of a dialogue begin with the names of their speakers. Such a
/// dialogue is between people.
pub(super) fn has_names(ledger: &Ledger) -> bool {
    !Talk::of(&ledger.index).names.is_empty()
}

/// Writes the summary of a dialogue, with `head` at the beginning, in at most `limit` tokens.
/// `hidden` marks the segments that are not to be quoted.
pub(super) fn written(
    ledger: &Ledger,
    hidden: &[bool],
    head: &str,
    limit: u64,
    counter: &dyn TokenCounter,
) -> String {
    let talk = Talk::without(&ledger.index, hidden);
    let write = |told: &[bool]| {
        let page = page::write(&talk, told, limit >= CITES);
        format!("{head}{page}").trim_end().to_owned()
    };
    let mut chooser = Chooser::greedy(&talk, counter);
    let mut text = write(&chooser.chosen);
    chooser.fill(&mut text, limit, counter, write);
    text
}

#[cfg(test)]
mod tests {
    use crate::ledger::Ledger;
    use ctx_format::{Message, Part, Role, Zone};
    use ctx_tokens::{Encoding, TokenCounter};
    use proptest::prelude::*;

    use super::{fixtures::ledger, is_talk, written};

    fn write(ledger: &Ledger, head: &str, limit: u64, counter: &dyn TokenCounter) -> String {
        written(ledger, &[], head, limit, counter)
    }

    fn counter() -> &'static dyn TokenCounter {
        Encoding::Chars4.counter()
    }

    fn talk() -> Vec<String> {
        let day = |n: usize| {
            [
                format!("[{} May 2023] Ann: Hey Bo! I sold {n} boats to Cosmo.", n + 1),
                "Bo: Wow, that's great, Ann!".to_owned(),
                format!("Bo: My sister paints house number {n} blue."),
                "Ann: Bye!".to_owned(),
            ]
        };
        (0..20).flat_map(day).collect()
    }

    fn of(texts: &[String]) -> Ledger {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        ledger(&texts)
    }

    #[test]
    fn short_messages_of_two_are_a_talk() {
        assert!(is_talk(&of(&talk())));
        assert!(!is_talk(&of(&talk()[..4])));
        assert!(!is_talk(&Ledger::default()));
        let word = |n: usize, m: usize| format!("Word {n} {m}.");
        let words = |n: usize| (0..99).map(|m| word(n, m)).collect::<Vec<_>>().join(" ");
        let long: Vec<String> = (0..20).map(words).collect();
        assert!(!is_talk(&of(&long)));
    }

    #[test]
    fn one_role_may_speak_for_two_with_names() {
        let one = |texts: Vec<String>| {
            let mut ledger = Ledger::default();
            for (line, text) in (1..).zip(&texts) {
                let message = Message::new(Role::User, vec![Part::Text(text.as_str().into())]);
                ledger.push(line, &message, Zone::Old);
            }
            is_talk(&ledger)
        };
        assert!(one(talk()));
        assert!(!one((0..30).map(|n| format!("Repair part {n}.")).collect()));
    }

    #[test]
    fn both_are_told_with_name_and_day_and_courtesies_are_not() {
        let text = write(&of(&talk()), "# Head\n\n", 2_000, counter());
        assert!(text.starts_with("# Head\n\n[1] user: [1 May 2023] Ann: I sold 0 boats"), "{text}");
        assert!(text.contains("[20 May 2023] Ann: I sold 19 boats to Cosmo."), "{text}");
        assert!(text.contains("Bo: My sister paints house number 19 blue."), "{text}");
        assert!(!text.contains("Wow") && !text.contains("Bye"), "{text}");
    }

    #[test]
    fn a_summary_of_a_summary_tells_the_same() {
        let first = write(&of(&talk()), "", 2_000, counter());
        let mut again = Ledger::default();
        again.push_earlier(&first);
        let second = write(&again, "", 2_000, counter());
        let bare =
            |text: &str| text.replace(['[', ']'], "").replace("user: ", "").replace("agent: ", "");
        for (one, other) in first.lines().zip(second.lines()) {
            assert!(
                bare(one).ends_with(
                    bare(other).trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
                ),
                "{one}\n{other}"
            );
        }
        assert_eq!(first.lines().count(), second.lines().count());
    }

    proptest! {
        #[test]
        fn the_limit_holds(
            texts in proptest::collection::vec("(Ann: |\\[2 May\\] |It |我|\\PC|\\. |\\? |\n){0,40}", 0..12),
            limit in 0_u64..400,
        ) {
            let ledger = of(&texts);
            let text = write(&ledger, "# Head\n\n", limit, counter());
            prop_assert!(counter().count(&text) <= limit.max(counter().count("# Head")));
        }
    }
}
