//! `ctx-score`: measures how much of a session is left after a compaction.

mod json;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Input, Io, Outcome, Progress, Result, Statuses, Tool, input_name, inputs,
    jobs_of, json_failure, json_name, printable,
};
use ctx_engine::PassError;
use ctx_engine::score::{
    BatchScore, Exam, Further, Later, Listed, Mark, Measure, Recall, Side, Sided, measures,
    read_after, read_before, recall, score_batch, shortfalls,
};
use ctx_format::counted;
use ctx_policy::parse_fraction;
use ctx_store::{HashingReader, SessionId, Store};
use ctx_summary::ledger::score::{Needed, Row, Score, Scorer};
use minijinja::{Value, context};

use crate::offload::referred;
use crate::output::ReportOutputArgs;
use crate::passes;
use crate::session::{ReadArgs, operand};
use crate::store::{StoreArgs, failure};
use crate::template::filled;

/// Score what is left of a session after a compaction
///
/// Finds the items in BEFORE that should not be lost, looks for them in AFTER, and counts how many
/// are retained, recoverable and lost. The share of items kept is from 0 to 1.
///
/// The items are requests, constraints, decisions, open items, errors, files, commands, and
/// identifiers (names, paths, numbers, dates). Each item has one of three results:
///
/// retained: the words of the item are in a message, an argument or a result in AFTER, as whole
/// words and regardless of white space, or AFTER contains the whole exchange.
///
/// recoverable: the words are in a text to which AFTER refers with a handle (⟦ctx:…⟧) or as an
/// offloaded file, or a snapshot contains the exact bytes of BEFORE. The store is searched for the
/// text if --store or -s is given, or if the default store exists.
///
/// lost: the item is neither retained nor recoverable.
///
/// Items that were done, repaired or superseded in BEFORE need not survive and are not scored.
///
/// In each class, a retained item counts as 1, and an item in an offloaded file or in a text to
/// which a handle refers counts as ½. All other items count as 0, even if they are in a snapshot,
/// because the model does not know about snapshots. Identifiers are weighted by the probability
/// that they are needed again. The share is the weighted mean over the classes that have items. The
/// weight of requests and constraints is 3, that of decisions, open items and identifiers is 2, and
/// that of errors, files and commands is 1. Words are compared, not meanings, so a paraphrase
/// counts as a loss even if it is good. The items come from the ledger, the list of items that
/// ctx-summarize and ctx-compact also use. For summaries by these tools, the share therefore
/// measures how much did not fit, but not whether a summary is easy to understand or better than a
/// different one. To measure how useful a summary is, use --evidence.
///
/// With --evidence, FILE contains questions about BEFORE, each with groups of quotes that contain
/// the answer: {"questions":[{"id":…,"category":…,"question":…,"evidence":[[…],…]}]}. At least one
/// quote from each group must be in a message in AFTER, either as a whole or with three quarters of
/// its pairs of neighbouring words. Case is ignored, and in Chinese and Japanese text, characters
/// are compared instead of words. A system message counts only if it is not in BEFORE, and
/// reasoning does not count. A question whose evidence is not in BEFORE is not answerable and not
/// scored. The evidence recall is the share of the answerable questions whose evidence is in AFTER.
/// Evidence recall is suitable for extractive summaries, but not for paraphrases. --list questions
/// prints each question with a mark: + kept, - lost, ? not answerable.
///
/// With --future, FULL is the whole session, of which BEFORE is the beginning. A value counts as
/// needed if it is in BEFORE, a later call uses it, and no message in between repeats it. `A_must`
/// is the share of needed values that are in AFTER. `A_ctx` is the share of needed values that are
/// in AFTER next to at least two of the words that surrounded them in BEFORE. `A_ctxfar` is like
/// `A_ctx`, but only for values outside the last --window-tokens tokens of BEFORE.
///
/// With --batch, each line of BEFORE and AFTER is a conversation, {"messages":[…]}, and lines with
/// the same number are compared. With --batch, the table shows sums and mean scores, and --min
/// applies to each conversation. If a line is not a conversation, this is reported on stderr, and
/// the exit status is 3. The store is not read.
///
/// --json prints one object; with --batch, one object per conversation and one for the whole batch.
/// docs/json.md lists all keys.
#[derive(Debug, Parser)]
#[command(mut_arg("batch", |arg| arg.conflicts_with_all(["future", "evidence", "list", "session"])))]
struct Args {
    /// The session before the compaction; - is stdin
    #[arg(value_name = "BEFORE", value_parser = operand())]
    before: PathBuf,
    /// The session after the compaction; - is stdin
    #[arg(value_name = "AFTER", value_parser = operand())]
    after: PathBuf,
    /// Also score the values that are needed later in the session FULL
    #[arg(long, value_name = "FULL")]
    future: Option<PathBuf>,
    /// Ignore BEFORE's last N tokens in `A_ctxfar` [default: AFTER's size]
    #[arg(long, value_name = "N", requires = "future")]
    window_tokens: Option<u64>,
    /// Also score the questions in FILE (JSON), by quotes that contain the answers
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// List the retained, recoverable or lost items, or the questions
    ///
    /// For each item, prints its class, its line number in BEFORE and its text. For each question,
    /// prints its mark (`+`, `-` or `?`), id, category and text.
    #[arg(short, long, value_enum, value_name = "STANDING", conflicts_with_all = ["json", "future"])]
    list: Option<Listed>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Score N conversations of a --batch at a time [default: one per core]
    #[arg(short, long, value_name = "N", requires = "batch")]
    jobs: Option<NonZeroUsize>,
    /// Exit with 1 if the weighted share of items kept is below N (0 to 1)
    #[arg(long, value_name = "N", value_parser = parse_fraction)]
    min: Option<f64>,
    /// Exit with 1 if the evidence recall is below N (0 to 1)
    ///
    /// The exit status is also 1 if none of the questions can be answered from BEFORE.
    #[arg(long, value_name = "N", value_parser = parse_fraction, requires = "evidence")]
    min_evidence: Option<f64>,
    /// Use only this session's snapshots and offloaded files
    #[arg(short, long, value_name = "ID", help_heading = "Store")]
    session: Option<SessionId>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: ReportOutputArgs,
}

