//! Tests summaries of summaries. Every item in a summary must be in the next summary, be counted as
//! left out there, or be settled.

use ctx_format::dialect::{Chat, Dialect};
use ctx_format::{Object, Zone};
use ctx_summary::extractive;
use ctx_summary::ledger::{ItemKind, Ledger};
use ctx_tokens::Encoding;
use proptest::prelude::*;
use serde_json::json;

fn push(ledger: &mut Ledger, line: u64, record: &serde_json::Value) {
    let text = record.to_string();
    let object = Object::parse(&text).expect("an object");
    let message = Chat.message(&object).expect("a message");
    ledger.push(line, &message, Zone::Old);
}

/// Adds the messages of one round, which contain a request, a rule, a decision, an error and a
/// file.
fn round(ledger: &mut Ledger, round: usize) {
    let line = 10 * round as u64;
    push(
        ledger,
        line + 1,
        &json!({"role": "user", "content": format!("Please add the field order_{round} to the form. Never touch module {round}.")}),
    );
    push(
        ledger,
        line + 2,
        &json!({"role": "assistant", "content": format!("We decided to store order_{round} in table t{round}_rows."),
        "tool_calls": [
            {"id": format!("a{round}"), "type": "function", "function": {"name": "Bash", "arguments": json!({"command": format!("make check-{round}")}).to_string()}},
            {"id": format!("b{round}"), "type": "function", "function": {"name": "Edit", "arguments": json!({"file_path": format!("/srv/app/form_{round}.py")}).to_string()}},
        ]}),
    );
    push(
        ledger,
        line + 3,
        &json!({"role": "tool", "tool_call_id": format!("a{round}"), "content": format!("Error: target check-{round} failed with code {round}")}),
    );
    push(
        ledger,
        line + 4,
        &json!({"role": "tool", "tool_call_id": format!("b{round}"), "content": "The file was updated."}),
    );
}

/// Returns how many items of this kind the summary's last line reports as left out.
fn left_out(summary: &str, kind: ItemKind) -> usize {
    let line = summary.lines().find(|line| line.starts_with("⟦left out: "));
    let counts =
        line.map_or("", |line| line.trim_start_matches("⟦left out: ").trim_end_matches('⟧'));
    let count = counts.split(", ").find_map(|part| part.strip_suffix(<&str>::from(kind)));
    count.map_or(0, |count| count.trim().parse().expect("a number"))
}

/// Returns the number of current items of a kind, and how many of them the summary contains.
fn told(ledger: &Ledger, summary: &str, kind: ItemKind) -> (usize, usize) {
    let items = ledger.items.list.iter().filter(|item| item.kind == kind && item.holds());
    // The item begins with the tool's name. In the story, the call has no tool name, and the
    // outcome is on the next line.
    let words: Vec<&str> = summary.split_whitespace().collect();
    let summary = words.join(" ");
    let texts: Vec<&str> = items.map(|item| item.text.as_str()).collect();
    // The sentences of a request may be in different sections.
    let is_told = |text: &&&str| {
        text.split(": ").skip(1).all(|part| summary.contains(part))
            && (text.contains(": ")
                || text.split_inclusive(". ").all(|one| summary.contains(one.trim())))
    };
    (texts.len(), texts.iter().filter(is_told).count())
}

fn generations(rounds: usize, limit: u64) -> Vec<String> {
    let counter = Encoding::default().counter();
    let mut summaries: Vec<String> = Vec::new();
    for number in 0..rounds {
        let mut ledger = Ledger::default();
        if let Some(earlier) = summaries.last() {
            let body = earlier.split_once('\n').map_or("", |(_, body)| body);
            ledger.push_earlier(body);
        }
        round(&mut ledger, number);
        let summary = extractive(&ledger, limit, counter);
        assert!(counter.count(&summary) <= limit);
        for kind in ItemKind::ALL.iter().copied() {
            let (all, told) = told(&ledger, &summary, kind);
            let before = summaries.last().map_or(0, |earlier| left_out(earlier, kind));
            let now = left_out(&summary, kind) - before;
            assert_eq!(
                all,
                told + now,
                "{} in generation {number}:\n{summary}",
                <&str>::from(kind)
            );
        }
        summaries.push(summary);
    }
    summaries
}

#[test]
fn with_room_the_tenth_summary_has_all_of_the_first() {
    let summaries = generations(10, 6_000);
    let words = |line: &str| line.split_once("] ").map_or(line, |(_, line)| line).to_owned();
    // Only the story is searched, because it also contains everything in the lists of open items
    // and errors.
    let is_story = |line: &&str| !line.starts_with("## ") && !line.starts_with("- ");
    let first: Vec<String> = summaries[0].lines().filter(is_story).map(words).collect();
    for line in &first {
        assert!(summaries[9].contains(line), "{line}\n{}", summaries[9]);
    }
    assert!(first.len() >= 6, "{}", summaries[0]);
    assert!(!summaries[9].contains("left out"), "{}", summaries[9]);
}

#[test]
fn without_room_what_is_left_out_is_counted() {
    let summaries = generations(10, 620);
    assert!(summaries[9].contains("⟦left out: "), "{}", summaries[9]);
    // The first request, which says what the session is about, and the latest request are never
    // left out.
    assert!(summaries[9].contains("order_0 to the form"), "{}", summaries[9]);
    assert!(summaries[9].contains("order_9 to the form"), "{}", summaries[9]);
}

#[test]
fn what_is_repaired_is_no_longer_listed() {
    let counter = Encoding::default().counter();
    let mut ledger = Ledger::default();
    round(&mut ledger, 3);
    let first = extractive(&ledger, 2_000, counter);
    assert!(
        first.contains("- Bash: make check-3: Error: target check-3 failed with code 3"),
        "{first}"
    );
    let mut ledger = Ledger::default();
    ledger.push_earlier(&first);
    push(
        &mut ledger,
        90,
        &json!({"role": "assistant", "content": null, "tool_calls": [{"id": "z", "type": "function", "function": {"name": "Bash", "arguments": json!({"command": "make check-3"}).to_string()}}]}),
    );
    push(&mut ledger, 91, &json!({"role": "tool", "tool_call_id": "z", "content": "all is well"}));
    let second = extractive(&ledger, 2_000, counter);
    assert!(!second.contains("## Errors"), "{second}");
    assert!(second.contains("make check-3 → all is well"), "{second}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_is_lost_without_being_counted(limit in 400u64..3_000) {
        generations(6, limit);
    }
}
