//! Configuration files: our own, and those of the systems that the presets are
//! made after.

mod foreign;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;

use self::foreign::Foreign;
use crate::error::{ConfigError, Warning};
use crate::layer::{Layer, is_json, parse_json5, parse_toml, settings};
use crate::presets::{names, tree};

/// Names the preset that a file builds on.
const PRESET: &str = "preset";

/// The content of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The preset that it builds on: the one it names, or the one of its system.
    pub preset: Option<String>,
    /// The settings of the policy.
    pub layer: Layer,
    /// Settings without effect.
    pub warnings: Vec<Warning>,
}

/// Reads a configuration file of any format.
///
/// The beginning of its text decides between TOML and JSON5 (which includes JSON and JSON with
/// comments); if it does not, `name`, the file's, does. Keys that only one system has decide the
/// system; without them, `preset` does, if given.
pub fn read_config(
    text: &str,
    name: Option<&str>,
    preset: Option<&str>,
) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !is_json(text, name) {
        return read_own(parse_toml(text)?);
    }
    let root = parse_json5(text)?;
    let is_own = is_own(&root);
    let known = systems();
    let signs = known.iter().filter_map(|system| Some((system.sign(&root)?, system)));
    let mut signs: Vec<_> = signs.collect();
    if signs.is_empty() && !is_own {
        signs.extend(by_tables(&known, &root, preset)?);
    }
    // If several fit, the one with its tables nearest to the root wins.
    signs.sort_by_key(|(_, system)| system.depth());
    let mut config = match signs.first() {
        _ if is_own => read_own(root.clone())?,
        Some((_, system)) => {
            let system = *system;
            signs.remove(0);
            signs.retain(|(sign, _)| !system.reads(sign));
            let (layer, warnings) = system.read(&root)?;
            Config { preset: Some(system.name.to_owned()), layer, warnings }
        }
        None => return Err(ConfigError::NoSettings),
    };
    let others = signs.iter().map(|(sign, _)| (*sign).to_owned());
    config.warnings.extend(others.map(Warning::Shadowed));
    Ok(config)
}

/// A system, with the key that shows it.
type Signed<'s> = (&'s str, &'s Foreign);

/// The one system that has such tables, or the one of several that is named.
fn by_tables<'s>(
    known: &'s [Foreign],
    root: &Value,
    preset: Option<&str>,
) -> Result<Option<Signed<'s>>, ConfigError> {
    let systems = known.iter();
    let systems = systems.filter_map(|system| Some((system.table_in(root)?, system)));
    let all: Vec<Signed<'_>> = systems.collect();
    let named = all.iter().find(|(_, system)| Some(system.name) == preset);
    match (named, all.as_slice()) {
        (Some(named), _) => Ok(Some(*named)),
        (None, []) => Ok(None),
        (None, [one]) => Ok(Some(*one)),
        (None, [(table, _), ..]) if root.get(*table).is_some_and(|found| !found.is_object()) => {
            Err(ConfigError::wrong(table, "a table", &root[*table]))
        }
        (None, all) => {
            let systems: Vec<&str> = all.iter().map(|(_, system)| system.name).collect();
            Err(ConfigError::Ambiguous(systems.join(", ")))
        }
    }
}

/// The systems whose configuration files are read.
fn systems() -> Vec<Foreign> {
    let of = |name| {
        let foreign = Foreign::deserialize(tree(name)?.get("configuration")?);
        let mut foreign: Foreign = foreign.expect("a preset is valid: a test reads them all");
        foreign.name = name;
        Some(foreign)
    };
    names().filter_map(of).collect()
}

/// Whether one of our keys is there.
fn is_own(root: &Value) -> bool {
    let known = settings();
    let is_ours = |key: &String| {
        let mut tables = known.iter().map(|known| known.split('.').next());
        key == PRESET || tables.any(|known| known == Some(key))
    };
    root.as_object().is_some_and(|root| root.keys().any(is_ours))
}

/// The tables of a policy, or of a part of one.
fn read_own(mut root: Value) -> Result<Config, ConfigError> {
    let preset = root.as_object_mut().and_then(|root| root.remove(PRESET));
    let preset = match preset {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(ConfigError::wrong(PRESET, "a text", &other)),
    };
    let (layer, unknown) = Layer::read(&root)?;
    Ok(Config { preset, layer, warnings: unknown.into_iter().map(Warning::Unknown).collect() })
}
