//! Compacts a session file in place: claims the file, saves its bytes in the store, and replaces
//! the file atomically. This module connects the engine to the store.

mod attempts;
mod batch;
mod offloading;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

use chrono::NaiveDate;
use ctx_cli::{Failure, Result};
use ctx_engine::compact::{
    Attention, Compacted, Compaction, Content, Environment, MessageReader, NewFile, Options,
    Outcome, Report, Source,
};
use ctx_engine::parallel::{InTurn, PORTION, Work};
use ctx_engine::summarize::Summing;
use ctx_engine::{Invalid, Notes, PassError, Time};
use ctx_format::{Dialect, FixedFile, Message, counted};
use ctx_memory::{
    DailyEntry, Extractor, MemoryFolder, MemoryItem, append_summary, reconcile, summary_path,
};
use ctx_policy::trigger::Step;
use ctx_store::{
    Addition, Figures, MinIdle, NewContent, ReplaceOutcome, Replacement, SessionId, SnapshotKind,
    Store, StoreError, hash,
};
use ctx_summary::ledger::patterns::MemoryKind;
use serde::Serialize;
use serde_json::Value;

use self::offloading::Offloading;
use crate::passes;
use crate::store::{self, merge_failure, unchanged};

/// The name of the operation in the audit log.
const OPERATION: &str = "compact";

/// A session file, and everything needed to compact it.
#[derive(Clone, Copy)]
pub struct SessionFile<'a> {
    /// The user's options.
    pub options: &'a Options,
    /// The token counter, the model and other resources for the compaction.
    pub environment: &'a Environment,
    /// The store that receives the snapshots.
    pub store: &'a Store,
    /// The session's id in the store.
    pub session: &'a SessionId,
    /// The path of the file.
    pub path: &'a Path,
    /// The dialect, if the user named one.
    pub dialect: Option<&'static dyn Dialect>,
    /// How bad lines are treated.
    pub invalid: Invalid,
    /// The time of the file's last change, if it may be used as the time of the model's last call.
    pub last_change: Option<Time>,
    /// How long the file must have been unchanged before it may be replaced.
    pub min_idle: MinIdle,
}

/// The result of compacting a file.
#[derive(Debug, Default)]
pub struct FileReport {
    /// The report on the compaction.
    pub report: Report,
    /// The path of the old file, if another process still has it open.
    pub retained: Option<PathBuf>,
    /// User-edited memory files that an earlier run moved away before it was killed.
    pub edits: Vec<PathBuf>,
    /// The error, if any, from storing the summary or recording the compaction in the daily log.
    pub late_error: Option<StoreError>,
    /// In a preview, the reason why a real run would currently refuse the file.
    pub refused: Option<StoreError>,
    /// The errors from moving unreferenced offloaded files into the trash.
    pub not_deleted: Vec<StoreError>,
    /// The entries added to the memory files. The daily log lists them too.
    entries: Vec<String>,
}

