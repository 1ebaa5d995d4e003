//! Tests how a session is read, what is decided about it, and how it is written.

mod properties;
mod rules;
mod usage;

use std::time::Duration;

use ctx_format::dialect::Chat;
use ctx_format::{Object, Options as ReadOptions, Role, Saved, Zone};
use ctx_policy::{Clear, Rule, SignedReasoning};
use ctx_tokens::Encoding;

use super::{Cache, LastCall, Options, Plan, PrunePass, Trim, is_cold};
use crate::message_counter::MessageCounter;
use crate::{ErrorKind, Invalid, Notes, Result, Session, Time};

pub(super) fn plan(options: Options) -> Plan {
    Plan {
        options,
        pins: Vec::new(),
        zone: None,
        min_gain: 0,
        counter: MessageCounter::new(Encoding::Chars4),
        report_changes: false,
        strict: false,
        cache: None,
        signed_reasoning: SignedReasoning::Auto,
        temp: std::env::temp_dir(),
    }
}

/// Returns a tool result with this many words.
pub(super) fn result(id: u64, words: usize) -> String {
    let text = "word ".repeat(words);
    format!("{{\"role\":\"tool\",\"tool_call_id\":\"c{id}\",\"content\":\"{text}\"}}\n")
}

/// Returns the session after pruning, and the notes with their lines.
pub(super) fn pass(plan: &Plan, session: &str) -> Result<(String, Vec<String>)> {
    let reader = Box::new(std::io::Cursor::new(session.to_owned().into_bytes()));
    let mut session = Session::open(reader, &ReadOptions::default(), Invalid::Keep)?;
    let mut pass = PrunePass::new(plan, session.dialect(), false);
    session.each(|record| pass.push(record))?;
    let mut notes = Notes::default();
    let written = pass.finish(true, &mut notes)?.write(0, Vec::new())?;
    let reported = notes.take().into_iter().map(|note| {
        let lines = note.lines.iter().map(|line| format!("{line}: "));
        lines.collect::<Vec<_>>().concat() + &note.text
    });
    Ok((String::from_utf8(written).expect("text"), reported.collect()))
}

#[test]
fn the_rules_of_a_policy_are_those_of_pruning() {
    let mut whole = ctx_policy::Policy::default();
    whole.prune.max_chars = Some(500);
    whole.prune.protect_last = 2;
    whole.prune.clear = Clear::Never;
    let trims = Options::of_policy(&whole, false, Some(&Chat), Saved::Yes);
    assert_eq!(trims.trim.expect("it trims").max_chars, 500);
    assert_eq!((trims.clear, trims.protect_last), (None, 2));
    let clears = Options::of_policy(&whole, true, Some(&Chat), Saved::Yes);
    assert_eq!(clears.clear, Some(whole.prune.placeholder.clone()));
    (whole.prune.max_chars, whole.prune.drop) = (None, Vec::new());
    assert!(!Options::of_policy(&whole, false, Some(&Chat), Saved::Yes).has_rules());
}

#[test]
fn without_a_cache_nothing_is_warm() {
    assert_eq!(is_cold(None, LastCall::default()), Some(true));
}

fn time(text: &str) -> Time {
    text.parse().expect("a time")
}

#[test]
fn only_older_is_cold() {
    let is_cold_at = |now: &str| {
        let cache = Cache {
            ttl: Duration::from_secs(300),
            last_call: Some(time("2025-01-01T00:00:00Z")),
            now: time(now).0,
        };
        is_cold(Some(&cache), LastCall::default())
    };
    assert_eq!(is_cold_at("2024-12-31T00:00:00Z"), Some(false));
    assert_eq!(is_cold_at("2025-01-01T00:04:59.999Z"), Some(false));
    assert_eq!(is_cold_at("2025-01-01T00:05:00Z"), Some(false));
    assert_eq!(is_cold_at("2025-01-01T00:05:00.001Z"), Some(true));
}

