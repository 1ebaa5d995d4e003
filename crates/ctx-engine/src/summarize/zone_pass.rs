//! Summarizes those records of a session that are in the old zone.

use std::borrow::Cow;

use ctx_format::{Class, Dialect, Message, Record, Zone, ZoneReader};

use super::Plan;
use super::assembly::{Assembly, Material, NewSession};
use super::old::{Needs, OldZone};
use super::writer::Writer;
use crate::error::rewritable;
use crate::session::FirstUnread;
use crate::{ErrorKind, Notes, Result};

/// Receives the records of a session with their zones, and summarizes the records in the old zone.
pub struct ZonePass<'p> {
    assembly: Assembly<'p>,
    /// Keeps track of what the tags say about zones.
    pub zones: ZoneReader,
    has_old: bool,
    unread: FirstUnread,
}

/// The new content of a record that was changed before it reached this pass.
pub struct ChangedRecord<'m> {
    /// The new bytes without a tag.
    pub bytes: Vec<u8>,
    /// The message after the change.
    pub message: Message<'m>,
}

impl<'p> ZonePass<'p> {
    /// Creates a pass that gathers the data listed in `needs` for the writer.
    pub fn new(plan: &'p Plan, needs: Needs, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            assembly: Assembly::new(plan, dialect, OldZone::new(plan, needs, None)),
            zones: ZoneReader::default(),
            has_old: false,
            unread: FirstUnread::default(),
        }
    }

    /// Processes the next record, whose zone is in its tag.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let zone = self.zones.read(record);
        self.push_to(zone, record)
    }

    /// Processes the next record, which is in the given zone.
    pub(super) fn push_to(&mut self, zone: Zone, record: &Record<'_>) -> Result<()> {
        self.unread.look_at(record, self.assembly.dialect.map(|it| it as &dyn Dialect));
        self.push_in(zone, record, None)
    }

    /// Processes the next record of a session that is known to be fully understood. `changed` is
    /// the new content of the record, if it has been changed.
    pub fn push_in(
        &mut self,
        zone: Zone,
        record: &Record<'_>,
        changed: Option<ChangedRecord<'_>>,
    ) -> Result<()> {
        let assembly = &mut self.assembly;
        let is_old = zone == Zone::Old;
        if is_old {
            rewritable(assembly.dialect, "summarized")?;
        }
        self.has_old |= is_old;
        let outline = record.outline(assembly.dialect);
        if assembly.input(record, outline.as_ref(), is_old) {
            return Ok(());
        }
        let is_read = is_old || assembly.old.reads_kept();
        let (bytes, message) = match changed {
            Some(new) => (Cow::Owned(new.bytes), Some(new.message)),
            None => (record.untagged(), record.message(assembly.dialect.filter(|_| is_read))),
        };
        if is_old {
            if message.is_none() && record.class != Class::Blank && record.piece.begins() {
                assembly.old.other_lines += 1;
            }
            assembly.leave(record, message.as_ref());
            return Ok(());
        }
        if let Some(message) = &message {
            assembly.old.push_kept(record.line, message, record.bytes.len());
        }
        assembly.stay(record, outline.as_ref(), &bytes)
    }

    /// Omits the next record from the output, regardless of its zone.
    pub fn drop(&mut self, record: &Record<'_>) {
        self.assembly.input(record, record.outline(self.assembly.dialect).as_ref(), false);
    }

    /// Checks the output at the end of the input.
    pub fn gather(self, notes: &mut Notes) -> Result<Material<'p>> {
        if self.has_old {
            self.unread.refuse("summarized")?;
        }
        self.assembly.finish(notes)
    }

    /// Checks the whole output, writes the summary and returns the new session.
    pub fn finish(self, writer: &Writer, notes: &mut Notes) -> Result<NewSession> {
        let material = self.gather(notes)?;
        let draft = material.draft(writer, notes)?;
        Ok(material.with(draft))
    }
}

