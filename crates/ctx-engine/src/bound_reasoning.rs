//! Finds signed reasoning that is invalidated by a change to the session. Newer models bind each
//! block of reasoning to all messages before it. If any of those messages changes, the API rejects
//! or drops the block.

use std::collections::BTreeSet;

use ctx_format::{Dialect, Record, counted};

use crate::Notes;

/// For each model family, the first version that binds reasoning to the messages before it. After a
/// change, Claude rejects the block
/// (platform.claude.com/docs/en/build-with-claude/preserved-thinking); GPT drops the block
/// (developers.openai.com/api/docs/guides/keep-prefix-unchanged).
const BINDING_SINCE: [(&str, [u64; 2]); 6] = [
    ("fable-", [5, 1]),
    ("mythos-", [5, 1]),
    ("opus-", [5, 5]),
    ("sonnet-", [5, 5]),
    ("haiku-", [5, 5]),
    ("gpt-", [6, 2]),
];

/// Counts the blocks of signed reasoning after the first changed or dropped message.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundReasoning {
    /// Whether a message has been changed or dropped so far.
    pub(crate) changed: bool,
    blocks: usize,
    first_line: u64,
    /// The model in use at this point, if the session names it.
    model: Option<String>,
    models: BTreeSet<Option<String>>,
}

impl BoundReasoning {
    /// Examines the next record. `new` holds the record's new bytes if it changes. `changes` is
    /// true if anything other than the record's own reasoning changes.
    pub(crate) fn write(
        &mut self,
        record: &Record<'_>,
        new: Option<&[u8]>,
        dialect: &dyn Dialect,
        changes: bool,
    ) {
        match new {
            Some(bytes) if self.changed => self.keep(&record.origin().record(bytes), dialect),
            _ => self.keep(record, dialect),
        }
        self.changed |= changes;
    }

    /// Examines a record that stays unchanged.
    pub(crate) fn keep(&mut self, record: &Record<'_>, dialect: &dyn Dialect) {
        let Some(object) = record.whole_object().filter(|_| self.changed) else { return };
        if let Some(model) = dialect.model(object) {
            self.model = Some(model.into_owned());
        }
        let blocks = dialect.sealed(object).reasoning;
        let is_bound = self.model.as_deref().is_none_or(binds);
        if blocks == 0 || !is_bound || record.is_outside() {
            return;
        }
        if self.blocks == 0 {
            self.first_line = record.line;
        }
        self.blocks += blocks;
        self.models.insert(self.model.clone());
    }

    /// Warns about the blocks of signed reasoning that were found.
    pub(crate) fn warn(&self, notes: &mut Notes) {
        if self.blocks == 0 {
            return;
        }
        let blocks = counted(self.blocks, "signed block");
        let name = |model: &Option<String>| {
            model.clone().unwrap_or_else(|| "an unrecorded model".to_owned())
        };
        let models = self.models.iter().map(name).collect::<Vec<_>>().join(", ");
        let text = format_args!(
            "{blocks} of reasoning after a changed message, by {models}: Claude Fable 5.1, Opus 5.5 and newer refuse such a session, and GPT-6.2 drops the reasoning"
        );
        notes.warn_at(self.first_line, text);
    }
}

/// Returns true if a model binds its reasoning to the messages before it.
fn binds(model: &str) -> bool {
    BINDING_SINCE.iter().any(|(family, since)| {
        let Some((_, version)) = model.split_once(family) else { return false };
        let numbers = version.split(|c: char| !c.is_ascii_alphanumeric());
        let numbers = numbers.map_while(|number| number.parse().ok());
        // A number this large is a release date rather than part of a version.
        let mut numbers = numbers.filter(|number: &u64| *number < 1000);
        let mut next = || numbers.next().unwrap_or(0);
        [next(), next()] >= *since
    })
}

#[cfg(test)]
mod tests {
    use super::binds;

    #[test]
    fn reasoning_is_bound_since_a_version_of_each_family() {
        for (model, expected) in [
            ("claude-fable-5-1", true),
            ("claude-fable-5", false),
            ("claude-fable-5-20260301", false),
            ("claude-opus-5-5-20260831", true),
            ("anthropic/claude-opus-6", true),
            ("claude-opus-5-5@20260831", true),
            ("anthropic/claude-opus-5.5:thinking", true),
            ("claude-opus-5-5[1m]", true),
            ("us.anthropic.claude-opus-5-5-v1:0", true),
            ("claude-opus-4-5-20251101", false),
            ("claude-3-5-sonnet-20241022", false),
            ("gpt-6.2-codex", true),
            ("gpt-6.1", false),
            ("gpt-5-mini", false),
            ("gemini-3-pro", false),
            ("", false),
        ] {
            assert_eq!(binds(model), expected, "{model}");
        }
    }
}
