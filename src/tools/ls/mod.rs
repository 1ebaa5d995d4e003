//! `ctx-ls`: the sessions of all agents on this machine.

mod page;
mod table;

use std::io;
use std::num::NonZeroUsize;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    Failure, Io, Outcome, Tool, in_parallel, jobs_of, json_line, printable, report_failures,
};
use ctx_select::count::MessageCounter;
use ctx_select::trigger::Triggers;
use ctx_sessions::{AGENTS, Index, Listed, Place, Question, Row, Scope, Survey, find, read};
use ctx_store::Store;
use ctx_tokens::Encoding;
use ctx_transcript::{Dialect, dialect};

use crate::counting::Counting;
use crate::policy::PolicyArgs;
use crate::store::StoreArgs;
use crate::triggers::TriggerArgs;

/// List the sessions of all agents on this machine, the newest first
///
/// Looks where Claude Code, Codex, the Gemini CLI, `OpenClaw` and pi keep their sessions, or in
/// the files and folders that are named. A row has the agent, the project, how long ago the file
/// changed, the messages and the tokens that the agent would send now, their share of the model's
/// window, the size of the file, whether a compaction is due, and the title, or what was asked first.
///
/// The tokens are those that the agent has recorded with the newest reply, with an estimate of
/// what came behind it. Where none is recorded for this context, as right after a compaction,
/// all is estimated, at four bytes a token, and ~ stands before it. The window is that of the
/// model that was asked last; ? says that it is not known, and --window or --model names one.
///
/// Links are followed, names that begin with a dot are passed over, and so are the files of
/// subagents, which have a context of their own. A file packed by zstd (Codex) is listed by its
/// name. What is no session, or cannot be read, is counted on stderr.
///
/// What was read of a file is kept in the store, and is valid while size and times of the file
/// are the same.
///
/// --json prints an object per session with the keys agent, path, dialect, session, title, ask,
/// folder, model, messages, system (how many of them are the system's), turns, `tool_bytes`,
/// tokens, recorded (tokens by the newest usage, null where none holds), estimated, window,
/// `recorded_window` (that the file tells), share, bytes, modified, age (seconds), due, step (none, flush or compact), bad (lines) and
/// packed. What is not known is null; of a packed file most are not there. New keys may come,
/// none goes.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Session files and folders of them [default: where agents keep theirs]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only sessions of this agent, or of this dialect (can be repeated)
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = PossibleValuesParser::new(agents()))]
    agent: Vec<String>,
    /// Only sessions for which a compaction is due
    #[arg(long)]
    due: bool,
    /// Also the files of subagents
    #[arg(long)]
    subagents: bool,
    /// Print JSON: an object per session
    #[arg(long)]
    json: bool,
    /// Print only the paths, one a line
    #[arg(long, conflicts_with = "json")]
    paths_only: bool,
    /// Print only the paths, each with a NUL behind it, for xargs -0
    #[arg(short = '0', long, conflicts_with_all = ["json", "paths_only"])]
    null: bool,
    /// Read N files at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Take the window of this model for all sessions
    #[arg(long, value_name = "NAME", help_heading = "Tokens")]
    model: Option<String>,
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

/// Agents with places of their own, and the other dialects.
fn agents() -> Vec<&'static str> {
    let mut names: Vec<&str> = dialect::ALL.map(Dialect::name).into();
    names.extend(AGENTS);
    names.sort_unstable();
    names.dedup();
    names
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
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
    let places = args.places();
    let mut listed = args.listed(&places, store.as_ref(), &question);
    listed.rows.retain(|row| args.shows(row));
    report(&args, &places, &listed, io);
    args.print(&listed.rows, io)?;
    let failures = listed.failed.iter().map(|(path, error)| {
        let failure = Failure::new(format_args!("cannot read: {error}"));
        failure
            .at(path.display().to_string(), None)
            .hint("check the path")
    });
    report_failures(failures.collect(), args.paths.len(), io)
}

