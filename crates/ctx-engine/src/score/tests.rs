//! Tests scores of whole sessions, read from their records.

use ctx_format::{Handle, Options, Saved};
use ctx_summary::ledger::score::{Score, Scorer, Standing};

use super::{Exam, Further, Later, Mark, read_after, read_before, score};
use crate::{ErrorKind, Invalid, Result, Session};

const ASK: &str = r#"{"role":"user","content":"Refund order W8123, never W9999."}"#;
const CALL: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"refund W8123\"}"}}]}"#;
const ERROR: &str = "error: payment_7755 is closed";

fn result(content: &str) -> String {
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"{content}\"}}\n")
}

fn before() -> String {
    format!("{ASK}\n{CALL}\n{}", result(ERROR))
}

fn open(text: &str) -> Result<Session> {
    let reader = std::io::Cursor::new(text.to_owned());
    Session::open(Box::new(reader), &Options::default(), Invalid::Keep)
}

fn session(text: &str) -> Session {
    open(text).expect("from memory")
}

/// Scores by reading the ledger of the old session first, as in a compaction.
fn ledger_first(before: &str, after: &str) -> Score {
    let ledger = read_before(&mut session(before), None, None).expect("a ledger");
    score(&ledger, &mut session(after), || open(before)).expect("a score")
}

/// Scores by reading the new session first, as in `ctx-score`.
fn after_first(before: &str, after: &str) -> Score {
    let mut scorer = Scorer::new(read_after(&mut session(after), None).expect("read"));
    let ledger = read_before(&mut session(before), Some(&mut scorer), None).expect("a ledger");
    scorer.finish(&ledger)
}

fn standing(score: &Score, text: &str) -> Option<Standing> {
    let mut items = score.items.iter();
    Some(items.find(|item| item.text == text)?.standing)
}

#[test]
fn the_order_of_reading_does_not_matter() {
    let handle = Handle::of(ERROR, "", Saved::Yes).to_string();
    let summary =
        r#"{"role":"user","name":"ctx_summary","content":"[Compressed History]\n\nOrder W8123"}"#;
    for after in [
        String::new(),
        format!("{ASK}\n"),
        before(),
        format!("{ASK}\n{CALL}\n{}", result(&handle)),
        format!("{summary}\n"),
    ] {
        for before in [before(), format!("{summary}\n{}", before())] {
            assert_eq!(ledger_first(&before, &after), after_first(&before, &after), "{after}");
        }
    }
}

#[test]
fn what_a_handle_names_is_looked_for_in_the_old_session() {
    let cut = format!("{ASK}\n{CALL}\n{}", result(&Handle::of(ERROR, "", Saved::Yes).to_string()));
    let score = ledger_first(&before(), &cut);
    assert_eq!(standing(&score, "W8123"), Some(Standing::Retained));
    assert_eq!(standing(&score, "payment_7755"), Some(Standing::Recoverable));
}

#[test]
fn a_session_that_nothing_refers_to_is_not_opened_again() {
    let ledger = read_before(&mut session(&before()), None, None).expect("a ledger");
    let mut after = session(ASK);
    let score = score(&ledger, &mut after, || panic!("opened")).expect("a score");
    assert_eq!(standing(&score, "payment_7755"), Some(Standing::Lost));
}

#[test]
fn an_earlier_summary_is_read_as_one() {
    let text = "[Compressed History]\\n\\n## Decisions\\n- We keep order W8123 open.";
    let summary = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n");
    let score = ledger_first(&summary, "");
    let lines: Vec<u64> = score.items.iter().map(|item| item.line).collect();
    // The items in a summary have no line.
    assert_eq!(lines, [0, 0], "{:?}", score.items);
}

#[test]
fn a_session_of_an_unknown_format_is_refused() {
    for odd in ["\n{\"a\":1}\n", "\nnot JSON\n"] {
        for error in [
            read_after(&mut session(odd), None).map(drop),
            read_before(&mut session(odd), None, None).map(drop),
            Later::default().read_full(&mut session(odd)),
        ] {
            let kind = error.expect_err("unknown").kind;
            assert!(matches!(kind, ErrorKind::UnknownFormat), "{kind}");
        }
    }
    // A session without any lines has no format to refuse, and no items.
    let ledger = read_before(&mut session("\n"), None, None).expect("a ledger");
    assert!(ledger.items.list.is_empty());
}

/// Returns the number of needed values and how many of them the session in `after` has, or the line
/// where the full session differs.
fn later(before: &str, after: &str, full: &str) -> Result<(u64, u64), Vec<u64>> {
    let mut further = Further { later: Some(Later::default()), exam: None };
    read_after(&mut session(after), Some(&mut further)).expect("read");
    read_before(&mut session(before), None, Some(&mut further)).expect("read");
    let mut later = further.later.expect("what was given");
    later.read_full(&mut session(full)).map_err(|error| {
        let kind = error.kind;
        assert!(matches!(kind, ErrorKind::OtherBeginning), "{kind}");
        error.lines
    })?;
    let needed = later.future.finish(None);
    Ok((needed.total, needed.kept))
}

#[test]
fn an_agents_own_file_is_asked_as_it_is_sent() {
    let record = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"sessionId":"s","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    };
    // The second line is on an abandoned branch.
    let log = [
        record("a", "null", "Use port 4711."),
        record("b", "\"a\"", "The host is node-b."),
        record("c", "\"a\"", "The host is node-c."),
    ];
    let questions = r#"{"questions":[
        {"id":"1","category":"value","question":"Port?","evidence":[["port 4711"]]},
        {"id":"2","category":"value","question":"Host?","evidence":[["host is node-b"]]},
        {"id":"3","category":"value","question":"Host?","evidence":[["host is node-c"]]}]}"#;
    let mut further =
        Further { later: None, exam: Some(Exam::parse(questions).expect("questions")) };
    read_after(&mut session(&log[0]), Some(&mut further)).expect("read");
    read_before(&mut session(&log.concat()), None, Some(&mut further)).expect("read");
    let mut exam = further.exam.expect("what was given");
    let signs: String = exam.marks().iter().map(Mark::sign).collect();
    assert_eq!(signs, "+?-");
}

#[test]
fn the_continuation_tells_what_was_needed() {
    let before = before();
    let next = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"d","type":"function","function":{"name":"close","arguments":"{\"order\":\"W8123\"}"}}]}"#;
    let full = format!("{before}{next}\n");
    assert_eq!(later(&before, ASK, &full), Ok((1, 1)));
    assert_eq!(later(&before, &result("x"), &full), Ok((1, 0)));
    assert_eq!(later(&before, ASK, &before), Ok((0, 0)));
    // The way the JSON is written does not matter.
    let spaced = full.replace("\"role\":\"tool\"", "\"role\" : \"tool\"");
    assert_eq!(later(&before, ASK, &spaced), Ok((1, 1)));
}

#[test]
fn the_whole_session_begins_with_the_old_one() {
    let before = before();
    assert_eq!(later(&before, ASK, &before.replace("7755", "7756")), Err(vec![3]));
    assert_eq!(later(&before, ASK, &format!("{ASK}\n")), Err(vec![]));
}