#[test]
fn times_in_records_come_before_other_sources() {
    let mut cache = Cache {
        ttl: Duration::from_secs(60),
        last_call: None,
        now: time("2025-01-01T01:00:00Z").0,
    };
    assert_eq!(is_cold(Some(&cache), LastCall::default()), None);
    cache.last_call = Some(time("2025-01-01T01:00:00Z"));
    let object = Object::parse(r#"{"timestamp":"2025-01-01T00:00:00Z"}"#).expect("an object");
    let mut said = LastCall::default();
    said.message(Role::Assistant, &object);
    assert_eq!(is_cold(Some(&cache), said), Some(true));
    assert_eq!(is_cold(Some(&cache), LastCall::default()), Some(false));
}

#[test]
fn any_rule_counts_and_only_some_leave_notes() {
    assert!(!Options::default().has_rules() && !Options::default().leaves_notes());
    let dropping = |rule| Options { drop: vec![rule], ..Options::default() };
    let clear = Options { clear: Some("[gone]".to_owned()), ..Options::default() };
    let trim = Options { trim: Some(Trim::default()), ..Options::default() };
    let arguments = Options { argument_chars: Some(1), ..Options::default() };
    let window = Options { window_messages: Some(1), ..Options::default() };
    for (options, leaves_notes) in [
        (clear, true),
        (dropping(Rule::Superseded), true),
        (dropping(Rule::Duplicates), true),
        (dropping(Rule::Noise), false),
        (dropping(Rule::Empty), false),
        (trim, false),
        (arguments, false),
        (window, false),
    ] {
        assert!(options.has_rules(), "{options:?}");
        assert_eq!(options.leaves_notes(), leaves_notes, "{options:?}");
    }
}

#[test]
fn the_last_reply_tells() {
    let mut said = LastCall::default();
    let mut message = |role, text| {
        said.message(role, &Object::parse(text).expect("an object"));
        (said.reply, said.any)
    };
    assert_eq!(message(Role::User, r#"{"timestamp":true}"#), (None, None));
    let one = Some(time("1735689600"));
    assert_eq!(message(Role::User, r#"{"ts":1735689600}"#), (None, one));
    let two = Some(time("1735689601"));
    assert_eq!(message(Role::Assistant, r#"{"created_at":"2025-01-01T00:00:01Z"}"#), (two, two));
    assert_eq!(message(Role::Assistant, "{}"), (two, two));
    assert_eq!(message(Role::Tool, r#"{"ts":1735689600}"#), (two, one));
}

fn trims() -> Options {
    let trim = Trim { max_chars: 40, ..Trim::default() };
    Options { trim: Some(trim), ..Options::default() }
}

/// Returns the indexes of the long results that are trimmed.
fn trimmed(plan: &Plan, tags: [&str; 3]) -> Vec<usize> {
    let lines = [1, 2, 3].map(|id| result(id, 60));
    let tagged = lines.iter().zip(tags);
    let session: String =
        tagged.map(|(line, tag)| line.replacen('{', &("{".to_owned() + tag), 1)).collect();
    let (written, _) = pass(plan, &session).expect("no failure");
    let is_changed = |(number, line): (usize, &str)| line.contains("⟦ctx:").then_some(number);
    written.lines().enumerate().filter_map(is_changed).collect()
}

#[test]
fn pinned_records_stay_as_they_are() {
    let mut plan = plan(trims());
    assert_eq!(trimmed(&plan, [""; 3]), [0, 1, 2]);
    plan.pins = vec!["line:2".parse().expect("a selector")];
    assert_eq!(trimmed(&plan, [""; 3]), [0, 2]);
}

#[test]
fn only_the_zone_that_is_asked_for_changes_and_system_never() {
    let [system, old, keep] =
        ["system", "old", "keep"].map(|zone| format!("\"_ctx\":{{\"zone\":\"{zone}\"}},"));
    let tags = [system.as_str(), &old, &keep];
    let mut plan = plan(trims());
    assert_eq!(trimmed(&plan, tags), [1, 2]);
    plan.zone = Some(Zone::Old);
    assert_eq!(trimmed(&plan, tags), [1]);
}

#[test]
fn a_zone_needs_a_session_that_was_split() {
    let mut plan = plan(trims());
    plan.zone = Some(Zone::Keep);
    let error = pass(&plan, &result(1, 60)).expect_err("nothing was split");
    assert!(matches!(error.kind, ErrorKind::NoZones));
    assert!(pass(&plan, "").is_ok());
}

#[test]
fn a_record_of_an_unknown_format_is_refused() {
    let error = pass(&plan(trims()), "\n{\"what\":1}\n").expect_err("nobody knows it");
    assert!(matches!(error.kind, ErrorKind::UnknownFormat));
}

#[test]
fn what_is_no_message_goes_on_as_it_came() {
    let others = "broken\n\n[1]\n{\"role\":\"user\",\"content\":\"a\"}\n{\"half";
    let (written, _) = pass(&plan(trims()), others).expect("no failure");
    assert_eq!(written, others);
}

#[test]
fn nothing_changes_unless_it_may() {
    let plan = plan(trims());
    let line = result(1, 60);
    let reader = Box::new(std::io::Cursor::new(line.clone().into_bytes()));
    let session = Session::open(reader, &ReadOptions::default(), Invalid::Keep);
    let mut session = session.expect("from memory");
    let mut pass = PrunePass::new(&plan, session.dialect(), false);
    session.each(|record| pass.push(record)).expect("read");
    assert_eq!(pass.is_cold(), Some(true));
    let decision = pass.finish(false, &mut Notes::default());
    let mut decision = decision.expect("no failure");
    assert!(!decision.changes);
    let written = decision.write(0, Vec::new()).expect("to memory");
    assert_eq!(written, line.as_bytes());
}

/// Returns options that drop all but the last `count` messages.
fn window(count: u64) -> Options {
    Options { window_messages: Some(count), ..Options::default() }
}

fn user(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n")
}

#[test]
fn lines_before_the_window_go_with_it_and_are_counted() {
    let session = user("one") + "broken\n\n" + &user("two");
    let (written, notes) = pass(&plan(window(1)), &session).expect("no failure");
    assert_eq!(written, user("two"));
    let expected = [
        "window: 1 change, from 5 to 0 tokens",
        "all rules: 1 change, from 5 to 0 tokens",
        "removed before the window: 2 lines without a message",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn too_small_a_gain_changes_nothing_and_is_told() {
    let session = user("one") + &user("two");
    let mut plan = plan(window(1));
    plan.min_gain = 6;
    let (written, notes) = pass(&plan, &session).expect("no failure");
    assert_eq!(written, session);
    let expected = "5 tokens would be freed, fewer than --min-gain: nothing was changed";
    assert_eq!(notes.last().map(String::as_str), Some(expected));
    plan.min_gain = 5;
    assert_eq!(pass(&plan, &session).expect("no failure").0, user("two"));
}

#[test]
fn each_change_is_told_to_who_asks() {
    let mut plan = plan(window(1));
    plan.report_changes = true;
    let (_, notes) = pass(&plan, &(user("one") + &user("two"))).expect("no failure");
    assert_eq!(notes[0], "1: window: 5 tokens, now 0");
    let (_, notes) = pass(&plan, &user("one")).expect("no failure");
    assert_eq!(notes, ["nothing to prune"]);
}

#[test]
fn a_tagged_stream_announces_what_is_left() {
    let tagged = |text: &str, end: &str| {
        user(text).replacen('{', &format!("{{\"_ctx\":{{\"line\":1{end}}},"), 1)
    };
    let session = tagged("one", "") + &tagged("two", ",\"end\":2");
    let (written, _) = pass(&plan(window(1)), &session).expect("no failure");
    assert_eq!(written, tagged("two", ",\"end\":1"));
}

#[test]
fn what_was_wrong_before_is_refused_only_by_the_strict() {
    let orphan = user("one") + &result(1, 3);
    let mut plan = plan(window(9));
    let (written, notes) = pass(&plan, &orphan).expect("a warning");
    assert_eq!(written, orphan);
    assert!(notes[1].starts_with("2: 1 problem in the input"), "{notes:?}");
    plan.strict = true;
    assert_eq!(pass(&plan, &orphan).expect_err("strict").lines, [2]);
}
