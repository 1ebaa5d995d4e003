//! Parses times in every format that records contain or users may type.

use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use ctx_format::Object;

/// A point in time, parsed from any format that occurs in records or that users may type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub DateTime<Utc>);

impl FromStr for Time {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let with_zone = || text.parse::<DateTime<Utc>>().ok();
        let without = || text.parse::<NaiveDateTime>().ok().map(|time| time.and_utc());
        let number = || text.parse::<f64>().ok().and_then(since_epoch);
        with_zone()
            .or_else(without)
            .or_else(number)
            .map(Self)
            .ok_or("expected a time such as 2025-01-31T12:00:00Z or a number of seconds since 1970")
    }
}

impl Time {
    /// Returns the timestamp of a record, if it has one.
    pub fn of(object: &Object<'_>) -> Option<Self> {
        const KEYS: [&str; 6] = ["timestamp", "created_at", "createdAt", "created", "time", "ts"];
        let value = |key| object.get(key).map(|raw| object.text_of(key).unwrap_or(raw.into()));
        let named = KEYS.into_iter().find_map(|key| value(key)?.parse().ok());
        named.or_else(|| object.time().map(Self))
    }

    /// Returns the date of this time in UTC.
    pub fn date(self) -> NaiveDate {
        self.0.date_naive()
    }
}

/// Interprets a number as seconds since 1970, or as milliseconds if that many seconds would be
/// thousands of years.
#[allow(clippy::cast_possible_truncation)] // The cast saturates; such times are rejected.
fn since_epoch(number: f64) -> Option<DateTime<Utc>> {
    const MILLISECONDS_FROM: f64 = 1e11;
    let milliseconds = if number >= MILLISECONDS_FROM { number } else { number * 1e3 };
    DateTime::from_timestamp_millis(milliseconds as i64)
}

#[cfg(test)]
mod tests {
    use ctx_format::Object;

    use super::Time;

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn times_are_read_in_several_forms() {
        for text in [
            "2025-01-01T01:00:00+01:00",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00.000Z",
            "1735689600",
            "1735689600.0",
            "1735689600000",
        ] {
            assert_eq!(time(text), time("2025-01-01T00:00:00Z"), "{text}");
        }
        for bad in ["", "yesterday", "NaNs", "null"] {
            assert!(bad.parse::<Time>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_record_tells_its_time() {
        let of = |text| Time::of(&Object::parse(text).expect("an object"));
        let record = r#"{"timestamp":"never","ts":1735689600}"#;
        assert_eq!(of(record), Some(time("2025-01-01T00:00:00Z")));
        assert_eq!(of(record).map(|it| it.date().to_string()).as_deref(), Some("2025-01-01"));
        assert_eq!(of("{}"), None);
    }
}
