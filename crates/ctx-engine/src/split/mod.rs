//! Zones: which records are system messages, old, or kept.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ctx_format::{Class, Conversation, Dialect, Outline, Piece, Record, Splice, Spool, Tag, Zone};
use ctx_policy::keep::Keep;
use serde::Serialize;

use crate::counter::MessageCounter;
use crate::zones::{Facts, Reason, Splitter, Verdict};
use crate::{PassError, Pin, TaggedWriter, pins};

/// What is kept, and what is written.
pub struct Plan {
    /// How much of the end is kept.
    pub keep: Keep,
    /// Records that are kept.
    pub pins: Vec<Pin>,
    /// Set if tokens decide.
    pub counter: Option<MessageCounter>,
    /// Only records of this zone are written.
    pub only: Option<Zone>,
    /// The folder of temporary files.
    pub temp: PathBuf,
}

/// Tags the records of a session with their zones, as soon as these cannot change any
/// more.
pub struct SplitPass<'p, W> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    splitter: Splitter,
    sink: Sink<W>,
    /// Bytes so far of a line that comes in pieces.
    length: usize,
}

impl<'p, W: Write> SplitPass<'p, W> {
    /// A pass that writes to `output`.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, output: W) -> Self {
        Self {
            plan,
            dialect,
            splitter: Splitter::new(plan.keep),
            sink: Sink::new(output, plan.only, &plan.temp),
            length: 0,
        }
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let untagged = record.untagged();
        self.sink.spool(&untagged)?;
        self.length += untagged.len();
        if !record.piece.ends() {
            return Ok(());
        }
        let mut tag = record.tag().unwrap_or_default();
        let length = (untagged.len() - record.line_end().len()) as u64;
        tag.pin = self.decide(record, &mut tag, length);
        tag.line = Some(record.line);
        tag.bytes = Some(length);
        self.sink.waiting.push_back(Item {
            length: std::mem::take(&mut self.length),
            splice: record.splice(),
            tag,
        });
        self.write()
    }

    /// The next record, which is a whole conversation.
    pub fn push_batch(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        split(self.plan, self.dialect, record, &mut self.sink)
    }

    /// Writes the rest, marks the end, and gives the output back.
    pub fn finish(mut self) -> Result<(W, ZoneCounts), PassError> {
        self.splitter.finish();
        self.write()?;
        self.sink.finish()
    }

    /// Tells the splitter of the record, and its tag of its tokens; returns the selector
    /// that pins it.
    fn decide(&mut self, record: &Record<'_>, tag: &mut Tag, length: u64) -> Option<String> {
        if record.class == Class::Tail {
            self.splitter.push(Facts::Tail);
            return None;
        }
        let Some(outline) = record.outline(self.dialect) else {
            self.splitter.push(Facts::Line);
            return None;
        };
        let message = || record.message(self.dialect);
        let pin = pins::first(&self.plan.pins, record, outline.role, message);
        if let Some(counter) = &self.plan.counter {
            tag.tokens = Some(match self.dialect {
                Some(_) => counter.total(Some(tag), length, message),
                None => counter.text(&String::from_utf8_lossy(record.bytes)),
            });
            tag.encoding = Some(counter.encoding().name().to_owned());
        }
        let counted = self.plan.counter.and(tag.tokens);
        self.splitter.push(Facts::Message {
            outline: &outline,
            tokens: counted.unwrap_or(0),
            pinned: pin.is_some(),
        });
        pin.map(ToString::to_string)
    }

    /// Writes what is decided.
    fn write(&mut self) -> Result<(), PassError> {
        for verdict in self.splitter.by_ref() {
            self.sink.decided(&verdict)?;
        }
        Ok(())
    }
}

/// Tags one record with the zones of its messages. What is no conversation
/// passes with a tag that names none.
fn split(
    plan: &Plan,
    dialect: Option<&'static dyn Dialect>,
    record: &Record<'_>,
    sink: &mut Sink<impl Write>,
) -> Result<(), PassError> {
    let untagged = record.untagged();
    let mut tag = record.tag().unwrap_or_default();
    tag.line = Some(record.line);
    tag.bytes = Some((untagged.len() - record.line_end().len()) as u64);
    tag.end = None;
    tag.zones = record
        .whole_object()
        .and_then(Conversation::of)
        .map(|conversation| zones(plan, dialect, record, &conversation));
    let splice = record.splice().filter(|_| record.piece == Piece::Whole);
    sink.tagged(&untagged, splice, tag)
}

