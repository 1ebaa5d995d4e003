//! The presets, which are built into the program.

use std::sync::LazyLock;

use serde_json::Value;

use crate::layer::Layer;
use crate::policy::Policy;
use crate::syntax::parse_toml;

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
    let (layer, _) = Layer::read(&tree(name)?).expect("a preset is valid: a test reads them all");
    Some(layer)
}

pub(crate) fn tree(name: &str) -> Option<Value> {
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
    use super::{names, preset, source, tree};
    use crate::layer::Layer;

    #[test]
    fn presets_are_valid_to_the_last_key() {
        for name in names() {
            let (_, unknown) = Layer::read(&tree(name).expect(name)).expect(name);
            // Also none that names another preset: a preset is whole.
            assert_eq!(unknown, [""; 0], "{name}");
            assert_eq!(preset(name).expect(name).name, name);
        }
    }

    #[test]
    fn other_names_are_none() {
        assert_eq!(source("sanbots"), None);
        assert_eq!(preset(""), None);
    }
}