impl SessionFile<'_> {
    /// Compacts the file, or previews the result. If the policy is disabled, the file is not
    /// opened.
    pub fn run(&self, notes: &mut Notes) -> Result<FileReport> {
        if self.options.dry_run || !self.options.policy.enabled {
            self.preview(notes)
        } else {
            self.compact(notes)
        }
    }

    /// Previews the result. Fails if a real run would fail. If a real run would currently refuse
    /// the file because an agent may be working, the report contains both the result and the
    /// refusal.
    fn preview(&self, notes: &mut Notes) -> Result<FileReport> {
        let would_act = self.options.policy.enabled;
        let look = ctx_store::SessionFile::open_replaceable(self.path).map_err(unchanged)?;
        if would_act {
            look.refuse_users().map_err(unchanged)?;
        }
        let file = look.file().map_err(unchanged)?;
        let report = self.forecast(file, notes).map_err(|error| self.failure(error))?;
        let is_idle = || look.refuse_unless_idle(self.store, self.session, self.min_idle);
        let refused = would_act.then(is_idle).and_then(Result::err);
        Ok(FileReport { report, refused, ..FileReport::default() })
    }

    fn forecast(&self, file: File, notes: &mut Notes) -> Result<Report, PassError> {
        let source = self.open(file.into(), notes)?;
        let offloading;
        let mut compaction = Compaction::survey(&source, Some(&self.name()), false, None)?;
        if !self.options.policy.enabled {
            compaction.report.end(Outcome::Disabled);
            return Ok(compaction.report);
        }
        match compaction.step()? {
            Step::None => compaction.report.end(Outcome::NotDue),
            Step::Flush => compaction.report.end(Outcome::Flushed),
            Step::Compact => {
                offloading = Offloading::of(self, &source.content, notes)?;
                compaction.offloaded(offloading.as_ref().map(Offloading::offloaded))?;
                if let Some(new) = compaction.build(true, None, notes)? {
                    source.new_file(new.content, &mut compaction.report, notes)?;
                }
            }
        }
        Ok(compaction.report)
    }

    fn compact(&self, notes: &mut Notes) -> Result<FileReport> {
        let failure = |error| self.failure(error);
        notes.watch.stage("reading the session");
        let (mut replacement, file) = self.claim()?;
        let source = self.open(file, notes).map_err(failure)?;
        let offloading;
        let mut flush = ItemReader::new(self.session);
        let compaction = Compaction::survey(&source, Some(&self.name()), true, Some(&mut flush));
        let mut compaction = compaction.map_err(failure)?;
        compaction.report.session = Some(self.session.to_string());
        let mut done = FileReport::default();
        match compaction.step().map_err(failure)? {
            Step::Compact if !self.is_given_up(&source, &compaction) => {}
            step => {
                self.leave(step, &mut compaction, &mut done)?;
                done.report = compaction.report;
                return Ok(done);
            }
        }
        if let Some(tally) = compaction.tally.take() {
            replacement.counted(tally);
        }
        offloading = Offloading::of(self, &source.content, notes).map_err(failure)?;
        let offloaded = offloading.as_ref().map(Offloading::offloaded);
        compaction.offloaded(offloaded).map_err(failure)?;
        notes.watch.stage("compacting");
        let mut memory = ItemReader::new(self.session);
        let new = compaction.build(true, Some(&mut memory), notes).map_err(failure)?;
        let mut items = if compaction.missed_flush() { flush.finish() } else { Vec::new() };
        let new = match new {
            Some(Compacted { content, summary }) => {
                let file = source.new_file(content, &mut compaction.report, notes);
                file.map_err(failure)?.map(|file| (file, summary))
            }
            None => None,
        };
        let Some((file, summary)) = new else {
            self.remember(&items, &mut done).map_err(merge_failure)?;
            self.record_failure(&mut compaction, &source, replacement)?;
            done.report = compaction.report;
            return Ok(done);
        };
        items.extend(memory.finish());
        done.report = compaction.report;
        notes.watch.stage("saving and replacing the file");
        self.replace(&source, file, &items, offloading.as_ref(), replacement, &mut done)?;
        let policy = &self.options.policy;
        if let (true, Some(summary)) = (policy.summary.cumulative, &summary) {
            let path = summary_path(self.store, self.session);
            done.report.summary_file = Some(path.display().to_string());
            // The compaction's audit record already contains the figures about the summary.
            let (messages, text) = (summary.messages, &summary.text);
            let figures = Figures::default();
            let appended = append_summary(self.store, self.session, messages, text, figures);
            if let Err(error) = appended {
                done.late_error = Some(error);
                return Ok(done);
            }
        }
        if policy.offload.delete_unreferenced {
            self.delete_unreferenced(offloaded, &mut done);
        }
        Ok(done)
    }

    /// Ends a run that does not compact the session and therefore leaves its file unchanged.
    fn leave(
        &self,
        step: Step,
        compaction: &mut Compaction<'_>,
        done: &mut FileReport,
    ) -> Result<()> {
        match step {
            Step::None => compaction.report.end(Outcome::NotDue),
            Step::Flush => {
                let mut reader = ItemReader::new(self.session);
                compaction.read_all(&mut reader).map_err(|error| self.failure(error))?;
                self.remember(&reader.finish(), done).map_err(merge_failure)?;
                compaction.report.end(Outcome::Flushed);
                // A flush stays due until the session is compacted, so a flush is logged only if it
                // adds entries.
                if !done.entries.is_empty() {
                    let entry = daily_entry(self.session, &compaction.report, &done.entries);
                    done.late_error = entry.log(self.store).err();
                }
            }
            Step::Compact => {
                compaction.report.end(Outcome::GivenUp);
                if self.options.only_if_due {
                    compaction.report.attention = Attention::None;
                }
            }
        }
        Ok(())
    }

    fn replace(
        &self,
        source: &Source<'_>,
        file: NewFile,
        items: &[MemoryItem],
        offloading: Option<&Offloading<'_>>,
        replacement: Replacement<'_>,
        done: &mut FileReport,
    ) -> Result<()> {
        let (operation, kind) = (OPERATION, SnapshotKind::PreCompact);
        let figures = figures(&done.report);
        let first = || {
            if let Some(offloading) = offloading {
                offloading.finish(self.path)?;
            }
            let merged = self.remember(items, done);
            merged.map_err(|error| store::leaves_session(merge_failure(error)))
        };
        let replaced = match file {
            NewFile::Appended(lines) => {
                let addition = Addition { lines: &lines, operation, kind, figures };
                replacement.append_after(addition, first)
            }
            NewFile::Whole(lines) => {
                let failure = |error| self.failure(error);
                let document = source.as_document(&lines).map_err(failure)?;
                // If other processes appended lines, the JSON document would be invalid.
                let content = document.as_ref().unwrap_or(&lines);
                let replacement =
                    if content.is_document { replacement.unless_it_grows() } else { replacement };
                let temporary = |error| self.failure(PassError::temporary(error));
                let sha256 = hash(&mut content.file().map_err(failure)?).map_err(temporary)?;
                let mut new = NewContent {
                    reader: &mut content.file().map_err(failure)?,
                    sha256: &sha256,
                    operation,
                    kind,
                    figures,
                };
                replacement.commit_after(&mut new, first)
            }
        };
        let replaced = replaced.map_err(store::failure)??;
        if let ReplaceOutcome::New { before, late_bytes, retained } = replaced {
            done.report.snapshot = Some(before.id.to_string());
            done.report.late_bytes = late_bytes;
            done.retained = retained;
            // If the daily log cannot be written, the compaction is still valid.
            let entry = daily_entry(self.session, &done.report, &done.entries);
            done.late_error = entry.log(self.store).err();
        }
        Ok(())
    }

    /// Claims the file for replacement, and opens its current content.
    fn claim(&self) -> Result<(Replacement<'_>, FixedFile)> {
        let claimed = self.store.begin_replacement(self.path, self.session, self.min_idle);
        let replacement = claimed.map_err(unchanged)?;
        let file = replacement.bytes().map_err(unchanged)?;
        Ok((replacement, file))
    }

    fn open(&self, file: FixedFile, notes: &mut Notes) -> Result<Source<'_>, PassError> {
        let watch = notes.watch.clone();
        let mut content = Content::open(file, self.dialect, self.invalid, watch)?;
        content.last_change = self.last_change;
        Source::open(self.options, self.environment, content, notes)
    }

    /// Merges items into the store's memory files.
    fn remember(
        &self,
        items: &[MemoryItem],
        done: &mut FileReport,
    ) -> Result<(), ctx_memory::MergeError> {
        let merged = MemoryFolder::of_store(self.store).merge(items)?;
        done.edits.extend(merged.edits);
        done.entries.extend(merged.entries);
        Ok(())
    }

    /// Returns the path as messages name it.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn failure(&self, error: PassError) -> Failure {
        passes::failure(error, &self.name())
    }
}