fn zones(
    plan: &Plan,
    dialect: Option<&'static dyn Dialect>,
    record: &Record<'_>,
    conversation: &Conversation<'_>,
) -> Vec<Zone> {
    let mut splitter = Splitter::new(plan.keep);
    for object in &conversation.messages {
        let outline = match dialect {
            Some(dialect) => dialect.outline(object),
            None => Some(Outline::of_line()),
        };
        let Some(outline) = outline else {
            splitter.push(Facts::Line);
            continue;
        };
        let message = || dialect.and_then(|dialect| dialect.message(object));
        let pin = pins::first(&plan.pins, record, outline.role, message);
        let tokens = plan.counter.as_ref().map_or(0, |counter| match message() {
            Some(message) => counter.message(&message).total(),
            None => counter.text(object.text()),
        });
        splitter.push(Facts::Message { outline: &outline, tokens, pinned: pin.is_some() });
    }
    splitter.finish();
    splitter.map(|verdict| verdict.zone).collect()
}

/// The report for programs. The keys are a contract: keys may be added, but none is removed.
#[derive(Serialize)]
pub struct SplitJson<'a> {
    name: Option<&'a str>,
    output: Option<String>,
    dialect: Option<&'static str>,
    /// Records of each zone.
    zones: ZoneCounts,
    first_kept_index: Option<u64>,
}

impl ZoneCounts {
    /// For the session `name`; `output` is the written file.
    pub fn json<'a>(
        &self,
        name: Option<&'a str>,
        output: Option<&Path>,
        dialect: Option<&'static str>,
    ) -> SplitJson<'a> {
        SplitJson {
            name,
            output: output.map(|path| path.display().to_string()),
            dialect,
            zones: *self,
            first_kept_index: self.first_keep,
        }
    }
}

/// A record in waiting: its bytes are in the spool.
struct Item {
    length: usize,
    splice: Option<Splice>,
    tag: Tag,
}

/// Takes records and verdicts in order; writes tagged records.
struct Sink<W> {
    writer: TaggedWriter<W>,
    only: Option<Zone>,
    waiting: VecDeque<Item>,
    spool: Spool,
    counts: ZoneCounts,
}

/// How many records were written, by zone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ZoneCounts {
    /// System messages.
    pub system: u64,
    /// Records to summarize.
    pub old: u64,
    /// Records to keep.
    pub keep: u64,
    /// Number of the first record that is kept, from 0.
    #[serde(skip)]
    pub first_keep: Option<u64>,
}

/// Bytes of a long line that are in memory at once.
const CHUNK: usize = 1 << 20;

impl<W: Write> Sink<W> {
    fn new(output: W, only: Option<Zone>, temp: &Path) -> Self {
        Self {
            writer: TaggedWriter::new(output, temp),
            only,
            waiting: VecDeque::new(),
            spool: Spool::new(temp),
            counts: ZoneCounts::default(),
        }
    }

    /// Bytes of the next record.
    fn spool(&mut self, bytes: &[u8]) -> Result<(), PassError> {
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    /// The verdict on the record that waits longest.
    fn decided(&mut self, verdict: &Verdict) -> Result<(), PassError> {
        let Some(mut item) = self.waiting.pop_front() else {
            return Ok(());
        };
        if self.only.is_some_and(|only| only != verdict.zone) {
            let skipped = self.spool.pop_to(item.length, &mut io::sink());
            return skipped.map_err(PassError::temporary);
        }
        self.counts.add(verdict.zone);
        item.tag.zone = Some(verdict.zone);
        item.tag.group = verdict.exchange;
        if verdict.reason == Reason::LatestUser {
            item.tag.pin = Some("latest-user".to_owned());
        }
        self.write(item)
    }

    /// A record that is tagged unchanged: a batch record.
    fn tagged(&mut self, bytes: &[u8], splice: Option<Splice>, tag: Tag) -> Result<(), PassError> {
        self.counts.keep += 1;
        self.spool(bytes)?;
        self.write(Item { length: bytes.len(), splice, tag })
    }

    fn write(&mut self, item: Item) -> Result<(), PassError> {
        if let Some(splice) = item.splice {
            let bytes = self.pop(item.length)?;
            return self.writer.write(bytes, Some((splice, item.tag)));
        }
        // A line that is too long to be parsed is too long to be held in memory.
        let mut left = item.length;
        while left > 0 {
            let bytes = self.pop(left.min(CHUNK))?;
            left -= bytes.len();
            self.writer.write(bytes, None)?;
        }
        Ok(())
    }

    fn pop(&mut self, length: usize) -> Result<Vec<u8>, PassError> {
        self.spool.pop(length).map_err(PassError::temporary)
    }

    /// Marks the end, writes the rest, and gives the output back.
    fn finish(self) -> Result<(W, ZoneCounts), PassError> {
        let output = self.writer.finish(Some(self.counts.all()))?;
        Ok((output, self.counts))
    }
}

impl ZoneCounts {
    pub(crate) fn add(&mut self, zone: Zone) {
        match zone {
            Zone::System => self.system += 1,
            Zone::Old => self.old += 1,
            Zone::Keep => {
                self.first_keep.get_or_insert(self.system + self.old);
                self.keep += 1;
            }
        }
    }

