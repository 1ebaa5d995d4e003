//! Sessions and options for the tests in this module, and tests of whole compactions.

use std::io::{Read, Write};
use std::ops::{Deref, DerefMut};

use crate::message_counter::MessageCounter;
use chrono::{DateTime, NaiveDate};
use ctx_format::{Message, Watch};
use ctx_policy::trigger::Step;
use ctx_policy::{Fallback, Mode, Policy};
use ctx_tokens::Encoding;

use super::options::Plan;
use super::{
    Compacted, Compaction, Content, Environment, MessageReader, Options, Outcome, Report, Source,
};
use crate::{ErrorKind, Invalid, Notes};

/// The options and the environment of a compaction.
pub(super) struct Setup {
    options: Options,
    pub(super) environment: Environment,
}

impl Deref for Setup {
    type Target = Options;

    fn deref(&self) -> &Options {
        &self.options
    }
}

impl DerefMut for Setup {
    fn deref_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

impl Setup {
    pub(super) fn plan(&self) -> Plan<'_> {
        Plan::new(&self.options, &self.environment)
    }

    pub(super) fn source(&self, content: Content, notes: &mut Notes) -> Source<'_> {
        let source = Source::open(&self.options, &self.environment, content, notes);
        source.expect("a session")
    }
}

/// Returns the built-in policy, changed so that it keeps the last `turns`.
pub(super) fn plan(turns: u64) -> Setup {
    let mut policy = Policy::default();
    policy.keep.turns = Some(turns);
    let counter = MessageCounter::new(Encoding::Chars4);
    let now = || DateTime::UNIX_EPOCH;
    Setup {
        options: Options { policy, ..Options::default() },
        environment: Environment::new(counter, now, std::env::temp_dir()),
    }
}

pub(super) fn content(text: &str) -> Content {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    Content::open(file, None, Invalid::Keep, Watch::default()).expect("a session")
}

/// Gathers the texts of messages with their line numbers.
#[derive(Default)]
pub(super) struct Texts(pub(super) Vec<(u64, String)>);

impl MessageReader for Texts {
    fn read(&mut self, message: Message<'_>, line: u64, _: Option<NaiveDate>) {
        let texts = message.texts().into_iter().map(|text| (line, text.to_owned()));
        self.0.extend(texts);
    }
}

pub(super) fn text(content: &Content) -> String {
    let mut text = String::new();
    let mut file = content.file().expect("a handle");
    file.read_to_string(&mut text).expect("text");
    text
}

pub(super) const SYSTEM: &str = "{\"role\":\"system\",\"content\":\"Answer in one word.\"}\n";

/// Returns a turn: a request, a call, a result with this many words, and a reply.
pub(super) fn turn(number: u64, words: usize) -> String {
    let result = format!("word{number} ").repeat(words);
    format!(
        r#"{{"role":"user","content":"Please fix src/file_{number}.rs"}}
{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{number}","type":"function","function":{{"name":"Read","arguments":"{{\"path\":\"src/file_{number}.rs\"}}"}}}}]}}
{{"role":"tool","tool_call_id":"c{number}","content":"{result}"}}
{{"role":"assistant","content":"Fixed the file number {number}"}}
"#
    )
}

/// Returns a system message and `turns` turns.
pub(super) fn session(turns: u64, words: usize) -> String {
    let turns: Vec<String> = (1..=turns).map(|number| turn(number, words)).collect();
    SYSTEM.to_owned() + &turns.concat()
}

/// Compacts a session. Also returns the texts that were passed to the memory.
fn compact(setup: &Setup, session: &str) -> (Report, Option<Compacted>, Texts) {
    let mut notes = Notes::default();
    let source = setup.source(content(session), &mut notes);
    let compaction = Compaction::survey(&source, Some("s.jsonl"), false, None);
    let mut compaction = compaction.expect("a survey");
    let mut texts = Texts::default();
    let built = compaction.build(true, Some(&mut texts), &mut notes).expect("no failure");
    (compaction.report, built, texts)
}