/// The entry for `ctx-score` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-score", Args::command, run, include_str!("manual.toml"));

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    if args.read.batch {
        return batch(&args, io);
    }
    if args.list == Some(Listed::Questions) && args.evidence.is_none() {
        return Err(Failure::new("--list questions needs --evidence FILE")
            .hint("name the file that has the questions"));
    }
    let sessions = [&args.before, &args.after].into_iter();
    let paths = inputs(sessions.chain(&args.future).chain(&args.evidence))?;
    let target = args.output.report(&paths)?;
    let opened = store(&args, matches, io)?;
    if let (Some(session), Some(store)) = (&mut args.session, &opened) {
        *session = store.require_session(session, false).map_err(failure)?;
    }
    let (score, needed, mut exam) = score(&args, opened.as_ref(), io)?;
    let marks = exam.as_mut().map(Exam::marks);
    let marks = marks.as_deref();
    let shown = match args.list {
        Some(Listed::Questions) => question_list(marks.unwrap_or_default()),
        Some(listed) => item_list(&score, listed),
        None if args.json => json(&args, &score, needed, marks),
        None => table(&score, needed, marks),
    };
    target.write(shown.as_bytes(), io)?;
    let shortfalls = shortfalls(&score, marks, args.min, args.min_evidence);
    for shortfall in &shortfalls {
        io.warn(shortfall);
    }
    Ok(if shortfalls.is_empty() { ExitStatus::Done } else { ExitStatus::No })
}

fn json(args: &Args, score: &Score, needed: Option<Needed>, marks: Option<&[Mark<'_>]>) -> String {
    let names = [&args.before, &args.after].map(|path| input_name(path));
    json::of_session(names.each_ref().map(|name| json_name(name)), None, score, needed, marks)
}

fn exam(path: &Path) -> Result<Exam> {
    Exam::parse(&Input::text(path)?).map_err(|error| passes::failure(error, &input_name(path)))
}

/// Opens the store that a flag requires, or the default store if it exists.
fn store(args: &Args, matches: &ArgMatches, io: &mut Io) -> Result<Option<Store>> {
    let is_asked_for = args.store.store.is_some() || args.session.is_some();
    if !is_asked_for && !args.store.exists() {
        return Ok(None);
    }
    match args.store.open(&TOOL, matches) {
        Ok(store) => Ok(Some(store)),
        Err(failure) if is_asked_for => Err(failure),
        // Continue without a store, because the user did not ask for one and most of the score does
        // not need it.
        Err(failure) => {
            io.report(&failure);
            Ok(None)
        }
    }
}

/// Reads AFTER, BEFORE and FULL, in this order, because the references in AFTER must be known
/// before BEFORE is read.
fn score(
    args: &Args,
    store: Option<&Store>,
    io: &mut Io,
) -> Result<(Score, Option<Needed>, Option<Exam>)> {
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
        scorer.saved = true;
    }
    let needed = match (&args.future, further.later) {
        (Some(path), Some(mut later)) => {
            let mut full = args.read.open(path)?;
            full.read(|session| later.read_full(session))?;
            full.report(io);
            Some(later.future.finish(args.window_tokens))
        }
        _ => None,
    };
    Ok((scorer.finish(&ledger), needed, further.exam))
}

/// Passes the scorer the stored texts to which AFTER refers.
fn refer(args: &Args, store: &Store, scorer: &mut Scorer, io: &mut Io) -> Result<()> {
    let referred = referred(store, args.session.as_ref(), &scorer.after).map_err(failure)?;
    for error in referred.failed {
        io.report(&failure(error));
    }
    for text in &referred.texts {
        scorer.add_referred(text);
    }
    Ok(())
}

