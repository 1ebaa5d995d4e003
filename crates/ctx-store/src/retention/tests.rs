use std::time::Duration;

use super::{Candidate, Floor, Period, Policy, PolicyError, Reason, Span, decide};
use chrono::{DateTime, TimeDelta, Utc};
use proptest::prelude::*;

const NOW: &str = "2026-11-22T12:00:00Z";

fn at(text: &str) -> DateTime<Utc> {
    text.parse().expect("a time")
}

fn days(days: u32) -> Span {
    let time = Duration::from_secs(u64::from(days) * 86_400);
    Span { months: 0, time }
}

/// Snapshots of a single session, oldest first.
fn taken(times: &[&str]) -> Vec<Candidate> {
    let candidate = |(sequence, time): (usize, &&str)| Candidate {
        session: "s".into(),
        sequence: sequence as u64,
        taken: at(time),
        protected: None,
    };
    times.iter().enumerate().map(candidate).collect()
}

fn kept(list: &[Candidate], policy: &Policy) -> Vec<u64> {
    let verdicts = decide(list, policy, at(NOW)).expect("a policy");
    let kept = list.iter().zip(verdicts).filter(|(_, reasons)| !reasons.is_empty());
    kept.map(|(candidate, _)| candidate.sequence).collect()
}

fn periods(period: Period, count: u32) -> Policy {
    Policy { periods: vec![(period, count)], ..Policy::default() }
}

#[test]
fn days_count_from_now_and_the_newest_always_stays() {
    let list = taken(&["2026-10-01T00:00:00Z", "2026-11-15T11:59:59Z", "2026-11-15T12:00:00Z"]);
    let policy = Policy { days: Some(7), ..Policy::default() };
    assert_eq!(kept(&list, &policy), [2]);
    assert_eq!(kept(&list[..2], &policy), [1], "old, but the newest");
    let policy = Policy { floor: Floor::Never, ..policy };
    assert_eq!(kept(&list[..2], &policy), [0; 0]);
}

/// A session that is no longer saved is kept for a while and then removed as a whole.
#[test]
fn a_floor_of_days_keeps_the_newest_while_it_is_not_older() {
    let list = taken(&["2026-10-01T00:00:00Z", "2026-11-02T12:00:00Z"]);
    for (days, expected) in [(20, &[1_u64][..]), (19, &[]), (u32::MAX, &[1])] {
        let policy = Policy { days: Some(7), floor: Floor::Days(days), ..Policy::default() };
        assert_eq!(kept(&list, &policy), expected, "{days}");
    }
    let policy = Policy { days: Some(u32::MAX), ..Policy::default() };
    assert_eq!(kept(&list, &policy), [0, 1], "more days than there ever were");
}

#[test]
fn within_counts_from_the_newest_that_is_not_in_the_future() {
    let list = taken(&[
        "2025-01-01T00:00:00Z",
        "2025-01-09T00:00:00Z",
        "2025-01-10T00:00:00Z",
        "2036-01-01T00:00:00Z",
    ]);
    let policy = Policy { within: Some(days(1)), ..Policy::default() };
    assert_eq!(kept(&list, &policy), [1, 2, 3]);
    let verdicts = decide(&list, &policy, at(NOW)).expect("a policy");
    assert_eq!(verdicts[3], [Reason::Newest, Reason::Future]);
}

#[test]
fn each_period_keeps_its_newest_and_unused_counts_the_oldest() {
    let list = taken(&[
        "2026-11-19T08:00:00Z",
        "2026-11-20T08:00:00Z",
        "2026-11-20T23:59:59Z",
        "2026-11-21T00:00:00Z",
        "2026-11-21T10:00:00Z",
    ]);
    assert_eq!(kept(&list, &periods(Period::Day, 2)), [2, 4]);
    assert_eq!(kept(&list, &periods(Period::Day, 3)), [0, 2, 4]);
    assert_eq!(kept(&list, &periods(Period::Hour, 2)), [3, 4]);
    assert_eq!(kept(&list, &periods(Period::Year, 1)), [4]);
    assert_eq!(kept(&list, &periods(Period::Year, 2)), [0, 4], "the oldest fills up");
    let verdicts = decide(&list, &periods(Period::Year, 2), at(NOW)).expect("a policy");
    assert_eq!(verdicts[0], [Reason::Oldest(Period::Year)]);
}

#[test]
fn weeks_are_those_of_iso_8601() {
    // 2024-12-30 and 2025-01-01 are in the same ISO week of 2025.
    let list = taken(&["2024-12-29T12:00:00Z", "2024-12-30T12:00:00Z", "2025-01-01T12:00:00Z"]);
    assert_eq!(kept(&list, &periods(Period::Week, 1)), [2]);
    assert_eq!(kept(&list, &periods(Period::Week, 2)), [0, 2]);
}

#[test]
fn the_order_is_the_sequence_when_the_clock_went_back() {
    let list = taken(&["2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z", "2025-01-01T00:00:00Z"]);
    let policy = Policy { last: Some(1), ..Policy::default() };
    assert_eq!(kept(&list, &policy), [2]);
}

#[test]
fn two_of_the_same_moment_are_two() {
    let list = taken(&["2026-11-20T00:00:00Z", "2026-11-20T00:00:00Z"]);
    assert_eq!(kept(&list, &periods(Period::Hour, 5)), [0, 1]);
    assert_eq!(kept(&list, &periods(Period::Hour, 1)), [1]);
}

