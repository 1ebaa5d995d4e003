//! The policies inside.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use crate::config::{Foreign, parse_toml, read_own};
use crate::layer::Layer;
use crate::policy::Policy;

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
    let config = read_own(tree(name)?).expect("a preset is valid: a test reads them all");
    Some(config.layer)
}

/// The systems whose configuration files are read, by the names of their presets.
pub(crate) fn foreign() -> Vec<(&'static str, Foreign)> {
    let of = |name| {
        let foreign = Foreign::deserialize(tree(name)?.get("configuration")?);
        Some((
            name,
            foreign.expect("a preset is valid: a test reads them all"),
        ))
    };
    names().filter_map(of).collect()
}

fn tree(name: &str) -> Option<Value> {
    Some(parse_toml(source(name)?).expect("a preset is TOML: a test reads them all"))
}

/// What the summaries of the presets begin with.
pub fn headers() -> &'static [String] {
    static HEADERS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let header = |name| Some(tree(name)?["summary"]["header"].as_str()?.to_owned());
        names().filter_map(header).collect()
    });
    &HEADERS
}

/// A preset over what is built in.
pub fn preset(name: &str) -> Option<Policy> {
    Some(Policy::default().layer(&layer(name)?))
}

#[cfg(test)]
mod tests {
    use super::{foreign, names, preset, source};
    use crate::config::read_own;
    use crate::layer::settings;

    #[test]
    fn presets_are_valid_to_the_last_key() {
        for name in names() {
            let config = read_own(super::tree(name).expect(name)).expect(name);
            assert_eq!(config.warnings, [], "{name}");
            assert_eq!(config.preset, None, "a preset is whole");
            assert_eq!(preset(name).expect(name).name, name);
        }
    }

    #[test]
    fn what_other_systems_say_is_said_of_settings() {
        let foreign = foreign();
        let names: Vec<&str> = foreign.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["openclaw", "pomelobot", "sanbot", "xopcbot"]);
        for (name, foreign) in foreign {
            for key in foreign.settings() {
                assert!(settings().iter().any(|known| known == key), "{name}: {key}");
            }
        }
    }

    #[test]
    fn other_names_are_none() {
        assert_eq!(source("sanbots"), None);
        assert_eq!(preset(""), None);
    }
}
