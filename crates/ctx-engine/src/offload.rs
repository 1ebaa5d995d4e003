//! Moves tool results to files. All other bytes of a session stay, except those of signed reasoning
//! that becomes invalid. The latest records are held back, because they may turn out to be
//! protected. Earlier records are changed and written.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;

use ctx_format::{
    Call, Dialect, Edits, Frame, Object, Origin, Outline, Portion, Record, Role, Spool, ToolResult,
};
use ctx_policy::SignedReasoning;
use regex::{Captures, Regex};

use crate::appended::{AppendedEdits, RemovedEdits};
use crate::bound_reasoning::BoundReasoning;
use crate::outlet::{Announced, Outlet};
use crate::output_check::OutputCheck;
use crate::{ErrorKind, Notes, PassError, Result};

/// Changes the tool results in a session. The new session is kept in a spool, so the caller can
/// write it once the files that it refers to are safely on disk.
pub struct ChangePass<'c> {
    reading: Reading,
    change: &'c mut dyn Change,
    bound: BoundReasoning,
    checks: Option<OutputCheck>,
    /// The output, or `None` if nothing will be written.
    outlet: Option<Outlet<Spool>>,
    /// The changes that are written as new lines at the end.
    appended: Option<AppendedEdits>,
    removed: RemovedEdits,
    waiting: VecDeque<Waiting>,
    /// The number of assistant messages in `waiting`, for comparison with `protect_last`.
    replies: u64,
    temp: Option<PathBuf>,
    notes: Notes,
}

struct Waiting {
    bytes: Vec<u8>,
    origin: Origin,
    is_reply: bool,
}

impl<'c> ChangePass<'c> {
    /// Creates a pass that keeps its output in a spool in the folder `temp`. If `temp` is `None`,
    /// there is no output.
    pub fn new(reading: Reading, change: &'c mut dyn Change, temp: Option<&Path>) -> Self {
        Self {
            change,
            bound: BoundReasoning::new(reading.signed_reasoning),
            checks: reading
                .dialect
                .filter(|_| !reading.batch && !reading.restores)
                .map(|it| OutputCheck::new(it, true)),
            outlet: temp.map(|temp| Outlet::new(Spool::new(temp), Announced::default(), temp)),
            appended: AppendedEdits::new(reading.dialect.map(|it| it as &dyn Dialect))
                .filter(|_| !reading.restores),
            removed: RemovedEdits::default(),
            waiting: VecDeque::new(),
            replies: 0,
            reading,
            temp: temp.map(Path::to_owned),
            notes: Notes::default(),
        }
    }

