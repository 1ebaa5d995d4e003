//! What is extracted, and its form on stdout.

use chrono::NaiveDate;
use ctx_transcript::Role;
use serde::Serialize;

use ctx_ledger::rules::MemoryKind;

/// One thing that a session says, with its place. As JSON the keys stand in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it is.
    pub kind: MemoryKind,
    /// The sentence as it was written, on one line; or the digest of a call or an error.
    pub text: String,
    /// Who said it.
    pub role: Role,
    /// Line in the session, from 1.
    pub line: u64,
    /// Id of the session.
    pub session: String,
    /// The tool, for [`MemoryKind::Runtime`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Of a decision its reason, where the sentence gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Of a preference the words that say for what it holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The day on which it was said (UTC), where the record tells its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<NaiveDate>,
    /// The line of the later decision that takes this one back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken_back: Option<u64>,
}

#[cfg(test)]
mod tests {
    use ctx_transcript::Role;

    use super::{Item, MemoryKind};

    #[test]
    fn keys_stand_in_a_fixed_order() {
        let mut item = Item {
            kind: MemoryKind::Decision,
            text: "a".to_owned(),
            role: Role::User,
            line: 3,
            session: "s".to_owned(),
            tool: None,
            why: None,
            scope: None,
            date: None,
            taken_back: None,
        };
        let json = |item: &Item| serde_json::to_string(item).expect("strings and a number");
        assert_eq!(
            json(&item),
            r#"{"kind":"decision","text":"a","role":"user","line":3,"session":"s"}"#
        );
        item.tool = Some("t".to_owned());
        assert!(json(&item).ends_with(r#","session":"s","tool":"t"}"#));
        item.why = Some("w".to_owned());
        item.scope = Some("x".to_owned());
        item.date = "2026-11-20".parse().ok();
        item.taken_back = Some(9);
        let end = r#","tool":"t","why":"w","scope":"x","date":"2026-11-20","taken_back":9}"#;
        assert!(json(&item).ends_with(end));
    }
}
