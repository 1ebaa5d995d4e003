//! `ctx-check`: is a session legal, is it within limits, is a compaction due.

mod ci;
mod due;
mod json;
mod page;
mod repair;
mod rules;
mod text;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, FolderArgs, Io, Outcome, Tool, Verbosity, in_parallel, input_name, inputs,
    jobs_of, report_failures,
};
use ctx_passes::ErrorKind;
use ctx_passes::check::{CheckPass, Limits, Plan, Report};
use ctx_policy::Policy;
use ctx_transcript::problems::NamedRule;

use crate::counting::CountingArgs;
use crate::folders::walk;
use crate::passes;
use crate::policy::PolicyArgs;
use crate::session::ReadArgs;
use crate::store::StoreArgs;
use crate::target::OutputArgs;
use crate::triggers::TriggerArgs;

/// Check that sessions are valid and within limits, or tell whether a compaction is due
///
/// Prints a line per file: its name and ok, or its name, the line and the first problem; --all
/// shows all. --due asks another question: does a trigger say that the session is to be compacted?
/// Exits with 1 if there is a problem, or if nothing is due.
///
/// A session is understood when there is a message in it, each line is one JSON object, and
/// the role, the type and all parts of each message are known. What is not understood is a
/// problem: no other tool could tell what it does with it. --max-bad-lines says how many bad
/// lines are allowed.
///
/// A session is legal when the API of its dialect takes it: each tool call is
/// answered right after it, each result answers a call, no two calls of one reply
/// have the same id, and where the API wants it the first message is the user's.
/// Calls at the very end may still wait for their results, as those of an agent
/// that runs do, and a last line that is not complete may still be in the writing, which is
/// told on stderr; --strict takes no such session.
///
/// Of a folder all session files in it are checked, however deep, by the names that --glob gives;
/// hidden ones too; our own stores are skipped, and links are not followed.
///
/// --allow RULE lets its problems pass: how many there were is told with -v, and in JSON as
/// allowed. --list-rules lists the rules.
///
/// Of an agent's own file it is checked, too, what its agent makes of it: lines that hang on
/// none, compactions that are off the path, a header that is missing, lines of which the
/// agent reads nothing or a part. What loses messages, or is refused, is a problem; what
/// makes another context than was meant is told on stderr, and what is harmless with -v.
///
/// Prints a line per file: its name and ok, or its name, the line and the first
/// problem. --all shows every one. Limits (--max-…) are the last value that is
/// allowed. With -q nothing goes to stdout: the exit status says it.
///
/// --due asks another question: does a trigger say that the session is to be
/// compacted? Each trigger is shown with the value, the limit and how far it is; a
/// trigger fires above its limit, not at it. --preset and --config ask by the triggers
/// and the encoding of a policy, of which flags replace single ones. Without any it is
/// 0.8 of the window. `--set trigger.flush_share` adds a step before: above that share of a limit a flush
/// is due, which is told and not counted as due.
///
/// Where an agent has recorded what the API said of its requests, limits and triggers of
/// tokens go by that: by the most that the context may come to now, with its system prompt
/// and tools, as `ctx-count --calibrate` says it. That is told as calibrated; --no-calibrate
/// goes by the messages alone, as counted.
///
/// --repair writes a copy that is legal, of one file, and tells on stderr what was
/// done: a result that stands elsewhere moves to its call, a result that answers no
/// call is removed, a call without a result is answered by one that says so. Other
/// records keep their bytes. The session is held in memory, and the copy is checked
/// before anything is written. Of an agent's own file it writes what the agent loads with all
/// that can be had back: lines that ran together are split, NUL bytes and a torn end go, a line whose
/// parent is missing hangs on the one before it, a header that is missing is made. Calls
/// without a result stay where the agent helps itself. With -o, --json prints name,
/// dialect, output, actions (line, action, id, message) and left (line, rule, id, message):
/// what a check finds in the copy. Where that is a problem the exit status is 1.
///
/// --json prints an object per file, also of one that could not be read; docs/json.md has all
/// keys. Where it is calibrated also that number stands there, beside tokens, which stay as
/// counted.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Session files; none, or -, is stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show every problem, not only the first of each file
    #[arg(long)]
    all: bool,
    /// Also report calls that wait for results, and a torn last line
    #[arg(long)]
    strict: bool,
    /// Ignore problems of this RULE (can be repeated)
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rules::parser())]
    allow: Vec<&'static NamedRule>,
    /// List the rules, and exit
    #[arg(long, conflicts_with_all = ["files", "due", "repair", "all", "strict", "batch", "format"])]
    list_rules: bool,
    /// Tell whether a compaction is due
    #[arg(long, conflicts_with_all = ["all", "strict", "allow", "batch", "max_tokens", "max_messages", "max_tool_bytes", "max_bad_lines"])]
    due: bool,
    /// Write a repaired copy of one session to stdout, or to a file with -o
    #[arg(long, conflicts_with_all = ["due", "all", "allow", "batch", "format", "max_tokens", "max_messages", "max_tool_bytes", "max_bad_lines"])]
    repair: bool,
    /// With --repair, tell what would be repaired, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Ignore the usage that an agent recorded; use our own count
    #[arg(long, help_heading = "Input")]
    no_calibrate: bool,
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Check N files, or N conversations of a --batch file, at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    triggers: TriggerArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    folders: FolderArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for people
    #[default]
    Text,
    /// An object per file
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// `JUnit` XML, a test case per file
    Junit,
}

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-check",
    command: Args::command,
    run,
    page: page::PAGE,
};