    /// Processes the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        if self.reading.batch {
            let new = self.conversation(record)?;
            return self.write(record, new);
        }
        if self.reading.protect_last == 0 {
            return self.give(record, true);
        }
        let outline = self.reading.dialect.and_then(|dialect| record.outline(Some(dialect)));
        let is_reply = outline.is_some_and(|outline| is_reply(&outline));
        self.replies += u64::from(is_reply);
        self.waiting.push_back(Waiting {
            bytes: record.bytes.to_vec(),
            origin: record.origin.clone(),
            is_reply,
        });
        while self.is_first_free() {
            self.release(true)?;
        }
        Ok(())
    }

    /// Changes the conversation in a record of a batch. Returns the new bytes without a tag, or
    /// `None` if nothing changes.
    fn conversation(&mut self, record: &Record<'_>) -> Result<Option<Vec<u8>>> {
        let untagged = record.untagged();
        let plain = record.origin.clone().record(&untagged);
        let Some(frame) = Frame::of_record(&plain) else { return Ok(None) };
        let lines = frame.lines();
        let reading = Reading { batch: false, ..self.reading };
        let mut pass = ChangePass::new(reading, self.change, self.temp.as_deref());
        // What is reported about a message is reported with the line of its conversation.
        let origin = Origin { line: record.line, ..Origin::ALONE };
        for line in lines.split_inclusive(|byte| *byte == b'\n') {
            pass.push(&origin.clone().record(line))?;
        }
        let Some(spool) = pass.finish(0, &mut self.notes)? else { return Ok(None) };
        let mut list = Vec::new();
        spool.write_to(&mut list).map_err(PassError::temporary)?;
        Ok((list != lines).then(|| frame.with(&list)))
    }

    /// Writes the last records unchanged, and returns `change` and the new session. `left_out` is
    /// the number of input records that were not pushed.
    pub fn finish(mut self, left_out: u64, notes: &mut Notes) -> Result<Option<Spool>> {
        while !self.waiting.is_empty() {
            self.release(false)?;
        }
        self.bound.finish(notes)?;
        if let Some(checks) = self.checks {
            checks.finish(None, false, notes)?;
        }
        notes.append(self.notes);
        if let (Some(outlet), Some(appended)) = (&mut self.outlet, self.appended) {
            outlet.append(&appended.finish()).map_err(cannot_wait)?;
        }
        let spool = self.outlet.map(|outlet| outlet.finish(left_out));
        spool.transpose().map_err(cannot_wait)
    }

    /// Returns true if the first waiting record precedes the protected messages.
    fn is_first_free(&self) -> bool {
        let first = self.waiting.front();
        let is_between = first.is_some_and(|first| !first.is_reply);
        let protected = self.reading.protect_last;
        self.replies > protected || (self.replies == protected && is_between)
    }

    fn release(&mut self, may_change: bool) -> Result<()> {
        let Some(first) = self.waiting.pop_front() else { return Ok(()) };
        self.replies -= u64::from(first.is_reply);
        self.give(&first.origin.record(&first.bytes), may_change)
    }

    fn give(&mut self, record: &Record<'_>, may_change: bool) -> Result<()> {
        let mut new = if may_change { self.reading.changed(record, self.change)? } else { None };
        if let Some(dialect) = self.reading.dialect.filter(|_| self.reading.restores) {
            let restored = self.reading.restored_edit(record, self.change)?;
            self.removed.of.extend(restored);
            if self.removed.remove(record, dialect) {
                if let Some(outlet) = &mut self.outlet {
                    outlet.skip(record.piece);
                }
                return Ok(());
            }
            new = new.or_else(|| self.removed.relinked(record, dialect));
        }
        if let Some(dialect) = self.reading.dialect {
            let outline = record.outline(Some(dialect));
            if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
                checks.input(record, outline);
            }
            let is_changed = new.is_some();
            new = self.bound.write(record, new, dialect, is_changed);
            let written = new.as_deref().map(|bytes| record.origin.clone().record(bytes));
            let written = written.as_ref().map_or(outline, |record| record.outline(Some(dialect)));
            if let (Some(checks), Some(outline)) = (&mut self.checks, written) {
                checks.output(record.line, &outline);
            }
        }
        // A line without a tag would break the count in the last tag of a tagged stream.
        self.appended = self.appended.take().filter(|_| record.tag().is_none());
        if self.appended.as_mut().is_some_and(|it| it.take(record, new.as_deref())) {
            new = None;
        }
        self.write(record, new)
    }

    fn write(&mut self, record: &Record<'_>, new: Option<Vec<u8>>) -> Result<()> {
        self.outlet.as_mut().map_or(Ok(()), |outlet| outlet.write(record, new).map_err(cannot_wait))
    }
}

/// Turns an error about the output into an error about a temporary file, because the output is a
/// temporary file.
fn cannot_wait(error: PassError) -> PassError {
    match error.kind {
        ErrorKind::Output(error) => PassError::temporary(error),
        _ => error,
    }
}

/// A template for references to files: text with a placeholder for the file's path, and optional
/// placeholders for facts about the file.
#[derive(Clone, Debug)]
pub struct Template {
    text: String,
    /// Matches any text that [`Template::fill`] can produce.
    matcher: Regex,
}

