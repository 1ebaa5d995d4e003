//! `ctx-score`: what of a session survived.

mod batch;
mod page;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Input, Io, Outcome, Tool, input_name, inputs, json_line, json_name,
};
use ctx_ledger::score::{Needed, Score, Scorer};
use ctx_passes::score::{
    Exam, Further, Later, Listed, Mark, Told, read_after, read_before, referred, shortfalls,
};
use ctx_select::parse_fraction;
use ctx_store::{HashingReader, SessionId, Store};

use crate::passes;
use crate::session::ReadArgs;
use crate::store::{StoreArgs, failure, session_id};
use crate::target::ReportOutputArgs;

/// Score what is left of a session after a compaction
///
/// Looks in AFTER for what BEFORE has and must not be lost, and tells how much is retained,
/// recoverable and lost. The share of items kept is from 0 to 1.
///
/// BEFORE is read for what must not be lost: what the user asked, constraints,
/// decisions, open items, errors, files, commands, and identifiers (names, paths,
/// numbers, dates). Each is looked for in AFTER, and there are four answers:
///
/// retained: its words stand in AFTER's messages, arguments or results, white
/// space folded and not as a part of longer words; or AFTER holds the whole
/// exchange that the item tells of.
///
/// recoverable: they stand in a text that AFTER names by a handle (⟦ctx:…⟧) or as
/// an offloaded file, or BEFORE's exact bytes are in a snapshot of the store. The
/// store is read when --store or -s is given, or when the default one exists.
///
/// lost: they are in none of these.
///
/// What was done, repaired or superseded in BEFORE need not survive and is not scored.
///
/// The items kept are a share from 0 to 1. In each class an item that is retained
/// counts 1, one behind a handle or in a file ½, others 0: of a snapshot the model
/// knows nothing. An identifier weighs the chance that it is needed again. The
/// classes with items make up the mean, asks and constraints with the weight 3,
/// decisions, open items and identifiers 2, errors, files and commands 1.
/// Words are compared, not meanings: a good paraphrase is a loss here. And what is an
/// item, the ledger decides from which ctx-summarize and ctx-compact write: the share
/// shows what one of their summaries had no room for, but neither that a reader
/// understands it, nor that it is better than another's. For that there is --evidence.
///
/// With --evidence, FILE has questions about BEFORE, each with the quotes that carry
/// its answer: {"questions":[{"id":…,"category":…,"question":…,"evidence":[[…],…]}]}.
/// Of each group of the evidence one quote must be there, all of it or three quarters
/// of its pairs of neighbouring words, within one message; words are compared in small
/// letters, Chinese and Japanese by character. A system message counts only when BEFORE
/// does not have it, and reasoning not at all. A question whose evidence BEFORE lacks is
/// not answerable, and not scored; of the others the share that AFTER has is the
/// evidence recall. It suits extracts: an answer in other words needs a reader.
/// --list questions prints each one: + kept, - lost, ? not answerable.
///
/// With --future, FULL is the whole session that BEFORE begins. The values that its
/// later calls used, that BEFORE had, and that nobody told again are what was
/// needed: `A_must` is the share of them that AFTER has; `A_ctx` the share that has two
/// of its context words beside it still; `A_ctxfar` the same for values that the last
/// messages of BEFORE, as many as fit into --window-tokens, do not hold.
///
/// With --batch each line of BEFORE and AFTER is a conversation, {"messages":[…]}, and line N is
/// scored against line N. The table has sums, and of the scores the means; --min goes by each
/// conversation. Lines that are no conversation are named on stderr, and make the exit status 3.
/// No store is read.
///
/// --json prints an object; with --batch one for each conversation, and one for all of them.
/// docs/json.md has all keys.
#[derive(Debug, Parser)]
struct Args {
    /// The session as it was; - is stdin
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// The session as it is now; - is stdin
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Also score what was needed later, in the whole session FULL
    #[arg(long, value_name = "FULL")]
    future: Option<PathBuf>,
    /// Tokens of a plain window, for `A_ctxfar` [default: those of AFTER]
    #[arg(long, value_name = "N", requires = "future")]
    window_tokens: Option<u64>,
    /// Also score questions, each with quotes that answer it (JSON)
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// List the items that are kept, lost …, or the questions
    ///
    /// Of an item its class, line in BEFORE and text; of a question its mark, id,
    /// category and words.
    #[arg(short, long, value_enum, value_name = "STANDING", conflicts_with_all = ["json", "future"])]
    list: Option<Listed>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Score N conversations of a --batch at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Exit with 1 if the share of items kept is below N (0 to 1)
    #[arg(long, value_name = "N", value_parser = parse_fraction)]
    min: Option<f64>,
    /// Exit with 1 if the evidence recall is below N (0 to 1)
    ///
    /// So it does when BEFORE can answer none of the questions.
    #[arg(long, value_name = "N", value_parser = parse_fraction, requires = "evidence")]
    min_evidence: Option<f64>,
    /// Use only this session's snapshots and offloaded files
    #[arg(short, long, value_name = "ID", value_parser = session_id, help_heading = "Store")]
    session: Option<SessionId>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: ReportOutputArgs,
}

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-score",
    command: Args::command,
    run,
    page: page::PAGE,
};

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    if args.read.batch {
        return batch::run(&args, io);
    }
    if args.jobs.is_some() {
        return Err(
            Failure::new("--jobs without --batch").hint("leave it out: two sessions are one job")
        );
    }
    if args.list == Some(Listed::Questions) && args.evidence.is_none() {
        return Err(Failure::new("--list questions needs --evidence FILE")
            .hint("name the file that has the questions"));
    }
    let sessions = [&args.before, &args.after].into_iter();
    let paths = inputs(sessions.chain(&args.future).chain(&args.evidence))?;
    let target = args.output.report(&paths)?;
    let opened = store(&args, matches, io)?;
    let (score, needed, mut exam) = score(&args, opened.as_ref(), io)?;
    let marks = exam.as_mut().map(Exam::marks);
    let marks = marks.as_deref();
    let shown = match args.list {
        Some(Listed::Questions) => table::questions(marks.unwrap_or_default()),
        Some(listed) => table::list(&score, listed),
        None if args.json => json(&args, &score, needed, marks),
        None => table::of(&score, needed, marks),
    };
    target.write(shown.as_bytes(), io)?;
    let shortfalls = shortfalls(&score, marks, args.min, args.min_evidence);
    for shortfall in &shortfalls {
        io.warn(shortfall);
    }
    Ok([ExitStatus::No, ExitStatus::Done][usize::from(shortfalls.is_empty())])
}

