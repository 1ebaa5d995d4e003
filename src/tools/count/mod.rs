//! `ctx-count`: messages, tokens and bytes of sessions.

mod calibrate;
mod json;
mod page;
mod table;
mod terminal;

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, FolderArgs, Input, Io, Outcome, Tool, jobs_of, of_each};
use ctx_passes::count::{AnnotatePass, Breakdown, CountPass, Counts, Plan};
use ctx_select::parse_count;

use crate::counting::{Counting, CountingArgs};
use crate::folders::walk;
use crate::passes;
use crate::session::ReadArgs;
use crate::store::{LazyStore, StoreArgs};
use crate::target::OutputArgs;
use ctx_store::Growth;

/// Count the messages, tokens and bytes of sessions
///
/// Prints a line per file, like wc: messages, tokens, bytes and the file's name,
/// and a line with the total when there are several files. With --model or --window the
/// share of the context window stands before the name. On a terminal the columns have
/// headings, and a bar shows what fills the window of up to three files.
///
/// -r takes the session files in folders, however deep, by the names that --glob gives; hidden ones
/// too; our own stores are skipped, and links are not followed.
///
/// A message counts as OpenAI publishes it in its cookbook ("How to count tokens
/// with tiktoken"): 3 tokens for its frame, the role, the content, the name and 1
/// more for it; and 3 a conversation for the reply. Of a tool call the name and
/// the arguments are counted, not its id; reasoning is counted, by its signature where that
/// says more than its text; an image counts by its size, as its API charges for it, and one of
/// which that is not known, a sound or a document a flat 1,000. Lines that are no messages
/// have no tokens.
///
/// --by prints how many, their tokens, their share and what they are, the most
/// tokens first, for all files together; (other) is what belongs to none. --by reach
/// prints bytes, and whether they reach the model: most of an agent's own file does not, since
/// it has branches that were left, what a compaction stands for, and results a second time.
///
/// --json prints an object per file and one for the total; docs/json.md has all keys.
///
/// --calibrate prints what the context comes to for the API, as an estimate and a range: from
/// what an agent has recorded of its requests, in which system prompt and tools were, too.
/// From one reply to the next the file tells what was added and the API how much that is:
/// the factor. The base is what a request has beside its messages. Held is how often the
/// range, made of the replies before, had in it what the API said. Without recorded usage
/// the range is that of the messages alone, and one number where the encoding is the
/// model's own.
///
/// --annotate gives each record that can carry a tag the members line, bytes,
/// tokens and encoding; what else a tag holds stays.
#[derive(Debug, Parser)]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Session files; none, or -, is stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Break the total down: count, size and share of each
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["annotate", "text"])]
    by: Option<Breakdown>,
    /// Tokens of the window [default: the model's]
    ///
    /// The share of it stands before the name.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with_all = ["annotate", "text"])]
    window: Option<u64>,
    /// Print JSON: an object per file, and one for the total
    #[arg(long, conflicts_with = "annotate")]
    json: bool,
    /// Estimate what the API counts, from the usage that an agent recorded
    #[arg(long, conflicts_with_all = ["by", "annotate", "text", "batch"])]
    calibrate: bool,
    /// Print the records, each with its bytes and tokens in a tag
    #[arg(long, conflicts_with = "text")]
    annotate: bool,
    /// Count files as plain text: tokens only
    #[arg(long, conflicts_with_all = ["batch", "dialect", "invalid"])]
    text: bool,
    /// Count N files or conversations at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
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

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-count",
    command: Args::command,
    run,
    page: page::PAGE,
};

