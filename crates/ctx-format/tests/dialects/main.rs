//! Tests that only a dialect has to be added for a format which pairs calls differently, or whose
//! file is a tree.

mod items;
mod tree;

use ctx_format::repair::Planner;
use ctx_format::view::{Fragment, Outside, Presence};
use ctx_format::{Dialect, Object, Options, Outline, Records, Role, Rule, Validator};
use items::Items;
use tree::Tree;

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

/// The line, rule and id of each problem, and the ids of the calls that may still get a result.
fn problems(records: &[&str]) -> (Vec<(u64, Rule, String)>, Vec<String>) {
    let mut validator = Validator::new(Items.rules());
    for (line, text) in (1..).zip(records) {
        validator.push(line, &outline(text));
    }
    let (problems, open, _) = validator.finish_with_open();
    let problems = problems.into_iter().map(|o| (o.line, o.rule, o.id));
    (problems.collect(), open.into_iter().map(|o| o.id).collect())
}

#[test]
fn results_may_come_later_in_any_order() {
    let (a, b, of_a, of_b) = (call("a"), call("b"), output("a"), output("b"));
    let fine: (Vec<_>, Vec<String>) = (vec![], vec![]);
    assert_eq!(problems(&[USER, &a, &b, SYSTEM, &of_b, USER, &of_a]), fine);
    // Each result answers the nearest call before it.
    assert_eq!(problems(&[USER, &a, &of_a, &a, &of_a]), fine);
    let orphan = |line| (line, Rule::OrphanResult, "a".to_owned());
    assert_eq!(problems(&[&of_a, &a, &of_a, &of_a]).0, [orphan(1), orphan(4)]);
}

#[test]
fn a_call_waits_until_the_next_turn() {
    let (a, b) = (call("a"), call("b"));
    let (problems, open) = problems(&[USER, &a, USER, &b]);
    assert_eq!(problems, [(2, Rule::UnansweredCall, "a".to_owned())]);
    assert_eq!(open, ["b"]);
}

