//! Configuration files: our own, and those of the systems that the presets are
//! made after.

mod foreign;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::error::{ConfigError, Warning};
use crate::layer::{Layer, settings};
use crate::presets;

pub(crate) use foreign::Foreign;

/// Names the preset that a file builds on.
const PRESET: &str = "preset";

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The preset that it builds on: the one it names, or the one of its system.
    pub preset: Option<String>,
    /// What it says of a policy.
    pub layer: Layer,
    /// What in it has no effect.
    pub warnings: Vec<Warning>,
}

/// Reads a configuration file of any shape.
///
/// What its text begins with decides between TOML and JSON5 (which JSON and JSON
/// with comments are, too); `name`, the file's, is asked where that says nothing.
pub fn read_config(text: &str, name: Option<&str>) -> Result<Config, ConfigError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !is_json(text, name) {
        return read_own(parse_toml(text)?);
    }
    let root = parse_json5(text)?;
    let is_own = is_own(&root);
    let known = presets::foreign();
    let mut signs: Vec<_> = known
        .iter()
        .filter_map(|(name, foreign)| Some((foreign.sign(&root)?, name, foreign)))
        .collect();
    // Of several, the one goes first whose tables are nearest to the top.
    signs.sort_by_key(|(_, _, foreign)| foreign.depth());
    let (mut config, read) = match signs.first() {
        _ if is_own => (read_own(root.clone())?, None),
        Some((_, name, foreign)) => (foreign.read(name, &root)?, Some(foreign)),
        None => return Err(ConfigError::NoSettings),
    };
    let others = signs
        .iter()
        .skip(usize::from(!is_own))
        .map(|(sign, ..)| *sign);
    let others = others.filter(|sign| !read.is_some_and(|foreign| foreign.reads(sign)));
    let others = others.map(|sign| Warning::Shadowed(sign.to_owned()));
    config.warnings.extend(others);
    Ok(config)
}

/// Whether one of our keys is there.
fn is_own(root: &Value) -> bool {
    let known = settings();
    let is_ours = |key: &String| {
        let mut tables = known.iter().map(|known| known.split('.').next());
        key == PRESET || tables.any(|known| known == Some(key))
    };
    root.as_object()
        .is_some_and(|root| root.keys().any(is_ours))
}

/// The tables of a policy, or of a part of one.
pub(crate) fn read_own(mut root: Value) -> Result<Config, ConfigError> {
    let preset = root.as_object_mut().and_then(|root| root.remove(PRESET));
    let preset = match preset {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name),
        Some(other) => return Err(ConfigError::wrong(PRESET, "a text", &other)),
    };
    let (layer, unknown) = Layer::read(&root)?;
    Ok(Config {
        preset,
        layer,
        warnings: unknown.into_iter().map(Warning::Unknown).collect(),
    })
}

pub(crate) fn parse_toml(text: &str) -> Result<Value, ConfigError> {
    let line_of = |at: usize| {
        let before = text.as_bytes().iter().take(at);
        before.filter(|byte| **byte == b'\n').count() as u64 + 1
    };
    toml::from_str(text).map_err(|error| ConfigError::Syntax {
        format: "TOML",
        line: error.span().map(|span| line_of(span.start)),
        why: error.message().to_owned(),
    })
}

fn is_json(text: &str, name: Option<&str>) -> bool {
    let text = text.trim_start();
    let extension = name.and_then(|name| name.rsplit_once('.'));
    let says_json = extension.is_some_and(|(_, extension)| {
        ["json", "jsonc", "json5"].contains(&extension.to_ascii_lowercase().as_str())
    });
    text.starts_with(['{', '/']) || says_json
}

/// A configuration is not nested deeper than this; the parser of JSON5 has no
/// limit of its own, and would use up the stack.
const MAX_DEPTH: usize = 100;

fn parse_json5(text: &str) -> Result<Value, ConfigError> {
    let syntax = |line, why: &str| ConfigError::Syntax {
        format: "JSON5",
        line,
        why: why.to_owned(),
    };
    if is_too_deep(text) {
        return Err(syntax(None, "nested too deeply"));
    }
    let value: Value = json5::from_str(text).map_err(|error| {
        let line = error.position().map(|at| at.line as u64 + 1);
        let why = error
            .code()
            .map_or_else(|| error.to_string(), |code| code.to_string());
        syntax(line, &why)
    })?;
    if value.is_object() {
        return Ok(value);
    }
    Err(ConfigError::wrong("the file", "an object", &value))
}

/// Counts brackets in strings and comments, too: no configuration has a hundred
/// open ones there.
fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_DEPTH
    })
}
