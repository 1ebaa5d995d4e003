//! Shell completion for the values of flags and operands. A flag takes the same values in all
//! tools.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{Arg, ArgMatches, Command};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use ctx_cli::short_time;
use ctx_format::counted;
use ctx_sessions::with_home;
use ctx_store::{SessionId, SnapshotId};
use ctx_summary::Template;
use ctx_tokens::Model;

use crate::store::StoreArgs;

/// Returns the command with completers for its arguments' values.
pub fn of(command: Command, typed: &ArgMatches) -> Command {
    let tool = command.get_name().to_owned();
    command.mut_args(|arg| with_values(arg, &tool, typed)).mut_subcommands(|below| of(below, typed))
}

fn with_values(arg: Arg, tool: &str, typed: &ArgMatches) -> Arg {
    // Clap itself completes flags that have a fixed list of values.
    let line = typed.clone();
    let is_store = matches!(tool, "ctx-rollback" | "ctx-snapshot");
    let is_text = matches!(typed.try_get_one("text"), Ok(Some(true)));
    let takes_path = arg.get_value_parser().type_id() == std::any::TypeId::of::<PathBuf>();
    match arg.get_id().as_str() {
        "preset" | "show_preset" => offered(arg, |_| presets()),
        "model" => offered(arg, |_| models()),
        "template" => offered(arg, |word| {
            let templates = Template::names().map(CompletionCandidate::new);
            templates.chain(any_file(word)).collect()
        }),
        "session" => offered(arg, move |_| sessions(&line)),
        "snapshot" => offered(arg, move |_| snapshots(&line)),
        "show" | "hold" | "release" if is_store => offered(arg, move |_| snapshots(&line)),
        // The arguments to `ctx-snapshot --diff` and `ctx-rollback` may be snapshots or files.
        "operands" | "diff" if is_store => offered(arg, move |word| {
            snapshots(&line).into_iter().chain(session_files(word)).collect()
        }),
        _ if arg.is_positional() && takes_path && !is_text => offered(arg, session_files),
        _ => arg,
    }
}

/// Lets completion offer the `values` that begin with the typed word.
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

/// Returns the session files that match the typed word, and the folders that may contain session
/// files.
fn session_files(word: &OsStr) -> Vec<CompletionCandidate> {
    let is_session = |path: &Path| {
        let extension = path.extension().and_then(OsStr::to_str);
        matches!(extension, Some("jsonl" | "json" | "ndjson"))
    };
    let mut found = PathCompleter::any().filter(is_session).complete(word);
    let is_folder = |it: &CompletionCandidate| it.get_value().as_encoded_bytes().ends_with(b"/");
    // If no session file matches, offer all files, because a session may be in a file with any
    // name.
    if found.iter().all(is_folder) {
        found = any_file(word);
    }
    found
}

/// Returns all files that match the typed word.
fn any_file(word: &OsStr) -> Vec<CompletionCandidate> {
    PathCompleter::any().complete(word)
}

/// Returns the names of the presets, each with a description.
fn presets() -> Vec<CompletionCandidate> {
    let preset = |name: &'static str| {
        let source = ctx_policy::source(name).unwrap_or_default();
        CompletionCandidate::new(name).help(Some(head(source).into()))
    };
    ctx_policy::names().map(preset).collect()
}

/// Returns the description of a preset: the first clause of its first comment, without the name.
fn head(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("# "));
    let text = lines.collect::<Vec<_>>().join(" ");
    let what = text.split_once(": ").map_or("", |(_, what)| what);
    let end = what.find("; ").unwrap_or(what.len());
    what[..end].trim_end_matches('.').to_owned()
}

/// Returns the short names of models, and the names of all known models with the sizes of their
/// windows.
fn models() -> Vec<CompletionCandidate> {
    let model = |it: &ctx_tokens::Model| {
        let window = format!("a window of {} tokens", it.window);
        CompletionCandidate::new(it.prefix).help(Some(window.into()))
    };
    let short = |(short, name): &(&'static str, &'static str)| {
        CompletionCandidate::new(*short).help(Some(format!("short for {name}").into()))
    };
    Model::short_names().iter().map(short).chain(Model::all().iter().map(model)).collect()
}

/// Returns `latest` and the ids of the snapshots, newest first. If the command line names a
/// session, only its snapshots are listed.
fn snapshots(line: &ArgMatches) -> Vec<CompletionCandidate> {
    let mut ids = ids(line);
    if let Ok(Some(session)) = line.try_get_one::<SessionId>("session") {
        ids.retain(|id| id.session.as_str().starts_with(session.as_str()));
    }
    ids.sort_by_key(|id| std::cmp::Reverse(id.stamp));
    let what = "the newest snapshot that was not taken for an undo";
    let latest = CompletionCandidate::new("latest").help(Some(what.into()));
    let latest = ids.first().map(|_| latest);
    let snapshot = |id: &SnapshotId| {
        let time = id.stamp.time;
        let taken = format!("{} UTC, {}", time.format("%Y-%m-%d %H:%M"), ago(id));
        CompletionCandidate::new(id.to_string()).help(Some(taken.into()))
    };
    latest.into_iter().chain(ids.iter().map(snapshot)).collect()
}

/// Returns the sessions that have snapshots in the store.
fn sessions(line: &ArgMatches) -> Vec<CompletionCandidate> {
    let mut sessions: BTreeMap<String, Vec<SnapshotId>> = BTreeMap::new();
    for id in ids(line) {
        sessions.entry(id.session.to_string()).or_default().push(id);
    }
    let session = |(name, ids): (String, Vec<SnapshotId>)| {
        let newest = ids.iter().max_by_key(|id| id.stamp).map_or_else(String::new, ago);
        let what = format!("{}, the newest {newest}", counted(ids.len() as u64, "snapshot"));
        CompletionCandidate::new(name).help(Some(what.into()))
    };
    sessions.into_iter().map(session).collect()
}

fn ago(id: &SnapshotId) -> String {
    let age = (Utc::now() - id.stamp.time).to_std().unwrap_or_default();
    format!("{} ago", short_time(age))
}

fn ids(line: &ArgMatches) -> Vec<SnapshotId> {
    let home = std::env::var_os("HOME");
    let named = line.try_get_one::<PathBuf>("store").ok().flatten();
    let named = named.map(|path| with_home(path, home.as_deref()));
    let store = StoreArgs { store: named }.to_read();
    store.and_then(|store| store.snapshot_ids().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{head, models, presets};

    /// The description of a preset is the first clause of its comment.
    #[test]
    fn presets_say_what_they_do() {
        assert_eq!(head("# x: this\n# and that; more\n#\n# else\n"), "this and that");
        assert_eq!(head("# x: our own.\n#\n"), "our own");
        for preset in presets() {
            let help = preset.get_help().map(ToString::to_string);
            assert!(help.is_some_and(|it| it.len() > 5), "{preset:?}");
        }
    }

    /// The tools recognize every model name that completion offers.
    #[test]
    fn models_can_be_named() {
        let models = models();
        assert!(models.len() > 20);
        for model in models {
            let name = model.get_value().to_string_lossy();
            let full = ctx_tokens::full_name(&name).unwrap_or(&name);
            assert!(ctx_tokens::model(full).is_some(), "{name}");
        }
    }
}
