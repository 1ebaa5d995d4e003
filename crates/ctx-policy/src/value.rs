//! Reads the values of settings with serde. Errors tell the user which values are expected. The
//! value `false` turns off any optional setting.

#[cfg(test)]
mod tests;

use std::fmt::Display;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Number, Value};

/// Lists the words that a setting accepts: `a, b or c`.
pub(crate) fn alternatives(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// The error for a value that does not fit its setting.
#[derive(Debug, thiserror::Error)]
#[error("{wanted}")]
pub(crate) struct Unfit {
    /// The expected form of the value, phrased to follow the word "expected".
    pub(crate) wanted: String,
}

impl Error for Unfit {
    fn custom<T: Display>(wanted: T) -> Self {
        Self { wanted: wanted.to_string() }
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        // Replace serde's names for Rust types with words that users understand.
        Self::custom(match expected.to_string().as_str() {
            "a boolean" => "true or false",
            "a string" => "text",
            "a sequence" => "a list",
            "f64" => "a number",
            "u64" => "a whole number, 0 or more",
            other => other,
        })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_variant(_: &str, variants: &'static [&'static str]) -> Self {
        Self::custom(alternatives(variants))
    }
}

/// Deserializes a configuration value into the type of its setting.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'v>(pub(crate) &'v Value);

impl<'v> IntoDeserializer<'v, Unfit> for Reader<'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Unfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(yes) => visitor.visit_bool(*yes),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Number(number) => match (whole(number), number.as_f64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, number) => visitor.visit_f64(number.unwrap_or(f64::NAN)),
            },
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.iter().map(Self))),
            Value::Object(table) => visitor.visit_map(MapDeserializer::new(
                table.iter().map(|(key, value)| (key.as_str(), Self(value))),
            )),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let is_off = match self.0 {
            Value::Null | Value::Bool(false) => true,
            Value::String(text) => ["", "off", "false"].contains(&text.as_str()),
            _ => false,
        };
        if is_off {
            return visitor.visit_none();
        }
        let or_none = |unfit| Unfit::custom(format_args!("{unfit}; or false to turn it off"));
        visitor.visit_some(self).map_err(or_none)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        // If the value is not a list, read a list that contains null, so that the error describes
        // the expected items.
        const NO_ITEM: &[Value] = &[Value::Null];
        let items = self.0.as_array().map_or(NO_ITEM, Vec::as_slice);
        visitor
            .visit_seq(SeqDeserializer::new(items.iter().map(Self)))
            .map_err(|item| Unfit::custom(format_args!("a list in which each item is {item}")))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(StrDeserializer::new(word)),
            _ => Err(Unfit::unknown_variant("", words)),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct newtype_struct tuple tuple_struct map struct identifier ignored_any
    }
}

/// Returns the number if it is whole and not negative. JSON has only one number type, so 8000 may
/// also be written as 8000.0.
fn whole(number: &Number) -> Option<u64> {
    const EXACT: f64 = 9e15;
    number.as_u64().or_else(|| {
        let number = number.as_f64()?;
        let is_exact = number.fract() == 0.0 && (0.0..EXACT).contains(&number);
        is_exact.then(|| format!("{number:.0}").parse().ok())?
    })
}