#[test]
fn sessions_are_judged_apart_and_the_protected_stay() {
    let mut list = taken(&["2020-01-01T00:00:00Z"; 4]);
    list[0].protected = Some(Reason::Held);
    list[1].protected = Some(Reason::Unreadable);
    list[3].session = "t".into();
    let policy = Policy { days: Some(1), floor: Floor::Never, ..Policy::default() };
    assert_eq!(kept(&list, &policy), [0, 1]);
    let policy = Policy { floor: Floor::Always, ..policy };
    assert_eq!(kept(&list, &policy), [0, 1, 2, 3]);
}

#[test]
fn policies_that_keep_nothing_are_refused() {
    let refused = |policy: &Policy| decide(&[], policy, at(NOW)).expect_err("refused");
    assert_eq!(refused(&Policy::default()), PolicyError::Empty);
    for (policy, flag) in [
        (periods(Period::Week, 0), "--keep-weekly"),
        (Policy { last: Some(0), ..Policy::default() }, "--keep-last"),
        (Policy { days: Some(0), ..Policy::default() }, "--keep-days"),
        (Policy { within: Some(Span::default()), ..Policy::default() }, "--keep-within"),
    ] {
        let error = refused(&policy).to_string();
        assert_eq!(error, format!("{flag} 0 keeps nothing"));
    }
}

fn any_list() -> impl Strategy<Value = Vec<Candidate>> {
    let one = (0..3_u8, 0..2000_i64, prop::option::weighted(0.1, Just(Reason::Held)));
    prop::collection::vec(one, 0..40).prop_map(|members| {
        let candidate =
            |(sequence, (session, hours, protected)): (usize, (u8, i64, _))| Candidate {
                session: session.to_string(),
                sequence: sequence as u64,
                taken: at(NOW) - TimeDelta::hours(hours - 100),
                protected,
            };
        members.into_iter().enumerate().map(candidate).collect()
    })
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let all = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::Year];
    let periods = prop::collection::vec((prop::sample::select(all.to_vec()), 1..5_u32), 0..3);
    let last = prop::option::of(1..5_u32);
    let within = prop::option::of((1..60_u32).prop_map(days));
    let days = prop::option::of(1..60_u32);
    (last, periods, within, days)
        .prop_map(|(last, periods, within, days)| Policy {
            last,
            periods,
            within,
            days,
            floor: Floor::Always,
        })
        .prop_filter("a rule at least", |policy| policy.check().is_ok())
}

fn survivors(list: &[Candidate], verdicts: &[Vec<Reason>]) -> Vec<Candidate> {
    let kept = list.iter().zip(verdicts).filter(|(_, reasons)| !reasons.is_empty());
    kept.map(|(candidate, _)| candidate.clone()).collect()
}

proptest! {
    /// T4: a second collection removes nothing more.
    #[test]
    fn a_second_run_removes_nothing(list in any_list(), policy in any_policy()) {
        let kept = survivors(&list, &decide(&list, &policy, at(NOW)).expect("a policy"));
        let again = survivors(&kept, &decide(&kept, &policy, at(NOW)).expect("a policy"));
        prop_assert_eq!(kept, again);
    }

    #[test]
    fn the_order_of_the_list_does_not_matter(list in any_list(), policy in any_policy()) {
        let verdicts = decide(&list, &policy, at(NOW)).expect("a policy");
        let reversed: Vec<_> = list.iter().rev().cloned().collect();
        let mut other = decide(&reversed, &policy, at(NOW)).expect("a policy");
        other.reverse();
        prop_assert_eq!(verdicts, other);
    }

    #[test]
    fn a_rule_only_adds(list in any_list(), policy in any_policy(), more in any_policy()) {
        let before = decide(&list, &policy, at(NOW)).expect("a policy");
        let mut both = policy.clone();
        both.periods.extend(more.periods);
        both.last = both.last.or(more.last);
        both.days = both.days.or(more.days);
        both.within = both.within.or(more.within);
        let after = decide(&list, &both, at(NOW)).expect("a policy");
        for (before, after) in before.iter().zip(after) {
            prop_assert!(before.is_empty() || !after.is_empty());
        }
    }

    /// T4: only rules that count from now depend on the time.
    ///
    /// `--keep-days` is the only such rule, except that a snapshot may be in the future.
    #[test]
    fn time_going_by_changes_no_other_rule(list in any_list(), policy in any_policy(), days in 0..1000_i64) {
        let policy = Policy { days: None, last: Some(1), ..policy };
        let past = at(NOW) + TimeDelta::days(10);
        let now = decide(&list, &policy, past).expect("a policy");
        let later = decide(&list, &policy, past + TimeDelta::days(days)).expect("a policy");
        prop_assert_eq!(now, later);
    }

    /// T4: a new snapshot never causes the removal of one that is held or newer.
    #[test]
    fn a_newer_snapshot_removes_nothing_held_nothing_newer_and_never_all(
        list in any_list(), policy in any_policy(),
    ) {
        let mut grown = list.clone();
        grown.push(Candidate {
            session: "0".into(), sequence: 1_000, taken: at(NOW), protected: None,
        });
        let verdicts = decide(&grown, &policy, at(NOW)).expect("a policy");
        prop_assert!(!verdicts.last().expect("one").is_empty());
        for (candidate, reasons) in grown.iter().zip(&verdicts) {
            let spared = candidate.protected.is_some() || candidate.taken > at(NOW);
            prop_assert!(!spared || !reasons.is_empty());
        }
        for session in ["0", "1", "2"] {
            let mut members = grown.iter().zip(&verdicts).filter(|(c, _)| c.session == session);
            let any = members.clone().next().is_some();
            prop_assert!(!any || members.any(|(_, reasons)| !reasons.is_empty()));
        }
    }
}
