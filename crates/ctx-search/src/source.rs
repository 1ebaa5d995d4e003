//! What is searched: sources, and the documents in them.

use serde::{Deserialize, Serialize};

/// What a source is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What is worth remembering, by subject.
    Extracted,
    /// What was done on a day.
    Daily,
    /// What is known over all sessions.
    Master,
    /// Who the agent is to be.
    Soul,
    /// The summary of a session.
    Summary,
    /// The messages of a session, as a snapshot has them.
    Snapshot,
    /// A tool result that was taken out of a session.
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

    /// The word for it.
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
    /// Its name, by which it is found again: unique.
    pub name: String,
    /// What it is.
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

/// What is found: a message, a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its line in the source, from 1.
    pub line: u64,
    /// Where its bytes begin in the source, for who reads it again.
    pub offset: u64,
    /// The session that it is of, where its source is of several.
    pub session: Option<String>,
    /// Who speaks; `None` where nobody does.
    pub role: Option<&'static str>,
    /// When it was said or written, in milliseconds since 1970.
    pub time: i64,
    /// What is said.
    pub text: String,
}

/// The roles, by their number in the index.
pub const ROLES: [&str; 7] = [
    "system",
    "developer",
    "user",
    "assistant",
    "tool",
    "function",
    "other",
];

/// 0 stands for none.
pub(crate) fn number_of(role: Option<&str>) -> u64 {
    let place = role.and_then(|role| ROLES.iter().position(|known| *known == role));
    place.map_or(0, |place| place as u64 + 1)
}

pub(crate) fn role_of(number: u64) -> Option<&'static str> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    ROLES.get(place).copied()
}
