//! A format with pairing rules of its own takes its dialect, and nothing else.

mod items;

use ctx_transcript::repair::Planner;
use ctx_transcript::{Dialect, Object, Outline, Rule, Validator};
use items::Items;

const USER: &str = r#"{"type":"message","role":"user","text":"go"}"#;
const SYSTEM: &str = r#"{"type":"message","role":"system","text":"be good"}"#;

fn call(id: &str) -> String {
    format!(r#"{{"type":"call","call_id":"{id}","name":"ls","arguments":"{{}}"}}"#)
}

fn output(id: &str) -> String {
    format!(r#"{{"type":"output","call_id":"{id}","output":"x"}}"#)
}

fn outline(text: &str) -> Outline<'_> {
    let object = Object::parse(text).expect("an object");
    Items.outline(&object).expect("a message")
}

/// Lines and ids of offences; of the calls that still wait only the ids.
fn offences(records: &[&str]) -> (Vec<(u64, Rule, String)>, Vec<String>) {
    let mut validator = Validator::new(Items.rules());
    for (line, text) in (1..).zip(records) {
        validator.push(line, &outline(text));
    }
    let (offences, open) = validator.finish_with_open();
    let offences = offences.into_iter().map(|o| (o.line, o.rule, o.id));
    (offences.collect(), open.into_iter().map(|o| o.id).collect())
}

#[test]
fn results_may_come_later_in_any_order() {
    let (a, b, of_a, of_b) = (call("a"), call("b"), output("a"), output("b"));
    let fine: (Vec<_>, Vec<String>) = (vec![], vec![]);
    assert_eq!(offences(&[USER, &a, &b, SYSTEM, &of_b, USER, &of_a]), fine);
    // Each result answers the nearest call before it.
    assert_eq!(offences(&[USER, &a, &of_a, &a, &of_a]), fine);
    let orphan = |line| (line, Rule::OrphanResult, "a".to_owned());
    assert_eq!(
        offences(&[&of_a, &a, &of_a, &of_a]).0,
        [orphan(1), orphan(4)]
    );
}

#[test]
fn a_call_waits_until_the_next_turn() {
    let (a, b) = (call("a"), call("b"));
    let (offences, open) = offences(&[USER, &a, USER, &b]);
    assert_eq!(offences, [(2, Rule::UnansweredCall, "a".to_owned())]);
    assert_eq!(open, ["b"]);
}

fn mended(records: &[&str], strict: bool) -> Vec<String> {
    let mut planner = Planner::new(Items.rules());
    for (at, text) in records.iter().enumerate() {
        planner.push(at, at as u64 + 1, &outline(text));
    }
    let repair = planner.finish(strict);
    let lines: Vec<String> = records.iter().map(|text| format!("{text}\n")).collect();
    let mend = Items.mend().expect("it can be mended");
    let bytes = (0..lines.len()).flat_map(|at| repair.mended(&lines, at, mend));
    let text = String::from_utf8(bytes.collect()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_missing_result_goes_behind_its_own_call() {
    let (a, b, of_b) = (call("a"), call("b"), output("b"));
    let missing = output("a").replace('x', "The result of this call is missing from the session.");
    assert_eq!(
        mended(&[USER, &a, &b, &of_b, USER, &of_b], false),
        [USER, &a, &missing, &b, &of_b, USER]
    );
    assert_eq!(mended(&[USER, &a], false), [USER, &a]);
    assert_eq!(mended(&[USER, &a], true), [USER, &a, &missing]);
}
