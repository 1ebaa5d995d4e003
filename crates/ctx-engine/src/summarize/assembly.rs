//! The part that all summarizing passes share. Records that stay are held in a spool, and all other
//! records are gathered for the summary. Nothing is written until the whole session has been
//! checked.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::message_counter::MessageCounter;
use ctx_format::{Dialect, Message, Object, Outline, Record, Role, Spool, Validator, counted};

use super::old::OldZone;
use super::writer::Writer;
use super::{Plan, Summary, clean, tell};
use crate::bound_reasoning::BoundReasoning;
use crate::output_check::OutputCheck;
use crate::{BadLineOutcome, BadLines, ErrorKind, Notes, PassError, Result};

/// A session that is being built.
pub(super) struct Assembly<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) kept: Kept,
    place: Option<SummaryPlacement>,
    /// The line ending of a summary whose position depends on the next message that stays.
    unplaced: Option<Vec<u8>>,
    checks: Option<OutputCheck>,
    /// The check of the input, if the caller has already checked it.
    pub(super) input: Option<Validator>,
    bound: BoundReasoning,
    bad: BadLines,
    pub(super) old: OldZone,
}

/// The bytes of the records that stay: those before the summary's position, and those after it.
pub(super) struct Kept {
    spool: Spool,
    /// The folder for the spool's temporary file.
    temp: PathBuf,
    /// The length of the byte order mark before the first record, which stays in front of a
    /// summary.
    mark: usize,
    pub(super) before: usize,
    pub(super) behind: usize,
}

/// The dialect, role and line ending of the summary at its position in the session.
pub(super) struct SummaryPlacement {
    pub(super) dialect: &'static dyn Dialect,
    pub(super) role: Role,
    line_end: Vec<u8>,
}

/// A session that has been completely read and checked: the part that stays, and the material for a
/// summary of the old records.
pub struct Material<'p> {
    pub(super) plan: &'p Plan,
    pub(super) kept: Kept,
    pub(super) old: OldZone,
    /// The placement of the summary, or `None` if there is nothing to summarize.
    pub(super) place: Option<SummaryPlacement>,
}

/// A summary that may be used for the session.
pub struct Draft {
    /// The text of the summary, and the size of the text that it replaces.
    pub summary: Summary,
    /// The record that contains the summary, including the line ending.
    pub record: Vec<u8>,
}

/// A complete and checked session, with a summary in place of the old records.
pub struct NewSession {
    pub(super) kept: Kept,
    /// The summary, if there was anything to summarize.
    pub draft: Option<Draft>,
    /// The number of messages that stay in shortened form, to fit into a budget.
    pub cuts: usize,
}