fn json(args: &Args, score: &Score, needed: Option<Needed>, marks: Option<&[Mark<'_>]>) -> String {
    let [before, after] = [&args.before, &args.after].map(|path| input_name(path));
    let (before, after) = (json_name(&before), json_name(&after));
    json_line(&Told::of(before, after, score, needed, marks))
}

fn exam(path: &Path) -> Result<Exam, Failure> {
    let Input { name, reader } = Input::open(path)?;
    let text = std::io::read_to_string(reader)
        .map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(&name, None))?;
    Exam::parse(&text).map_err(|error| passes::failure(error, &name))
}

/// Opens the store that was asked for, or the default one where there is one.
fn store(args: &Args, matches: &ArgMatches, io: &mut Io) -> Result<Option<Store>, Failure> {
    let is_asked_for = args.store.store.is_some() || args.session.is_some();
    if !is_asked_for && !args.store.exists() {
        return Ok(None);
    }
    match args.store.open(&TOOL, matches) {
        Ok(store) => Ok(Some(store)),
        Err(failure) if is_asked_for => Err(failure),
        // Nobody named it, and most of a score needs none.
        Err(failure) => {
            io.report(&failure);
            Ok(None)
        }
    }
}

/// Reads AFTER, BEFORE and FULL, in this order: what AFTER refers to must be known
/// before BEFORE is read.
fn score(
    args: &Args,
    store: Option<&Store>,
    io: &mut Io,
) -> Result<(Score, Option<Needed>, Option<Exam>), Failure> {
    let mut further = Further {
        later: args.future.as_ref().map(|_| Later::default()),
        exam: args.evidence.as_deref().map(exam).transpose()?,
    };
    let mut after = args.read.open(&args.after)?;
    let mut scorer = Scorer::new(after.read(|session| read_after(session, Some(&mut further)))?);
    after.report(io);
    if let Some(store) = store {
        refer(args, store, &mut scorer, io)?;
    }
    let mut before = Input::open(&args.before)?;
    let hashing = HashingReader::new(before.reader);
    before.reader = Box::new(hashing.clone());
    let mut before = args.read.session(before)?;
    let ledger =
        before.read(|session| read_before(session, Some(&mut scorer), Some(&mut further)))?;
    before.report(io);
    if let Some(store) = store
        && is_saved(args, store, hashing)?
    {
        scorer.saved();
    }
    let needed = match (&args.future, further.later) {
        (Some(path), Some(mut later)) => {
            let mut full = args.read.open(path)?;
            full.read(|session| later.read_full(session))?;
            full.report(io);
            Some(later.finish(args.window_tokens))
        }
        _ => None,
    };
    Ok((scorer.finish(&ledger), needed, further.exam))
}

/// Adds what AFTER refers to and the store has.
fn refer(args: &Args, store: &Store, scorer: &mut Scorer, io: &mut Io) -> Result<(), Failure> {
    let referred = referred(store, args.session.as_ref(), scorer.after()).map_err(failure)?;
    for error in referred.failed {
        io.report(&failure(error));
    }
    for text in &referred.texts {
        scorer.add_referred(text);
    }
    Ok(())
}

/// Whether BEFORE's exact bytes are in a snapshot.
fn is_saved(args: &Args, store: &Store, before: HashingReader) -> Result<bool, Failure> {
    let sha256 = before
        .finish()
        .map_err(|error| Failure::new(format_args!("cannot read BEFORE: {error}")))?;
    let session = args.session.as_ref();
    store.has_snapshot_of(session, &sha256).map_err(failure)
}
