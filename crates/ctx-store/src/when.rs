//! Parses dates and times as people write them, such as `2026-11-15`, `2026-11-15 10:30`,
//! `yesterday 10:30` or `1 week ago`. Dates and times are in UTC, like the times in the names of
//! snapshots, unless the text contains an offset.

use chrono::{DateTime, Datelike, Days, Months, NaiveDate, NaiveDateTime, TimeDelta, Utc, Weekday};
use interim::{Dialect, Interval, parse_date_string, parse_duration};

use crate::id::TIME;

/// The span of time that a date or time refers to: a day, a minute, a second, or a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct When {
    /// The first moment of the span.
    pub start: DateTime<Utc>,
    /// The last moment of the span, to the microsecond.
    pub end: DateTime<Utc>,
    /// Whether the span is a whole day.
    pub is_day: bool,
}

/// Why a string cannot be parsed as a date or time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WhenError {
    /// The text is not a date or time in any known form.
    #[error(
        "expected a date or a time in UTC, such as 2026-11-15, \"2026-11-15 10:30\", yesterday, 7d or \"1 week ago\""
    )]
    Malformed,
    /// The text is a date such as 5/11/2026, which means different days in different countries.
    #[error("write the date as year, month and day: 2026-11-15")]
    Order,
    /// The text is a length of time without a number, such as `last week`.
    #[error("for a time in the past, write \"3 days ago\"")]
    NotAgo,
    /// The text is a length of time with the ambiguous unit `m`.
    #[error("m could mean months or minutes; write 1mo for a month or 1min for a minute")]
    Minutes,
    /// The text is today's weekday, which could mean today or a week ago.
    #[error("today is that weekday; write \"today\", or the date of the day a week ago")]
    Weekday,
}

impl When {
    /// Parses a date or time. Input such as `1 week ago` is relative to `now`.
    pub fn parse(text: &str, now: DateTime<Utc>) -> Result<Self, WhenError> {
        let text = text.trim().to_ascii_lowercase();
        iso(&text).map_or_else(|| in_words(&text, now), Ok)
    }

    /// Whether `time` is within the span.
    pub fn contains(&self, time: DateTime<Utc>) -> bool {
        (self.start..=self.end).contains(&time)
    }

    fn day(date: NaiveDate) -> Option<Self> {
        let when = Self::lasting(date.and_hms_opt(0, 0, 0)?.and_utc(), TimeDelta::days(1))?;
        Some(Self { is_day: true, ..when })
    }

    fn moment(time: DateTime<Utc>) -> Self {
        Self { start: time, end: time, is_day: false }
    }

    fn lasting(start: DateTime<Utc>, length: TimeDelta) -> Option<Self> {
        let end = start.checked_add_signed(length - TimeDelta::microseconds(1))?;
        Some(Self { end, ..Self::moment(start) })
    }
}

/// Parses an ISO 8601 date, with or without a time of day. The time is given to the minute, the
/// second or a fraction of a second. `text` must be in lower case.
fn iso(text: &str) -> Option<When> {
    const TIMES: [(&str, TimeDelta); 3] = [
        ("%Y-%m-%dT%H:%M", TimeDelta::minutes(1)),
        ("%Y-%m-%dT%H:%M:%S", TimeDelta::seconds(1)),
        ("%Y-%m-%dT%H:%M:%S%.f", TimeDelta::microseconds(1)),
    ];
    // Check the first character, because the library would accept spaces or a sign before the year.
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if text.len() == "2026-11-15".len() {
        return When::day(NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?);
    }
    let text = text.to_ascii_uppercase().replacen(' ', "T", 1);
    // Also accept the time format used in the names of snapshots.
    if let Ok(time) = NaiveDateTime::parse_from_str(&text, TIME) {
        return Some(When::moment(time.and_utc()));
    }
    TIMES.into_iter().find_map(|(format, length)| {
        let plain = NaiveDateTime::parse_from_str(&text, format).map(|time| time.and_utc());
        let zoned = DateTime::parse_from_str(&text, &format!("{format}%#z"));
        When::lasting(plain.or_else(|_| zoned.map(|time| time.to_utc())).ok()?, length)
    })
}