impl<'p> Assembly<'p> {
    pub(super) fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, old: OldZone) -> Self {
        Self {
            plan,
            dialect,
            kept: Kept::new(&plan.temp),
            place: None,
            unplaced: None,
            checks: dialect.map(|it| OutputCheck::new(it, false)),
            input: None,
            bound: BoundReasoning::new(plan.signed_reasoning),
            bad: BadLines::default(),
            old,
        }
    }

    /// Registers a record from the input. Returns true if the record is a bad line that must be
    /// left out.
    pub(super) fn input(
        &mut self,
        record: &Record<'_>,
        outline: Option<&Outline<'_>>,
        is_old: bool,
    ) -> bool {
        if let (Some(checks), Some(outline)) = (&mut self.checks, outline) {
            checks.input(record, outline);
        }
        let left_out = record.class.is_bad() && self.plan.drop_bad && !is_old;
        let fate = match (is_old, left_out) {
            (true, _) => BadLineOutcome::Gone,
            (false, true) => BadLineOutcome::LeftOut,
            (false, false) => BadLineOutcome::Kept,
        };
        self.bad.add(record, fate);
        left_out
    }

    /// Returns true if a record has been removed, so that there will be a summary.
    pub(super) fn has_summary(&self) -> bool {
        self.place.is_some() || self.unplaced.is_some()
    }

    /// Puts the summary at the current position in the session, unless it already has a position.
    /// The summary's record will end with `line_end`.
    pub(super) fn place_summary(&mut self, line_end: &[u8]) {
        if self.dialect.is_some() && !self.has_summary() {
            self.bound.changed = true;
            self.unplaced = Some(line_end.to_vec());
        }
    }

    /// Decides the position of the summary before the next message stays, if that message has this
    /// outline. The summary comes after the system messages, because Anthropic rejects a system
    /// message between two user messages.
    fn settle_place(&mut self, outline: Option<&Outline<'_>>) {
        let (Some(dialect), Some(checks)) = (self.dialect, &mut self.checks) else { return };
        if outline.is_some_and(|outline| outline.role.is_system()) {
            return;
        }
        if let Some(line_end) = self.unplaced.take() {
            let role = checks.summary(self.plan.role);
            self.place = Some(SummaryPlacement { dialect, role, line_end });
        }
    }

    /// Removes a record from the session, and adds its message to the material for the summary. The
    /// first removed record determines the position of the summary.
    pub(super) fn leave(&mut self, record: &Record<'_>, message: Option<&Message<'_>>) {
        self.place_summary(record.line_end());
        let object = record.whole_object();
        if let (Some(dialect), Some(object), Some(message)) = (self.dialect, object, message) {
            let recognizer = &self.plan.recognizer;
            let earlier = recognizer.summary_in(dialect, object, message);
            self.old.push(record.line, &recognizer.as_said(message), record.bytes.len(), earlier);
        }
    }

    /// Keeps a record. `bytes` may differ from the record's own bytes, but the outline must be the
    /// same.
    pub(super) fn stay(
        &mut self,
        record: &Record<'_>,
        outline: Option<&Outline<'_>>,
        bytes: &[u8],
    ) -> Result<()> {
        if self.has_summary()
            && let (Some(dialect), Some(object)) = (self.dialect, record.whole_object())
            && dialect.vendor_summary(object).is_some()
        {
            return Err(ErrorKind::KeptSummary.at(record.line));
        }
        let left = self.dialect.and_then(|dialect| {
            let new = Some(bytes).filter(|bytes| *bytes != record.bytes);
            self.bound.write(record, new.map(<[u8]>::to_vec), dialect, false)
        });
        let bytes = left.as_deref().unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(());
        }
        self.settle_place(outline);
        if let (Some(checks), Some(outline)) = (&mut self.checks, outline) {
            checks.output(record.line, outline);
        }
        if self.kept.behind == 0 && self.kept.before == 0 {
            self.kept.mark = record.byte_order_mark().len();
        }
        self.kept.push(bytes, self.place.is_some())
    }

    /// At the end of the input, reports bad lines and checks the whole output.
    pub(super) fn finish(mut self, notes: &mut Notes) -> Result<Material<'p>> {
        self.settle_place(None);
        self.bad.report(notes);
        if let Some(checks) = self.checks {
            checks.finish(self.input, self.plan.strict, notes)?;
        }
        self.bound.finish(notes)?;
        self.old.finish_reading();
        Ok(Material { plan: self.plan, kept: self.kept, old: self.old, place: self.place })
    }
}