/// A file, counted.
struct File {
    /// As the user named it.
    name: String,
    counts: Counts,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    if args.counting.models.list(args.json, io)? {
        return Ok(ExitStatus::Done);
    }
    let operands = args.folders.operands(&args.files, walk(false))?;
    let paths = &operands.paths;
    if args.annotate && paths.len() > 1 {
        return Err(Failure::new("--annotate takes one file")
            .hint("annotate each file by itself, or pipe them in: cat … | ctx-count --annotate"));
    }
    let counting = args.counting.resolve()?;
    counting.report(io);
    let jobs = jobs_of(args.jobs);
    let plan = Plan {
        counter: counting.counter,
        batch: args.read.batch,
        // What is left of the threads when each file has one.
        threads: jobs.get() / paths.len().max(1),
        reach: args.by == Some(Breakdown::Reach),
        of_session: args.columns(io).is_some()
            && args.counting.models.model.is_none()
            && args.window.is_none(),
    };
    if args.annotate {
        let store = args.store.lazy(&TOOL, matches);
        return annotate(&args, &plan, paths, &store, io);
    }
    let target = args.output.report(paths)?;
    if args.calibrate {
        return calibrate::run(&args, &counting, &operands, target, io);
    }
    let work = |path: &_| {
        operands
            .check(path)
            .and_then(|()| count(&args, &plan, path))
    };
    let (files, status) = of_each(paths, Some(jobs), work, io, |file, io| {
        report(&file.counts, &file.name, io);
    })?;
    let shown = match args.columns(io) {
        Some(columns) => terminal::of(&args, &counting, &files, columns, io),
        None => shown(&args, &counting, &files),
    };
    target.write(shown.as_bytes(), io)?;
    Ok(status)
}

impl Args {
    /// The columns of the terminal that people read the counts on.
    fn columns(&self, io: &Io) -> Option<usize> {
        let is_shown = !self.json && !self.annotate && !self.calibrate;
        io.columns().filter(|_| is_shown && self.output.is_stdout())
    }
}

fn count(args: &Args, plan: &Plan, path: &Path) -> Result<File, Failure> {
    if args.text {
        return count_text(plan, path);
    }
    let mut session = args.read.open(path)?;
    let mut pass = CountPass::new(plan, session.dialect());
    session.pass(|record| {
        pass.push(record);
        Ok(())
    })?;
    Ok(File {
        counts: pass.finish(session.bad()),
        name: session.name,
    })
}

/// A text is one piece, so all of it is read before it is counted.
fn count_text(plan: &Plan, path: &Path) -> Result<File, Failure> {
    let mut input = Input::open(path)?;
    let mut bytes = Vec::new();
    let read = input.reader.read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(format_args!("cannot read: {error}")).at(&input.name, None))?;
    Ok(File {
        counts: Counts::of_text(&bytes, &plan.counter),
        name: input.name,
    })
}

fn annotate(
    args: &Args,
    plan: &Plan,
    paths: &[PathBuf],
    store: &LazyStore<'_>,
    io: &mut Io,
) -> Outcome {
    let (source, target) = args.output.session(paths, None, store, Growth::Follows)?;
    let mut session = args.read.session(source.open(&paths[0])?)?;
    session.tell_of_document(io);
    let output = target.open(io)?;
    let mut pass = AnnotatePass::new(plan, session.dialect(), output, &std::env::temp_dir());
    session.pass(|record| pass.push(record))?;
    let (output, counts) = pass
        .finish(session.bad())
        .map_err(|error| passes::failure(error, &session.name))?;
    output.finish()?;
    report(&counts, &session.name, io);
    Ok(ExitStatus::Done)
}

/// Warns of what was not counted as messages.
fn report(counts: &Counts, name: &str, io: &mut Io) {
    passes::telling(name, io, |notes| counts.report(notes));
}

fn total(files: &[File]) -> Counts {
    let mut total = Counts::default();
    for file in files {
        total.merge(&file.counts);
    }
    total
}

fn shown(args: &Args, counting: &Counting, files: &[File]) -> String {
    let total = total(files);
    if args.json {
        json::of(args, counting, files, &total)
    } else if let Some(by) = args.by {
        table::of_breakdown(by, &total)
    } else {
        let of_model = counting.model.map(|model| model.window);
        table::of_files(args, args.window.or(of_model), files, &total)
    }
}
