//! Decides which snapshots stay. The decision depends only on the list of snapshots, the policy and
//! the time.
//!
//! A snapshot stays if any rule keeps it. Therefore, adding a rule can only cause more snapshots to
//! be kept, and a mistyped rule never deletes snapshots that other rules keep.
//!
//! Calendar periods are in UTC.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Datelike, Months, TimeDelta, Timelike, Utc};
use strum::Display;

/// The facts about a snapshot that the decision depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The session of the snapshot. The policy is applied to each session separately.
    pub session: String,
    /// The snapshot's number, which determines the order even if the clock was wrong.
    pub sequence: u64,
    /// When the snapshot was taken, or when the same bytes were most recently saved again.
    pub taken: DateTime<Utc>,
    /// A reason to keep the snapshot regardless of the policy, if there is one.
    pub protected: Option<Reason>,
}

/// The rules that decide which snapshots to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Keeps this many of the newest snapshots.
    pub last: Option<u32>,
    /// For each listed kind of calendar period, keeps the newest snapshot from each of this many
    /// periods.
    pub periods: Vec<(Period, u32)>,
    /// Keeps snapshots taken within this span before the newest snapshot.
    pub within: Option<Span>,
    /// Keeps snapshots that are at most this many days old.
    pub days: Option<u32>,
    /// How long a session's newest snapshot stays even if no rule keeps it.
    pub floor: Floor,
}

/// How long a session's newest snapshot stays, regardless of the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Floor {
    /// The newest snapshot stays forever.
    #[default]
    Always,
    /// The newest snapshot stays until it is more than this many days old.
    Days(u32),
    /// The newest snapshot stays only if a rule keeps it.
    Never,
}

impl Floor {
    fn keeps(self, taken: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        match self {
            Self::Always => true,
            Self::Days(days) => taken >= days_before(now, days),
            Self::Never => false,
        }
    }
}

/// Returns the time `days` before `now`, or the earliest representable time.
pub(crate) fn days_before(now: DateTime<Utc>, days: u32) -> DateTime<Utc> {
    now.checked_sub_signed(TimeDelta::days(days.into())).unwrap_or(DateTime::<Utc>::MIN_UTC)
}

/// The reason why a snapshot stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display)]
#[strum(serialize_all = "lowercase")]
pub enum Reason {
    /// The user put the snapshot on hold.
    Held,
    /// A process may still be writing to the replaced file whose content the snapshot holds.
    #[strum(to_string = "in use")]
    InUse,
    /// The snapshot is damaged, or cannot be read at the moment.
    Unreadable,
    /// The snapshot is the newest of its session.
    #[strum(to_string = "newest of its session")]
    Newest,
    /// The snapshot is dated in the future, because the clock was wrong when it was taken or is
    /// wrong now.
    #[strum(to_string = "dated in the future")]
    Future,
    /// The snapshot has one of the highest numbers in its session.
    #[strum(to_string = "--keep-last")]
    Last,
    /// The snapshot is the newest of its hour, day, week, month or year.
    #[strum(to_string = "--keep-{0}")]
    Period(Period),
    /// The snapshot is the oldest of its session, which has snapshots from fewer periods than the
    /// rule asks for.
    #[strum(to_string = "oldest, --keep-{0}")]
    Oldest(Period),
    /// The snapshot was taken within the given span before the newest snapshot.
    #[strum(to_string = "--keep-within")]
    Within,
    /// The snapshot is at most the given number of days old.
    #[strum(to_string = "--keep-days")]
    Days,
}

/// Why a policy is rejected as a mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// The policy has no rules.
    #[error("the policy has no rules, so it would keep nothing")]
    Empty,
    /// The number in the rule with this name is 0, so the rule keeps nothing.
    #[error("--keep-{0} 0 keeps nothing")]
    Zero(String),
}

impl Policy {
    /// Rejects a policy without rules, and rules that keep nothing.
    pub fn check(&self) -> Result<(), PolicyError> {
        let within = self.within.map(|span| u32::from(!span.is_zero()));
        let others = [("last", self.last), ("days", self.days), ("within", within)];
        let others = others.map(|(name, n)| (name.to_owned(), n));
        let periods = self.periods.iter();
        let rules = periods.map(|(period, n)| (period.to_string(), Some(*n))).chain(others);
        let mut rules = rules.filter_map(|(name, n)| Some((name, n?))).peekable();
        if rules.peek().is_none() {
            return Err(PolicyError::Empty);
        }
        rules.find(|(_, n)| *n == 0).map_or(Ok(()), |(name, _)| Err(PolicyError::Zero(name)))
    }
}

/// A snapshot and the reasons why it stays.
struct Judged<'a> {
    candidate: &'a Candidate,
    reasons: &'a mut Vec<Reason>,
}

/// Returns the reasons to keep each snapshot, in the order of `list`. A snapshot without a reason
/// should be removed.
pub fn decide(
    list: &[Candidate],
    policy: &Policy,
    now: DateTime<Utc>,
) -> Result<Vec<Vec<Reason>>, PolicyError> {
    policy.check()?;
    let mut verdicts = vec![Vec::new(); list.len()];
    let mut sessions: BTreeMap<&str, Vec<Judged<'_>>> = BTreeMap::new();
    for (candidate, reasons) in list.iter().zip(&mut verdicts) {
        reasons.extend(candidate.protected);
        sessions.entry(&candidate.session).or_default().push(Judged { candidate, reasons });
    }
    for session in sessions.into_values() {
        judge(session, policy, now);
    }
    for reasons in &mut verdicts {
        reasons.sort();
        reasons.dedup();
    }
    Ok(verdicts)
}

