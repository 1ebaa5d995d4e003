//! `ctx-ls`: lists the sessions of all agents on this machine.

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Io, Outcome, Result, Tool, Verbosity, cannot_read, printable, report_failures,
};
use ctx_engine::message_counter::MessageCounter;
use ctx_policy::trigger::Triggers;
use ctx_sessions::{ListFormat, Query};
use ctx_tokens::Encoding;

use crate::args::{Counting, ModelArgs, PolicyArgs, TriggerArgs};
use crate::session::operand;
use crate::store::StoreArgs;

/// List the sessions of all agents on this machine, newest first
///
/// Searches the folders of all known agents, or the given files and folders. Each row shows the
/// beginning of the id, which stands for the session wherever a file can be named; the agent, the
/// project, the age of the file, the messages and tokens that the agent would send now, their share
/// of the window, whether a compaction is due, and the title or the first request.
///
/// The number of tokens is the API's count for the newest reply, plus our own count of all later
/// messages, as in ctx-count --calibrate and ctx-check --due. If the file contains no such count
/// for the current context, for example directly after a compaction, our own count is used and
/// marked with ~. The window is the window recorded in the file, or else the window of the last
/// model. If the window is unknown, its column shows ?, and a limit that is a share of the window
/// cannot make a compaction due. --window or --model sets the window for all sessions.
///
/// Links are followed. Names that begin with a dot are skipped, and so are the files of subagents,
/// each of which has its own context. Files that Codex compressed with zstd are listed without
/// their content. The number of files that are not sessions or cannot be read is printed to stderr.
///
/// The data from each file is cached in the store. Cached data is valid as long as the size and the
/// times of the file do not change.
///
/// --json prints one object per session; unknown values are null. docs/json.md lists all keys. -q
/// prints only the ids.
#[derive(Debug, Parser)]
#[command(mut_arg("paths", |arg| arg.value_parser(operand())))]
#[command(mut_arg("model", |arg| arg.help("Use this model's window for all sessions").long_help(None)))]
#[command(mut_arg("window", |arg| arg.help("Window in tokens [default: the file's own, or the model's]").long_help(None)))]
struct Args {
    #[command(flatten)]
    query: Query,
    #[command(flatten)]
    format: ListFormat,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    triggers: Triggers,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The entry for `ctx-ls` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-ls", Args::command, run, include_str!("manual.toml"));

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let triggers = args.triggers(io)?;
    let store = args.store.open(&TOOL, matches);
    if let Err(failure) = &store {
        io.note(format_args!("cannot keep an index of sessions: {failure}"));
    }
    let store = store.ok();
    let (listed, index) = args.query.list(store.as_ref(), triggers);
    if let Some(store) = store.filter(|_| index.is_changed) {
        // Ignore errors: without a saved index, the next run only takes longer.
        let _ = store.replace_session_index(&index.to_text());
    }
    for warning in listed.warnings(&args.query) {
        io.warn(warning);
    }
    if let Some(note) = listed.note() {
        io.note(note);
    }
    if args.models.model.is_some() && io.columns().is_some() {
        io.warn("--model sets the window of all rows; to list one model's sessions: ctx-ls --json | jq 'select(.model == \"NAME\")'");
    }
    if io.verbosity == Verbosity::Quiet && args.format == ListFormat::default() {
        let ids = listed.rows.iter().filter_map(|row| row.short_id.as_deref());
        io.print(ids.map(|id| printable(id) + "\n").collect::<String>())?;
        return Ok(ExitStatus::Done);
    }
    let list = args.format.of(&listed.rows, io);
    io.write(&list)?;
    let failed = listed.failed.iter();
    let failures = failed.map(|(path, error)| cannot_read(&path.display().to_string(), error));
    report_failures(failures.collect(), args.query.paths.len(), io)
}

impl Args {
    /// Returns the triggers. If `--model` is given, that model's window applies to all sessions.
    fn triggers(&self, io: &mut Io) -> Result<Triggers> {
        let policy = self.policy.named(io)?;
        let counting = Counting {
            counter: MessageCounter::new(Encoding::default()),
            model: self.models.resolve("for other models, use --window TOKENS")?,
            full_name: self.models.full_name(),
        };
        counting.report_name(io);
        let triggers = TriggerArgs { triggers: self.triggers, overflow: false };
        Ok(triggers.resolve(policy.as_ref(), &counting))
    }
}
