//! Converts a session into another dialect. No converted record is written until the whole session
//! has been read, so all losses are known by then.

use std::io::{self, Write};
use std::path::Path;

use ctx_format::convert::{Converter, Reading, Report};
use ctx_format::repair::Salvage;
use ctx_format::{
    Class, Dialect, Effect, FixedFile, Flaw, Object, Options, Origin, Record, Spool, Validator,
};

use crate::check::{self, Finding};
use crate::compact::temporary;
use crate::output_check::warn_of_input;
use crate::session::holds_vendor_summary;
use crate::{ErrorKind, Invalid, Level, Notes, PassError, Result, Session};

/// A converted session.
pub struct Conversion {
    /// The dialect of the source.
    pub from: &'static dyn Dialect,
    /// The dialect of the converted records.
    pub to: &'static dyn Dialect,
    /// The problems in the source.
    pub problems: Vec<Finding>,
    /// The first place of the source where its agent reads something other than what was written.
    ignored: Option<(u64, Flaw)>,
    /// What was converted, and what was lost.
    pub report: Report,
    records: FixedFile,
}

impl Conversion {
    /// Converts `session`, which must not be a batch. Bad lines count as lost. If one of them may
    /// hold a message, this is an error unless `drops_bad` is true. Messages wait in a temporary
    /// file in the folder `temp`.
    pub fn of(
        session: &mut Session,
        converter: Converter<'_>,
        drops_bad: bool,
        temp: &Path,
    ) -> Result<Self> {
        let to = converter.to;
        let from = session.known()?;
        let mut reading = Reading::new(converter, from, Spool::new(temp));
        reading.report.is_list |= session.is_document();
        let (beside, lost) = session.records.take_beside();
        if let Some(system) = beside.filter(|_| !from.is_log()) {
            let system = Origin::ALONE.record(system.as_bytes());
            reading.push(&system).map_err(PassError::temporary)?;
        }
        reading.report.losses.extend(lost);
        let mut summary = None;
        let mut input = Validator::new(from.rules());
        let mut has_records = false;
        session.each(|record| {
            has_records |= record.object().is_some();
            if !drops_bad && may_hold_message(record, from) {
                return Err(ErrorKind::LostLine(record.why_bad()).at(record.line));
            }
            let is_summary = || holds_vendor_summary(record, from);
            summary = summary.or_else(|| is_summary().then_some(record.line));
            if let Some(outline) = record.outline(Some(from)) {
                input.push(record.line, &outline);
            }
            reading.push(record).map_err(PassError::temporary)
        })?;
        let (problems, ..) = input.finish_with_open();
        let flaws = session.records.flaws();
        let ignored = flaws.iter().find(|(_, flaw)| flaw.effect == Effect::Ignored).cloned();
        let flaws = flaws.iter().filter(|(_, flaw)| flaw.effect.is_problem());
        let flaws =
            flaws.map(|(line, it)| Finding::problem(Some(*line), it.rule, it.message.clone()));
        let mut problems: Vec<_> = problems.into_iter().map(Finding::from).chain(flaws).collect();
        problems.sort();
        let mut report = Report::default();
        let file = temporary(|output| {
            report = reading.write(output).map_err(PassError::temporary)?;
            Ok(())
        })?;
        let mut losses = report.losses.iter();
        if let Some(line) = summary
            && losses.any(|loss| loss.name.contains("compaction"))
        {
            return Err(ErrorKind::vendor_summary("converted").at(line));
        }
        let conversion = Self { from, to, problems, ignored, report, records: file.into() };
        if has_records && conversion.report.messages == 0 {
            return Err(ErrorKind::NothingToConvert.into());
        }
        conversion.refuse_problems()?;
        Ok(conversion)
    }

