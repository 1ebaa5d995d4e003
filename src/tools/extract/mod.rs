//! `ctx-extract`: what a session decided, stated, prefers and ran, as items or
//! merged into memory files.

mod page;

use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, inputs, is_stdin, json_line};
use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Item, MemoryFolder, MergeCounts, settle};
use ctx_passes::PassError;
use ctx_passes::extract::{ExtractPass, HoldingWriter, Plan, Scope};
use ctx_store::{Growth, SessionId, Store};
use ctx_transcript::{Record, counted};
use serde::Serialize;

use crate::output::{self, Output};
use crate::passes;
use crate::session::{ReadArgs, Session};
use crate::store::{StoreArgs, failure, merge_failure, session_id, session_of, warn_edits};
use crate::target::{OutputArgs, ReportArgs, Source};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-extract",
    command: Args::command,
    run,
    page: page::PAGE,
};

/// Extract decisions, facts, preferences and tool runs from a session
///
/// Prints items as JSON lines. With --into, merges them into memory files and
/// passes the session on unchanged; its last record goes out only when
/// the merge is done, so that a later tool notices when it failed. What was new is also
/// told in DIR/daily/DATE.md, the log of the day (UTC).
///
/// Of records tagged by ctx-split only the old zone is read, of others
/// everything but system messages. Sentences are quoted as they were
/// written, up to 300 characters; code blocks, quoted lines and logs are not
/// read, questions state nothing. Secrets are replaced by [REDACTED].
///
/// Decisions are what the user or the model settled, concluded and gave
/// reasons for; preferences are also what the user demands and forbids. "Option
/// 1" has behind it what was offered, what is said twice is one item, and a
/// decision that a later one takes back tells its line.
#[derive(Debug, Parser)]
struct Args {
    /// Session files; - or none is stdin
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only this kind (can be repeated)
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<MemoryKind>,
    /// Read this zone [default: old]
    ///
    /// Of records without tags all but system messages are read.
    #[arg(long, value_enum, value_name = "ZONE")]
    zone: Option<Scope>,
    /// Name the session [default: the file's, or "stdin"]
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Merge into DIR/extracted/*.md and pass the input on
    #[arg(long, value_name = "DIR", conflicts_with = "into_store")]
    into: Option<PathBuf>,
    /// Merge into the store's memory: the same as --into STORE/memory
    #[arg(long)]
    into_store: bool,
    /// Print the items that would be merged, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Accept a tagged stream that ended early
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    /// The store that the memory lies in, if it lies in one.
    fn open_store(&self, matches: &ArgMatches) -> Result<Option<Store>, Failure> {
        let around = self.into.as_deref().and_then(Store::around);
        // Of a store only the memory is for entries.
        if let (Some(dir), Some(root)) = (&self.into, &around)
            && !dir
                .canonicalize()
                .is_ok_and(|dir| dir == root.join("memory"))
        {
            Store::refuse_inside(dir).map_err(failure)?;
        }
        let args = match around {
            Some(root) => StoreArgs { store: Some(root) },
            None if self.into_store => self.store.clone(),
            None => return Ok(None),
        };
        args.open(&TOOL, matches).map(Some)
    }

    /// Where to merge; `None` to print.
    fn folder<'a>(&self, store: Option<&'a Store>) -> Option<MemoryFolder<'a>> {
        match &self.into {
            Some(dir) => Some(MemoryFolder::within(dir, store)),
            None => store.map(MemoryFolder::of_store),
        }
    }

    fn plan(&self, path: &Path) -> Result<Plan, Failure> {
        let kinds = if self.kind.is_empty() {
            &MemoryKind::ALL[..]
        } else {
            &self.kind
        };
        let session = match &self.session {
            None if is_stdin(path) => "stdin".to_owned(),
            named => session_of(named.as_ref(), path)?.to_string(),
        };
        Ok(Plan {
            session,
            kinds: kinds.to_vec(),
            scope: self.zone,
            batch: self.read.batch,
        })
    }
}

/// What was found in the sessions.
#[derive(Default)]
struct Found {
    /// How many items.
    count: usize,
    /// How many secrets were taken out of them.
    redacted: usize,
    /// The sessions that hold bad lines.
    bad: Vec<Session>,
}

impl Found {
    /// Reads a session, and gives its items; each record goes to `handle`.
    fn read(
        &mut self,
        args: &Args,
        source: &Source,
        path: &Path,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), PassError>,
    ) -> Result<Vec<Item>, Failure> {
        let mut session = args.read.session(source.open(path)?)?;
        let mut pass = ExtractPass::new(args.plan(path)?, session.dialect());
        let mut items = Vec::new();
        session.pass(|record| {
            let found = pass.push(record)?;
            // A record of a batch is a session of its own.
            items.extend(if args.read.batch {
                settle(found)
            } else {
                found
            });
            handle(record)
        })?;
        if !args.read.batch {
            items = settle(items);
        }
        self.count += items.len();
        let redacted = pass.finish(args.partial);
        self.redacted += redacted.map_err(|error| passes::failure(error, &session.name))?;
        if session.bad().count() > 0 {
            self.bad.push(session);
        }
        Ok(items)
    }

    fn report(&self, io: &mut Io) {
        self.bad.iter().for_each(|session| session.report(io));
        if self.redacted > 0 {
            let secrets = counted(self.redacted, "secret");
            io.note(format_args!("{secrets} taken out"));
        }
        io.note(format_args!("{} found", counted(self.count, "item")));
    }
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    args.report
        .refuse_among_records(&args.output, args.dry_run)?;
    let paths = inputs(&args.files)?;
    if paths.len() > 1 && args.session.is_some() {
        return Err(Failure::new(
            "-s names one session, but there are several files",
        ));
    }
    let store = args.open_store(matches)?;
    if args.dry_run {
        let found = if args.report.json {
            print(&args, &paths, &mut std::io::sink())?
        } else {
            print(&args, &paths, io.out())?
        };
        found.report(io);
        return tell(&args, &found, None, io);
    }
    let Some(folder) = args.folder(store.as_ref()) else {
        let mut output = args.output.report(&paths)?.open(io)?;
        let found = print(&args, &paths, &mut output)?;
        output.finish()?;
        found.report(io);
        return tell(&args, &found, None, io);
    };
    let lazy = args.store.lazy(&TOOL, matches);
    let (named, growth) = (args.session.as_ref(), Growth::Follows);
    let (source, target) = args.output.session(&paths, named, &lazy, growth)?;
    let output = target.open(io)?;
    let (found, merged) = merge(&args, &paths, &source, output, &folder)?;
    found.report(io);
    let MergeCounts {
        added,
        known,
        edits,
        ..
    } = &merged;
    warn_edits(edits, io);
    let (items, dir) = (counted(*added, "new item"), folder.path().display());
    io.note(format_args!("{items} in {dir}, {known} known"));
    tell(&args, &found, Some((folder.path(), *added, *known)), io)?;
    match folder.log(&merged, Utc::now()) {
        Err(error) => Err(failure(error)
            .after("the items are merged")
            .status(ExitStatus::Uncertain)),
        Ok(()) => Ok(ExitStatus::Done),
    }
}

/// What was found, for programs. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
struct Told {
    files: usize,
    output: Option<String>,
    items: usize,
    redacted_secrets: usize,
    into: Option<String>,
    new_items: Option<usize>,
    known_items: Option<usize>,
}

/// Tells programs what was found, and of a merge where it went, and how many of it were new and
/// how many known.
fn tell(args: &Args, found: &Found, merged: Option<(&Path, usize, usize)>, io: &mut Io) -> Outcome {
    if args.report.json {
        let shown = |path: &Path| path.display().to_string();
        let told = Told {
            files: args.files.len().max(1),
            output: args.output.output.as_deref().map(shown),
            items: found.count,
            redacted_secrets: found.redacted,
            into: merged.map(|(folder, ..)| shown(folder)),
            new_items: merged.map(|(_, added, _)| added),
            known_items: merged.map(|(.., known)| known),
        };
        io.write(json_line(&told).as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

/// Prints the items, one a line.
fn print(args: &Args, paths: &[PathBuf], output: &mut dyn Write) -> Result<Found, Failure> {
    let mut found = Found::default();
    for path in paths {
        let items = found.read(args, &Source::default(), path, |_| Ok(()))?;
        for item in &items {
            let written = output.write_all(json_line(item).as_bytes());
            written.map_err(|error| passes::failure(PassError::output(error), ""))?;
        }
    }
    Ok(found)
}

/// Merges the items, and hands the records on.
fn merge(
    args: &Args,
    paths: &[PathBuf],
    source: &Source,
    output: Output<'_>,
    folder: &MemoryFolder<'_>,
) -> Result<(Found, MergeCounts), Failure> {
    let mut found = Found::default();
    let mut all = Vec::new();
    let mut output = HoldingWriter::new(output);
    for path in paths {
        let items = found.read(args, source, path, |record| output.push(record.bytes))?;
        all.extend(items);
    }
    let failure = |error| passes::failure(error, "");
    output.flush().map_err(failure)?;
    let mut merged = None;
    let mut merge = || {
        merged = Some(folder.merge(&all).map_err(merge_failure)?);
        Ok(())
    };
    let (output, held) = output.into_parts();
    let write = |output: &mut Output<'_>| output.write_all(&held).map_err(output::failure);
    let written = match output {
        Some(output) => output.deliver(write, merge),
        None => merge(),
    };
    match (written, merged) {
        (Err(failure), Some(_)) if !failure.is_silent() => {
            Err(failure.after("the items are merged"))
        }
        (_, Some(merged)) => Ok((found, merged)),
        (written, None) => written.map(|()| (found, MergeCounts::default())),
    }
}
