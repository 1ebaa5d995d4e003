//! `ctx-compact`: performs all steps of a compaction, and replaces the session atomically.

mod batch;
mod report;
mod session;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Result, Statuses, Tool, Verbosity, is_stdin, json_failure, printable,
};
use ctx_engine::compact::{Options, Report};
use ctx_engine::{Pin, Time};
use ctx_policy::{Method, Overrides, Policy, parse_count};
use ctx_store::SessionId;

use crate::args::policy::unknown;
use crate::args::{CountingArgs, LlmArgs, PolicyArgs, ReasoningArgs, TriggerArgs};
use crate::in_place::{FileReport, SessionFile};
use crate::output::OutputArgs;
use crate::passes;
use crate::session::{ReadArgs, last_change, operand};
use crate::store::{failure, session_of};

/// Compact session files in place: split, extract, summarize, check, replace
///
/// Old messages are replaced with a summary; the latest are kept. The exact bytes are saved first
/// (ctx-rollback --undo FILE restores them), and only a smaller, valid result is written.
///
/// A policy determines when and how a session is compacted. The default policy is the preset
/// `default`.
///
/// The tool locks each file, saves its exact bytes as a snapshot, and replaces it only if the new
/// content has fewer tokens and violates no rule that the session obeyed. Lines that an agent
/// appends meanwhile are kept. A file that a process has open for writing is refused.
///
/// If any --keep flag is given, all of the policy's settings about what is kept are ignored.
///
/// With --budget, a session that exceeds the budget is compacted; the summary and the latest
/// messages share the budget. Without --budget, if the result is not smaller than the session, or
/// is still above the target, the tool tries shorter summaries and then treats the target as a
/// budget: it keeps everything that --keep flags require, and as much as fits of what the policy
/// keeps. A result that is smaller but above the target is written with a warning, unless
/// --strict-target is given. After `target.max_attempts` runs that did not make a session smaller,
/// the tool leaves the session alone until it grows.
///
/// An agent's own file is not rewritten. Instead, the tool appends the same kind of compaction
/// record as the agent itself, so that the agent continues from the summary and the kept messages.
/// Compact the file between runs of the agent and then resume the session, because a running agent
/// does not read its file again. If the agent has recorded the API's token counts, limits refer to
/// these counts.
///
/// A JSON document (an array of messages, or an object with a list `messages`) remains a document;
/// the bytes around and between kept messages do not change. In a pipeline, the messages of a
/// document are written one per line.
///
/// With --batch, each line is a conversation, {"messages":[…]}. The conversations are compacted
/// separately, on all cores. Other members of the object do not change. As a filter, the tool
/// writes each line to stdout as soon as it is compacted; a file in place is replaced as a whole. A
/// line that cannot be compacted is not changed, but the error is reported on stderr, and the exit
/// status is 3. With --batch, nothing is written to memory files, and --json prints one object per
/// conversation (in place, with -n, or with -o).
///
/// If the policy prunes only the text that is sent to the model, a filter prunes its output at the
/// end, even if no compaction is due, and a session file is not pruned.
#[derive(Debug, Parser)]
struct Args {
    /// Session files to compact; if FILE is omitted or -, stdin to stdout
    #[arg(value_name = "FILE", value_parser = operand())]
    files: Vec<PathBuf>,

    /// Print a JSON object with the outcome and figures of each session
    ///
    /// As a filter, this requires -o or -n, because otherwise the session is written to stdout.
    /// docs/json.md lists all keys.
    #[arg(long)]
    json: bool,
    /// Compact N conversations of a --batch at a time [default: one per core]
    ///
    /// The output does not depend on N. If a model writes the summaries, N is the maximum number of
    /// simultaneous requests to the server, and the default is 1. Several files are compacted one
    /// after another.
    #[arg(short, long, value_name = "N", help_heading = "Input")]
    jobs: Option<NonZeroUsize>,
    /// Tag the conversations of a --batch that fail, and exit with 0
    ///
    /// Failed conversations are marked in the output with the tag {"_ctx":{"failed":"WHY"}} and do
    /// not make the run fail. WHY is an error message, `no-gain` or `unreachable`. The flag works
    /// only in a filter. The tag is removed by ctx-split --strip, and by the next run of
    /// ctx-compact.
    #[arg(long, requires = "batch", help_heading = "Input")]
    tag_failed: bool,

