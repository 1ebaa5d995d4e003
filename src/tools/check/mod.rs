//! `ctx-check`: checks whether sessions are legal and within limits, or whether a compaction is
//! due.

mod report;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, FolderArgs, Io, Outcome, Result, Tool, Verbosity, in_parallel, input_name,
    inputs, is_stdin, jobs_of, json_line, json_name, report_failures,
};
use ctx_engine::check::{Limits, Plan, RepairPass, Report};
use ctx_format::problems::{NamedRule, RULES, rule};
use ctx_store::Growth;
use serde::Serialize;

use crate::args::counting::{CountingArgs, TriggerArgs};
use crate::args::policy::PolicyArgs;
use crate::output::OutputArgs;
use crate::passes;
use crate::session::{ReadArgs, walk};
use crate::store::{LazyStore, StoreArgs};

/// Check that sessions are valid and within limits, or whether a compaction is due
///
/// Prints one line per file: its name and ok, or its name, the line and the first problem; --all
/// shows all problems. --due instead checks whether a trigger asks for a compaction. The exit
/// status is 1 if there is a problem, or if nothing is due.
///
/// The tool understands a session if the session has a message, each line is one JSON object, and
/// the tool knows the role, the type and all parts of each message. Anything else is a problem,
/// because other tools could not handle it safely. --max-bad-lines allows some bad lines.
///
/// A session is legal if the API of its dialect accepts it: each tool call is answered directly
/// after it, each result answers a call, no two calls of a reply share an id, and the first message
/// is the user's if the API requires that. Calls at the very end may still wait for results, as in
/// a running agent's session. The last line may still be incomplete; that is reported on stderr.
/// --strict accepts neither.
///
/// In a folder the tool checks all session files at any depth whose names match --glob, including
/// hidden ones. It skips stores and does not follow links.
///
/// --allow RULE allows problems of a rule; -v and `allowed` in JSON count them. --list-rules lists
/// the rules.
///
/// In an agent's own file the tool also checks how the agent reads it. It finds lines without a
/// parent, compactions off the path that the agent follows, a missing header, and lines that the
/// agent reads only in part or not at all. Anything that loses messages or makes the agent refuse
/// the file is a problem. If the agent would send a context other than the intended one, that is
/// reported on stderr; harmless oddities are reported only with -v.
///
/// A limit (--max-…) is the highest allowed value. With -q nothing goes to stdout, so only the exit
/// status shows the result.
///
/// --due lists each trigger with its value, its limit and their ratio. A trigger fires above its
/// limit, not at it. --preset and --config use the triggers and the encoding of a policy, and flags
/// override single triggers. If no trigger is set, a compaction is due above 0.8 of the window.
/// `--set trigger.flush_share` adds an earlier step: above that share of a limit, a flush is due. A
/// flush is reported, but does not count as due.
///
/// If an agent has recorded the token counts of the API, limits and triggers in tokens use them: an
/// upper bound for the current context, including the system prompt and tools, as in `ctx-count
/// --calibrate`. The output calls this count calibrated. With --no-calibrate, the tool counts only
/// the messages.
///
/// --repair writes a legal copy of one file and reports each repair on stderr: a misplaced result
/// moves to its call, a result without a call is removed, and a call without a result gets a result
/// that says so. Other records keep their bytes. The session is held in memory, and the copy is
/// checked before it is written. For an agent's own file, the agent can load the copy, which has
/// everything that can be recovered: merged lines are split, NUL bytes and an incomplete end are
/// removed, a line without its parent is attached to the previous line, and a missing header is
/// created. Calls without a result stay if the agent handles them. With -o, --json prints name,
/// dialect, output, actions (line, action, id, message) and left (line, rule, id, message): the
/// problems that remain in the copy. If there are any, the exit status is 1.
///
/// --json prints one object per file, also for a file that could not be read; docs/json.md lists
/// all keys.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Session files; stdin if none is named, or for -
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show every problem, not only the first of each file
    #[arg(long)]
    all: bool,
    /// Also report calls that wait for results, and an incomplete last line
    #[arg(long)]
    strict: bool,
    /// Ignore problems of this RULE (can be repeated)
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser())]
    allow: Vec<&'static NamedRule>,
    /// List the rules, and exit
    #[arg(long, conflicts_with_all = ["files", "due", "repair", "all", "strict", "batch", "format"])]
    list_rules: bool,
    /// Check whether a compaction is due
    #[arg(long, conflicts_with_all = ["all", "strict", "allow", "batch", "max_tokens", "max_messages", "max_tool_bytes", "max_bad_lines"])]
    due: bool,
    /// Write a repaired copy of one session to stdout, or to a file with -o
    #[arg(long, conflicts_with_all = ["due", "all", "allow", "batch", "format", "max_tokens", "max_messages", "max_tool_bytes", "max_bad_lines"])]
    repair: bool,
    /// With --repair, show what would be repaired, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print JSON: the same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Ignore the usage that an agent recorded; count the messages
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

/// The format of the findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people
    #[default]
    Text,
    /// A JSON object per file
    Json,
    /// Annotations of GitHub Actions
    Github,
    /// `JUnit` XML, a test case per file
    Junit,
}

/// The entry of `ctx-check` in the list of tools.
pub const TOOL: Tool = Tool {
    name: "ctx-check",
    command: Args::command,
    run,
    first: "due repair all strict recursive max-tokens model window preset jobs output json",
    page: include_str!("manual.toml"),
};

