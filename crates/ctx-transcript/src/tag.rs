//! The tag: what one tool decided about a record, handed on inside it as its
//! member `_ctx`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::Object;

/// What a selection decided about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase", try_from = "String")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Zone {
    /// System and developer messages
    System,
    /// What is to be summarized
    Old,
    /// What stays
    Keep,
}

impl Zone {
    /// Its word in a tag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Old => "old",
            Self::Keep => "keep",
        }
    }
}

/// A word and nothing else: serde would take `{"old":null}` for a zone as well.
impl TryFrom<String> for Zone {
    type Error = String;

    fn try_from(word: String) -> Result<Self, String> {
        let zones = [Self::System, Self::Old, Self::Keep];
        let zone = zones.into_iter().find(|zone| zone.as_str() == word);
        zone.ok_or(word)
    }
}

/// The members of `_ctx`. Those we do not know pass through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tag {
    /// What was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<Zone>,
    /// For a batch record: what was decided about each of its messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zones: Option<Vec<Zone>>,
    /// Line in the source, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Exchange: the number of its first record among all records, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u64>,
    /// Kept because a selector, or a rule, pins it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pin: Option<String>,
    /// Length of the untagged record, without its line end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Its tokens; valid while `bytes` is still right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The encoding of `tokens`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// On the last record that can carry a tag: how many records there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// Unknown members, raw: `"key":value`.
    #[serde(skip)]
    pub others: Vec<String>,
}

impl Tag {
    /// The member's key.
    pub const KEY: &'static str = "_ctx";

    /// Reads the value of a record's `_ctx`. It is a tag by definition; what
    /// cannot be understood in it is an unknown member or, when the value is no
    /// object, nothing.
    pub(crate) fn parse(raw: &str) -> Self {
        let mut tag = Self::default();
        let Ok(object) = Object::parse(raw) else {
            return tag;
        };
        for member in object.members() {
            if !tag.take(&member.key, member.value) {
                tag.others.push(raw[member.place.clone()].to_owned());
            }
        }
        tag
    }

    /// Sets one of our members; `false` for what is not ours.
    fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "zone" => set(&mut self.zone, value),
            "zones" => set(&mut self.zones, value),
            "line" => set(&mut self.line, value),
            "group" => set(&mut self.group, value),
            "pin" => set(&mut self.pin, value),
            "bytes" => set(&mut self.bytes, value),
            "tokens" => set(&mut self.tokens, value),
            "encoding" => set(&mut self.encoding, value),
            "end" => set(&mut self.end, value),
            _ => false,
        }
    }

    /// The value of `_ctx`: `{"zone":"old",…}`.
    pub(crate) fn write(&self) -> String {
        let mut text = serde_json::to_string(self).expect("words and numbers can be written");
        text.pop();
        for raw in &self.others {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(raw);
        }
        text.push('}');
        text
    }

    /// The tokens, if they were counted with `encoding` and the record still has
    /// the length it had then.
    pub fn valid_tokens(&self, encoding: &str, length: u64) -> Option<u64> {
        let valid = self.bytes == Some(length) && self.encoding.as_deref() == Some(encoding);
        self.tokens.filter(|_| valid)
    }
}

/// `false` when the value is not of the member's kind.
fn set<T: DeserializeOwned>(member: &mut Option<T>, value: &str) -> bool {
    let read = serde_json::from_str(value);
    let is_known = read.is_ok();
    if is_known {
        *member = read.ok();
    }
    is_known
}

#[cfg(test)]
mod tests {
    use super::{Tag, Zone};

    #[test]
    fn members_stand_in_a_fixed_order() {
        let tag = Tag {
            zone: Some(Zone::Old),
            line: Some(7),
            bytes: Some(412),
            tokens: Some(118),
            encoding: Some("o200k_base".to_owned()),
            pin: Some("re:\"x\"".to_owned()),
            ..Tag::default()
        };
        let text = r#"{"zone":"old","line":7,"pin":"re:\"x\"","bytes":412,"tokens":118,"encoding":"o200k_base"}"#;
        assert_eq!(tag.write(), text);
        assert_eq!(Tag::parse(text), tag);
    }

    #[test]
    fn unknown_members_pass_through() {
        let text = r#"{"mine" : [1, 2],"zone":"keep","line":"x","zone":"sideways"}"#;
        let tag = Tag::parse(text);
        assert_eq!(tag.zone, Some(Zone::Keep));
        assert_eq!(
            tag.write(),
            r#"{"zone":"keep","mine" : [1, 2],"line":"x","zone":"sideways"}"#
        );
    }

    #[test]
    fn a_zone_is_a_word() {
        for text in [
            r#"{"zone":{"old":null}}"#,
            r#"{"zones":["keep",{"old":null}]}"#,
        ] {
            let tag = Tag::parse(text);
            assert_eq!((tag.zone, tag.zones.as_ref()), (None, None));
            assert_eq!(tag.write(), text);
        }
        let escaped = Tag::parse(r#"{"zone":"\u006fld"}"#);
        assert_eq!(escaped.zone, Some(Zone::Old));
    }

    #[test]
    fn what_is_no_object_is_an_empty_tag() {
        assert_eq!(Tag::parse("5"), Tag::default());
        assert_eq!(Tag::default().write(), "{}");
    }

    #[test]
    fn a_changed_record_has_no_valid_tokens() {
        let tag = Tag::parse(r#"{"bytes":10,"tokens":3,"encoding":"cl100k_base"}"#);
        assert_eq!(tag.valid_tokens("cl100k_base", 10), Some(3));
        assert_eq!(tag.valid_tokens("cl100k_base", 11), None);
        assert_eq!(tag.valid_tokens("o200k_base", 10), None);
    }
}
