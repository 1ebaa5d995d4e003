//! A span of time that ends at a given moment.

use std::time::Duration;

use chrono::{DateTime, Months, TimeDelta, Utc};

/// Months are those of the calendar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Whole months; a year is twelve of them.
    pub months: u32,
    /// What is added to the months.
    pub time: Duration,
}

impl Span {
    /// Whether it is no time at all.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    /// The moment that lies so long before `time`; the earliest that there is, where that
    /// would be earlier still.
    pub fn before(self, time: DateTime<Utc>) -> DateTime<Utc> {
        let rest = TimeDelta::from_std(self.time).ok();
        time.checked_sub_months(Months::new(self.months))
            .zip(rest)
            .and_then(|(time, rest)| time.checked_sub_signed(rest))
            .unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::Span;

    fn at(text: &str) -> chrono::DateTime<chrono::Utc> {
        text.parse().expect("a time")
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let months = |months| Span {
            months,
            ..Span::default()
        };
        assert_eq!(
            months(1).before(at("2026-03-31T12:00:00Z")),
            at("2026-02-28T12:00:00Z")
        );
        assert!(months(4_000_000).before(at("2026-03-31T12:00:00Z")) < at("0001-01-01T00:00:00Z"));
    }

    #[test]
    fn the_rest_is_taken_to_the_second() {
        let span = Span {
            months: 1,
            time: std::time::Duration::from_secs(90),
        };
        assert_eq!(
            span.before(at("2026-03-31T00:01:00Z")),
            at("2026-02-27T23:59:30Z")
        );
        let fortnight = Span {
            months: 0,
            time: std::time::Duration::from_secs(14 * 86_400),
        };
        assert_eq!(
            fortnight.before(at("2026-03-31T12:00:00Z")),
            at("2026-03-17T12:00:00Z")
        );
        let forever = Span {
            months: 0,
            time: std::time::Duration::MAX,
        };
        assert!(forever.before(at("2026-03-31T12:00:00Z")) < at("0001-01-01T00:00:00Z"));
    }
}
