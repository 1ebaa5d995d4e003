//! `--repair`: a repaired copy.

use std::path::{Path, PathBuf};

use ctx_cli::{ExitStatus, Failure, Io, Outcome, is_stdin, json_line, json_name};
use ctx_passes::check::RepairPass;
use ctx_store::Growth;

use super::Args;
use crate::passes;
use crate::store::LazyStore;
use crate::target::Source;

pub(super) fn run(args: &Args, paths: &[PathBuf], store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let [path] = paths else {
        return Err(Failure::new("--repair takes one file").hint("repair them one by one"));
    };
    let named = args.output.output.as_deref().unwrap_or(Path::new("-"));
    if args.json && is_stdin(named) && !args.dry_run {
        return Err(
            Failure::new("--json needs stdout, and so does the repaired copy")
                .hint("write the copy to a file with -o"),
        );
    }
    // A result that comes meanwhile would be the second one of a call that was answered here.
    let (source, target) = if args.dry_run {
        let target = args.output.preview(paths, None, store)?;
        (Source::default(), target)
    } else {
        args.output.session(paths, None, store, Growth::Stops)?
    };
    let mut session = args.read.session(source.open(path)?)?;
    session.tell_of_document(io);
    let mut pass = RepairPass::new(session.dialect());
    session.pass(|record| pass.push(record))?;
    // The copy itself names the bad lines that are left in it.
    if session.bad().left_out() > 0 {
        session.report(io);
    }
    let copy = session.read(|_| pass.finish(args.strict))?;
    passes::telling(&session.name, io, |notes| copy.warn(notes));
    if !args.dry_run {
        target.write(&copy.bytes, io)?;
    }
    if args.json {
        let told = copy.told(json_name(&session.name), named.display().to_string());
        io.write(json_line(&told).as_bytes())?;
    }
    Ok(if copy.has_problem {
        ExitStatus::No
    } else {
        ExitStatus::Done
    })
}
