//! What is extracted, and its form on stdout.

use ctx_transcript::Role;
use serde::{Serialize, Serializer};

/// What an item is; each kind has its own memory file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Something was settled.
    Decision,
    /// A statement that names a project, a path or a setting.
    Fact,
    /// How the user wants things.
    Preference,
    /// A tool call in short, or the error it ended with.
    Runtime,
}

impl Kind {
    /// All kinds, in the order in which they are asked for.
    pub const ALL: [Self; 4] = [Self::Decision, Self::Fact, Self::Preference, Self::Runtime];

    /// Its word on the command line and in an item.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Decision => "decision",
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Runtime => "runtime",
        }
    }

    /// The name of its memory file.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::Decision => "decisions.md",
            Self::Fact => "facts.md",
            Self::Preference => "preferences.md",
            Self::Runtime => "runtime.md",
        }
    }

    /// The heading of a new memory file.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Decision => "# Decisions",
            Self::Fact => "# Facts",
            Self::Preference => "# Preferences",
            Self::Runtime => "# Runtime",
        }
    }
}

/// One thing that a session says, with its place. As JSON the keys stand in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// The sentence as it was written, on one line; or the digest of a call or an error.
    pub text: String,
    /// Who said it.
    #[serde(serialize_with = "role_word")]
    pub role: Role,
    /// Line in the session, from 1.
    pub line: u64,
    /// Id of the session.
    pub session: String,
    /// The tool, for [`Kind::Runtime`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
}

// serde asks for a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn role_word<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(role.as_str())
}

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use super::{Item, Kind};

    #[test]
    fn keys_stand_in_a_fixed_order() {
        let mut item = Item {
            kind: Kind::Decision,
            text: "a".to_owned(),
            role: Role::User,
            line: 3,
            session: "s".to_owned(),
            tool: None,
        };
        let json = |item: &Item| serde_json::to_string(item).expect("strings and a number");
        assert_eq!(
            json(&item),
            r#"{"kind":"decision","text":"a","role":"user","line":3,"session":"s"}"#
        );
        item.tool = Some("t".to_owned());
        assert!(json(&item).ends_with(r#","session":"s","tool":"t"}"#));
    }
}
