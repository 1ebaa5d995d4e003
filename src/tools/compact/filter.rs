//! From stdin to stdout: the same steps, without a session file and its store.

use std::fs::File;
use std::io;
use std::path::Path;

use ctx_cli::{Failure, Input, Io, STDIN_NAME, inputs};
use ctx_passes::compact::{Content, First, Job, Outcome, Plan, prune_sent};
use ctx_passes::{Notes, PassError};
use ctx_select::trigger::Step;

use super::{Args, tell, text};
use crate::cache::last_change;
use crate::output;
use crate::passes;

/// Writes the compacted session, or, where nothing is to be done or nothing
/// helps, the session as it came.
pub(super) fn run(args: &Args, plan: &Plan, io: &mut Io) -> ctx_cli::Outcome {
    let mut content = content(args)?;
    let first = First::of(plan, &content);
    let done = passes::telling(STDIN_NAME, io, |notes| {
        compact(plan, &content, &first, notes)
    });
    let (mut report, compacted) = done.map_err(failed)?;
    if let Some(compacted) = compacted {
        content = compacted;
    }
    let pruned = passes::telling(STDIN_NAME, io, |notes| {
        prune_sent(plan, &content, &mut report, notes)
    });
    if let Some(pruned) = pruned.map_err(failed)? {
        content = pruned;
    }
    let status = text::status(report.outcome);
    if plan.dry_run {
        tell(&report, args.json, io)?;
        return Ok(status);
    }
    let mut output = args.output.open(io)?;
    let mut reader = content.file().map_err(failed)?;
    io::copy(&mut reader, &mut output).map_err(output::failure)?;
    output.finish()?;
    io.note(format_args!("{STDIN_NAME}: {}", text::line(&report)));
    Ok(status)
}

fn compact(
    plan: &Plan,
    content: &Content,
    first: &First,
    notes: &mut Notes,
) -> Result<(ctx_passes::compact::Report, Option<Content>), PassError> {
    let mut job = Job::of(plan, content, first, STDIN_NAME, false)?;
    if !plan.policy.enabled {
        job.end(Outcome::Disabled);
    } else if job.step() != Step::Compact {
        job.end(Outcome::NotDue);
    } else if let Some(new) = job.build(None, notes)? {
        return Ok((job.report, Some(new.content)));
    }
    Ok((job.report, None))
}

/// What comes from stdin, in a temporary file.
fn content(args: &Args) -> Result<Content, Failure> {
    let mut input = Input::open(&inputs(&args.files)?[0])?;
    let file = tempfile::tempfile().map_err(|error| failed(PassError::temporary(error)))?;
    copy(&mut input.reader, &file)?;
    let content = Content::open(file, args.read.dialect(), args.read.invalid);
    let mut content = content.map_err(|error| passes::failure(error, STDIN_NAME))?;
    content.last_change = last_change(Path::new("-"));
    Ok(content)
}

fn copy(input: &mut dyn io::Read, mut file: &File) -> Result<(), Failure> {
    let mut buffer = vec![0; 128 * 1024];
    loop {
        let n = match input.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other.map_err(|error| {
                Failure::new(format_args!("cannot read: {error}")).at(STDIN_NAME, None)
            })?,
        };
        io::Write::write_all(&mut file, &buffer[..n])
            .map_err(|error| failed(PassError::temporary(error)))?;
    }
}

fn failed(error: PassError) -> Failure {
    passes::failure(error, STDIN_NAME)
}