/// Checks that the stream is complete and that its records have zones. If the records have no zones
/// and the session's lines depend on each other, the error says that such a session cannot be
/// summarized.
pub fn check_end(zones: &ZoneReader, dialect: Option<&'static dyn Dialect>) -> Result<()> {
    if zones.records > 0 && !zones.zoned {
        if dialect.is_some() {
            rewritable(dialect, "summarized")?;
        }
        return Err(ErrorKind::NoZones.into());
    }
    Ok(zones.finish()?)
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::{Anthropic, Chat};
    use ctx_format::{Dialect, Zone};

    use super::super::Plan;
    use super::super::fixtures::{
        ASK, DONE, SYSTEM, THANKS, by_rule, each, lines, plan, tagged, texts,
    };
    use super::{ChangedRecord, NewSession, ZonePass};
    use crate::{ErrorKind, Notes, Result};

    /// Returns the new session that results from these tagged lines.
    fn pass(
        plan: &Plan,
        dialect: Option<&'static dyn Dialect>,
        session: &[&str],
        notes: &mut Notes,
    ) -> Result<NewSession> {
        let mut pass = ZonePass::new(plan, by_rule().needs(), dialect);
        let mut pushed = Ok(());
        each(session, |record| {
            if pushed.is_ok() {
                pushed = pass.push(record);
            }
        });
        pushed?;
        assert_eq!(pass.zones.records, session.len() as u64);
        pass.finish(&by_rule(), notes)
    }

    #[test]
    fn the_tags_say_what_is_old() {
        let session = [
            tagged(r#""zone":"old","line":1"#, ASK),
            tagged(r#""zone":"old""#, DONE),
            tagged(r#""zone":"keep","end":3"#, THANKS),
        ];
        let session = session.each_ref().map(String::as_str);
        let mut new = pass(&plan(), Some(&Chat), &session, &mut Notes::default()).expect("legal");
        let lines = lines(&mut new);
        assert!(lines[0].contains("User messages: 1"), "{}", lines[0]);
        assert_eq!(lines[1..], [THANKS]);
    }

    /// Otherwise, a system message would separate two user messages, which Anthropic rejects.
    #[test]
    fn the_summary_follows_the_system_messages() {
        let (old, note) = (tagged(r#""zone":"old""#, ASK), SYSTEM.replace("ship", "pack"));
        let keep = |line| tagged(r#""zone":"keep""#, line);
        let session = [keep(SYSTEM), old.clone(), keep(&note), old, keep(THANKS), keep(&note)];
        let session = session.each_ref().map(String::as_str);
        let mut new =
            pass(&plan(), Some(&Anthropic), &session, &mut Notes::default()).expect("legal");
        let lines = lines(&mut new);
        assert!(lines[2].contains("User messages: 2"), "{}", lines[2]);
        assert_eq!([&lines[0], &lines[1], &lines[3], &lines[4]], [SYSTEM, &note, THANKS, &note]);
    }

    #[test]
    fn without_a_format_nothing_can_be_old() {
        let old = tagged(r#""zone":"old""#, ASK);
        let new = pass(&plan(), None, &[THANKS, &old], &mut Notes::default());
        let error = new.err().expect("the format is not known");
        assert!(matches!(error.kind, ErrorKind::UnknownFormat));
        let mut new =
            pass(&plan(), None, &[THANKS], &mut Notes::default()).expect("nothing is old");
        assert_eq!(lines(&mut new), [THANKS]);
    }

    /// A record that is not understood may depend on removed records, wherever it is.
    #[test]
    fn what_is_not_understood_is_not_summed_up() {
        let critic = tagged(r#""zone":"keep""#, r#"{"role":"critic","content":"x"}"#);
        let old = tagged(r#""zone":"old""#, ASK);
        let pass = |session: &[&str]| pass(&plan(), Some(&Chat), session, &mut Notes::default());
        let error = pass(&[&old, &critic]).err().expect("it is not understood");
        assert!(matches!(error.kind, ErrorKind::Unread { .. }), "{error}");
        assert_eq!(error.lines, [2]);
        assert!(pass(&[THANKS, &critic]).is_ok(), "nothing is old");
    }

    #[test]
    fn lines_that_are_no_messages_leave_with_the_old_ones_and_are_told() {
        let session = [
            tagged(r#""zone":"old""#, ASK),
            tagged(r#""zone":"old""#, r#"{"n":1}"#),
            tagged(r#""zone":"keep""#, THANKS),
        ];
        let session = session.each_ref().map(String::as_str);
        let mut notes = Notes::default();
        let mut new = pass(&plan(), Some(&Chat), &session, &mut notes).expect("legal");
        assert_eq!(lines(&mut new).len(), 2);
        assert_eq!(
            texts(&mut notes),
            ["removed with the summarized part: 1 line without a message"]
        );
    }

    #[test]
    fn records_may_change_or_be_left_out_on_their_way() {
        let plan = plan();
        let mut pass = ZonePass::new(&plan, by_rule().needs(), Some(&Chat));
        each(&[ASK, DONE, THANKS], |record| {
            if record.line == 1 {
                return pass.drop(record);
            }
            let changed = ChangedRecord {
                bytes: [THANKS.as_bytes(), b"\n"].concat(),
                message: record.message(Some(&Chat)).expect("a message"),
            };
            let changed = Some(changed).filter(|_| record.line == 2);
            pass.push_in(Zone::Keep, record, changed).expect("it stays");
        });
        let material = pass.gather(&mut Notes::default()).expect("legal");
        assert_eq!(lines(&mut material.with(None)), [THANKS, THANKS]);
    }
}
