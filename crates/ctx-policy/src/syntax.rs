//! The text of a configuration file to a tree of values.

use serde_json::Value;

use crate::error::ConfigError;

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

/// Whether a text is JSON5; `name`, the file's, is asked where the text says nothing.
pub(crate) fn is_json(text: &str, name: Option<&str>) -> bool {
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

pub(crate) fn parse_json5(text: &str) -> Result<Value, ConfigError> {
    let syntax =
        |line, why: &str| ConfigError::Syntax { format: "JSON5", line, why: why.to_owned() };
    if is_too_deep(text) {
        return Err(syntax(None, "nested too deeply"));
    }
    let value: Value = json5::from_str(text).map_err(|error| {
        let line = error.position().map(|at| at.line as u64 + 1);
        let why = error.code().map_or_else(|| error.to_string(), |code| code.to_string());
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
