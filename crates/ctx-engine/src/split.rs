//! Sorts the records of a session into the zones `system`, `old` and `keep`.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::PathBuf;

use ctx_format::{Class, Dialect, Object, Outline, Record, Splice, Spool, Tag, Zone};
use ctx_policy::Keep;
use serde::Serialize;

use crate::message_counter::MessageCounter;
use crate::zones::{Reason, Splitter};
use crate::{PassError, Pin, Result, TaggedWriter, pins};

/// The options for splitting a session.
pub struct Plan {
    /// The amount to keep at the end of the session.
    pub keep: Keep,
    /// Selectors for records to keep.
    pub pins: Vec<Pin>,
    /// Counts tokens, if the token count determines what is kept.
    pub counter: Option<MessageCounter>,
    /// If set, only records in this zone are written.
    pub only: Option<Zone>,
    /// The folder for temporary files.
    pub temp: PathBuf,
}

/// Tags each record of a session with its zone as soon as the zone is final.
pub struct SplitPass<'p, W> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    splitter: Splitter,
    /// The records that have no verdict yet.
    waiting: VecDeque<Waiting>,
    /// The bytes of the records that have no verdict yet.
    spool: Spool,
    /// The total length, in bytes, of the pieces read so far from the current line.
    length: usize,
    writer: TaggedWriter<W>,
    counts: ZoneCounts,
}

/// A record that is waiting for its verdict.
struct Waiting {
    length: usize,
    /// The length in bytes without the line ending, for the record's tag.
    bytes: u64,
    splice: Option<Splice>,
    tag: Tag,
}

/// The number of bytes of a long line to hold in memory at a time.
const CHUNK: usize = 1 << 20;

impl<'p, W: Write> SplitPass<'p, W> {
    /// Creates a pass that writes to `output`.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, output: W) -> Self {
        Self {
            plan,
            dialect,
            splitter: Splitter::new(plan.keep),
            waiting: VecDeque::new(),
            spool: Spool::new(&plan.temp),
            length: 0,
            writer: TaggedWriter::new(output, &plan.temp),
            counts: ZoneCounts::default(),
        }
    }

    /// Processes the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        if let Some(mut waiting) = self.spooled(record)? {
            waiting.tag.pin = self.decide(record, &mut waiting.tag);
            self.waiting.push_back(waiting);
        }
        self.write_decided()
    }

    /// Processes the next record of a batch, which is a whole conversation, and tags the record
    /// with the zones of its messages. A record that is not a conversation is tagged without zones.
    pub fn push_batch(&mut self, record: &Record<'_>) -> Result<()> {
        let Some(mut waiting) = self.spooled(record)? else { return Ok(()) };
        waiting.tag.end = None;
        let messages = record.whole_object().and_then(Object::conversation);
        waiting.tag.zones = messages.map(|messages| self.zones(record, &messages));
        self.counts.keep += 1;
        self.write(waiting)
    }

    /// Writes the records that have not been written yet, marks the end of the stream, and returns
    /// the output.
    pub fn finish(mut self) -> Result<(W, ZoneCounts)> {
        self.splitter.finish();
        self.write_decided()?;
        let ZoneCounts { system, old, keep, .. } = self.counts;
        Ok((self.writer.finish(Some(system + old + keep))?, self.counts))
    }

    /// Adds a record's bytes to the spool. Returns `None` if more pieces of the same line follow.
    fn spooled(&mut self, record: &Record<'_>) -> Result<Option<Waiting>> {
        let untagged = record.untagged();
        self.spool.push(&untagged).map_err(PassError::temporary)?;
        self.length += untagged.len();
        if !record.piece.ends() {
            return Ok(None);
        }
        let mut tag = record.tag().unwrap_or_default();
        tag.line = Some(record.line);
        Ok(Some(Waiting {
            length: std::mem::take(&mut self.length),
            bytes: (untagged.len() - record.line_end().len()) as u64,
            splice: record.splice(),
            tag,
        }))
    }

    /// Passes the record to the splitter, and adds its token count to the tag. Returns the selector
    /// that pins the record, if any.
    fn decide(&mut self, record: &Record<'_>, tag: &mut Tag) -> Option<String> {
        let is_tail = record.class == Class::Tail;
        let Some(outline) = record.outline(self.dialect).filter(|_| !is_tail) else {
            self.splitter.push_line(is_tail);
            return None;
        };
        let message = || record.message(self.dialect);
        let pin = pins::first(&self.plan.pins, record, outline.role, message);
        if let Some(counter) = &self.plan.counter {
            tag.tokens = Some(match self.dialect {
                Some(_) => message().map_or(0, |message| counter.message(&message).total()),
                None => counter.text(&String::from_utf8_lossy(record.bytes)),
            });
            tag.encoding = Some(counter.encoding.name().to_owned());
        }
        let counted = self.plan.counter.and(tag.tokens);
        self.splitter.push(&outline, counted.unwrap_or(0), pin.is_some());
        pin.map(ToString::to_string)
    }

    /// Returns the zones of the messages in a batch record.
    fn zones(&self, record: &Record<'_>, messages: &[Object<'_>]) -> Vec<Zone> {
        let Plan { keep, pins, counter, .. } = self.plan;
        let mut splitter = Splitter::new(*keep);
        for object in messages {
            let of_line = || Some(Outline::of_line());
            let outline = self.dialect.map_or_else(of_line, |dialect| dialect.outline(object));
            let Some(outline) = outline else {
                splitter.push_line(false);
                continue;
            };
            let message = || self.dialect.and_then(|dialect| dialect.message(object));
            let pin = pins::first(pins, record, outline.role, message);
            let tokens = counter.as_ref().map_or(0, |counter| match message() {
                Some(message) => counter.message(&message).total(),
                None => counter.text(object.text()),
            });
            splitter.push(&outline, tokens, pin.is_some());
        }
        splitter.finish();
        splitter.map(|verdict| verdict.zone).collect()
    }

    /// Writes the records whose zone is already known.
    fn write_decided(&mut self) -> Result<()> {
        while let Some(verdict) = self.splitter.next() {
            let Some(mut waiting) = self.waiting.pop_front() else { return Ok(()) };
            if self.plan.only.is_some_and(|only| only != verdict.zone) {
                self.spool.pop_to(waiting.length, &mut io::sink()).map_err(PassError::temporary)?;
                continue;
            }
            self.counts.add(verdict.zone);
            waiting.tag.zone = Some(verdict.zone);
            waiting.tag.group = verdict.exchange;
            if verdict.reason == Reason::LatestUser {
                waiting.tag.pin = Some("latest-user".to_owned());
            }
            self.write(waiting)?;
        }
        Ok(())
    }

    fn write(&mut self, mut waiting: Waiting) -> Result<()> {
        waiting.tag.bytes = Some(waiting.bytes);
        let mut tag = waiting.splice.map(|splice| (splice, waiting.tag));
        // A line that is too long to be parsed is also too long to be held in memory.
        let most = if tag.is_some() { waiting.length } else { CHUNK };
        let mut left = waiting.length;
        while left > 0 {
            let bytes = self.spool.pop(left.min(most)).map_err(PassError::temporary)?;
            left -= bytes.len();
            self.writer.write(bytes, tag.take())?;
        }
        Ok(())
    }
}

