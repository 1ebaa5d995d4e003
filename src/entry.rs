//! `ctx` lists the tools, and `ctx NAME` runs `ctx-NAME`, as `git` does.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, process};

use clap::{Arg, Command};
use ctx_cli::{ExitStatus, Failure, Tool, help};

/// The name of each tool, without `ctx-`, and what the tool does.
const LIST: &str = include_str!("entry.txt");

/// `ctx` in the form of a tool, which gives it a manual page and completions.
pub const ENTRY: Tool = Tool::new(
    "ctx",
    command,
    |matches, _| {
        if matches.subcommand().is_some_and(|(name, of)| name != "help" || of.args_present()) {
            return Err(Failure::new("the first word must be the name of a tool")
                .hint("ctx lists the tools; ctx TOOL -h lists the flags of one"));
        }
        help::long(&ENTRY, None).print_help().map_err(|error| Failure::stdout(&error))?;
        Ok(ExitStatus::Done)
    },
    include_str!("entry.toml"),
);

/// Returns the tools and what each of them does.
pub fn list() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIST.lines().filter_map(|line| line.split_once(' ')).map(|(name, about)| (name, about.trim()))
}

fn command() -> Command {
    let tools = list().map(|(name, about)| Command::new(name).about(about));
    let tools = tools.chain([Command::new("help").hide(true).arg(Arg::new("tool"))]);
    Command::new("ctx")
        .about("Run a tool for the sessions of coding agents: ctx TOOL runs ctx-TOOL")
        .help_template("{about-with-newline}\n{usage-heading} {usage}\n\n{subcommands}{after-help}")
        .override_usage("ctx TOOL [OPTIONS] [FILE]...")
        .disable_help_subcommand(true)
        .subcommand_value_name("TOOL")
        .subcommands(tools.map(|tool| tool.disable_help_flag(true)))
}

/// Runs the tool that the first argument names, or else `ctx` itself, whose manual page is `manual`.
pub fn main(manual: &'static str) -> ExitCode {
    let mut args: Vec<OsString> = env::args_os().skip(1).collect();
    if args.len() > 1 && args[0] == "help" {
        args = vec![args.swap_remove(1), "--help".into()];
    }
    let word = args.first().and_then(|word| word.to_str()).unwrap_or_default();
    let word = word.strip_prefix("ctx-").unwrap_or(word);
    let Some((name, _)) = list().find(|(name, _)| *name == word) else {
        return super::main(&ENTRY, manual);
    };
    let name = format!("ctx-{name}");
    let itself = env::current_exe().unwrap_or_default();
    let beside = itself.with_file_name(&name);
    let program = match itself.file_name() {
        // The program of the packages contains all tools, and runs the one that it is called as.
        Some(it) if it == "ctx-tools" => itself,
        _ if beside.exists() => beside,
        _ => PathBuf::from(&name),
    };
    // This process becomes the tool, unless the tool cannot be started.
    let error = process::Command::new(program).arg0(&name).args(&args[1..]).exec();
    // If stderr is closed, there is nowhere to report the error.
    let _ = writeln!(io::stderr(), "ctx: cannot start {name}: {error}; install it or set PATH");
    ExitCode::from(ExitStatus::Failed.code())
}