impl Args {
    /// When a compaction is due. A model that is named stands for that of every session.
    fn triggers(&self, io: &mut Io) -> Result<Triggers, Failure> {
        let policy = self
            .policy
            .is_named()
            .then(|| self.policy.policy(io))
            .transpose()?;
        if let Some(policy) = &policy {
            policy.check().map_err(Failure::new)?;
        }
        let of_model = |name: &String| {
            ctx_tokens::model(name).ok_or_else(|| {
                Failure::new(format_args!("unknown model {name:?}"))
                    .hint("name the tokens of its window with --window instead")
            })
        };
        let counting = Counting {
            counter: MessageCounter::new(Encoding::Chars4),
            model: self.model.as_ref().map(of_model).transpose()?,
        };
        let triggers = TriggerArgs {
            triggers: self.triggers,
            overflow: false,
        };
        Ok(triggers.resolve(policy.as_ref(), &counting))
    }

    /// Where the agents that are asked for keep their sessions.
    fn places(&self) -> Vec<Place> {
        let mut places = Place::usual(|name| std::env::var_os(name));
        let is_asked = |place: &Place| {
            let mut agents = self.agent.iter();
            self.agent.is_empty()
                || !self.paths.is_empty()
                || agents.any(|agent| agent == place.agent)
        };
        places.retain(is_asked);
        places
    }

    /// What there is, by the index as far as it goes.
    fn listed(&self, places: &[Place], store: Option<&Store>, question: &Question<'_>) -> Listed {
        let scope = if self.paths.is_empty() {
            Scope::Places(places)
        } else {
            Scope::Named(&self.paths, places)
        };
        let text = store.and_then(Store::read_session_index);
        let index = text.map_or_else(Index::default, |text| Index::parse(&text));
        let survey = Survey::new(find(scope, self.subagents), index);
        let paths = survey.to_read();
        let (temp, now) = (std::env::temp_dir(), question.now);
        let readings: Vec<io::Result<_>> =
            in_parallel(&paths, jobs_of(self.jobs), |path| read(path, &temp, now));
        let (listed, index) = survey.finish(paths, readings, &self.paths, question);
        if let Some(store) = store.filter(|_| index.is_changed()) {
            // Without it the next run takes longer, and nothing else.
            let _ = store.replace_session_index(&index.to_text());
        }
        listed
    }

    fn shows(&self, row: &Row) -> bool {
        let is_asked = self.agent.is_empty() || self.agent.contains(&row.agent);
        is_asked && (!self.due || row.due == Some(true))
    }

    fn print(&self, rows: &[Row], io: &mut Io) -> Result<(), Failure> {
        if self.null || self.paths_only {
            for row in rows {
                let path = operand(&row.path);
                if self.null {
                    io.write(path.as_os_str().as_bytes())?;
                    io.write(b"\0")?;
                } else {
                    io.write(printable(&path.to_string_lossy()).as_bytes())?;
                    io.write(b"\n")?;
                }
            }
        } else if self.json {
            for row in rows {
                io.write(json_line(row).as_bytes())?;
            }
        } else if !rows.is_empty() {
            let width = io.columns();
            io.write(table::of(rows, width).as_bytes())?;
        }
        Ok(())
    }
}

/// The path as another tool takes it: none that looks like a flag.
fn operand(path: &Path) -> PathBuf {
    if path.as_os_str().as_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_owned()
    }
}

/// Tells what was passed over, and where nothing was found.
fn report(args: &Args, places: &[Place], listed: &Listed, io: &mut Io) {
    let count = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    if let Some(first) = listed.foreign.first() {
        let files = count(
            listed.foreign.len(),
            "file is no session",
            "files are no sessions",
        );
        io.warn(format_args!("{files}: {}", first.display()));
    }
    if let Some((first, error)) = listed.unreadable.first() {
        let things = count(
            listed.unreadable.len(),
            "file or folder",
            "files or folders",
        );
        io.warn(format_args!(
            "{things} could not be read: {}: {error}",
            first.display()
        ));
    }
    if listed.helpers > 0 {
        let files = count(listed.helpers, "file of a subagent", "files of subagents");
        io.note(format_args!("{files} passed over; --subagents lists them"));
    }
    if listed.rows.is_empty() && listed.failed.is_empty() {
        let places = places
            .iter()
            .map(|place| place.folder.display().to_string());
        let named = args.paths.iter().map(|path| path.display().to_string());
        let places: Vec<String> = if args.paths.is_empty() {
            places.collect()
        } else {
            named.collect()
        };
        let what = if args.due {
            "no sessions that are due"
        } else {
            "no sessions"
        };
        io.warn(format_args!("{what} in {}", places.join(", ")));
    }
}
