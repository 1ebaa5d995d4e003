//! T1: garbage collection while the clock is wrong, and after a long time without use.

use crate::Bench;
use chrono::TimeDelta;
use ctx_store::collect::{Action, CollectPlan, Collector, Event};
use ctx_store::retention::Policy;
use ctx_store::{StoreError, StoreItem};

/// A policy that keeps snapshots up to this many days old, and the newest one.
fn days(days: u32) -> Policy {
    Policy { days: Some(days), ..Policy::default() }
}

fn last(last: u32) -> Policy {
    Policy { last: Some(last), ..Policy::default() }
}

/// Collects, and returns what was moved to the trash or deleted.
fn collect(bench: &Bench, policy: &Policy) -> Result<Vec<String>, StoreError> {
    run(bench, policy, false, false)
}

fn run(
    bench: &Bench,
    policy: &Policy,
    trust_clock: bool,
    dry_run: bool,
) -> Result<Vec<String>, StoreError> {
    let mut collector = Collector::new(&bench.store, dry_run);
    collector.collect(&CollectPlan {
        session: None,
        policy,
        deadline: bench.store.now() - TimeDelta::days(7),
        trust_clock,
    })?;
    let gone = collector.events.into_iter().filter_map(|event| match event {
        Event::Done(Action::Discard(_), StoreItem::Snapshot(id)) => Some(format!("removed {id}")),
        Event::Done(Action::Purge, StoreItem::Snapshot(id)) => Some(format!("purged {id}")),
        _ => None,
    });
    Ok(gone.collect())
}

/// Items that were moved to the trash while the clock was 400 days behind keep their whole grace
/// period after the clock is corrected.
#[test]
fn a_slow_clock_takes_no_grace_away() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.wait_days(-400);
    let old = bench.take(b"2\n").id;
    bench.take(b"3\n");
    let removed = collect(&bench, &last(1)).expect("collects");
    assert_eq!(removed, [format!("removed {old}")]);
    bench.wait_days(400);
    for _ in 0..6 {
        bench.wait_days(1);
        assert!(collect(&bench, &last(5)).expect("collects").is_empty());
    }
    bench.wait_days(1);
    let purged = collect(&bench, &last(5)).expect("collects");
    assert_eq!(purged, [format!("purged {old}")]);
}

/// If the clock is more than a day ahead of every recorded time, a collection removes and purges
/// nothing, and the error says so.
#[test]
fn a_jump_of_the_clock_removes_and_purges_nothing() {
    let bench = Bench::new();
    let first = bench.take(b"1\n").id;
    let second = bench.take(b"2\n").id;
    let newest = bench.take(b"3\n").id;
    collect(&bench, &last(2)).expect("collects");
    bench.wait_days(400);
    for dry_run in [true, false, false] {
        let stopped = run(&bench, &days(7), false, dry_run);
        let Err(StoreError::ClockJumped { now, seen, to }) = stopped else {
            panic!("it stops: {stopped:?}");
        };
        let is_now = bench.store.now();
        assert_eq!((now, seen, to), (is_now, newest.stamp.time, is_now));
    }
    assert_eq!(bench.store.catalog(None).expect("lists").entries.len(), 2);
    assert_eq!(bench.store.expired(None).expect("lists").len(), 1);
    // The clock is corrected, and the jump is forgotten.
    bench.wait_days(-400);
    assert!(collect(&bench, &days(7)).expect("collects").is_empty());
    // A user who knows that the clock is right can say so.
    bench.wait_days(400);
    let gone = run(&bench, &days(7), true, false).expect("collects");
    let expected = [format!("purged {first}"), format!("removed {second}")];
    assert_eq!(gone, expected);
}

/// If something was written after the clock jumped, a collection still removes nothing, and its
/// error names the right times.
#[test]
fn a_jump_that_something_was_written_after_is_told() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.take(b"2\n");
    collect(&bench, &last(1)).expect("collects");
    bench.wait_days(7);
    bench.take(b"3\n");
    bench.wait_days(1);
    let stopped = collect(&bench, &last(1)).expect_err("it would purge");
    let told = stopped.to_string();
    assert_eq!(
        told,
        "the clock says 2026-11-29 23:43 UTC, but nothing was recorded in the store in the 7 days from 2026-11-21 23:43 UTC to 2026-11-28 23:43 UTC; nothing was removed"
    );
    bench.wait_days(1);
    let removed = collect(&bench, &last(1)).expect("collects");
    assert!(removed.len() == 1 && removed[0].starts_with("removed "), "{removed:?}");
}

/// A store that was not used for a month is collected, because each run sees the previous one.
#[test]
fn a_quiet_month_is_collected_night_by_night() {
    let bench = Bench::new();
    let old = bench.take(b"1\n").id;
    bench.take(b"2\n");
    let mut gone = Vec::new();
    for night in 1..=30 {
        bench.wait_days(1);
        for what in collect(&bench, &days(7)).expect("collects") {
            gone.push(format!("{night}: {what}"));
        }
    }
    let expected = [format!("8: removed {old}"), format!("15: purged {old}")];
    assert_eq!(gone, expected);
}

/// After a pause, the first run stops, and the next one, a day later, continues. Of weekly runs,
/// only the first one stops.
#[test]
fn after_a_pause_the_second_run_goes_on() {
    let bench = Bench::new();
    let old = bench.take(b"1\n").id;
    bench.take(b"2\n");
    bench.wait_days(30);
    let stopped = collect(&bench, &days(7));
    assert!(matches!(stopped, Err(StoreError::ClockJumped { .. })));
    bench.wait_days(1);
    let gone = collect(&bench, &days(7)).expect("collects");
    assert_eq!(gone, [format!("removed {old}")]);

    let bench = Bench::new();
    bench.take(b"1\n");
    bench.take(b"2\n");
    collect(&bench, &last(1)).expect("collects");
    bench.wait_days(7);
    assert!(collect(&bench, &days(7)).is_err(), "it would purge");
    for _ in 0..8 {
        bench.wait_days(7);
        collect(&bench, &days(7)).expect("collects");
    }
}

/// If two runs agree on a time, it is believed. A grace period counts only from the first of the
/// two runs, because earlier days may not really have passed.
#[test]
fn after_a_pause_what_is_in_the_trash_has_its_grace_anew() {
    let bench = Bench::new();
    let old = bench.take(b"1\n").id;
    bench.take(b"2\n");
    collect(&bench, &last(1)).expect("collects");
    bench.wait_days(30);
    assert!(collect(&bench, &last(1)).is_err(), "it would purge");
    for _ in 1..=6 {
        bench.wait_days(1);
        assert!(collect(&bench, &last(1)).expect("collects").is_empty());
    }
    bench.wait_days(1);
    let purged = collect(&bench, &last(1)).expect("collects");
    assert_eq!(purged, [format!("purged {old}")]);
}

/// A run that would remove nothing does not warn.
#[test]
fn a_jump_is_no_matter_where_nothing_would_go() {
    let bench = Bench::new();
    bench.take(b"1\n");
    bench.wait_days(400);
    assert!(collect(&bench, &days(7)).expect("collects").is_empty());
}
