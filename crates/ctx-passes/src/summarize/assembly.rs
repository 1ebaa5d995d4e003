//! The skeleton of every pass that sums up: records that stay wait in a spool, records
//! that leave are gathered, the summary is written, the whole is checked, and only then
//! does a byte of it leave.

use std::io::{self, Write};

use ctx_redact::redact;
use ctx_transcript::{Dialect, Message, Outline, Record, Role, Spool};

use super::old::{OldZone, Sizes};
use super::writer::{SummaryText, Writer};
use super::{Plan, Summary, TellSizes};
use crate::checks::Checks;
use crate::{BadLines, Fate, Notes, PassError};

/// A session in the making.
pub(super) struct Assembly<'p> {
    pub(super) plan: &'p Plan,
    pub(super) dialect: Option<&'static dyn Dialect>,
    spool: Spool,
    /// Bytes in the spool before and behind the summary's place.
    before: usize,
    behind: usize,
    place: Option<Place>,
    checks: Option<Checks>,
    bad: BadLines,
    pub(super) old: OldZone,
}

/// Where the summary stands.
pub(super) struct Place {
    line_end: Vec<u8>,
    pub(super) role: Role,
}

/// A session with a summary in the place of what is old, complete and checked.
pub struct NewSession {
    spool: Spool,
    before: usize,
    record: Vec<u8>,
    behind: usize,
    /// What was summed up; nothing where nothing is old.
    pub summary: Option<Summary>,
}

impl<'p> Assembly<'p> {
    pub(super) fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, old: OldZone) -> Self {
        Self {
            plan,
            dialect,
            spool: Spool::new(&plan.temp),
            before: 0,
            behind: 0,
            place: None,
            checks: dialect.map(|dialect| Checks::new(dialect.rules())),
            bad: BadLines::default(),
            old,
        }
    }

    /// A record that comes in; whether it is left out because it is bad.
    pub(super) fn input(
        &mut self,
        record: &Record<'_>,
        outline: Option<&Outline<'_>>,
        is_old: bool,
    ) -> bool {
        if let (Some(checks), Some(outline)) = (&mut self.checks, outline) {
            checks.input(record.line, outline);
        }
        let left_out = record.class.is_bad() && self.plan.drop_bad && !is_old;
        let fate = match (is_old, left_out) {
            (true, _) => Fate::Gone,
            (false, true) => Fate::LeftOut,
            (false, false) => Fate::Kept,
        };
        self.bad.add(record, fate);
        left_out
    }

    /// The summary stands before `record`, unless it has its place already.
    pub(super) fn place_summary(&mut self, record: &Record<'_>) {
        let Some(dialect) = self.dialect.filter(|_| self.place.is_none()) else {
            return;
        };
        let wanted = self.plan.role;
        let checks = self.checks.as_mut();
        self.place = Some(Place {
            line_end: record.line_end().to_vec(),
            role: checks.map_or(wanted, |checks| checks.summary(dialect, wanted)),
        });
    }

    /// A record leaves, and the summary stands where the first of them stood; `found` is
    /// the message in it.
    pub(super) fn leave(&mut self, record: &Record<'_>, found: Option<Found<'_>>) {
        self.place_summary(record);
        if let (Some(dialect), Some(object), Some(found)) =
            (self.dialect, record.whole_object(), found)
        {
            self.old.push(self.plan, dialect, object, found);
        }
    }

    /// A record stays, with these bytes. Its skeleton is the one it came with.
    pub(super) fn stay(
        &mut self,
        line: u64,
        outline: Option<&Outline<'_>>,
        bytes: &[u8],
    ) -> Result<(), PassError> {
        if let (Some(checks), Some(outline)) = (&mut self.checks, outline) {
            checks.output(line, outline);
        }
        let place = match self.place {
            None => &mut self.before,
            Some(_) => &mut self.behind,
        };
        *place += bytes.len();
        self.spool.push(bytes).map_err(PassError::temporary)
    }

    /// All records came: the account of bad lines, and the check of the whole output.
    pub(super) fn check(&mut self, notes: &mut Notes) -> Result<Option<Place>, PassError> {
        self.bad.report(notes);
        if let Some(checks) = self.checks.take() {
            checks.finish(self.plan.strict, notes)?;
        }
        Ok(self.place.take())
    }

    /// The output without any summary.
    pub(super) fn without_summary(self) -> NewSession {
        NewSession::plain(self.spool, self.before + self.behind)
    }

    /// Writes what stays, with this record in the place of the summary.
    pub(super) fn write(&mut self, record: &[u8], out: &mut impl Write) -> Result<(), PassError> {
        let (before, behind) = (self.before, self.behind);
        let mut write = || -> io::Result<()> {
            self.spool.copy_to(0, before, out)?;
            out.write_all(record)?;
            self.spool.copy_to(before, behind, out)
        };
        write().map_err(PassError::output)
    }

    /// A summary with this text, in this record.
    pub(super) fn draft(&self, text: SummaryText, record: String, place: &Place) -> Draft {
        let mut record = record.into_bytes();
        record.extend_from_slice(&place.line_end);
        Draft {
            summary: self.old.summary(text),
            record,
        }
    }

    /// The output with a summary.
    pub(super) fn with_summary(self, draft: Draft) -> NewSession {
        NewSession {
            spool: self.spool,
            before: self.before,
            record: draft.record,
            behind: self.behind,
            summary: Some(draft.summary),
        }
    }
}

