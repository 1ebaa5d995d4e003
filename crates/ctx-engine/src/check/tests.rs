use crate::message_counter::MessageCounter;
use ctx_format::Options;
use ctx_format::dialect::by_name;
use ctx_format::problems::rule;
use ctx_tokens::Encoding;

use super::{CheckPass, Limits, Plan, RepairPass, RepairedSession, Report};
use crate::{ErrorKind, Invalid, Notes, Result, Session};

const USER: &str = r#"{"role":"user","content":"look"}"#;
const CALL: &str = r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"a.txt"}"#;
const ORPHAN: &str = r#"{"role":"tool","tool_call_id":"c9","content":"b.txt"}"#;

fn open(input: String, batch: bool) -> Session {
    let options = Options { batch, ..Options::default() };
    let reader = Box::new(std::io::Cursor::new(input.into_bytes()));
    Session::open(reader, &options, Invalid::Keep).expect("from memory")
}

fn lines(records: &[&str]) -> String {
    records.join("\n") + "\n"
}

fn check(input: String, plan: &Plan) -> Result<Report> {
    let mut session = open(input, plan.batch);
    session.accepts_unknown = true;
    CheckPass::run(plan, &mut session)
}

fn rules(report: &Report) -> Vec<(Option<u64>, &'static str)> {
    let findings = report.findings.iter();
    findings.map(|finding| (finding.line, finding.rule)).collect()
}

fn warnings(report: &Report) -> Vec<(Vec<u64>, String)> {
    let mut notes = Notes::default();
    report.warn(&mut notes);
    let notes = notes.take().into_iter();
    notes.map(|note| (note.lines, note.text)).collect()
}

fn repair(records: &[&str], strict: bool) -> Result<RepairedSession> {
    let mut session = open(lines(records), false);
    let mut pass = RepairPass::new(&mut session, None);
    session.each(|record| pass.push(record))?;
    pass.finish(strict)
}

#[test]
fn open_calls_at_the_end_are_problems_only_when_strict() {
    let plan = Plan::default();
    let report = check(lines(&[USER, CALL, RESULT]), &plan).expect("read");
    assert_eq!((report.findings.len(), report.open), (0, 0));
    let report = check(lines(&[USER, CALL]), &plan).expect("read");
    assert_eq!((report.findings.len(), report.open), (0, 1));
    let strict = Plan { strict: true, ..plan };
    let report = check(lines(&[USER, CALL]), &strict).expect("read");
    assert_eq!(rules(&report), [(Some(2), "unanswered-call")]);
    assert_eq!((report.problems(), report.open), (1, 0));
}

/// More bad lines than allowed are a problem. In strict mode, so is an incomplete last line.
#[test]
fn bad_lines_are_problems_above_a_number_and_a_torn_tail_only_when_strict() {
    let input = lines(&[USER, "broken", "[1]"]) + "{\"role\":\"us";
    let mut plan = Plan { all: true, ..Plan::default() };
    let report = check(input.clone(), &plan).expect("read");
    assert_eq!((report.records, report.tail), (4, Some(4)));
    let bad = [(Some(2), "bad-line"), (Some(3), "bad-line")];
    assert_eq!(rules(&report), bad);
    let warned: Vec<_> = warnings(&report).into_iter().map(|w| w.0).collect();
    assert_eq!(warned, [[4]]);
    plan.limits.bad_lines = 1;
    assert_eq!(rules(&check(input.clone(), &plan).expect("read")), bad);
    plan.limits.bad_lines = 2;
    let report = check(input.clone(), &plan).expect("read");
    assert!(report.findings.is_empty());
    let warned: Vec<_> = warnings(&report).into_iter().map(|w| w.0).collect();
    assert_eq!(warned, [[2], [4]]);
    plan.strict = true;
    let report = check(input, &plan).expect("read");
    assert_eq!(rules(&report), [(Some(4), "torn-tail")]);
    assert_eq!(warnings(&report).len(), 1);
}

/// Returns the first finding for each rule in a session in `dialect`.
fn found(records: &[&str], dialect: Option<&str>) -> Vec<(Option<u64>, &'static str)> {
    let options = Options { dialect: dialect.and_then(by_name), ..Options::default() };
    let reader = Box::new(std::io::Cursor::new(lines(records).into_bytes()));
    let mut session = Session::open(reader, &options, Invalid::Keep).expect("from memory");
    session.accepts_unknown = true;
    let plan = Plan::default();
    rules(&CheckPass::run(&plan, &mut session).expect("read"))
}

