use ctx_select::count::MessageCounter;
use ctx_tokens::Encoding;
use ctx_transcript::Options;

use super::{CheckPass, Limits, Plan, RepairPass, RepairedSession, Report};
use crate::{ErrorKind, Invalid, Notes, PassError, Session};

const USER: &str = r#"{"role":"user","content":"look"}"#;
const CALL: &str = r#"{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
const RESULT: &str = r#"{"role":"tool","tool_call_id":"c1","content":"a.txt"}"#;
const ORPHAN: &str = r#"{"role":"tool","tool_call_id":"c9","content":"b.txt"}"#;

fn open(input: String, batch: bool) -> Session {
    let options = Options {
        batch,
        ..Options::default()
    };
    let reader = Box::new(std::io::Cursor::new(input.into_bytes()));
    Session::open(reader, &options, Invalid::Keep).expect("from memory")
}

fn lines(records: &[&str]) -> String {
    records.join("\n") + "\n"
}

fn check(input: String, plan: &Plan) -> Result<Report, PassError> {
    let mut session = open(input, plan.batch);
    let mut pass = CheckPass::new(plan, session.dialect());
    session.each(|record| pass.push(record))?;
    Ok(pass.finish(session.bad(), session.flaws()))
}

fn rules(report: &Report) -> Vec<(Option<u64>, &'static str)> {
    let findings = report.findings.iter();
    findings
        .map(|finding| (finding.line, finding.rule))
        .collect()
}

fn warnings(report: &Report, bad_lines: bool) -> Vec<(Vec<u64>, String)> {
    let mut notes = Notes::new();
    report.warn(bad_lines, &mut notes);
    let notes = notes.take().into_iter();
    notes.map(|note| (note.lines, note.text)).collect()
}

fn repair(records: &[&str], strict: bool) -> Result<RepairedSession, PassError> {
    let mut session = open(lines(records), false);
    let mut pass = RepairPass::new(session.dialect());
    session.each(|record| pass.push(record))?;
    pass.finish(strict)
}

#[test]
fn open_calls_at_the_end_are_offences_only_when_strict() {
    let plan = Plan::default();
    let report = check(lines(&[USER, CALL, RESULT]), &plan).expect("read");
    assert_eq!((report.findings.len(), report.open), (0, 0));
    let report = check(lines(&[USER, CALL]), &plan).expect("read");
    assert_eq!((report.findings.len(), report.open), (0, 1));
    let strict = Plan {
        strict: true,
        ..plan
    };
    let report = check(lines(&[USER, CALL]), &strict).expect("read");
    assert_eq!(rules(&report), [(Some(2), "unanswered-call")]);
    assert_eq!((report.offences(), report.open), (1, 0));
}

#[test]
fn bad_lines_and_a_torn_tail_are_offences_on_request() {
    let input = lines(&[USER, "broken"]) + "{\"role\":\"us";
    let mut plan = Plan::default();
    let report = check(input.clone(), &plan).expect("read");
    assert_eq!((report.records, report.tail), (3, Some(3)));
    assert!(report.findings.is_empty());
    let warned: Vec<_> = warnings(&report, false).into_iter().map(|w| w.0).collect();
    assert_eq!(warned, [[2], [3]]);
    plan.bad_lines = true;
    let report = check(input, &plan).expect("read");
    let expected = [(Some(2), "bad-line"), (Some(3), "torn-tail")];
    assert_eq!(rules(&report), expected);
    assert!(warnings(&report, true).is_empty());
}

#[test]
fn the_size_is_measured_only_where_it_is_asked_for() {
    let input = lines(&[USER, CALL, RESULT]);
    let report = check(input.clone(), &Plan::default()).expect("read");
    let size = report.size;
    assert_eq!((size.messages, size.turns, size.tokens), (3, 1, 0));
    let plan = Plan {
        counter: Some(MessageCounter::new(Encoding::Chars4)),
        limits: Limits {
            tool_bytes: Some(4),
            ..Limits::default()
        },
        ..Plan::default()
    };
    let report = check(input, &plan).expect("read");
    assert_eq!(report.size.tool_bytes, 5);
    assert!(report.size.tokens > 0);
    assert_eq!(rules(&report), [(None, "max-tool-bytes")]);
    assert_eq!((report.offences(), report.exceeded()), (0, 1));
}

#[test]
fn each_conversation_of_a_batch_is_checked_by_itself() {
    let conversation = |records: &[&str]| format!("{{\"messages\":[{}]}}", records.join(","));
    let good = conversation(&[USER, CALL, RESULT]);
    let bad = conversation(&[USER, ORPHAN]);
    let plan = Plan {
        batch: true,
        limits: Limits {
            messages: Some(2),
            ..Limits::default()
        },
        ..Plan::default()
    };
    let report = check(lines(&[&good, "{\"other\":1}", &bad]), &plan).expect("read");
    let expected = [(Some(3), "orphan-result"), (Some(1), "max-messages")];
    assert_eq!(rules(&report), expected);
    assert_eq!(report.size.messages, 5);
    let warned = "lines that hold no conversation (\"messages\"): 1";
    assert_eq!(warnings(&report, false), [(vec![], warned.to_owned())]);
}

#[test]
fn only_the_first_offence_is_shown_unless_all_are_wanted() {
    let plan = Plan {
        limits: Limits {
            messages: Some(1),
            ..Limits::default()
        },
        ..Plan::default()
    };
    let report = check(lines(&[USER, ORPHAN, ORPHAN]), &plan).expect("read");
    assert_eq!(report.shown(true).count(), 3);
    let shown: Vec<_> = report.shown(false).map(|finding| finding.rule).collect();
    assert_eq!(shown, ["orphan-result", "max-messages"]);
}

#[test]
fn an_unknown_format_cannot_be_judged() {
    let plan = Plan::default();
    let error = check(lines(&["{\"what\":1}"]), &plan).expect_err("unknown");
    assert!(matches!(error.kind, ErrorKind::NoMessage { batch: true }));
    assert_eq!(error.lines, [1]);
    let report = check(String::new(), &plan).expect("empty");
    assert_eq!((report.dialect, report.records), (None, 0));
}

#[test]
fn a_mended_copy_is_legal() {
    let copy = repair(&[USER, ORPHAN, CALL, RESULT], false).expect("mended");
    let text = String::from_utf8(copy.bytes).expect("text");
    assert_eq!(text, lines(&[USER, CALL, RESULT]));
    let actions = copy.actions.iter();
    let done: Vec<_> = actions
        .map(|action| (action.line, action.what.as_str()))
        .collect();
    assert_eq!(done, [(2, "drop-orphan")]);
    let copy = repair(&[USER, CALL], false).expect("nothing to mend");
    assert!(copy.actions.is_empty());
    let copy = repair(&[USER, CALL], true).expect("answered");
    assert_eq!(copy.actions[0].what.as_str(), "answer");
}

#[test]
fn what_cannot_be_mended_is_refused() {
    let kind = |records: &[&str]| match repair(records, false) {
        Ok(_) => panic!("mended"),
        Err(error) => error.kind,
    };
    let tagged = r#"{"_ctx":{"zone":"old"},"role":"user","content":"x"}"#;
    assert!(matches!(kind(&[tagged]), ErrorKind::Tagged));
    let unknown = kind(&["{\"what\":1}"]);
    assert!(matches!(unknown, ErrorKind::NoMessage { batch: false }));
    let copy = repair(&["broken"], false).expect("nothing that could be wrong");
    assert_eq!(copy.bytes, b"broken\n");
}
