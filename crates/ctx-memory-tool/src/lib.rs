//! `ctx-memory` searches and consolidates the memory of all sessions, and assembles the context for
//! new sessions from it.
//!
//! The tool has its own package because no other tool needs the search engine. Each command has a
//! module with its flags and its code.

mod consolidate;
mod get;
mod hit_reader;
mod inject;
mod search;
mod searchable_text;
mod stored;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{Io, Outcome, Result, Tool};
use ctx_memory::summary_path;
use ctx_store::{SessionId, Store};
use ctx_tools::store::failure;

/// Search the memory of all sessions, consolidate it, and start sessions with it
///
/// `search` ranks the content of the store by its relevance to a query and prints the best results;
/// `get` prints the text of a search result. `consolidate` merges the memory of all
/// sessions into one file. `inject` assembles the context for the start of a session: base prompt,
/// soul, memory, runtime, summary.
#[derive(Debug, Parser)]
#[command(disable_help_subcommand = true)]
enum Command {
    Search(search::Args),
    Get(get::Args),
    Consolidate(consolidate::Args),
    Inject(inject::Args),
}

/// The description of `ctx-memory`: its name, its command line and its manual page.
pub const TOOL: Tool = Tool::new("ctx-memory", Command::command, run, include_str!("manual.toml"));

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    match Command::from_arg_matches(matches)? {
        Command::Search(args) => args.run(matches, io),
        Command::Get(args) => args.run(matches, io),
        Command::Consolidate(args) => args.run(matches, io),
        Command::Inject(args) => args.run(matches, io),
    }
}

/// Returns the session that `-s` names, by its id or the beginning of its id. A session's summaries
/// may outlast everything else about it.
fn known_session(store: &Store, named: Option<&SessionId>) -> Result<Option<SessionId>> {
    match named {
        Some(named) if !summary_path(store, named).exists() => {
            store.require_session(named, false).map(Some).map_err(failure)
        }
        _ => Ok(named.cloned()),
    }
}

/// Returns a parser that accepts the names of the values in `all`.
fn one_of<T: Copy + Into<&'static str> + Send + Sync>(
    all: &'static [T],
) -> impl TypedValueParser<Value = T> {
    let name = |it: &T| -> &'static str { (*it).into() };
    PossibleValuesParser::new(all.iter().map(name)).map(move |word| {
        *all.iter().find(|it| name(it) == word).expect("clap accepts only possible values")
    })
}
