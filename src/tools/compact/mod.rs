//! `ctx-compact`: the whole flow on a session, with one commit point.

mod file;
mod filter;
mod page;
mod plan;
mod policy;
mod text;

use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Tool, Verbosity, is_stdin, json_line, printable};
use ctx_policy::{Method, Mode};
use ctx_select::duration::FixedSpan;
use ctx_select::parse_count;
use ctx_select::split::Keep;
use ctx_store::SessionId;
use ctx_transcript::SummaryRole;

use crate::counting::CountingArgs;
use crate::idle::IdleArgs;
use crate::llm::LlmArgs;
use crate::policy::{PolicyArgs, unknown};
use crate::session::ReadArgs;
use crate::store::{StoreArgs, session_id};
use crate::target::OutputArgs;
use crate::triggers::TriggerArgs;
use ctx_passes::Pin;
use ctx_passes::compact::Report;
use ctx_passes::prune::Time;

/// Compact session files in place: split, extract, summarize, check, replace
///
/// What is done, and when, a policy says: the preset `default` where none is named.
///
/// Each file is locked, its exact bytes are saved as a snapshot, and the new
/// content takes its place only when it has fewer tokens and breaks no rule that
/// the session keeps. What an agent appends meanwhile is carried over; a file
/// that somebody holds open for writing is refused. ctx-rollback --undo takes a
/// compaction back. Without FILE it is a filter.
///
/// Any of the --keep flags takes the place of all that the policy keeps.
///
/// With --budget the session is compacted when it has more tokens than that, and
/// summary and latest messages share them out; what does not fit is not written.
/// Where without it the result is not smaller, or above --target-tokens, shorter summaries
/// and then only the last turn are tried; where that does not help either,
/// nothing is written. A session that could not be made smaller in as many runs
/// as --max-attempts allows is left alone until it has grown.
///
/// An agent's own file (of Claude Code, Codex, pi, `OpenClaw` or the Gemini CLI) is not written
/// anew: the agent's own compaction record is put behind its lines, so that the agent goes on
/// from the summary and from what is kept. Compact between runs, then resume: an agent that
/// runs does not see it. Limits are those of the tokens that the API has counted, where the
/// file tells them.
///
/// What a policy prunes only in what is sent to the model is pruned as a filter, at
/// the very end and whatever is due; a session file keeps it.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Session files; stdin to stdout when there is none, or for -
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Compact only what is due by a trigger; all else is left alone, exit 0
    #[arg(long)]
    if_due: bool,
    /// Compact whatever the triggers and earlier attempts say
    #[arg(long, conflicts_with = "if_due")]
    force: bool,
    /// Score what survives, or do not [default: sessions of up to 64 MiB]
    ///
    /// The counts (retained, recoverable and lost by class, as ctx-score has them; lost
    /// is what only the snapshot has) go into the audit log, and as the keys fidelity
    /// and survived into --json. A second thread does most of it meanwhile.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        conflicts_with = "dry_run"
    )]
    score: Option<bool>,
    /// Show the zones, what would leave and how small it would get; do nothing
    ///
    /// No model is asked: the summary that is made without one stands for its own.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print a JSON object a session: outcome, tokens, attempts, summary
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    policy: PolicyArgs,
    /// What may be done [default: the policy's]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "The policy")]
    mode: Option<Mode>,
    /// Print a preset with its comments, and do nothing else
    #[arg(long, value_name = "NAME", help_heading = "The policy")]
    show_preset: Option<String>,

    #[command(flatten)]
    triggers: TriggerArgs,

    #[command(flatten)]
    keep: Keep,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Do not be content with more than N tokens in all [default: the policy's]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    target_tokens: Option<u64>,
    /// Compact what holds more than N tokens, to at most N in all
    ///
    /// System messages, summary and latest messages together, shared out by what is
    /// in them; tool results among the latest are shortened where they are long.
    /// Of what is kept, the --keep flags and pins hold, not the policy's numbers.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "target_tokens", help_heading = "What is kept")]
    budget: Option<u64>,
    /// Leave a session alone after N runs in vain [default: the policy's]
    ///
    /// Those are runs in a row that made it no smaller, or not as small as the
    /// target. It is tried again once it has grown. A run counts as one, with all the fallbacks that it tried; a run that failed
    /// counts as none. --force tries whatever the count is.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "What is kept"
    )]
    max_attempts: Option<u64>,
    /// Prune only when the last call is older: 5m or 1h [default: the policy's]
    ///
    /// The units are w, d, h, min (or m), s and ms.
    /// Its time is that of the last reply that has one (`timestamp` and the like),
    /// else --last-call, else the file's time of change; where nothing tells, nothing
    /// is pruned.
    #[arg(long, value_name = "DURATION", help_heading = "What is kept")]
    cache_ttl: Option<FixedSpan>,
    /// When the last call was, if the records do not tell
    #[arg(long, value_name = "TIME", help_heading = "What is kept")]
    last_call: Option<Time>,
    /// Go by our own count, not by the usage that an agent has recorded
    #[arg(long, help_heading = "What is kept")]
    no_calibrate: bool,
    #[command(flatten)]
    counting: CountingArgs,

    /// How to sum up what is old [default: the policy's]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "The summary")]
    method: Option<Method>,
    /// Length of the summary in tokens [default: the policy's]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "The summary")]
    summary_tokens: Option<u64>,
    /// Begin the message with this line; it marks an earlier summary, too
    #[arg(long, value_name = "TEXT", help_heading = "The summary")]
    header: Option<String>,
    /// Role of the message; user where the dialect allows no other
    #[arg(long, value_enum, value_name = "ROLE", help_heading = "The summary")]
    role: Option<SummaryRole>,
    /// Check what a model writes, ask again, keep less [default: the policy's]
    ///
    /// It must be whole and have the sections that the policy names. When it fails
    /// twice, half of what the policy keeps is kept, and the summary is made without it.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "The summary"
    )]
    safeguard: Option<bool>,
    #[command(flatten)]
    llm: LlmArgs,

    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Name the session [default: the id in an agent's own file, else made of the file's name and path]
    #[arg(short, long, value_name = "ID", value_parser = session_id, help_heading = "Store")]
    session: Option<SessionId>,
    /// Merge decisions, facts, preferences and tool runs of the old part into the
    /// memory, or do not [default: the policy's]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Store")]
    extract: Option<bool>,
    #[command(flatten)]
    idle: IdleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-compact",
    command: Args::command,
    run,
    page: page::PAGE,
};

