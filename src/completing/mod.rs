//! What can stand where a value is typed: a flag that has one name in all tools has one kind of
//! values in all of them.

mod files;
mod names;
mod store;

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use ctx_cli::Typed;

/// The command, whose arguments know their values.
pub fn of(command: Command, typed: &Typed) -> Command {
    let tool = command.get_name().to_owned();
    let command = command.mut_args(|arg| with_values(arg, &tool, typed));
    command.mut_subcommands(|below| of(below, typed))
}

fn with_values(arg: Arg, tool: &str, typed: &Typed) -> Arg {
    // Values that clap knows by itself are offered by it.
    let line = typed.clone();
    let is_text = tool == "ctx-count" && typed.has("text");
    match arg.get_id().as_str() {
        "preset" | "show_preset" => offered(arg, |_| names::presets()),
        "model" => offered(arg, |_| names::models()),
        "template" => offered(arg, |word| {
            let mut values = names::templates();
            values.extend(files::any(word));
            values
        }),
        "session" => offered(arg, move |_| store::sessions(&line)),
        "snapshot" => offered(arg, move |_| store::snapshots(&line)),
        // A snapshot and a file, or a file alone.
        "operands" if tool == "ctx-rollback" => offered(arg, move |word| {
            let mut values = store::snapshots(&line);
            values.extend(files::sessions(word));
            values
        }),
        "show" | "hold" | "release" if tool == "ctx-snapshot" => {
            offered(arg, move |_| store::snapshots(&line))
        }
        "diff" if tool == "ctx-snapshot" => offered(arg, move |word| {
            let mut values = store::snapshots(&line);
            values.extend(files::sessions(word));
            values
        }),
        _ if arg.is_positional() && takes_files(&arg) && !is_text => offered(arg, files::sessions),
        _ => arg,
    }
}

/// Whether clap would offer any file for it.
fn takes_files(arg: &Arg) -> bool {
    let of_paths = std::any::TypeId::of::<std::path::PathBuf>();
    arg.get_value_parser().type_id() == of_paths
}

/// An argument with the values that `values` has for what was typed of it, as far as they begin
/// with it.
fn offered(
    arg: Arg,
    values: impl Fn(&OsStr) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> Arg {
    arg.add(ArgValueCompleter::new(move |word: &OsStr| {
        let begin = word.as_encoded_bytes();
        let mut values = values(word);
        values.retain(|it| it.get_value().as_encoded_bytes().starts_with(begin));
        values
    }))
}
