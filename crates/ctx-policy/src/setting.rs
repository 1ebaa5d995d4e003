//! The types of the settings: how each is read from a file and from the
//! environment, and how it is shown.

#[cfg(test)]
mod tests;

use std::time::Duration;

use ctx_select::parse_count;
use ctx_select::prune::Rule;
use ctx_select::share::Share;
use ctx_tokens::Encoding;
use ctx_transcript::SummaryRole;
use serde_json::Value;

/// A type that a setting may have.
pub(crate) trait Setting: Clone + Sized {
    /// What is expected, as in "expected …".
    fn wanted() -> String;
    /// A value of a configuration file.
    fn read(value: &Value) -> Option<Self>;
    /// A value of the environment.
    fn parse(text: &str) -> Option<Self>;
    /// As a configuration file would say it.
    fn show(&self) -> Value;
}

impl Setting for bool {
    fn wanted() -> String {
        "true or false".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_bool()
    }

    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Some(true),
            "false" | "0" | "no" | "off" => Some(false),
            _ => None,
        }
    }

    fn show(&self) -> Value {
        (*self).into()
    }
}

impl Setting for u64 {
    fn wanted() -> String {
        "a whole number, 0 or more".to_owned()
    }

    /// JSON knows one kind of number only: 8000.0 is 8000.
    fn read(value: &Value) -> Option<Self> {
        value.as_u64().or_else(|| {
            let number = value.as_f64()?;
            let is_exact = number.fract() == 0.0 && (0.0..9e15).contains(&number);
            is_exact.then(|| format!("{number:.0}").parse().ok())?
        })
    }

    fn parse(text: &str) -> Option<Self> {
        parse_count(text).ok()
    }

    fn show(&self) -> Value {
        (*self).into()
    }
}

/// A factor.
impl Setting for f64 {
    fn wanted() -> String {
        "a number from 1 to 10".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        value
            .as_f64()
            .filter(|factor| (1.0..=10.0).contains(factor))
    }

    fn parse(text: &str) -> Option<Self> {
        Self::read(&text.parse::<Self>().ok()?.into())
    }

    fn show(&self) -> Value {
        (*self).into()
    }
}

impl Setting for Share {
    fn wanted() -> String {
        "a share such as 0.8, above 0 and up to 1".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Self::try_from(number.as_f64()?).ok(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn show(&self) -> Value {
        serde_json::from_str(&self.to_string()).unwrap_or_default()
    }
}

/// Spans of time are written with their unit.
impl Setting for Duration {
    fn wanted() -> String {
        "a time such as 30s, 5m or 1h".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let unit = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = text[..unit].parse().ok()?;
        let seconds = match text[unit..].trim() {
            "ms" => return Some(Self::from_millis(number)),
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 86_400,
            _ => return None,
        };
        number.checked_mul(seconds).map(Self::from_secs)
    }

    fn show(&self) -> Value {
        let seconds = self.as_secs();
        if self.subsec_millis() > 0 {
            return format!("{}ms", self.as_millis()).into();
        }
        let units = [("d", 86_400), ("h", 3_600), ("m", 60)];
        let whole = units
            .into_iter()
            .find(|(_, unit)| seconds > 0 && seconds.is_multiple_of(*unit));
        let (name, unit) = whole.unwrap_or(("s", 1));
        format!("{}{name}", seconds / unit).into()
    }
}

impl Setting for String {
    fn wanted() -> String {
        "a text".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_str().map(str::to_owned)
    }

    fn parse(text: &str) -> Option<Self> {
        Some(text.to_owned())
    }

    fn show(&self) -> Value {
        self.as_str().into()
    }
}

impl Setting for Encoding {
    fn wanted() -> String {
        let names = Self::ALL.map(|encoding| encoding.to_string());
        format!("one of {}", names.join(", "))
    }

    fn read(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn show(&self) -> Value {
        self.to_string().into()
    }
}

/// What pruning may be asked to drop.
const NEEDLESS: [Rule; 5] = [
    Rule::Reasoning,
    Rule::Empty,
    Rule::Noise,
    Rule::Superseded,
    Rule::Duplicates,
];

impl Setting for Rule {
    fn wanted() -> String {
        format!("one of {}", NEEDLESS.map(Self::as_str).join(", "))
    }

    fn read(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    fn parse(text: &str) -> Option<Self> {
        NEEDLESS.into_iter().find(|rule| rule.as_str() == text)
    }

    fn show(&self) -> Value {
        self.as_str().into()
    }
}

/// The roles that a summary may have.
impl Setting for SummaryRole {
    fn wanted() -> String {
        "one of user, assistant, system".to_owned()
    }

    fn read(value: &Value) -> Option<Self> {
        Self::parse(value.as_str()?)
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "system" => Some(Self::System),
            _ => None,
        }
    }

    fn show(&self) -> Value {
        match self {
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::User => "user",
        }
        .into()
    }
}

/// What can be switched off, with `false` or `"off"`.
impl<T: Setting> Setting for Option<T> {
    fn wanted() -> String {
        format!("{}; or false for none", T::wanted())
    }

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(false) => Some(None),
            Value::String(text) if text.is_empty() || text == "off" => Some(None),
            value => T::read(value).map(Some),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            "off" | "false" => Some(None),
            text => T::parse(text).map(Some),
        }
    }

    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Bool(false), T::show)
    }
}

/// A list; in the environment its items stand between commas.
impl<T: Setting> Setting for Vec<T> {
    fn wanted() -> String {
        format!("a list, each item {}", T::wanted())
    }

    fn read(value: &Value) -> Option<Self> {
        value.as_array()?.iter().map(T::read).collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let items = text.split(',').map(str::trim);
        items
            .filter(|item| !item.is_empty())
            .map(T::parse)
            .collect()
    }

    fn show(&self) -> Value {
        self.iter().map(T::show).collect()
    }
}
