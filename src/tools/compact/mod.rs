//! `ctx-compact`: the whole flow on a session, with one commit point.

mod batch;
mod file;
mod filter;
mod page;
mod plan;
mod text;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Tool, Verbosity, is_stdin, json_failure, json_line, printable,
};
use ctx_store::SessionId;

use crate::counting::CountingArgs;
use crate::llm::LlmArgs;
use crate::passes;
use crate::policy::{PolicyArgs, unknown};
use crate::session::ReadArgs;
use crate::store::{StoreArgs, failure, session_id};
use crate::target::{OutputArgs, ReportArgs};
use crate::triggers::TriggerArgs;
use ctx_passes::compact::{Asked, Outcome, Report};

/// Compact session files in place: split, extract, summarize, check, replace
///
/// Old messages become a summary, the latest stay as they are. The exact bytes are saved first
/// (ctx-rollback --undo FILE brings them back), and nothing is written that is not smaller and
/// valid. -n shows what would be done. Without FILE, stdin is compacted to stdout.
///
/// What is done, and when, a policy says: the preset `default` where none is named.
///
/// Each file is locked, its exact bytes are saved as a snapshot, and the new
/// content takes its place only when it has fewer tokens and breaks no rule that
/// the session keeps. What an agent appends meanwhile is carried over; a file
/// that somebody holds open for writing is refused.
///
/// Any of the --keep flags takes the place of all that the policy keeps.
///
/// With --budget the session is compacted when it has more tokens than that, and
/// summary and latest messages share them out; what does not fit is not written.
/// Where without it the result is not smaller, or above the target, shorter summaries
/// are tried, and then the target is such a budget: of what the policy keeps as much stays as
/// there is room for, while what the --keep flags say holds. What is smaller is written,
/// though it is above the target, with a warning; not so with --strict-target. A session
/// that could not be made smaller in as many runs as `target.max_attempts` allows is left alone
/// until it has grown.
///
/// An agent's own file (of Claude Code, Codex, pi, `OpenClaw` or the Gemini CLI) is not written
/// anew: the agent's own compaction record is put behind its lines, so that the agent goes on
/// from the summary and from what is kept. Compact between runs, then resume: an agent that
/// runs does not see it. Limits are those of the tokens that the API has counted, where the
/// file tells them.
///
/// A JSON document (an array of messages, or an object with a list `messages`) stays one: what
/// stands around and between the messages that are kept stays as it is. As a filter it becomes
/// lines.
///
/// With --batch each line is a conversation, {"messages":[…]}, and is compacted by itself, as a
/// filter line by line, and on all cores; what else the line holds stays as it is. A line that
/// cannot be compacted stays as it is, is named on stderr, and makes the exit status 3. Nothing is put into the
/// memory files. In place all lines are one change. --json prints an object for each
/// conversation (in place, with -n, or with -o).
///
/// What a policy prunes only in what is sent to the model is pruned as a filter, at
/// the very end and whatever is due; a session file keeps it.
#[derive(Debug, Parser)]
struct Args {
    /// Session files; stdin to stdout when there is none, or for -
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print a JSON object for each session: the outcome, the figures
    ///
    /// As a filter with -o or -n, since else stdout has the session. docs/json.md has all keys.
    #[arg(long)]
    json: bool,
    /// Compact N conversations of a --batch at a time [default: one per core]
    ///
    /// The output is the same whatever N is. Where a model writes the summaries the default is 1:
    /// N is then how many questions it gets at a time. Several files come one after another.
    #[arg(short, long, value_name = "N", help_heading = "Input")]
    jobs: Option<NonZeroUsize>,
    /// Tag the conversations of a --batch that fail, and exit with 0
    ///
    /// The tag is {"_ctx":{"failed":"WHY"}, so that it is found in the output, where many runs write into one place, and no run fails
    /// because of one conversation. WHY is the error, or no-gain or unreachable. As a filter only;
    /// ctx-split --strip removes the tag, and so does the next run.
    #[arg(long, requires = "batch", help_heading = "Input")]
    tag_failed: bool,

    #[command(flatten)]
    policy: PolicyArgs,
    /// Print a preset with its comments, and exit
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    show_preset: Option<String>,