/// Matches the placeholders in a template.
static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{(?:path|call|sha256|tokens|bytes)\}").expect("a pattern of our own")
});

/// The facts about a file that can be inserted into a template.
#[derive(Clone, Copy, Debug)]
pub struct FileFacts<'a> {
    /// The path of the file.
    pub path: &'a str,
    /// The short name of the call that the offloaded result answers, or empty if the call is
    /// unknown.
    pub call: &'a str,
    /// The SHA-256 hash of the result, in hexadecimal.
    pub sha256: &'a str,
    /// The number of tokens in the result.
    pub tokens: u64,
    /// The length of the file in bytes.
    pub bytes: u64,
}

impl Template {
    /// The default template in `ctx-offload`.
    pub const DEFAULT: &'static str = "Tool result ({call}, {bytes} bytes) is at: {path}";
    /// The default template in older versions.
    pub const OLDER: &'static str = "Tool result is at: {path}";

    /// Returns true if the template has a placeholder for the name of the call.
    pub fn names_call(&self) -> bool {
        self.text.contains("{call}")
    }

    /// Fills in the template, and returns the resulting reference.
    pub fn fill(&self, file: &FileFacts<'_>) -> String {
        let fact = |place: &Captures<'_>| match &place[0] {
            "{path}" => file.path.to_owned(),
            "{call}" if file.call.is_empty() => "an unknown call".to_owned(),
            "{call}" => file.call.to_owned(),
            "{sha256}" => file.sha256.to_owned(),
            "{tokens}" => file.tokens.to_string(),
            _ => file.bytes.to_string(),
        };
        PLACEHOLDER.replace_all(&self.text, fact).into_owned()
    }

    /// If the text is just a reference, returns the path. The default template also accepts
    /// references written by older versions.
    pub fn path_in<'t>(&self, text: &'t str) -> Option<&'t str> {
        static OLDER: LazyLock<Option<Template>> = LazyLock::new(|| Template::OLDER.parse().ok());
        let found = self.matcher.captures(text).and_then(|it| it.name("path"));
        let older = || {
            let older = OLDER.as_ref().filter(|_| self.text == Self::DEFAULT)?;
            older.matcher.captures(text)?.name("path")
        };
        found.or_else(older).map(|path| path.as_str())
    }
}

impl FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.matches("{path}").count() != 1 {
            return Err("{path} must occur exactly once, so that the file can be found".to_owned());
        }
        let mut pattern = "^".to_owned();
        let mut end = 0;
        for place in PLACEHOLDER.find_iter(text) {
            pattern.push_str(&regex::escape(&text[end..place.start()]));
            pattern.push_str(match place.as_str() {
                "{path}" => r"(?P<path>[^\n]+?)",
                // The match is greedy, because a command may contain the text that follows the
                // placeholder.
                "{call}" => r"[^\n]+",
                "{sha256}" => "[0-9a-f]{64}",
                _ => "[0-9]+",
            });
            end = place.end();
        }
        pattern.push_str(&regex::escape(&text[end..]));
        pattern.push('$');
        Ok(Self {
            text: text.to_owned(),
            matcher: Regex::new(&pattern).map_err(|error| error.to_string())?,
        })
    }
}

/// Decides which tool results in a session change, and how.
pub trait Change {
    /// Called with each tool call in the session, before the results in the same message.
    fn call(&mut self, _call: &Call<'_>) {}

    /// Returns the new content of a result, or `None` if the result does not change. `raw` is the
    /// current content as JSON, and `line` is the record's line.
    fn result(
        &mut self,
        line: u64,
        result: &ToolResult<'_>,
        raw: &str,
    ) -> Result<Option<Substitute>>;
}

/// The new content of a tool result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Substitute {
    /// Text that replaces the whole content.
    Text(String),
    /// The original content as JSON, restored.
    Json(String),
}

