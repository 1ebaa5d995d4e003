//! What a preset, a file, the environment or the flags say of a policy: values in the
//! shape of a configuration file, laid over each other.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::config::parse_toml;
use crate::error::ConfigError;
use crate::policy::Policy;

/// Every setting with its built-in value, and in comments what it is.
pub const BUILT_IN: &str = include_str!("../../../presets/built-in.toml");

/// Tables whose keys are no settings: a preset has any that it wants.
const OPEN: [&str; 3] = ["environment", "bounds", "configuration"];

/// Some settings, with values that fit them.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer(Value);

impl Default for Layer {
    /// Says nothing.
    fn default() -> Self {
        Self(Value::Object(Map::new()))
    }
}

impl Layer {
    /// What the layer says of `key` or `table.key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        find(&self.0, key)
    }

    /// Says something of a setting; the error is what would fit.
    pub(crate) fn set(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let mut tree = built_in().clone();
        put(&mut tree, key, value.clone());
        Policy::read(&tree)?;
        put(&mut self.0, key, value.clone());
        Ok(())
    }

    /// Replaces, setting by setting, what is below.
    pub(crate) fn lay_on(&self, below: &mut Value) {
        for (key, value) in leaves(&self.0) {
            put(below, &key, value.clone());
        }
    }

    /// Our own tables, from whatever they were written in; also the keys that are unknown.
    pub(crate) fn read(root: &Value) -> Result<(Self, Vec<String>), ConfigError> {
        let (mut layer, mut unknown) = (Self::default(), Vec::new());
        for (key, value) in leaves(root)
            .into_iter()
            .filter(|(_, value)| !value.is_null())
        {
            let table = key.split_once('.').map_or("", |(table, _)| table);
            match find(built_in(), &key) {
                Some(Value::Object(_)) => return Err(ConfigError::wrong(&key, "a table", value)),
                None if !OPEN.contains(&table) => unknown.push(key),
                _ => layer
                    .set(&key, value)
                    .map_err(|wanted| ConfigError::wrong(&key, wanted, value))?,
            }
        }
        Ok((layer, unknown))
    }
}

/// What is built in, as it is written.
pub(crate) fn built_in() -> &'static Value {
    static TREE: LazyLock<Value> =
        LazyLock::new(|| parse_toml(BUILT_IN).expect("TOML: a test reads it"));
    &TREE
}

/// The keys of all settings, those in no table first.
pub fn settings() -> Vec<String> {
    let known = leaves(built_in()).into_iter();
    known.map(|(key, _)| key).collect()
}

/// What stands at `key` or `table.key`.
pub(crate) fn find<'v>(tree: &'v Value, key: &str) -> Option<&'v Value> {
    tree.pointer(&format!("/{}", key.replacen('.', "/", 1)))
}

pub(crate) fn put(tree: &mut Value, key: &str, value: Value) {
    match key.split_once('.') {
        Some((table, key)) => tree[table][key] = value,
        None => tree[key] = value,
    }
}

/// All values with their keys; those in no table first.
pub(crate) fn leaves(tree: &Value) -> Vec<(String, &Value)> {
    let members = || tree.as_object().into_iter().flatten();
    let at_the_top = members().filter(|(_, value)| !value.is_object());
    let in_tables = members().flat_map(|(table, value)| {
        let members = value.as_object().into_iter().flatten();
        members.map(move |(key, value)| (format!("{table}.{key}"), value))
    });
    let at_the_top = at_the_top.map(|(key, value)| (key.clone(), value));
    at_the_top.chain(in_tables).collect()
}

#[cfg(test)]
mod tests {
    use super::built_in;
    use crate::policy::Policy;

    /// The file that documents the settings and the types that read them agree.
    #[test]
    fn what_is_built_in_has_every_setting_and_no_other() {
        assert_eq!(&Policy::default().to_json(), built_in());
    }
}
