//! Summaries of earlier compactions, which may contain anything, and summaries that a model
//! returns.

use ctx_format::dialect::ALL;
use ctx_format::{Message, Object, Part, Role, Zone};
use ctx_summary::check::{Rules, Source, check};
use ctx_summary::ledger::Ledger;
use ctx_summary::{Recognizer, RuleSummary, extractive};
use ctx_tokens::Encoding;

/// The maximum length of a summary in tokens.
const LIMIT: u64 = 200;

pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    recognize(&text);
    sum_up(&text);
    answer(&text);
}

fn recognize(text: &str) {
    let recognizer = Recognizer::new(Some("[Before]"), ctx_policy::headers());
    let composed = recognizer.compose(text);
    for dialect in ALL {
        let role = dialect.summary_role(Role::User);
        let line = dialect.summary_record(role, &composed);
        let object = Object::parse(&line).expect("a summary is an object");
        let message = dialect.message(&object).expect("a summary is a message");
        let found = recognizer.summary_in(dialect, &object, &message);
        assert!(found.is_some(), "a summary of our own is not known");
    }
}

/// Uses the text as a user's message and as an earlier summary, and summarizes both.
fn sum_up(text: &str) {
    let counter = Encoding::Chars4.counter();
    let message = Message::new(Role::User, vec![Part::Text(text.into())]);
    let mut ledger = Ledger::default();
    ledger.push(1, &message, Zone::Old);
    ledger.push_earlier(text);
    let summary = extractive(&ledger, LIMIT, counter);
    assert_eq!(summary, extractive(&ledger, LIMIT, counter), "other words");
    let mut next = Ledger::default();
    next.push_earlier(&summary);
    let _ = extractive(&next, LIMIT, counter);

    let mut rule = RuleSummary::default();
    rule.push(&message);
    rule.push_earlier(text);
    let _ = rule.finish(Some(LIMIT), counter);
}

/// Uses the first half of the text as the session, and the second half as the model's summary.
fn answer(text: &str) {
    let middle = (text.len() / 2..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .expect("the end is a boundary");
    let (said, answer) = text.split_at(middle);
    let mut source = Source::default();
    source.push(&Message::new(Role::User, vec![Part::Text(said.into())]));
    source.push_earlier(said);
    let headings = ["Asks", "Done"].map(str::to_owned);
    for headings in [&[][..], &headings] {
        let rules = Rules {
            headings,
            prompt: "Sum up.",
            cut: text.len().is_multiple_of(2),
            largest: None,
            counter: Encoding::Chars4.counter(),
        };
        if let Ok(repaired) = check(answer, &source, &rules) {
            assert!(!repaired.text.trim().is_empty(), "a summary of nothing");
        }
    }
}
