//! A table of another system's configuration, taken out key by key.

use serde_json::{Map, Value};

use crate::error::{ConfigError, Warning};
use crate::setting::Setting;

/// Remembers which keys were asked for: what is left in the end is unknown.
pub(super) struct Foreign<'v> {
    path: String,
    table: Option<&'v Map<String, Value>>,
    asked: Vec<&'static str>,
}

impl<'v> Foreign<'v> {
    /// `value` is what stands at `path`; none is an empty table.
    pub(super) fn new(path: &str, value: Option<&'v Value>) -> Result<Self, ConfigError> {
        let table = match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(table)) => Some(table),
            Some(other) => return Err(ConfigError::wrong(path, "a table", other)),
        };
        Ok(Self {
            path: path.to_owned(),
            table,
            asked: Vec::new(),
        })
    }

    pub(super) fn path(&self, key: &str) -> String {
        format!("{}.{key}", self.path)
    }

    /// What stands at `key`, as it is.
    pub(super) fn raw(&mut self, key: &'static str) -> Option<&'v Value> {
        self.asked.push(key);
        self.table?.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn take<T: Setting>(&mut self, key: &'static str) -> Result<Option<T>, ConfigError> {
        self.take_as(key, T::read, &T::wanted())
    }

    /// Takes what `read` makes of it.
    pub(super) fn take_as<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
        wanted: &str,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.raw(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::wrong(&self.path(key), wanted, value)),
        }
    }

    /// The table at `key`.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Self, ConfigError> {
        let path = self.path(key);
        Self::new(&path, self.raw(key))
    }

    /// What nobody asked for; `not_used` are keys that the system knows.
    pub(super) fn finish(self, not_used: &[&str], warnings: &mut Vec<Warning>) {
        let keys = self.table.into_iter().flat_map(Map::keys);
        for key in keys.filter(|key| !self.asked.contains(&key.as_str())) {
            let path = self.path(key);
            warnings.push(if not_used.contains(&key.as_str()) {
                Warning::NotUsed(path)
            } else {
                Warning::Unknown(path)
            });
        }
    }
}
