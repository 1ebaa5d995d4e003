//! Which snapshots stay: a pure function of the list, the policy and the time.
//!
//! All rules are ORed: what one of them keeps, stays. A rule only ever adds to
//! what is kept, so no mistyped rule deletes more than the others allow.

mod calendar;
mod span;

use std::collections::BTreeMap;
use std::fmt;

use chrono::{DateTime, TimeDelta, Utc};

pub use calendar::Period;
pub use span::Span;

/// A snapshot as retention sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Each session is judged for itself.
    pub session: String,
    /// The order in which they were taken, whatever the clock did.
    pub sequence: u64,
    /// When it was taken.
    pub taken: DateTime<Utc>,
    /// Why it stays whatever the policy says.
    pub protected: Option<Protection>,
}

/// Why a snapshot stays whatever the policy says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// Somebody asked for it.
    Held,
    /// Something still refers to it.
    InUse,
    /// It is not known what it is: unknown is not expired.
    Unreadable,
}

/// What to keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// The newest so many.
    pub last: Option<u32>,
    /// The newest of each of so many hours, days, weeks, months, years that have one.
    pub periods: Vec<(Period, u32)>,
    /// All that are not older than this, seen from the newest.
    pub within: Option<Span>,
    /// All that are not older than so many days, seen from now.
    pub days: Option<u32>,
    /// Whether even the newest of a session may go.
    pub no_floor: bool,
}

/// Why a snapshot stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Whatever the policy says.
    Protected(Protection),
    /// The newest of its session.
    Newest,
    /// Taken in the future: a clock is wrong, and nobody knows which.
    Future,
    /// Among the last.
    Last,
    /// The newest of its hour, day, week, month or year.
    Period(Period),
    /// The oldest of all, where there are fewer periods than asked for.
    Oldest(Period),
    /// Near enough to the newest.
    Within,
    /// Young enough.
    Days,
}

/// What becomes of a snapshot; it stays when there is a reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why it stays, in the order of [`Reason`].
    pub reasons: Vec<Reason>,
}

/// A policy that nobody can mean.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// It would keep nothing.
    #[error("the policy has no rule: it would keep nothing")]
    Empty,
    /// A rule that keeps nothing.
    #[error("{0} 0 keeps nothing")]
    Zero(&'static str),
}

impl Verdict {
    /// Whether it stays.
    pub fn keeps(&self) -> bool {
        !self.reasons.is_empty()
    }

    fn add(&mut self, reason: Reason) {
        if let Err(at) = self.reasons.binary_search(&reason) {
            self.reasons.insert(at, reason);
        }
    }
}

impl Policy {
    /// Refuses a policy without rules, and rules that keep nothing.
    pub fn check(&self) -> Result<(), PolicyError> {
        if self.last.is_none()
            && self.periods.is_empty()
            && self.within.is_none()
            && self.days.is_none()
        {
            return Err(PolicyError::Empty);
        }
        let periods = self
            .periods
            .iter()
            .map(|(period, n)| (period.flag(), Some(*n)));
        let others = [("--keep-last", self.last), ("--keep-days", self.days)];
        if let Some((flag, _)) = periods.chain(others).find(|(_, n)| *n == Some(0)) {
            return Err(PolicyError::Zero(flag));
        }
        match &self.within {
            Some(span) if span.is_zero() => Err(PolicyError::Zero("--keep-within")),
            _ => Ok(()),
        }
    }
}

/// Judges each snapshot; the verdicts stand in the order of `list`.
pub fn decide(
    list: &[Candidate],
    policy: &Policy,
    now: DateTime<Utc>,
) -> Result<Vec<Verdict>, PolicyError> {
    policy.check()?;
    let mut verdicts = vec![Verdict::default(); list.len()];
    let mut sessions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in list.iter().enumerate() {
        sessions.entry(&candidate.session).or_default().push(at);
        if let Some(protection) = candidate.protected {
            verdicts[at].add(Reason::Protected(protection));
        }
    }
    for mut members in sessions.into_values() {
        members.sort_by_key(|at| std::cmp::Reverse(list[*at].sequence));
        judge(list, &members, policy, now, &mut verdicts);
    }
    Ok(verdicts)
}

/// Judges one session; `members` has the newest first.
fn judge(
    list: &[Candidate],
    members: &[usize],
    policy: &Policy,
    now: DateTime<Utc>,
    verdicts: &mut [Verdict],
) {
    if let (Some(newest), false) = (members.first(), policy.no_floor) {
        verdicts[*newest].add(Reason::Newest);
    }
    for at in members.iter().take(policy.last.unwrap_or(0) as usize) {
        verdicts[*at].add(Reason::Last);
    }
    let (future, mut past): (Vec<usize>, Vec<usize>) =
        members.iter().partition(|at| list[**at].taken > now);
    for at in future {
        verdicts[at].add(Reason::Future);
    }
    // The calendar goes by the clock, not by the order.
    past.sort_by_key(|at| std::cmp::Reverse((list[*at].taken, list[*at].sequence)));
    for (period, count) in &policy.periods {
        calendar::judge(list, &past, *period, *count as usize, verdicts);
    }
    // From the newest, not from now: a month without work deletes nothing.
    let within = past.first().zip(policy.within.as_ref());
    let within = within.map(|(newest, span)| span.before(list[*newest].taken));
    let days = policy
        .days
        .map(|days| now - TimeDelta::days(i64::from(days)));
    for at in past {
        for (since, reason) in [(within, Reason::Within), (days, Reason::Days)] {
            if since.is_some_and(|since| list[at].taken >= since) {
                verdicts[at].add(reason);
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protected(Protection::Held) => f.write_str("held"),
            Self::Protected(Protection::InUse) => f.write_str("in use"),
            Self::Protected(Protection::Unreadable) => f.write_str("unreadable"),
            Self::Newest => f.write_str("newest of its session"),
            Self::Future => f.write_str("dated in the future"),
            Self::Last => f.write_str("last"),
            Self::Period(period) => write!(f, "{period}"),
            Self::Oldest(period) => write!(f, "oldest {period}"),
            Self::Within => f.write_str("within"),
            Self::Days => f.write_str("days"),
        }
    }
}

#[cfg(test)]
#[path = "retention/tests.rs"]
mod tests;
