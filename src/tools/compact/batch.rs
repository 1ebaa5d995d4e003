//! Lines of conversations: from stdin to stdout, or in a file in place.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use ctx_cli::{
    ExitStatus, Failure, Io, Progress, STDIN_NAME, Verbosity, jobs_of, json_failure, json_line,
    printable,
};
use ctx_passes::compact::{BatchLine, BatchPass, Plan, Report, SessionFile, compact_batch};
use ctx_passes::{Notes, PassError};
use ctx_store::Store;
use ctx_transcript::Options;

use super::{Args, file, filter, text};
use crate::output::{self, no_temporary};
use crate::passes;
use crate::session::Session;
use crate::store::{LazyStore, failure, warn_retained};
use crate::target::Target;

/// What became of the conversations, in all.
#[derive(Default)]
pub(super) struct Tally {
    conversations: u64,
    smaller: u64,
    failed: u64,
    tokens_before: u64,
    tokens_after: u64,
    /// The exit status of each, once.
    statuses: Vec<ExitStatus>,
}

/// Writes each line as soon as it is compacted; what cannot be compacted goes through.
pub(super) fn filter(
    args: &Args,
    plan: &Plan,
    store: &LazyStore<'_>,
    io: &mut Io,
) -> ctx_cli::Outcome {
    let (input, target) = filter::open(args, plan, store)?;
    let options = Options {
        raw: true,
        batch: true,
        ..Options::default()
    };
    let mut batch = Session::of(input, &options, args.read.invalid)?;
    let mut waiting = match target {
        _ if plan.dry_run => Written::Nowhere,
        Target::Stdout => Written::Stdout,
        _ => {
            let file = tempfile::tempfile().map_err(|error| no_temporary(&error))?;
            Written::Waits(BufWriter::new(file))
        }
    };
    let mut tally = Tally::default();
    let mut notes = Notes::new();
    let done = batch.read(|batch| {
        let pass = BatchPass {
            plan,
            dialect: args.read.dialect(),
            name: None,
            jobs: jobs(args, plan),
            tag_failed: args.tag_failed,
        };
        let mut take = |line: BatchLine, said: Notes| -> Result<(), PassError> {
            let told = tally.take(args, STDIN_NAME, line, said, &mut waiting, io);
            told.map_err(PassError::caller)
        };
        compact_batch(&pass, batch, &mut take, &mut notes)
    });
    passes::telling(STDIN_NAME, io, |said| said.append(notes));
    done?;
    if let Written::Waits(written) = waiting {
        let mut written = written
            .into_inner()
            .map_err(|error| no_temporary(error.error()))?;
        written.rewind().map_err(|error| no_temporary(&error))?;
        let mut output = target.open(io)?;
        io::copy(&mut written, &mut output).map_err(output::failure)?;
        output.finish()?;
    }
    io.note(format_args!("{STDIN_NAME}: {}", tally.line(plan.dry_run)));
    if plan.dry_run && !args.json {
        tally.print(STDIN_NAME, true, io)?;
    }
    // Where the output itself says what failed, nobody need do it again.
    let is_told = args.tag_failed && !plan.dry_run;
    Ok([tally.status(), ExitStatus::Done][usize::from(is_told)])
}

/// Compacts the lines of a file in place.
pub(super) fn in_place(
    args: &Args,
    plan: &Plan,
    path: &Path,
    store: &Store,
    io: &mut Io,
) -> Result<Tally, Failure> {
    let name = path.display().to_string();
    let mut tally = Tally::default();
    let mut notes = Notes::new();
    let ended = file::session_file(args, plan, path, store, |file: SessionFile<'_>| {
        let mut take = |line: BatchLine, said: Notes| -> Result<(), PassError> {
            let told = tally.take(args, &name, line, said, &mut Written::Nowhere, io);
            told.map_err(PassError::caller)
        };
        file.run_batch(jobs(args, plan), &mut take, &mut notes)
    })?;
    passes::telling(&name, io, |said| said.append(notes));
    let end = ended.map_err(|error| passes::failure(error, &name))?;
    if let Some(retained) = &end.retained {
        warn_retained(retained, io);
    }
    if end.snapshot.is_some() {
        io.committed(format_args!("{name} is compacted"));
    }
    if let Some(error) = end.late_error {
        return Err(failure(error).status(ExitStatus::Uncertain));
    }
    Ok(tally)
}