impl Kept {
    pub(super) fn new(temp: &Path) -> Self {
        Self { spool: Spool::new(temp), temp: temp.to_owned(), mark: 0, before: 0, behind: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8], is_behind: bool) -> Result<()> {
        let length = if is_behind { &mut self.behind } else { &mut self.before };
        *length += bytes.len();
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    /// Applies changes, which must be sorted by position. Each change consists of the index of its
    /// first byte, the number of bytes to replace, and the new bytes.
    pub(super) fn change(&mut self, changes: &[((usize, usize), Vec<u8>)]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut new = Self { mark: self.mark, ..Self::new(&self.temp) };
        let mut done = 0;
        for &((start, length), ref bytes) in changes {
            self.copy(done, start, &mut new)?;
            new.push(bytes, start >= self.before)?;
            done = start + length;
        }
        self.copy(done, self.before + self.behind, &mut new)?;
        *self = new;
        Ok(())
    }

    /// Appends the bytes between two positions to `new`.
    fn copy(&mut self, from: usize, to: usize, new: &mut Self) -> Result<()> {
        let middle = self.before.clamp(from, to);
        for (start, end, length) in [(from, middle, &mut new.before), (middle, to, &mut new.behind)]
        {
            self.spool.copy_to(start, end - start, &mut new.spool).map_err(PassError::temporary)?;
            *length += end - start;
        }
        Ok(())
    }

    /// Writes the bytes that stay, with the summary at its position. May be called several times.
    fn write(&mut self, draft: Option<&Draft>, out: &mut (impl Write + ?Sized)) -> Result<()> {
        let before = self.before.max(self.mark);
        let mut write = || -> io::Result<()> {
            self.spool.copy_to(0, before, out)?;
            out.write_all(draft.map_or(&[], |draft| &draft.record))?;
            self.spool.copy_to(before, self.before + self.behind - before, out)
        };
        write().map_err(PassError::output)
    }
}

impl SummaryPlacement {
    /// Returns how many tokens the message of a summary with this text would have.
    pub(super) fn tokens(&self, text: &str, counter: &MessageCounter) -> u64 {
        let record = self.dialect.summary_record(self.role, text);
        let object = Object::parse(&record).ok();
        let message = object.as_ref().and_then(|object| self.dialect.message(object));
        message.map_or(0, |message| counter.message(&message).total())
    }

    pub(super) fn draft(&self, summary: Summary) -> Draft {
        let mut record = self.dialect.summary_record(self.role, &summary.text).into_bytes();
        record.extend_from_slice(&self.line_end);
        Draft { summary, record }
    }
}

impl Material<'_> {
    /// Writes a summary of the old records. Returns `None` if there are no old records.
    pub fn draft(&self, writer: &Writer, notes: &mut Notes) -> Result<Option<Draft>> {
        let Some(place) = &self.place else {
            notes.info("there is nothing to summarize");
            return Ok(None);
        };
        if self.old.other_lines > 0 {
            notes.info(format_args!(
                "removed with the summarized part: {} without a message",
                counted(self.old.other_lines, "line")
            ));
        }
        let wanted = self.plan.role;
        if place.role != wanted {
            let (role, wanted) = (place.role.as_str(), wanted.as_str());
            let why = if place.dialect.is_certain() {
                format!("{} does not allow {wanted} there", place.dialect.name())
            } else {
                format!("the session does not show whether its format allows {wanted} there")
            };
            notes.info(format_args!("the summary has the role {role}: {why}"));
        }
        self.sum_up(place, writer, notes).map(Some)
    }

    /// Writes the summary for its place in the session, and reports its length.
    pub(super) fn sum_up(
        &self,
        place: &SummaryPlacement,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Draft> {
        let summary = clean(self.plan, writer.write(&self.old, None, notes)?);
        tell(self.plan, &self.old, &summary, notes);
        Ok(place.draft(summary))
    }

    /// Writes the records that stay and, if there is one, the summary. May be called several times.
    pub fn write(&mut self, draft: Option<&Draft>, out: &mut impl Write) -> Result<()> {
        self.kept.write(draft, out)
    }

    /// Returns a session with the records that stay and, if there is one, the summary.
    pub fn with(self, draft: Option<Draft>) -> NewSession {
        NewSession { kept: self.kept, draft, cuts: 0 }
    }
}

impl NewSession {
    /// Writes the session. May be called several times.
    pub fn write(&mut self, out: &mut (impl Write + ?Sized)) -> Result<()> {
        self.kept.write(self.draft.as_ref(), out)
    }
}

#[cfg(test)]
mod tests {
    use ctx_format::dialect::Chat;
    use ctx_format::{Dialect, Record};

    use super::super::Plan;
    use super::super::fixtures::{
        ASK, CALL, DONE, LEDGER, RESULT, SYSTEM, THANKS, by_rule, each, lines, plan, texts,
    };
    use super::{Assembly, Material, OldZone};
    use crate::{ErrorKind, Notes, Result};