/// Finds the reasons for keeping each snapshot of one session.
fn judge(mut session: Vec<Judged<'_>>, policy: &Policy, now: DateTime<Utc>) {
    session.sort_by_key(|it| Reverse(it.candidate.sequence));
    if let Some(newest) = session.first_mut()
        && policy.floor.keeps(newest.candidate.taken, now)
    {
        newest.reasons.push(Reason::Newest);
    }
    for it in session.iter_mut().take(policy.last.unwrap_or(0) as usize) {
        it.reasons.push(Reason::Last);
    }
    let (future, mut past): (Vec<_>, Vec<_>) =
        session.into_iter().partition(|it| it.candidate.taken > now);
    for it in future {
        it.reasons.push(Reason::Future);
    }
    // Sort by time, because calendar periods depend on the snapshots' times, not on their numbers.
    past.sort_by_key(|it| Reverse((it.candidate.taken, it.candidate.sequence)));
    for (period, count) in &policy.periods {
        judge_periods(&mut past, *period, *count);
    }
    // Count the span back from the newest snapshot, so that a month without work does not lead to
    // deletions.
    let within = past.first().zip(policy.within);
    let within = within.map(|(newest, span)| span.before(newest.candidate.taken));
    let days = policy.days.map(|days| days_before(now, days));
    for it in past {
        for (since, reason) in [(within, Reason::Within), (days, Reason::Days)] {
            if since.is_some_and(|since| it.candidate.taken >= since) {
                it.reasons.push(reason);
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// A kind of calendar period, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display)]
pub enum Period {
    /// A full hour, which begins at minute 0.
    #[strum(to_string = "hourly")]
    Hour,
    /// A day, which begins at midnight.
    #[strum(to_string = "daily")]
    Day,
    /// A week that begins on Monday, as in ISO 8601.
    #[strum(to_string = "weekly")]
    Week,
    /// A calendar month.
    #[strum(to_string = "monthly")]
    Month,
    /// A calendar year.
    #[strum(to_string = "yearly")]
    Year,
}

impl Period {
    /// Returns two numbers that identify the period that contains `time`.
    fn number(self, time: DateTime<Utc>) -> (i32, u32) {
        match self {
            Self::Hour => (time.num_days_from_ce(), time.hour()),
            Self::Day => (time.num_days_from_ce(), 0),
            Self::Week => (time.iso_week().year(), time.iso_week().week()),
            Self::Month => (time.year(), time.month()),
            Self::Year => (time.year(), 0),
        }
    }
}

/// Keeps the newest snapshot from each of the last `count` periods that have snapshots. If there
/// are fewer such periods, keeps the oldest snapshot as well, so that the history still reaches
/// back to the beginning. `past` is sorted, newest snapshot first.
fn judge_periods(past: &mut [Judged<'_>], period: Period, count: u32) {
    let (mut kept, mut current) = (0, None);
    for it in past.iter_mut() {
        let number = Some(period.number(it.candidate.taken));
        if number == current {
            continue;
        }
        if kept == count {
            return;
        }
        current = number;
        kept += 1;
        it.reasons.push(Reason::Period(period));
    }
    if let Some(oldest) = past.last_mut().filter(|_| kept < count) {
        oldest.reasons.push(Reason::Oldest(period));
    }
}

/// A length of time in calendar months plus seconds, counted back from a given moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The number of calendar months. A year counts as twelve months.
    pub months: u32,
    /// The part of the span that is added to the calendar months, such as days or hours.
    pub time: Duration,
}

impl Span {
    /// Whether the span is empty.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// Subtracts the span from `time`. If the result is not representable, returns the earliest
    /// representable moment.
    pub fn before(self, time: DateTime<Utc>) -> DateTime<Utc> {
        let rest = TimeDelta::from_std(self.time).ok();
        let start = time.checked_sub_months(Months::new(self.months));
        let start = start.and_then(|start| start.checked_sub_signed(rest?));
        start.unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

#[cfg(test)]
mod span_tests {
    use super::Span;

    fn at(text: &str) -> chrono::DateTime<chrono::Utc> {
        text.parse().expect("a time")
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let months = |months| Span { months, ..Span::default() };
        assert_eq!(months(1).before(at("2026-03-31T12:00:00Z")), at("2026-02-28T12:00:00Z"));
        assert!(months(4_000_000).before(at("2026-03-31T12:00:00Z")) < at("0001-01-01T00:00:00Z"));
    }

    #[test]
    fn the_rest_is_taken_to_the_second() {
        let span = Span { months: 1, time: std::time::Duration::from_secs(90) };
        assert_eq!(span.before(at("2026-03-31T00:01:00Z")), at("2026-02-27T23:59:30Z"));
        let fortnight = Span { months: 0, time: std::time::Duration::from_secs(14 * 86_400) };
        assert_eq!(fortnight.before(at("2026-03-31T12:00:00Z")), at("2026-03-17T12:00:00Z"));
        let forever = Span { months: 0, time: std::time::Duration::MAX };
        assert!(forever.before(at("2026-03-31T12:00:00Z")) < at("0001-01-01T00:00:00Z"));
    }
}
