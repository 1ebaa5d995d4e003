//! A span of time, written with its unit.

use std::time::Duration;

use ctx_select::duration::fixed;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const WANTED: &str = "a time such as 30s, 5m or 1h";

struct Span(Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&str>::deserialize(deserializer).ok();
        let span = text.and_then(|text| fixed(text).ok());
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

/// In the largest unit of which it is a whole number.
fn show(span: Duration) -> String {
    let seconds = span.as_secs();
    if span.subsec_millis() > 0 {
        return format!("{}ms", span.as_millis());
    }
    let units = [("d", 86_400), ("h", 3_600), ("m", 60)];
    let is_whole = |unit: &u64| seconds > 0 && seconds.is_multiple_of(*unit);
    let whole = units.into_iter().find(|(_, unit)| is_whole(unit));
    let (name, unit) = whole.unwrap_or(("s", 1));
    format!("{}{name}", seconds / unit)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::show;

    #[test]
    fn times_are_shown_with_a_unit() {
        for (seconds, shown) in [
            (300, "5m"),
            (90, "90s"),
            (3_600, "1h"),
            (86_400, "1d"),
            (0, "0s"),
        ] {
            assert_eq!(show(Duration::from_secs(seconds)), shown);
        }
        assert_eq!(show(Duration::from_millis(250)), "250ms");
    }
}
