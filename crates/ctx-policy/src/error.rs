//! Errors and warnings about policies.

use serde_json::Value;

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is not valid TOML or JSON5.
    #[error("{}not valid {format}: {why}", line.map(|line| format!("line {line}: ")).unwrap_or_default())]
    Syntax {
        /// `TOML` or `JSON5`.
        format: &'static str,
        /// The 1-based line number in the text, if known.
        line: Option<u64>,
        /// The error message of the parser.
        why: String,
    },
    /// A value is of the wrong type or out of range.
    #[error("{key}: expected {wanted}, found {found}")]
    Wrong {
        /// The full path of the key, or the name of the environment variable.
        key: String,
        /// The expected value.
        wanted: String,
        /// The value that was found.
        found: String,
    },
    /// The tables in the file exist in several systems, and no key shows which system is meant.
    #[error("this file may belong to several systems; choose one with --preset: {0}")]
    Ambiguous(String),
    /// The file contains no compaction settings.
    #[error(
        "no compaction settings; expected a table of ctx-tools such as [trigger], \
         or compaction, agent.compaction, agents.defaults.compaction or contextPruning"
    )]
    NoSettings,
    /// An assignment on the command line has no value.
    #[error("{0:?} is not KEY=VALUE")]
    NoValue(String),
    /// An assignment on the command line names a setting that does not exist.
    #[error("there is no setting {key}; {}", instead(near))]
    NoSetting {
        /// The key, as typed by the user.
        key: String,
        /// Existing keys that are similar to `key`.
        near: Vec<String>,
    },
}

/// Suggests similar settings, or else the command that lists all settings.
fn instead(near: &[String]) -> String {
    match near {
        [] => "ctx-compact --show-preset built-in lists all settings".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    }
}

impl ConfigError {
    pub(crate) fn wrong(key: &str, wanted: impl Into<String>, found: &Value) -> Self {
        Self::Wrong { key: key.to_owned(), wanted: wanted.into(), found: describe(found) }
    }
}

/// Describes a value in a few words.
fn describe(value: &Value) -> String {
    let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= 40);
    match value {
        Value::Object(_) => "a table".to_owned(),
        Value::Array(items) if items.is_empty() || !items.iter().all(is_short) => {
            "a list".to_owned()
        }
        Value::String(text) if text.chars().count() > 40 => {
            let start: String = text.chars().take(40).collect();
            format!("text that begins with {start:?}")
        }
        value => value.to_string(),
    }
}

/// A warning that something in a configuration has no effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// There is no setting with this key.
    #[error("unknown key {0}")]
    Unknown(String),
    /// The key belongs to another system and corresponds to no setting.
    #[error("{0} is not used here")]
    NotUsed(String),
    /// The key belongs to a second system, whose settings in the file are ignored.
    #[error("{0} is ignored: the file also has settings of another system")]
    Shadowed(String),
}
