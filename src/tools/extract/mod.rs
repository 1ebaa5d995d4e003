//! `ctx-extract`: extracts decisions, facts, preferences and tool runs from sessions, and prints
//! these items or merges them into memory files.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::builder::PossibleValue;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, ValueEnum};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, inputs, is_stdin, json_line, json_object,
};
use ctx_engine::summarize::recognizer;
use ctx_engine::{ErrorKind, PassError, Time};
use ctx_format::view::{Outside, Presence};
use ctx_format::{Dialect, Object, Record, Role, Zone, ZoneReader, counted};
use ctx_memory::{Extractor, MemoryFolder, MemoryItem, MergeCounts, reconcile};
use ctx_store::{Growth, SessionId, Store};
use ctx_summary::Recognizer;
use ctx_summary::ledger::patterns::MemoryKind;

use crate::args::PolicyArgs;
use crate::output::{self, FilterArgs, Output, Source};
use crate::passes;
use crate::session::{Session, operand};
use crate::store::{StoreArgs, failure, merge_failure, session_of, warn_edits};

/// The entry for `ctx-extract` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-extract", Args::command, run, include_str!("manual.toml"));

/// Extract decisions, facts, preferences and tool runs from a session
///
/// Prints the items as JSON lines. With --into, merges the items into memory files and writes the
/// session to stdout unchanged. The last record is written only after the merge, so that the next
/// tool in a pipeline notices a failure. The daily log, DIR/daily/DATE.md (in UTC), lists the new
/// items.
///
/// In a stream tagged by ctx-split, the tool reads only the messages that will be summarized (the
/// zone old). In untagged input, the tool reads everything except system messages. Sentences are
/// quoted verbatim, up to 300 characters each. Code blocks, quoted lines, logs and questions are
/// skipped. Secrets are replaced with [REDACTED].
///
/// Decisions are statements in which the user or the model settled, concluded or justified
/// something. Preferences include the user's demands and prohibitions. If the user chose "option
/// 1", the item contains the text of that option. A repeated statement yields only one item. A
/// superseded decision contains the line number of the decision that superseded it.
#[derive(Debug, Parser)]
struct Args {
    /// Session files to read; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    files: Vec<PathBuf>,
    /// Extract only items of this kind (can be repeated)
    #[arg(long, value_enum, value_name = "KIND")]
    kind: Vec<MemoryKind>,
    /// Read this zone [default: old, or all if no record has a tag]
    ///
    /// In a session without tags, the default is all messages except system messages.
    #[arg(long, value_enum, value_name = "ZONE")]
    zone: Option<Scope>,
    /// Print the latest summary in the session instead of items
    ///
    /// The summary may be from ctx-compact, from ctx-summarize or from the agent itself. If there
    /// is none, the exit status is 1.
    #[arg(long, conflicts_with_all = ["kind", "zone", "into", "into_store", "dry_run", "json", "batch", "output"])]
    summary: bool,
    /// Id of the session [default: the file's, or "stdin"]
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// Merge into DIR/extracted/*.md, and write the input to stdout
    #[arg(long, value_name = "DIR", conflicts_with = "into_store")]
    into: Option<PathBuf>,
    /// Merge into the store's memory files: the same as --into STORE/memory
    #[arg(long)]
    into_store: bool,
    /// Print the items that would be merged, and write nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Accept a tagged stream that is incomplete
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    /// The first words of summaries under the policy.
    #[arg(skip)]
    header: Option<String>,
    #[command(flatten)]
    filter: FilterArgs,
}

impl Args {
    /// Returns the store that contains the memory files, if any.
    fn open_store(&self, matches: &ArgMatches) -> Result<Option<Store>> {
        let around = self.into.as_deref().and_then(Store::around);
        // Inside a store, items may be merged only into the memory folder.
        if let (Some(dir), Some(root)) = (&self.into, &around)
            && !dir.canonicalize().is_ok_and(|dir| dir == root.join("memory"))
        {
            Store::refuse_inside(dir).map_err(failure)?;
        }
        let args = match around {
            Some(root) => StoreArgs { store: Some(root) },
            None if self.into_store => self.filter.output.store.clone(),
            None => return Ok(None),
        };
        args.open(&TOOL, matches).map(Some)
    }