/// The options for reading and protecting records.
#[derive(Clone, Copy, Default)]
pub struct Reading {
    /// The session's dialect.
    pub dialect: Option<&'static dyn Dialect>,
    /// Whether the input is a batch, in which each record is a whole conversation.
    pub batch: bool,
    /// The number of assistant messages to protect, counted from the end. Everything after the
    /// first protected message is protected as well. A session with fewer assistant messages than
    /// `protect_last` does not change.
    pub protect_last: u64,
    /// What to do with signed reasoning after a change.
    pub signed_reasoning: SignedReasoning,
    /// Whether `change` restores content. The output may then break a rule that the input obeys,
    /// because the restored content may break it. Lines that changed the content are removed.
    pub restores: bool,
}

impl Reading {
    /// Returns the record with its changes but without a tag, or `None` if nothing changes.
    pub fn changed(&self, record: &Record<'_>, change: &mut dyn Change) -> Result<Option<Vec<u8>>> {
        let (Some(dialect), Some(object)) = (self.dialect, record.whole_object()) else {
            return Ok(None);
        };
        if record.is_outside() {
            return Ok(None);
        }
        let edits = results(dialect, object, record.line, change)?;
        if edits.is_empty() {
            return Ok(None);
        }
        let bytes = record.edited(&edits);
        // A change must not alter, for example, which calls the results answer.
        let outline = |object: &_| dialect.outline(object).map(Outline::without_content);
        let after = record.origin.clone().record(&bytes);
        let is_same = after.whole_object().is_some_and(|after| outline(after) == outline(object));
        if is_same { Ok(Some(bytes)) } else { Err(ErrorKind::OtherRecord.at(record.line)) }
    }

    /// Returns the id of the record if another line changes its content, and `change` restores the
    /// record's own content.
    fn restored_edit(
        &self,
        record: &Record<'_>,
        change: &mut dyn Change,
    ) -> Result<Option<String>> {
        let is_edited = record.portion.as_ref().is_some_and(Portion::is_content);
        let (Some(dialect), Some(object), true) = (self.dialect, record.whole_object(), is_edited)
        else {
            return Ok(None);
        };
        let (Some(new), Some(old)) = (dialect.message(object), dialect.message(&object.whole()))
        else {
            return Ok(None);
        };
        let mut is_restored = false;
        for (new, old) in new.results().zip(old.results()) {
            let raw = old.slot.as_ref().map(|slot| &object.text()[slot.range.clone()]);
            let restored = change.result(record.line, new, "")?;
            is_restored |=
                matches!((restored, raw), (Some(Substitute::Json(json)), Some(raw)) if json == raw);
        }
        Ok(dialect.links(object).id.filter(|_| is_restored).map(Cow::into_owned))
    }
}

/// Returns true if the message is one of those counted by `protect_last`.
fn is_reply(outline: &Outline<'_>) -> bool {
    outline.role == Role::Assistant && outline.begins_message()
}

/// Passes the results in one message to `change`, and returns the resulting edits.
fn results(
    dialect: &dyn Dialect,
    object: &Object<'_>,
    line: u64,
    change: &mut dyn Change,
) -> Result<Edits> {
    let mut edits = Edits::default();
    let Some(message) = dialect.message(object) else { return Ok(edits) };
    message.calls().for_each(|call| change.call(call));
    for result in message.results() {
        let Some(slot) = &result.slot else { continue };
        let raw = &object.text()[slot.range.clone()];
        match change.result(line, result, raw)? {
            Some(Substitute::Text(text)) => edits.put(slot, &text),
            Some(Substitute::Json(json)) => {
                let is_list = json.starts_with('[');
                let list = || only_text(object.text(), &slot.range).filter(|_| is_list);
                edits.replace(list().unwrap_or_else(|| slot.range.clone()), json);
            }
            None => {}
        }
    }
    Ok(edits)
}

