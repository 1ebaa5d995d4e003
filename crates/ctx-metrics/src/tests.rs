use ctx_store::Event;
use serde_json::{Value, json};

use super::{Stats, Tally};

/// Returns an event with the members that all events have, and with `more`.
#[allow(clippy::needless_pass_by_value)] // For literals.
fn event(op: &str, phase: &str, operation: u64, more: Value) -> Event {
    let mut record = json!({
        "time": format!("2030-01-{operation:02}T00:00:00Z"),
        "tool": "ctx-compact", "op": op, "phase": phase,
        "operation": operation.to_string(), "session": "demo",
    });
    let members = record.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    serde_json::from_value(record).expect("an event")
}

fn stats(events: &[Event]) -> Stats {
    let mut tally = Tally::default();
    for event in events {
        tally.add(event);
    }
    tally.finish()
}

fn compacted(operation: u64, session: &str, outcome: &str, before: u64, after: u64) -> Event {
    let phase = match outcome {
        "compacted" | "over-target" | "pruned" => "done",
        _ => "failed",
    };
    let more = json!({"session": session, "outcome": outcome, "tokens_before": before, "tokens_after": after});
    event("compact", phase, operation, more)
}

/// Without events, rates are `None`, and no value is invented.
#[test]
fn of_nothing_all_is_zero_and_no_rate_is_known() {
    let stats = stats(&[]);
    assert_eq!(stats, Stats::default());
    for metric in stats.acceptance() {
        assert_eq!((metric.value, metric.met, metric.samples), (None, None, 0));
    }
}

/// The tokens are those of compactions that changed a session. Other attempts are counted
/// separately.
#[test]
fn compactions_are_summed_and_those_without_result_counted_apart() {
    let stats = stats(&[
        event("compact", "intent", 1, json!({})),
        compacted(1, "a", "compacted", 100, 40),
        compacted(2, "b", "over-target", 100, 60),
        compacted(3, "c", "no-gain", 900, 900),
        event("compact", "intent", 4, json!({})),
        event("compact", "done", 5, json!({"outcome": "from a newer tool", "session": "d"})),
    ]);
    assert_eq!((stats.compaction_count, stats.unfinished), (3, 1));
    assert_eq!(stats.outcomes, [("compacted", 2), ("over-target", 1)].into());
    assert_eq!(stats.without_result, [("no-gain", 1)].into());
    assert_eq!((stats.tokens_before_compact, stats.tokens_after_compact), (200, 100));
    assert_eq!(stats.ratio, Some(0.5));
    assert_eq!(stats.records, 6);
}

/// Only the newest compaction decides whether a session overflows.
#[test]
fn the_newest_compaction_of_a_session_decides_whether_it_overflows() {
    let over = ["over-target", "no-gain", "unreachable", "summary-failed", "given-up"];
    for outcome in over {
        let one = stats(&[compacted(1, "a", outcome, 9, 9), compacted(2, "b", "pruned", 9, 8)]);
        assert_eq!((one.overflow_sessions, one.sessions), (1, 2), "{outcome}");
        assert_eq!(one.overflow_rate, Some(0.5));
        assert_eq!(one.acceptance()[0].met, Some(false));
        let repaired =
            stats(&[compacted(1, "a", outcome, 9, 9), compacted(2, "a", "compacted", 9, 5)]);
        assert_eq!(repaired.overflow_rate, Some(0.0), "{outcome}");
        assert_eq!(repaired.acceptance()[0].met, Some(true));
    }
}

/// A rate of exactly 5 % is not below 5 %, and a fidelity of exactly 80 % is not above 80 %.
#[test]
fn limits_are_strict() {
    let at = |of: u64| {
        let session = |n: u64| {
            compacted(1, &n.to_string(), if n == 0 { "no-gain" } else { "compacted" }, 9, 5)
        };
        let events: Vec<Event> = (0..of).map(session).collect();
        stats(&events).acceptance()[0].met
    };
    assert_eq!((at(20), at(21)), (Some(false), Some(true)));
    let scored = |retained: u64| {
        let survived =
            json!({"asks": {"retained": retained, "recoverable": 0, "lost": 100 - retained}});
        let one =
            event("compact", "done", 1, json!({"outcome": "compacted", "survived": survived}));
        stats(&[one]).acceptance()[1]
    };
    assert_eq!((scored(80).value, scored(80).met), (Some(0.8), Some(false)));
    assert_eq!((scored(81).met, scored(81).samples), (Some(true), 1));
}

/// A rollback that began but did not end is not a success.
#[test]
fn rollbacks_that_did_not_end_are_no_success() {
    let pair =
        |n| [event("rollback", "intent", n, json!({})), event("rollback", "done", n, json!({}))];
    let mut events: Vec<Event> = [pair(1), pair(2), pair(3)].concat();
    assert_eq!(stats(&events).rollback_success, Some(1.0));
    events.push(event("rollback", "intent", 4, json!({})));
    let stats = stats(&events);
    assert_eq!((stats.rollbacks, stats.rollbacks_unfinished), (3, 1));
    assert_eq!(stats.acceptance()[3].met, Some(false));
    assert_eq!(stats.rollback_success, Some(0.75));
}

/// Model requests include those for summaries outside of compactions. No request is counted twice,
/// even if both records of an operation contain its figures.
#[test]
fn requests_to_models_are_summed_once() {
    let asked = json!({"model_calls": 2, "model_tokens_in": 900, "model_tokens_out": null, "model_ms": 1500, "fell_back": true});
    let stats = stats(&[
        event("output", "intent", 1, asked.clone()),
        event("output", "done", 1, asked.clone()),
        event("compact", "failed", 2, asked),
    ]);
    let model = stats.model;
    assert_eq!((model.model_calls, model.model_tokens_in), (4, 1800));
    assert_eq!((model.model_tokens_out, model.model_ms, model.fell_back), (0, 3000, 2));
}

/// Events before the start time are left out, even if they precede it by only a microsecond.
#[test]
fn what_was_before_is_left_out() {
    let events = [compacted(1, "a", "compacted", 9, 5), compacted(2, "b", "compacted", 7, 3)];
    let mut tally = Tally::new(Some(events[1].time));
    for event in &events {
        tally.add(event);
    }
    let stats = tally.finish();
    assert_eq!((stats.records, stats.sessions, stats.tokens_before_compact), (1, 1, 7));
}

/// Impossible numbers do not stop the computation.
#[test]
fn sums_do_not_go_over() {
    let most = compacted(1, "a", "compacted", u64::MAX, u64::MAX);
    assert_eq!(stats(&[most.clone(), most]).tokens_before_compact, u64::MAX);
}