/// The name of each operand, with its report or failure.
type Results = [(String, Result<Report>)];

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    // The policy whose triggers --due checks.
    let policy = if args.due { args.policy.named(io)? } else { None };
    let counting = args.counting.resolve_under(policy.as_ref())?;
    let format = if args.json { Format::Json } else { args.format };
    args.refuse_without_due(matches, format)?;
    if args.list_rules {
        io.write(rule_list(args.json).as_bytes())?;
        return Ok(ExitStatus::Done);
    }
    args.refuse_without_repair(matches)?;
    if args.repair {
        let paths = inputs(&args.files)?;
        let store = args.store.lazy(&TOOL, matches);
        return repair(&args, &paths, &store, io);
    }
    let operands = args.folders.operands(&args.files, walk(true))?;
    let paths = &operands.paths;
    let target = args.output.report(paths)?;
    // Without any of these, the messages need not be decoded.
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
        // The number of threads for each file. Only a batch file is divided among threads.
        threads: if args.read.batch { jobs_of(args.jobs).get() / paths.len().max(1) } else { 1 },
        counter: measure.then_some(counting.counter),
        calibrate: !args.no_calibrate,
    };
    let results = in_parallel(paths, args.jobs, |path| {
        let opened = operands.check(path).and_then(|()| args.read.open(path));
        let mut checked = opened.and_then(|session| session.check(&plan, args.due));
        if let Ok(report) = &mut checked {
            report.size.overflow = args.triggers.overflow;
        }
        (input_name(path), checked)
    });
    for (name, result) in &results {
        if let Ok(report) = result {
            passes::telling(name, io, |notes| report.warn(notes));
        }
    }
    let (shown, yes) = if args.due {
        let triggers = args.triggers.resolve(policy.as_ref(), &counting);
        report::due(&triggers, format, &results)
    } else {
        let shown = match format {
            Format::Text => report::text(&args, &results),
            Format::Json => report::json(&args, &results),
            Format::Github => report::github(&args, &results),
            Format::Junit => report::junit(&args, &results),
        };
        let mut reports = results.iter().flat_map(|(_, result)| result);
        (shown, reports.all(|report| report.findings.is_empty()))
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
    /// Refuses flags that have no effect without --due, and formats that --due does not support.
    fn refuse_without_due(&self, matches: &ArgMatches, format: Format) -> Result<()> {
        let by_flag = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let what = if self.due {
            if matches!(format, Format::Text | Format::Json) {
                return Ok(());
            }
            return Err(Failure::new("--due is printed as text or JSON only")
                .hint("in CI, use --max-tokens or another limit"));
        } else if by_flag("preset") || by_flag("config") || by_flag("assignments") {
            "a policy without --due"
        } else if self.triggers.any() {
            "triggers without --due"
        } else {
            return Ok(());
        };
        Err(Failure::new(what).hint("add --due"))
    }

    /// Refuses flags about the repaired copy if --repair is not given. A report lists bad lines as
    /// findings; only a copy has to treat them in some way.
    fn refuse_without_repair(&self, matches: &ArgMatches) -> Result<()> {
        if self.dry_run && !self.repair {
            return Err(Failure::new("-n without --repair")
                .hint("only --repair changes anything: leave -n out, or add --repair"));
        }
        if self.repair || matches.value_source("invalid") != Some(ValueSource::CommandLine) {
            return Ok(());
        }
        Err(Failure::new("--invalid without --repair")
            .hint("bad lines are problems: --max-bad-lines allows some of them, --allow bad-line all of them"))
    }
}

/// Parses the name of a rule that can report problems.
fn rule_parser() -> impl TypedValueParser<Value = &'static NamedRule> {
    let values = problems().map(|rule| PossibleValue::new(rule.name).help(rule.what));
    PossibleValuesParser::new(values).try_map(|name| rule(&name).ok_or("no such rule"))
}

fn problems() -> impl Iterator<Item = &'static NamedRule> {
    RULES.iter().filter(|rule| rule.may_be_problem)
}

#[derive(Serialize)]
struct ListedRule {
    rule: &'static str,
    what: &'static str,
}

/// Prints a line or a JSON object for each rule.
fn rule_list(json: bool) -> String {
    let width = problems().map(|rule| rule.name.len()).max().unwrap_or(0);
    let line = |NamedRule { name, what, .. }: &NamedRule| {
        if json {
            json_line(&ListedRule { rule: name, what })
        } else {
            format!("{name:<width$}  {what}\n")
        }
    };
    problems().map(line).collect()
}

fn repair(args: &Args, paths: &[PathBuf], store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let [path] = paths else {
        return Err(Failure::new("--repair takes one file").hint("repair them one by one"));
    };
    let named = args.output.output.as_deref().unwrap_or(Path::new("-"));
    if args.json && is_stdin(named) && !args.dry_run {
        return Err(Failure::new("--json needs stdout, and so does the repaired copy")
            .hint("write the copy to a file with -o"));
    }
    // A result that arrives during the run would be the second answer to a call that the repair has
    // already answered.
    let (source, target) = args.output.session(args.dry_run, paths, None, store, Growth::Stops)?;
    let mut session = args.read.session(source.open(path)?)?;
    session.note_document(io);
    let mut pass = RepairPass::new(session.dialect());
    session.pass(|record| pass.push(record))?;
    // Bad lines that stay in the copy are reported by the check of the copy.
    if session.bad().left_out() > 0 {
        session.report(io);
    }
    let copy = session.read(|_| pass.finish(args.strict))?;
    session.telling(io, |notes| copy.warn(notes));
    if !args.dry_run {
        target.write(&copy.bytes, io)?;
    }
    if args.json {
        let json = copy.json(json_name(&session.name), named.display().to_string());
        io.json(&json)?;
    }
    Ok(if copy.has_problem { ExitStatus::No } else { ExitStatus::Done })
}
