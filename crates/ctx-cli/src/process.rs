//! The one entry of all binaries.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::FromArgMatches;

use crate::completing::answer;
use crate::memory::return_large_blocks;
use crate::{Binary, CommonArgs, ExitStatus, Failure, Io, Progress, Tool, manual, printable};

/// Parses the command line, runs the tool, reports its failure, and turns all
/// of that into the exit status.
pub fn main(binary: &Binary) -> ExitCode {
    if let Some(answered) = answer(binary) {
        return answered;
    }
    let tool = binary.tool;
    return_large_blocks();
    // Past `ulimit -f` a write must fail with EFBIG, which the tools handle;
    // the signal's default action would kill them in the middle of it.
    let flag = Arc::new(AtomicBool::new(false));
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, flag);

    if let Some(told) = manual::asked(binary) {
        return told_of_itself(tool, told);
    }
    let matches = match tool.full_command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return ExitCode::from(usage(tool, &error).code()),
    };
    let common = CommonArgs::from_arg_matches(&matches).unwrap_or_default();
    Progress::begin(tool.name, &common);
    let mut io = Io::of_process(tool.name, &common);
    let outcome = (tool.run)(&matches, &mut io);
    Progress::current().end();
    let outcome = outcome.and_then(|status| io.end(status));
    let status = outcome.unwrap_or_else(|failure| {
        // What was written before the failure is still data.
        let _ = io.out().flush();
        let failure = io.failed(failure);
        io.report(&failure);
        failure.exit_status()
    });
    ExitCode::from(status.code())
}

/// The status of a tool that told of itself, and did nothing else.
fn told_of_itself(tool: &Tool, told: io::Result<()>) -> ExitCode {
    let Err(error) = told else {
        return ExitCode::SUCCESS;
    };
    let failure = Failure::stdout(&error);
    Io::of_process(tool.name, &CommonArgs::default()).report(&failure);
    ExitCode::from(failure.exit_status().code())
}

/// clap's own messages: help and version to stdout, usage errors to stderr.
fn usage(tool: &Tool, error: &clap::Error) -> ExitStatus {
    let printed = print(error);
    if error.use_stderr() {
        return ExitStatus::Failed;
    }
    let Err(error) = printed else {
        return ExitStatus::Done;
    };
    let failure = Failure::stdout(&error);
    Io::of_process(tool.name, &CommonArgs::default()).report(&failure);
    failure.exit_status()
}

/// Prints such a message. It quotes what was typed, or what a pattern of the shell made of the
/// names of files: where that could drive a terminal, it goes without clap's colours, whose
/// own escapes could not be told from it.
fn print(error: &clap::Error) -> io::Result<()> {
    let is_plain = |arg: OsString| !arg.to_string_lossy().contains(char::is_control);
    if std::env::args_os().all(is_plain) {
        return error.print();
    }
    let text = error.render().to_string();
    let lines = text.lines().map(|line| printable(line) + "\n");
    io::stderr().write_all(lines.collect::<String>().as_bytes())
}