    fn all(self) -> u64 {
        self.system + self.old + self.keep
    }
}

#[cfg(test)]
mod tests {
    use crate::counter::MessageCounter;
    use ctx_format::{Options, Zone};
    use ctx_policy::keep::Keep;
    use ctx_tokens::Encoding;

    use super::{Plan, SplitPass, ZoneCounts};
    use crate::{Invalid, Session};

    pub(super) fn plan(messages: u64) -> Plan {
        Plan {
            keep: Keep { messages: Some(messages), ..Keep::default() },
            pins: Vec::new(),
            counter: None,
            only: None,
            temp: std::env::temp_dir(),
        }
    }

    /// The output, and the number of records per zone.
    pub(super) fn split(plan: &Plan, batch: bool, input: &str) -> (String, ZoneCounts) {
        let reader = Box::new(std::io::Cursor::new(input.to_owned().into_bytes()));
        let options = Options { batch, ..Options::default() };
        let session = Session::open(reader, &options, Invalid::Keep);
        let mut session = session.expect("from memory");
        let mut pass = SplitPass::new(plan, session.dialect(), Vec::new());
        let read =
            session.each(|record| if batch { pass.push_batch(record) } else { pass.push(record) });
        read.expect("to memory");
        let (written, counts) = pass.finish().expect("to memory");
        (String::from_utf8(written).expect("text"), counts)
    }

    fn said(role: &str, text: &str) -> String {
        format!("{{\"role\":\"{role}\",\"content\":\"{text}\"}}\n")
    }

    fn session() -> String {
        said("system", "x") + &said("user", "a") + &said("assistant", "b") + &said("user", "c")
    }

    /// The tags, without their braces.
    fn tags(written: &str) -> Vec<&str> {
        let lines = written.lines();
        let tag = lines.map(|line| line.strip_prefix("{\"_ctx\":{").unwrap_or_default());
        tag.map(|tag| tag.split_once('}').map_or("", |(tag, _)| tag)).collect()
    }

    #[test]
    fn each_record_says_its_zone_and_the_last_one_how_many_there_are() {
        let (written, counts) = split(&plan(1), false, &session());
        let expected = [
            r#""zone":"system","line":1,"bytes":31"#,
            r#""zone":"old","line":2,"bytes":29"#,
            r#""zone":"old","line":3,"bytes":34"#,
            r#""zone":"keep","line":4,"bytes":29,"end":4"#,
        ];
        assert_eq!(tags(&written), expected);
        assert_eq!((counts.system, counts.old, counts.keep), (1, 2, 1));
        assert_eq!(counts.first_keep, Some(3));
    }

