use proptest::prelude::*;

use super::{Planner, Repair};
use crate::dialect::{Anthropic, Chat};
use crate::{Dialect, Object, Problem, Validator, content};

fn plan(dialect: &dyn Dialect, records: &[String], strict: bool) -> Repair {
    let mut planner = Planner::new(dialect.rules());
    for (at, text) in records.iter().enumerate() {
        let object = Object::parse(text).expect("an object");
        let outline = dialect.outline(&object).expect("a message");
        planner.push(at, at as u64 + 1, &outline);
    }
    planner.finish(strict)
}

/// The records after the repair, and descriptions of the repairs.
fn repair(dialect: &dyn Dialect, records: &[String], strict: bool) -> (Vec<String>, Vec<String>) {
    let lines: Vec<String> = records.iter().map(|text| format!("{text}\n")).collect();
    let repair = plan(dialect, records, strict);
    let mut out = String::new();
    for at in 0..lines.len() {
        let bytes = repair.repaired(&lines, at, dialect);
        out.push_str(&String::from_utf8(bytes).expect("UTF-8"));
    }
    let actions = repair.actions.iter();
    let said = actions.map(|action| format!("{}: {}", action.line, action.say()));
    (out.lines().map(str::to_owned).collect(), said.collect())
}

fn is_legal(dialect: &dyn Dialect, records: &[String]) -> bool {
    problems(dialect, records).is_empty()
}

fn problems(dialect: &dyn Dialect, records: &[String]) -> Vec<Problem> {
    let mut validator = Validator::new(dialect.rules());
    for (line, text) in (1..).zip(records) {
        let object = Object::parse(text).expect("an object");
        validator.push(line, &dialect.outline(&object).expect("a message"));
    }
    validator.finish()
}

fn assert_repaired(dialect: &dyn Dialect, records: &[&str], repaired: &[&str], actions: &[&str]) {
    let records: Vec<String> = records.iter().map(|text| (*text).to_owned()).collect();
    let (found, said) = repair(dialect, &records, true);
    assert_eq!(said, actions);
    assert_eq!(found, repaired);
    assert!(is_legal(dialect, &found));
}

const USER: &str = r#"{"role":"user","content":"u"}"#;
const AB: &str = r#"{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}, {"id":"b","type":"function","function":{"name":"g","arguments":""}}]}"#;
const A: &str = r#"{ "role":"tool","tool_call_id":"a","content":"1" }"#;
const B: &str = r#"{"role":"tool","tool_call_id":"b","content":"2"}"#;
const NO_B: &str = r#"{"role":"tool","tool_call_id":"b","content":"The result of this call is missing from the session."}"#;

#[test]
fn chat_gets_missing_results_behind_those_that_are_there() {
    assert_repaired(
        &Chat,
        &[USER, AB, A, USER],
        &[USER, AB, A, NO_B, USER],
        &["2: result inserted for call b: the original is missing"],
    );
}

#[test]
fn a_result_that_stands_elsewhere_moves_to_its_call() {
    assert_repaired(
        &Chat,
        &[USER, AB, B, USER, A, USER],
        &[USER, AB, B, A, USER, USER],
        &["5: result a moved to its call on line 2"],
    );
}

#[test]
fn results_that_answer_nothing_go() {
    assert_repaired(
        &Chat,
        &[A, USER, AB, A, B, B, USER, B],
        &[USER, AB, A, B, USER],
        &[
            "1: result a removed: it has no matching call",
            "6: result b removed: its call already has a result",
            "8: result b removed: it has no matching call",
        ],
    );
}

#[test]
fn calls_at_the_end_may_wait() {
    let records = [USER, AB, A].map(str::to_owned);
    assert!(plan(&Chat, &records, false).actions.is_empty());
    assert_eq!(repair(&Chat, &records, true).0.last().map(String::as_str), Some(NO_B));
}

