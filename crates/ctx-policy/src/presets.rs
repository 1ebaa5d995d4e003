//! The policies inside.

use crate::config::read_own;
use crate::policy::{Layer, Policy};

macro_rules! sources {
    ($($name:literal,)*) => {
        [$(($name, include_str!(concat!("../../../presets/", $name, ".toml")))),*]
    };
}

const SOURCES: [(&str, &str); 7] = sources![
    "default",
    "openclaw",
    "pomelobot",
    "sanbot",
    "synapse",
    "turns",
    "xopcbot",
];

/// The names of the presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(name, _)| *name)
}

/// A preset as it was written, with its comments.
pub fn source(name: &str) -> Option<&'static str> {
    let (_, text) = SOURCES.iter().find(|(known, _)| *known == name)?;
    Some(text)
}

/// What a preset says.
pub fn layer(name: &str) -> Option<Layer> {
    let config = read_own(source(name)?).expect("a preset is valid: a test reads them all");
    Some(config.layer)
}

/// A preset over what is built in.
pub fn preset(name: &str) -> Option<Policy> {
    Some(Policy::default().layer(&layer(name)?))
}

#[cfg(test)]
mod tests {
    use super::{names, preset, source};
    use crate::config::read_own;

    #[test]
    fn presets_are_valid_to_the_last_key() {
        for name in names() {
            let config = read_own(source(name).expect(name)).expect(name);
            assert_eq!(config.warnings, [], "{name}");
            assert_eq!(config.preset, None, "a preset is whole");
            assert_eq!(preset(name).expect(name).general.name, name);
        }
    }

    #[test]
    fn other_names_are_none() {
        assert_eq!(source("sanbots"), None);
        assert_eq!(preset(""), None);
    }
}
