//! Configuration files: our own, and those of the systems that the presets are
//! made after.

mod claw;
mod foreign;
mod own;
mod pomelobot;
mod sanbot;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

use crate::error::{ConfigError, Warning};
use crate::policy::Layer;

pub(crate) use own::read_own;

/// Whose settings a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Ours, in TOML or JSON5.
    Own,
    /// JSON under `compaction`.
    Sanbot,
    /// JSONC under `agent.compaction`.
    Pomelobot,
    /// JSON5 under `agents.defaults`: `compaction` and `pruning`.
    Xopcbot,
    /// JSON5 under `agents.defaults`: `compaction` and `contextPruning`.
    Openclaw,
}

impl Shape {
    /// The preset with the defaults of what such a file leaves out.
    pub fn preset(self) -> Option<&'static str> {
        match self {
            Self::Own => None,
            Self::Sanbot => Some("sanbot"),
            Self::Pomelobot => Some("pomelobot"),
            Self::Xopcbot => Some("xopcbot"),
            Self::Openclaw => Some("openclaw"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.preset().unwrap_or("ctx-tools"))
    }
}

/// What a configuration file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whose settings they are.
    pub shape: Shape,
    /// The preset that it builds on: the one it names, or the one of its shape.
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
        return read_own(text);
    }
    let root = parse_json5(text)?;
    let has = |path: &[&str]| table_at(&root, path).is_some();
    let shapes: [(&str, bool, Reader); 4] = [
        ("a table of ctx-tools", own::is_own(&root), own::read_tables),
        (sanbot::AT, has(&[sanbot::AT]), sanbot::read),
        (
            "agent.compaction",
            has(&["agent", "compaction"]),
            pomelobot::read,
        ),
        ("agents.defaults", claw::is_claw(&root), claw::read),
    ];
    let mut found = shapes.into_iter().filter(|(_, is_there, _)| *is_there);
    let (_, _, read) = found.next().ok_or(ConfigError::NoSettings)?;
    let mut config = read(&root)?;
    config
        .warnings
        .extend(found.map(|(what, ..)| Warning::Shadowed(what.to_owned())));
    Ok(config)
}

type Reader = fn(&Map<String, Value>) -> Result<Config, ConfigError>;

/// The value at a path of tables.
fn table_at<'v>(root: &'v Map<String, Value>, path: &[&str]) -> Option<&'v Value> {
    let (last, tables) = path.split_last()?;
    let mut table = root;
    for name in tables {
        table = table.get(*name)?.as_object()?;
    }
    table.get(*last).filter(|value| !value.is_null())
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

fn parse_json5(text: &str) -> Result<Map<String, Value>, ConfigError> {
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
    match value {
        Value::Object(root) => Ok(root),
        other => Err(ConfigError::wrong("the file", "an object", &other)),
    }
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