#[test]
fn a_function_that_was_called_without_id_is_answered_by_name() {
    assert_repaired(
        &Chat,
        &[r#"{"role":"assistant","function_call":{"name":"old","arguments":"{}"}}"#, USER],
        &[
            r#"{"role":"assistant","function_call":{"name":"old","arguments":"{}"}}"#,
            r#"{"role":"function","name":"old","content":"The result of this call is missing from the session."}"#,
            USER,
        ],
        &["1: result inserted for call without id: the original is missing"],
    );
}

#[test]
fn a_call_for_ollama_has_no_id_and_neither_has_its_result() {
    let call = r#"{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":{}}}]}"#;
    assert_repaired(
        &Chat,
        &[call, USER],
        &[
            call,
            r#"{"role":"tool","content":"The result of this call is missing from the session."}"#,
            USER,
        ],
        &["1: result inserted for call without id: the original is missing"],
    );
}

#[test]
fn calls_of_one_reply_get_ids_of_their_own() {
    assert_repaired(
        &Chat,
        &[&AB.replace("\"b\"", "\"a\""), A, A, USER],
        &[&AB.replace("\"b\"", "\"a-2\""), A, &A.replace("\"a\"", "\"a-2\""), USER],
        &["1: call a renamed to a-2: another call has this id"],
    );
    let renamed = USE
        .replace("\"t\"", "\"s\"")
        .replace("]}", r#",{"type":"tool_use","id":"s","name":"m","input":{}}]}"#);
    let (repaired, _) =
        repair(&Anthropic, &[USER, &renamed, &results(&["s", "s"]), USER].map(str::to_owned), true);
    assert_eq!(repaired[2], results(&["s", "s-2"]));
    assert!(is_legal(&Anthropic, &repaired));
}

const USE: &str =
    r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]}"#;

fn block(id: &str) -> String {
    format!(
        r#"{{"type":"tool_result","tool_use_id":"{id}","content":[{{"type":"text", "text":"r"}}]}}"#
    )
}

