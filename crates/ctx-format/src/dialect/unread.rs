//! Content that is meant to be a message but cannot be read.
//!
//! A message with an unknown role or an unknown part may contain a call or a result. Removing or
//! summarizing a message with such content could silently separate a call from its result. The
//! check for unreadable content decodes no text.

use crate::{Class, Dialect, Effect, Object, Record, json, scan};

/// What kind of content could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum UnreadRule {
    /// The role of a message is unknown.
    #[strum(serialize = "unknown-role")]
    Role,
    /// The type of a record is unknown.
    #[strum(serialize = "unknown-item")]
    Item,
    /// The type of a part is unknown, or its content has an unknown format.
    #[strum(serialize = "unread-part")]
    Part,
    /// The vendor's server wrote a summary that only it can read.
    VendorSummary,
    /// The line is damaged, but its agent reads it.
    BadLine,
}

/// The first unreadable content in a record.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{why}")]
pub struct Unread {
    /// What kind of content could not be read.
    pub rule: UnreadRule,
    /// A description of the content, for use in error messages.
    pub why: String,
}

/// The maximum number of characters to quote from a word in the file.
const QUOTED: usize = 40;

impl Unread {
    /// Reports a role that `dialect` does not have. `role` is raw JSON.
    pub(crate) fn role(dialect: &str, role: &str) -> Self {
        let why = format!("the dialect {dialect} has no role {}", quoted(role));
        Self { rule: UnreadRule::Role, why }
    }

    /// Reports a record that is not a message in `dialect`.
    pub(crate) fn item(dialect: &str, item: &Object<'_>) -> Self {
        let what = match item.get("type") {
            Some(kind) => format!("records of the type {}", quoted(kind)),
            None => "records without a role".to_owned(),
        };
        Self { rule: UnreadRule::Item, why: format!("the dialect {dialect} has no {what}") }
    }

    /// Reports a part of an unknown type. `raw` is the JSON of the part.
    pub(crate) fn part(raw: &str) -> Self {
        let part = Object::within(raw);
        let what = match part.as_ref().map(|part| (part.get("type"), part.members())) {
            Some((Some(kind), _)) => format!("a part of the type {}", quoted(kind)),
            Some((None, [first, ..])) => {
                let key = shortened(&first.key);
                format!("a part with {key:?} but without a type")
            }
            _ => "a part without a type".to_owned(),
        };
        Self::within_message(&what)
    }

    /// Reports a summary that the vendor's server wrote and that only this server can read.
    pub fn vendor_summary() -> Self {
        let why = "the vendor's own compaction replaces all earlier messages here".to_owned();
        Self { rule: UnreadRule::VendorSummary, why }
    }

    /// Returns what is wrong with a damaged line that its agent reads nevertheless. The line may
    /// hold a message that we do not see.
    pub fn damaged(record: &Record<'_>, dialect: &dyn Dialect) -> Option<Self> {
        let is_read = match record.class {
            Class::NotUtf8 => dialect.log()?.on_damage(record.class.into())?.0 == Effect::Harmless,
            Class::Nul => {
                let is_of_claude =
                    dialect.name() == "claude-code" && record.bytes.starts_with(b"{");
                is_of_claude || dialect.log()?.on_damage(record.class.into()).is_some()
            }
            _ => return None,
        };
        let what = if record.class == Class::Nul { "has NUL bytes" } else { "is not UTF-8" };
        let why = format!("the line {what}, but the agent reads it");
        is_read.then_some(Self { rule: UnreadRule::BadLine, why })
    }

    /// Reports any other unreadable content in a message. `what` describes the content.
    pub(crate) fn within_message(what: &str) -> Self {
        Self { rule: UnreadRule::Part, why: format!("{what} cannot be read") }
    }

    /// Returns the first part in `content` that `is_read` rejects. Texts, alone or in a list, are
    /// always readable.
    pub(crate) fn in_content(
        content: Option<&str>,
        is_read: fn(&Object<'_>) -> bool,
    ) -> Option<Self> {
        let content = content?;
        if content.starts_with('"') || content == "null" {
            return None;
        }
        let Some(parts) = scan::elements(content) else {
            return Some(Self::within_message("content that is neither text nor a list"));
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

/// Returns true if the member `key` of a part is a string.
pub(crate) fn has_text(part: &Object<'_>, key: &str) -> bool {
    part.get(key).is_some_and(|raw| raw.starts_with('"'))
}

/// Quotes a raw value from the file, shortening long values.
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
                r#"a part of the type "smell" cannot be read"#,
            ),
            (r#"[{"toolUse":{}}]"#, r#"a part with "toolUse" but without a type cannot be read"#),
            ("[7]", "a part without a type cannot be read"),
            (r#"[{"type":7}]"#, r#"a part of the type "7" cannot be read"#),
            ("{}", "content that is neither text nor a list cannot be read"),
        ] {
            assert_eq!(found(unread).as_deref(), Some(what), "{unread}");
        }
    }

    #[test]
    fn a_long_word_is_quoted_in_part() {
        let role = format!("\"{}\"", "é".repeat(50));
        let why = Unread::role("chat", &role).why;
        let word = "é".repeat(40);
        assert_eq!(why, format!("the dialect chat has no role \"{word}…\""));
    }
}
