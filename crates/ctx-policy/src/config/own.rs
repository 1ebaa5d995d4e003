//! Our own configuration: a policy, or a part of one.

use serde_json::{Map, Value};

use super::{Config, Shape};
use crate::error::{ConfigError, Warning};
use crate::policy::Layer;
use crate::section::{Source, full_key};
use crate::setting::Setting;

/// Names the preset that a file builds on.
const PRESET: &str = "preset";

/// Reads TOML with the tables of a policy.
pub(crate) fn read_own(text: &str) -> Result<Config, ConfigError> {
    read_tables(&parse_toml(text)?)
}

/// The tables of a policy, from whatever they were written in.
pub(super) fn read_tables(root: &Map<String, Value>) -> Result<Config, ConfigError> {
    let mut tables = Tables(root);
    Ok(Config {
        shape: Shape::Own,
        preset: tables.get("", PRESET)?,
        layer: Layer::read(&mut tables)?,
        warnings: unknown(root),
    })
}

/// Whether one of our keys is there.
pub(super) fn is_own(root: &Map<String, Value>) -> bool {
    root.keys().any(|key| key == PRESET || is_known(key))
}

pub(super) fn parse_toml(text: &str) -> Result<Map<String, Value>, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::Syntax {
        format: "TOML",
        line: error.span().map(|span| line_of(text, span.start)),
        why: error.message().to_owned(),
    })
}

fn line_of(text: &str, at: usize) -> u64 {
    let before = text.as_bytes().iter().take(at);
    before.filter(|byte| **byte == b'\n').count() as u64 + 1
}

struct Tables<'v>(&'v Map<String, Value>);

impl Source for Tables<'_> {
    fn get<T: Setting>(&mut self, section: &str, key: &str) -> Result<Option<T>, ConfigError> {
        let table = match self.0.get(section) {
            _ if section.is_empty() => self.0,
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Object(table)) => table,
            Some(other) => return Err(ConfigError::wrong(section, "a table", other)),
        };
        let Some(value) = table.get(key).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        match T::read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::wrong(
                &full_key(section, key),
                T::wanted(),
                value,
            )),
        }
    }
}

/// Whether a key at the top of the file means something.
fn is_known(key: &str) -> bool {
    Layer::has("general", key) || is_table(key)
}

fn is_table(key: &str) -> bool {
    Layer::SECTIONS
        .iter()
        .any(|(name, _)| *name == key && *name != "general")
}

fn unknown(root: &Map<String, Value>) -> Vec<Warning> {
    let mut found: Vec<String> = root
        .keys()
        .filter(|key| *key != PRESET && !is_known(key))
        .cloned()
        .collect();
    for (name, table) in root.iter().filter(|(name, _)| is_table(name)) {
        let keys = table.as_object().into_iter().flat_map(Map::keys);
        let strange = keys.filter(|key| !Layer::has(name, key));
        found.extend(strange.map(|key| full_key(name, key)));
    }
    found.into_iter().map(Warning::Unknown).collect()
}
