//! One session: records in, plain records out, a summary in the place of the
//! old ones.

use ctx_cli::{Failure, Io};
use ctx_redact::redact;
use ctx_summary::compose;
use ctx_transcript::{Class, Dialect, Piece, Record, Role, Spool, Zone, ZoneReader};

use super::bad::Bad;
use super::old::{OldZone, Sizes};
use super::writer::Written;
use super::{Plan, Said};
use crate::checks::Checks;
use crate::output::Output;
use crate::tagged::cannot_spool;

/// How calls and results can come apart.
pub(super) const HINT: &str = "ctx-split keeps calls and results together; were its zones changed?";

/// Takes a session's records; kept ones wait in a spool.
pub(super) struct Stream<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    pub(super) zones: ZoneReader,
    spool: Spool,
    /// Bytes in the spool before and behind the summary's place.
    before: usize,
    behind: usize,
    old: OldZone,
    /// There once something is old.
    place: Option<Place>,
    checks: Option<Checks>,
    /// Lines in the old zone that are no messages.
    other_lines: u64,
    /// Bad lines that stay, or are left out.
    bad: Bad,
}

/// The place of the summary.
pub(super) struct Place {
    pub(super) line_end: Vec<u8>,
    pub(super) role: Role,
}

impl Place {
    /// At `record`, the first one that is old.
    pub(super) fn at(
        record: &Record<'_>,
        dialect: &dyn Dialect,
        plan: &Plan,
        checks: Option<&mut Checks>,
    ) -> Self {
        Self {
            line_end: record.line_end().to_vec(),
            role: checks.map_or(plan.role, |checks| checks.summary(dialect, plan.role)),
        }
    }
}

/// The output, complete and checked.
pub(super) struct Done {
    pub(super) spool: Spool,
    pub(super) before: usize,
    pub(super) summary: Vec<u8>,
    pub(super) behind: usize,
    /// What was summed up.
    pub(super) said: Option<Said>,
}

impl<'p> Stream<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
    ) -> Self {
        Self {
            plan,
            dialect,
            name,
            zones: ZoneReader::default(),
            spool: Spool::new(std::env::temp_dir()),
            before: 0,
            behind: 0,
            old: OldZone::new(plan),
            place: None,
            checks: dialect.map(|dialect| Checks::new(dialect.rules())),
            other_lines: 0,
            bad: Bad::default(),
        }
    }

    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let zone = self.zones.read(record);
        let outline = record.outline(self.dialect);
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.input(record.line, outline);
        }
        if record.class.is_bad() && matches!(record.piece, Piece::Whole | Piece::First) {
            self.bad.add(record, zone, self.plan.drop_bad);
        }
        if zone == Zone::Old {
            return self.take_old(record);
        }
        if record.class.is_bad() && self.plan.drop_bad {
            return Ok(());
        }
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.output(record.line, outline);
        }
        if self.old.ledger.is_some() {
            let object = record.whole_object();
            if let Some(message) = object.and_then(|object| self.dialect?.message(object)) {
                self.old.push_kept(record.line, &message);
            }
        }
        self.keep(&record.untagged())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let place = match self.place {
            None => &mut self.before,
            Some(_) => &mut self.behind,
        };
        *place += bytes.len();
        self.spool.push(bytes).map_err(|error| cannot_spool(&error))
    }

    fn take_old(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let Some(dialect) = self.dialect else {
            return Err(
                Failure::new("the format is not known, so nothing can be summed up")
                    .at(self.name, Some(record.line))
                    .hint("--dialect names it"),
            );
        };
        let plan = self.plan;
        if self.place.is_none() {
            self.place = Some(Place::at(record, dialect, plan, self.checks.as_mut()));
        }
        let object = record.whole_object();
        match object.and_then(|object| Some((object, dialect.message(object)?))) {
            Some((object, message)) => {
                let message = (record.line, &message);
                self.old.push(plan, dialect, object, message);
            }
            None if record.class != Class::Blank => {
                self.other_lines += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
            }
            None => {}
        }
        Ok(())
    }

    /// Writes the summary and checks the whole output, before any byte of it leaves.
    pub(super) fn finish(self, io: &mut Io) -> Result<Done, Failure> {
        let name = self.name;
        self.bad.report(name, io);
        if let Some(checks) = self.checks {
            checks.finish(self.plan.strict, HINT, name, io)?;
        }
        let (Some(place), Some(dialect)) = (self.place, self.dialect) else {
            io.note(format_args!("{name}: nothing is old, nothing was changed"));
            return Ok(Done::plain(self.spool, self.before));
        };
        if self.other_lines > 0 {
            io.note(format_args!(
                "{name}: {} lines of the old zone are no messages and left with it",
                self.other_lines
            ));
        }
        if place.role != self.plan.role {
            io.note(format_args!(
                "{name}: the summary has the role {}: {} does not allow {} there",
                place.role.as_str(),
                dialect.name(),
                self.plan.role.as_str()
            ));
        }
        let written = summary_text(self.plan, &self.old, name, io)?;
        let mut summary = dialect
            .summary_record(place.role, &written.text)
            .into_bytes();
        summary.extend_from_slice(&place.line_end);
        Ok(Done {
            spool: self.spool,
            before: self.before,
            summary,
            behind: self.behind,
            said: Some(Said::of(&self.old, written)),
        })
    }
}

