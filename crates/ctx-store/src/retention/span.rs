//! Spans of time as people write them: `1y6m`, `14d`, `36h`.

use std::str::FromStr;

use chrono::{DateTime, Months, TimeDelta, Utc};

/// Years and months are those of the calendar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    months: u32,
    hours: u32,
}

impl Span {
    /// Whether it is no time at all.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// So long before `time`; the beginning of time at the most.
    pub fn before(&self, time: DateTime<Utc>) -> DateTime<Utc> {
        time.checked_sub_months(Months::new(self.months))
            .and_then(|time| time.checked_sub_signed(TimeDelta::hours(i64::from(self.hours))))
            .unwrap_or(DateTime::<Utc>::MIN_UTC)
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text).ok_or_else(|| "expected a span such as 1y6m, 14d or 36h".to_owned())
    }
}

fn parse(text: &str) -> Option<Span> {
    let mut span = Span::default();
    let mut rest = text;
    let mut units = "ymdh";
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u32 = rest[..end].parse().ok()?;
        let unit = rest[end..].chars().next()?;
        // Each unit once, the larger ones first.
        units = &units[units.find(unit)? + 1..];
        match unit {
            'y' => span.months = number.checked_mul(12)?,
            'm' => span.months = span.months.checked_add(number)?,
            'd' => span.hours = number.checked_mul(24)?,
            _ => span.hours = span.hours.checked_add(number)?,
        }
        rest = &rest[end + 1..];
    }
    (!text.is_empty()).then_some(span)
}

#[cfg(test)]
mod tests {
    use super::Span;

    #[test]
    fn spans_are_read() {
        let span = |months, hours| Ok(Span { months, hours });
        assert_eq!("1y6m".parse(), span(18, 0));
        assert_eq!("14d".parse(), span(0, 336));
        assert_eq!("2y1m3d4h".parse(), span(25, 76));
        for bad in [
            "",
            "7",
            "d",
            "-1d",
            "1.5d",
            "1d1d",
            "1h1d",
            "1w",
            "1 d",
            "99999999999d",
            "4294967295y",
            "1é",
        ] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        let at = |text: &str| {
            text.parse::<chrono::DateTime<chrono::Utc>>()
                .expect("a time")
        };
        let span: Span = "1m".parse().expect("a span");
        assert_eq!(
            span.before(at("2026-03-31T12:00:00Z")),
            at("2026-02-28T12:00:00Z")
        );
        let span: Span = "4000000m".parse().expect("a span");
        assert!(span.before(at("2026-03-31T12:00:00Z")) < at("0001-01-01T00:00:00Z"));
    }
}