/// Unknown kinds of roles, records and parts are reported with their lines.
#[test]
fn what_claims_to_be_a_message_and_is_not_read_is_a_problem() {
    let none: [(Option<u64>, &str); 0] = [];
    let role = r#"{"role":"critic","content":"x"}"#;
    let part = r#"{"role":"user","content":[{"type":"smell"}]}"#;
    let item = r#"{"type":"dream"}"#;
    assert_eq!(found(&[USER, CALL, RESULT], None), none);
    let all = [(Some(2), "unknown-role"), (Some(3), "unread-part"), (Some(4), "unknown-item")];
    assert_eq!(found(&[USER, role, part, item], None), all);
    // These findings prevent a wrong dialect from being accepted.
    let named = found(&[USER, CALL, RESULT], Some("anthropic"));
    assert!(
        named.contains(&(Some(2), "unread-part")) && named.contains(&(Some(3), "unknown-role"))
    );
    let line = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"a"}}"#;
    assert_eq!(found(&[line], None), none);
    let named = found(&[r#"{"what":1}"#], Some("chat"));
    assert_eq!(named, [(Some(1), "no-message"), (Some(1), "unknown-item")]);
    // Records in an agent's own file that are not messages are not reported.
    let beside = r#"{"type":"new-kind","uuid":"v","parentUuid":"u","sessionId":"s"}"#;
    assert_eq!(found(&[line, beside], None), none);
    let other = line.replace("\"role\":\"user\"", "\"role\":\"critic\"");
    let rules = [(Some(2), "unknown-role"), (Some(2), "user-first")];
    assert_eq!(found(&[line, &other], None), rules);
}

/// A file without a message is not a session, whatever else it contains.
#[test]
fn without_a_message_there_is_no_session() {
    let no_message = |line| vec![(line, "no-message")];
    assert_eq!(found(&[], None), no_message(None));
    assert_eq!(found(&["", "  "], None), no_message(None));
    assert_eq!(found(&["{\"what\":1}"], None), no_message(Some(1)));
    let hello = found(&["hello world"], None);
    assert_eq!(hello, [(None, "no-message"), (Some(1), "bad-line")]);
    // The lines of a single JSON document are not bad lines.
    assert_eq!(found(&["[", "{", "\"what\":1}", "]"], None), no_message(None));
}

/// An allowed finding is counted but is not a problem.
#[test]
fn what_is_allowed_is_no_problem() {
    let plan = Plan {
        allow: vec![rule("bad-line").expect("one"), rule("orphan-result").expect("one")],
        ..Plan::default()
    };
    let report = check(lines(&[USER, "broken", ORPHAN, ORPHAN]), &plan).expect("read");
    assert!(report.findings.is_empty());
    let allowed: Vec<_> = report.allowed.into_iter().collect();
    assert_eq!(allowed, [("bad-line", 1), ("orphan-result", 2)]);
}

#[test]
fn the_size_is_measured_only_where_it_is_asked_for() {
    let input = lines(&[USER, CALL, RESULT]);
    let report = check(input.clone(), &Plan::default()).expect("read");
    let size = report.size;
    assert_eq!((size.messages, size.turns, size.tokens), (3, 1, 0));
    let plan = Plan {
        counter: Some(MessageCounter::new(Encoding::Chars4)),
        limits: Limits { tool_bytes: Some(4), ..Limits::default() },
        ..Plan::default()
    };
    let report = check(input, &plan).expect("read");
    assert_eq!(report.size.tool_bytes, 5);
    assert!(report.size.tokens > 0);
    assert_eq!(rules(&report), [(None, "max-tool-bytes")]);
    assert_eq!((report.problems(), report.exceeded()), (0, 1));
}

#[test]
fn each_conversation_of_a_batch_is_checked_by_itself() {
    let conversation = |records: &[&str]| format!("{{\"messages\":[{}]}}", records.join(","));
    let good = conversation(&[USER, CALL, RESULT]);
    let bad = conversation(&[USER, ORPHAN]);
    let plan = Plan {
        batch: true,
        all: true,
        limits: Limits { messages: Some(2), ..Limits::default() },
        ..Plan::default()
    };
    let other = r#"{"messages":[{"role":"critic","content":"x"}]}"#;
    let records = [&*good, "{\"other\":1}", &bad, "{\"messages\":[]}", other];
    let report = check(lines(&records), &plan).expect("read");
    let expected = [
        (Some(2), "no-message"),
        (Some(3), "orphan-result"),
        (Some(4), "no-message"),
        (Some(5), "unknown-role"),
        (Some(1), "max-messages"),
    ];
    assert_eq!(rules(&report), expected);
    assert_eq!(report.size.messages, 6);
}

#[test]
fn only_the_first_problem_is_shown_unless_all_are_wanted() {
    let plan =
        Plan { limits: Limits { messages: Some(1), ..Limits::default() }, ..Plan::default() };
    let report = check(lines(&[USER, ORPHAN, ORPHAN]), &plan).expect("read");
    assert_eq!((report.problems(), report.shown(true).count()), (2, 2));
    let shown: Vec<_> = report.shown(false).map(|finding| finding.rule).collect();
    assert_eq!(shown, ["orphan-result", "max-messages"]);
}

#[test]
fn a_repaired_copy_is_legal() {
    let copy = repair(&[USER, ORPHAN, CALL, RESULT], false).expect("repaired");
    let text = String::from_utf8(copy.bytes.to_vec()).expect("text");
    assert_eq!(text, lines(&[USER, CALL, RESULT]));
    assert!(copy.left.is_empty());
    let actions = copy.actions.iter();
    let done: Vec<_> = actions.map(|action| (action.line, <&str>::from(&action.what))).collect();
    assert_eq!(done, [(2, "drop-orphan")]);
    let copy = repair(&[USER, CALL], false).expect("nothing to repair");
    assert!(copy.actions.is_empty());
    let copy = repair(&[USER, CALL], true).expect("answered");
    assert_eq!(<&str>::from(&copy.actions[0].what), "answer");
}

#[test]
fn what_cannot_be_repaired_is_refused() {
    let kind = |records: &[&str]| match repair(records, false) {
        Ok(_) => panic!("repaired"),
        Err(error) => error.kind,
    };
    let tagged = r#"{"_ctx":{"zone":"old"},"role":"user","content":"x"}"#;
    assert!(matches!(kind(&[tagged]), ErrorKind::Tagged));
    let unknown = kind(&["{\"what\":1}"]);
    assert!(matches!(unknown, ErrorKind::UnknownFormat));
    let broken = kind(&["broken"]);
    assert!(matches!(broken, ErrorKind::UnknownFormat));
    let blank = kind(&["", " "]);
    assert!(matches!(blank, ErrorKind::UnknownFormat));
}

/// An error about a copy names the line of the input.
#[test]
fn a_copy_with_a_problem_is_no_repair() {
    let critic = r#"{"role":"critic","content":"x"}"#;
    let error = repair(&[USER, CALL, USER, "broken", critic], false).err().expect("refused");
    assert!(matches!(error.kind, ErrorKind::Unloadable(_)), "{error:?}");
    assert_eq!(error.lines, [5]);
    let copy = repair(&[USER, CALL, USER, "broken", USER], false).expect("repaired");
    let text = String::from_utf8(copy.bytes.to_vec()).expect("text");
    assert_eq!(rules(&check(text, &Plan::default()).expect("read")), []);
    let actions = copy.actions.iter();
    let done: Vec<_> = actions.map(|action| (action.line, <&str>::from(&action.what))).collect();
    assert_eq!(done, [(2, "answer"), (4, "remove")]);
}

/// Several threads find the same problems in a batch as one thread, however the batch is divided.
#[test]
fn a_batch_is_checked_alike_by_any_number_of_threads() {
    let conversation = |records: &[&str]| format!("{{\"messages\":[{}]}}", records.join(","));
    let long = format!(r#"{{"role":"user","content":"{}"}}"#, "word ".repeat(9_000));
    let kinds = [
        conversation(&[USER, CALL, RESULT]),
        conversation(&[USER, ORPHAN, &long]),
        "{\"other\":1}".to_owned(),
        "broken".to_owned(),
        conversation(&[r#"{"role":"critic","content":"x"}"#, &long]),
        conversation(&[USER, CALL]),
    ];
    let records: Vec<&str> = (0..300).map(|number| &*kinds[number * number % 7 % 6]).collect();
    for all in [false, true] {
        let checked = |threads| {
            let plan = Plan {
                batch: true,
                all,
                threads,
                counter: Some(MessageCounter::new(Encoding::Chars4)),
                limits: Limits { messages: Some(2), ..Limits::default() },
                ..Plan::default()
            };
            format!("{:?}", check(lines(&records), &plan).expect("read"))
        };
        let alone = checked(1);
        assert!(alone.contains("orphan-result") && alone.contains("max-messages"));
        for threads in [2, 7] {
            assert_eq!(checked(threads), alone);
        }
    }
}