fn results(ids: &[&str]) -> String {
    let blocks: Vec<String> = ids.iter().map(|id| block(id)).collect();
    format!(r#"{{"role":"user","content":[{}]}}"#, blocks.join(","))
}

const NO_T: &str = r#"{"type":"tool_result","tool_use_id":"t","content":"The result of this call is missing from the session.","is_error":true}"#;

#[test]
fn anthropic_gets_missing_results_in_the_next_user_message() {
    let answered = format!(r#"{{"role":"user","content":[{NO_T},{{"type":"text","text":"u"}}]}}"#);
    assert_repaired(
        &Anthropic,
        &[USER, USE, USER],
        &[USER, USE, &answered],
        &["2: result inserted for call t: the original is missing"],
    );
    let alone = format!(r#"{{"role":"user","content":[{NO_T}]}}"#);
    assert_repaired(
        &Anthropic,
        &[USER, USE],
        &[USER, USE, &alone],
        &["2: result inserted for call t: the original is missing"],
    );
}

#[test]
fn blocks_that_answer_nothing_go_and_the_others_stay() {
    let (x, t) = (block("x"), block("t"));
    let text = r#"{"type":"text" , "text":"and now"}"#;
    let mixed = format!(r#"{{"n":1E2, "content": [{x}, {t}, {text} ],"role":"user"}}"#);
    let repaired = format!(r#"{{"n":1E2, "content": [{t},{text}],"role":"user"}}"#);
    assert_repaired(
        &Anthropic,
        &[USER, USE, &mixed],
        &[USER, USE, &repaired],
        &["3: result x removed: it has no matching call"],
    );
    assert_repaired(
        &Anthropic,
        &[USER, &results(&["x"]), USER],
        &[USER, USER],
        &["2: result x removed: it has no matching call"],
    );
}

#[test]
fn results_behind_other_blocks_go_first() {
    let (t, text) = (block("t"), r#"{"type":"text","text":"wait"}"#);
    let late = format!(r#"{{"role":"user","content":[{text},{t}]}}"#);
    let first = format!(r#"{{"role":"user","content":[{t},{text}]}}"#);
    assert_repaired(
        &Anthropic,
        &[USER, USE, &late],
        &[USER, USE, &first],
        &["3: results moved before the other blocks"],
    );
}

#[test]
fn blocks_that_stand_elsewhere_move_to_their_call() {
    let moved =
        format!(r#"{{"role":"user","content":[{},{{"type":"text","text":"u"}}]}}"#, block("t"));
    let action = ["4: result t moved to its call on line 2"];
    let late = results(&["t"]);
    assert_repaired(&Anthropic, &[USER, USE, USER, &late], &[USER, USE, &moved], &action);
    let reply = r#"{"role":"assistant","content":"so"}"#;
    let later = ["5: result t moved to its call on line 2"];
    assert_repaired(
        &Anthropic,
        &[USER, USE, USER, reply, &late, USER],
        &[USER, USE, &moved, reply, USER],
        &later,
    );
}

#[test]
fn of_adjacent_replies_with_one_id_the_nearer_has_the_result() {
    let answered = format!(r#"{{"role":"user","content":[{NO_T},{}]}}"#, block("t-2"));
    assert_repaired(
        &Anthropic,
        &[USER, USE, USE, &results(&["t"])],
        &[USER, USE, &USE.replace("\"t\"", "\"t-2\""), &answered],
        &[
            "2: result inserted for call t: the original is missing",
            "3: call t renamed to t-2: another call has this id",
        ],
    );
}

#[test]
fn a_session_that_begins_with_a_reply_gets_a_beginning() {
    let begin = r#"{"role":"user","content":"The beginning of this session is missing."}"#;
    let results = results(&["t"]);
    assert_repaired(
        &Anthropic,
        &[&results, USE, &results],
        &[begin, USE, &results],
        &[
            "1: result t removed: it has no matching call",
            "2: user message inserted before this line: the session began with a reply",
        ],
    );
}

fn anthropic_message() -> impl Strategy<Value = String> {
    let id = || prop_oneof![Just("t1"), Just("t2"), Just("t3")];
    let text = Just(r#"{"type":"text","text":"x"}"#.to_owned());
    let call = || {
        id().prop_map(|id| format!(r#"{{"type":"tool_use","id":"{id}","name":"n","input":{{}}}}"#))
    };
    let says = |role: &'static str, blocks: Vec<String>| {
        format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","))
    };
    let reply = proptest::collection::vec(prop_oneof![1 => text.clone(), 2 => call()], 0..4);
    let result = id().prop_map(block);
    let answer = proptest::collection::vec(prop_oneof![1 => text, 3 => result], 1..4);
    prop_oneof![
        1 => Just(USER.to_owned()),
        1 => Just(r#"{"role":"user","content":""}"#.to_owned()),
        4 => reply.prop_map(move |blocks| says("assistant", blocks)),
        5 => answer.prop_map(move |blocks| says("user", blocks)),
    ]
}

fn chat_message() -> impl Strategy<Value = String> {
    let id = || prop_oneof![Just("a"), Just("b"), Just("c")];
    let call = |id: &str| {
        format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":""}}}}"#)
    };
    let calls = proptest::collection::vec(id(), 1..4);
    prop_oneof![
        2 => Just(USER.to_owned()),
        1 => Just(r#"{"role":"system","content":"s"}"#.to_owned()),
        3 => calls.prop_map(move |ids| {
            let calls: Vec<String> = ids.into_iter().map(call).collect();
            format!(r#"{{"role":"assistant","tool_calls":[{}]}}"#, calls.join(","))
        }),
        1 => Just(r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#.to_owned()),
        1 => Just(r#"{"role":"function","name":"f","content":"1"}"#.to_owned()),
        5 => id().prop_map(|id| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"1"}}"#)),
    ]
}

/// Returns the records with their content repaired.
fn mended(dialect: &dyn Dialect, records: &[String]) -> Vec<String> {
    let problems = problems(dialect, records);
    let mended = (1..).zip(records).map(|(line, record)| {
        let own: Vec<_> = problems.iter().filter(|problem| problem.line == line).collect();
        let mended = content::mended(dialect, record.as_bytes(), &own);
        mended.map_or(record.clone(), |bytes| String::from_utf8(bytes).expect("UTF-8"))
    });
    mended.collect()
}

/// Checks properties that the repair of every session must have.
fn check(dialect: &dyn Dialect, records: &[String]) -> Result<(), TestCaseError> {
    let records = &mended(dialect, records)[..];
    let (repaired, actions) = repair(dialect, records, true);
    prop_assert!(is_legal(dialect, &repaired), "{repaired:#?} {actions:#?}");
    prop_assert_eq!(actions.is_empty(), is_legal(dialect, records));
    prop_assert_eq!(&repair(dialect, &repaired, true), &(repaired.clone(), vec![]));
    // Records that the repair did not change are still there, in the same order.
    let repair = plan(dialect, records, true);
    let left = (0..records.len()).filter(|at| !repair.edits.contains_key(at));
    let mut rest = repaired.iter();
    for at in left {
        prop_assert!(rest.any(|text| *text == records[at]), "{}", records[at]);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_chat_session_can_be_repaired(records in proptest::collection::vec(chat_message(), 0..14)) {
        check(&Chat, &records)?;
    }

    #[test]
    fn every_anthropic_session_can_be_repaired(records in proptest::collection::vec(anthropic_message(), 0..12)) {
        check(&Anthropic, &records)?;
    }
}