/// Returns the range of the list whose only block is the text at `range`, as [`Edits::put`] writes
/// it.
fn only_text(object: &str, range: &Range<usize>) -> Option<Range<usize>> {
    let before = object[..range.start].strip_suffix(r#"[{"type":"text","text":"#)?;
    object[range.end..].starts_with("}]").then(|| before.len()..range.end + 2)
}

#[cfg(test)]
mod tests {
    use super::{FileFacts, Template};

    const FACTS: FileFacts<'_> = FileFacts {
        path: "/s/offloaded/demo/x y.txt",
        call: "Bash cat a, 3 bytes) is at: /b",
        sha256: "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
        tokens: 2_301,
        bytes: 9_021,
    };

    #[test]
    fn what_is_written_is_read() {
        for (template, text) in [
            (
                Template::DEFAULT,
                "Tool result (Bash cat a, 3 bytes) is at: /b, 9021 bytes) is at: /s/offloaded/demo/x y.txt",
            ),
            (Template::OLDER, "Tool result is at: /s/offloaded/demo/x y.txt"),
            ("{path}", "/s/offloaded/demo/x y.txt"),
            (
                "[{tokens} tokens ({bytes} bytes) are in {path}]",
                "[2301 tokens (9021 bytes) are in /s/offloaded/demo/x y.txt]",
            ),
            ("see {path} {{bytes}}", "see /s/offloaded/demo/x y.txt {9021}"),
            (
                "a.c {x} {}\n{path} {sha256} {tokens}{bytes}",
                "a.c {x} {}\n/s/offloaded/demo/x y.txt 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 23019021",
            ),
        ] {
            let template: Template = template.parse().expect(template);
            assert_eq!(template.fill(&FACTS), text);
            assert_eq!(template.path_in(text), Some(FACTS.path));
        }
    }

    #[test]
    fn what_older_versions_wrote_by_default_is_read() {
        let path_in = |template: &str| {
            let template: Template = template.parse().expect("a template");
            let path = template.path_in("Tool result is at: /a b");
            path.map(str::to_owned)
        };
        assert_eq!(path_in(Template::DEFAULT).as_deref(), Some("/a b"));
        assert_eq!(path_in("at {path}"), None);
    }

    #[test]
    fn a_call_that_is_not_known_is_said_to_be() {
        let template: Template = Template::DEFAULT.parse().expect("a template");
        let unknown = FileFacts { call: "", ..FACTS };
        let text = template.fill(&unknown);
        assert!(text.starts_with("Tool result (an unknown call, 9021 bytes) is at: /"));
        assert_eq!(template.path_in(&text), Some(FACTS.path));
    }

    #[test]
    fn a_text_with_more_in_it_is_no_reference() {
        let template: Template = Template::DEFAULT.parse().expect("a template");
        for text in [
            "",
            "Tool result is at: ",
            "Tool result is at: /a\n/b",
            "Tool result is at: /a\n",
            " Tool result is at: /a",
            "tool result is at: /a",
        ] {
            assert_eq!(template.path_in(text), None, "{text}");
        }
    }

    #[test]
    fn a_template_names_the_path_once() {
        for bad in ["", "at {sha256}", "{path}{path}"] {
            assert!(bad.parse::<Template>().is_err(), "{bad}");
        }
    }
}

#[cfg(test)]
mod change_tests {
    use ctx_format::{Origin, ToolResult, dialect};

    use super::{Change, Reading, Substitute};
    use crate::{ErrorKind, Result};

    /// Replaces every result with the given JSON.
    struct Put(&'static str);

    impl Change for Put {
        fn result(&mut self, _: u64, _: &ToolResult<'_>, _: &str) -> Result<Option<Substitute>> {
            Ok(Some(Substitute::Json(self.0.to_owned())))
        }
    }

    fn changed(dialect: Option<&str>, json: &'static str, bytes: &str) -> Result<Option<String>> {
        let reading = Reading { dialect: dialect.and_then(dialect::by_name), ..Reading::default() };
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
    fn a_result_with_content_that_the_api_rejects_may_change() {
        let record = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":" "}]}]}"#;
        assert!(changed(Some("anthropic"), "\"b\"", record).expect("the same message").is_some());
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
