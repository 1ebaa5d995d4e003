//! The definition of a tool, and the entry point of all binaries.

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use serde::Deserialize;

use crate::completing::answer;
use crate::io::return_large_blocks;
use crate::{CommonArgs, Failure, Io, Outcome, Progress, help, manual, usage};

/// Parses the command line, runs the tool, reports its failure, and returns the exit status.
pub fn main(binary: &Binary) -> ExitCode {
    if let Some(answered) = answer(binary) {
        return answered;
    }
    let tool = binary.tool;
    return_large_blocks();
    // Beyond `ulimit -f`, a write must fail with EFBIG, which the tools handle. The default action
    // of the signal would kill them during the write.
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
        // The output before the failure is still valid.
        let _ = io.out().flush();
        let failure = io.failed(failure);
        io.report(&failure);
        failure.exit_status()
    });
    ExitCode::from(status.code())
}

/// Returns the status of a tool that only printed information about itself.
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

/// Treats an empty variable as unset.
fn without_empty_variables(command: Command) -> Command {
    let heard = |arg: Arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|value| value.is_empty()) { arg.env(Resettable::Reset) } else { arg }
    };
    command.mut_args(heard).mut_subcommands(|of_tool| of_tool.mut_args(heard))
}

/// Prints help or version to stdout.
fn print(tool: &Tool, args: &[OsString], error: &clap::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::DisplayHelp {
        let is_short = help::is_short(&error.render().to_string());
        let command = usage::command_of(tool, args);
        return help::print(tool, command.as_deref(), is_short);
    }
    error.print()
}

/// The parts of a binary.
#[derive(Clone, Copy)]
pub struct Binary {
    /// The tool.
    pub tool: &'static Tool,
    /// The manual page of the tool, in roff.
    pub manual: &'static str,
    /// Answers a flag that several tools have, and returns true; the tool then does not run.
    pub answered: fn(&ArgMatches, &mut Io) -> Result<bool, Failure>,
    /// Adds completers to the arguments of a command; the matches are those of the line so far.
    pub completed: fn(Command, &ArgMatches) -> Command,
}

/// One tool: the source of its binary, its man page, its completions and its tests.
#[derive(Clone, Copy)]
pub struct Tool {
    /// The name, such as `ctx-count`.
    pub name: &'static str,
    /// Returns the command; the doc comments of its `Args` are the help.
    pub command: fn() -> Command,
    /// Runs the tool.
    pub run: fn(&ArgMatches, &mut Io) -> Outcome,
    /// The long names of the flags that most people need, separated by spaces. `-h` shows only
    /// these, and they come first everywhere, in this order. They include the flags of all
    /// commands.
    pub first: &'static str,
    /// The [`Page`], in TOML.
    pub page: &'static str,
}

/// The content of a manual besides the flags. It is only read for help, manuals and usage errors.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Page {
    guesses: Vec<(String, String)>,
    /// Exit statuses with a special meaning in this tool.
    pub exit_status: Vec<(u8, String)>,
    /// Variables and what they set.
    pub environment: Vec<(String, String)>,
    /// Files that the tool reads or writes.
    pub files: Vec<(String, String)>,
    /// Commands and what each does; `--help` ends with the first ones.
    pub examples: Vec<(String, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Self {
        toml::from_str(text).expect("a page is valid TOML: a test reads each")
    }

    /// Returns the exit statuses of the tool with their meanings. A tool that never answers "no"
    /// has no 1.
    pub fn statuses(&self) -> impl Iterator<Item = (u8, &str)> {
        ExitStatus::TABLE.into_iter().filter_map(|(status, meaning)| {
            let here = self.exit_status.iter().find(|(code, _)| *code == status.code());
            let meaning = match here {
                Some((_, here)) => here,
                None if status == ExitStatus::No => return None,
                None => meaning,
            };
            Some((status.code(), meaning))
        })
    }

    /// Returns words that users of other tools type, each with an answer. A word is a flag, a flag
    /// with its value, the first operand, or `FILE` for any superfluous operand. The answer is the
    /// flags to use instead, or a sentence of advice.
    pub fn guesses(&self) -> impl Iterator<Item = (&str, &str)> {
        let rows = self.guesses.iter();
        rows.flat_map(|(typed, answer)| typed.split(", ").map(move |one| (one, answer.as_str())))
    }
}

impl Tool {
    /// Returns the content of the manual besides the flags.
    pub fn page(&self) -> Page {
        Page::parse(self.page)
    }

    /// Returns the command with everything that all tools share: version, order of flags, `-q`,
    /// `-v` and `--color`.
    pub fn full_command(&self) -> Command {
        let own = (self.command)();
        let (about, long_about) = (own.get_about().cloned(), own.get_long_about().cloned());
        let command = CommonArgs::augment_args(own)
            // The added flags replace the description.
            .about(about.unwrap_or_default())
            .long_about(Resettable::from(long_about))
            .name(self.name)
            .version(env!("CARGO_PKG_VERSION"))
            .max_term_width(help::WIDTH)
            .args_override_self(true);
        let command = help::in_order(command, self, None);
        command.mut_subcommands(|of_tool| {
            let name = of_tool.get_name().to_owned();
            let of_tool = of_tool.args_override_self(true);
            help::in_order(of_tool, self, Some(&name))
        })
    }
}

/// The exit status of a tool. The numbers never change.
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
    /// Every status with its meaning, in numerical order.
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

    /// Returns the status for several inputs: the status that all share, the worst answer if all
    /// ended well, "uncertain" if all are done, and "partly" if only some failed.
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

    /// Returns the number that the shell sees.
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

#[cfg(test)]
mod tool_tests {
    use clap::Command;

    use super::Tool;
    use crate::ExitStatus;

    #[test]
    fn the_description_is_the_tools_own() {
        let tool = Tool {
            name: "ctx-test",
            command: || Command::new("x").about("Do it").long_about("Do it\n\nLong"),
            run: |_, _| Ok(ExitStatus::Done),
            first: "",
            page: "",
        };
        let command = tool.full_command();
        let about = command.get_about().map(ToString::to_string);
        let long_about = command.get_long_about().map(ToString::to_string);
        assert_eq!(about.as_deref(), Some("Do it"));
        assert_eq!(long_about.as_deref(), Some("Do it\n\nLong"));
    }
}
