//! The one entry of all binaries.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, FromArgMatches};

use crate::completing::answer;
use crate::memory::return_large_blocks;
use crate::{Binary, CommonArgs, ExitStatus, Failure, Io, Progress, Tool, help, manual, usage};

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

    if let Some(printed) = manual::answer(binary) {
        return exit_of(tool, printed);
    }
    let matches = match matches(tool) {
        Ok(matches) => matches,
        Err(status) => return ExitCode::from(status.code()),
    };
    let common = CommonArgs::from_arg_matches(&matches).unwrap_or_default();
    Progress::begin(tool.name, &common);
    let mut io = Io::of_process(tool.name, &common);
    let outcome = (tool.run)(&matches, &mut io);
    Progress::current().end();
    let outcome = outcome.and_then(|status| io.end(status));
    let status = outcome.unwrap_or_else(|failure| {
        // The output before the failure is still data.
        let _ = io.out().flush();
        let failure = io.failed(failure);
        io.report(&failure);
        failure.exit_status()
    });
    ExitCode::from(status.code())
}

/// The status of a tool that only printed information about itself.
fn exit_of(tool: &Tool, printed: io::Result<()>) -> ExitCode {
    let Err(error) = printed else {
        return ExitCode::SUCCESS;
    };
    let failure = Failure::stdout(&error);
    Io::of_process(tool.name, &CommonArgs::default()).report(&failure);
    ExitCode::from(failure.exit_status().code())
}

/// Parses the command line. The error is the exit status after help or a usage error.
fn matches(tool: &Tool) -> Result<ArgMatches, ExitStatus> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let failure = match without_empty_variables(tool.full_command()).try_get_matches() {
        Ok(matches) => match usage::no_file(tool, &args) {
            None => return Ok(matches),
            Some(failure) => failure,
        },
        Err(error) if error.use_stderr() => usage::failure(tool, &args, &error),
        Err(error) => match print(tool, &args, &error) {
            Ok(()) => return Err(ExitStatus::Done),
            Err(error) => Failure::stdout(&error),
        },
    };
    Io::of_process(tool.name, &CommonArgs::default()).report(&failure);
    Err(failure.exit_status())
}

/// A variable that is set to nothing is one that is not set, as everywhere.
fn without_empty_variables(command: Command) -> Command {
    let heard = |arg: Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) { arg.env(Resettable::Reset) } else { arg }
    };
    command.mut_args(heard).mut_subcommands(|of_tool| of_tool.mut_args(heard))
}

/// Help and version, to stdout.
fn print(tool: &Tool, args: &[OsString], error: &clap::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::DisplayHelp {
        let is_short = help::is_short(&error.render().to_string());
        let command = usage::command_of(tool, args);
        return help::print(tool, command.as_deref(), is_short);
    }
    error.print()
}
