//! Memory items, which are printed as JSON, and entries in memory files, for example:
//!
//! ```text
//! We will keep SQLite. (user, demo:42, 2026-11-20, taken back in demo:97)
//! ```
//!
//! The date is left out if it is unknown, and the last part if no later decision is known.

use chrono::NaiveDate;
use ctx_format::Role;
use ctx_summary::ledger::patterns::MemoryKind;
use derive_more::Display;
use serde::Serialize;
use serde_with::skip_serializing_none;

/// An item extracted from a session. The fields are in the order of the JSON keys.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryItem {
    /// The kind of item, which determines the memory file that the item is added to.
    pub kind: MemoryKind,
    /// The sentence, verbatim but on one line, or a digest of a call or an error.
    pub text: String,
    /// The role of the author.
    pub role: Role,
    /// The 1-based line of the message in its session.
    pub line: u64,
    /// The id of the session.
    pub session: String,
    /// The tool that a [`MemoryKind::Runtime`] item is about.
    pub tool: Option<String>,
    /// The reason that the sentence gives for its decision.
    pub why: Option<String>,
    /// The part of a preference that limits when or where it applies.
    pub scope: Option<String>,
    /// The UTC day of the message, if its record has a time.
    pub date: Option<NaiveDate>,
    /// The line of the later decision in the same session that supersedes this item.
    pub taken_back: Option<u64>,
}

#[cfg(test)]
impl MemoryItem {
    /// A decision by the user in the session `demo`.
    pub(crate) fn example(text: &str, line: u64) -> Self {
        Self {
            kind: MemoryKind::Decision,
            text: text.to_owned(),
            role: Role::User,
            line,
            session: "demo".to_owned(),
            ..Self::default()
        }
    }
}

/// A reference to the line that contains a statement: a line in a session, or in a memory file if a
/// person wrote the statement there.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Display)]
#[display("{session}:{line}")]
pub struct Citation {
    /// The name of the session, or the path of the memory file within the store.
    pub session: String,
    /// The 1-based line number.
    pub line: u64,
}

/// An entry that our tools wrote into a memory file.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
#[display(
    "{text} ({role}, {citation}{}{})",
    comma("", date.as_ref()),
    comma(TAKEN_BACK, taken_back.as_ref())
)]
pub struct Entry<'t> {
    /// The statement, on one line.
    pub text: &'t str,
    /// The role of the statement's author.
    pub role: &'t str,
    /// The session and the line of the statement.
    pub citation: Citation,
    /// The UTC day of the statement, if it is known.
    pub date: Option<NaiveDate>,
    /// The citation of the later decision that supersedes the statement.
    pub taken_back: Option<Citation>,
}

/// The words that precede the citation of a superseding decision in an entry.
const TAKEN_BACK: &str = "taken back in ";

impl<'t> Entry<'t> {
    /// Parses an entry without its list marker. Returns `None` if a person wrote the entry, or if
    /// an edit broke the format of the details in parentheses at the end.
    pub fn parse(entry: &'t str) -> Option<Self> {
        let (text, details) = entry.rsplit_once(" (")?;
        let mut details = details.strip_suffix(')')?.split(", ");
        let role = details.next()?;
        let citation = Citation::parse(details.next()?)?;
        let mut next = details.next();
        let date = next.and_then(|text| text.parse().ok());
        if date.is_some() {
            next = details.next();
        }
        let taken_back = match next {
            Some(text) => Some(Citation::parse(text.strip_prefix(TAKEN_BACK)?)?),
            None => None,
        };
        let is_ours = role.bytes().all(|b| b.is_ascii_lowercase()) && details.next().is_none();
        is_ours.then_some(Self { text, role, citation, date, taken_back })
    }
}

/// Formats a detail that may be missing.
fn comma(before: &str, detail: Option<&impl std::fmt::Display>) -> String {
    detail.map_or_else(String::new, |detail| format!(", {before}{detail}"))
}

impl Citation {
    fn parse(text: &str) -> Option<Self> {
        let (session, line) = text.rsplit_once(':')?;
        if session.contains(' ') || !line.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Self { session: session.to_owned(), line: line.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Citation, Entry, MemoryItem};

    #[test]
    fn json_keys_have_a_fixed_order() {
        let mut item = MemoryItem::example("a", 3);
        let json = |item: &MemoryItem| serde_json::to_string(item).expect("strings and a number");
        assert_eq!(
            json(&item),
            r#"{"kind":"decision","text":"a","role":"user","line":3,"session":"demo"}"#
        );
        item.tool = Some("t".to_owned());
        assert!(json(&item).ends_with(r#","session":"demo","tool":"t"}"#));
        item.why = Some("w".to_owned());
        item.scope = Some("x".to_owned());
        item.date = "2026-11-20".parse().ok();
        item.taken_back = Some(9);
        let end = r#","tool":"t","why":"w","scope":"x","date":"2026-11-20","taken_back":9}"#;
        assert!(json(&item).ends_with(end));
    }

    #[test]
    fn our_entries_are_parsed_and_printed_unchanged() {
        for text in [
            "Use A. (user, demo:1)",
            "Use A (or B). (assistant, other-1.2:77, 2026-11-20)",
            "Use A. (user, demo:1, taken back in demo:9)",
            "用 A。 (user, 会话:1, 2026-11-20, taken back in b:9)",
        ] {
            let entry = Entry::parse(text).expect(text);
            assert_eq!(entry.to_string(), text);
        }
    }

    #[test]
    fn entries_of_people_are_not_parsed() {
        for text in [
            "Use A.",
            "Use A (see b:1)",
            "Use A (User, b:1)",
            "Use A (user, b)",
            "Use A (user, b c:1)",
            "Use A (user, b:1, 2026-13-40)",
            "Use A (user, b:1, 2026-11-20, and more)",
            "Use A (user, b:1, taken back)",
            "Use A (user, b:+1)",
            "Use A (user, b:1), I think",
            "~~Use A (user, b:1)~~",
        ] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_entry_parses_to_itself(
            text in "[a-z (),:0-9.决]{0,20}",
            session in "[a-z:.0-9-]{1,8}",
            line in any::<u64>(),
            days in prop::option::of(0_i32..3_000_000),
            taken_back in prop::option::of(any::<u64>()),
        ) {
            let citation = |line| Citation { session: session.clone(), line };
            let entry = Entry {
                text: &text,
                role: "user",
                citation: citation(line),
                date: days.and_then(chrono::NaiveDate::from_num_days_from_ce_opt),
                taken_back: taken_back.map(citation),
            };
            let printed = entry.to_string();
            prop_assert_eq!(Entry::parse(&printed), Some(entry));
        }
    }
}
