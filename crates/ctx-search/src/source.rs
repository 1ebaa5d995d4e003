//! Sources and their documents.

use serde::{Deserialize, Serialize};

/// The kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Memory files by subject.
    Extracted,
    /// The daily logs.
    Daily,
    /// The memory of all sessions.
    Master,
    /// The agent's character.
    Soul,
    /// The summary of a session.
    Summary,
    /// The messages of a session, as a snapshot has them.
    Snapshot,
    /// An offloaded tool result.
    Offloaded,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Extracted,
        Self::Daily,
        Self::Master,
        Self::Soul,
        Self::Summary,
        Self::Snapshot,
        Self::Offloaded,
    ];

    /// The word for the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extracted => "extracted",
            Self::Daily => "daily",
            Self::Master => "master",
            Self::Soul => "soul",
            Self::Summary => "summary",
            Self::Snapshot => "snapshot",
            Self::Offloaded => "offloaded",
        }
    }
}

/// A file, or what is read as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The unique name of the source.
    pub name: String,
    /// The kind of the source.
    pub kind: Kind,
    /// The session that all of it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Changes with its content.
    pub mark: String,
}

impl Source {
    /// Sources of one group hold much of each other: what is equal is found once, in the
    /// first one. Only the snapshots of a session are such.
    pub(crate) fn group(&self) -> &str {
        match (self.kind, &self.session) {
            (Kind::Snapshot, Some(session)) => session,
            _ => &self.name,
        }
    }
}

/// A document: a message or a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The line in the source, from 1.
    pub line: u64,
    /// The offset of its first byte in the source.
    pub offset: u64,
    /// The session, if the source has several.
    pub session: Option<String>,
    /// The speaker, if any.
    pub role: Option<&'static str>,
    /// The time of writing, in milliseconds since 1970.
    pub time: i64,
    /// The text.
    pub text: String,
}

/// The roles, by their number in the index.
pub const ROLES: [&str; 7] =
    ["system", "developer", "user", "assistant", "tool", "function", "other"];

/// 0 means none.
pub(crate) fn number_of(role: Option<&str>) -> u64 {
    let place = role.and_then(|role| ROLES.iter().position(|known| *known == role));
    place.map_or(0, |place| place as u64 + 1)
}

pub(crate) fn role_of(number: u64) -> Option<&'static str> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    ROLES.get(place).copied()
}
