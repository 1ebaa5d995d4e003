//! Sessions that are not fully understood. Nothing is removed from them, because an unread part may
//! belong to it.

use ctx_format::{Dialect, Foreign, Object, Record, Unread, UnreadRule};

use crate::{ErrorKind, PassError};

/// The first thing in a session that claims to be a message and is not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstUnread(Option<Found>);

#[derive(Clone, Debug)]
struct Found {
    line: u64,
    unread: Unread,
    foreign: Option<Foreign>,
}

impl FirstUnread {
    /// Looks at the next record, unless something was found.
    pub(crate) fn look_at(&mut self, record: &Record<'_>, dialect: Option<&dyn Dialect>) {
        if let (None, Some(dialect), Some(object)) = (&self.0, dialect, record.whole_object()) {
            let unread = record.unread(dialect);
            let is_summary = || holds_vendor_summary(record, dialect);
            let unread = unread.or_else(|| is_summary().then(Unread::vendor_summary));
            self.0 = unread.and_then(|unread| Found::of(record.line, unread, object, dialect));
        }
    }

    /// The same with a message of a conversation, which has a number in it.
    pub(crate) fn look_at_message(
        &mut self,
        number: u64,
        object: &Object<'_>,
        dialect: &dyn Dialect,
    ) {
        if self.0.is_none() {
            let unread = dialect.unread(object);
            let is_summary = || is_vendor_summary(object, dialect);
            let unread = unread.or_else(|| is_summary().then(Unread::vendor_summary));
            self.0 = unread.and_then(|unread| Found::of(number, unread, object, dialect));
        }
    }

    /// An error where something was found, so that nothing can be `done`.
    pub(crate) fn refuse(&self, done: &'static str) -> Result<(), PassError> {
        let Some(Found { line, unread, foreign }) = &self.0 else {
            return Ok(());
        };
        let kind = ErrorKind::Unread { unread: unread.clone(), foreign: *foreign, done };
        Err(kind.at(*line))
    }
}

/// Whether the record holds, in the context, a summary that the vendor's server wrote: it is
/// understood, but would leave with what it stands for.
pub(crate) fn holds_vendor_summary(record: &Record<'_>, dialect: &dyn Dialect) -> bool {
    let object = record.whole_object().filter(|_| !record.is_outside());
    object.is_some_and(|object| is_vendor_summary(object, dialect))
}

fn is_vendor_summary(object: &Object<'_>, dialect: &dyn Dialect) -> bool {
    // Few records have the word, and a search is cheaper than reading each of them again.
    object.text().contains("compaction") && dialect.sealed(object).has_summary
}

impl Found {
    /// `None` for an unknown line in a list of messages; it goes with those around it, and is
    /// counted.
    fn of(line: u64, unread: Unread, object: &Object<'_>, dialect: &dyn Dialect) -> Option<Self> {
        let foreign = Foreign::of(object, Some(dialect));
        let is_line = unread.rule == UnreadRule::Item && !dialect.is_linked() && foreign.is_none();
        (!is_line).then_some(Self { line, unread, foreign })
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::by_name;
    use ctx_format::{Dialect, Origin};

    use super::FirstUnread;

    /// Why a session of that dialect with this record in its second line is refused.
    fn refusal(dialect: &str, record: &str) -> Option<String> {
        let dialect = by_name(dialect);
        let mut unread = FirstUnread::default();
        for (line, bytes) in [(1, "{\"role\":\"user\",\"content\":\"a\"}"), (2, record), (3, "{}")]
        {
            let origin = Origin { line, ..Origin::ALONE };
            let record = origin.record(bytes.as_bytes());
            unread.look_at(&record, dialect.map(|it| it as &dyn Dialect));
        }
        let error = unread.refuse("compacted").err()?;
        assert_eq!(error.lines, [2]);
        Some(error.kind.to_string())
    }

    /// 15 B2: what may be a call or a result stops who would take it out.
    #[test]
    fn what_may_belong_to_a_call_is_refused_and_other_lines_are_not() {
        let refused = |dialect, record| refusal(dialect, record).expect("refused");
        assert_eq!(
            refused("chat", r#"{"role":"critic","content":"x"}"#),
            r#"the role "critic" is not known in chat, so nothing can be compacted"#
        );
        assert_eq!(
            refused("chat", r#"{"role":"toolResult","toolCallId":"c","content":[]}"#),
            r#"the role "toolResult" is not known in chat, so nothing can be compacted: this is a list of pi messages without the entries of its session file"#
        );
        assert_eq!(
            refused("anthropic", r#"{"role":"user","content":[{"type":"smell"}]}"#),
            r#"a part of the type "smell" is not read, so nothing can be compacted"#
        );
        refused("responses", r#"{"type":"dream_call","call_id":"c"}"#);
        // In another format it may be a call.
        refused("chat", r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#);
        assert_eq!(refusal("chat", r#"{"type":"progress"}"#), None);
        assert_eq!(refusal("chat", "no JSON"), None);
    }
}
