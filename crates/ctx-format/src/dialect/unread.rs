//! Content that looks like a message but cannot be read.
//!
//! A message with an unknown role or part may hold a call or a result. Removing or summarizing it
//! could separate the two unnoticed. The check does not decode any text; it reports what it finds.

use std::fmt;

use crate::{Object, json, scan};

/// The kind of unread content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum UnreadRule {
    /// An unknown role.
    #[strum(serialize = "unknown-role")]
    Role,
    /// An unknown record.
    #[strum(serialize = "unknown-item")]
    Item,
    /// An unknown part of a message.
    #[strum(serialize = "unread-part")]
    Part,
    /// A summary that the vendor's server wrote.
    VendorSummary,
}

impl UnreadRule {
    /// Its name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The first unreadable thing in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The kind of unread content.
    pub rule: UnreadRule,
    /// The description of the content, for a message.
    pub why: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// The maximum number of characters that a message quotes from the file.
const QUOTED: usize = 40;

impl Unread {
    /// A role, raw, that `dialect` does not have.
    pub(crate) fn role(dialect: &str, role: &str) -> Self {
        Self {
            rule: UnreadRule::Role,
            why: format!("the role {} is not known in {dialect}", quoted(role)),
        }
    }

    /// A record that is not a message of `dialect`.
    pub(crate) fn item(dialect: &str, item: &Object<'_>) -> Self {
        let what = match item.get("type") {
            Some(kind) => format!("a record of the type {}", quoted(kind)),
            None => "a record without a role".to_owned(),
        };
        Self { rule: UnreadRule::Item, why: format!("{what} is no message of {dialect}") }
    }

    /// An unknown part, raw.
    pub(crate) fn part(raw: &str) -> Self {
        let part = Object::within(raw);
        let what = match part.as_ref().map(|part| (part.get("type"), part.members())) {
            Some((Some(kind), _)) => format!("a part of the type {}", quoted(kind)),
            Some((None, [first, ..])) => {
                let key = shortened(&first.key);
                format!("a part without a type, with {key:?}")
            }
            _ => "a part without a type".to_owned(),
        };
        Self::within_message(&what)
    }

    /// A summary that the vendor's server wrote.
    pub fn vendor_summary() -> Self {
        Self {
            rule: UnreadRule::VendorSummary,
            why: "the vendor's own compaction replaces all earlier messages here".to_owned(),
        }
    }

    /// Another problem in a message.
    pub(crate) fn within_message(what: &str) -> Self {
        Self { rule: UnreadRule::Part, why: format!("{what} is not read") }
    }

    /// The first part of `content` that `is_read` rejects. Texts are always read, alone or in a
    /// list.
    pub(crate) fn in_content(
        content: Option<&str>,
        is_read: fn(&Object<'_>) -> bool,
    ) -> Option<Self> {
        let content = content?;
        if content.starts_with('"') || content == "null" {
            return None;
        }
        let Some(parts) = scan::elements(content) else {
            return Some(Self::within_message("a content that is neither a text nor a list"));
        };
        let is_unread = |raw: &&&str| match Object::within(raw) {
            Some(part) => !is_read(&part),
            None => !raw.starts_with('"'),
        };
        let raw = parts.iter().find(is_unread)?;
        let part = Object::within(raw);
        let result = part.filter(|part| part.get("type") == Some("\"tool_result\""));
        let within = result.and_then(|it| Self::in_content(it.get("content"), is_read));
        Some(within.unwrap_or_else(|| Self::part(raw)))
    }
}

/// Returns true if a part has a text at `key`.
pub(crate) fn has_text(part: &Object<'_>, key: &str) -> bool {
    part.get(key).is_some_and(|raw| raw.starts_with('"'))
}

/// Quotes a raw value of the file in a message.
fn quoted(raw: &str) -> String {
    let word = json::text(raw).unwrap_or(raw.into());
    format!("{:?}", shortened(&word))
}

fn shortened(word: &str) -> String {
    let mut short: String = word.chars().take(QUOTED).collect();
    if short.len() < word.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::{Unread, has_text};

    fn found(content: &str) -> Option<String> {
        Unread::in_content(Some(content), |part| has_text(part, "text")).map(|unread| unread.why)
    }

    #[test]
    fn texts_are_read_and_the_first_other_part_is_named() {
        assert_eq!(Unread::in_content(None, |_| false), None);
        for read in [r#""text""#, "null", "[]", r#"["a",{"text":"b"}]"#] {
            assert_eq!(found(read), None, "{read}");
        }
        for (unread, what) in [
            (
                r#"[{"text":"a"},{"type":"smell"},{"type":"taste"}]"#,
                r#"a part of the type "smell" is not read"#,
            ),
            (r#"[{"toolUse":{}}]"#, r#"a part without a type, with "toolUse" is not read"#),
            ("[7]", "a part without a type is not read"),
            (r#"[{"type":7}]"#, r#"a part of the type "7" is not read"#),
            ("{}", "a content that is neither a text nor a list is not read"),
        ] {
            assert_eq!(found(unread).as_deref(), Some(what), "{unread}");
        }
    }

    #[test]
    fn a_long_word_is_quoted_in_part() {
        let role = format!("\"{}\"", "é".repeat(50));
        let why = Unread::role("chat", &role).why;
        let word = "é".repeat(40);
        assert_eq!(why, format!("the role \"{word}…\" is not known in chat"));
    }
}
