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
use crate::io::return_large_blocks;
use crate::{Binary, CommonArgs, Failure, Io, Progress, Tool, help, manual, usage};

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

/// How a tool ended. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// Done; also when the reader of stdout went away.
    Done = 0,
    /// Done, and the answer is "no"; each man page says what "no" means there.
    No = 1,
    /// Usage, bad input or I/O: no file and no store entry changed; stdout may be partial.
    Failed = 2,
    /// Partly done: some inputs failed.
    Partial = 3,
    /// Busy, or changed meanwhile: try again.
    Busy = 4,
    /// Committed, but its durability or its audit record is uncertain, or the report failed.
    Uncertain = 5,
    /// Interrupted.
    Interrupted = 130,
}

impl ExitStatus {
    /// Every status with its meaning, in the order of the numbers.
    pub const TABLE: [(Self, &'static str); 7] = [
        (Self::Done, "done; also when the reader of stdout went away"),
        (Self::No, "done, and the answer is \"no\""),
        (
            Self::Failed,
            "usage, bad input or I/O: no file and no store entry changed; stdout may be partial",
        ),
        (Self::Partial, "partly done: some inputs failed"),
        (Self::Busy, "busy, or changed meanwhile: try again"),
        (
            Self::Uncertain,
            "committed, but its durability or its audit record is uncertain, or stdout could not be written",
        ),
        (Self::Interrupted, "interrupted"),
    ];

    /// The status for several inputs: the status that all share, the worst answer if all ended
    /// well, "uncertain" if all are done, and "partly" if only some failed.
    pub fn of_several(statuses: &[Self]) -> Self {
        let all_are = |kinds: &[Self]| statuses.iter().all(|status| kinds.contains(status));
        match statuses {
            [] => Self::Done,
            [first, rest @ ..] if rest.iter().all(|status| status == first) => *first,
            _ if all_are(&[Self::Done, Self::No]) => Self::No,
            _ if all_are(&[Self::Done, Self::No, Self::Uncertain]) => Self::Uncertain,
            _ => Self::Partial,
        }
    }

    /// The number the shell sees.
    pub fn code(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::ExitStatus;

    #[test]
    fn the_numbers_are_a_contract() {
        let codes: Vec<u8> = ExitStatus::TABLE.iter().map(|(status, _)| status.code()).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 130]);
    }

    #[test]
    fn several_inputs_have_one_status() {
        use ExitStatus::{Busy, Done, Failed, No, Partial, Uncertain};
        for (statuses, status) in [
            (&[][..], Done),
            (&[Busy, Busy], Busy),
            (&[Done, No, Done], No),
            (&[Done, Failed], Partial),
            (&[No, Uncertain], Uncertain),
            (&[Uncertain, Failed, Done], Partial),
            (&[Uncertain, Busy], Partial),
        ] {
            assert_eq!(ExitStatus::of_several(statuses), status, "{statuses:?}");
        }
    }
}
