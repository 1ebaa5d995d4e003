//! From stdin to stdout.

use std::io;
use std::path::Path;

use ctx_cli::{Failure, Input, Io, Outcome, STDIN_NAME, inputs, json_line};
use ctx_passes::PassError;
use ctx_passes::compact::{Content, Plan, compact_stream};

use super::{Args, tell, text};
use crate::cache::last_change;
use crate::store::LazyStore;
use crate::target::{Source, Target};
use crate::{output, passes};
use ctx_store::Growth;

/// What is read, and where it goes; of a preview neither is touched.
pub(super) fn open<'s>(
    args: &Args,
    plan: &Plan,
    store: &'s LazyStore<'s>,
) -> Result<(Input, Target<'s>), Failure> {
    let paths = inputs(&args.files)?;
    let named = args.session.as_ref();
    let (source, target) = if plan.dry_run {
        let target = args.output.preview(&paths, named, store)?;
        (Source::default(), target)
    } else {
        args.output.session(&paths, named, store, Growth::Follows)?
    };
    Ok((source.open(&paths[0])?, target))
}

/// Writes the compacted session, or, where nothing is to be done or nothing
/// helps, the session as it came.
pub(super) fn run(args: &Args, plan: &Plan, store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let failed = |error: PassError| passes::failure(error, STDIN_NAME);
    let (mut input, target) = open(args, plan, store)?;
    let read = &args.read;
    let content = Content::of_stream(&mut input.reader, read.dialect(), read.invalid);
    let mut content = content.map_err(failed)?;
    content.last_change = last_change(Path::new("-"));
    let compacted = passes::telling(STDIN_NAME, io, |notes| compact_stream(plan, content, notes));
    let (mut report, content) = compacted.map_err(failed)?;
    if let Some(error) = report.no_summary.take() {
        return Err(failed(error));
    }
    let status = text::status(&report);
    if plan.dry_run {
        tell(&mut report, STDIN_NAME, args.json, io)?;
        return Ok(status);
    }
    let mut output = target.open(io)?;
    output.tell(report.figures());
    let mut reader = content.file().map_err(failed)?;
    io::copy(&mut reader, &mut output).map_err(output::failure)?;
    output.finish()?;
    if let Some(warning) = text::warning(&report) {
        io.warn(format_args!("{STDIN_NAME}: {warning}"));
    }
    io.note(format_args!("{STDIN_NAME}: {}", text::line(&report)));
    if args.json {
        io.write(json_line(&report).as_bytes())?;
    }
    Ok(status)
}