/// The text of the message, written and told of.
pub(super) fn summary_text(
    plan: &Plan,
    old: &OldZone,
    name: &str,
    io: &mut Io,
) -> Result<Written, Failure> {
    let (summary, secrets) = clean(plan, plan.writer.write(old, None, name, io)?);
    tell(plan, old, (&summary, secrets), name, io);
    Ok(summary)
}

/// With its header, and without the secrets that are still in it; also how many
/// these are. Every method takes secrets out of what it reads; this is the border
/// where nothing passes, whatever put the text together.
pub(super) fn clean(plan: &Plan, mut written: Written) -> (Written, usize) {
    let (clean, secrets) = redact(&written.text);
    written.text = compose(plan.header.as_deref(), &one_kind_of_line(&clean));
    (written, secrets)
}

/// The text with no other line ends than the usual one: marks stand at the beginning
/// of a line, and what looks like one must have them.
fn one_kind_of_line(text: &str) -> String {
    let others = ['\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];
    text.replace("\r\n", "\n").replace(others, " ")
}

/// Says what was taken out, and how long the summary is.
pub(super) fn tell(
    plan: &Plan,
    old: &OldZone,
    (summary, secrets): (&Written, usize),
    name: &str,
    io: &mut Io,
) {
    if summary.redacted > 0 {
        let redacted = summary.redacted;
        io.note(format_args!(
            "{name}: secrets taken out of the summary: {redacted}"
        ));
    }
    if secrets > 0 {
        io.note(format_args!(
            "{name}: secrets taken out of the written summary: {secrets}"
        ));
    }
    let messages = old.messages;
    if !plan.tell_sizes {
        return;
    }
    match old.sizes(&summary.text, io.verbosity()) {
        Some(Sizes { before, after }) if after >= before => io.warn(format_args!(
            "{name}: the summary is no shorter than what it replaces: {before} tokens, now {after}"
        )),
        Some(Sizes { before, after }) => io.note(format_args!(
            "{name}: {messages} messages summed up: {before} tokens, now {after}"
        )),
        None => io.note(format_args!("{name}: {messages} messages summed up")),
    }
}

impl Done {
    /// Without any summary of its own.
    pub(super) fn plain(spool: Spool, length: usize) -> Self {
        Self {
            spool,
            before: length,
            summary: Vec::new(),
            behind: 0,
            said: None,
        }
    }

    pub(super) fn write(mut self, output: &mut Output<'_>) -> Result<(), Failure> {
        output.with(|out| self.spool.pop_to(self.before, out))?;
        output.write(&self.summary)?;
        output.with(|out| self.spool.pop_to(self.behind, out))
    }
}