/// Returns the daily log entry for a compaction or a flush.
fn daily_entry(session: &SessionId, report: &Report, entries: &[String]) -> DailyEntry {
    let mut what = if report.outcome == Outcome::Flushed {
        "written into the memory files, session unchanged".to_owned()
    } else {
        format!(
            "compacted {} → {}, {} → {}; summary: {}",
            report.tokens_before,
            counted(report.tokens_after, "token"),
            report.messages_before,
            counted(report.messages_after, "message"),
            report.summing.method
        )
    };
    if let Some(id) = &report.snapshot {
        what += "; the previous content is snapshot ";
        what += id;
    }
    DailyEntry { session: Some(session.to_string()), what, items: entries.to_vec() }
}

/// The keys of a report that go into the audit log. Their values are numbers and fixed words, and
/// contain no text from the session.
const AUDITED: &str = "outcome success triggers tokens_before tokens_after ratio target_tokens window \
    calibrated_after messages_before messages_after method fell_back model_calls model_tokens_in model_tokens_out \
    model_ms duration_ms survived";

/// Returns the figures about a compaction for the audit log.
pub fn figures(report: &Report) -> Figures {
    let preset = report.known_preset.map(|name| ("preset".to_owned(), name.into()));
    let told = entries(report).filter(|(key, _)| AUDITED.split(' ').any(|it| it == key));
    preset.into_iter().chain(told).collect()
}