    /// Builds a session from which the records at these indexes are removed.
    fn assembled<'p>(
        plan: &'p Plan,
        session: &[&str],
        old: &[usize],
        notes: &mut Notes,
    ) -> Result<Material<'p>> {
        let zone = OldZone::new(plan, LEDGER, None);
        let mut assembly = Assembly::new(plan, Some(&Chat), zone);
        let mut at = 0;
        each(session, |record: &Record<'_>| {
            let is_old = old.contains(&at);
            at += 1;
            let outline = record.outline(Some(&Chat));
            if assembly.input(record, outline.as_ref(), is_old) {
                return;
            }
            if is_old {
                let message = record.message(Some(&Chat));
                return assembly.leave(record, message.as_ref());
            }
            let stays = assembly.stay(record, outline.as_ref(), record.bytes);
            stays.expect("there is room");
        });
        assembly.finish(notes)
    }

    #[test]
    fn the_summary_stands_where_the_first_old_record_stood() {
        let plan = plan();
        let mut notes = Notes::default();
        let session = [SYSTEM, ASK, DONE, THANKS];
        let material = assembled(&plan, &session, &[1, 2], &mut notes).expect("it is legal");
        let draft = material.draft(&by_rule(), &mut notes).expect("by code");
        let mut new = material.with(draft);
        let first = lines(&mut new);
        assert_eq!((first[0].as_str(), first[2].as_str()), (SYSTEM, THANKS));
        assert!(first[1].contains("\"name\":\"ctx_summary\""), "{}", first[1]);
        assert_eq!(first.len(), 3);
        assert_eq!(lines(&mut new), first);
        assert_eq!(new.draft.map(|draft| draft.summary.messages), Some(2));
        assert!(texts(&mut notes).is_empty());
    }

    #[test]
    fn where_nothing_is_old_nothing_changes() {
        let plan = plan();
        let mut notes = Notes::default();
        let material = assembled(&plan, &[ASK, DONE], &[], &mut notes).expect("it is legal");
        let draft = material.draft(&by_rule(), &mut notes).expect("by code");
        assert!(draft.is_none());
        assert_eq!(texts(&mut notes), ["there is nothing to summarize"]);
        assert_eq!(lines(&mut material.with(None)), [ASK, DONE]);
    }

    #[test]
    fn an_output_with_a_new_problem_is_refused() {
        let plan = plan();
        let cut = assembled(&plan, &[ASK, CALL, RESULT], &[1], &mut Notes::default());
        let error = cut.err().expect("the result has no call");
        assert!(matches!(error.kind, ErrorKind::NewProblem(_)), "{error}");
        assert_eq!(error.lines, [3]);
    }

    #[test]
    fn bad_lines_leave_where_that_is_wanted_or_with_the_old_zone() {
        let session = [ASK, "no JSON", DONE, "nor this", THANKS];
        let mut notes = Notes::default();
        let mut plan = plan();
        let kept = assembled(&plan, &session, &[0, 1], &mut notes).expect("it is legal");
        assert_eq!(lines(&mut kept.with(None)), [DONE, "nor this", THANKS]);
        plan.drop_bad = true;
        let kept = assembled(&plan, &session, &[0, 1], &mut notes).expect("it is legal");
        assert_eq!(lines(&mut kept.with(None)), [DONE, THANKS]);
        let told = texts(&mut notes);
        let account = |told: &str| told.split(';').next().map(str::to_owned);
        assert_eq!(
            [account(&told[0]), account(&told[1])],
            [
                Some("2 bad lines, 1 kept, 1 removed with the summarized part".to_owned()),
                Some("2 bad lines, 1 left out, 1 removed with the summarized part".to_owned()),
            ]
        );
    }

    #[test]
    fn tokens_are_those_of_the_message() {
        let plan = plan();
        let material = assembled(&plan, &[ASK, DONE], &[0], &mut Notes::default()).expect("legal");
        let place = material.place.expect("the first record is old");
        // The token count is that of eight letters and the message's name, plus the overhead for
        // both.
        let name = plan.counter.text("ctx_summary") + 1;
        assert_eq!(place.tokens("12345678", &plan.counter), 2 + name + 4);
        let draft = place.draft(material.old.summary("12345678".to_owned()));
        let record = Chat.summary_record(place.role, "12345678") + "\n";
        assert_eq!(draft.record, record.as_bytes());
    }
}