/// Returns true if BEFORE's exact bytes are in a snapshot.
fn is_saved(args: &Args, store: &Store, before: HashingReader) -> Result<bool> {
    let sha256 = before.finish();
    let sha256 =
        sha256.map_err(|error| Failure::new(format_args!("cannot read BEFORE: {error}")))?;
    store.has_snapshot_of(args.session.as_ref(), &sha256).map_err(failure)
}

/// Scores the conversations in two files, line by line.
fn batch(args: &Args, io: &mut Io) -> Outcome {
    let paths = inputs([&args.before, &args.after])?;
    let target = args.output.report(&paths)?;
    let sources = [Input::open(&args.before)?, Input::open(&args.after)?];
    let names = [&args.before, &args.after].map(|path| input_name(path));
    let name = |side| match side {
        Side::Before => names[0].as_str(),
        Side::After => names[1].as_str(),
    };
    let json_names = names.each_ref().map(|name| json_name(name));
    let (mut all, mut statuses) = (BatchScore::default(), Statuses::default());
    // With -o, the output is written only when it is complete.
    let mut held = String::new();
    let mut take = |line: u64, score: Sided<Score>| -> Result<()> {
        Progress::current().record();
        let object = match score {
            Ok(score) => {
                all.add(line, &score);
                for shortfall in shortfalls(&score, None, args.min, None) {
                    statuses.add(ExitStatus::No);
                    let name = printable(name(Side::After));
                    io.warn(format_args!("{name}:{line}: {shortfall}"));
                }
                args.json.then(|| json::of_session(json_names, Some(line), &score, None, None))
            }
            Err((side, error)) => {
                all.failed += 1;
                statuses.add(ExitStatus::Partial);
                let failure = passes::failure(error, name(side));
                io.report(&failure);
                args.json.then(|| json_failure(name(side), Some(line), &failure))
            }
        };
        match object {
            Some(object) if args.output.output.is_none() => io.print(object),
            object => {
                held.extend(object);
                Ok(())
            }
        }
    };
    let dialect = args.read.dialect();
    let readers = sources.map(|input| input.reader);
    let done = score_batch(readers, dialect, jobs_of(args.jobs), &mut |line, score| {
        take(line, score).map_err(|failure| (Side::Before, PassError::caller(failure)))
    });
    done.map_err(|(side, error)| passes::failure(error, name(side)))?;
    held.push_str(&if args.json { json::of_batch(json_names, &all) } else { batch_table(&all) });
    target.write(held.as_bytes(), io)?;
    Ok(statuses.of_all())
}

/// Returns a table with the classes that have items, the share of items kept, the values that were
/// needed later, and the questions.
fn table(score: &Score, needed: Option<Needed>, marks: Option<&[Mark<'_>]>) -> String {
    let needed = needed.map(|needed| {
        let rows = measures(needed).into_iter();
        rows.map(|Measure { name, needed, kept, .. }| context! { name, needed, kept }).collect()
    });
    let recall = marks.map(|marks| {
        let row = |row: Recall<'_>| {
            let Recall { category, questions, answerable, kept, .. } = row;
            context! { category, questions, answerable, kept }
        };
        recall(marks).into_iter().map(row).collect()
    });
    shown(&score.rows(), score.items_kept(), needed, recall, None)
}

/// Returns the table for a batch, with sums, means, and the conversation with the lowest score.
fn batch_table(score: &BatchScore) -> String {
    let scored = counted(score.scored, "conversation");
    let least = score.least.map(|(line, kept)| context! { line, kept });
    let batch = context! { scored, least, failed => score.failed };
    shown(&score.rows(), score.items_kept(), None, None, Some(batch))
}

fn shown(
    rows: &[Row; 8],
    items_kept: f64,
    needed: Option<Vec<Value>>,
    recall: Option<Vec<Value>>,
    batch: Option<Value>,
) -> String {
    let rows = rows.iter().filter(|row| row.total > 0).map(|row| {
        let Row { total, retained, recoverable, lost, score, class, .. } = *row;
        context! { total, retained, recoverable, lost, score, class => <&str>::from(class) }
    });
    let rows: Vec<Value> = rows.collect();
    let values = context! { rows, items_kept, needed, recall, batch };
    filled(include_str!("score.txt"), printable, values)
}

/// Returns a line for each question with its mark, id, category and text, separated by tabs.
fn question_list(marks: &[Mark<'_>]) -> String {
    let line = |mark: &Mark<'_>| {
        let question = mark.question;
        let texts = [&question.id, &question.category, &question.question];
        let [id, category, words] = texts.map(|text| printable(text));
        format!("{}\t{id}\t{category}\t{words}\n", mark.sign())
    };
    marks.iter().map(line).collect()
}

/// Returns a line for each item with its class, line number and text, separated by tabs.
fn item_list(score: &Score, listed: Listed) -> String {
    let lines = listed.of(score).map(|item| {
        let (class, text) = (<&str>::from(item.class), printable(&item.text));
        format!("{class}\t{}\t{text}\n", item.line)
    });
    lines.collect()
}