/// Who pays for a model, or runs one, says himself how many questions come at a time.
fn jobs(args: &Args, plan: &Plan) -> NonZeroUsize {
    match args.jobs {
        None if plan.model.is_some() => NonZeroUsize::MIN,
        given => jobs_of(given),
    }
}

/// Where the new lines go.
enum Written {
    /// To stdout, one by one.
    Stdout,
    /// Into a temporary file, until all of them are there.
    Waits(BufWriter<File>),
    /// Somebody else writes them, or nobody.
    Nowhere,
}

impl Tally {
    /// Writes a line, and says what there is to be said of it.
    fn take(
        &mut self,
        args: &Args,
        name: &str,
        line: BatchLine,
        said: Notes,
        written: &mut Written,
        io: &mut Io,
    ) -> Result<(), Failure> {
        Progress::current().record();
        let BatchLine { bytes, ended } = line;
        passes::telling(name, io, |notes| notes.append(said));
        match written {
            Written::Stdout => io.write(&bytes)?,
            Written::Waits(file) => file
                .write_all(&bytes)
                .map_err(|error| no_temporary(&error))?,
            Written::Nowhere => {}
        }
        let tells = args.json && !matches!(written, Written::Stdout);
        match ended {
            None => {}
            Some(Ok(report)) => {
                self.add(&report, name, io);
                if tells {
                    io.write(json_line(&report).as_bytes())?;
                }
            }
            Some(Err(error)) => {
                let line = error.lines.first().copied();
                let failure = passes::failure(error, name);
                self.conversations += 1;
                self.failed += 1;
                // Also where all of them failed: a part of a fleet may have only one.
                self.end(ExitStatus::Partial);
                io.report(&failure);
                if tells {
                    io.write(json_failure(name, line, &failure).as_bytes())?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, report: &Report, name: &str, io: &mut Io) {
        self.conversations += 1;
        self.smaller += u64::from(report.freed_tokens > 0);
        self.tokens_before += report.tokens_before;
        self.tokens_after += report.tokens_after;
        self.end(text::status(report));
        let line = report.line.unwrap_or_default();
        let name = printable(name);
        if let Some(warning) = text::warning(report) {
            io.warn(format_args!("{name}:{line}: {warning}"));
        }
        if text::status(report) == ExitStatus::No {
            io.warn(format_args!("{name}:{line}: {}", text::line(report)));
        }
    }

    fn end(&mut self, status: ExitStatus) {
        if !self.statuses.contains(&status) {
            self.statuses.push(status);
        }
    }

    pub(super) fn status(&self) -> ExitStatus {
        ExitStatus::of_several(&self.statuses)
    }

    fn line(&self, dry_run: bool) -> String {
        let Self {
            conversations,
            smaller,
            tokens_before: before,
            tokens_after: after,
            ..
        } = self;
        let freed = before - after;
        let percent = 100 * freed / (*before).max(1);
        let would = if dry_run { "would be " } else { "" };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!("; {failed} could not be compacted and stay as they are"),
        };
        format!(
            "{smaller} of {conversations} conversations {would}compacted: {before} → {after} tokens, {freed} freed ({percent} %){failed}"
        )
    }

    /// Says how it ended, on one line.
    pub(super) fn print(&self, name: &str, dry_run: bool, io: &mut Io) -> Result<(), Failure> {
        if io.verbosity() == Verbosity::Quiet {
            return Ok(());
        }
        let line = format!("{}: {}\n", printable(name), self.line(dry_run));
        io.write(line.as_bytes())
    }
}