fn run(matches: &ArgMatches, io: &mut Io) -> ctx_cli::Outcome {
    let args = Args::from_arg_matches(matches)?;
    if let Some(name) = &args.show_preset {
        let text = ctx_policy::source(name).ok_or_else(|| unknown(name))?;
        io.write(text.as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    args.refuse_what_does_not_fit()?;
    let plan = args.plan(io)?;
    if args.is_filter() {
        let store = args.store.lazy(&TOOL, matches);
        return filter::run(&args, &plan, &store, io);
    }
    let mut statuses = Vec::new();
    for path in &args.files {
        let store = args.store.open(&TOOL, matches);
        match store.and_then(|store| file::run(&args, &plan, path, &store, io)) {
            Ok(report) => {
                if report.snapshot.is_some() {
                    io.committed(format_args!("{} is compacted", report.file));
                }
                tell(&report, args.json, io).and_then(|()| io.flush())?;
                statuses.push(text::status(&report));
            }
            Err(failure) if args.files.len() > 1 => {
                io.report(&failure);
                statuses.push(failure.exit_status());
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(ExitStatus::of_several(&statuses))
}

impl Args {
    fn is_filter(&self) -> bool {
        match self.files.as_slice() {
            [] => true,
            [file] => is_stdin(file),
            _ => false,
        }
    }

    fn refuse_what_does_not_fit(&self) -> Result<(), Failure> {
        if self.read.batch {
            return Err(Failure::new("--batch is not for compactions")
                .hint("ctx-split --batch | ctx-summarize --batch handles lines of conversations"));
        }
        if self.files.len() > 1 && self.session.is_some() {
            return Err(Failure::new("one session id for several files")
                .hint("leave -s out: each file has an id of its own"));
        }
        if self.files.len() > 1 && self.files.iter().any(|file| is_stdin(file)) {
            return Err(Failure::new("stdin (-) among files").hint("name it alone"));
        }
        if !self.is_filter() && self.output.output.is_some() {
            return Err(Failure::new("-o with a file that is compacted in place")
                .hint("as a filter: ctx-compact -o NEW < FILE"));
        }
        Ok(())
    }
}

/// Says how one session ended: to programs on stdout, to people on stderr.
fn tell(report: &Report, json: bool, io: &mut Io) -> Result<(), Failure> {
    if json {
        return io.write(json_line(report).as_bytes());
    }
    let line = text::line(report);
    if text::status(report) == ExitStatus::No {
        io.warn(format_args!("{}: {line}", report.file));
    } else if io.verbosity() != Verbosity::Quiet {
        let table = report.plan.as_ref().map(text::table);
        let name = printable(&report.file);
        let text = format!("{name}: {line}\n{}", table.unwrap_or_default());
        io.write(text.as_bytes())?;
    }
    Ok(())
}
