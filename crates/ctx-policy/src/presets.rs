//! The presets embedded in the program.

use std::sync::LazyLock;

use serde_json::Value;

use crate::layer::{Layer, embedded, parse_toml};
use crate::policy::Policy;

macro_rules! sources {
    ($($name:literal,)*) => {
        [$(($name, include_str!(concat!("../../../presets/", $name, ".toml")))),*]
    };
}

const SOURCES: [(&str, &str); 7] =
    sources!["default", "openclaw", "pomelobot", "sanbot", "synapse", "turns", "xopcbot",];

/// Returns the names of the presets.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(name, _)| *name)
}

/// Returns the text of a preset, including its comments.
pub fn source(name: &str) -> Option<&'static str> {
    SOURCES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Returns the settings of a preset as a layer.
pub fn layer(name: &str) -> Option<Layer> {
    // A test reads all presets, so the settings are valid.
    Some(Layer(tree(name)?))
}

pub(crate) fn tree(name: &str) -> Option<Value> {
    Some(embedded(source(name)?))
}

/// Returns the summary headers that the presets set.
///
/// Every tool that recognizes summaries needs the headers when it starts. Only the header lines are
/// parsed, because parsing whole presets would take longer than the rest of the startup.
pub fn headers() -> &'static [String] {
    static HEADERS: LazyLock<Vec<String>> =
        LazyLock::new(|| SOURCES.iter().map(|(_, text)| *text).filter_map(header).collect());
    &HEADERS
}

fn header(preset: &str) -> Option<String> {
    let line = preset.lines().find(|line| line.starts_with("header ="))?;
    let value = parse_toml(line).expect("a test checks that all presets are valid");
    value["header"].as_str().map(str::to_owned)
}

impl Policy {
    /// Returns the policy's name if a preset has that name.
    pub fn preset(&self) -> Option<&'static str> {
        names().find(|name| *name == self.name)
    }
}

/// Returns the policy of a preset. Settings missing from the preset have their built-in values.
pub fn preset(name: &str) -> Option<Policy> {
    Some(Policy::of(&layer(name)?).expect("all values in a layer are valid"))
}

#[cfg(test)]
mod tests {
    use super::{header, layer, names, preset, source, tree};
    use crate::layer::Layer;

    #[test]
    fn presets_are_valid_to_the_last_key() {
        for name in names() {
            let (read, unknown) = Layer::read(&tree(name).expect(name)).expect(name);
            assert_eq!(Some(read), layer(name), "{name}");
            // No preset has unknown keys or is based on another preset.
            assert_eq!(unknown, [""; 0], "{name}");
            assert_eq!(preset(name).expect(name).name, name);
        }
    }

    #[test]
    fn headers_are_those_of_the_presets() {
        for name in names() {
            let whole = preset(name).expect(name).summary.header;
            assert_eq!(header(source(name).expect(name)), whole, "{name}");
        }
    }

    #[test]
    fn other_names_are_none() {
        assert_eq!(source("sanbots"), None);
        assert_eq!(preset(""), None);
    }
}
