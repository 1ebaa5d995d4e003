//! Changing the contents of tool results: every other byte of a record stays.

use ctx_cli::Failure;
use ctx_transcript::{Conversation, Dialect, Edits, Line, Object, Record, Slot, ToolResult};

/// What is done with the results of a session.
pub(crate) trait Change {
    /// Edits the content of a result, which stands in `slot` and is `raw` now, or
    /// leaves it.
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        slot: &Slot,
        raw: &str,
        edits: &mut Edits,
    ) -> Result<(), Failure>;
}

/// How records are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) dialect: Option<&'static dyn Dialect>,
    pub(crate) batch: bool,
    /// So many messages at the end, system ones not counted, stay as they are.
    pub(crate) protect_last: u64,
}

impl Reading {
    /// The untagged bytes of a record with the changes made; `None` when nothing changes.
    pub(crate) fn changed(
        &self,
        record: &Record<'_>,
        change: &mut dyn Change,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let (Some(dialect), Some(object)) = (self.dialect, record.whole_object()) else {
            return Ok(None);
        };
        let mut edits = Edits::new();
        for message in self.messages(dialect, object) {
            let start = object.place_of(message.text()).start;
            edits.extend_at(start, results(dialect, &message, record.line, change)?);
        }
        if edits.is_empty() {
            return Ok(None);
        }
        let bytes = record.edited(&edits);
        self.check(dialect, record, object, &bytes)?;
        Ok(Some(bytes))
    }

    /// The messages of a record that may be changed.
    fn messages<'a>(&self, dialect: &dyn Dialect, object: &Object<'a>) -> Vec<Object<'a>> {
        if !self.batch {
            return vec![object.clone()];
        }
        let Some(mut conversation) = Conversation::of(object) else {
            return Vec::new();
        };
        let messages = &mut conversation.messages;
        let mut protected = self.protect_last;
        while protected > 0
            && let Some(last) = messages.pop()
        {
            protected -= u64::from(counts(dialect, &last));
        }
        conversation.messages
    }

    /// Whether the record is one of the messages that --protect-last counts.
    pub(crate) fn counts(&self, record: &Record<'_>) -> bool {
        self.dialect
            .zip(record.whole_object())
            .is_some_and(|(dialect, object)| counts(dialect, object))
    }

    /// Calls and results pair as before: so the output has the offences of the
    /// input, and no other.
    fn check(
        &self,
        dialect: &dyn Dialect,
        record: &Record<'_>,
        object: &Object<'_>,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let after = Record::classify(Line {
            bytes,
            number: record.line,
            offset: record.offset,
            piece: record.piece,
        });
        let same = after.whole_object().is_some_and(|after| {
            let all = Self {
                protect_last: 0,
                ..*self
            };
            let before = all.messages(dialect, object);
            let after = all.messages(dialect, after);
            before.len() == after.len()
                && before
                    .iter()
                    .zip(&after)
                    .all(|(before, after)| dialect.outline(before) == dialect.outline(after))
        });
        if same {
            return Ok(());
        }
        Err(Failure::new(format_args!(
            "line {}: the change would break the record; nothing was written",
            record.line
        )))
    }
}

fn counts(dialect: &dyn Dialect, object: &Object<'_>) -> bool {
    dialect
        .outline(object)
        .is_some_and(|outline| !outline.role.is_system())
}

/// Hands the results of one message to `change`.
fn results(
    dialect: &dyn Dialect,
    object: &Object<'_>,
    line: u64,
    change: &mut dyn Change,
) -> Result<Edits, Failure> {
    let mut edits = Edits::new();
    let Some(message) = dialect.message(object) else {
        return Ok(edits);
    };
    for result in message.results() {
        if let Some(slot) = &result.slot {
            let raw = &object.text()[slot.range.clone()];
            change.result(line, result, slot, raw, &mut edits)?;
        }
    }
    Ok(edits)
}