fn step(setup: &Setup, session: &str) -> (Step, Vec<&'static str>) {
    let source = setup.source(content(session), &mut Notes::default());
    let compaction = Compaction::survey(&source, Some("s.jsonl"), false, None);
    let mut compaction = compaction.expect("a survey");
    (compaction.step().expect("it is understood"), compaction.report.triggers)
}

#[test]
fn the_old_turns_become_a_summary_and_the_others_stay() {
    let session = session(6, 200);
    let (report, built, texts) = compact(&plan(2), &session);
    let built = built.expect("it is smaller");
    let written = text(&built.content);
    let kept: String = session.split_inclusive('\n').skip(1 + 4 * 4).collect();
    assert!(written.starts_with(SYSTEM) && written.ends_with(&kept));
    assert_eq!(written.lines().count(), 1 + 1 + 8);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert_eq!(report.freed_tokens, report.tokens_before - report.tokens_after);
    assert_eq!((report.kept_records, report.first_kept_index), (Some(8), Some(17)));
    assert_eq!(built.summary.expect("a summary").messages, 16);
    assert!(texts.0.is_empty() && report.plan.is_none());
}

/// A session with an unknown kind of message is refused, but only once it is due.
#[test]
fn what_is_not_understood_is_not_compacted() {
    let critic = "{\"role\":\"critic\",\"content\":\"x\"}\n";
    let text = session(6, 200) + critic + &turn(7, 10);
    let mut plan = plan(2);
    let step = |plan: &Setup| {
        let source = plan.source(content(&text), &mut Notes::default());
        let compaction = Compaction::survey(&source, Some("s.jsonl"), false, None);
        compaction.expect("a survey").step()
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
    let (report, _, texts) = compact(&plan, &session(6, 200));
    let forecast = report.plan.expect("a forecast");
    assert_eq!(forecast.leaving.user_messages, 4);
    assert_eq!(forecast.leaving.recoverable, 16);
    assert!(texts.0.is_empty());
    plan.dry_run = false;
    let (report, _, texts) = compact(&plan, &session(6, 200));
    assert!(report.plan.is_none() && !texts.0.is_empty());
}

#[test]
fn what_prunes_only_sums_nothing_up() {
    let mut plan = plan(1);
    plan.policy.mode = Mode::PruneOnly;
    plan.policy.prune.max_chars = Some(400);
    plan.policy.prune.protect_last = 0;
    let (report, built, _) = compact(&plan, &session(3, 200));
    let written = text(&built.expect("it is smaller").content);
    assert_eq!(report.attempts.len(), 1);
    assert_eq!(report.attempts[0].what, "pruned-first");
    assert_eq!(written.matches("chars truncated").count(), 3);
    // No result is long enough to be pruned.
    let (report, built, _) = compact(&plan, &session(3, 20));
    assert_eq!((report.outcome, built.is_none()), (Outcome::NoGain, true));
}

#[test]
fn pruning_alone_is_enough_where_only_what_is_due_is_done() {
    let mut plan = plan(1);
    plan.policy.prune.max_chars = Some(400);
    plan.policy.prune.protect_last = 0;
    plan.policy.trigger.tokens = Some(900);
    plan.only_if_due = true;
    let (report, built, _) = compact(&plan, &session(3, 200));
    assert!(built.expect("it is smaller").summary.is_none());
    assert_eq!(report.outcome, Outcome::Compacted);
    plan.policy.trigger.tokens = Some(100);
    let (report, built, _) = compact(&plan, &session(3, 200));
    assert!(built.expect("it is smaller").summary.is_some());
    let tried: Vec<&str> = report.attempts.iter().map(|attempt| attempt.what).collect();
    assert_eq!(tried, ["pruned-first", "policy"]);
}

#[test]
fn a_budget_is_due_above_it_and_held() {
    let session = session(6, 200);
    let mut plan = plan(2);
    plan.budget = Some(500);
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["budget"]));
    let (report, ..) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(report.tokens_after <= 500, "{}", report.tokens_after);
    assert_eq!(report.attempts[0].what, "budget");
    plan.budget = Some(5);
    let (report, built, _) = compact(&plan, &session);
    assert_eq!((report.outcome, built.is_some()), (Outcome::OverTarget, true));
    plan.strict_target = true;
    let (report, built, _) = compact(&plan, &session);
    assert_eq!((report.outcome, built.is_none()), (Outcome::Unreachable, true));
    plan.budget = Some(1_000_000);
    assert_eq!(step(&plan, &session), (Step::None, Vec::new()));
    plan.force = true;
    assert_eq!(step(&plan, &session).0, Step::Compact);
}

