//! `ctx-summarize`: the old zone becomes one message.

mod bad;
mod batch;
mod budget;
mod llm;
mod old;
mod page;
mod stream;
pub(crate) mod writer;

use std::path::PathBuf;

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Inputs, Io, Outcome, Tool};
use ctx_policy::Method;
use ctx_select::parse_count;
use ctx_select::split::Keep;
use ctx_store::SessionId;
use ctx_summary::Recognizer;
use ctx_tokens::Encoding;
use ctx_transcript::{Role, SummaryRole, Zone, ZoneReader};

use crate::output::{Output, OutputArgs};
use crate::pins::Pin;
use crate::session::{Invalid, ReadArgs, Session};
use crate::store::{StoreArgs, failure, session_id};
use crate::tagged::ended_early;
pub(crate) use budget::{Asked, Refused};
pub(crate) use llm::LlmArgs;
use old::OldZone;
use stream::Done;
pub(crate) use writer::Writer;
use writer::Written;

/// Replace the old zone of a session by one message that sums it up
///
/// Reads records that ctx-split has tagged and writes a plain session: the
/// summary stands where the first old record stood, and every other record
/// leaves as it came, without its tag. An earlier summary in the old zone goes
/// into the new one. Nothing is written before the whole input was seen and the
/// output was checked.
///
/// With --budget it decides itself what is old, and reads any session. The --keep flags
/// need it: what they name is kept at least.
///
/// The method `extractive` quotes what is most likely to be needed later. The
/// method `rule` counts and quotes: user messages, tool calls, the latest topics,
/// the tools. The method `llm` asks a model; it does so only when a server is named
/// with `--llm-url` or `CTX_LLM_URL`, and takes the extractive summary when there
/// is none or when it gives no answer. What a model answers is held
/// against the messages: what they do not support is mended, marked or taken out,
/// and said on stderr. Secrets are taken out of all that is sent and written.
#[derive(Debug, Parser)]
struct Args {
    /// Session to read; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// How to sum up
    #[arg(
        long,
        value_enum,
        value_name = "NAME",
        default_value_t = Method::Extractive,
        help_heading = "The summary"
    )]
    method: Method,
    /// Length of the summary in tokens
    ///
    /// A summary written offline is made to fit; a model is asked for it and may
    /// write a fifth more [default: about a fifth of what it replaces with --method
    /// extractive; 500 with --method llm, 8000 with the template synapse]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "The summary")]
    summary_tokens: Option<u64>,
    /// Tokens of the whole output: system messages, summary and latest messages
    ///
    /// Decides the zones itself: the input needs none, and those it has do not
    /// count. The latest messages stay, with long tool results shortened, as far
    /// as they are worth more than a summary of them. Fails when what has to
    /// stay does not fit.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "batch", help_heading = "The summary")]
    budget: Option<u64>,
    #[command(flatten)]
    keep: Keep,
    /// With --budget: keep the records that match; may be repeated
    #[arg(
        long,
        value_name = "SELECTOR",
        requires = "budget",
        help_heading = "What is kept"
    )]
    pin: Vec<Pin>,
    /// Begin the message with this line; it marks an earlier summary, too
    #[arg(long, value_name = "TEXT", help_heading = "The summary")]
    header: Option<String>,
    /// Role of the message; user where the dialect allows no other
    #[arg(
        long,
        value_enum,
        value_name = "ROLE",
        default_value_t,
        help_heading = "The summary"
    )]
    role: SummaryRole,
    /// Count tokens with this encoding
    #[arg(
        long,
        value_name = "NAME",
        default_value_t,
        help_heading = "The summary"
    )]
    encoding: Encoding,

    #[command(flatten)]
    llm: LlmArgs,

    /// Take a stream that ended early for whole
    #[arg(long, help_heading = "Input")]
    partial: bool,
    /// Fail when the input breaks a rule of its dialect
    ///
    /// Such as: a tool result answers no call, a call has no result.
    #[arg(long, help_heading = "Input")]
    strict: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Append the summary to this session's in the store
    #[arg(short, long, value_name = "ID", value_parser = session_id, conflicts_with = "batch", help_heading = "Store")]
    session: Option<SessionId>,
    #[command(flatten)]
    store: StoreArgs,
}

impl Said {
    /// That `written` stands in the place of `old`.
    fn of(old: &OldZone, written: Written) -> Self {
        Self {
            messages: old.messages,
            earlier: old.earlier_messages,
            text: written.text,
            failed_check: written.failed_check,
            mends: written.mends,
        }
    }

    /// Whether nothing new was summed up.
    pub(crate) fn is_only_earlier(&self) -> bool {
        self.messages == self.earlier
    }
}

/// The table's entry.
pub const TOOL: Tool = Tool {
    name: "ctx-summarize",
    command: || {
        Args::augment_args(Command::new("ctx-summarize"))
            .mut_group("Keep", |keep| keep.requires("budget"))
    },
    run: |matches, io| run(&parse(matches)?, matches, io),
    page: page::PAGE,
};

fn parse(matches: &ArgMatches) -> Result<Args, Failure> {
    Args::from_arg_matches(matches).map_err(Failure::new)
}

/// What the flags mean.
pub(crate) struct Plan {
    pub(crate) recognizer: Recognizer,
    pub(crate) header: Option<String>,
    pub(crate) role: Role,
    pub(crate) encoding: Encoding,
    pub(crate) strict: bool,
    pub(crate) drop_bad: bool,
    /// Whether it is said how long the summary is beside what it replaces.
    pub(crate) tell_sizes: bool,
    pub(crate) writer: Writer,
}

