//! `ctx-count`: counts the messages, tokens and bytes of sessions.

mod json;
mod tables;

use std::io::Read;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, FolderArgs, Input, Io, Operands, Outcome, Result, Tool, jobs_of,
    json_line, json_name, json_object, labelled, of_each, printable,
};
use ctx_engine::count::{AnnotatePass, Breakdown, Calibrated, CountPass, Counts, Plan};
use ctx_policy::parse_count;
use ctx_store::Growth;
use ctx_tokens::Model;

use crate::args::{Counting, CountingArgs};
use crate::output::{OutputArgs, Target};
use crate::passes;
use crate::session::{ReadArgs, operand, walk};
use crate::store::LazyStore;

/// Count the messages, tokens and bytes of sessions
///
/// Prints one line per file, like wc: messages, tokens, bytes and the file's name, and a total for
/// several files. With --model or --window, the share of the context window precedes the name. On a
/// terminal, the columns have headings, and for up to three files, bars show what fills the window.
///
/// With -r, the tool counts all session files in folders, at any depth, whose names match --glob,
/// including hidden files. Stores are skipped, and links are not followed.
///
/// Messages are counted as in OpenAI's cookbook ("How to count tokens with tiktoken"): each message
/// has 3 tokens of overhead, plus the tokens of the role, the content and the name (and 1 more if
/// there is a name), and each conversation has 3 more for the reply. A tool call is counted by its
/// name and arguments, without its id, and reasoning by its text or its signature, whichever is
/// longer. An image is counted by its size, in the way that the session's API charges for images.
/// An image of unknown size, a sound or a document counts as 1,000 tokens. Lines without a message
/// count as 0 tokens.
///
/// --by prints the count, tokens, share and name of each value, for all files together, the largest
/// first; (other) combines the rarest values. --by reach prints how many bytes reach the model:
/// most of an agent's own file does not, because it also contains abandoned branches, records
/// before a compaction, and second copies of results.
///
/// --json prints one object per file and one for the total; docs/json.md lists all keys.
///
/// --calibrate estimates how many tokens the API would count for the context, as a number and a
/// range. The estimate uses the token counts that an agent recorded with each reply, which include
/// the system prompt and the tools. The row `factor` shows the growth of these counts from one
/// reply to the next, divided by our own count of the added messages. The row `base` shows the
/// tokens of everything in a request except its messages. The row `held` shows how often the API's
/// count was in the range predicted from earlier replies. Without recorded counts, the range covers
/// only the messages, and is a single number if the encoding is exactly the model's.
///
/// --annotate adds the members line, bytes, tokens and encoding to the tag of each record that can
/// have a tag. Other members of the tag do not change.
#[derive(Debug, Parser)]
struct Args {
    /// Session files to count; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    files: Vec<PathBuf>,
    /// Show the count, size and share by WHAT
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["annotate", "text"])]
    by: Option<Breakdown>,
    /// Size of the window in tokens [default: the model's]
    ///
    /// The share of the window that a session takes up is printed before the name of the session.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with_all = ["annotate", "text"])]
    window: Option<u64>,
    /// Print a JSON object for each file, and one for the total
    #[arg(long, conflicts_with = "annotate")]
    json: bool,
    /// Estimate the API's count from the usage that an agent recorded
    #[arg(long, conflicts_with_all = ["by", "annotate", "text", "batch"])]
    calibrate: bool,
    /// Print each record with a tag that holds its byte and token counts
    #[arg(long, conflicts_with = "text")]
    annotate: bool,
    /// Count the tokens of files as plain text
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
}

/// The entry for `ctx-count` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-count", Args::command, run, include_str!("manual.toml"));

