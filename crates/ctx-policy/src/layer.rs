//! Layers of settings. A layer contains the settings from a preset, a file, the environment or the
//! flags, in the structure of a configuration file. Layers are merged in order.

use std::sync::LazyLock;

use serde_json::Value;

use crate::{ConfigError, Policy};

/// The text of the file that lists every setting with its default value and an explanation.
pub const BUILT_IN: &str = include_str!("../../../presets/built-in.toml");

/// Tables in a preset whose keys are not settings, so any key is allowed.
const OPEN: [&str; 3] = ["environment", "bounds", "configuration"];

/// Settings with valid values. Settings that the layer does not set are missing or null.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer(pub(crate) Value);

impl Layer {
    #[cfg(test)]
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        find(&self.0, key)
    }

    /// Sets the value of a setting. If the value is invalid, the error describes valid values.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let mut tree = built_in().clone();
        put(&mut tree, key, value.clone());
        Policy::read(&tree)?;
        put(&mut self.0, key, value.clone());
        Ok(())
    }

    /// Reads a configuration in our own format. Returns the layer and the unknown keys.
    pub(crate) fn read(root: &Value) -> Result<(Self, Vec<String>), ConfigError> {
        let (mut layer, mut unknown) = (Self::default(), Vec::new());
        for (key, value) in said(root) {
            let table = key.split_once('.').map_or("", |(table, _)| table);
            match find(built_in(), &key) {
                Some(Value::Object(_)) => return Err(ConfigError::wrong(&key, "a table", value)),
                None if !OPEN.contains(&table) => unknown.push(key),
                _ => put(&mut layer.0, &key, value.clone()),
            }
        }
        if Policy::of(&layer).is_err() {
            // Find the first setting with an invalid value, to name it in the error.
            for (key, value) in said(&layer.0) {
                let set = Self::default().set(&key, value);
                set.map_err(|wanted| ConfigError::wrong(&key, wanted, value))?;
            }
        }
        Ok((layer, unknown))
    }

    fn lay_on(&self, mut tree: Value) -> Result<Policy, String> {
        for (key, value) in leaves(&self.0) {
            put(&mut tree, &key, value.clone());
        }
        Policy::read(&tree)
    }
}

impl Default for Policy {
    /// Returns the built-in policy.
    fn default() -> Self {
        Self::read(built_in()).expect("a test checks the built-in policy")
    }
}

impl Policy {
    /// Returns the built-in policy, overridden by the settings in `over`.
    pub(crate) fn of(over: &Layer) -> Result<Self, String> {
        over.lay_on(built_in().clone())
    }

    /// Returns this policy, overridden by the settings in `over`.
    #[must_use]
    pub fn layer(&self, over: &Layer) -> Self {
        if over.0.is_null() {
            return self.clone();
        }
        over.lay_on(self.to_json()).expect("all values in a layer are valid")
    }

    /// Returns all settings with their values, in the structure of a configuration file. The value
    /// `false` means that a setting is off.
    pub fn to_json(&self) -> Value {
        let values = serde_json::to_value(self).expect("a policy can be written as JSON");
        let mut shown = values.clone();
        for (key, _) in leaves(&values).iter().filter(|(_, value)| value.is_null()) {
            put(&mut shown, key, Value::Bool(false));
        }
        shown
    }
}

/// Returns the built-in policy as a tree of values.
pub(crate) fn built_in() -> &'static Value {
    static TREE: LazyLock<Value> = LazyLock::new(|| embedded(BUILT_IN));
    &TREE
}

/// Parses settings embedded in the program. Comments are removed first, because they would account
/// for a third of the parsing time.
pub(crate) fn embedded(text: &str) -> Value {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    parse_toml(&lines.collect::<Vec<_>>().join("\n")).expect("a test checks that it is valid TOML")
}

/// Returns the keys of all settings, top-level keys first.
pub fn settings() -> Vec<String> {
    leaves(built_in()).into_iter().map(|(key, _)| key).collect()
}

/// Returns the value at `key` or `table.key`.
pub(crate) fn find<'v>(tree: &'v Value, key: &str) -> Option<&'v Value> {
    tree.pointer(&format!("/{}", key.replacen('.', "/", 1)))
}

fn put(tree: &mut Value, key: &str, value: Value) {
    match key.split_once('.') {
        Some((table, key)) => tree[table][key] = value,
        None => tree[key] = value,
    }
}

/// Returns all keys with a value other than null.
fn said(tree: &Value) -> impl Iterator<Item = (String, &Value)> {
    leaves(tree).into_iter().filter(|(_, value)| !value.is_null())
}

/// Returns all keys with their values, top-level keys first.
fn leaves(tree: &Value) -> Vec<(String, &Value)> {
    let members = || tree.as_object().into_iter().flatten();
    let at_the_top = members().filter(|(_, value)| !value.is_object());
    let in_tables = members().flat_map(|(table, value)| {
        let members = value.as_object().into_iter().flatten();
        members.map(move |(key, value)| (format!("{table}.{key}"), value))
    });
    at_the_top.map(|(key, value)| (key.clone(), value)).chain(in_tables).collect()
}

pub(crate) fn parse_toml(text: &str) -> Result<Value, ConfigError> {
    let line_of = |at: usize| {
        text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() as u64 + 1
    };
    toml::from_str(text).map_err(|error| ConfigError::Syntax {
        format: "TOML",
        line: error.span().map(|span| line_of(span.start)),
        why: error.message().to_owned(),
    })
}

/// Returns true if a configuration is JSON5, judging by its beginning or the file's extension.
pub(crate) fn is_json(text: &str, name: Option<&str>) -> bool {
    let text = text.trim_start();
    let extension = name.and_then(|name| name.rsplit_once('.'));
    let says_json = extension.is_some_and(|(_, extension)| {
        ["json", "jsonc", "json5"].contains(&extension.to_ascii_lowercase().as_str())
    });
    text.starts_with(['{', '/']) || says_json
}

/// The largest depth of nesting in a configuration. The JSON5 parser itself has no limit, so deep
/// nesting would overflow the stack.
const MAX_DEPTH: usize = 100;

pub(crate) fn parse_json5(text: &str) -> Result<Value, ConfigError> {
    let syntax =
        |line, why: &str| ConfigError::Syntax { format: "JSON5", line, why: why.to_owned() };
    if is_too_deep(text) {
        return Err(syntax(None, "nested too deeply"));
    }
    let value: Value = json5::from_str(text).map_err(|error| {
        let line = error.position().map(|at| at.line as u64 + 1);
        syntax(line, &error.code().map_or_else(|| error.to_string(), |code| code.to_string()))
    })?;
    if value.is_object() {
        return Ok(value);
    }
    Err(ConfigError::wrong("the file", "an object", &value))
}

/// Returns true if a configuration is nested too deeply. Brackets in strings and comments are
/// counted too, but no real configuration has a hundred unclosed brackets there.
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

#[cfg(test)]
mod tests {
    use super::built_in;
    use crate::policy::Policy;

    /// The settings in `built-in.toml` are exactly those of [`Policy`].
    #[test]
    fn what_is_built_in_has_every_setting_and_no_other() {
        assert_eq!(&Policy::default().to_json(), built_in());
    }
}
