//! Plans and sessions for the tests of all parts, and whole compactions.

use std::io::{Read, Write};

use chrono::DateTime;
use ctx_policy::{Fallback, Mode, Policy};
use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_select::trigger::Step;
use ctx_tokens::Encoding;

use super::{Compacted, Content, Job, Outcome, Plan, Report, Rules};
use crate::summarize::{BudgetRequest, recognizer};
use crate::{ErrorKind, Invalid, Notes};

/// The built-in policy, with the last `turns` kept.
pub(in crate::compact) fn plan(turns: u64) -> Plan {
    let mut policy = Policy::default();
    policy.keep.turns = Some(turns);
    Plan {
        triggers: policy.trigger,
        overflow: false,
        only_if_due: false,
        force: false,
        dry_run: false,
        score: None,
        counter: MessageCounter::new(Encoding::Chars4),
        target: None,
        budget: None,
        strict_target: false,
        floor: Keep::default(),
        summary_tokens: None,
        model_window: None,
        pins: Vec::new(),
        last_call: None,
        calibrate: true,
        calibrated: None,
        limit: None,
        behind: None,
        window: None,
        model: None,
        headings: Vec::new(),
        recognizer: recognizer(None),
        saved: ctx_transcript::Saved::Yes,
        now: || DateTime::UNIX_EPOCH,
        temp: std::env::temp_dir(),
        policy,
    }
}

pub(in crate::compact) fn content(text: &str) -> Content {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    Content::open(file, None, Invalid::Keep).expect("a session")
}

pub(in crate::compact) fn text(content: &Content) -> String {
    let mut text = String::new();
    let mut file = content.file().expect("a handle");
    file.read_to_string(&mut text).expect("text");
    text
}

pub(in crate::compact) const SYSTEM: &str =
    "{\"role\":\"system\",\"content\":\"Answer in one word.\"}\n";

/// A turn: a request, a call, its result of so many words, and a reply.
pub(in crate::compact) fn turn(number: u64, words: usize) -> String {
    let result = format!("word{number} ").repeat(words);
    format!(
        r#"{{"role":"user","content":"Please fix src/file_{number}.rs"}}
{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{number}","type":"function","function":{{"name":"Read","arguments":"{{\"path\":\"src/file_{number}.rs\"}}"}}}}]}}
{{"role":"tool","tool_call_id":"c{number}","content":"{result}"}}
{{"role":"assistant","content":"Fixed the file number {number}"}}
"#
    )
}

/// A system message and `turns` turns.
pub(in crate::compact) fn session(turns: u64, words: usize) -> String {
    let turns: Vec<String> = (1..=turns).map(|number| turn(number, words)).collect();
    SYSTEM.to_owned() + &turns.concat()
}

/// What the plan makes of the session.
fn compact(plan: &Plan, session: &str) -> (Report, Option<Compacted>) {
    let content = content(session);
    let first = Rules::first(plan, &content);
    let mut job = Job::of(plan, &content, &first, Some("s.jsonl"), false).expect("a survey");
    let built = job.build(Some("s"), &mut Notes::new()).expect("no failure");
    (job.report, built)
}

fn step(plan: &Plan, session: &str) -> (Step, Vec<&'static str>) {
    let content = content(session);
    let first = Rules::first(plan, &content);
    let mut job = Job::of(plan, &content, &first, Some("s.jsonl"), false).expect("a survey");
    (job.step().expect("it is understood"), job.report.triggers)
}

#[test]
fn the_old_turns_become_a_summary_and_the_others_stay() {
    let session = session(6, 200);
    let (report, built) = compact(&plan(2), &session);
    let built = built.expect("it is smaller");
    let written = text(&built.content);
    let kept: String = session.split_inclusive('\n').skip(1 + 4 * 4).collect();
    assert!(written.starts_with(SYSTEM) && written.ends_with(&kept));
    assert_eq!(written.lines().count(), 1 + 1 + 8);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert_eq!(
        report.freed_tokens,
        report.tokens_before - report.tokens_after
    );
    assert_eq!(
        (report.kept_records, report.first_kept_index),
        (Some(8), Some(17))
    );
    assert_eq!(built.summary.expect("a summary").messages, 16);
    assert!(built.items.is_empty() && report.plan.is_none());
}

/// 15 B2: a session with a message that nobody here understands is refused once it is due, and
/// not before.
#[test]
fn what_is_not_understood_is_not_compacted() {
    let critic = "{\"role\":\"critic\",\"content\":\"x\"}\n";
    let content = content(&(session(6, 200) + critic + &turn(7, 10)));
    let mut plan = plan(2);
    let step = |plan: &Plan| {
        let first = Rules::first(plan, &content);
        let mut job = Job::of(plan, &content, &first, Some("s.jsonl"), false).expect("a survey");
        job.step()
    };
    let error = step(&plan).expect_err("it is not understood");
    assert!(matches!(error.kind, ErrorKind::Unread { .. }), "{error}");
    assert_eq!(error.lines, [26]);
    plan.only_if_due = true;
    assert_eq!(step(&plan).expect("not due"), Step::None);
}

#[test]
fn a_preview_tells_what_would_leave_and_extracts_nothing() {
    let mut plan = plan(2);
    plan.dry_run = true;
    plan.policy.summary.extract = true;
    let (report, built) = compact(&plan, &session(6, 200));
    let forecast = report.plan.expect("a forecast");
    assert_eq!(forecast.leaving.user_messages, 4);
    assert_eq!(forecast.leaving.recoverable, 16);
    assert!(built.expect("it is smaller").items.is_empty());
    plan.dry_run = false;
    let (report, built) = compact(&plan, &session(6, 200));
    assert!(report.plan.is_none());
    assert!(!built.expect("it is smaller").items.is_empty());
}