    /// Returns the folder to merge into, or `None` if the items are printed.
    fn folder<'a>(&self, store: Option<&'a Store>) -> Option<MemoryFolder<'a>> {
        match &self.into {
            Some(dir) => Some(MemoryFolder::within(dir, store)),
            None => store.map(MemoryFolder::of_store),
        }
    }

    fn pass(&self, path: &Path, dialect: Option<&'static dyn Dialect>) -> Result<ExtractPass> {
        let kinds = if self.kind.is_empty() { &MemoryKind::ALL[..] } else { &self.kind };
        let session = match &self.session {
            None if is_stdin(path) => "stdin".to_owned(),
            named => session_of(named.as_ref(), path)?.to_string(),
        };
        Ok(ExtractPass {
            scope: self.zone,
            batch: self.filter.read.batch,
            dialect,
            zones: ZoneReader::default(),
            extractor: Extractor::new(session, kinds),
            recognizer: recognizer(self.header.as_deref()),
        })
    }
}

/// The messages to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    /// The messages of one zone.
    Zone(Zone),
    /// All messages.
    All,
}

/// Extracts items from a session's records.
struct ExtractPass {
    /// The messages to read.
    scope: Option<Scope>,
    /// Whether each record is a separate conversation.
    batch: bool,
    dialect: Option<&'static dyn Dialect>,
    zones: ZoneReader,
    extractor: Extractor,
    /// Recognizes summaries, and messages that only look like summaries.
    recognizer: Recognizer,
}

impl ExtractPass {
    /// Returns the items from the next record.
    fn push(&mut self, record: &Record<'_>) -> Result<Vec<MemoryItem>, PassError> {
        let zone = self.zones.read(record);
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
            return Ok(Vec::new());
        };
        let dialect = self.dialect.ok_or(ErrorKind::UnknownFormat)?;
        let tag = record.tag().unwrap_or_default();
        let line = tag.line.unwrap_or(record.line);
        if !self.batch {
            return Ok(self.message(dialect, object, zone, line));
        }
        self.extractor.next_session();
        let zones = tag.zones.unwrap_or_default();
        let messages = object.conversation().unwrap_or_default();
        let all = messages.iter().enumerate().flat_map(|(at, message)| {
            let zone = zones.get(at).copied().unwrap_or(zone);
            self.message(dialect, message, zone, line)
        });
        Ok(all.collect())
    }

    fn message(
        &mut self,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        zone: Zone,
        line: u64,
    ) -> Vec<MemoryItem> {
        // Skip earlier summaries, because items were already extracted from the messages that they
        // replaced.
        if dialect.summary_text(object).is_some() {
            return Vec::new();
        }
        match dialect.message(object) {
            Some(message) if self.wants(zone, message.role) => {
                let message = self.recognizer.as_said(&message);
                let date = Time::of(object).map(Time::date);
                self.extractor.read(&message, line, date)
            }
            _ => Vec::new(),
        }
    }

    fn wants(&self, zone: Zone, role: Role) -> bool {
        match (self.scope, self.zones.zoned) {
            (None, false) => !role.is_system(),
            (None, true) => zone == Zone::Old,
            (Some(Scope::All), _) => true,
            (Some(Scope::Zone(wanted)), true) => wanted == zone,
            (Some(Scope::Zone(Zone::System)), false) => role.is_system(),
            (Some(Scope::Zone(_)), false) => false,
        }
    }

    /// Ends the input, and returns the number of secrets redacted from the items. Fails if a tagged
    /// stream is incomplete and `partial` is false, or if the zone old or keep is requested but the
    /// records have no zones.
    fn finish(&self, partial: bool) -> Result<usize, PassError> {
        let of_a_split = matches!(self.scope, Some(Scope::Zone(Zone::Old | Zone::Keep)));
        if self.zones.zoned {
            if !partial {
                self.zones.finish()?;
            }
        } else if of_a_split && self.zones.records > 0 {
            return Err(ErrorKind::NoZones.into());
        }
        Ok(self.extractor.redacted)
    }
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Zone(Zone::Old), Self::Zone(Zone::Keep), Self::Zone(Zone::System), Self::All]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Zone(zone) => zone.to_possible_value(),
            Self::All => Some(PossibleValue::new("all").help("Everything")),
        }
    }
}

