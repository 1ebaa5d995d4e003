//! The tag: what one tool decided about a record, handed on inside it as its
//! member `_ctx`.

use std::fmt::Write;

use crate::{Object, json};

/// What a selection decided about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::System, Self::Old, Self::Keep]
            .into_iter()
            .find(|zone| zone.as_str() == word)
    }
}

/// The members of `_ctx`. Those we do not know pass through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// What was decided.
    pub zone: Option<Zone>,
    /// For a batch record: what was decided about each of its messages.
    pub zones: Option<Vec<Zone>>,
    /// Line in the source, from 1.
    pub line: Option<u64>,
    /// Exchange: the number of its first record among all records, from 1.
    pub group: Option<u64>,
    /// Kept because a selector, or a rule, pins it.
    pub pin: Option<String>,
    /// Length of the untagged record, without its line end.
    pub bytes: Option<u64>,
    /// Its tokens; valid while `bytes` is still right.
    pub tokens: Option<u64>,
    /// The encoding of `tokens`.
    pub encoding: Option<String>,
    /// On the last record that can carry a tag: how many records there are.
    pub end: Option<u64>,
    /// Unknown members, raw: `"key":value`.
    pub others: Vec<String>,
}

impl Tag {
    /// The member's key.
    pub const KEY: &'static str = "_ctx";

    /// Reads the value of a record's `_ctx`. It is a tag by definition; what
    /// cannot be understood in it is an unknown member or, when the value is no
    /// object, nothing.
    pub fn parse(raw: &str) -> Self {
        let mut tag = Self::default();
        let Ok(object) = Object::parse(raw) else {
            return tag;
        };
        for member in object.members() {
            if !tag.take(&member.key, member.value) {
                tag.others.push(raw[member.start..member.end].to_owned());
            }
        }
        tag
    }

    /// Sets one of our members; `false` for what is not ours.
    fn take(&mut self, key: &str, value: &str) -> bool {
        let word = || json::text(value).map(std::borrow::Cow::into_owned);
        match key {
            "zone" => set(
                &mut self.zone,
                json::text(value).and_then(|word| Zone::from_word(&word)),
            ),
            "zones" => set(&mut self.zones, zones(value)),
            "line" => set(&mut self.line, value.parse().ok()),
            "group" => set(&mut self.group, value.parse().ok()),
            "pin" => set(&mut self.pin, word()),
            "bytes" => set(&mut self.bytes, value.parse().ok()),
            "tokens" => set(&mut self.tokens, value.parse().ok()),
            "encoding" => set(&mut self.encoding, word()),
            "end" => set(&mut self.end, value.parse().ok()),
            _ => false,
        }
    }

    /// The value of `_ctx`: `{"zone":"old",…}`.
    pub fn write(&self) -> String {
        let mut out = String::with_capacity(64);
        self.write_to(&mut out);
        out
    }

    /// Appends [`Self::write`] to `out`.
    pub fn write_to(&self, out: &mut String) {
        let mut separator = '{';
        let mut member = |key: &str, value: std::fmt::Arguments<'_>| {
            // Writing to a string cannot fail.
            let _ = write!(out, "{separator}\"{key}\":{value}");
            separator = ',';
        };
        if let Some(zone) = self.zone {
            member("zone", format_args!("\"{}\"", zone.as_str()));
        }
        if let Some(zones) = &self.zones {
            let words: Vec<String> = zones
                .iter()
                .map(|zone| format!("\"{}\"", zone.as_str()))
                .collect();
            member("zones", format_args!("[{}]", words.join(",")));
        }
        for (key, number) in [("line", self.line), ("group", self.group)] {
            if let Some(number) = number {
                member(key, format_args!("{number}"));
            }
        }
        if let Some(pin) = &self.pin {
            member("pin", format_args!("{}", json::quoted(pin)));
        }
        for (key, number) in [("bytes", self.bytes), ("tokens", self.tokens)] {
            if let Some(number) = number {
                member(key, format_args!("{number}"));
            }
        }
        if let Some(encoding) = &self.encoding {
            member("encoding", format_args!("{}", json::quoted(encoding)));
        }
        if let Some(end) = self.end {
            member("end", format_args!("{end}"));
        }
        for raw in &self.others {
            let _ = write!(out, "{separator}{raw}");
            separator = ',';
        }
        out.push_str(if separator == '{' { "{}" } else { "}" });
    }

    /// The tokens, if they were counted with `encoding` and the record still has
    /// the length it had then.
    pub fn valid_tokens(&self, encoding: &str, length: u64) -> Option<u64> {
        let valid = self.bytes == Some(length) && self.encoding.as_deref() == Some(encoding);
        self.tokens.filter(|_| valid)
    }
}

fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let known = value.is_some();
    if known {
        *place = value;
    }
    known
}

fn zones(value: &str) -> Option<Vec<Zone>> {
    let words = json::elements(value)?;
    words
        .into_iter()
        .map(|raw| json::text(raw).and_then(|word| Zone::from_word(&word)))
        .collect()
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
