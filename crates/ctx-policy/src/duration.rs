//! Parses durations such as `90s`, `5m`, `1h30min`, `14d` and `1y6mo`.
//!
//! All flags and settings use this parser, so a duration has the same meaning everywhere. An
//! ambiguous duration is rejected.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use regex::{Captures, Regex};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_with::SerializeDisplay;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The units, each with its length in months and in milliseconds.
const UNITS: [(&str, u64, u64); 9] = [
    ("y", 12, 0),
    ("mo", 1, 0),
    ("w", 0, 7 * DAY),
    ("d", 0, DAY),
    ("h", 0, HOUR),
    ("min", 0, MINUTE),
    ("m", 0, MINUTE),
    ("s", 0, SECOND),
    ("ms", 0, 1),
];

/// Matches durations in which each unit occurs at most once, largest unit first.
static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)^ (?:(?<y>[0-9]+)y)? (?:(?<mo>[0-9]+)mo)? (?:(?<w>[0-9]+)w)?
        (?:(?<d>[0-9]+)d)? (?:(?<h>[0-9]+)h)? (?:(?<min>[0-9]+)min | (?<m>[0-9]+)m)?
        (?:(?<s>[0-9]+)s)? (?:(?<ms>[0-9]+)ms)? $";
    Regex::new(pattern).expect("the pattern is valid")
});

/// A duration that does not depend on the calendar, so it has no months or years, and the unit `m`
/// means minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SerializeDisplay)]
pub struct FixedSpan(pub Duration);

/// Why a string is not a valid duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text does not consist of numbers with units, largest unit first.
    #[error(
        "expected numbers with units, largest unit first, such as 90s, 5m, 1h30min, 14d or 1y6mo"
    )]
    Malformed,
    /// The duration is too long to be represented.
    #[error("too long")]
    TooLong,
    /// The duration contains months or years, but a fixed length is needed.
    #[error("months and years have no fixed length; write days, for example 30d")]
    NotFixed,
    /// `m` was given where both minutes and months are plausible.
    #[error("m could mean months or minutes; write 1mo for a month or 1min for a minute")]
    Ambiguous,
}

impl FromStr for FixedSpan {
    type Err = DurationError;

    fn from_str(text: &str) -> Result<Self, DurationError> {
        // Zero needs no unit.
        if text.trim() == "0" {
            return Ok(Self(Duration::ZERO));
        }
        let parts = parts(text)?;
        if parts.name("y").or(parts.name("mo")).is_some() {
            return Err(DurationError::NotFixed);
        }
        Ok(Self(sum(&parts)?.1))
    }
}

/// Formats the duration in the largest unit that gives a whole number.
impl fmt::Display for FixedSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_millis();
        if millis == 0 {
            return f.write_str("0s");
        }
        let mut units = [("d", DAY), ("h", HOUR), ("m", MINUTE), ("s", SECOND)].into_iter();
        let whole = units.find(|(_, unit)| millis.is_multiple_of(u128::from(*unit)));
        let (name, unit) = whole.unwrap_or(("ms", 1));
        write!(f, "{}{name}", millis / u128::from(unit))
    }
}

impl<'de> Deserialize<'de> for FixedSpan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer).ok();
        let span = text.and_then(|text| text.parse().ok());
        span.ok_or_else(|| D::Error::custom("a time such as 30s, 5m or 1h"))
    }
}

/// Parses a duration that may include calendar months and years, which have no fixed number of
/// days. Returns the number of months, with a year counted as twelve, and the part of the duration
/// that has a fixed length. Rejects the unit `m`, which could mean either months or minutes.
pub fn calendar(text: &str) -> Result<(u32, Duration), DurationError> {
    let parts = parts(text)?;
    if parts.name("m").is_some() {
        return Err(DurationError::Ambiguous);
    }
    sum(&parts)
}

/// Returns the numbers in the text as capture groups named after their units.
fn parts(text: &str) -> Result<Captures<'_>, DurationError> {
    SPAN.captures(text).filter(|_| !text.is_empty()).ok_or(DurationError::Malformed)
}