/// Parses a past time in words, such as `yesterday 10:30` or `1 week ago`.
fn in_words(text: &str, now: DateTime<Utc>) -> Result<When, WhenError> {
    let timed = text.rsplit_once(' ').filter(|(_, time)| time.contains(':'));
    let (day, time) = timed.map_or((text, None), |(day, time)| (day.trim(), Some(time)));
    let when = match (day.strip_suffix("ago"), time) {
        (Some(span), None) => ago(span.trim(), now)?.map(When::moment),
        (None, None) if ago(day, now).is_ok() => ago(day, now)?.map(When::moment),
        (None, None) if day == "now" => Some(When::moment(now)),
        (Some(_), Some(_)) => None,
        (None, None) => When::day(day_in_words(day, now)?),
        (None, Some(time)) => iso(&format!("{}t{time}", day_in_words(day, now)?)),
    };
    when.ok_or(WhenError::Malformed)
}

/// The accepted units of time. The unit is checked here, because `interim` accepts any word that
/// begins like a unit: it would take `3 semesters` to mean three seconds.
const UNITS: [&str; 24] = [
    "s", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h", "hour",
    "hours", "d", "day", "days", "w", "week", "weeks", "mo", "month", "months", "y", "year",
    "years",
];

/// Splits text into words that consist of ASCII letters.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty())
}

