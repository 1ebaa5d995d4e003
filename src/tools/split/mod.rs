//! `ctx-split`: decides which records are `system`, `old` or `keep`.

mod batch;
mod pins;
mod sink;

use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{ExitStatus, Failure, Inputs, Io, Outcome, Page, Tool, parse_count};
use ctx_select::count::MessageCounter;
use ctx_select::split::{Facts, Keep, Splitter};
use ctx_transcript::{Class, Dialect, Options, Piece, Record, Tag, Zone, ZoneReader};

use crate::counting::CountingArgs;
use crate::output::{Output, OutputArgs};
use crate::session::{Invalid, ReadArgs, Session};
use crate::tagged::ended_early;
use pins::Pin;
use sink::{Item, Sink};

/// Decide which records of a session are to be summarized and which are kept
///
/// Every record leaves as it came, with a member `_ctx` in front that names its
/// zone: `system`, `old` or `keep`. System messages, the latest user message
/// and pinned records are never old, and a tool call and its results are never
/// parted. Of several --keep flags each one keeps its own: what any of them
/// keeps is kept.
#[derive(Debug, Parser)]
struct Args {
    /// Session to split; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Keep the last N messages, system ones not counted [default: 20]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    keep_messages: Option<u64>,
    /// Keep the last N turns: a user message and all up to the next one
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    keep_turns: Option<u64>,
    /// Keep the last messages that hold N tokens or more
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    keep_tokens: Option<u64>,
    /// Size of the context window that --keep-share is a share of
    #[arg(long, value_name = "TOKENS", value_parser = parse_count, help_heading = "What is kept")]
    window: Option<u64>,
    /// Keep the last messages that fill this share of the window, as 0.3
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "What is kept")]
    keep_share: Option<f64>,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    ///
    /// Can be repeated; a record that one of them selects is kept.
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    #[command(flatten)]
    counting: CountingArgs,

    /// Write only the records of one zone
    #[arg(long, value_enum, value_name = "ZONE", help_heading = "Output")]
    only: Option<OnlyZone>,
    /// Decide nothing: remove the tags; with --only, by the zones they name
    #[arg(
        long,
        help_heading = "Output",
        conflicts_with_all = ["keep_messages", "keep_turns", "keep_tokens", "window", "keep_share", "pin", "batch"]
    )]
    strip: bool,
    /// With --strip --only: take a stream that ended early for whole
    #[arg(long, requires = "strip", help_heading = "Output")]
    partial: bool,

    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnlyZone {
    /// System and developer messages
    System,
    /// What is to be summarized
    Old,
    /// What stays
    Keep,
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-split",
    command: || Args::augment_args(Command::new("ctx-split")),
    run: |matches, io| run(&parse(matches)?, io),
    page: Page {
        exit_status: &[],
        environment: &[(
            "TMPDIR",
            "where a temporary file lies when much of a session has to wait for a decision",
        )],
        files: &[],
        examples: &[
            (
                "ctx-split --keep-turns 6 session.jsonl",
                "Tag all but the last six turns as old",
            ),
            (
                "ctx-split --keep-messages 20 s.jsonl | ctx-split --only old --strip",
                "Take the old part as plain records",
            ),
            (
                "ctx-split --window 128k --keep-share 0.3 --pin 're:(?i)decided' s.jsonl",
                "Keep 30 % of the window, and every record that speaks of a decision",
            ),
        ],
    },
};

fn parse(matches: &ArgMatches) -> Result<Args, Failure> {
    Args::from_arg_matches(matches).map_err(Failure::new)
}

/// What the flags mean.
struct Plan {
    keep: Keep,
    pins: Vec<Pin>,
    /// There when tokens decide.
    counter: Option<MessageCounter>,
    only: Option<Zone>,
}

impl Args {
    fn plan(&self) -> Result<Plan, Failure> {
        let counting = self.counting.resolve()?;
        let window = self.window.or(counting.model.map(|model| model.window));
        let share = match (self.keep_share, window) {
            (None, _) => None,
            (Some(_), None) => {
                return Err(Failure::new("--keep-share is a share of nothing")
                    .hint("add --window or --model"));
            }
            (Some(share), Some(window)) => Some(share_of(window, share)),
        };
        let tokens = [self.keep_tokens, share].into_iter().flatten().max();
        let alone = tokens.is_none() && self.keep_turns.is_none();
        let keep = Keep {
            messages: self
                .keep_messages
                .or(alone.then_some(DEFAULT_KEEP_MESSAGES)),
            turns: self.keep_turns,
            tokens,
        };
        Ok(Plan {
            keep,
            pins: self.pin.clone(),
            counter: tokens.map(|_| counting.counter),
            only: self.only(),
        })
    }

    fn only(&self) -> Option<Zone> {
        self.only.map(|zone| match zone {
            OnlyZone::System => Zone::System,
            OnlyZone::Old => Zone::Old,
            OnlyZone::Keep => Zone::Keep,
        })
    }
}