fn sum(parts: &Captures<'_>) -> Result<(u32, Duration), DurationError> {
    // Adds the number of units that the text names. Returns `None` if the duration is too long.
    let add = |(all_months, time): (u32, Duration), (unit, months, millis): (&str, u64, u64)| {
        let Some(number) = parts.name(unit) else { return Some((all_months, time)) };
        // The captured text consists of digits, so parsing can fail only if the number is too
        // large.
        let number: u64 = number.as_str().parse().ok()?;
        let months = u32::try_from(number.checked_mul(months)?).ok()?;
        let more = Duration::from_millis(number.checked_mul(millis)?);
        Some((all_months.checked_add(months)?, time.checked_add(more)?))
    };
    UNITS.into_iter().try_fold((0, Duration::ZERO), add).ok_or(DurationError::TooLong)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{DurationError, FixedSpan, calendar};

    fn fixed(text: &str) -> Result<Duration, DurationError> {
        text.parse().map(|FixedSpan(time)| time)
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn every_fixed_unit_is_read() {
        for (text, expected) in [
            ("0s", seconds(0)),
            ("90s", seconds(90)),
            ("5m", seconds(300)),
            ("5min", seconds(300)),
            ("1h", seconds(3_600)),
            ("1d", seconds(86_400)),
            ("2w", seconds(14 * 86_400)),
            ("250ms", Duration::from_millis(250)),
            ("1w2d3h4min5s6ms", Duration::from_millis(788_645_006)),
            ("1h30m", seconds(5_400)),
        ] {
            assert_eq!(fixed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_fixed_time_is_shown_in_its_largest_unit() {
        for (time, shown) in [
            (seconds(300), "5m"),
            (seconds(90), "90s"),
            (seconds(3_600), "1h"),
            (seconds(86_400), "1d"),
            (seconds(0), "0s"),
            (Duration::from_millis(250), "250ms"),
        ] {
            assert_eq!(FixedSpan(time).to_string(), shown);
            assert_eq!(fixed(shown), Ok(time));
            assert_eq!(serde_json::json!(FixedSpan(time)), shown);
        }
    }

    #[test]
    fn months_and_years_are_those_of_the_calendar() {
        let span = |months: u32, hours: u64| Ok((months, seconds(3_600 * hours)));
        assert_eq!(calendar("1y6mo"), span(18, 0));
        assert_eq!(calendar("14d"), span(0, 336));
        assert_eq!(calendar("2y1mo3d4h"), span(25, 76));
        assert_eq!(calendar("1w"), span(0, 168));
        assert_eq!(calendar("60min"), span(0, 1));
        for text in ["1mo", "1y", "1y2d"] {
            assert_eq!(fixed(text), Err(DurationError::NotFixed), "{text}");
        }
    }

    #[test]
    fn a_bare_m_is_minutes_or_refused_but_never_months() {
        assert_eq!(fixed("1m"), Ok(seconds(60)));
        for text in ["1m", "1y6m", "2h30m"] {
            assert_eq!(calendar(text), Err(DurationError::Ambiguous), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in [
            "", "7", "d", "m", "-1d", "1.5d", "1d1d", "1h1d", "1min1m", "1 d", " 1d", "5é", "1é",
            "1M", "1months", "١d", "5", "-5m", "1.5h", "5 m", "5 weeks",
        ] {
            assert_eq!(fixed(text), Err(DurationError::Malformed), "{text}");
            assert_eq!(calendar(text), Err(DurationError::Malformed), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_too_long() {
        for text in
            ["99999999999999999999d", "18446744073709551615w", "18446744073709551615s1000ms"]
        {
            assert_eq!(fixed(text), Err(DurationError::TooLong), "{text}");
        }
        for text in ["4294967295y", "4294967296mo", "1y4294967295mo"] {
            assert_eq!(calendar(text), Err(DurationError::TooLong), "{text}");
        }
        assert!(calendar("4294967295mo").is_ok());
    }
}
