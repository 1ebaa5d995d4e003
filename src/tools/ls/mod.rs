//! `ctx-ls`: the sessions of all agents on this machine.

mod page;

use std::time::SystemTime;
use std::{fs, path};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, report_failures};
use ctx_select::count::MessageCounter;
use ctx_select::trigger::Triggers;
use ctx_sessions::{Form, Index, Query, Question};
use ctx_store::Store;
use ctx_tokens::Encoding;

use crate::counting::Counting;
use crate::models::ModelArgs;
use crate::policy::PolicyArgs;
use crate::store::StoreArgs;
use crate::triggers::TriggerArgs;

/// List the sessions of all agents on this machine, the newest first
///
/// Looks where Claude Code, Codex, the Gemini CLI, `OpenClaw` and pi keep their sessions, or in
/// the files and folders that are named. A row has the agent, the project, how long ago the file
/// changed, the messages and the tokens that the agent would send now, their share of the
/// window, the size of the file, whether a compaction is due, and the title, or what was asked first.
///
/// The tokens are those that the agent has recorded with the newest reply, with an estimate of
/// what came behind it. Where none is recorded for this context, as right after a compaction,
/// all is estimated, at four bytes a token and with what the first request had beside its
/// messages, and ~ stands before it. The window is the one that the
/// file tells, else that of the model that was asked last; ? says that neither is known, and then
/// no share decides whether a compaction is due. --window or --model names one for all.
///
/// Links are followed, names that begin with a dot are passed over, and so are the files of
/// subagents, which have a context of their own. A file packed by zstd (Codex) is listed by its
/// name. What is no session, or cannot be read, is counted on stderr.
///
/// What was read of a file is kept in the store, and is valid while size and times of the file
/// are the same.
///
/// --json prints an object per session; what is not known is null. docs/json.md has all keys.
#[derive(Debug, Parser)]
#[command(mut_arg("model", |arg| arg.help("Use this model's window for all sessions").long_help(None)))]
#[command(mut_arg("window", |arg| arg.help("Tokens of the window [default: the file's own, or the model's]").long_help(None)))]
struct Args {
    #[command(flatten)]
    query: Query,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    triggers: Triggers,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-ls",
    command: Args::command,
    run,
    page: page::PAGE,
};

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    if args.models.list(args.form.json, io)? {
        return Ok(ExitStatus::Done);
    }
    let question = Question {
        triggers: args.triggers(io)?,
        window_of: &|name| ctx_tokens::model(name).map(|model| model.window),
        now: SystemTime::now(),
    };
    let store = args.store.open(&TOOL, matches);
    if let Err(failure) = &store {
        io.note(format_args!("no index is kept: {failure}"));
    }
    let store = store.ok();
    let index = store.as_ref().and_then(Store::read_session_index);
    let index = Index::parse(&index.unwrap_or_default());
    let (variable, temp) = (|name: &str| std::env::var_os(name), std::env::temp_dir());
    let query = args.query();
    let (listed, index) = query.list(variable, &temp, index, &question);
    if let Some(store) = store.filter(|_| index.is_changed()) {
        // Without it the next run takes longer, and nothing else.
        let _ = store.replace_session_index(&index.to_text());
    }
    for warning in listed.warnings(&query) {
        io.warn(warning);
    }
    if let Some(note) = listed.note() {
        io.note(note);
    }
    let list = args.form.of(&listed.rows, io);
    io.write(&list)?;
    let failures = listed.failed.iter().map(|(path, error)| {
        let failure = Failure::new(format_args!("cannot read: {error}"));
        let failure = failure.at(path.display().to_string(), None);
        failure.hint("check the path")
    });
    report_failures(failures.collect(), args.query.paths.len(), io)
}

impl Args {
    /// What is asked for, by whole paths.
    fn query(&self) -> Query {
        let mut query = self.query.clone();
        query.project = query.project.map(|project| {
            let text = project.as_os_str().as_encoded_bytes();
            let is_path = text.contains(&b'/') || text == b"." || text == b"..";
            let whole = || fs::canonicalize(&project).or_else(|_| path::absolute(&project));
            let whole = is_path.then(whole).and_then(Result::ok);
            whole.unwrap_or(project)
        });
        query
    }

    /// When a compaction is due. A model that is named stands for that of every session.
    fn triggers(&self, io: &mut Io) -> Result<Triggers, Failure> {
        let policy = self.policy.named(io)?;
        let counting = Counting {
            counter: MessageCounter::new(Encoding::Chars4),
            model: self.models.resolve("--window TOKENS is for another")?,
            full_name: self.models.full_name(),
        };
        counting.report_name(io);
        let triggers = TriggerArgs {
            triggers: self.triggers,
            overflow: false,
        };
        Ok(triggers.resolve(policy.as_ref(), &counting))
    }
}
