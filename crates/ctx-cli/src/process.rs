//! The entry point of all binaries.

use std::ffi::OsString;
use std::io;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Builder;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use rustix::process::{Resource, getrlimit};

use crate::completing::answer;
use crate::{Binary, CommonArgs, ExitStatus, Failure, Io, Progress, Tool, help, manual, usage};

/// The stack that a tool needs, with plenty to spare.
const STACK: usize = 8 << 20;

/// Runs the tool. If the limit for the stack is far below the usual one, for example after `ulimit
/// -s 64`, runs it in a thread, because a thread has a stack of its own.
pub fn main(binary: &Binary) -> ExitCode {
    let limit = getrlimit(Resource::Stack).current;
    if limit.is_none_or(|limit| limit >= STACK as u64 / 8) {
        return run(binary);
    }
    std::thread::scope(|scope| {
        match Builder::new().stack_size(STACK).spawn_scoped(scope, || run(binary)) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => {
                let mut io = Io::of_process(binary.tool.name, &CommonArgs::default());
                let what = format!("the stack is too small, and no thread can be started: {error}");
                let failure = Failure::new(what).hint("raise the limit with ulimit -s 8192");
                io.report(&failure);
                ExitCode::from(failure.status.code())
            }
        }
    })
}

/// Parses the command line, runs the tool, reports its failure, and returns the exit status.
fn run(binary: &Binary) -> ExitCode {
    if let Some(answered) = answer(binary) {
        return answered;
    }
    let tool = binary.tool;
    return_large_blocks();
    // A write beyond the limit set by `ulimit -f` must fail with EFBIG, which the tools handle. By
    // default, the signal SIGXFSZ would kill the tool during the write.
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
    let outcome = match (binary.answered)(&matches, &mut io) {
        Ok(false) => (tool.run)(&matches, &mut io),
        answered => answered.map(|_| ExitStatus::Done),
    };
    Progress::current().end();
    let outcome = outcome.and_then(|status| io.end(status));
    let status = outcome.unwrap_or_else(|failure| {
        // Output written before the failure is still valid.
        let _ = io.out().flush();
        let failure = io.failed(failure);
        io.report(&failure);
        failure.status
    });
    ExitCode::from(status.code())
}

/// Returns the exit status of a run that printed the tool's manual or completion script.
fn exit_of(tool: &Tool, printed: io::Result<()>) -> ExitCode {
    let Err(error) = printed else { return ExitCode::SUCCESS };
    let failure = Failure::stdout(&error);
    Io::of_process(tool.name, &CommonArgs::default()).report(&failure);
    ExitCode::from(failure.status.code())
}

/// Parses the command line. If the user asked for help or made an error, prints the help or the
/// error message, and returns the exit status as `Err`.
fn matches(tool: &Tool) -> Result<ArgMatches, ExitStatus> {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let failure = match without_empty_variables(tool.full_command()).try_get_matches() {
        Ok(matches) => match usage::misread(tool, &args).or_else(|| usage::no_file(tool, &args)) {
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
    Err(failure.status)
}

/// Treats an empty environment variable as unset.
fn without_empty_variables(command: Command) -> Command {
    let unless_empty = |arg: Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) { arg.env(Resettable::Reset) } else { arg }
    };
    command.mut_args(unless_empty).mut_subcommands(|of_tool| of_tool.mut_args(unless_empty))
}

/// Prints the help or the version to stdout.
fn print(tool: &Tool, args: &[OsString], error: &clap::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::DisplayHelp {
        let command = usage::command_of(tool, args);
        return help::print(tool, command.as_deref(), &error.render().to_string());
    }
    error.print()
}

/// Memory blocks of at least this many bytes are mapped separately, so that they are returned to
/// the system as soon as they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const MAPPED: libc::c_int = 4 << 20;

/// Sets a fixed threshold above which glibc maps each memory block separately. By default, glibc
/// raises the threshold to the size of any larger block that is freed, up to 32 MB. Growing tables
/// then leave holes in the heap that are too small for later blocks. As a result, a compaction of
/// two million messages took 176 MB of memory instead of 100 MB.
///
/// Also lets glibc keep up to `MAPPED` bytes of free memory at the end of the heap. With glibc's
/// default of 128 KB, returning memory to the system after each conversation in a batch and
/// requesting it again for the next one took a quarter of the total time.
fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code)] // No crate has a safe wrapper for `mallopt`.
    // SAFETY: `mallopt` takes two numbers, and no other thread is running yet. If `mallopt` rejects
    // a value, nothing changes.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, MAPPED);
    }
}
