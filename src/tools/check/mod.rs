//! `ctx-check`: checks whether sessions are legal and within limits, or whether a compaction is
//! due.

mod report;

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, FolderArgs, Io, Outcome, Result, Tool, Verbosity, in_parallel, input_name,
    inputs, is_stdin, jobs_of, json_line, json_name, json_object, report_failures,
};
use ctx_engine::check::{Limits, Plan, RepairPass, Report};
use ctx_format::problems::{NamedRule, RULES, rule};
use ctx_store::Growth;
use minijinja::context;
use minijinja::value::{Serde, Value};

use crate::args::{CountingArgs, PolicyArgs, TriggerArgs};
use crate::json;
use crate::output::{self, OutputArgs};
use crate::passes;
use crate::session::{ReadArgs, operand, walk};
use crate::store::LazyStore;
use crate::template::filled;

/// Check that sessions are valid and within limits, or whether a compaction is due
///
/// Prints one line per file: the name and ok, or the name, the line and the first problem; --all
/// shows all problems. --due instead checks whether any trigger requires a compaction. The exit
/// status is 1 if there is a problem or, with --due, if nothing is due.
///
/// The tool must understand the session: there must be a message, each line must be one JSON
/// object, and the role, the type and all parts of each message must be known. Content that the
/// tool does not understand is a problem, because other tools could not handle it safely.
/// --max-bad-lines allows some bad lines.
///
/// A session is legal if the API of its dialect accepts it: each tool call is directly followed by
/// its result, each result belongs to a call, no two calls in a reply have the same id, and the
/// first message is the user's if the API requires that. Because an agent may be running, calls at
/// the very end may still wait for results, and an incomplete last line is only reported on stderr.
/// --strict allows neither.
///
/// In a folder, the tool checks all session files, at any depth, whose names match --glob,
/// including hidden files. Stores are skipped, and links are not followed.
///
/// Some models refuse more than others. What only some refuse is a problem, also for --repair, if
/// --model, the session or the request around its messages names one of these; if the model is
/// unknown, some of it is reported with -v.
///
/// --allow RULE ignores the problems that RULE finds. The number of ignored problems is shown with
/// -v, and as `allowed` in JSON. --list-rules prints all rules: which APIs and agents demand each,
/// since when and of which models, what they do otherwise, and what the tools do.
///
/// For an agent's own file, the tool also checks how the agent will read it. The tool finds lines
/// without a parent, compactions that are not on the path that the agent follows, a missing header,
/// and lines that the agent reads only in part or not at all. Anything that loses messages or makes
/// the agent reject the file is a problem. If the agent would not send the intended context, the
/// tool reports this on stderr. Harmless oddities are reported only with -v.
///
/// A limit (--max-…) is the largest allowed value. With -q, no text is printed to stdout, so only
/// the exit status shows the result.
///
/// --due lists each trigger with its value, its limit and their ratio. A trigger fires above its
/// limit, not at it. With --preset or --config, the triggers and the encoding come from that
/// policy; flags override individual triggers. If no trigger is set, a compaction is due above 0.8
/// of the window. With `--set trigger.flush_share`, a flush is due above that share of a limit. A
/// flush is reported, but does not count as due.
///
/// If an agent has recorded the API's token counts, limits and triggers in tokens refer to a
/// calibrated count: an upper bound for the current context, including the system prompt and tools,
/// as in `ctx-count --calibrate`. With --no-calibrate, the tool counts only the messages.
///
/// --repair writes a legal copy of one file and reports each repair on stderr: a misplaced result
/// is moved to its call, a result without a call is removed, and a call without a result gets a
/// placeholder result. Merged lines are split, and text that is not a JSON object is removed. All
/// other records keep their exact bytes. An agent can load the repaired copy of its own file: a
/// line without its parent is attached to the previous line, and a missing header is created. The
/// session is held in memory, and the copy is checked before it is written. If the copy would still
/// have a problem, nothing is written, and the exit status is 2. With -o, --json prints name,
/// dialect, output, actions (line, action, id, message), left (line, rule, id, message), which lists
/// warnings about the copy, and losses.
///
/// --json prints one object per file, including files that could not be read; docs/json.md lists
/// all keys.
#[derive(Debug, Parser)]
struct Args {
    /// Session files to check; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    files: Vec<PathBuf>,
    /// Show every problem, not only the first of each file
    #[arg(long)]
    all: bool,
    /// Also report calls that wait for results, and an incomplete last line
    #[arg(long)]
    strict: bool,
    /// Ignore the problems that RULE finds (can be repeated)
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = rule_parser())]
    allow: Vec<&'static NamedRule>,
    /// Print the rules and who demands them, and exit
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
    /// Count the messages, and ignore usage recorded by an agent
    #[arg(long, help_heading = "Input")]
    no_calibrate: bool,
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: Format,
    /// Check N files or conversations at a time [default: one per core]
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
}

/// The output format for the findings.
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

/// The entry for `ctx-check` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-check", Args::command, run, include_str!("manual.toml"));

