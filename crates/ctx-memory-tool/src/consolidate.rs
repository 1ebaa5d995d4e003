//! `ctx-memory consolidate` merges the memory of all sessions into one file.

use clap::ArgMatches;
use ctx_cli::{ExitStatus, Io, Outcome, Result, json_object};
use ctx_format::counted;
use ctx_memory::{Change, Consolidated, Consolidation};
use ctx_policy::parse_count;
use ctx_tools::args::CountingArgs;
use ctx_tools::store::{StoreArgs, failure, merge_failure, warn_edits};
use similar::TextDiff;

/// Consolidate the memory of all sessions into one file
///
/// Adds new entries in STORE/memory/daily to STORE/memory/extracted, and lists the entries there in
/// STORE/memory/summary/master.md, which `inject` reads. master.md lists rules and preferences,
/// decisions, facts, and statements that no longer hold. Each topic appears once, with its sources.
/// If a later decision replaces an earlier one ("tabs instead of blanks"), the earlier decision is
/// marked as superseded, and master.md mentions it only together with the later one.
///
/// You may edit all of these files. Text that you add to master.md is kept. If you change or delete
/// a line in the generated part of master.md, the old line is not written again. Text that you
/// strike out (~~...~~) in any of the files is not written again. Old versions of the files are
/// kept in STORE/memory/history.
///
/// Rules get 30 % of --max-tokens, decisions 40 %, facts 20 % and superseded entries 10 %. Unused
/// tokens go to the other sections, in this order. Each section lists your own lines first, then
/// statements by users, then those by agents. Within each group, statements made in the most
/// sessions come first; ties are broken by date, newest first. Entries that do not fit into
/// master.md remain in STORE/memory/extracted. Your own text counts towards the limit, but it is
/// never omitted.
///
/// A second run right after the first changes nothing. -n shows the changes as a diff.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the changes as a diff without making them
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Limit master.md to N tokens
    #[arg(long, value_name = "N", default_value = "2000", value_parser = parse_count)]
    max_tokens: u64,
    /// Print a report as a JSON object
    ///
    /// docs/json.md lists all keys.
    #[arg(long, conflicts_with = "dry_run", help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
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
        let done = consolidation.run().map_err(merge_failure)?;
        if !done.changes.is_empty() {
            io.committed("the memory is consolidated");
        }
        warn_edits(&done.edits, io);
        self.tell(&done, io);
        if self.json {
            let changed = done.changes.iter().map(|change| &change.name).collect::<Vec<_>>();
            io.json(&json_object! { changed, #[serde(flatten)] report: &done.report })?;
        }
        Ok(ExitStatus::Done)
    }

    fn tell(&self, done: &Consolidated, io: &mut Io) {
        let report = &done.report;
        let most = self.max_tokens;
        if report.is_full {
            io.warn(format_args!(
                "your own text in master.md exceeds --max-tokens ({most} tokens), so the file contains nothing else; raise --max-tokens, or shorten your text"
            ));
        } else if report.left_out > 0 {
            let topics = counted(report.left_out, "topic");
            io.warn(format_args!("{topics} did not fit into master.md; raise --max-tokens"));
        }
        if report.was_edited {
            io.note("master.md was edited; the changed lines now count as your own text");
        }
        for change in &done.changes {
            io.note(format_args!("{}: changed", change.name));
        }
        io.note(format_args!(
            "entries added to extracted: {}; newly superseded: {}; master.md lists {} of {} ({})",
            report.imported,
            report.taken_back,
            report.shown,
            counted(report.topics, "topic"),
            counted(report.tokens, "token"),
        ));
    }
}

/// Prints a change as a unified diff.
fn show(change: &Change, io: &mut Io) -> Result<()> {
    let [old, new] = [&change.old, &change.new].map(|bytes| String::from_utf8_lossy(bytes));
    let diff = TextDiff::from_lines(&*old, &*new);
    let (from, to) = (format!("a/{}", change.name), format!("b/{}", change.name));
    io.text(diff.unified_diff().header(&from, &to).to_string().as_bytes())
}