/// What came of each operand, with its name.
type Results = [(String, Result<Report, Failure>)];

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    if args.counting.models.list(args.json, io)? {
        return Ok(ExitStatus::Done);
    }
    let policy = args.asked_policy(io)?;
    let counting = args.counting.resolve_under(policy.as_ref())?;
    let format = if args.json { Format::Json } else { args.format };
    args.refuse_without_due(matches, format)?;
    if args.list_rules {
        io.write(rules::list(args.json).as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    args.refuse_without_repair(matches)?;
    if args.repair {
        let paths = inputs(&args.files)?;
        let store = args.store.lazy(&TOOL, matches);
        return repair::run(&args, &paths, &store, io);
    }
    let operands = args.folders.operands(&args.files, walk(true))?;
    let paths = &operands.paths;
    let target = args.output.report(paths)?;
    // Only for these the messages must be decoded.
    let measure = args.due || format == Format::Json || args.limits.need_content();
    if measure {
        counting.report(io);
    }
    let plan = Plan {
        limits: args.limits,
        strict: args.strict,
        allow: args.allow.clone(),
        all: args.all,
        batch: args.read.batch,
        // What is left of the threads when each file has one.
        threads: jobs_of(args.jobs).get() / paths.len().max(1),
        counter: measure.then_some(counting.counter),
        calibrate: !args.no_calibrate,
    };
    let results = in_parallel(paths, jobs_of(args.jobs), |path| {
        let checked = operands.check(path);
        let checked = checked.and_then(|()| check(path, &args, &plan));
        (input_name(path), checked)
    });
    for (name, result) in &results {
        if let Ok(report) = result {
            passes::telling(name, io, |notes| report.warn(notes));
        }
    }
    let (shown, yes) = if args.due {
        let triggers = args.triggers.resolve(policy.as_ref(), &counting);
        due::shown(&triggers, format, &results)
    } else {
        (shown(&args, format, &results), all_good(&results))
    };
    if io.verbosity() > Verbosity::Quiet || args.output.output.is_some() {
        target.write(shown.as_bytes(), io)?;
    }
    let failures = results.into_iter().filter_map(|(_, result)| result.err());
    match report_failures(failures.collect(), paths.len(), io)? {
        ExitStatus::Done if !yes => Ok(ExitStatus::No),
        status => Ok(status),
    }
}

impl Args {
    /// The policy whose triggers are asked about.
    fn asked_policy(&self, io: &mut Io) -> Result<Option<Policy>, Failure> {
        if !self.due {
            return Ok(None);
        }
        self.policy.named(io)
    }

    /// Flags that say nothing without the others.
    fn refuse_without_due(&self, matches: &ArgMatches, format: Format) -> Result<(), Failure> {
        let by_flag = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let what = if self.due {
            if matches!(format, Format::Github | Format::Junit) {
                return Err(Failure::new("--due is printed as text or JSON only")
                    .hint("--max-tokens and the other limits are for CI"));
            }
            return Ok(());
        } else if by_flag("preset") || by_flag("config") || by_flag("assignments") {
            "a policy without --due"
        } else if self.triggers.any() {
            "triggers without --due"
        } else {
            return Ok(());
        };
        Err(Failure::new(what).hint("add --due"))
    }

    /// Without --repair nothing is written but a report; bad lines are findings then, while a copy needs to know what becomes of them.
    fn refuse_without_repair(&self, matches: &ArgMatches) -> Result<(), Failure> {
        if self.dry_run && !self.repair {
            return Err(Failure::new("-n without --repair")
                .hint("only --repair changes anything: leave -n out, or add --repair"));
        }
        if self.repair || matches.value_source("invalid") != Some(ValueSource::CommandLine) {
            return Ok(());
        }
        Err(Failure::new("--invalid without --repair")
            .hint("bad lines are problems: --max-bad-lines says how many may be, --allow bad-line that all may"))
    }
}

fn check(path: &Path, args: &Args, plan: &Plan) -> Result<Report, Failure> {
    let mut session = args.read.open(path)?;
    let mut pass = CheckPass::new(plan, session.dialect());
    session.pass(|record| {
        pass.push(record);
        Ok(())
    })?;
    let mut report = session.checked(pass);
    if let Some(line) = report.unknown.filter(|_| args.due) {
        let unknown = ErrorKind::NoMessage { batch: false }.at(line);
        return Err(passes::failure(unknown, &session.name));
    }
    report.size.overflow = args.triggers.overflow;
    Ok(report)
}

fn shown(args: &Args, format: Format, results: &Results) -> String {
    match format {
        Format::Text => text::of(args, results),
        Format::Json => json::of(args, results),
        Format::Github => ci::github(args, results),
        Format::Junit => ci::junit(args, results),
    }
}

fn all_good(results: &Results) -> bool {
    let mut reports = results.iter().flat_map(|(_, result)| result);
    reports.all(|report| report.findings.is_empty())
}
