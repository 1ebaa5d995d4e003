//! `ctx-memory consolidate`: what all sessions left behind, brought together.

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Io, Outcome, json_line, printable};
use ctx_memory::consolidate::{Answer, Asked, Report};
use ctx_memory::{Change, Consolidated, Consolidation};
use ctx_select::parse_count;
use ctx_tools::counting::CountingArgs;
use ctx_tools::llm::ServerArgs;
use ctx_tools::store::{StoreArgs, failure, merge_failure, warn_edits};
use ctx_transcript::counted;
use serde::Serialize;
use similar::TextDiff;

use crate::model::Model;

/// Consolidate the memory of all sessions into one file
///
/// What is new in STORE/memory/daily goes into STORE/memory/extracted, and from there into
/// STORE/memory/summary/master.md, which `inject` begins sessions with: rules and preferences,
/// decisions, facts, and what does not hold any more, each once, with its sources. A decision that a
/// later one gives up ("tabs instead of blanks") is marked in extracted, and is only told with what
/// took its place.
///
/// You may edit all of these files. What you write in master.md stays; what you change or delete in the part
/// that is written for you is not written again, and what you strike out (~~...~~) in any of them is
/// not told. What is replaced is kept in STORE/memory/history.
///
/// Under --max-tokens rules get 30 % of the room, decisions 40, facts 20 and the past 10, and what one
/// does not need goes to the others in this order. Of each what you wrote by hand comes first,
/// then what the user said, then the rest; of those what more sessions tell, then what is newer.
/// What is left out stays in extracted. What you wrote counts, and is never left out.
///
/// A second run changes nothing. -n shows what would change as a diff, and asks no model.
///
/// With --llm-url or `CTX_LLM_URL` a language model is asked to put what belongs together into one line, once
/// for what is new. A line that lost a name, a number or a denial, or has one that is not there, is
/// not taken. Without an answer the entries are told in their own words.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show what would change as a diff, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Make master.md at most N tokens
    #[arg(long, value_name = "N", default_value = "2000", value_parser = parse_count)]
    max_tokens: u64,
    /// Print what was done as a JSON object
    ///
    /// docs/json.md has all keys.
    #[arg(long, conflicts_with = "dry_run", help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten, next_help_heading = "Language model")]
    server: ServerArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        if self.counting.models.list(self.json, io)? {
            return Ok(ExitStatus::Done);
        }
        let counting = self.counting.resolve()?;
        counting.report(io);
        let store = self.store.open(&crate::TOOL, matches)?;
        let count = |text: &str| counting.counter.text(text);
        let consolidation = Consolidation::new(&store, self.max_tokens, &count);
        if self.dry_run {
            let plan = consolidation.plan().map_err(failure)?;
            for change in &plan.changes {
                show(change, io)?;
            }
            self.tell(&plan, io);
            return Ok(ExitStatus::Done);
        }
        let model = Model::of(&self.server, counting.counter.encoding().counter(), io)?;
        let mut heard = None;
        let mut ask = |asked: &Asked| {
            heard = model.as_ref()?.ask(asked, io);
            heard.clone()
        };
        let done = consolidation.run(&mut ask).map_err(merge_failure)?;
        if !done.changes.is_empty() {
            io.committed("the memory is consolidated");
        }
        warn_edits(&done.edits, io);
        self.tell(&done, io);
        if self.json {
            io.write(json_line(&Told::of(&done, heard.as_ref())).as_bytes())?;
        }
        Ok(ExitStatus::Done)
    }

    fn tell(&self, done: &Consolidated, io: &mut Io) {
        let report = &done.report;
        let most = self.max_tokens;
        if report.is_full {
            io.warn(format_args!(
                "what you wrote in master.md has more than the {most} tokens of --max-tokens alone, so that nothing else is in it: raise it, or write less"
            ));
        } else if report.left_out > 0 {
            let topics = counted(report.left_out, "topic");
            io.warn(format_args!(
                "{topics} left out of master.md, for lack of room; --max-tokens gives more"
            ));
        }
        if report.was_edited {
            io.note("master.md was edited: what was changed there is yours from now on");
        }
        for change in &done.changes {
            io.note(format_args!("{}: changed", change.name));
        }
        io.note(format_args!(
            "{} new in extracted, {} taken back; {} of {} in master.md, {}",
            report.imported,
            report.taken_back,
            report.shown,
            counted(report.topics, "topic"),
            counted(report.tokens, "token"),
        ));
    }
}

/// A unified diff. On a terminal what could drive it is escaped.
fn show(change: &Change, io: &mut Io) -> Result<(), Failure> {
    let [old, new] = [&change.old, &change.new].map(|bytes| String::from_utf8_lossy(bytes));
    let diff = TextDiff::from_lines(&*old, &*new);
    let (from, to) = (format!("a/{}", change.name), format!("b/{}", change.name));
    let text = diff.unified_diff().header(&from, &to).to_string();
    if io.columns().is_none() {
        return io.write(text.as_bytes());
    }
    let lines = text.lines().map(|line| printable(line) + "\n");
    io.write(lines.collect::<String>().as_bytes())
}

/// What was done, for programs.
#[derive(Serialize)]
struct Told<'a> {
    changed: Vec<&'a str>,
    imported: usize,
    taken_back: usize,
    statements: usize,
    topics: usize,
    history: usize,
    own: usize,
    shown: usize,
    left_out: usize,
    worded: usize,
    tokens: u64,
    edited: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Heard>,
}

/// What became of the lines of a model's answer.
#[derive(Serialize)]
struct Heard {
    used: usize,
    refused: usize,
    invented: usize,
}

impl<'a> Told<'a> {
    fn of(done: &'a Consolidated, heard: Option<&Answer>) -> Self {
        let Report {
            imported,
            taken_back,
            statements,
            topics,
            history,
            own,
            shown,
            left_out,
            worded,
            tokens,
            was_edited: edited,
            is_full: _,
        } = done.report;
        let changed = done.changes.iter().map(|change| change.name.as_str());
        Self {
            changed: changed.collect(),
            imported,
            taken_back,
            statements,
            topics,
            history,
            own,
            shown,
            left_out,
            worded,
            tokens,
            edited,
            model: heard.map(|answer| Heard {
                used: answer.used,
                refused: answer.refused,
                invented: answer.invented,
            }),
        }
    }
}