/// The counts for a file.
struct File {
    /// The name of the file, as given by the user.
    name: String,
    counts: Counts,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let operands = args.folders.operands(&args.files, walk(false))?;
    let paths = &operands.paths;
    if args.annotate && paths.len() > 1 {
        return Err(Failure::new("--annotate takes one file")
            .hint("annotate files one by one, or pipe them in: cat … | ctx-count --annotate"));
    }
    let counting = args.counting.resolve()?;
    counting.report(io);
    let plan = Plan {
        counter: counting.counter,
        batch: args.read.batch,
        // The number of threads per file. Only a batch file is divided among several threads.
        threads: if args.read.batch { jobs_of(args.jobs).get() / paths.len().max(1) } else { 1 },
        reach: args.by == Some(Breakdown::Reach),
        of_session: args.columns(io).is_some() || args.window.is_some() || counting.model.is_some(),
    };
    if args.annotate {
        let store = args.output.store.lazy(&TOOL, matches);
        return annotate(&args, &plan, paths, &store, io);
    }
    let target = args.output.report(paths)?;
    if args.calibrate {
        return calibrate(&args, &counting, &operands, target, io);
    }
    let work =
        |path: &_| operands.check(path).and_then(|()| count(&args, &plan, counting.model, path));
    let (files, status) = of_each(paths, args.jobs, work, io, |file, io| {
        report(&file.counts, &file.name, io);
    })?;
    let shown = if args.json {
        json::of(&args, &counting, &files)
    } else {
        tables::of(&args, &counting, &files, args.columns(io), io)
    };
    target.write(shown.as_bytes(), io)?;
    Ok(status)
}

impl Args {
    /// Returns the width of the terminal, or `None` if no table is printed to a terminal.
    fn columns(&self, io: &Io) -> Option<usize> {
        let is_shown = !self.json && !self.annotate && !self.calibrate;
        io.columns().filter(|_| is_shown && self.output.is_stdout())
    }
}

fn count(args: &Args, plan: &Plan, model: Option<&Model>, path: &Path) -> Result<File> {
    if args.text {
        return count_text(plan, path);
    }
    let mut session = args.read.open(path)?.of_any_format();
    let mut pass = CountPass::new(plan, session.dialect());
    session.read(|session| session.visit(|record| pass.push(record)))?;
    let mut counts = pass.finish(session.bad());
    // The recorded usage is that of the session's own model.
    let own = counts.of_session.model.as_deref().and_then(ctx_tokens::model);
    let own = own.map(|model| model.prefix);
    if model.is_some_and(|named| own != Some(named.prefix)) {
        counts.of_session.estimate = None;
    }
    Ok(File { counts, name: session.name })
}

/// Counts a file as plain text. The whole file is read into memory first.
fn count_text(plan: &Plan, path: &Path) -> Result<File> {
    let mut input = Input::open(path)?;
    let mut bytes = Vec::new();
    let read = input.reader.read_to_end(&mut bytes);
    read.map_err(|error| Failure::unread(error).at(&input.name, None))?;
    Ok(File { counts: Counts::of_text(&bytes, &plan.counter), name: input.name })
}

fn annotate(
    args: &Args,
    plan: &Plan,
    paths: &[PathBuf],
    store: &LazyStore<'_>,
    io: &mut Io,
) -> Outcome {
    let (source, target) = args.output.session(false, paths, None, store, Growth::Follows)?;
    let mut session = args.read.session(source.open(&paths[0])?)?.of_any_format();
    session.note_lost_members(io);
    let output = target.open(io)?;
    let mut pass = AnnotatePass::new(plan, session.dialect(), output, &std::env::temp_dir());
    session.pass(|record| pass.push(record))?;
    let (output, counts) = pass.finish(session.bad()).map_err(|error| session.failure(error))?;
    output.finish()?;
    report(&counts, &session.name, io);
    Ok(ExitStatus::Done)
}

/// Warns about lines that were not counted as messages.
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

/// Prints the calibration of all files.
fn calibrate(
    args: &Args,
    counting: &Counting,
    operands: &Operands,
    target: Target<'_>,
    io: &mut Io,
) -> Outcome {
    let calibrate = |path: &_| {
        operands.check(path)?;
        let mut session = args.read.open(path)?;
        let calibrated = session.read(|it| Calibrated::of(it, counting.counter, counting.model))?;
        Ok((calibrated, session.bad().clone(), session.name))
    };
    let (files, status) =
        of_each(&operands.paths, args.jobs, calibrate, io, |(_, bad, name), io| {
            passes::telling(name, io, |notes| bad.report(notes));
        })?;
    let shown = files.iter().map(|(calibrated, _, name)| {
        if args.json {
            let name = json_name(name);
            return json_line(&json_object! { name, #[serde(flatten)] calibrated });
        }
        let head = format!("{}: {}\n", printable(name), calibrated.headline());
        head + &labelled(&calibrated.rows())
    });
    target.write(shown.collect::<String>().as_bytes(), io)?;
    Ok(status)
}