/// The combined result for all sessions.
#[derive(Default)]
struct Extraction {
    /// The number of items.
    count: usize,
    /// The number of redacted secrets.
    redacted: usize,
    /// The number of records that the agent no longer sends and that are therefore not read.
    left_out: u64,
    /// The sessions that contain bad lines.
    bad: Vec<Session>,
}

impl Extraction {
    /// Reads a session and returns its items. Calls `handle` for each record.
    fn read(
        &mut self,
        args: &Args,
        source: &Source,
        path: &Path,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), PassError>,
    ) -> Result<Vec<MemoryItem>> {
        let mut session = args.filter.read.session(source.open(path)?)?;
        let mut pass = args.pass(path, session.dialect())?;
        let mut items = Vec::new();
        session.pass(|record| {
            let extraction = pass.push(record)?;
            // Each record in a batch is a separate session.
            items.extend(if args.filter.read.batch { reconcile(extraction) } else { extraction });
            let never = Presence::Outside(Outside::NeverSent);
            let is_left_out = record.is_outside() && record.presence != Some(never);
            self.left_out += u64::from(is_left_out);
            handle(record)
        })?;
        if !args.filter.read.batch {
            items = reconcile(items);
        }
        self.count += items.len();
        self.redacted += pass.finish(args.partial).map_err(|error| session.failure(error))?;
        if session.bad().count() > 0 {
            self.bad.push(session);
        }
        Ok(items)
    }

    fn report(&self, io: &mut Io) {
        self.bad.iter().for_each(|session| session.report(io));
        if self.redacted > 0 {
            io.note(format_args!("{} removed", counted(self.redacted, "secret")));
        }
        if self.count == 0 && self.left_out > 0 {
            let records = counted(self.left_out, "record");
            io.warn(format_args!(
                "no item found; not read: {records} that the agent no longer sends"
            ));
        }
        io.note(format_args!("{} found", counted(self.count, "item")));
    }
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    args.header = args.policy.named(io)?.and_then(|policy| policy.summary.header);
    let prints_items = args.into.is_none() && !args.into_store;
    let refused = args.filter.output.refuse_report_among_records(args.filter.json, args.dry_run);
    let why = "the items are JSON lines without --json";
    refused.map_err(|failure| if prints_items { failure.hint(why) } else { failure })?;
    let paths = inputs(&args.files)?;
    if paths.len() > 1 && args.session.is_some() {
        return Err(Failure::new("-s cannot be used with several files"));
    }
    if args.summary {
        return print_summaries(&args, &paths, io);
    }
    let store = args.open_store(matches)?;
    if args.dry_run {
        let mut nowhere = io::sink();
        let output = if args.filter.json { &mut nowhere as &mut dyn Write } else { io.out() };
        let extraction = print(&args, &paths, output)?;
        extraction.report(io);
        return print_report(&args, &extraction, None, io);
    }
    let Some(folder) = args.folder(store.as_ref()) else {
        let mut output = args.filter.output.report(&paths)?.open(io)?;
        let extraction = print(&args, &paths, &mut output)?;
        output.finish()?;
        extraction.report(io);
        return print_report(&args, &extraction, None, io);
    };
    let lazy = args.filter.output.store.lazy(&TOOL, matches);
    let named = args.session.as_ref();
    let (source, target) =
        args.filter.output.session(false, &paths, named, &lazy, Growth::Follows)?;
    let output = target.open(io)?;
    let (extraction, merged) = merge(&args, &paths, &source, output, &folder)?;
    extraction.report(io);
    let MergeCounts { added, known, edits, .. } = &merged;
    warn_edits(edits, io);
    let (items, dir) = (counted(*added, "new item"), folder.dir.display());
    io.note(format_args!("{items} in {dir}, {known} already known"));
    print_report(&args, &extraction, Some((&folder.dir, &merged)), io)?;
    folder.log(&merged, Utc::now()).map_err(|error| {
        failure(error).after("the items are merged").status(ExitStatus::Uncertain)
    })?;
    Ok(ExitStatus::Done)
}

