//! `ctx-split`: decides which records of a session are `system`, `old` or `keep`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, inputs, json_name, json_object, printable,
};
use ctx_engine::split::{Plan, SplitPass, ZoneCounts};
use ctx_engine::{Invalid, PassError, Pin};
use ctx_format::{Dialect, Options, Zone, ZoneReader};
use ctx_policy::share::Share;
use ctx_policy::{Keep, parse_count};
use ctx_store::Growth;

use crate::args::{CountingArgs, PolicyArgs};
use crate::output::{FilterArgs, Source, Target};
use crate::session::{Session, operand};
use crate::store::LazyStore;

/// The default value of `--keep-messages` if no other flag sets what is kept.
const KEEP_MESSAGES: u64 = 20;

/// Mark which records of a session are old and which are kept
///
/// At the beginning of each record, the tool inserts a member `_ctx`, which contains the zone of
/// the record (`system`, `old` or `keep`). Otherwise, the records do not change. System messages,
/// the latest user message and pinned records are never old, and a tool call and its results are
/// always in the same zone. Of several --keep flags, the one that keeps most applies. By default,
/// the policy decides what is kept or, if none is named, the last 20 messages are kept.
#[derive(Debug, Parser)]
struct Args {
    /// Session to split; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    file: Option<PathBuf>,

    #[command(flatten)]
    keep: Keep,
    /// Size of the window in tokens, used by --keep-share
    #[arg(long, value_name = "TOKENS", value_parser = parse_count, help_heading = "What is kept")]
    window: Option<u64>,
    /// Keep the last messages, at least this share of --window in total, such as 0.3
    #[arg(long, value_name = "SHARE", help_heading = "What is kept")]
    keep_share: Option<Share>,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated. A record is kept if any selector matches it.
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
    /// Remove the tags, without changing anything else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["keep_messages", "keep_turns", "keep_tokens", "window", "keep_share", "pin", "batch"])]
    strip: bool,
    /// With --strip --only, accept an incomplete stream
    #[arg(long, requires = "strip", help_heading = "Output")]
    partial: bool,

    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

impl Args {
    /// Returns the source and the destination. Nothing may be appended to tagged records, because
    /// the last record holds the record count.
    fn target<'s>(
        &self,
        inputs: &[PathBuf],
        store: &'s LazyStore<'s>,
    ) -> Result<(Source, Target<'s>)> {
        let is_plain = self.strip && self.only.is_none();
        let growth = if is_plain { Growth::Follows } else { Growth::Stops };
        self.filter.output.session(self.dry_run, inputs, None, store, growth)
    }

    fn plan(&self, io: &mut Io) -> Result<Plan> {
        let policy = self.policy.named(io)?;
        let counting = self.counting.resolve_under(policy.as_ref())?;
        let window = self.window.or(counting.model.map(|model| model.window));
        let share = match (self.keep_share, window) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(
                    Failure::new("--keep-share needs a window").hint("add --window or --model")
                );
            }
            (Some(share), Some(window)) => Some(share.of(window)),
        };
        let is_flag = self.keep.is_some() || share.is_some();
        let of_policy = policy
            .filter(|_| !is_flag)
            .map(|policy| Keep { tokens: policy.recent_tokens(window, 0), ..policy.keep });
        let given = of_policy.unwrap_or(self.keep);
        let tokens = [given.tokens, share].into_iter().flatten().max();
        let alone = tokens.is_none() && given.turns.is_none();
        let keep = Keep {
            messages: given.messages.or(alone.then_some(KEEP_MESSAGES)),
            turns: given.turns,
            tokens,
            ..Keep::default()
        };
        Ok(Plan {
            keep,
            pins: self.pin.clone(),
            counter: tokens.map(|_| counting.counter),
            only: self.only,
            temp: std::env::temp_dir(),
        })
    }
}

/// The entry for `ctx-split` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-split", Args::command, run, include_str!("manual.toml"));

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = &Args::from_arg_matches(matches)?;
    if args.filter.json && args.strip {
        return Err(Failure::new("--json reports zones, but --strip removes them"));
    }
    args.filter.output.refuse_report_among_records(args.filter.json, args.dry_run)?;
    let paths = inputs(&args.file)?;
    let path = &paths[0];
    let store = args.filter.output.store.lazy(&TOOL, matches);
    if args.strip {
        let options = Options { raw: true, ..Options::default() };
        let (source, target) = args.target(&paths, &store)?;
        let session = Session::of(source.open(path)?, &options, Invalid::Keep)?;
        return strip(args, session, target, io);
    }
    let plan = args.plan(io)?;
    let (source, target) = args.target(&paths, &store)?;
    let mut session = args.filter.read.session(source.open(path)?)?.of_any_format();
    session.note_document(io);
    let dialect = session.dialect();
    if dialect.is_none() {
        io.note(format_args!("{}: unknown format; zones are decided line by line", session.name));
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
        "{}: lines: {} system, {} old, {} keep",
        session.name, counts.system, counts.old, counts.keep
    );
    if args.filter.json {
        let output = args.filter.output.output.as_deref().filter(|_| !args.dry_run);
        io.json(&json_object! {
            name: json_name(&session.name),
            output: output.map(|path| path.display().to_string()),
            dialect: dialect.map(Dialect::name),
            /// The number of records in each zone.
            zones: counts,
            first_kept_index: counts.first_keep,
        })?;
    } else if args.dry_run {
        io.print(format!("{}\n", printable(&line)))?;
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
) -> Result<(W, ZoneCounts)> {
    let mut pass = SplitPass::new(plan, session.dialect(), output);
    let batch = args.filter.read.batch;
    session.pass(|record| if batch { pass.push_batch(record) } else { pass.push(record) })?;
    pass.finish().map_err(|error| session.failure(error))
}

/// Removes the tags and, with `--only`, the records that are not in the given zone.
fn strip(args: &Args, mut session: Session, target: Target<'_>, io: &mut Io) -> Outcome {
    let only = args.only;
    let mut zones = ZoneReader::default();
    let mut output = target.open(io)?;
    session.pass(|record| {
        let zone = zones.read(record);
        if only.is_some_and(|only| only != zone) {
            return Ok(());
        }
        output.write_all(&record.untagged()).map_err(PassError::output)
    })?;
    if only.is_some() && !args.partial {
        zones.finish().map_err(|error| session.failure(error.into()))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}
