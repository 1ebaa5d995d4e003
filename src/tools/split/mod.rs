//! `ctx-split`: decides which records are `system`, `old` or `keep`.

mod page;
mod plan;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, inputs, json_line, json_name, printable};
use ctx_passes::split::{Plan, SplitPass, ZoneCounts};
use ctx_passes::{Invalid, PassError, Pin};
use ctx_select::split::Keep;
use ctx_select::{parse_count, parse_fraction};
use ctx_transcript::{Dialect, Options, Zone, ZoneReader};

use crate::counting::CountingArgs;
use crate::passes;
use crate::session::{ReadArgs, Session};
use crate::store::{LazyStore, StoreArgs};
use crate::target::{OutputArgs, ReportArgs, Source, Target};
use ctx_store::Growth;

/// Mark which records of a session are old and which are kept
///
/// Every record leaves as it came, with a member `_ctx` in front that names its
/// zone: `system`, `old` or `keep`. System messages, the latest user message
/// and pinned records are never old, and a tool call and its results are never
/// parted. Of several --keep flags each one keeps its own: what any of them
/// keeps is kept. Without any the last 20 messages are kept.
#[derive(Debug, Parser)]
struct Args {
    /// Session to split; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    #[command(flatten)]
    keep: Keep,
    /// Tokens of the window, for --keep-share
    #[arg(long, value_name = "TOKENS", value_parser = parse_count, help_heading = "What is kept")]
    window: Option<u64>,
    /// Keep the last messages that fill this share of --window, as 0.3
    #[arg(long, value_name = "SHARE", value_parser = parse_fraction, help_heading = "What is kept")]
    keep_share: Option<f64>,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated; a record that one of them selects is kept.
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    #[command(flatten)]
    counting: CountingArgs,

    /// Show how many records are in each zone, and write nothing
    #[arg(short = 'n', long, conflicts_with = "strip", help_heading = "Output")]
    dry_run: bool,
    /// Write only the records of one zone
    #[arg(long, value_enum, value_name = "ZONE", help_heading = "Output")]
    only: Option<Zone>,
    /// Remove the tags, and change nothing else
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["keep_messages", "keep_turns", "keep_tokens", "window", "keep_share", "pin", "batch"]
    )]
    strip: bool,
    /// With --strip --only, accept a stream that ended early
    #[arg(long, requires = "strip", help_heading = "Output")]
    partial: bool,

    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    /// Behind tagged records nothing may follow: the last one says how many there are.
    fn target<'s>(
        &self,
        inputs: &[PathBuf],
        store: &'s LazyStore<'s>,
    ) -> Result<(Source, Target<'s>), Failure> {
        let is_plain = self.strip && self.only.is_none();
        let growth = if is_plain {
            Growth::Follows
        } else {
            Growth::Stops
        };
        if self.dry_run {
            return Ok((Source::default(), self.output.preview(inputs, None, store)?));
        }
        self.output.session(inputs, None, store, growth)
    }
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-split",
    command: Args::command,
    run: |matches, io| run(&Args::from_arg_matches(matches)?, matches, io),
    page: page::PAGE,
};

fn run(args: &Args, matches: &ArgMatches, io: &mut Io) -> Outcome {
    if args.counting.models.list(args.report.json, io)? {
        return Ok(ExitStatus::Done);
    }
    if args.report.json && args.strip {
        return Err(Failure::new(
            "--json tells of zones, and --strip decides none",
        ));
    }
    args.report
        .refuse_among_records(&args.output, args.dry_run)?;
    let paths = inputs(&args.file)?;
    let path = &paths[0];
    let store = args.store.lazy(&TOOL, matches);
    if args.strip {
        let options = Options {
            raw: true,
            ..Options::default()
        };
        let (source, target) = args.target(&paths, &store)?;
        let session = Session::of(source.open(path)?, &options, Invalid::Keep)?;
        return strip(args, session, target, io);
    }
    let plan = args.plan()?;
    let (source, target) = args.target(&paths, &store)?;
    let mut session = args.read.session(source.open(path)?)?;
    session.tell_of_document(io);
    let dialect = session.dialect();
    if dialect.is_none() {
        io.note(format_args!(
            "{}: the format is not known: zones go by lines",
            session.name
        ));
    }
    let counts = if args.dry_run {
        split(args, &plan, &mut session, io::sink())?.1
    } else {
        let (output, counts) = split(args, &plan, &mut session, target.open(io)?)?;
        output.finish()?;
        counts
    };
    session.report(io);
    let line = format!(
        "{}: {} system, {} old, {} keep",
        session.name, counts.system, counts.old, counts.keep
    );
    if args.report.json {
        let output = args.output.output.as_deref().filter(|_| !args.dry_run);
        let told = counts.told(json_name(&session.name), output, dialect.map(Dialect::name));
        io.write(json_line(&told).as_bytes())?;
    } else if args.dry_run {
        io.write(format!("{}\n", printable(&line)).as_bytes())?;
    }
    io.note(line);
    Ok(ExitStatus::Done)
}

/// Writes each record with its tag.
fn split<W: Write>(
    args: &Args,
    plan: &Plan,
    session: &mut Session,
    output: W,
) -> Result<(W, ZoneCounts), Failure> {
    let mut pass = SplitPass::new(plan, session.dialect(), output);
    if args.read.batch {
        session.pass(|record| pass.push_batch(record))?;
    } else {
        session.pass(|record| pass.push(record))?;
    }
    let done = pass.finish();
    done.map_err(|error| passes::failure(error, &session.name))
}

/// Removes tags; with `--only`, and what is not in the zone.
fn strip(args: &Args, mut session: Session, target: Target<'_>, io: &mut Io) -> Outcome {
    let only = args.only;
    let mut zones = ZoneReader::default();
    let mut output = target.open(io)?;
    session.pass(|record| {
        let zone = zones.read(record);
        if only.is_some_and(|only| only != zone) {
            return Ok(());
        }
        let written = output.write_all(&record.untagged());
        written.map_err(PassError::output)
    })?;
    if only.is_some() && !args.partial {
        let whole = zones.finish();
        whole.map_err(|error| passes::failure(error.into(), &session.name))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}
