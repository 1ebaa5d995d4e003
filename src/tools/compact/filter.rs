//! From stdin to stdout: the same steps, without a session file and its store.

use std::fs::File;
use std::io::{self, Read, Write};

use ctx_cli::{Failure, Inputs, Io, STDIN_NAME};
use ctx_policy::When;
use ctx_select::trigger::Step;

use super::outcome::Outcome;
use super::plan::Plan;
use super::prepare::Stores;
use super::pruning::prune;
use super::session_file::Job;
use super::stages::{again, temporary};
use super::{Args, tell};
use crate::tagged::cannot_spool;

/// Writes the compacted session, or, where nothing is to be done or nothing
/// helps, the session as it came.
pub(super) fn run(args: &Args, plan: &Plan, io: &mut Io) -> ctx_cli::Outcome {
    let mut input = Inputs::open(&Inputs::new(&args.files)?.paths()[0])?;
    let mut file = temporary()?;
    copy(&mut input.reader, &mut file)?;
    let mut job = Job::of(plan, STDIN_NAME, &file)?;
    let mut result = file;
    if !plan.policy.enabled {
        job.report.end(Outcome::Disabled);
    } else if job.step() != Step::Compact {
        job.report.end(Outcome::NotDue);
    } else if let Some(candidate) = job.build(&result, Stores::None, io)? {
        result = candidate.file;
    }
    if let Some(file) = prune_sent(&mut job, &result, io)? {
        result = file;
    }
    let status = job.report.outcome.status();
    if plan.dry_run {
        tell(&job.report, args.json, io)?;
        return Ok(status);
    }
    let mut output = args.output.open(io)?;
    let mut reader = again(&result)?;
    output.with(|out| io::copy(&mut reader, out).map(|_| ()))?;
    output.finish()?;
    let line = job.report.line();
    io.note(format_args!("{STDIN_NAME}: {line}"));
    Ok(status)
}

/// Prunes what is pruned only on its way to the model. It is as it was where that
/// frees nothing, or the target stays out of reach.
fn prune_sent(job: &mut Job<'_>, input: &File, io: &mut Io) -> Result<Option<File>, Failure> {
    let plan = job.plan;
    if !plan.policy.enabled {
        return Ok(None);
    }
    let stdin = Stores::None.path();
    let Some(pruned) = prune(plan, &job.source, When::Sent, stdin, input, io)? else {
        return Ok(None);
    };
    let size = &pruned.measured.size;
    if size.tokens >= job.report.current_tokens || !plan.fits(size.tokens) {
        return Ok(None);
    }
    job.source
        .refuse_new_offence(&pruned.measured, &job.before)?;
    job.report.pruned(size);
    Ok(Some(pruned.file))
}

fn copy(input: &mut dyn Read, file: &mut impl Write) -> Result<(), Failure> {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let n = match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other.map_err(|error| {
                Failure::new(format_args!("cannot read: {error}")).at(STDIN_NAME, None)
            })?,
        };
        file.write_all(&buffer[..n])
            .map_err(|error| cannot_spool(&error))?;
    }
}