const DEFAULT_KEEP_MESSAGES: u64 = 20;

fn run(args: &Args, io: &mut Io) -> Outcome {
    let operands: Vec<PathBuf> = args.file.iter().cloned().collect();
    let inputs = Inputs::new(&operands)?;
    let path = &inputs.paths()[0];
    if args.strip {
        let options = Options {
            raw: true,
            ..Options::default()
        };
        return strip(args, Session::open(path, &options, Invalid::Keep)?, io);
    }
    let plan = args.plan()?;
    let mut session = args.read.open(path)?;
    session.tell_of_document(io);
    let dialect = session.dialect();
    if dialect.is_none() {
        io.note(format_args!(
            "{}: the format is not known: zones go by lines",
            session.name
        ));
    }
    let output = args.output.open(io)?;
    let mut sink = Sink::new(output, plan.only);
    if args.read.batch {
        session.each(|record| batch::split(&plan, dialect, record, &mut sink))?;
    } else {
        let mut split = Split {
            plan: &plan,
            dialect,
            splitter: Splitter::new(plan.keep),
            length: 0,
        };
        session.each(|record| split.take(record, &mut sink))?;
        split.splitter.finish();
        split.give(&mut sink)?;
    }
    let written = sink.finish()?;
    session.report(io);
    io.note(format_args!(
        "{}: {} system, {} old, {} keep",
        session.name, written.system, written.old, written.keep
    ));
    Ok(ExitStatus::Done)
}

/// Records go into the sink as they come, and get their zones in order.
struct Split<'a> {
    plan: &'a Plan,
    dialect: Option<&'static dyn Dialect>,
    splitter: Splitter,
    /// Bytes of a line that comes in pieces, so far.
    length: usize,
}

impl Split<'_> {
    fn take(&mut self, record: &Record<'_>, sink: &mut Sink<'_>) -> Result<(), Failure> {
        let untagged = record.untagged();
        sink.spool(&untagged)?;
        self.length += untagged.len();
        if !matches!(record.piece, Piece::Whole | Piece::Last) {
            return Ok(());
        }
        let mut tag = record.tag().unwrap_or_default();
        tag.line = Some(record.line);
        let length = (untagged.len() - record.line_end().len()) as u64;
        let pin = self.facts(record, &mut tag, length);
        tag.bytes = Some(length);
        tag.pin = pin;
        let length = std::mem::take(&mut self.length);
        sink.expect(Item {
            length,
            splice: record.splice(),
            tag,
        });
        self.give(sink)
    }

    /// Tells the splitter of the record; returns the selector that pins it.
    fn facts(&mut self, record: &Record<'_>, tag: &mut Tag, length: u64) -> Option<String> {
        if record.class == Class::Tail {
            self.splitter.push(Facts::Tail);
            return None;
        }
        let Some(outline) = record.outline(self.dialect) else {
            self.splitter.push(Facts::Line);
            return None;
        };
        let message = || {
            record
                .whole_object()
                .and_then(|object| self.dialect?.message(object))
        };
        let pin = self
            .plan
            .pins
            .iter()
            .find(|pin| pin.selects(record, outline.role, message));
        let tokens = self.plan.counter.as_ref().map_or(0, |counter| {
            let tokens = match self.dialect {
                Some(_) => counter.total(Some(tag), length, message),
                None => counter.text(&String::from_utf8_lossy(record.bytes)),
            };
            tag.tokens = Some(tokens);
            tag.encoding = Some(counter.encoding().name().to_owned());
            tokens
        });
        self.splitter.push(Facts::Message {
            outline: &outline,
            tokens,
            pinned: pin.is_some(),
        });
        pin.map(ToString::to_string)
    }

    /// Hands on what is decided.
    fn give(&mut self, sink: &mut Sink<'_>) -> Result<(), Failure> {
        while let Some(verdict) = self.splitter.next() {
            sink.decided(&verdict)?;
        }
        Ok(())
    }
}

/// Removes tags; with `--only`, and what is not in the zone.
fn strip(args: &Args, mut session: Session, io: &mut Io) -> Outcome {
    let only = args.only();
    let mut zones = ZoneReader::default();
    let mut output: Output<'_> = args.output.open(io)?;
    session.each(|record| {
        let zone = zones.read(record);
        if only.is_none_or(|only| only == zone) {
            output.write(&record.untagged())
        } else {
            Ok(())
        }
    })?;
    if only.is_some() && !args.partial {
        zones
            .finish()
            .map_err(|error| ended_early(error, &session.name))?;
    }
    output.finish()?;
    Ok(ExitStatus::Done)
}

fn parse_share(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "expected a share from 0 to 1, such as 0.3".to_owned())
}

/// Windows are far below 2^52 tokens, where this is exact.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn share_of(window: u64, share: f64) -> u64 {
    (window as f64 * share).floor() as u64
}