/// What was summed up.
pub(crate) struct Said {
    /// How many messages left.
    pub(crate) messages: u64,
    /// How many of them were summaries already.
    pub(crate) earlier: u64,
    /// The text in their place.
    pub(crate) text: String,
    /// What a model wrote failed the check; the text is written by code.
    pub(crate) failed_check: bool,
    /// How much of a model's answer had to be mended.
    pub(crate) mends: usize,
}

impl Args {
    fn plan(&self, io: &mut Io) -> Result<Plan, Failure> {
        let writer = match self.method {
            offline @ (Method::Extractive | Method::Rule | Method::None) => {
                Writer::offline(offline, self.encoding, self.summary_tokens)
            }
            Method::Llm => self
                .llm
                .writer(self.encoding, self.summary_tokens, io)?
                .completing(),
        };
        Ok(Plan {
            recognizer: Recognizer::new(self.header.as_deref()),
            header: self.header.clone(),
            role: self.role.into(),
            encoding: self.encoding,
            strict: self.strict,
            drop_bad: self.read.invalid == Invalid::Drop,
            tell_sizes: true,
            writer,
        })
    }

    fn asked(&self) -> Option<Asked> {
        Some(Asked {
            tokens: self.budget?,
            keep: self.keep,
            pins: self.pin.clone(),
        })
    }

    /// Appends the summary to the session's in the store, before it leaves: who
    /// sees the output can rely on it.
    fn remember(&self, done: &Done, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let (Some(session), Some(said)) = (&self.session, &done.said) else {
            return Ok(ExitStatus::Done);
        };
        let store = self.store.open(&TOOL, matches)?;
        match store
            .append_summary(session, said.messages, &said.text)
            .map_err(failure)
        {
            Err(failure) if failure.exit_status() == ExitStatus::Uncertain => {
                io.report(&failure);
                Ok(ExitStatus::Uncertain)
            }
            other => other.map(|_| ExitStatus::Done),
        }
    }

    /// Bad lines come in whatever happens to them: they are part of the count
    /// that shows whether the stream is whole.
    fn open(&self) -> Result<Session, Failure> {
        let operands: Vec<PathBuf> = self.file.iter().cloned().collect();
        let inputs = Inputs::new(&operands)?;
        let mut read = self.read.clone();
        if read.invalid == Invalid::Drop {
            read.invalid = Invalid::Keep;
        }
        read.open(&inputs.paths()[0])
    }
}

fn run(args: &Args, matches: &ArgMatches, io: &mut Io) -> Outcome {
    let plan = args.plan(io)?;
    let mut session = args.open()?;
    let name = session.name.clone();
    if args.read.batch {
        let mut batch = batch::Batch::new(&plan, session.dialect(), &name);
        session.each(|record| batch.take(record, io))?;
        check_end(args, &name, &batch.zones)?;
        let done = batch.finish(io);
        let mut output = args.output.open(io)?;
        done.write(&mut output)?;
        output.finish()?;
        return Ok(ExitStatus::Done);
    }
    let done = if let Some(asked) = args.asked() {
        let mut stream = budget::Budgeted::new(&plan, &asked, session.dialect(), &name);
        session.each(|record| stream.take(record))?;
        if stream.zones.zoned() {
            check_end(args, &name, &stream.zones)?;
        }
        let shared = stream.finish(io);
        shared.map_err(|refused| refused.failure(&name))?.done
    } else {
        let mut stream = stream::Stream::new(&plan, session.dialect(), &name);
        session.each(|record| stream.take(record))?;
        check_end(args, &name, &stream.zones)?;
        stream.finish(io)?
    };
    let status = args.remember(&done, matches, io)?;
    let mut output = args.output.open(io)?;
    done.write(&mut output)?;
    output.finish()?;
    Ok(status)
}

/// Sums up the old zone of one tagged session, which is known to be whole.
pub(crate) fn summarize(
    plan: &Plan,
    session: &mut Session,
    mut output: Output<'_>,
    io: &mut Io,
) -> Result<Option<Said>, Failure> {
    let name = session.name.clone();
    let mut stream = stream::Stream::new(plan, session.dialect(), &name);
    session.each(|record| stream.take(record))?;
    let mut done = stream.finish(io)?;
    let said = done.said.take();
    done.write(&mut output)?;
    output.finish()?;
    Ok(said)
}

/// Shares a budget out between a summary and what stays of one session; also the
/// zones of its records.
pub(crate) fn within(
    plan: &Plan,
    asked: &Asked,
    session: &mut Session,
    mut output: Output<'_>,
    io: &mut Io,
) -> Result<(Option<Said>, Vec<Zone>), Refused> {
    let name = session.name.clone();
    let mut stream = budget::Budgeted::new(plan, asked, session.dialect(), &name);
    session.each(|record| stream.take(record))?;
    let budget::Shared { mut done, zones } = stream.finish(io)?;
    let said = done.said.take();
    done.write(&mut output)?;
    output.finish()?;
    Ok((said, zones))
}

/// Whether all of the stream came, and was split at all.
fn check_end(args: &Args, name: &str, zones: &ZoneReader) -> Result<(), Failure> {
    if args.partial {
        return Ok(());
    }
    if zones.records() > 0 && !zones.zoned() {
        return Err(Failure::new("no record has a zone")
            .at(name, None)
            .hint("ctx-split decides what is old: ctx-split FILE | ctx-summarize"));
    }
    zones.finish().map_err(|error| ended_early(error, name))
}
