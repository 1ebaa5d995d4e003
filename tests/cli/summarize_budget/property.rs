//! Properties of the output for any session and any budget.

use std::fs;

use ctx_format::dialect::by_name;
use ctx_format::{Options, Records, Rule, Validator};
use proptest::prelude::*;

use super::talk::{Event, sentences, session};
use super::{tokens, tried};

fn events() -> impl Strategy<Value = Vec<Event>> {
    let words = || {
        let count = prop_oneof![6 => 0usize..4, 2 => 4usize..40, 1 => 40usize..120];
        let text = (0usize..500, count).prop_map(|(first, count)| sentences(first, count));
        let chinese =
            (1usize..60).prop_map(|n| "我们决定把端口改成 9000，不要动数据库。".repeat(n));
        prop_oneof![5 => text, 1 => chinese]
    };
    let event = prop_oneof![
        3 => words().prop_map(Event::User),
        3 => words().prop_map(Event::Reply),
        4 => (words(), words()).prop_map(|(arguments, result)| Event::Call(arguments, result)),
        1 => (words(), words()).prop_map(|(one, two)| Event::Calls(one, two)),
    ];
    proptest::collection::vec(event, 0..14)
}

/// Returns the problems of a session without line numbers, which change.
fn problems(dialect: &str, session: &[u8]) -> Vec<(Rule, String)> {
    let dialect = by_name(dialect).expect("known");
    let options = Options { dialect: Some(dialect), ..Options::default() };
    let mut records = Records::open(session, &options).expect("from memory");
    let mut validator = Validator::new(dialect.rules());
    while let Some(record) = records.next().expect("from memory") {
        if let Some(outline) = record.outline(Some(dialect)) {
            validator.push(record.line, &outline);
        }
    }
    let found = validator.finish().into_iter();
    found.map(|problem| (problem.rule, problem.id)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_output_is_within_the_budget_legal_and_of_the_same_bytes(
        events in events(),
        has_system in any::<bool>(),
        is_anthropic in any::<bool>(),
        budget in prop_oneof![1u64..200, 200u64..4_000],
        keep in proptest::option::of(0usize..4),
    ) {
        let dialect = if is_anthropic { "anthropic" } else { "chat" };
        let system = has_system.then_some("Be brief. Never touch the folder migrations/.");
        let before = session(dialect, system.filter(|_| !is_anthropic), &events);
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("s.jsonl"), &before).expect("writes");
        let keep = keep.map(|keep| keep.to_string());
        let mut args = vec!["-q", "--dialect", dialect, "-o", "new.jsonl", "s.jsonl"];
        if let Some(keep) = &keep {
            args.extend(["--keep-messages", keep]);
        }
        let done = tried(dir.path(), budget, &args);
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        let new = fs::read(dir.path().join("new.jsonl"));
        prop_assert!(done.stdout.is_empty());
        if done.status.code() == Some(2) {
            prop_assert!(stderr.contains("tokens must stay, which leaves too little of the budget of "), "{}", stderr);
            prop_assert!(new.is_err(), "nothing is written");
            return Ok(());
        }
        prop_assert_eq!(done.status.code(), Some(0), "{}", stderr);
        let after = String::from_utf8(new.expect("it is there")).expect("UTF-8");
        if tokens(before.clone(), dialect) <= budget {
            prop_assert_eq!(&after, &before);
            return Ok(());
        }
        let total = tokens(after.clone(), dialect);
        prop_assert!(total <= budget, "{} > {}\n{}", total, budget, after);

        let known = problems(dialect, before.as_bytes());
        for problem in problems(dialect, after.as_bytes()) {
            prop_assert!(known.contains(&problem), "{:?} is new in\n{}", problem, after);
        }
        // Everything that is neither the summary nor shortened is there, in order, byte for byte.
        let mut lines = before.lines();
        for line in after.lines() {
            if line.contains("ctx_summary") || line.contains("⟦ctx:") || line.contains("chars truncated") {
                continue;
            }
            prop_assert!(lines.any(|known| known == line), "{} is new or out of order", line);
        }
        if let Some(system) = before.lines().next().filter(|line| line.contains("system")) {
            prop_assert_eq!(after.lines().next(), Some(system));
        }
        // There is no summary if shorter results are enough.
        prop_assert!(after.matches("ctx_summary").count() <= 1);

        let again = tried(dir.path(), budget, &args);
        prop_assert_eq!(again.status.code(), Some(0));
        let again = fs::read(dir.path().join("new.jsonl")).expect("it is there");
        prop_assert!(again == after.as_bytes(), "the same bytes each time");
    }
}
