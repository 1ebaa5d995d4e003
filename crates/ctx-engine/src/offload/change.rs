//! A change of the contents of tool results: every other byte of a record stays.

use ctx_format::{Call, Conversation, Dialect, Edits, Object, Outline, Record, Role, ToolResult};

use crate::{ErrorKind, PassError};

/// A change of the results of a session.
pub trait Change {
    /// Sees a call of the session, before any result of its message.
    fn call(&mut self, _call: &Call<'_>) {}

    /// The new content of a result, whose content is now the JSON `raw`; `None` if it stays. `line`
    /// is the record's.
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        raw: &str,
    ) -> Result<Option<Substitute>, PassError>;
}

/// The new content of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Substitute {
    /// A text.
    Text(String),
    /// JSON, as it was before an earlier change.
    Json(String),
}

/// How records are read.
#[derive(Clone, Copy)]
pub struct Reading {
    /// The session's dialect.
    pub dialect: Option<&'static dyn Dialect>,
    /// Whether each record is a whole conversation.
    pub batch: bool,
    /// So many of the last assistant messages stay with all that follows; a session with fewer
    /// of them stays whole.
    pub protect_last: u64,
}

impl Reading {
    /// The untagged bytes of a record with the changes applied; `None` if nothing changes. In a
    /// batch record the last messages are protected here.
    pub fn changed(
        &self,
        record: &Record<'_>,
        change: &mut dyn Change,
    ) -> Result<Option<Vec<u8>>, PassError> {
        let (Some(dialect), Some(object)) = (self.dialect, record.whole_object()) else {
            return Ok(None);
        };
        if record.is_outside() {
            return Ok(None);
        }
        let mut messages = self.messages(object);
        if self.batch {
            self.protect(dialect, &mut messages);
        }
        let mut edits = Edits::new();
        for message in messages {
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

    fn messages<'a>(&self, object: &Object<'a>) -> Vec<Object<'a>> {
        if self.batch {
            Conversation::of(object).map_or_else(Vec::new, |whole| whole.messages)
        } else {
            vec![object.clone()]
        }
    }

    fn protect(&self, dialect: &dyn Dialect, messages: &mut Vec<Object<'_>>) {
        let Some(before) = self.protect_last.checked_sub(1) else {
            return;
        };
        let is_reply = |index: &usize| {
            let outline = dialect.outline(&messages[*index]);
            outline.is_some_and(|outline| is_reply(&outline))
        };
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        let first = (0..messages.len()).rev().filter(is_reply).nth(before);
        messages.truncate(first.unwrap_or(0));
    }

    /// Whether the record is one of the messages that `protect_last` counts.
    pub(super) fn is_reply(&self, record: &Record<'_>) -> bool {
        let outline = self.dialect.and_then(|it| record.outline(Some(it)));
        outline.is_some_and(|outline| is_reply(&outline))
    }

    /// Refuses a change after which calls and results pair in another way.
    fn check(
        &self,
        dialect: &dyn Dialect,
        record: &Record<'_>,
        before: &Object<'_>,
        bytes: &[u8],
    ) -> Result<(), PassError> {
        let after = record.origin().record(bytes);
        let is_same = after.whole_object().is_some_and(|after| {
            let (before, after) = (self.messages(before), self.messages(after));
            let before = before.iter().map(|message| dialect.outline(message));
            before.eq(after.iter().map(|message| dialect.outline(message)))
        });
        if is_same { Ok(()) } else { Err(ErrorKind::OtherRecord.at(record.line)) }
    }
}

fn is_reply(outline: &Outline<'_>) -> bool {
    outline.role == Role::Assistant && outline.begins_message()
}

/// Hands the results of one message to `change`.
fn results(
    dialect: &dyn Dialect,
    object: &Object<'_>,
    line: u64,
    change: &mut dyn Change,
) -> Result<Edits, PassError> {
    let mut edits = Edits::new();
    let Some(message) = dialect.message(object) else {
        return Ok(edits);
    };
    message.calls().for_each(|call| change.call(call));
    for result in message.results() {
        let Some(slot) = &result.slot else { continue };
        let raw = &object.text()[slot.range.clone()];
        match change.result(line, result, raw)? {
            Some(Substitute::Text(text)) => edits.put(slot, &text),
            Some(Substitute::Json(json)) => edits.replace(slot.range.clone(), json),
            None => {}
        }
    }
    Ok(edits)
}

#[cfg(test)]
mod tests {
    use ctx_format::{Origin, ToolResult, dialect};

    use super::{Change, Reading, Substitute};
    use crate::{ErrorKind, PassError};

    /// Puts this JSON in the place of every result.
    struct Put(&'static str);

    impl Change for Put {
        fn result(
            &mut self,
            _: u64,
            _: &ToolResult<'_>,
            _: &str,
        ) -> Result<Option<Substitute>, PassError> {
            Ok(Some(Substitute::Json(self.0.to_owned())))
        }
    }

    fn changed(
        dialect: Option<&str>,
        json: &'static str,
        bytes: &str,
    ) -> Result<Option<String>, PassError> {
        let reading =
            Reading { dialect: dialect.and_then(dialect::by_name), batch: false, protect_last: 0 };
        let origin = Origin { line: 3, ..Origin::ALONE };
        let record = origin.record(bytes.as_bytes());
        let bytes = reading.changed(&record, &mut Put(json))?;
        Ok(bytes.map(|bytes| String::from_utf8(bytes).expect("text")))
    }

    const RESULT: &str = "{\"role\":\"tool\",\"tool_call_id\":\"c\" , \"content\": \"a\" }\n";

    #[test]
    fn only_the_content_of_a_result_changes() {
        let new = changed(Some("chat"), "\"b\"", RESULT).expect("no failure");
        assert_eq!(new, Some(RESULT.replace("\"a\"", "\"b\"")));
        let user = "{\"role\":\"user\",\"content\":\"a\"}\n";
        assert_eq!(changed(Some("chat"), "\"b\"", user).expect("no failure"), None);
        assert_eq!(changed(None, "\"b\"", RESULT).expect("no failure"), None);
        assert_eq!(changed(Some("chat"), "\"b\"", "broken\n").expect("no failure"), None);
    }

    #[test]
    fn a_change_that_makes_another_message_of_it_is_refused() {
        for json in ["\"b\",\"role\":\"user\"", "\"b\",\"tool_call_id\":\"d\""] {
            let error = changed(Some("chat"), json, RESULT).expect_err(json);
            assert!(matches!(error.kind, ErrorKind::OtherRecord));
            assert_eq!(error.lines, [3]);
        }
    }
}
