//! Hours, days, weeks, months and years, in UTC.

use std::fmt;

use chrono::{DateTime, Datelike, Timelike, Utc};

use super::{Judged, Reason};

/// A period of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Period {
    /// 60 minutes.
    Hour,
    /// From midnight, UTC.
    Day,
    /// From Monday, as ISO 8601 has it.
    Week,
    /// From its first day.
    Month,
    /// From 1 January.
    Year,
}

impl Period {
    /// The number of the period that `time` lies in; two times in one period have the same.
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

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hour => "hourly",
            Self::Day => "daily",
            Self::Week => "weekly",
            Self::Month => "monthly",
            Self::Year => "yearly",
        })
    }
}

/// Keeps the newest of each of the newest `count` periods that have one; where
/// there are fewer, the oldest of all as well, so that history grows to `count`
/// instead of being cut at its first period. `past` has the newest first.
pub(super) fn judge(past: &mut [Judged<'_>], period: Period, count: u32) {
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
