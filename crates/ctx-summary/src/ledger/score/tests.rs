//! Tests of the scores of whole sessions.

use ctx_format::{Call, Handle, Message, Part, Role, Saved, ToolResult, Zone};
use proptest::prelude::*;

use crate::ledger::score::{After, Class, Future, Needed, Score, Scored, Scorer, Standing};
use crate::ledger::{ItemKind, Ledger};

fn says(role: Role, text: &str) -> Message<'_> {
    Message::new(role, vec![Part::Text(text.into())])
}

fn calls<'a>(name: &'a str, arguments: &'a str) -> Message<'a> {
    Message::new(
        Role::Assistant,
        vec![Part::Call(Call {
            id: Some("c".into()),
            name: name.into(),
            arguments: arguments.into(),
            slot: None,
        })],
    )
}

fn answers(text: &str) -> Message<'_> {
    Message::new(
        Role::Tool,
        vec![Part::Result(ToolResult {
            id: Some("c".into()),
            parts: vec![Part::Text(text.into())],
            ..ToolResult::default()
        })],
    )
}

fn session(messages: &[Message<'_>]) -> After {
    let mut after = After::default();
    for message in messages {
        after.push(message);
    }
    after
}

fn score(before: &[Message<'_>], after: &[Message<'_>]) -> Score {
    let mut scorer = Scorer::new(session(after));
    let ledger = ledger(before, &mut scorer);
    scorer.finish(&ledger)
}

/// Returns the ledger of the old session, and lets the scorer look for originals in its messages.
fn ledger(before: &[Message<'_>], scorer: &mut Scorer) -> Ledger {
    let mut ledger = Ledger::default();
    for (line, message) in (1..).zip(before) {
        ledger.push(line, message, Zone::Old);
        scorer.look_for_originals(line, message);
    }
    ledger
}

fn standing(score: &Score, text: &str) -> Option<(u64, Standing)> {
    let mut items = score.items.iter();
    let found = items.find(|item| item.class == Class::Identifiers && item.text == text)?;
    Some((found.line, found.standing))
}

#[test]
fn identifiers_have_their_last_line_and_their_standing() {
    let before = [
        says(Role::System, "you work in /srv/project"),
        says(Role::User, "repair user_4711 in /srv/project/a.rs"),
        calls("Read", r#"{"path":"/srv/project/a.rs"}"#),
        answers("order W8123 of user_4711"),
    ];
    let score = score(&before, &[says(Role::User, "it is W8123,\nsee `/srv/project/a.rs`")]);
    assert_eq!(standing(&score, "W8123"), Some((4, Standing::Retained)));
    assert_eq!(standing(&score, "/srv/project/a.rs"), Some((3, Standing::Retained)));
    assert_eq!(standing(&score, "user_4711"), Some((4, Standing::Lost)));
    // System messages are always kept.
    assert_eq!(standing(&score, "/srv/project"), None);
}

#[test]
fn arguments_and_results_of_the_new_session_count() {
    let before = [says(Role::User, "user_4711 user_4712 user_4713")];
    let after =
        [calls("look", r#"{"a":{"b":["user_4711"]},"t":"x\nuser_4712"}"#), answers("user_4713")];
    let score = score(&before, &after);
    for name in ["user_4711", "user_4712", "user_4713"] {
        assert_eq!(standing(&score, name), Some((1, Standing::Retained)), "{name}");
    }
}

#[test]
fn what_a_handle_names_can_be_had_back() {
    let result = "order W8123\n\nof user_4711";
    let before = [answers(result), says(Role::User, "and user_4712")];
    let cut = Handle::of(result, "", Saved::Yes).behind("order");
    let score = score(&before, &[answers(&cut)]);
    assert_eq!(standing(&score, "user_4711"), Some((1, Standing::Recoverable)));
    assert_eq!(standing(&score, "user_4712"), Some((2, Standing::Lost)));
    let other = Handle::of("another text of just 25 b", "", Saved::Yes).behind("order");
    let score = super::tests::score(&before, &[answers(&other)]);
    assert_eq!(standing(&score, "user_4711"), Some((1, Standing::Lost)));
}

#[test]
fn a_snapshot_saves_what_nothing_else_has() {
    let before = says(Role::User, "user_4711 and user_4712 and user_4713");
    let mut scorer = Scorer::new(session(&[says(Role::User, "user_4711")]));
    let ledger = ledger(&[before], &mut scorer);
    scorer.add_referred("… user_4712");
    scorer.saved = true;
    let score = scorer.finish(&ledger);
    assert_eq!(standing(&score, "user_4711"), Some((1, Standing::Retained)));
    assert_eq!(standing(&score, "user_4712"), Some((1, Standing::Recoverable)));
    assert_eq!(standing(&score, "user_4713"), Some((1, Standing::Saved)));
    let row = score.rows()[4];
    assert_eq!((row.total, row.retained, row.recoverable, row.saved, row.lost), (3, 1, 2, 1, 0));
    // The model cannot read a snapshot, so three items of equal weight count as 1, ½ and 0.
    assert!(score.items_kept() < 0.51);
}

const ASKS: Class = Class::Item(ItemKind::Ask);
const COMMANDS: Class = Class::Item(ItemKind::Command);
const CONSTRAINTS: Class = Class::Item(ItemKind::Constraint);
const ERRORS: Class = Class::Item(ItemKind::Error);

fn find(score: &Score, class: Class) -> Vec<(&str, Standing)> {
    let items = score.items.iter().filter(|item| item.class == class);
    items.map(|item| (item.text.as_str(), item.standing)).collect()
}

#[test]
fn what_the_user_said_must_stay_word_for_word() {
    let before = [says(Role::User, "Rename the  module,\nplease. Never push to main.")];
    let rule = |after: &str| {
        let score = score(&before, &[says(Role::User, after)]);
        find(&score, CONSTRAINTS)[0].1
    };
    assert_eq!(rule("- Never push\n  to main."), Standing::Retained);
    assert_eq!(rule("pushing to main is not allowed"), Standing::Lost);
    let score = score(&before, &before);
    assert!((score.items_kept() - 1.0).abs() < 1e-9);
    assert_eq!(
        find(&score, ASKS),
        [("Rename the module, please. Never push to main.", Standing::Retained)]
    );
}

#[test]
fn an_exchange_that_stays_keeps_its_command_and_its_error() {
    let exchange =
        [calls("Bash", r#"{"command":"cargo test"}"#), answers("error: no such crate\nmore")];
    let all = score(&exchange, &exchange);
    assert_eq!(find(&all, COMMANDS), [("Bash: cargo test", Standing::Retained)]);
    assert_eq!(
        find(&all, ERRORS),
        [("Bash: cargo test: error: no such crate", Standing::Retained)]
    );
    let call = score(&exchange, &[says(Role::User, "run cargo test")]);
    assert_eq!(find(&call, COMMANDS)[0].1, Standing::Retained);
    assert_eq!(find(&call, ERRORS)[0].1, Standing::Lost);
    let cut = Handle::of("error: no such crate\nmore", "", Saved::Yes).behind("…");
    let cut = score(&exchange, &[says(Role::User, &cut)]);
    assert_eq!(find(&cut, ERRORS)[0].1, Standing::Recoverable);
}

#[test]
fn what_is_done_or_superseded_may_go() {
    let before = [
        calls("Bash", r#"{"command":"cargo test"}"#),
        answers("error: no such crate"),
        calls("Bash", r#"{"command":"cargo test"}"#),
        answers("all well"),
    ];
    let score = score(&before, &[]);
    assert_eq!(find(&score, ERRORS), []);
    assert_eq!(score.rows()[5].retired, 1);
}

#[test]
fn a_long_text_may_be_cut() {
    let long = format!("Do not touch {}the end", "one of the old files or ".repeat(30));
    let before = [says(Role::User, &long)];
    let score = score(&before, &before);
    assert!(score.items.iter().all(|item| item.standing == Standing::Retained));
}

#[test]
fn secrets_are_taken_out_on_both_sides() {
    let secret = format!("sk-proj-{}", "aB3dE5gH7jK9mN1pQ2rS4tU6");
    let text = format!("the key is {secret} for user_4711");
    let score = score(&[says(Role::User, &text)], &[says(Role::User, &text)]);
    assert!(score.items.iter().all(|item| !item.text.contains(&secret)));
    assert!(score.items.iter().all(|item| item.standing == Standing::Retained));
}

#[test]
fn nothing_to_lose_is_nothing_lost() {
    assert!((score(&[], &[]).items_kept() - 1.0).abs() < 1e-9);
    let row = score(&[], &[]).rows()[0];
    assert_eq!((row.total, row.score), (0, None));
}

#[test]
fn later_calls_tell_what_was_needed() {
    let mut future = Future::default();
    future.push_before(&says(Role::System, "you serve user_0001"));
    future.push_before(&says(Role::User, "please refund order W8123 of the kitchen lamp"));
    future.push_before(&answers("the paid amount was 129.90 dollars today"));
    future.push_after(&says(Role::System, "you serve user_0001"));
    future.push_after(&says(Role::User, "refund order W8123"));
    // A value is not needed if it is in the system message or if the user repeats it.
    future.push_later(&says(Role::User, "send it to 10115, not lamp-7"));
    future.push_later(&calls(
        "refund",
        r#"{"order":"W8123","amount":"129.90","user":"user_0001","zip":"10115"}"#,
    ));
    future.push_later(&answers("done for W8123"));
    future.push_later(&calls("refund", r#"{"order":"W8123"}"#));
    let expected = Needed { total: 2, kept: 1, in_context: 1, far: 1, far_in_context: 1 };
    // A window of 30 tokens contains only the last message.
    assert_eq!(future.finish(Some(30)), expected);
}

#[test]
fn what_is_told_again_before_the_call_is_not_needed() {
    let needed = |told: &str| {
        let mut future = Future::default();
        future.push_before(&says(Role::User, "order W8123"));
        future.push_later(&says(Role::User, told));
        future.push_later(&calls("refund", r#"{"order":"W8123"}"#));
        future.finish(None).total
    };
    assert_eq!(needed("go on"), 1);
    assert_eq!(needed("go on with W8123"), 0);
}

#[test]
fn of_a_path_its_end_is_enough() {
    let mut future = Future::default();
    future.push_before(&says(Role::User, "look at src/lib.rs there"));
    future.push_after(&says(Role::User, "look at src/lib.rs there"));
    future.push_later(&calls("Read", r#"{"path":"/home/me/src/lib.rs"}"#));
    let needed = future.finish(None);
    assert_eq!((needed.total, needed.kept, needed.in_context), (1, 1, 1));
}

proptest! {
    #[test]
    fn counts_add_up(items in prop::collection::vec((0..8_usize, 0..4_usize, 0.01..1.0_f64), 0..40)) {
        let standings = [Standing::Retained, Standing::Recoverable, Standing::Saved, Standing::Lost];
        let items: Vec<_> = items.into_iter().map(|(class, standing, weight)| Scored {
            class: Class::ALL[class],
            text: "x".to_owned(),
            line: 1,
            weight,
            standing: standings[standing],
        }).collect();
        let score = Score { items, retired: Vec::new() };
        let rows = score.rows();
        for row in rows {
            prop_assert_eq!(row.total, row.retained + row.recoverable + row.lost);
            prop_assert!(row.saved <= row.recoverable);
            prop_assert!(row.score.is_none_or(|score| (0.0..=1.0 + 1e-9).contains(&score)));
        }
        let total: u64 = rows.iter().map(|row| row.total).sum();
        prop_assert_eq!(total, score.items.len() as u64);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&score.items_kept()));
    }

    #[test]
    fn a_session_keeps_all_of_itself_and_less_of_its_parts(
        words in prop::collection::vec("[a-z]{2,6}_[0-9]{2,4}|/[a-z]{2,5}/[a-z]{2,5}\\.rs|[A-Z]{3}[0-9]{3}", 1..12),
        kept in 0..12_usize,
    ) {
        let messages: Vec<_> = words.iter().map(|word| says(Role::User, word)).collect();
        let whole = score(&messages, &messages);
        prop_assert!((whole.items_kept() - 1.0).abs() < 1e-9);
        let part = score(&messages, &messages[..kept.min(messages.len())]);
        prop_assert!(part.items_kept() <= 1.0 + 1e-9);
        prop_assert_eq!(part.items.len(), whole.items.len());
        let none = score(&messages, &[]);
        prop_assert!(none.items.iter().all(|item| item.standing == Standing::Lost));
    }
}
