//! Shares of a whole in exact decimal arithmetic, so that `0.8` means exactly 0.8.

use std::str::FromStr;

use derive_more::Display;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A share that is greater than 0 and at most 1, in millionths.
///
/// Shares are decimal because limits must be exact to the token: in binary floating point, `0.29 ×
/// 100` is a little less than 29.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display)]
#[display("{}", f64::from(*_0) / f64::from(ONE))]
pub struct Share(u32);

const ONE: u32 = 1_000_000;

/// The text is not a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a share such as 0.8 or 80%, above 0 and up to 1, with at most six decimals")]
pub struct NotAShare;

impl Share {
    /// The whole.
    pub const WHOLE: Self = Self(ONE);

    /// Returns the share that is `millionths` millionths of the whole.
    pub const fn of_millionths(millionths: u32) -> Result<Self, NotAShare> {
        if millionths == 0 || millionths > ONE {
            return Err(NotAShare);
        }
        Ok(Self(millionths))
    }

    /// Returns the share for a constant percentage from 1 to 100.
    pub const fn of_percent(percent: u8) -> Self {
        assert!(percent > 0 && percent <= 100, "the percentage is from 1 to 100");
        Self(percent as u32 * (ONE / 100))
    }

    /// Returns this share of `whole`, rounded down. Rounding makes no difference in comparisons: a
    /// whole number exceeds the exact product if and only if it exceeds the rounded product.
    pub fn of(self, whole: u64) -> u64 {
        let product = u128::from(whole) * u128::from(self.0) / u128::from(ONE);
        u64::try_from(product).expect("a share is at most the whole")
    }

    /// Returns true if `value` is at least this share of `whole`.
    pub fn is_reached(self, value: u64, whole: u64) -> bool {
        u128::from(value) * u128::from(ONE) >= u128::from(whole) * u128::from(self.0)
    }
}

impl FromStr for Share {
    type Err = NotAShare;

    /// Parses a share such as `0.8`, `.8`, `1` or `80%`.
    fn from_str(text: &str) -> Result<Self, NotAShare> {
        let percent = text.strip_suffix('%').map(|percent| (percent, 4));
        let (number, places) = percent.unwrap_or((text, 6));
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        let is_long = whole.len() > 3 || decimals.len() > places;
        if whole.len() + decimals.len() == 0 || is_long || !digits(whole) || !digits(decimals) {
            return Err(NotAShare);
        }
        Self::of_millionths(format!("{whole}{decimals:0<places$}").parse().map_err(|_| NotAShare)?)
    }
}

/// Deserializes a share from a number or a string.
impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => Some(text),
            // JSON would write a millionth as 1e-6, so format the number without an exponent.
            other => other.as_f64().map(|number| number.to_string()),
        };
        let share = text.and_then(|text| text.parse().ok());
        share.ok_or_else(|| D::Error::custom("a share such as 0.8, above 0 and up to 1"))
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / f64::from(ONE))
    }
}

/// The smallest and the largest valid share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, Display)]
#[display("a share from {_0} to {_1}")]
pub struct Bounds(Share, Share);

impl Bounds {
    /// Returns true if the value is within the bounds. A value that is not a share is also
    /// accepted, because it is rejected elsewhere.
    pub(crate) fn admit(self, value: &Value) -> bool {
        Share::deserialize(value).map_or(true, |share| (self.0..=self.1).contains(&share))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::F64Deserializer;

    use super::{NotAShare, Share};

    #[test]
    fn shares_are_read_and_written() {
        for (text, shown) in [
            ("0.8", "0.8"),
            (".75", "0.75"),
            ("1", "1"),
            ("1.000000", "1"),
            ("80%", "0.8"),
            ("12.5%", "0.125"),
            ("100%", "1"),
            ("0.000001", "0.000001"),
        ] {
            let share: Share = text.parse().expect("a share");
            assert_eq!(share.to_string(), shown);
        }
        for text in [
            "",
            ".",
            "%",
            "0",
            "0.0",
            "0%",
            "1.1",
            "101%",
            "80",
            "-0.5",
            "+0.5",
            "0.8x",
            "0,8",
            "1e-1",
            "0.0000001",
            "NaN",
        ] {
            assert_eq!(text.parse::<Share>(), Err(NotAShare), "{text}");
        }
    }

    #[test]
    fn numbers_of_a_configuration_are_shares() {
        let read = |number: f64| {
            let number: F64Deserializer<serde::de::value::Error> = number.into_deserializer();
            Share::deserialize(number)
        };
        assert_eq!(read(0.29), Ok("0.29".parse().expect("a share")));
        assert_eq!(read(1.0), Ok(Share::WHOLE));
        for bad in [0.0, -0.1, 1.01, f64::NAN, f64::INFINITY] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn products_are_those_of_decimal_numbers() {
        assert_eq!(Share::of_percent(29).of(100), 29);
        assert_eq!(Share::of_percent(80).of(128_000), 102_400);
        assert_eq!(Share::of_percent(75).of(7), 5);
        assert_eq!(Share::WHOLE.of(u64::MAX), u64::MAX);
        assert_eq!(Share::of_percent(50).of(0), 0);
    }
}
