//! The rules of pruning: their names, and which of them leave notes.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

/// The rules, by their names in policies, flags and reports. Rules that need a number or a text are
/// enabled by that value and not by name. Policies also skip rules for lines of an agent's own
/// file, because a compaction only appends lines.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Rule {
    /// Long results are trimmed
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Trim,
    /// Old results are cleared
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Clear,
    /// Results of reading a file that was read or written again later
    Superseded,
    /// Results that a later result of the same tool repeats
    Duplicates,
    /// Terminal escapes and base64 inside results
    Noise,
    /// Reasoning before the latest turn, and messages that are empty without it
    Reasoning,
    /// Long strings inside call arguments are shortened
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Arguments,
    /// Replies that say nothing and call nothing
    Empty,
    /// Records before a window of messages are removed
    #[serde(skip_deserializing)]
    #[cfg_attr(feature = "clap", value(skip))]
    Window,
    /// Lines of an agent's own file on abandoned or rolled-back branches
    #[serde(skip_deserializing)]
    DeadBranches,
    /// Lines of an agent's own file that a compaction replaced
    #[serde(skip_deserializing)]
    BeforeCompaction,
    /// Lines of an agent's own file that a later line repeats
    #[serde(skip_deserializing)]
    Rewritten,
    /// Lines of subagents in an agent's own file (sidechains)
    #[serde(skip_deserializing)]
    Sidechains,
    /// Lines of an agent's own file that show the progress of a tool
    #[serde(skip_deserializing)]
    Progress,
    /// Lines of an agent's own file to restore files with, which the agent can no longer use
    #[serde(skip_deserializing)]
    FileHistory,
    /// Second copies of results in an agent's own file, for its screen
    #[serde(skip_deserializing)]
    Copies,
}

impl Rule {
    /// The name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether it replaces results by notes.
    pub fn leaves_notes(self) -> bool {
        matches!(self, Self::Clear | Self::Superseded | Self::Duplicates)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::Rule;

    #[test]
    fn policies_name_a_rule_as_reports_do() {
        let read = |name: &'static str| {
            let name: StrDeserializer<'_, Error> = name.into_deserializer();
            Rule::deserialize(name).ok()
        };
        let named = [Rule::Superseded, Rule::Duplicates, Rule::Noise, Rule::Reasoning, Rule::Empty];
        for rule in named {
            assert_eq!(read(rule.as_str()), Some(rule));
        }
        // These rules are enabled by a number or a text.
        for rule in [Rule::Trim, Rule::Clear, Rule::Arguments, Rule::Window] {
            assert_eq!(read(rule.as_str()), None);
        }
        // A compaction does not remove lines of an agent's own file.
        for rule in [Rule::DeadBranches, Rule::Progress, Rule::Copies] {
            assert_eq!(read(rule.as_str()), None);
        }
    }
}