    #[command(flatten)]
    policy: PolicyArgs,
    /// Print a preset, or all settings (built-in), and exit
    #[arg(long, value_name = "NAME", help_heading = "Policy")]
    show_preset: Option<String>,

    #[command(flatten)]
    triggers: TriggerArgs,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    compact: CompactArgs,
    #[command(flatten)]
    llm: LlmArgs,

    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Id of the session [default: the file's]
    ///
    /// The default is the id that an agent wrote into the file, or else an id made from the file's
    /// name and path.
    #[arg(short, long, value_name = "ID", help_heading = "Store")]
    session: Option<SessionId>,
}

/// The entry for `ctx-compact` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-compact", Args::command, run, include_str!("manual.toml"));

/// If the budget is less than this number of tokens and the file is larger than [`LONG`] bytes, the
/// user probably forgot the suffix `k`.
const LEAST_BUDGET: u64 = 200;
const LONG: u64 = 64 << 10;

fn run(matches: &ArgMatches, io: &mut Io) -> ctx_cli::Outcome {
    let args = Args::from_arg_matches(matches)?;
    if let Some(name) = &args.show_preset {
        let built_in = (name == "built-in").then_some(ctx_policy::BUILT_IN);
        let text = built_in.or_else(|| ctx_policy::source(name)).ok_or_else(|| unknown(name))?;
        io.print(text)?;
        return Ok(ExitStatus::Done);
    }
    args.refuse_what_does_not_fit()?;
    let setup = args.setup(matches, io)?;
    if args.is_filter() {
        let store = args.output.store.lazy(&TOOL, matches);
        if args.read.batch {
            return batch::filter(&args, &setup, &store, io);
        }
        return session::stream(&args, &setup, &store, io);
    }
    let mut statuses = Statuses::default();
    for path in &args.files {
        let store = args.output.store.open(&TOOL, matches);
        let done = store.and_then(|store| {
            let file = SessionFile {
                options: &setup.options,
                environment: &setup.environment,
                store: &store,
                session: &session_of(args.session.as_ref(), path)?,
                path,
                dialect: args.read.dialect(),
                invalid: args.read.invalid,
                last_change: last_change(path),
                min_idle: args.output.idle.get(),
            };
            if args.read.batch {
                let tally = batch::in_place(&args, &file, io)?;
                return Ok(tally.print_end(&args, path, io));
            }
            let done = session::in_place(&file, io)?;
            Ok(print_end(done, &args, path, io))
        });
        match done {
            // If the result cannot be printed, the run ends here.
            Ok(status) => {
                statuses.add(status?);
                io.flush()?;
            }
            Err(failure) if args.json || args.files.len() > 1 => {
                if args.json {
                    let name = path.display().to_string();
                    io.write(json_failure(&name, None, &failure).as_bytes())?;
                }
                statuses.failed(&failure, io);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(statuses.of_all())
}

impl Args {
    fn is_filter(&self) -> bool {
        match self.files.as_slice() {
            [] => true,
            [file] => is_stdin(file),
            _ => false,
        }
    }

    /// Rejects a budget that is too small for an input of this many bytes.
    fn refuse_tiny_budget(&self, bytes: u64) -> Result<()> {
        let budget = self.compact.budget.filter(|tokens| *tokens < LEAST_BUDGET);
        let Some(tokens) = budget.filter(|_| bytes > LONG) else { return Ok(()) };
        let failure = Failure::new(format_args!("--budget {tokens} is too small for any session"));
        Err(if tokens > 0 { failure.hint(format!("did you mean {tokens}k?")) } else { failure })
    }

    fn refuse_what_does_not_fit(&self) -> Result<()> {
        let bytes = |file: &PathBuf| file.metadata().map_or(0, |it| it.len());
        self.refuse_tiny_budget(self.files.iter().map(bytes).max().unwrap_or(0))?;
        if self.files.len() > 1 && self.session.is_some() {
            return Err(Failure::new("-s cannot be used with several files")
                .hint("leave -s out: each file has an id of its own"));
        }
        if self.files.len() > 1 && self.files.iter().any(|file| is_stdin(file)) {
            return Err(Failure::new("stdin cannot be combined with files").hint("pass - alone"));
        }
        if self.is_filter() && self.session.is_some() && self.output.output.is_none() {
            return Err(Failure::new("-s applies to a file, but no file is named")
                .hint("name the file: ctx-ls -l lists each session with its file"));
        }
        if self.is_filter() {
            self.output.refuse_report_among_records(self.json, self.compact.dry_run)?;
        }
        if !self.is_filter() && self.output.output.is_some() {
            return Err(Failure::new("-o cannot be used with a file compacted in place")
                .hint("as a filter: ctx-compact -o NEW < FILE"));
        }
        if self.jobs.is_some() && !self.read.batch {
            return Err(Failure::new("--jobs requires --batch").hint(
                "a single session is one job; for several files: printf '%s\\0' *.jsonl | xargs -0 -P 8 -n 1 ctx-compact",
            ));
        }
        if self.tag_failed && !self.is_filter() {
            return Err(Failure::new("--tag-failed cannot be used with a file compacted in place")
                .hint("as a filter: ctx-compact --batch --tag-failed -o NEW < FILE"));
        }
        Ok(())
    }
}

/// Prints the result for one file, and returns its exit status.
fn print_end(mut done: FileReport, args: &Args, path: &Path, io: &mut Io) -> ctx_cli::Outcome {
    let name = path.display().to_string();
    if done.report.snapshot.is_some() {
        io.committed(format_args!("{name} is compacted"));
    }
    print_report(&mut done.report, &name, args.json, io)?;
    Ok(match done.refused {
        None => report::status(&done.report),
        Some(refused) => {
            let refused = failure(refused);
            io.report(&refused);
            refused.status
        }
    })
}

/// Prints the result for one session as JSON or text. If the exit status is 1, the text is a
/// warning on stderr; otherwise, it goes to stdout.
fn print_report(report: &mut Report, name: &str, json: bool, io: &mut Io) -> Result<()> {
    if let Some(error) = report.no_summary.take() {
        io.report(&passes::failure(error, name));
    }
    if let Some(warning) = report::warning(report) {
        io.warn(format_args!("{name}: {warning}"));
    }
    if json {
        return io.json(report);
    }
    let line = report::line(report);
    if report::status(report) == ExitStatus::No {
        io.warn(format_args!("{name}: {line}"));
    } else if io.verbosity != Verbosity::Quiet {
        let name = printable(name);
        let text = format!("{name}: {line}\n{}", report::plan(report));
        io.print(&text)?;
    }
    Ok(())
}

/// Compaction options that are not part of the policy.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Policy")]
struct CompactArgs {
    /// Compact only if a compaction is due; otherwise, exit with 0
    ///
    /// A compaction is due if a trigger of the policy fires.
    #[arg(long)]
    if_due: bool,
    /// Compact even if no compaction is due or earlier runs freed nothing
    #[arg(long, conflicts_with = "if_due")]
    force: bool,
    /// Score what survives [default: true for sessions up to 64 MiB]
    ///
    /// As in ctx-score, the tool counts how many items of each class are retained, recoverable and
    /// lost. The counts are written to the audit log, and to the keys `items_kept` and survived in
    /// the output of --json. Lost items are only in the snapshot. The items are those of the ledger
    /// from which the summary is made, so the score does not measure what a reader learns from the
    /// summary, as ctx-score --evidence does. Scoring is mostly done in a second thread.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", conflicts_with = "dry_run")]
    score: Option<bool>,
    /// Show what would be done and the size of the result; change nothing
    ///
    /// No model is asked: the preview uses a summary that is made without a model.
    #[arg(short = 'n', long)]
    dry_run: bool,

    /// The flags that override the policy's settings.
    #[command(flatten)]
    over: Overrides,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Compact to N tokens, as counted by the API, if the session has more
    ///
    /// N covers the system messages, the summary and the latest messages. The tool divides N
    /// between the summary and the messages, depending on their content, and shortens long results
    /// in the latest messages. For an agent's own file with recorded usage, N also covers the
    /// system prompt and the tools. If the result exceeds the budget, the tool warns, or, with
    /// --strict-target, writes nothing. --keep flags and --pin still apply, but not the policy's
    /// settings about kept messages.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "target_tokens", help_heading = "What is kept")]
    budget: Option<u64>,
    /// Write nothing if the result is above the target; exit with 1
    ///
    /// Without this flag, a result that is smaller but still above --target-tokens, the policy's
    /// target or --budget is written, with a warning and exit status 0.
    #[arg(long, help_heading = "What is kept")]
    strict_target: bool,
    /// Time of the model's last call, if the session contains no times
    #[arg(long, value_name = "TIME", help_heading = "What is kept")]
    last_call: Option<Time>,
    /// Count the messages, and ignore usage recorded by an agent
    #[arg(long, help_heading = "What is kept")]
    no_calibrate: bool,
    #[command(flatten)]
    reasoning: ReasoningArgs,
}

impl CompactArgs {
    /// Returns true if a run calls a model. This requires that a server or `--method llm` is given.
    fn asks_model(&self, policy: &Policy, has_server: bool) -> bool {
        let is_named = has_server || self.over.method == Some(Method::Llm);
        policy.summary.method == Method::Llm && is_named
    }

    /// Returns the options for a compaction. The flags must already have been applied to `policy`.
    fn options(&self, policy: Policy, overflow: bool) -> Result<Options> {
        if self.budget.is_some() && policy.summary.method == Method::None {
            return Err(Failure::new("--budget needs a summary, but the policy's method is none")
                .hint("--method extractive makes a summary"));
        }
        Ok(Options {
            policy,
            overflow,
            only_if_due: self.if_due,
            force: self.force,
            dry_run: self.dry_run,
            score: self.score,
            budget: self.budget,
            strict_target: self.strict_target,
            keep: self.over.keep,
            summary_tokens: self.over.summary_tokens,
            pins: self.pin.clone(),
            last_call: self.last_call,
            ignore_usage: self.no_calibrate,
            signed_reasoning: self.reasoning.signed_reasoning,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ctx_cli::Result;
    use ctx_engine::compact::Options;
    use ctx_policy::{Method, Policy};

    use super::CompactArgs;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompactArgs,
    }

    fn args(flags: &[&str]) -> CompactArgs {
        Line::parse_from([&["t"], flags].concat()).args
    }

    fn options(flags: &[&str], method: Method) -> Result<Options> {
        let mut policy = Policy::default();
        policy.summary.method = method;
        args(flags).options(policy, false)
    }

    #[test]
    fn a_budget_needs_a_summary() {
        let flags = ["--budget", "9000", "--keep-turns", "2"];
        let options = |method| options(&flags, method);
        let budgeted = options(Method::Extractive).expect("a summary");
        assert_eq!(budgeted.budget, Some(9_000));
        assert_eq!((budgeted.keep.turns, budgeted.keep.messages), (Some(2), None));
        let refused = options(Method::None).expect_err("no summary");
        assert!(refused.to_string().starts_with("--budget needs a summary"), "{refused}");
    }

    #[test]
    fn a_model_is_asked_where_it_is_named() {
        let mut policy = Policy::default();
        let asks = |flags: &[&str], policy: &Policy, server| args(flags).asks_model(policy, server);
        policy.summary.method = Method::Llm;
        assert!(asks(&[], &policy, true) && asks(&["--method", "llm"], &policy, false));
        assert!(!asks(&[], &policy, false));
        policy.summary.method = Method::Rule;
        assert!(!asks(&[], &policy, true));
    }
}
