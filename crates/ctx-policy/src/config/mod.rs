//! Reads configuration files: our own, and those of the systems that the presets imitate.

mod foreign;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;

use self::foreign::Foreign;
use crate::error::{ConfigError, Warning};
use crate::layer::{Layer, is_json, parse_json5, parse_toml, settings};
use crate::presets::{names, tree};

/// The key in a file that names the preset on which the file is based.
const PRESET: &str = "preset";

/// The content of a configuration file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The preset that the file is based on: the preset that the file names, or else the preset for
    /// the system to which the file belongs.
    pub preset: Option<String>,
    /// The settings in the file.
    pub layer: Layer,
    /// Warnings about keys that have no effect.
    pub warnings: Vec<Warning>,
}

/// Reads a configuration file of any format.
///
/// The format, TOML or JSON5, is recognized from the beginning of the text, or else from the file's
/// `name`. JSON5 includes JSON and JSON with comments. The system is recognized by a key that no
/// other system has, or else by its tables; if several systems have those tables, `preset` decides.
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
    // If several systems match, choose the one whose tables are closest to the root.
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
    config.warnings.extend(signs.iter().map(|(sign, _)| Warning::Shadowed((*sign).to_owned())));
    Ok(config)
}

/// The path of the key that identified a system, and the system.
type Signed<'s> = (&'s str, &'s Foreign);

/// Returns the system whose tables the file contains. If several systems match, returns the one
/// that `preset` names.
fn by_tables<'s>(
    known: &'s [Foreign],
    root: &Value,
    preset: Option<&str>,
) -> Result<Option<Signed<'s>>, ConfigError> {
    let systems = known.iter().filter_map(|system| Some((system.table_in(root)?, system)));
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

/// Returns the systems whose configuration files can be read.
fn systems() -> Vec<Foreign> {
    let of = |name| {
        let foreign = Foreign::deserialize(tree(name)?.get("configuration")?);
        let mut foreign: Foreign = foreign.expect("a test checks that all presets are valid");
        foreign.name = name;
        Some(foreign)
    };
    names().filter_map(of).collect()
}

/// Returns true if the file contains one of our own keys.
fn is_own(root: &Value) -> bool {
    let known = settings();
    let is_ours = |key: &String| {
        let mut tables = known.iter().map(|known| known.split('.').next());
        key == PRESET || tables.any(|known| known == Some(key))
    };
    root.as_object().is_some_and(|root| root.keys().any(is_ours))
}

/// Reads a configuration in our own format, which may contain any of a policy's tables.
fn read_own(mut root: Value) -> Result<Config, ConfigError> {
    let preset = root.as_object_mut().and_then(|root| root.remove(PRESET));
    let preset = match preset {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(ConfigError::wrong(PRESET, "text", &other)),
    };
    let (layer, unknown) = Layer::read(&root)?;
    Ok(Config { preset, layer, warnings: unknown.into_iter().map(Warning::Unknown).collect() })
}