/// The name of each operand, and its report or failure.
type Results = [(String, Result<Report>)];

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    // The policy that contains the triggers for --due.
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
        let store = args.output.store.lazy(&TOOL, matches);
        return repair(&args, &paths, &store, io);
    }
    let operands = args.folders.operands(&args.files, walk(true))?;
    let paths = &operands.paths;
    let target = args.output.report(paths)?;
    // Decode the messages only if --due, JSON output or a limit requires it.
    let measure = args.due || format == Format::Json || args.limits.need_content();
    if measure {
        counting.report(io);
    }
    let plan = Plan {
        limits: args.limits,
        strict: args.strict,
        allow: args.allow.clone(),
        all: args.all,
        model: args.counting.models.name().map(str::to_owned),
        batch: args.read.batch,
        // The number of threads per file. Only a batch file is divided among several threads.
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
            if args.all && args.files.is_empty() && report.records == 0 {
                io.warn("stdin is empty; ctx-ls -0 | xargs -0 ctx-check checks all sessions");
            }
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
    let is_asked_for = format != Format::Text || args.output.output.is_some();
    if io.verbosity > Verbosity::Quiet || is_asked_for {
        target.write(shown.as_bytes(), io)?;
    }
    let failures = results.into_iter().filter_map(|(_, result)| result.err());
    match report_failures(failures.collect(), paths.len(), io)? {
        ExitStatus::Done if !yes => Ok(ExitStatus::No),
        status => Ok(status),
    }
}

impl Args {
    /// Rejects flags that have no effect without --due, and formats that --due does not support.
    fn refuse_without_due(&self, matches: &ArgMatches, format: Format) -> Result<()> {
        let by_flag = |name| matches.value_source(name) == Some(ValueSource::CommandLine);
        let what = if self.due {
            if matches!(format, Format::Text | Format::Json) {
                return Ok(());
            }
            return Err(Failure::new("--due is printed as text or JSON only")
                .hint("in CI, use --max-tokens or another limit"));
        } else if by_flag("preset") || by_flag("config") || by_flag("assignments") {
            "a policy requires --due"
        } else if self.triggers.any() {
            "triggers and --window require --due"
        } else {
            return Ok(());
        };
        Err(Failure::new(what).hint("add --due"))
    }

    /// Rejects flags for the repaired copy if --repair is not given. `--invalid` is such a flag,
    /// because a report simply lists bad lines as findings.
    fn refuse_without_repair(&self, matches: &ArgMatches) -> Result<()> {
        if self.dry_run && !self.repair {
            return Err(Failure::new("-n requires --repair")
                .hint("only --repair changes anything: leave -n out, or add --repair"));
        }
        if self.repair || matches.value_source("invalid") != Some(ValueSource::CommandLine) {
            return Ok(());
        }
        Err(Failure::new("--invalid requires --repair")
            .hint("bad lines are problems: --max-bad-lines N allows N of them, --allow bad-line allows all"))
    }
}

/// Parses the name of a rule that can report problems.
fn rule_parser() -> impl TypedValueParser<Value = &'static NamedRule> {
    let problems = RULES.iter().filter(|rule| rule.may_be_problem);
    let values = problems.map(|rule| PossibleValue::new(rule.name).help(rule.what));
    PossibleValuesParser::new(values).try_map(|name| rule(&name).ok_or("no such rule"))
}

/// Returns the table of rules, with a paragraph or a JSON object for each rule.
fn rule_list(json: bool) -> String {
    if json {
        let listed = RULES.iter().map(|NamedRule { name, what, demands, .. }| {
            json_line(&json_object! { rule: name, what, demands })
        });
        return listed.collect();
    }
    filled(
        include_str!("rules.txt"),
        str::to_owned,
        context! { rules => Value::from(Serde(RULES.as_slice())) },
    )
}

fn repair(args: &Args, paths: &[PathBuf], store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let [path] = paths else {
        return Err(Failure::new("--repair takes one file").hint("repair files one by one"));
    };
    let named = args.output.output.as_deref().unwrap_or(Path::new("-"));
    if args.json && is_stdin(named) && !args.dry_run {
        return Err(Failure::new("--json and the repaired copy cannot both be written to stdout")
            .hint("write the copy to a file with -o"));
    }
    // If the agent appended a result during the run, the call could have two results, because the
    // repair may already have added one.
    let (source, target) = args.output.session(args.dry_run, paths, None, store, Growth::Stops)?;
    let mut session = args.read.session(source.open(path)?)?;
    let model = args.counting.models.name();
    let mut pass = session.read(|session| Ok(RepairPass::new(session, model)))?;
    session.pass(|record| pass.push(record))?;
    // Bad lines that are kept in the copy are reported when the copy is checked.
    if session.bad().left_out() > 0 {
        session.report(io);
    }
    let document = session.take_document();
    let copy = session.read(|_| pass.finish(args.strict))?;
    session.telling(io, |notes| copy.warn(notes));
    if args.dry_run && !copy.actions.is_empty() {
        io.warn(format_args!("{}: nothing was written (-n)", session.name));
    }
    if !args.dry_run {
        let mut output = target.open(io)?.of_document(document);
        output.write_all(&copy.bytes).map_err(output::failure)?;
        output.finish()?;
        if !copy.actions.is_empty() {
            session.note_import(io);
        }
    }
    if args.json {
        let actions = copy.actions.iter().map(|action| {
            json_object! {
                line: action.line,
                action: <&str>::from(&action.what),
                id: Some(&action.id).filter(|id| !id.is_empty()),
                message: action.say(),
            }
        });
        io.json(&json_object! {
            name: json_name(&session.name),
            dialect: copy.dialect,
            output: named.display().to_string(),
            actions: actions.collect::<Vec<_>>(),
            /// The warnings that remain after the repair.
            left: &copy.left,
            losses: json::losses(&copy.lost),
        })?;
    }
    Ok(ExitStatus::Done)
}
