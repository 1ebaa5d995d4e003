//! Compacts a single session, either in place in a file or from stdin to stdout.

use std::io;
use std::path::Path;
use std::sync::Arc;

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Input, Io, Outcome, Result, STDIN_NAME, inputs};
use ctx_engine::compact::{Content, Environment, MakeWriter, Options, compact_stream};
use ctx_engine::{Notes, PassError};
use ctx_policy::{Fallback, Method};
use ctx_store::Growth;

use super::{Args, print_report, report};
use crate::in_place::{FileReport, SessionFile, figures};
use crate::output::Target;
use crate::session::last_change;
use crate::store::{LazyStore, failure, warn_edits, warn_retained};
use crate::{output, passes};

/// Compacts the file, or only previews the result if this is a dry run.
pub(super) fn in_place(file: &SessionFile<'_>, io: &mut Io) -> Result<FileReport> {
    let name = file.name();
    let done = passes::telling(&name, io, |notes| file.run(notes))?;
    let done = warn(done, io)?;
    for error in &done.not_deleted {
        io.warn(format_args!("{name}: an offloaded file was not deleted: {error}"));
    }
    Ok(done)
}

/// Warns about files left over from a run. Fails if the summary could not be stored or the
/// compaction could not be logged.
pub(super) fn warn(mut done: FileReport, io: &mut Io) -> Result<FileReport> {
    if let Some(retained) = &done.retained {
        warn_retained(retained, io);
    }
    warn_edits(&done.edits, io);
    let late = done.late_error.take();
    late.map_or(Ok(done), |error| Err(failure(error).status(ExitStatus::Uncertain)))
}

/// Opens the input and the destination. A preview does not change the destination.
pub(super) fn open<'s>(
    args: &Args,
    setup: &Setup,
    store: &'s LazyStore<'s>,
) -> Result<(Input, Target<'s>)> {
    let paths = inputs(&args.files)?;
    let (named, dry_run) = (args.session.as_ref(), setup.options.dry_run);
    let (source, target) = args.output.session(dry_run, &paths, named, store, Growth::Follows)?;
    Ok((source.open(&paths[0])?, target))
}

/// Writes the compacted session to the output. If no compaction is needed or possible, writes the
/// session unchanged.
pub(super) fn stream(args: &Args, setup: &Setup, store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let failed = |error: PassError| passes::failure(error, STDIN_NAME);
    let (mut input, target) = open(args, setup, store)?;
    let read = &args.read;
    let content = Content::of_stream(&mut input.reader, read.dialect(), read.invalid);
    let mut content = content.map_err(failed)?;
    args.refuse_tiny_budget(content.length().map_err(failed)?)?;
    content.last_change = last_change(Path::new("-"));
    let compacted = passes::telling(STDIN_NAME, io, |notes| {
        compact_stream(&setup.options, &setup.environment, content, notes)
    });
    let (mut report, content) = compacted.map_err(failed)?;
    if let Some(error) = report.no_summary.take() {
        return Err(failed(error));
    }
    let status = report::status(&report);
    if setup.options.dry_run {
        print_report(&mut report, STDIN_NAME, args.json, io)?;
        return Ok(status);
    }
    let mut output = target.open(io)?;
    output.set_figures(figures(&report));
    let mut reader = content.file().map_err(failed)?;
    io::copy(&mut reader, &mut output).map_err(output::failure)?;
    output.finish()?;
    if let Some(warning) = report::warning(&report) {
        io.warn(format_args!("{STDIN_NAME}: {warning}"));
    }
    io.note(format_args!("{STDIN_NAME}: {}", report::line(&report)));
    if args.json {
        io.json(&report)?;
    }
    Ok(status)
}

/// The options and resources for a compaction.
pub(super) struct Setup {
    pub(super) options: Options,
    pub(super) environment: Environment,
}

impl Args {
    pub(super) fn setup(&self, matches: &ArgMatches, io: &mut Io) -> Result<Setup> {
        let mut policy = self.policy.policy(io)?;
        policy.trigger = self.triggers.triggers.over(policy.trigger);
        self.compact.over.lay_on(&mut policy);
        policy.check().map_err(Failure::new)?;
        self.llm.refuse_unasked(matches, policy.summary.method)?;
        // With --method llm, the run fails if no model answers, unless a flag or the policy sets a
        // fallback.
        let is_flag = self.compact.over.method == Some(Method::Llm);
        if is_flag && self.llm.on_failure.is_none() && policy.summary.named_fallback().is_none() {
            policy.summary.fallback = vec![Fallback::Fail];
        }
        let counting = self.counting.resolve_under(Some(&policy))?;
        counting.report(io);
        let llm = self.llm.under(&policy.summary, false);
        let is_of_policy = llm.template.as_ref() == Some(&policy.summary.template);
        let headings = if is_of_policy { policy.summary.sections.clone() } else { Vec::new() };
        let mut asks = self.compact.asks_model(&policy, llm.has_server());
        if asks && self.compact.dry_run {
            // A preview asks no model, but it fails if a run would ask none either.
            llm.writer(None, None, |text| io.warn(text))?;
            asks = false;
        }
        let make = move |tokens, model: Option<&str>, notes: &mut Notes| {
            let writer = llm.writer(tokens, model, |text| notes.warn(text));
            writer.map_err(PassError::caller)
        };
        let environment = Environment {
            model_window: counting.model.map(|model| model.window),
            model_name: self.counting.models.name().map(Into::into),
            model: asks.then(|| Arc::new(make) as Arc<MakeWriter>),
            headings,
            saved: self.output.store.promise(matches, !self.is_filter()),
            ..Environment::new(counting.counter, chrono::Utc::now, std::env::temp_dir())
        };
        let options = self.compact.options(policy, self.triggers.overflow)?;
        Ok(Setup { options, environment })
    }
}
