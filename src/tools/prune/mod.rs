//! `ctx-prune`: shortens and clears tool results, drops reasoning and old messages.

mod anew;
mod page;
mod plan;
mod report;

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, inputs};
use ctx_select::duration::FixedSpan;
use ctx_select::parse_count;
use ctx_select::prune::{Glob, Rule};
use ctx_select::share::Share;
use ctx_transcript::Zone;

use crate::counting::CountingArgs;
use crate::idle::IdleArgs;
use crate::passes;
use crate::session::ReadArgs;
use crate::store::StoreArgs;
use crate::target::{InPlaceArgs, OutputArgs};
use ctx_passes::prune::{PrunePass, Time};
use ctx_passes::{ErrorKind, PassError, Pin};
use ctx_store::Growth;

/// Shorten and clear tool results, drop reasoning and old messages
///
/// Works by rules alone, no model is asked. Every rule is off unless asked for.
/// What users and the model said never changes, and neither does a byte of a
/// record that no rule changes. A result that is shortened or cleared ends with
/// a handle, ⟦ctx:HASH BYTES bytes TOKENS tokens⟧: the beginning of the
/// original's sha256, and its size. Nothing is replaced by what is not smaller.
///
/// Of an agent's own file only what it would send counts. Lines that it would
/// not send leave by --drop, those that name them are set right, and nothing is
/// written that the agent would read as another conversation.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags.
struct Args {
    /// Session to prune; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Trim long tool results: keep beginning, end, and errors between
    #[arg(long, help_heading = "Rules")]
    trim: bool,
    /// Trim results with more than N characters [default: 10000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_chars: Option<u64>,
    /// Share of that limit kept of a result's beginning [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    head_share: Option<Share>,
    /// Share of that limit kept of a result's end [default: 0.3]
    #[arg(long, value_name = "SHARE", help_heading = "Rules")]
    tail_share: Option<Share>,
    /// Lines that look like errors, kept of what is cut out [default: 10]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    rescue_lines: Option<u64>,
    /// Put a placeholder in the place of tool results that nothing protects
    #[arg(long, help_heading = "Rules")]
    clear: bool,
    /// What --clear puts there
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "[Old tool result content cleared]",
        help_heading = "Rules"
    )]
    placeholder: String,
    /// Drop what is needless (can be repeated)
    #[arg(
        long,
        value_enum,
        value_name = "WHAT",
        value_delimiter = ',',
        help_heading = "Rules"
    )]
    drop: Vec<Rule>,
    /// Trim strings inside call arguments with more than N characters
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    max_argument_chars: Option<u64>,
    /// Drop all but system messages and the last N; exchanges stay whole
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Rules")]
    window_messages: Option<u64>,

    /// Leave the last N assistant messages alone, and all that follows
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_count,
        default_value = "3",
        help_heading = "What stays"
    )]
    protect_last: u64,
    /// Change only results of tools whose name matches (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What stays")]
    allow_tool: Vec<Glob>,
    /// Change no results of tools whose name matches (can be repeated)
    #[arg(long, value_name = "GLOB", help_heading = "What stays")]
    deny_tool: Vec<Glob>,
    /// Leave these records alone: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated; the results of a pinned call stay with it.
    #[arg(long, value_name = "SELECTOR", help_heading = "What stays")]
    pin: Vec<Pin>,
    /// Prune only records that ctx-split put into this zone
    #[arg(long, value_parser = zones(), value_name = "ZONE", help_heading = "What stays")]
    zone: Option<Zone>,
    /// Change nothing when all of it would free fewer tokens
    #[arg(
        long,
        value_name = "TOKENS",
        value_parser = parse_count,
        default_value = "0",
        help_heading = "What stays"
    )]
    min_gain: u64,
    /// Change nothing unless the last call is older: 5m, 90s or 1h
    ///
    /// The units are w, d, h, min (or m), s and ms.
    /// Its time is that of the last reply that has one (`timestamp` and the like),
    /// else --last-call, else the file's time of change.
    #[arg(long, value_name = "DURATION", help_heading = "What stays")]
    cache_ttl: Option<FixedSpan>,
    /// When the last call was, if the records do not tell
    #[arg(
        long,
        value_name = "TIME",
        requires = "cache_ttl",
        help_heading = "What stays"
    )]
    last_call: Option<Time>,

    /// Show by rule what would be freed, and write no records
    #[arg(short = 'n', long, conflicts_with = "output", help_heading = "Output")]
    dry_run: bool,
    /// Fail when the input breaks a rule of its API already
    #[arg(long, help_heading = "Input")]
    strict: bool,
    #[command(flatten)]
    counting: CountingArgs,
    /// Write an agent's session beside FILE under a new id, and print its path
    ///
    /// The file is named as the agent names it, and the id of the session changes in the
    /// lines that have it. FILE stays as it is.
    #[arg(
        long,
        requires = "file",
        conflicts_with_all = ["output", "dry_run", "in_place"],
        help_heading = "Output"
    )]
    new: bool,
    #[command(flatten)]
    in_place: InPlaceArgs,
    #[command(flatten)]
    idle: IdleArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// System messages are never pruned.
fn zones() -> impl TypedValueParser<Value = Zone> {
    let zones = [Zone::Old, Zone::Keep];
    PossibleValuesParser::new(zones.iter().filter_map(Zone::to_possible_value))
        .try_map(|word| Zone::from_str(&word, false))
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-prune",
    command: Args::command,
    run: |matches, io| run(&Args::from_arg_matches(matches)?, matches, io),
    page: page::PAGE,
};

fn run(args: &Args, matches: &ArgMatches, io: &mut Io) -> Outcome {
    let paths = inputs(&args.file)?;
    let path = &paths[0];
    if args.read.batch {
        return Err(Failure::new("batch records are not pruned")
            .hint("prune the conversations one by one, as sessions"));
    }
    let store = args.store.lazy(&TOOL, matches);
    let id = args.new.then(|| anew::id_of(path)).transpose()?;
    let output = args.in_place.of(args.output.clone(), args.file.as_ref());
    let (source, target) = output.session(&paths, None, &store, Growth::Follows)?;
    let mut session = args.read.session(source.open(path)?)?;
    session.read(|session| session.refuse_document_of_log("pruned"))?;
    let target = target.when_idle(args.idle.of(session.dialect()))?;
    session.tell_of_document(io);
    let name = session.name.clone();
    let plan = args.plan(session.dialect(), path, io.verbosity())?;
    args.counting.resolve()?.report(io);
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
    if args.dry_run {
        report::table(&decision.sums, io)?;
        report::beside(&decision.beside, io)?;
        return Ok(ExitStatus::Done);
    }
    if let Some(id) = id {
        let old = (path.as_path(), id.as_str());
        anew::write(&mut decision, left_out, old, session.dialect(), &store, io)?;
        return Ok(ExitStatus::Done);
    }
    let output = target.open(io)?;
    let written = decision.write(left_out, output);
    written.map_err(|error| failure(error, &name))?.finish()?;
    Ok(ExitStatus::Done)
}

fn failure(error: PassError, name: &str) -> Failure {
    match error.kind {
        ErrorKind::NoZones => Failure::new("--zone, and no record has a zone")
            .at(name, None)
            .hint("let ctx-split decide the zones"),
        ErrorKind::NewOffence(_) => {
            passes::failure(error, name).hint("this is a fault of ctx-prune: please report it")
        }
        _ => passes::failure(error, name),
    }
}
