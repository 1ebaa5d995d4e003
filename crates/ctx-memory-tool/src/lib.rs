//! `ctx-memory`: the memory of all sessions.
//!
//! It is a package of its own because only this tool builds and links the search engine. Each
//! command is a module with its flags and its work.

mod consolidate;
mod get;
mod inject;
mod layers;
mod search;
mod searchable_text;
mod stored;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use ctx_cli::{Io, Outcome, Tool};

/// Search the memory of all sessions, consolidate it, and start sessions with it
///
/// `search` ranks what the store holds by the words of a query, and prints an object a line;
/// `get` prints what one of them refers to. `consolidate` brings the memory of all sessions together in
/// one file. `inject` puts the context together that a session begins with: base prompt, soul,
/// memory, runtime, summary.
#[derive(Debug, Parser)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Search(search::Args),
    Get(get::Args),
    Consolidate(consolidate::Args),
    Inject(inject::Args),
}

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-memory",
    command: Args::command,
    run,
    first: "limit session kind since base max-tokens transcript dry-run output json",
    page: include_str!("page.toml"),
};

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    match Args::from_arg_matches(matches)?.command {
        Command::Search(args) => args.run(matches, io),
        Command::Get(args) => args.run(matches, io),
        Command::Consolidate(args) => args.run(matches, io),
        Command::Inject(args) => args.run(matches, io),
    }
}
