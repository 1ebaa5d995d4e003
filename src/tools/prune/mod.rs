//! `ctx-prune`: shortens and clears tool results, drops reasoning and old messages.

use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, Verbosity, inputs, json_line, json_name};
use ctx_engine::prune::{Cache, Decision, Plan, PrunePass, Sums};
use ctx_engine::{ErrorKind, PassError};
use ctx_policy::Rule;
use ctx_store::Growth;

use crate::args::counting::CountingArgs;
use crate::args::prune::PruneFlags;
use crate::passes;
use crate::session::ReadArgs;
use crate::session::last_change;
use crate::store::StoreArgs;
use crate::target::{InPlaceArgs, OutputArgs, ReportArgs, Source};

/// Shorten and clear tool results, drop reasoning and old messages
///
/// Works by rules alone, no model is asked. Every rule is off unless asked for.
/// What users and the model said never changes, and neither does a byte of a
/// record that no rule changes. A result that is shortened or cleared ends with
/// a handle, ⟦ctx: Read a.py, all 1980 bytes: ctx-offload --show 01234567⟧: the
/// call, the size of the original, and the command that prints it. Where no
/// snapshot of the session is made, it says ", if saved" before the command.
/// Nothing is replaced by what is not smaller.
///
/// Of an agent's own file only what it would send counts. Lines that it would
/// not send leave by --drop, those that name them are set right, and nothing is
/// written that the agent would read as another conversation. What the last
/// reply has recorded of its tokens becomes what they come to now: agents go
/// by it, and would compact the session again, or ask, when they open it.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags.
struct Args {
    /// Session to prune; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    flags: PruneFlags,

    /// Show what each rule would free, and write nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
    /// Fail if the input is not valid for its API
    #[arg(long, help_heading = "Input")]
    strict: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    in_place: InPlaceArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-prune",
    command: Args::command,
    run: |matches, io| run(&Args::from_arg_matches(matches)?, matches, io),
    first: "trim clear drop protect-last max-chars dry-run in-place output json",
    page: include_str!("page.toml"),
};

fn run(args: &Args, matches: &ArgMatches, io: &mut Io) -> Outcome {
    if args.counting.models.list(args.report.json, io)? {
        return Ok(ExitStatus::Done);
    }
    let paths = inputs(&args.file)?;
    let path = &paths[0];
    if args.read.batch {
        return Err(Failure::new("batch records are not pruned")
            .hint("prune the conversations one by one, as sessions"));
    }
    let store = args.store.lazy(&TOOL, matches);
    let output = args.in_place.of(args.output.clone(), args.file.as_ref());
    args.report.refuse_among_records(&output, args.dry_run)?;
    let (source, target) = if args.dry_run {
        let target = output.preview(&paths, None, &store)?;
        (Source::default(), target)
    } else {
        output.session(&paths, None, &store, Growth::Follows)?
    };
    let mut session = args.read.session(source.open(path)?)?;
    session.read(|session| session.refuse_document_of_log("pruned"))?;
    session.note_document(io);
    let name = session.name.clone();
    let counting = args.counting.resolve()?;
    let flags = &args.flags;
    let saved = args.store.promise(matches, source.is_saved());
    let plan = Plan {
        options: flags.options(session.dialect().map(|it| it as _), saved)?,
        pins: flags.pin.clone(),
        zone: flags.zone,
        min_gain: flags.min_gain,
        counter: counting.counter,
        report_changes: io.verbosity() >= Verbosity::Debug,
        count_all: false,
        strict: args.strict,
        cache: flags.cache_ttl.map(|ttl| Cache {
            ttl: ttl.0,
            last_call: flags.last_call.or(last_change(path)),
            now: chrono::Utc::now(),
        }),
        temp: std::env::temp_dir(),
    };
    counting.report(io);
    let mut pass = PrunePass::new(&plan, session.dialect(), args.dry_run);
    session.pass(|record| pass.push(record))?;
    session.report(io);
    let left_out = session.bad().left_out();
    let is_due = pass.is_cold().ok_or_else(|| {
        Failure::new("nothing tells when the last call was")
            .at(&name, None)
            .hint("add --last-call TIME")
    })?;
    if !is_due {
        io.note(format_args!(
            "{name}: the last call is not older than --cache-ttl: nothing was changed"
        ));
    }
    let decision = passes::telling(&name, io, |notes| pass.finish(is_due, notes));
    let mut decision = decision.map_err(|error| failure(error, &name))?;
    let report = |decision: &Decision<'_>, output: Option<&Path>| {
        let name = json_name(&session.name);
        json_line(&decision.report(name, output, args.dry_run))
    };
    if args.dry_run {
        if args.report.json {
            io.write(report(&decision, None).as_bytes())?;
            return Ok(ExitStatus::Done);
        }
        rule_table(&decision.sums, io)?;
        unsent_table(&decision.unsent, io)?;
        return Ok(ExitStatus::Done);
    }
    let open = target.open(io)?;
    let done = decision.write(left_out, open);
    done.map_err(|error| failure(error, &name))?.finish()?;
    passes::telling(&name, io, |notes| decision.warn_of_reasoning(notes));
    if args.report.json {
        io.write(report(&decision, output.output.as_deref()).as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

fn failure(error: PassError, name: &str) -> Failure {
    match error.kind {
        ErrorKind::NoZones => Failure::new("--zone, and no record has a zone")
            .at(name, None)
            .hint("let ctx-split decide the zones"),
        ErrorKind::NewProblem(_) => {
            passes::failure(error, name).hint("this is a fault of ctx-prune: please report it")
        }
        _ => passes::failure(error, name),
    }
}

/// The table of the tokens that each rule frees.
fn rule_table(sums: &Sums, io: &mut Io) -> Result<(), Failure> {
    let mut row = |cells: [&str; 5]| -> io::Result<()> {
        let [rule, changes, before, after, freed] = cells;
        writeln!(io.out(), "{rule:<10} {changes:>8} {before:>10} {after:>10} {freed:>10}")
    };
    let mut written = row(["rule", "changes", "before", "after", "freed"]);
    let rules = sums.by_rule().map(|(rule, sum)| (rule.as_str(), sum));
    for (rule, sum) in rules.chain([("total", sums.total())]) {
        let numbers = [sum.changes, sum.before, sum.after, sum.gain()].map(|n| n.to_string());
        let [changes, before, after, freed] = numbers.each_ref().map(String::as_str);
        written = written.and_then(|()| row([rule, changes, before, after, freed]));
    }
    written.map_err(|error| Failure::stdout(&error))
}

/// The table of the lines that leave an agent's log but were never sent to the model.
fn unsent_table(unsent: &[(Rule, u64, u64)], io: &mut Io) -> Result<(), Failure> {
    let mut row = |rule: &str, count: &str, bytes: &str| {
        writeln!(io.out(), "{rule:<17} {count:>8} {bytes:>10}")
    };
    let mut written = if unsent.is_empty() { Ok(()) } else { row("not sent", "count", "bytes") };
    for (rule, count, bytes) in unsent {
        written = written.and_then(|()| row(rule.as_str(), &count.to_string(), &bytes.to_string()));
    }
    written.map_err(|error| Failure::stdout(&error))
}