/// Returns the figures about a summary for the audit log.
pub fn figures_of_summary(summing: Summing, duration_ms: u64) -> Figures {
    entries(&summing).chain([("duration_ms".to_owned(), duration_ms.into())]).collect()
}

fn entries(told: &impl Serialize) -> impl Iterator<Item = (String, Value)> {
    let told = serde_json::to_value(told).expect("a report is an object");
    told.as_object().cloned().unwrap_or_default().into_iter()
}

/// Extracts memory items from a session's messages, in a separate thread if one can be started.
struct ItemReader(InTurn<Extraction>);

type Entry = (Message<'static>, u64, Option<NaiveDate>);

/// The number of messages that the extraction thread receives at a time, because waking a thread
/// takes as long as reading many short messages.
const MESSAGES: usize = 16;

/// The maximum number of distinct items that are kept for one session. If a session has more items,
/// half of the items are dropped: first the oldest items about tool calls and errors, and then the
/// oldest items of other kinds.
const MOST_ITEMS: usize = 1 << 15;

struct Items {
    extractor: Extractor,
    list: Vec<MemoryItem>,
    /// The hashes of the items in `list`. Repeated items are skipped, because a long session
    /// repeats most of its calls, but a memory file contains each text only once.
    known: HashSet<u64>,
}

impl Items {
    fn new(session: &str) -> Self {
        let extractor = Extractor::new(session, &MemoryKind::ALL);
        Self { extractor, list: Vec::new(), known: HashSet::new() }
    }

    fn read(&mut self, message: &Message<'_>, line: u64, date: Option<NaiveDate>) {
        let mut found = self.extractor.read(message, line, date);
        found.retain(|item| self.known.insert(hash_of(item)));
        self.list.append(&mut found);
        if self.list.len() > MOST_ITEMS {
            self.forget_half();
        }
    }

    fn forget_half(&mut self) {
        let mut half = MOST_ITEMS / 2;
        self.list.retain(|item| {
            let goes = half > 0 && item.kind == MemoryKind::Runtime;
            half -= usize::from(goes);
            !goes
        });
        self.list.drain(..half);
        self.known = self.list.iter().map(hash_of).collect();
    }
}

fn hash_of(item: &MemoryItem) -> u64 {
    ctx_text::hash(&(item.kind, item.role, &item.text))
}

struct Extraction;

impl Work for Extraction {
    type Item = Entry;
    type Done = ();
    type State = Option<Items>;

    fn work(&self, _: &[Entry]) {}

    fn absorb(&self, items: &mut Option<Items>, portion: &[Entry], (): ()) {
        let Some(items) = items else { return };
        for (message, line, date) in portion {
            items.read(message, *line, *date);
        }
    }
}

impl ItemReader {
    fn new(session: &SessionId) -> Self {
        Self(InTurn::behind(Extraction, Some(Items::new(&session.to_string()))))
    }

    /// Returns the items from all messages read.
    fn finish(self) -> Vec<MemoryItem> {
        reconcile(self.0.finish().map_or_else(Vec::new, |items| items.list))
    }
}

impl MessageReader for ItemReader {
    fn read(&mut self, message: Message<'_>, line: u64, date: Option<NaiveDate>) {
        self.0.push((message.into_owned(), line, date), PORTION / MESSAGES);
    }
}