    /// Returns an error if the API or the agent would refuse the new session.
    fn refuse_problems(&self) -> Result<()> {
        if self.report.records == 0 {
            return Ok(());
        }
        let open = || self.records.reader().map_err(ErrorKind::Read);
        let options = Options { dialect: Some(self.to), ..Options::default() };
        let again = Some(Box::new(open()?) as _);
        let session = Session::open_twice(Box::new(open()?), again, &options, Invalid::Keep)?;
        let found = check::report_of(session, &check::Plan::default())?.findings.into_iter().next();
        let Some(finding) = found else { return Ok(()) };
        Err(ErrorKind::IllegalConversion(finding.message).into())
    }

    /// Reports the problems in the source, and what the conversion dropped or changed.
    pub fn report(&self, notes: &mut Notes) {
        if let Some(Finding { line, message, .. }) = self.problems.first() {
            warn_of_input(self.problems.len(), line.unwrap_or_default(), message, notes);
        }
        if let Some((line, flaw)) = &self.ignored {
            notes.warn_at(*line, &flaw.message);
        }
        for loss in &self.report.losses {
            let level = if loss.kind.is_loss() { Level::Warning } else { Level::Info };
            notes.add(level, &[loss.first_line], loss.say());
        }
    }

    /// Returns an error if the conversion has lost part of the context.
    pub fn refuse_losses(&self) -> Result<()> {
        if self.report.lost_something() {
            return Err(ErrorKind::NotCarried.into());
        }
        Ok(())
    }

    /// Writes the converted session.
    pub fn write_to(self, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
        io::copy(&mut self.records.reader()?, out).map(|_| ())
    }
}

/// Returns true if a line is damaged, but a repair could still find a message in it that is not
/// converted.
fn may_hold_message(record: &Record<'_>, from: &dyn Dialect) -> bool {
    let read = usize::from(record.whole_object().is_some());
    let Some(salvage) = Salvage::of(record, from) else { return record.class == Class::TooLong };
    let is_message = |line: &String| Object::parse(line).is_ok_and(|it| from.is_message(&it));
    salvage.lines.iter().skip(read).any(is_message)
}

#[cfg(test)]
mod tests {
    use std::env::temp_dir;

    use ctx_format::convert::Converter;
    use ctx_format::{Options, dialect};

    use super::Conversion;
    use crate::{ErrorKind, Invalid, Notes, Result, Session};

    fn convert(input: &'static str, to: &str) -> Result<Conversion> {
        let reader = Box::new(input.as_bytes());
        let session = Session::open(reader, &Options::default(), Invalid::Keep);
        let to = dialect::by_name(to).expect("a dialect");
        let temp = temp_dir();
        Conversion::of(&mut session.expect("memory"), Converter::new(to), false, &temp)
    }

    const CHAT: &str = "{\"role\":\"system\",\"content\":\"be good\"}\n\
        {\"role\":\"user\",\"content\":\"go\"}\n";

    #[test]
    fn what_is_lost_is_said_with_its_line_and_can_be_refused() {
        let conversion = convert(CHAT, "pi").expect("known");
        let mut notes = Notes::default();
        conversion.report(&mut notes);
        let notes = notes.take();
        assert_eq!(notes.len(), 1);
        assert_eq!(notes[0].lines, [1]);
        let refused = conversion.refuse_losses().expect_err("the system message");
        assert!(matches!(refused.kind, ErrorKind::NotCarried));
        let whole = convert(CHAT, "anthropic").expect("known");
        assert!(whole.refuse_losses().is_ok());
    }

    #[test]
    fn what_was_done_is_told_and_the_session_is_whole() {
        let conversion = convert(CHAT, "gemini").expect("known");
        assert_eq!(conversion.report.records, 2);
        assert!(conversion.report.losses[0].kind.is_loss());
        let mut out = Vec::new();
        conversion.write_to(&mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn a_session_of_no_known_format_is_refused() {
        let refused = convert("{\"a\":1}\n", "chat").err().expect("unknown");
        assert!(matches!(refused.kind, ErrorKind::UnknownFormat));
    }
}
