//! `--repair`: a mended copy.

use std::path::{Path, PathBuf};

use ctx_cli::{ExitStatus, Failure, Io, Outcome, is_stdin, json_line, json_name};
use ctx_passes::check::RepairPass;
use serde::Serialize;

use super::Args;
use crate::passes;
use crate::store::LazyStore;
use ctx_store::Growth;

/// What is said with `--json`.
#[derive(Serialize)]
struct Copied<'a> {
    name: Option<&'a str>,
    dialect: &'static str,
    output: String,
    actions: Vec<Change<'a>>,
    left: Vec<Left<'a>>,
}

#[derive(Serialize)]
struct Change<'a> {
    line: u64,
    action: &'static str,
    id: Option<&'a str>,
    message: String,
}

/// What nobody can have back.
#[derive(Serialize)]
struct Left<'a> {
    line: u64,
    rule: &'static str,
    message: &'a str,
}

pub(super) fn run(args: &Args, paths: &[PathBuf], store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let [path] = paths else {
        return Err(Failure::new("--repair takes one file").hint("mend them one by one"));
    };
    let named = args.output.output.as_deref().unwrap_or(Path::new("-"));
    if args.json && is_stdin(named) {
        return Err(
            Failure::new("--json needs stdout, and so does the mended copy")
                .hint("write the copy to a file with -o"),
        );
    }
    // A result that comes meanwhile would be the second one of a call that was answered here.
    let (source, target) = args.output.session(paths, None, store, Growth::Stops)?;
    let mut session = args.read.session(source.open(path)?)?;
    session.tell_of_document(io);
    let dialect = session.dialect();
    let mut pass = RepairPass::new(dialect);
    session.pass(|record| pass.push(record))?;
    session.report(io);
    let name = &session.name;
    let copy = pass.finish(args.strict);
    let copy = copy.map_err(|error| passes::failure(error, name))?;
    for action in &copy.actions {
        io.warn(format_args!("{name}:{}: {}", action.line, action.say()));
    }
    for (line, flaw) in &copy.left {
        io.warn(format_args!(
            "{name}:{line}: left as it is: {}: {}",
            flaw.rule, flaw.message
        ));
    }
    target.write(&copy.bytes, io)?;
    if let (true, Some(dialect)) = (args.json, dialect) {
        let actions = copy.actions.iter().map(|action| Change {
            line: action.line,
            action: action.what.as_str(),
            id: Some(action.id.as_str()).filter(|id| !id.is_empty()),
            message: action.say(),
        });
        let left = copy.left.iter().map(|(line, flaw)| Left {
            line: *line,
            rule: flaw.rule,
            message: &flaw.message,
        });
        let line = json_line(&Copied {
            name: json_name(name),
            dialect: dialect.name(),
            output: named.display().to_string(),
            actions: actions.collect(),
            left: left.collect(),
        });
        io.write(line.as_bytes())?;
    }
    Ok(ExitStatus::Done)
}