/// The number of written records in each zone.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ZoneCounts {
    /// The number of system messages.
    pub system: u64,
    /// The number of records to summarize.
    pub old: u64,
    /// The number of records to keep.
    pub keep: u64,
    /// The 0-based index of the first kept record.
    #[serde(skip)]
    pub first_keep: Option<u64>,
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
}

#[cfg(test)]
mod tests {
    use crate::message_counter::MessageCounter;
    use ctx_format::{Options, Zone};
    use ctx_policy::Keep;
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

    /// Returns the output and the number of records in each zone.
    pub(super) fn split(plan: &Plan, batch: bool, input: &str) -> (String, ZoneCounts) {
        let reader = Box::new(std::io::Cursor::new(input.to_owned().into_bytes()));
        let options = Options { batch, ..Options::default() };
        let session = Session::open(reader, &options, Invalid::Keep);
        let mut session = session.expect("from memory");
        session.accepts_unknown = true;
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

    /// Returns the tags of the records, without braces.
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
    fn tokens_are_counted_where_they_decide_and_not_taken_from_a_tag() {
        let mut plan = plan(1);
        plan.counter = Some(MessageCounter::new(Encoding::Chars4));
        let tag = "{\"_ctx\":{\"bytes\":29,\"tokens\":99,\"encoding\":\"chars4\"},";
        let (written, _) = split(&plan, false, &said("user", "a").replacen('{', tag, 1));
        assert!(written.contains(r#""bytes":29,"tokens":5,"encoding":"chars4""#), "{written}");
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
mod counts_tests {
    use ctx_format::Zone;

    use super::tests::{plan, split};
    use super::{CHUNK, ZoneCounts};

    #[test]
    fn a_line_longer_than_memory_passes_in_pieces() {
        let long = "x".repeat(2 * CHUNK + 7) + "\n";
        for batch in [false, true] {
            let (written, counts) = split(&plan(0), batch, &long);
            assert!(written == long);
            assert_eq!(counts.system + counts.keep, 1);
        }
    }

    #[test]
    fn the_first_that_is_kept_has_the_number_of_those_before_it() {
        let mut counts = ZoneCounts::default();
        for zone in [Zone::System, Zone::Old, Zone::Keep, Zone::Old, Zone::Keep] {
            counts.add(zone);
        }
        assert_eq!(counts.first_keep, Some(2));
    }
}
