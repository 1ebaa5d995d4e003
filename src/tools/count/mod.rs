//! `ctx-count`: messages, tokens and bytes of sessions.

mod annotate;
mod batch;
mod breakdown;
mod counted;
mod json;
mod table;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Inputs, Io, Outcome, Page, Tool};

use crate::counting::{Counting, CountingArgs};
use crate::output::OutputArgs;
use crate::parallel::{in_parallel, jobs_of};
use crate::session::ReadArgs;
use breakdown::By;
use counted::Counted;
pub(crate) use table::{aligned, percent};

/// Count the messages, tokens and bytes of sessions
///
/// Prints a line per file, like wc: messages, tokens, bytes and the file's name,
/// and a line with the total when there are several files. With --model the
/// share of the model's context window stands before the name.
///
/// A message counts as OpenAI publishes it in its cookbook ("How to count tokens
/// with tiktoken"): 3 tokens for its frame, the role, the content, the name and 1
/// more for it; and 3 a conversation for the reply. Of a tool call the name and
/// the arguments are counted, not its id; reasoning is counted; an image, a sound
/// or a document counts a flat 1,000. Lines that are no messages have no tokens.
///
/// --by prints how many, their tokens, their share and what they are, the most
/// tokens first, for all files together; (other) is what belongs to none.
///
/// --json prints an object per file and one for the total, with the keys type
/// (file or total), name (null for stdin), files (total only), conversations,
/// messages, tokens, bytes, records, bad, encoding and kinds (tokens by kind);
/// with --model also model, window, share (of the window, not in the total) and
/// exact (the encoding is the model's own); with --by also by and rows (key,
/// count, tokens). New keys may come, none goes.
///
/// --annotate gives each record that can carry a tag the members line, bytes,
/// tokens and encoding; what else a tag holds stays.
#[derive(Debug, Parser)]
struct Args {
    /// Session files; none, or -, is stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show where the tokens are: how many, their tokens and their share, per line
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with_all = ["annotate", "text"])]
    by: Option<By>,
    /// Print JSON: an object per file, then one for the total
    #[arg(long, conflicts_with = "annotate")]
    json: bool,
    /// Pass the records of one file on, each with its bytes and tokens in a tag
    #[arg(long, conflicts_with = "text")]
    annotate: bool,
    /// Count each file as plain text: only tokens are shown
    #[arg(long, conflicts_with_all = ["batch", "dialect", "invalid"])]
    text: bool,
    /// Count N files, or N conversations of a --batch file, at a time [default: one per core]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-count",
    command: Args::command,
    run,
    page: Page {
        exit_status: &[(
            3,
            "some files could not be read or counted; the others were",
        )],
        environment: &[],
        files: &[],
        examples: &[
            ("ctx-count session.jsonl", "Messages, tokens, bytes"),
            (
                "ctx-count --model gpt-4o *.jsonl",
                "How full each session makes the model's window",
            ),
            (
                "ctx-count --by tool session.jsonl",
                "Which tool fills the context",
            ),
            (
                "ctx-count --annotate < s.jsonl | jq -c 'select(._ctx.tokens > 2000)'",
                "The records of more than 2,000 tokens",
            ),
            (
                "ctx-count --text --encoding cl100k_base < README.md",
                "The tokens of a text",
            ),
        ],
    },
};

/// What will be done.
struct Plan {
    inputs: Inputs,
    /// Whether stdin was named by nobody, so that its line has no name.
    anonymous: bool,
    counting: Counting,
    /// How many threads count files, and how many each of these has for the
    /// conversations of its file.
    jobs: NonZeroUsize,
    jobs_per_file: usize,
}

impl Plan {
    fn of(args: &Args) -> Result<Self, Failure> {
        let inputs = Inputs::new(&args.files)?;
        if args.annotate && inputs.count() > 1 {
            return Err(Failure::new("--annotate takes one file").hint(
                "annotate each file by itself, or pipe them in: cat … | ctx-count --annotate",
            ));
        }
        let jobs = jobs_of(args.jobs);
        Ok(Self {
            jobs_per_file: (jobs.get() / inputs.count().max(1)).max(1),
            inputs,
            anonymous: args.files.is_empty(),
            counting: args.counting.resolve()?,
            jobs,
        })
    }
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches).map_err(Failure::new)?;
    let plan = Plan::of(&args)?;
    plan.counting.report(io);
    if args.annotate {
        return annotate::run(&args, &plan, io);
    }
    let (counted, status) = count_all(&args, &plan, io)?;
    let shown = if args.json {
        json::of(&args, &plan, &counted)
    } else if let Some(by) = args.by {
        table::of_breakdown(by, &counted)
    } else if args.text {
        table::of_texts(&counted)
    } else {
        table::of_files(&counted, plan.counting.model)
    };
    let mut output = args.output.open(io)?;
    output.write(shown.as_bytes())?;
    output.finish()?;
    Ok(status)
}

/// Counts the files; those that fail are reported in their order. When none is
/// left the failure is the tool's.
fn count_all(args: &Args, plan: &Plan, io: &mut Io) -> Result<(Vec<Counted>, ExitStatus), Failure> {
    let results = in_parallel(plan.inputs.paths(), plan.jobs, |path| {
        Counted::of(path, args, plan)
    });
    let (mut counted, mut failures) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(file) => {
                file.report(io);
                counted.push(file);
            }
            Err(failure) => failures.push(failure),
        }
    }
    let nothing_left = counted.is_empty();
    let last = if nothing_left { failures.pop() } else { None };
    for failure in &failures {
        io.report(failure);
    }
    match last {
        Some(failure) => Err(failure),
        None if failures.is_empty() => Ok((counted, ExitStatus::Done)),
        None => Ok((counted, ExitStatus::Partial)),
    }
}