/// Prints the JSON report. After a merge, the report includes the folder and the merge counts. Keys
/// are never removed.
fn print_report(
    args: &Args,
    extraction: &Extraction,
    merged: Option<(&Path, &MergeCounts)>,
    io: &mut Io,
) -> Outcome {
    if args.filter.json {
        let shown = |path: &Path| path.display().to_string();
        io.json(&json_object! {
            files: args.files.len().max(1),
            output: args.filter.output.output.as_deref().map(shown),
            items: extraction.count,
            redacted_secrets: extraction.redacted,
            into: merged.map(|(folder, _)| shown(folder)),
            new_items: merged.map(|(_, merged)| merged.added),
            known_items: merged.map(|(_, merged)| merged.known),
        })?;
    }
    Ok(ExitStatus::Done)
}

/// Prints the latest summary of each session that has one.
fn print_summaries(args: &Args, paths: &[PathBuf], io: &mut Io) -> Outcome {
    let mut status = ExitStatus::No;
    for path in paths {
        let mut session = args.filter.read.open(path)?;
        let (dialect, mut latest) = (session.dialect(), None);
        session.pass(|record| {
            let object = record.whole_object().filter(|_| !record.is_outside());
            let text = dialect.zip(object).and_then(|(dialect, it)| dialect.summary_text(it));
            latest = text.map(Cow::into_owned).or(latest.take());
            Ok(())
        })?;
        let Some(text) = latest else {
            io.warn(format_args!("{}: contains no summary", session.name));
            continue;
        };
        io.text(format!("{}\n", text.trim_end()).as_bytes())?;
        status = ExitStatus::Done;
    }
    Ok(status)
}

/// Prints the items, one per line.
fn print(args: &Args, paths: &[PathBuf], output: &mut dyn Write) -> Result<Extraction> {
    let mut extraction = Extraction::default();
    for path in paths {
        let items = extraction.read(args, &Source::default(), path, |_| Ok(()))?;
        for item in &items {
            output.write_all(json_line(item).as_bytes()).map_err(output::failure)?;
        }
    }
    Ok(extraction)
}

/// Merges the items into the memory files, and writes the records to the output.
fn merge(
    args: &Args,
    paths: &[PathBuf],
    source: &Source,
    output: Output<'_>,
    folder: &MemoryFolder<'_>,
) -> Result<(Extraction, MergeCounts)> {
    let mut extraction = Extraction::default();
    let mut all = Vec::new();
    let mut output = HoldingWriter::new(output);
    for path in paths {
        let items = extraction.read(args, source, path, |record| output.push(record.bytes))?;
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
        (_, Some(merged)) => Ok((extraction, merged)),
        (written, None) => written.map(|()| (extraction, MergeCounts::default())),
    }
}

/// Writes records, except for the last record, which [`Self::into_parts`] returns. If this tool
/// fails, the next tool in a pipeline notices that the last record is missing.
struct HoldingWriter<W> {
    /// The output, or `None` after its reader has exited. After the reader has exited, nothing more
    /// is written, but the work continues.
    output: Option<W>,
    held: Vec<u8>,
}

impl<W: Write> HoldingWriter<W> {
    /// Creates a writer to `output`.
    fn new(output: W) -> Self {
        Self { output: Some(output), held: Vec::new() }
    }

    /// Writes the previous record, and keeps the new record until the next call.
    fn push(&mut self, bytes: &[u8]) -> Result<(), PassError> {
        self.with(W::write_all)?;
        self.held.clear();
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    /// Flushes all records except the last, so that an output failure is noticed before the items
    /// are merged.
    fn flush(&mut self) -> Result<(), PassError> {
        self.with(|output, _| output.flush())
    }

    /// Returns the output, unless its reader has exited, and the last record, to be written at the
    /// very end.
    fn into_parts(self) -> (Option<W>, Vec<u8>) {
        (self.output, self.held)
    }

    fn with(
        &mut self,
        write: impl FnOnce(&mut W, &[u8]) -> io::Result<()>,
    ) -> Result<(), PassError> {
        let Some(output) = &mut self.output else { return Ok(()) };
        match write(output, &self.held) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.output = None,
            other => other.map_err(PassError::output)?,
        }
        Ok(())
    }
}