    #[test]
    fn one_zone_alone_is_a_whole_stream() {
        let mut plan = plan(1);
        plan.only = Some(Zone::Old);
        let (written, counts) = split(&plan, false, &session());
        let expected =
            [r#""zone":"old","line":2,"bytes":29"#, r#""zone":"old","line":3,"bytes":34,"end":2"#];
        assert_eq!(tags(&written), expected);
        assert_eq!((counts.old, counts.keep, counts.first_keep), (2, 0, None));
    }

    #[test]
    fn a_pin_is_named_and_so_is_the_latest_request() {
        let mut plan = plan(0);
        plan.pins = vec!["line:3".parse().expect("a selector")];
        let (written, _) = split(&plan, false, &session());
        assert!(tags(&written)[2].contains(r#""pin":"line:3""#), "{written}");
        assert!(tags(&written)[3].contains(r#""pin":"latest-user""#), "{written}");
    }

    #[test]
    fn tokens_are_counted_where_they_decide_and_taken_from_a_tag_that_is_valid() {
        let mut plan = plan(1);
        plan.counter = Some(MessageCounter::new(Encoding::Chars4));
        let tag = |bytes| {
            format!("{{\"_ctx\":{{\"bytes\":{bytes},\"tokens\":99,\"encoding\":\"chars4\"}},")
        };
        for (bytes, tokens) in [(29, 99), (28, 5)] {
            let input = said("user", "a").replacen('{', &tag(bytes), 1);
            let (written, _) = split(&plan, false, &input);
            let expected = format!(r#""bytes":29,"tokens":{tokens},"encoding":"chars4""#);
            assert!(written.contains(&expected), "{written}");
        }
    }

    #[test]
    fn what_was_decided_before_is_decided_anew_and_other_members_stay() {
        let input = said("user", "a").replacen(
            '{',
            "{\"_ctx\":{\"zone\":\"old\",\"pin\":\"x\",\"mine\":1},",
            1,
        );
        let (written, _) = split(&plan(1), false, &input);
        assert_eq!(tags(&written), [r#""zone":"keep","line":1,"bytes":29,"end":1,"mine":1"#]);
    }

    #[test]
    fn lines_that_cannot_carry_a_tag_pass_as_they_came() {
        let input = "broken\n\n".to_owned() + &said("user", "a") + "{\"half";
        let (written, counts) = split(&plan(1), false, &input);
        assert!(written.starts_with("broken\n\n{\"_ctx\""), "{written}");
        assert!(written.ends_with("\n{\"half"), "{written}");
        assert_eq!((counts.system, counts.keep), (2, 2));
        assert!(written.contains("\"end\":4"), "{written}");
    }

    #[test]
    fn without_a_known_format_zones_go_by_lines() {
        let (written, counts) = split(&plan(1), false, "{\"a\":1}\n{\"a\":2}\n");
        assert_eq!((counts.old, counts.keep), (1, 1));
        assert!(
            written.ends_with(
                r#""end":2},"a":2}
"#
            ),
            "{written}"
        );
        assert_eq!(split(&plan(1), false, "").0, "");
    }
}

#[cfg(test)]
mod batch_tests {
    use super::tests::{plan, split};

    const LINE: &str = r#"{"id":1,"messages":[{"role":"system","content":"x"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"what":1},{"role":"user","content":"c"}]}
"#;

    #[test]
    fn a_tag_has_the_zones_of_all_messages() {
        let (written, counts) = split(&plan(1), true, LINE);
        let tag = format!(
            r#"{{"_ctx":{{"zones":["system","old","old","old","keep"],"line":1,"bytes":{},"end":1}},"id":1"#,
            LINE.len() - 1
        );
        assert!(written.starts_with(&tag), "{written}");
        assert_eq!((counts.keep, counts.old), (1, 0));
    }

    #[test]
    fn pins_and_tokens_decide_in_each_conversation() {
        let mut plan = plan(1);
        plan.pins = vec!["role:assistant".parse().expect("a selector")];
        let (written, _) = split(&plan, true, LINE);
        let zones = r#""zones":["system","old","keep","keep","keep"]"#;
        assert!(written.contains(zones), "{written}");
    }

    #[test]
    fn what_is_no_conversation_passes_without_zones() {
        let input = "{\"no\":1}\nbroken\n".to_owned() + LINE;
        let (written, _) = split(&plan(1), true, &input);
        let first = "{\"_ctx\":{\"line\":1,\"bytes\":8},\"no\":1}\nbroken\n";
        assert!(written.starts_with(first), "{written}");
        assert!(written.contains("\"end\":3"), "{written}");
    }
}

#[cfg(test)]
mod sink_tests {
    use std::path::Path;

    use crate::zones::{Reason, Verdict};
    use ctx_format::{Tag, Zone};

    use super::{CHUNK, Item, Sink, ZoneCounts};

    fn verdict(zone: Zone) -> Verdict {
        Verdict { zone, reason: Reason::Window, exchange: None }
    }

    #[test]
    fn a_line_longer_than_memory_passes_in_pieces() {
        let mut sink = Sink::new(Vec::new(), None, Path::new("/tmp"));
        let length = 2 * CHUNK + 7;
        sink.spool(&vec![b'x'; length]).expect("spooled");
        sink.waiting.push_back(Item { length, splice: None, tag: Tag::default() });
        sink.decided(&verdict(Zone::Old)).expect("to memory");
        // Nobody waits any more.
        sink.decided(&verdict(Zone::Keep)).expect("to memory");
        let (written, counts) = sink.finish().expect("to memory");
        assert_eq!(written, vec![b'x'; length]);
        assert_eq!((counts.old, counts.keep), (1, 0));
    }

    #[test]
    fn the_first_that_is_kept_has_the_number_of_those_before_it() {
        let mut counts = ZoneCounts::default();
        for zone in [Zone::System, Zone::Old, Zone::Keep, Zone::Old, Zone::Keep] {
            counts.add(zone);
        }
        assert_eq!(counts.first_keep, Some(2));
        assert_eq!(counts.all(), 5);
    }
}
