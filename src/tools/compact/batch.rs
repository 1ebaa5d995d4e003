//! Compacts a batch of conversations, one per line, either from stdin to stdout, or in place in a
//! file.

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use ctx_cli::{
    ExitStatus, Io, Progress, Result, STDIN_NAME, Statuses, Verbosity, jobs_of, json_failure,
    printable,
};
use ctx_engine::compact::{BatchLine, BatchPass, Environment, Report};
use ctx_engine::{Notes, PassError};
use ctx_format::Options;

use super::session::Setup;
use super::{Args, report, session};
use crate::in_place::SessionFile;
use crate::output::{self, Target, no_temporary};
use crate::passes;
use crate::session::Session;
use crate::store::LazyStore;

/// The combined results for all conversations in a batch.
#[derive(Default)]
pub(super) struct Tally {
    conversations: u64,
    smaller: u64,
    failed: u64,
    tokens_before: u64,
    tokens_after: u64,
    statuses: Statuses,
}

/// Compacts the conversations from stdin. If the output is stdout, each line is written as soon as
/// it is compacted. A line that cannot be compacted is written unchanged.
pub(super) fn filter(
    args: &Args,
    setup: &Setup,
    store: &LazyStore<'_>,
    io: &mut Io,
) -> ctx_cli::Outcome {
    let (input, target) = session::open(args, setup, store)?;
    let options = Options { raw: true, batch: true, ..Options::default() };
    let mut batch = Session::of(input, &options, args.read.invalid)?;
    let mut waiting = match target {
        _ if setup.options.dry_run => Written::Nowhere,
        Target::Stdout => Written::Stdout,
        _ => {
            let file = tempfile::tempfile().map_err(|error| no_temporary(&error))?;
            Written::Waits(BufWriter::new(file))
        }
    };
    let mut tally = Tally::default();
    let mut notes = Notes::default();
    let done = batch.read(|batch| {
        let pass = BatchPass {
            options: &setup.options,
            environment: &setup.environment,
            dialect: args.read.dialect(),
            name: None,
            jobs: jobs(args, &setup.environment),
            tag_failed: args.tag_failed,
        };
        let mut take = |line: BatchLine, said: Notes| -> Result<(), PassError> {
            let taken = tally.take(args, STDIN_NAME, line, said, &mut waiting, io);
            taken.map_err(PassError::caller)
        };
        pass.compact(batch, &mut take, &mut notes)
    });
    passes::telling(STDIN_NAME, io, |said| said.append(notes));
    done?;
    if let Written::Waits(written) = waiting {
        let mut written = written.into_inner().map_err(|error| no_temporary(error.error()))?;
        written.rewind().map_err(|error| no_temporary(&error))?;
        let mut output = target.open(io)?;
        io::copy(&mut written, &mut output).map_err(output::failure)?;
        output.finish()?;
    }
    io.note(format_args!("{STDIN_NAME}: {}", tally.line(setup.options.dry_run)));
    if setup.options.dry_run && !args.json {
        tally.print(STDIN_NAME, true, io)?;
    }
    // With --tag-failed, failures are marked in the output, so the exit status does not report
    // them.
    let are_marked = args.tag_failed && !setup.options.dry_run;
    Ok(if are_marked { ExitStatus::Done } else { tally.statuses.of_all() })
}

/// Compacts the conversations in a file, in place.
pub(super) fn in_place(args: &Args, file: &SessionFile<'_>, io: &mut Io) -> Result<Tally> {
    let name = file.name();
    let mut tally = Tally::default();
    let mut notes = Notes::default();
    let mut take = |line: BatchLine, said: Notes| -> Result<(), PassError> {
        let taken = tally.take(args, &name, line, said, &mut Written::Nowhere, io);
        taken.map_err(PassError::caller)
    };
    let ended = file.run_batch(jobs(args, file.environment), &mut take, &mut notes);
    passes::telling(&name, io, |said| said.append(notes));
    let done = session::warn(ended?, io)?;
    if done.report.snapshot.is_some() {
        io.committed(format_args!("{name} is compacted"));
    }
    Ok(tally)
}

/// Returns the number of threads. If a model writes the summaries, the default is 1, because only
/// the user knows how many parallel requests the server can handle.
fn jobs(args: &Args, environment: &Environment) -> NonZeroUsize {
    match args.jobs {
        None if environment.model.is_some() => NonZeroUsize::MIN,
        given => jobs_of(given),
    }
}

/// Where the compacted lines go.
enum Written {
    /// Stdout. Each line is written as soon as it is ready.
    Stdout,
    /// A temporary file that collects the lines until all of them are ready.
    Waits(BufWriter<File>),
    /// No destination, because the lines are written elsewhere or not at all.
    Nowhere,
}

impl Tally {
    /// Writes a compacted line, and adds its result to the tally and the report.
    fn take(
        &mut self,
        args: &Args,
        name: &str,
        line: BatchLine,
        said: Notes,
        written: &mut Written,
        io: &mut Io,
    ) -> Result<()> {
        Progress::current().record();
        let BatchLine { bytes, ended } = line;
        passes::telling(name, io, |notes| notes.append(said));
        match written {
            Written::Stdout => io.write(&bytes)?,
            Written::Waits(file) => file.write_all(&bytes).map_err(|error| no_temporary(&error))?,
            Written::Nowhere => {}
        }
        let tells = args.json && !matches!(written, Written::Stdout);
        match ended {
            None => {}
            Some(Ok(report)) => {
                self.add(&report, name, io);
                if tells {
                    io.json(&report)?;
                }
            }
            Some(Err(error)) => {
                let line = error.lines.first().copied();
                let failure = passes::failure(error, name);
                self.conversations += 1;
                self.failed += 1;
                // The status is `Partial` even if all lines failed, so that a batch of one line has
                // the same status as a longer batch.
                self.statuses.add(ExitStatus::Partial);
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
        self.statuses.add(report::status(report));
        let line = report.line.unwrap_or_default();
        let name = printable(name);
        if let Some(warning) = report::warning(report) {
            io.warn(format_args!("{name}:{line}: {warning}"));
        }
        if report::status(report) == ExitStatus::No {
            io.warn(format_args!("{name}:{line}: {}", report::line(report)));
        }
    }

    fn line(&self, dry_run: bool) -> String {
        let Self { conversations, smaller, tokens_before: before, tokens_after: after, .. } = self;
        let freed = before - after;
        let percent = 100 * freed / (*before).max(1);
        let would = if dry_run { "would be " } else { "" };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!("; {failed} could not be compacted and are unchanged"),
        };
        format!(
            "{smaller} of {conversations} conversations {would}compacted: {before} → {after} tokens, {freed} freed ({percent} %){failed}"
        )
    }

    /// Prints the combined result for a file, and returns its exit status.
    pub(super) fn print_end(&self, args: &Args, path: &Path, io: &mut Io) -> ctx_cli::Outcome {
        if !args.json {
            self.print(&path.display().to_string(), args.compact.dry_run, io)?;
        }
        Ok(self.statuses.of_all())
    }

    /// Prints the combined result on one line.
    fn print(&self, name: &str, dry_run: bool, io: &mut Io) -> Result<()> {
        if io.verbosity == Verbosity::Quiet {
            return Ok(());
        }
        let line = format!("{}: {}\n", printable(name), self.line(dry_run));
        io.print(&line)
    }
}