#[test]
fn what_prunes_only_sums_nothing_up() {
    let mut plan = plan(1);
    plan.policy.mode = Mode::PruneOnly;
    plan.policy.prune.max_chars = Some(400);
    plan.policy.prune.protect_last = 0;
    let (report, built) = compact(&plan, &session(3, 200));
    let written = text(&built.expect("it is smaller").content);
    assert_eq!(report.attempts.len(), 1);
    assert_eq!(report.attempts[0].what, "pruned-first");
    assert_eq!(written.matches("chars truncated").count(), 3);
    // Nothing is long enough.
    let (report, built) = compact(&plan, &session(3, 20));
    assert_eq!((report.outcome, built.is_none()), (Outcome::NoGain, true));
}

#[test]
fn pruning_alone_is_enough_where_only_what_is_due_is_done() {
    let mut plan = plan(1);
    plan.policy.prune.max_chars = Some(400);
    plan.policy.prune.protect_last = 0;
    plan.triggers.tokens = Some(900);
    plan.only_if_due = true;
    let (report, built) = compact(&plan, &session(3, 200));
    assert!(built.expect("it is smaller").summary.is_none());
    assert_eq!(report.outcome, Outcome::Compacted);
    plan.triggers.tokens = Some(100);
    let (report, built) = compact(&plan, &session(3, 200));
    assert!(built.expect("it is smaller").summary.is_some());
    let tried: Vec<&str> = report.attempts.iter().map(|attempt| attempt.what).collect();
    assert_eq!(tried, ["pruned-first", "policy"]);
}

#[test]
fn a_budget_is_due_above_it_and_held() {
    let session = session(6, 200);
    let mut plan = plan(2);
    let budget = |tokens| {
        Some(BudgetRequest {
            tokens,
            ..BudgetRequest::default()
        })
    };
    (plan.budget, plan.target) = (budget(500), Some(500));
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["budget"]));
    let (report, _) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(report.tokens_after <= 500, "{}", report.tokens_after);
    assert_eq!(report.attempts[0].what, "budget");
    (plan.budget, plan.target) = (budget(5), Some(5));
    let (report, built) = compact(&plan, &session);
    assert_eq!(
        (report.outcome, built.is_some()),
        (Outcome::OverTarget, true)
    );
    plan.strict_target = true;
    let (report, built) = compact(&plan, &session);
    assert_eq!(
        (report.outcome, built.is_none()),
        (Outcome::Unreachable, true)
    );
    plan.budget = budget(1_000_000);
    assert_eq!(step(&plan, &session), (Step::None, Vec::new()));
    plan.force = true;
    assert_eq!(step(&plan, &session).0, Step::Compact);
}

#[test]
fn triggers_decide_only_where_they_are_asked() {
    let session = session(3, 20);
    let mut plan = plan(1);
    plan.triggers.messages = Some(12);
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["manual"]));
    plan.only_if_due = true;
    assert_eq!(step(&plan, &session), (Step::None, Vec::new()));
    plan.triggers.messages = Some(11);
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["messages"]));
}

#[test]
fn nothing_is_done_where_nothing_is_old() {
    let (report, built) = compact(&plan(9), &session(3, 20));
    assert_eq!(
        (report.outcome, built.is_none()),
        (Outcome::NothingToDo, true)
    );
    assert!(report.attempts.is_empty() && report.success);
    let (report, _) = compact(&plan(1), "");
    assert_eq!(report.outcome, Outcome::NothingToDo);
}

#[test]
fn a_flush_takes_all_of_the_session() {
    let content = content(&session(4, 20));
    let flushed = |turns| {
        let plan = plan(turns);
        let first = Rules::first(&plan, &content);
        let mut job = Job::of(&plan, &content, &first, Some("s.jsonl"), false).expect("a survey");
        let items = job.flushed("s").expect("no failure");
        items
            .iter()
            .map(|item| item.text.clone())
            .collect::<Vec<_>>()
    };
    for turns in [1, 4] {
        assert!(flushed(turns).iter().any(|text| text.contains("file_1")));
        assert!(flushed(turns).iter().any(|text| text.contains("file_4")));
    }
}

#[test]
fn the_ladder_ends_at_the_target_whatever_the_policy_keeps() {
    let mut plan = plan(4);
    let session = session(6, 200);
    plan.target = Some(700);
    plan.policy.summary.fallback = vec![Fallback::Smaller];
    let (report, built) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(built.is_some() && report.tokens_after <= 700);
    // The room is used.
    assert!(report.tokens_after > 420, "{}", report.tokens_after);
    let tried: Vec<&str> = report.attempts.iter().map(|attempt| attempt.what).collect();
    assert_eq!(tried, ["policy", "smaller-summary", "budget"]);
}

#[test]
fn what_a_flag_keeps_stays_though_the_target_is_missed() {
    let mut plan = plan(4);
    let session = session(6, 200);
    plan.target = Some(200);
    plan.floor.turns = Some(4);
    let (report, built) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::OverTarget);
    assert!(report.success && report.tokens_after > 200);
    let written = text(&built.expect("it is smaller").content);
    for number in 3..=6 {
        assert!(written.contains(&format!("\"Please fix src/file_{number}.rs\"")));
    }
    plan.strict_target = true;
    let (report, built) = compact(&plan, &session);
    assert_eq!(
        (report.outcome, built.is_none()),
        (Outcome::Unreachable, true)
    );
}