fn ago(span: &str, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, WhenError> {
    let unit = span.trim_start_matches(|c: char| c.is_ascii_digit()).trim();
    if unit == "m" {
        return Err(WhenError::Minutes);
    }
    if !UNITS.contains(&unit) {
        return Err(WhenError::Malformed);
    }
    let span = parse_duration(span).map_err(|_| WhenError::Malformed)?;
    let size = |n: i32| n.unsigned_abs();
    Ok(match span {
        Interval::Seconds(n) => now.checked_sub_signed(TimeDelta::seconds(i64::from(size(n)))),
        Interval::Days(n) => now.checked_sub_days(Days::new(u64::from(size(n)))),
        Interval::Months(n) => now.checked_sub_months(Months::new(size(n))),
    })
}

/// Parses a day in words, such as `today`, `yesterday`, `friday`, `last friday`, `15 nov`, `nov 15`
/// or `15 nov 2026`. Returns the most recent day with that name, whereas `interim` on its own would
/// return the next.
fn day_in_words(text: &str, now: DateTime<Utc>) -> Result<NaiveDate, WhenError> {
    if text.contains('/') || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err(WhenError::Order);
    }
    let named = text.strip_prefix("last ").unwrap_or(text);
    let weekday = named.parse::<Weekday>().ok();
    let is_month = |word: &str| word.parse::<chrono::Month>().is_ok();
    let asked = if matches!(text, "today" | "yesterday") {
        text.to_owned()
    } else if weekday == Some(now.weekday()) {
        return Err(WhenError::Weekday);
    } else if weekday.is_some() || (words(text).count() == 1 && words(text).all(is_month)) {
        format!("last {named}")
    } else if words(text).any(|word| UNITS.contains(&word)) {
        return Err(WhenError::NotAgo);
    } else {
        return Err(WhenError::Malformed);
    };
    // `interim` would read a month without a day as the first of that month.
    let has_number = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_whole = has_number != (weekday.is_some() || text == asked);
    let read = parse_date_string(&asked, now, Dialect::Uk);
    let date = read.map(|time| time.date_naive()).ok();
    // `interim` would read `15 nov 26` as a day in the year 26.
    date.filter(|date| is_whole && date.year() >= 1970).ok_or(WhenError::Malformed)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::{When, WhenError};

    /// The current time in these tests, a Tuesday.
    const NOW: &str = "2026-11-24T05:30:15.25Z";

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().expect("a time")
    }

    fn parse(text: &str) -> Result<When, WhenError> {
        When::parse(text, at(NOW))
    }

    /// Returns the start and end of the span that `text` refers to.
    fn ends(text: &str) -> (DateTime<Utc>, DateTime<Utc>) {
        let when = parse(text).expect(text);
        (when.start, when.end)
    }

    /// A date refers to the whole day, and a time without seconds refers to the whole minute. Dates
    /// and times are in UTC unless they have an offset.
    #[test]
    fn dates_and_times_of_iso_8601_are_read() {
        let minute = ("2026-11-15T10:30:00Z", "2026-11-15T10:30:59.999999Z");
        let second = ("2026-11-15T10:30:07Z", "2026-11-15T10:30:07.999999Z");
        let exact = ("2026-11-15T10:30:07.123456Z", "2026-11-15T10:30:07.123456Z");
        for (text, (start, end)) in [
            ("2026-11-15T10:30", minute),
            ("2026-11-15 10:30", minute),
            (" 2026-11-15 10:30Z ", minute),
            ("2026-11-15t10:30z", minute),
            ("2026-11-15T12:30+02:00", minute),
            ("2026-11-15 05:30-0500", minute),
            ("2026-11-15T10:30:07", second),
            ("2026-11-15T10:30:07Z", second),
            ("2026-11-15T10:30:07.123456Z", exact),
            ("2026-11-15 10:30:07.123456", exact),
            ("20261115T103007.123456Z", exact),
        ] {
            assert_eq!(ends(text), (at(start), at(end)), "{text}");
            assert!(!parse(text).expect(text).is_day, "{text}");
        }
        let day = (at("2026-11-15T00:00:00Z"), at("2026-11-15T23:59:59.999999Z"));
        assert_eq!(ends("2026-11-15"), day);
        assert!(parse("2026-11-15").expect("a day").is_day);
        assert!(parse("2027-01-01").is_ok(), "a date may be in the future");
    }

    /// Lengths of time are counted back from now, and months are calendar months.
    #[test]
    fn lengths_of_time_are_counted_back_from_now() {
        for (text, time) in [
            ("now", NOW),
            ("1 week ago", "2026-11-17T05:30:15.25Z"),
            ("1w ago", "2026-11-17T05:30:15.25Z"),
            ("3d ago", "2026-11-21T05:30:15.25Z"),
            ("3d", "2026-11-21T05:30:15.25Z"),
            ("3 Days ago", "2026-11-21T05:30:15.25Z"),
            ("2 hours ago", "2026-11-24T03:30:15.25Z"),
            ("30min ago", "2026-11-24T05:00:15.25Z"),
            ("15 s ago", "2026-11-24T05:30:00.25Z"),
            ("1 month ago", "2026-10-24T05:30:15.25Z"),
            ("1y ago", "2025-11-24T05:30:15.25Z"),
        ] {
            assert_eq!(ends(text), (at(time), at(time)), "{text}");
        }
        let end_of_may = When::parse("3mo ago", at("2026-05-31T12:00:00Z")).expect("a time");
        assert_eq!(end_of_may.start, at("2026-02-28T12:00:00Z"));
    }

    /// A day given in words is the most recent day with that name, never a future one.
    #[test]
    fn named_days_are_past() {
        for (text, day) in [
            ("today", "2026-11-24"),
            ("yesterday", "2026-11-23"),
            ("monday", "2026-11-23"),
            ("wed", "2026-11-18"),
            ("last Friday", "2026-11-20"),
            ("15 Nov", "2026-11-15"),
            ("nov 15", "2026-11-15"),
            ("15 december", "2025-12-15"),
            ("15 Nov 2024", "2024-11-15"),
            ("November 15, 2024", "2024-11-15"),
        ] {
            assert_eq!(parse(text), parse(day), "{text}");
            let (with_time, time) = (format!("{text} 10:30"), format!("{day} 10:30"));
            assert_eq!(parse(&with_time), parse(&time), "{with_time}");
        }
        assert_eq!(parse("yesterday 10:30:07"), parse("2026-11-23 10:30:07"));
        let east = parse("2026-11-22T23:30Z");
        assert_eq!(parse("yesterday 01:30+02:00"), east);
    }

    /// Input is refused if `interim` would have to guess its meaning, or if it could be a number.
    #[test]
    fn what_may_be_meant_otherwise_is_refused() {
        for (text, error) in [
            ("last week", WhenError::NotAgo),
            ("5m ago", WhenError::Minutes),
            ("tuesday", WhenError::Weekday),
            ("last tue", WhenError::Weekday),
            ("15/11/2026", WhenError::Order),
            ("15.11.2026", WhenError::Order),
            ("15.11", WhenError::Order),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
        for text in [
            "",
            "2",
            "2026",
            "20261115",
            "2026-11",
            "2026-13-01",
            "2026-11-15T25:30",
            "+2026-11-15",
            "10:30",
            "yesterday 25:00",
            "yesterday 10:30 pm",
            "2 hours ago 10:30",
            "3 semesters ago",
            "99999 days ago",
            "ago",
            "-3d ago",
            "tomorrow",
            "next friday",
            "last",
            "last yesterday",
            "nov",
            "november 2026",
            "15 nov 26",
            "31 feb",
            "friday the 13",
            "monday and tuesday",
            "latest",
            "1é ago",
            "yesterdayyyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
        ] {
            let read = parse(text);
            let is_refused = matches!(read, Err(WhenError::Malformed | WhenError::Order));
            assert!(is_refused, "{text}: {read:?}");
        }
    }
}