#[test]
fn triggers_decide_only_where_they_are_asked() {
    let session = session(3, 20);
    let mut plan = plan(1);
    plan.policy.trigger.messages = Some(12);
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["manual"]));
    plan.only_if_due = true;
    assert_eq!(step(&plan, &session), (Step::None, Vec::new()));
    plan.policy.trigger.messages = Some(11);
    assert_eq!(step(&plan, &session), (Step::Compact, vec!["messages"]));
}

#[test]
fn nothing_is_done_where_nothing_is_old() {
    let (report, built, _) = compact(&plan(9), &session(3, 20));
    assert_eq!((report.outcome, built.is_none()), (Outcome::NothingToDo, true));
    assert!(report.attempts.is_empty() && report.success);
    let (report, ..) = compact(&plan(1), "");
    assert_eq!(report.outcome, Outcome::NothingToDo);
}

#[test]
fn a_flush_takes_all_of_the_session() {
    let session = session(4, 20);
    let flushed = |trigger: Option<u64>| {
        let mut plan = plan(1);
        plan.policy.trigger.messages = trigger;
        plan.policy.trigger.flush_share = trigger.map(|_| "0.9".parse().expect("a share"));
        let source = plan.source(content(&session), &mut Notes::default());
        let mut texts = Texts::default();
        let flush = &mut texts as &mut dyn MessageReader;
        let compaction = Compaction::survey(&source, Some("s.jsonl"), false, Some(flush));
        let mut compaction = compaction.expect("a survey");
        assert_eq!(compaction.missed_flush(), trigger.is_some_and(|most| most < 16));
        if trigger.is_none() {
            compaction.read_all(&mut texts).expect("no failure");
        }
        texts.0
    };
    let all = flushed(None);
    let text: Vec<&str> = all.iter().map(|(_, text)| text.as_str()).collect();
    let text = text.concat();
    assert!(text.contains("file_1") && text.contains("file_4") && !text.contains("Answer in one"));
    // The survey passes messages on once the session is due, even if it becomes due with the last
    // message.
    for trigger in [0, 7, 15] {
        assert_eq!(flushed(Some(trigger)), all);
    }
    assert!(flushed(Some(16)).is_empty());
}

#[test]
fn attempts_end_at_the_target_whatever_the_policy_keeps() {
    let mut plan = plan(4);
    let session = session(6, 200);
    plan.policy.target.tokens = Some(700);
    plan.policy.summary.fallback = vec![Fallback::Smaller];
    let (report, built, _) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::Compacted);
    assert!(built.is_some() && report.tokens_after <= 700);
    // The result uses most of the available space.
    assert!(report.tokens_after > 420, "{}", report.tokens_after);
    let tried: Vec<&str> = report.attempts.iter().map(|attempt| attempt.what).collect();
    assert_eq!(tried, ["policy", "budget"]);
}

#[test]
fn what_a_flag_keeps_stays_though_the_target_is_missed() {
    let mut plan = plan(4);
    let session = session(6, 200);
    plan.policy.target.tokens = Some(200);
    plan.keep.turns = Some(4);
    let (report, built, _) = compact(&plan, &session);
    assert_eq!(report.outcome, Outcome::OverTarget);
    assert!(report.success && report.tokens_after > 200);
    let written = text(&built.expect("it is smaller").content);
    for number in 3..=6 {
        assert!(written.contains(&format!("\"Please fix src/file_{number}.rs\"")));
    }
    plan.strict_target = true;
    let (report, built, _) = compact(&plan, &session);
    assert_eq!((report.outcome, built.is_none()), (Outcome::Unreachable, true));
}