    #[command(flatten)]
    triggers: TriggerArgs,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    llm: LlmArgs,

    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Name the session [default: the file's]
    ///
    /// That is the id in an agent's own file; else it is made of the file's name and path.
    #[arg(short, long, value_name = "ID", value_parser = session_id, help_heading = "Store")]
    session: Option<SessionId>,
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

/// Whoever asks for less of a file of more than so many bytes has forgotten the k.
const LEAST_BUDGET: u64 = 200;
const LONG: u64 = 64 << 10;

fn run(matches: &ArgMatches, io: &mut Io) -> ctx_cli::Outcome {
    let args = Args::from_arg_matches(matches)?;
    if args.counting.models.list(args.json, io)? {
        return Ok(ExitStatus::Done);
    }
    if let Some(name) = &args.show_preset {
        let text = ctx_policy::source(name).ok_or_else(|| unknown(name))?;
        io.write(text.as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    args.refuse_what_does_not_fit()?;
    let plan = args.plan(matches, io)?;
    if args.is_filter() {
        let store = args.store.lazy(&TOOL, matches);
        if args.read.batch {
            return batch::filter(&args, &plan, &store, io);
        }
        return filter::run(&args, &plan, &store, io);
    }
    let mut statuses = Vec::new();
    for path in &args.files {
        let store = args.store.open(&TOOL, matches);
        let done = store.and_then(|store| {
            if args.read.batch {
                return batch::in_place(&args, &plan, path, &store, io).map(Done::Batch);
            }
            let report = file::run(&args, &plan, path, &store, io)?;
            Ok(Done::Session(Box::new(report)))
        });
        match done {
            Ok(done) => statuses.push(done.tell(&args, path, io)?),
            Err(failure) if args.json || args.files.len() > 1 => {
                if args.json {
                    let name = path.display().to_string();
                    io.write(json_failure(&name, None, &failure).as_bytes())?;
                }
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
        let is_long = |file: &PathBuf| file.metadata().is_ok_and(|it| it.len() > LONG);
        let budget = self.asked.budget.filter(|tokens| *tokens < LEAST_BUDGET);
        if let Some(tokens) = budget.filter(|_| self.files.iter().any(is_long)) {
            let failure = format!("--budget {tokens}: no session fits into so few tokens");
            let hint = format!("did you mean {tokens}k?");
            let failure = Failure::new(failure);
            return Err(if tokens > 0 {
                failure.hint(hint)
            } else {
                failure
            });
        }
        if self.files.len() > 1 && self.session.is_some() {
            return Err(Failure::new("one session id for several files")
                .hint("leave -s out: each file has an id of its own"));
        }
        if self.files.len() > 1 && self.files.iter().any(|file| is_stdin(file)) {
            return Err(Failure::new("stdin (-) among files").hint("name it alone"));
        }
        if self.is_filter() && self.session.is_some() && self.output.output.is_none() {
            return Err(
                Failure::new("-s names the session of a file, and no file is named")
                    .hint("name the file: ctx-ls -l lists each session with its file"),
            );
        }
        if self.is_filter() {
            let report = ReportArgs { json: self.json };
            report.refuse_among_records(&self.output, self.asked.dry_run)?;
        }
        if !self.is_filter() && self.output.output.is_some() {
            return Err(Failure::new("-o with a file that is compacted in place")
                .hint("as a filter: ctx-compact -o NEW < FILE"));
        }
        if self.jobs.is_some() && !self.read.batch {
            return Err(Failure::new("--jobs without --batch").hint(
                "one session is one job; several files: printf '%s\\0' *.jsonl | xargs -0 -P 8 -n 1 ctx-compact",
            ));
        }
        if self.tag_failed && !self.is_filter() {
            return Err(
                Failure::new("--tag-failed with a file that is compacted in place")
                    .hint("as a filter: ctx-compact --batch --tag-failed -o NEW < FILE"),
            );
        }
        Ok(())
    }
}

/// What became of a file.
enum Done {
    Session(Box<Report>),
    Batch(batch::Tally),
}

impl Done {
    fn tell(self, args: &Args, path: &Path, io: &mut Io) -> ctx_cli::Outcome {
        let name = path.display().to_string();
        let status = match self {
            Self::Session(mut report) => {
                if report.snapshot.is_some() {
                    io.committed(format_args!("{name} is compacted"));
                }
                tell(&mut report, &name, args.json, io)?;
                match report.refused.take() {
                    None => text::status(&report),
                    Some(refused) => {
                        let refused = failure(refused);
                        io.report(&refused);
                        refused.exit_status()
                    }
                }
            }
            Self::Batch(tally) => {
                if !args.json {
                    let dry_run = args.asked.dry_run;
                    tally.print(&name, dry_run, io)?;
                }
                tally.status()
            }
        };
        io.flush()?;
        Ok(status)
    }
}

/// Says how one session ended: to programs on stdout, to people on stderr.
fn tell(report: &mut Report, name: &str, json: bool, io: &mut Io) -> Result<(), Failure> {
    if let Some(error) = report.no_summary.take() {
        io.report(&passes::failure(error, name));
    }
    if let Some(warning) = text::warning(report) {
        io.warn(format_args!("{name}: {warning}"));
    }
    if json {
        return io.write(json_line(report).as_bytes());
    }
    let line = text::line(report);
    if report.outcome == Outcome::SummaryFailed && report.snapshot.is_none() {
        return Ok(()); // Said already.
    }
    if text::status(report) == ExitStatus::No {
        io.warn(format_args!("{name}: {line}"));
    } else if io.verbosity() != Verbosity::Quiet {
        let name = printable(name);
        let text = format!("{name}: {line}\n{}", text::plan(report));
        io.write(text.as_bytes())?;
    }
    Ok(())
}