/// A summary that could stand in the session.
pub struct Draft {
    /// What it says, and for what.
    pub summary: Summary,
    /// The record that has it, with its line end.
    pub record: Vec<u8>,
}

/// A message and the record it was found in.
#[derive(Clone, Copy)]
pub(super) struct Found<'m> {
    pub(super) line: u64,
    pub(super) message: &'m Message<'m>,
    /// Its bytes, without a tag.
    pub(super) record: &'m [u8],
}

/// The text of the message that takes the place of `old`, told of in `notes`.
pub(super) fn text(
    plan: &Plan,
    writer: &Writer,
    old: &OldZone,
    notes: &mut Notes,
) -> Result<SummaryText, PassError> {
    let text = clean(plan, writer.write(old, None, notes)?);
    tell(plan, old, &text, notes);
    Ok(text)
}

/// The text with its header, and without the secrets that are still in it. Every
/// method takes secrets out of what it reads; this is the border where nothing passes,
/// whatever put the text together.
pub(super) fn clean(plan: &Plan, mut text: SummaryText) -> SummaryText {
    let (clean, secrets) = redact(&text.text);
    let summary = one_kind_of_line(&clean);
    text.text = plan.recognizer.compose(plan.header.as_deref(), &summary);
    text.redacted_late = secrets;
    text
}

/// The text with no other line ends than the usual one: marks stand at the beginning
/// of a line, and what looks like one must have them.
fn one_kind_of_line(text: &str) -> String {
    let others = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", "\n").replace(others, " ")
}

/// Says what was taken out, and how long the summary is.
pub(super) fn tell(plan: &Plan, old: &OldZone, text: &SummaryText, notes: &mut Notes) {
    if text.redacted > 0 {
        let redacted = text.redacted;
        notes.info(format_args!("secrets taken out of the summary: {redacted}"));
    }
    if text.redacted_late > 0 {
        let redacted = text.redacted_late;
        notes.info(format_args!(
            "secrets taken out of the written summary: {redacted}"
        ));
    }
    if plan.tell_sizes == TellSizes::Never {
        return;
    }
    let messages = old.messages;
    match old.sizes(&text.text, plan.tell_sizes) {
        Some(Sizes { before, after }) if after >= before => notes.warn(
            &[],
            format_args!(
                "the summary is no shorter than what it replaces: {before} tokens, now {after}"
            ),
        ),
        Some(Sizes { before, after }) => notes.info(format_args!(
            "{messages} messages summed up: {before} tokens, now {after}"
        )),
        None => notes.info(format_args!("{messages} messages summed up")),
    }
}

impl NewSession {
    /// A session that is `length` bytes of `spool`.
    pub(super) fn plain(spool: Spool, length: usize) -> Self {
        Self {
            spool,
            before: length,
            record: Vec::new(),
            behind: 0,
            summary: None,
        }
    }

    /// Writes it; it can be written again.
    pub fn write(&mut self, out: &mut (impl Write + ?Sized)) -> Result<(), PassError> {
        let mut write = || -> io::Result<()> {
            self.spool.copy_to(0, self.before, out)?;
            out.write_all(&self.record)?;
            self.spool.copy_to(self.before, self.behind, out)
        };
        write().map_err(PassError::output)
    }
}
