//! Compaction policies as data.
//!
//! A [`Policy`] determines when a session is compacted, what is kept, and how the summary is made.
//! A policy is merged from layers: the built-in policy, a preset ([`preset`]), a configuration file
//! ([`read_config`]), the environment, and flags. Each layer contains only the settings that it
//! changes. If several layers contain a setting, the last one wins.
//!
//! This crate's functions take text and return data; they neither open files nor read environment
//! variables.

mod budget;
mod check;
mod config;
pub mod duration;
mod env;
mod error;
mod glob;
mod layer;
#[cfg(feature = "clap")]
mod overrides;
mod policy;
mod presets;
pub mod share;
pub mod trigger;
mod value;

pub use config::{Config, read_config};
pub use env::{assigned, environment, variable_of};
pub use error::{ConfigError, Warning};
pub use glob::{Glob, NotAGlob, ToolFilter};
pub use layer::{BUILT_IN, Layer, settings};
#[cfg(feature = "clap")]
pub use overrides::Overrides;
pub use policy::{
    Clear, Fallback, Keep, Method, Mode, Offload, Policy, Prune, Retention, Rule, SignedReasoning,
    Summary, Target, When,
};
pub use presets::{headers, layer, names, preset, source};
pub use share::Bounds;

/// Parses a count with an optional unit, such as `800`, `8k` (8,000) or `2M` (2,000,000).
pub fn parse_count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1_000),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(|| {
        let share = if text.ends_with('%') { ", not a percentage" } else { "" };
        format!("expected a number such as 800, 8k or 2M{share}")
    })
}

/// Parses a fraction from 0 to 1.
pub fn parse_fraction(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok();
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| "expected a share from 0 to 1, such as 0.3".to_owned())
}

#[cfg(test)]
mod tests {
    use super::{parse_count, parse_fraction};

    #[test]
    fn a_fraction_is_between_nothing_and_all() {
        for (text, number) in [("0", 0.0), ("0.3", 0.3), ("1", 1.0)] {
            assert_eq!(parse_fraction(text), Ok(number));
        }
        for bad in ["", "-0.1", "1.1", "NaN", "x"] {
            assert!(parse_fraction(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_take_units() {
        assert_eq!(parse_count("0"), Ok(0));
        assert_eq!(parse_count("8k"), Ok(8_000));
        assert_eq!(parse_count("2M"), Ok(2_000_000));
        for bad in ["", "k", "-1", "1.5k", "99999999999999999999", "18446744073709551615k"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }
}
