//! Reads the configuration files of other systems. The table `[configuration]` in a system's preset
//! maps each key in such a file to a setting.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::value::alternatives;
use crate::{Bounds, ConfigError, Layer, Warning, preset};

/// The table `[configuration]` in a preset, which describes the configuration file of the imitated
/// system.
#[derive(Debug, Deserialize)]
pub(super) struct Foreign {
    /// The preset that imitates the system.
    #[serde(skip)]
    pub(super) name: &'static str,
    /// The tables or keys that identify one of this system's files. Any one of them is enough.
    when: Vec<String>,
    /// The paths in the file where the tables may be found. Each table is read from the first path
    /// where it exists.
    roots: Vec<String>,
    /// The system's known keys that correspond to no setting.
    #[serde(default)]
    not_used: Vec<String>,
    /// The meanings of the keys in each table.
    tables: BTreeMap<String, BTreeMap<String, Entry>>,
}

/// The meaning of a key in another system's file.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Entry {
    /// A setting that takes the same value as the key.
    Setting(String),
    /// A setting whose values differ from the key's. Each pair maps a value of the key to the value
    /// of the setting.
    Words { to: String, words: Vec<(Value, Value)> },
    /// A setting that takes a duration. `unit` is the unit assumed for a plain number.
    Time { to: String, unit: String },
    /// A setting that takes a share. The key's value is divided by the value of the key `of`, or by
    /// `otherwise` if that key is missing.
    Part { to: String, of: String, otherwise: u64 },
    /// A key that corresponds to no setting and accepts only the value `only`.
    Only { only: Value, because: String },
}

impl Foreign {
    /// If the file contains a key that identifies this system, returns the path of the key.
    pub(super) fn sign(&self, root: &Value) -> Option<&str> {
        let mut signs = self.when.iter();
        Some(signs.find(|path| root.pointer(&pointer(path)).is_some())?)
    }

    /// Returns the name of one of this system's tables, if the file contains any.
    pub(super) fn table_in<'s>(&'s self, root: &Value) -> Option<&'s str> {
        Some(self.tables.keys().find(|table| self.find(table, root).is_some())?)
    }

    /// Returns the path and the content of a table in a file.
    fn find<'v>(&self, table: &str, root: &'v Value) -> Option<(String, &'v Value)> {
        let mut paths = self.roots.iter().map(|root| join(root, table));
        paths.find_map(|path| {
            let found = root.pointer(&pointer(&path)).filter(|found| !found.is_null())?;
            Some((path, found))
        })
    }

    /// Returns the nesting depth of the system's tables.
    pub(super) fn depth(&self) -> usize {
        self.roots[0].split_terminator('.').count()
    }

    /// Returns true if one of the system's tables may be at `path`.
    pub(super) fn reads(&self, path: &str) -> bool {
        let tables = self.tables.keys();
        let mut paths = tables.flat_map(|table| self.roots.iter().map(|root| join(root, table)));
        paths.any(|known| known == path)
    }

    /// Returns the settings that correspond to the system's keys.
    #[cfg(test)]
    pub(super) fn settings(&self) -> impl Iterator<Item = &str> {
        let entries = self.tables.values().flat_map(BTreeMap::values);
        entries.filter_map(|entry| match entry {
            Entry::Setting(to)
            | Entry::Words { to, .. }
            | Entry::Time { to, .. }
            | Entry::Part { to, .. } => Some(to.as_str()),
            Entry::Only { .. } => None,
        })
    }

    /// Reads one of the system's configuration files.
    pub(super) fn read(&self, root: &Value) -> Result<(Layer, Vec<Warning>), ConfigError> {
        let bounds = preset(self.name).map(|preset| preset.bounds).unwrap_or_default();
        let (mut layer, mut warnings) = (Layer::default(), Vec::new());
        for (table, entries) in &self.tables {
            let Some((path, found)) = self.find(table, root) else { continue };
            let Value::Object(found) = found else {
                return Err(ConfigError::wrong(&path, "a table", found));
            };
            for (key, value) in found.iter().filter(|(_, value)| !value.is_null()) {
                let path = join(&path, key);
                let place = ForeignTable { found, entries, bounds: &bounds };
                match entries.get(key) {
                    Some(entry) => entry
                        .say(value, &place, &mut layer)
                        .map_err(|wanted| ConfigError::wrong(&path, wanted, value))?,
                    None if self.tables.contains_key(&join(table, key)) => {}
                    None if self.not_used.contains(key) => warnings.push(Warning::NotUsed(path)),
                    None => warnings.push(Warning::Unknown(path)),
                }
            }
        }
        Ok((layer, warnings))
    }
}

/// A table in a configuration file, with the meanings of its keys.
struct ForeignTable<'a> {
    found: &'a Map<String, Value>,
    entries: &'a BTreeMap<String, Entry>,
    bounds: &'a BTreeMap<String, Bounds>,
}

impl Entry {
    /// Translates the value of another system's key into one of our settings. The error describes
    /// the expected value.
    fn say(
        &self,
        value: &Value,
        place: &ForeignTable<'_>,
        layer: &mut Layer,
    ) -> Result<(), String> {
        let (setting, value) = match self {
            Self::Setting(to) => (to, value.clone()),
            Self::Words { to, words } => {
                let found = words.iter().find(|(word, _)| word == value);
                (to, found.ok_or_else(|| one_of(words))?.1.clone())
            }
            Self::Time { to, unit } => match number(value) {
                Some(bare) => (to, format!("{bare}{unit}").into()),
                None => (to, value.clone()),
            },
            Self::Part { to, of, otherwise } => {
                let said = place.found.get(of).and_then(number);
                let whole = said.unwrap_or(*otherwise);
                if let (None, Some(entry)) = (said, place.entries.get(of)) {
                    entry.say(&whole.into(), place, layer)?;
                }
                let wanted = || format!("a whole number from 1 to {of}");
                let part = number(value).filter(|part| (1..=whole).contains(part));
                // A share has six decimal places.
                let share = part.ok_or_else(wanted)? as f64 / whole as f64;
                (to, ((share * 1e6).floor() / 1e6).into())
            }
            Self::Only { only, .. } if value == only => return Ok(()),
            Self::Only { only, because } => return Err(format!("{only}: {because}")),
        };
        let bounds = place.bounds.get(setting);
        let fits = match bounds {
            Some(bounds) if !bounds.admit(&value) => Err(String::new()),
            _ => layer.set(setting, &value),
        };
        fits.map_err(|wanted| bounds.map_or(wanted, Bounds::to_string))
    }
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn one_of(words: &[(Value, Value)]) -> String {
    let texts: Vec<&str> = words.iter().filter_map(|(word, _)| word.as_str()).collect();
    match words {
        [(Value::Bool(true), _), (Value::Bool(false), _)] => "true or false".to_owned(),
        _ => alternatives(&texts),
    }
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

fn join(root: &str, key: &str) -> String {
    format!("{root}.{key}").trim_start_matches('.').to_owned()
}
