//! A span of time, written with its unit.

use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) const WANTED: &str = "a time such as 30s, 5m or 1h";

const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let span = <&str>::deserialize(deserializer).ok().and_then(parse);
        span.map(Self).ok_or_else(|| D::Error::custom(WANTED))
    }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    let span = Option::<Span>::deserialize(deserializer)?;
    Ok(span.map(|Span(span)| span))
}

#[allow(clippy::ref_option, reason = "serde asks for it so")]
pub(crate) fn serialize<S: Serializer>(
    span: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    span.map(show).serialize(serializer)
}

fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let number: u64 = text[..unit].parse().ok()?;
    let unit = text[unit..].trim();
    if unit == "ms" {
        return Some(Duration::from_millis(number));
    }
    let (_, seconds) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// In the largest unit of which it is a whole number.
fn show(span: Duration) -> String {
    let seconds = span.as_secs();
    if span.subsec_millis() > 0 {
        return format!("{}ms", span.as_millis());
    }
    let is_whole = |unit: &u64| seconds > 0 && seconds.is_multiple_of(*unit);
    let whole = UNITS.into_iter().find(|(_, unit)| is_whole(unit));
    let (name, unit) = whole.unwrap_or(("s", 1));
    format!("{}{name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use super::{parse, show};

    #[test]
    fn times_have_a_unit() {
        for (text, seconds, shown) in [
            ("5m", 300, "5m"),
            ("300s", 300, "5m"),
            ("90s", 90, "90s"),
            ("1h", 3_600, "1h"),
            ("24h", 86_400, "1d"),
            ("0s", 0, "0s"),
        ] {
            let time = parse(text).expect(text);
            assert_eq!(time.as_secs(), seconds, "{text}");
            assert_eq!(show(time), shown);
        }
        assert_eq!(show(parse("250ms").expect("ms")), "250ms");
        for bad in ["", "5", "m", "5 weeks", "-5m", "99999999999999999999h"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