fn repaired(records: &[&str], strict: bool) -> Vec<String> {
    let mut planner = Planner::new(Items.rules());
    for (at, text) in records.iter().enumerate() {
        planner.push(at, at as u64 + 1, &outline(text));
    }
    let repair = planner.finish(strict);
    let lines: Vec<String> = records.iter().map(|text| format!("{text}\n")).collect();
    let bytes = (0..lines.len()).flat_map(|at| repair.repaired(&lines, at, &Items));
    let text = String::from_utf8(bytes.collect()).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_missing_result_goes_behind_its_own_call() {
    let (a, b, of_b) = (call("a"), call("b"), output("b"));
    let missing = output("a").replace('x', "The result of this call is missing from the session.");
    assert_eq!(
        repaired(&[USER, &a, &b, &of_b, USER, &of_b], false),
        [USER, &a, &missing, &b, &of_b, USER]
    );
    assert_eq!(repaired(&[USER, &a], false), [USER, &a]);
    assert_eq!(repaired(&[USER, &a], true), [USER, &a, &missing]);
}

/// A session with an abandoned branch, a compaction that keeps one message, and a reply on two
/// lines, between which is the result of its first call.
const TREE: &str = r#"{"type":"header"}
{"type":"user","id":"1","text":"old"}
{"type":"user","id":"2","parent":"1","text":"kept"}
{"type":"reply","id":"3","parent":"2","reply":"x","text":"left"}
{"type":"compaction","id":"4","parent":"2","firstKept":"2","text":"so far"}
{"type":"progress","id":"5","parent":"4"}
broken
{"type":"reply","id":"6","parent":"5","reply":"y","call":"a"}
{"type":"result","id":"7","parent":"6","of":"a","text":"of a"}
{"type":"reply","id":"8","parent":"7","reply":"y","call":"b"}
{"type":"result","id":"9","parent":"8","of":"b","text":"of b"}
"#;

fn tree() -> Options {
    Options { dialect: Some(&Tree), ..Options::default() }
}

#[test]
fn the_view_is_the_path_after_the_last_compaction() {
    let inside = |message, begins, ends| Presence::Inside(Fragment { message, begins, ends });
    let expected = [
        Presence::Outside(Outside::NeverSent),
        Presence::Outside(Outside::BeforeCompaction),
        inside(1, true, true),
        Presence::Outside(Outside::DeadBranch),
        inside(0, true, true),
        Presence::Outside(Outside::NeverSent),
        Presence::Outside(Outside::NeverSent),
        inside(2, true, false),
        inside(3, true, true),
        inside(2, false, true),
        inside(4, true, true),
    ];
    let mut records = Records::open(TREE.as_bytes(), &tree()).expect("from memory");
    let (mut presences, mut bytes) = (Vec::new(), Vec::new());
    while let Some(record) = records.next().expect("from memory") {
        presences.push(record.presence.expect("not linear"));
        bytes.extend_from_slice(record.bytes);
    }
    assert_eq!(presences, expected);
    assert_eq!(bytes, TREE.as_bytes());
}

#[test]
fn only_what_is_in_the_context_is_a_message() {
    let mut records = Records::open(TREE.as_bytes(), &tree()).expect("from memory");
    let dialect = records.dialect();
    let mut messages = Vec::new();
    while let Some(record) = records.next().expect("from memory") {
        let (outline, message) = (record.outline(dialect), record.message(dialect));
        assert_eq!(outline.is_some(), message.is_some());
        assert_eq!(outline.map(|it| it.begins_message()), message.as_ref().map(|it| !it.continues));
        messages.extend(message.map(|it| (record.line, it.role, it.continues)));
    }
    let expected = [
        (3, Role::User, false),
        (5, Role::User, false),
        (8, Role::Assistant, false),
        (9, Role::Tool, false),
        (10, Role::Assistant, true),
        (11, Role::Tool, false),
    ];
    assert_eq!(messages, expected);
}

/// The line and the rule of each problem in a tree of these entries.
fn problems_of_tree(entries: &[&str]) -> Vec<(u64, Rule)> {
    let input = entries.join("\n");
    let mut records = Records::open(input.as_bytes(), &tree()).expect("from memory");
    let mut validator = Validator::new(Tree.rules());
    while let Some(record) = records.next().expect("from memory") {
        if let Some(outline) = record.outline(Some(&Tree)) {
            validator.push(record.line, &outline);
        }
    }
    let problems = validator.finish().into_iter();
    problems.map(|it| (it.line, it.rule)).collect()
}

#[test]
fn a_result_between_the_lines_of_a_reply_breaks_no_rule() {
    let a = r#"{"type":"reply","id":"1","reply":"r","call":"a"}"#;
    let b = r#"{"type":"reply","id":"2","parent":"1","reply":"r","call":"b"}"#;
    let of_b = r#"{"type":"result","id":"3","parent":"2","of":"b"}"#;
    let c = r#"{"type":"reply","id":"4","parent":"3","reply":"r","call":"c"}"#;
    let of_a = r#"{"type":"result","id":"5","parent":"4","of":"a"}"#;
    let of_c = r#"{"type":"result","id":"6","parent":"5","of":"c"}"#;
    assert_eq!(problems_of_tree(&[a, b, of_b, c, of_a, of_c]), []);
    let other = c.replace(r#""r""#, r#""s""#);
    assert_eq!(
        problems_of_tree(&[a, b, of_b, &other, of_a, of_c]),
        [(1, Rule::UnansweredCall), (5, Rule::OrphanResult)]
    );
}

#[test]
fn a_session_that_is_not_linear_waits_in_a_file() {
    let text = "x".repeat(9 << 20);
    let entry = |id: u8| format!("{{\"type\":\"user\",\"id\":\"{id}\",\"text\":\"{text}\"}}\n");
    let input = [entry(1), entry(2)].concat();
    let dir = tempfile::tempdir().expect("a folder");
    let options = |name: &str| Options { temp: Some(dir.path().join(name)), ..tree() };
    let mut records = Records::open(input.as_bytes(), &options("")).expect("it is there");
    let mut bytes = Vec::new();
    while let Some(record) = records.next().expect("from the file") {
        bytes.extend_from_slice(record.bytes);
    }
    assert!(bytes == input.as_bytes());
    assert!(Records::open(input.as_bytes(), &options("none")).is_err());
}

#[test]
fn a_batch_is_linear() {
    let options = Options { batch: true, ..tree() };
    let mut records = Records::open(TREE.as_bytes(), &options).expect("from memory");
    let first = records.next().expect("from memory").expect("a record");
    assert_eq!(first.presence, None);
}
