//! A session file compacted in place: claimed, its bytes saved, replaced at one moment.

use std::fs::File;

use ctx_ledger::Ledger;
use ctx_ledger::score::{Score, rounded};
use ctx_memory::{Item, MemoryFolder};
use ctx_select::trigger::Step;
use ctx_store::{
    Addition, Facts, Figures, Look, MinIdle, NewContent, RemovalReport, ReplaceOutcome,
    Replacement, SnapshotKind, Standing, StoreError, StoreItem, Survived, hash,
};
use ctx_transcript::Dialect;

use super::content::Content;
use super::digest::digest;
use super::job::{Compacted, Job};
use super::linked::{Circumstances, Linked, Written, refuse_document};
use super::offloading::{Offloading, Stores};
use super::outcome::{Attention, Outcome, Report};
use super::plan::Plan;
use super::pruning::Rules;
use super::strikes;
use crate::Time;
use crate::error::unchanged;
use crate::{ErrorKind, Invalid, Notes, PassError, score};

/// What the audit log calls it.
const OPERATION: &str = "compact";

/// One session file.
pub struct SessionFile<'a> {
    /// What is to become of it.
    pub plan: &'a Plan,
    /// Where it lies, and where its snapshots do.
    pub stores: Stores<'a>,
    /// Its dialect, where somebody named it.
    pub dialect: Option<&'static dyn Dialect>,
    /// What happens to bad lines.
    pub invalid: Invalid,
    /// When it changed last, where that tells anything.
    pub last_change: Option<Time>,
    /// How long the file must have been left alone.
    pub min_idle: MinIdle,
}

impl SessionFile<'_> {
    /// Compacts the file, or says what would be done, as the plan says. A policy that is switched
    /// off asks nothing of the file.
    pub fn run(&self, notes: &mut Notes) -> Result<Report, PassError> {
        if self.plan.dry_run || !self.plan.policy.enabled {
            self.preview(notes)
        } else {
            self.compact(notes)
        }
    }

    /// What would be done with the file. What the real run would refuse is refused; where it would
    /// only for now, because an agent may be at work, what would be done is told with it.
    fn preview(&self, notes: &mut Notes) -> Result<Report, PassError> {
        let Stores {
            store,
            session,
            path,
        } = self.stores;
        let would_act = self.plan.policy.enabled;
        let look = Look::at(path).map_err(unchanged)?;
        if would_act {
            look.refuse_users().map_err(unchanged)?;
        }
        let log = self.content(look.file().map_err(unchanged)?, notes)?;
        let mut report = match Linked::of(&log, self.plan)? {
            Some(linked) => self
                .by(&linked.plan(self.plan, notes))
                .preview_of(&linked.lowered, notes),
            None => self.preview_of(&log, notes),
        }?;
        if would_act {
            let is_idle = look.refuse_unless_idle(store, session, self.min_idle);
            report.refused = is_idle.err();
        }
        Ok(report)
    }

    fn preview_of(&self, content: &Content, notes: &mut Notes) -> Result<Report, PassError> {
        let first = Rules::first(self.plan, content);
        let offloading;
        let mut job = Job::of(self.plan, content, &first, Some(&self.name()), false)?;
        if !self.plan.policy.enabled {
            job.report.end(Outcome::Disabled);
            return Ok(job.report);
        }
        match job.step()? {
            Step::None => job.report.end(Outcome::NotDue),
            Step::Flush => job.report.end(Outcome::Flushed),
            Step::Compact => {
                offloading = Offloading::of(self.plan, content, self.stores)?;
                job.offloaded(offloading.as_ref())?;
                job.build(Some(self.stores.session.as_str()), notes)?;
            }
        }
        Ok(job.report)
    }

    /// Compacts the file.
    fn compact(&self, notes: &mut Notes) -> Result<Report, PassError> {
        let Stores {
            store,
            session,
            path,
        } = self.stores;
        notes.watch().stage("reading the session");
        let claimed = store.begin_replacement(path, session, self.min_idle);
        let replacement = claimed.map_err(unchanged)?;
        let log = self.content(replacement.bytes()?, notes)?;
        match Linked::of(&log, self.plan)? {
            Some(linked) => {
                let plan = linked.plan(self.plan, notes);
                self.by(&plan)
                    .compact_claimed(&linked.lowered, Some(&linked), replacement, notes)
            }
            None => self.compact_claimed(&log, None, replacement, notes),
        }
    }

    /// The same file by another plan.
    fn by<'p>(&'p self, plan: &'p Plan) -> SessionFile<'p> {
        SessionFile { plan, ..*self }
    }

    fn compact_claimed(
        &self,
        content: &Content,
        linked: Option<&Linked<'_>>,
        replacement: Replacement<'_>,
        notes: &mut Notes,
    ) -> Result<Report, PassError> {
        let plan = self.plan;
        let Stores { store, session, .. } = self.stores;
        let scored = match plan.score {
            Some(scored) => scored,
            None => content.length()? <= score::MOST_SCORED_BYTES,
        };
        let first = Rules::first(plan, content);
        let offloading;
        // Where it may not be due, its ledger is only read once it is.
        let reads = scored && !plan.only_if_due;
        let mut job = Job::of(plan, content, &first, Some(&self.name()), reads)?;
        job.report.session = Some(session.to_string());
        match job.step()? {
            Step::None => job.report.end(Outcome::NotDue),
            Step::Flush => {
                let flushed = job.flushed(session.as_str())?;
                self.remember(&flushed, &mut job.report)?;
                job.report.end(Outcome::Flushed);
                // It comes again each time until the limit is reached: only what is new is told.
                if !job.report.entries.is_empty() {
                    self.log(&mut job.report);
                }
            }
            Step::Compact if !plan.force && strikes::given_up(self.stores, plan, job.size()) => {
                job.report.end(Outcome::GivenUp);
                if plan.only_if_due {
                    job.report.attention = Attention::None;
                }
            }
            Step::Compact => {
                // Above the limit the flush was missed.
                let mut flushed = Vec::new();
                if plan.triggers.flush_share.is_some() && plan.is_due(job.size()) {
                    flushed = job.flushed(session.as_str())?;
                }
                offloading = Offloading::of(plan, content, self.stores)?;
                let ledger = job.take_ledger();
                job.offloaded(offloading.as_ref())?;
                notes.watch().stage("compacting");
                let Some(mut new) = job.build(Some(session.as_str()), notes)? else {
                    self.remember(&flushed, &mut job.report)?;
                    let outcome = job.report.outcome;
                    if outcome.is_without_result() {
                        let facts = Facts {
                            session: Some(session.to_string()),
                            figures: job.report.figures(),
                            ..Facts::default()
                        };
                        store.failed(OPERATION, &facts).map_err(unchanged)?;
                    }
                    if outcome.is_without_result() && outcome != Outcome::SummaryFailed {
                        let added = strikes::add(replacement, job.size(), plan);
                        if added.map_err(unchanged)? {
                            job.report.attention = Attention::LastTime;
                        } else if plan.only_if_due {
                            // A job that runs every night says it once, the last time.
                            job.report.attention = Attention::None;
                        }
                    }
                    return Ok(job.report);
                };
                new.items.splice(0..0, flushed);
                let report = &mut job.report;
                notes.watch().stage("scoring what is left");
                if scored
                    && new
                        .content
                        .length()
                        .is_ok_and(|bytes| bytes <= score::MOST_SCORED_BYTES)
                {
                    // A score that cannot be had hinders nothing.
                    if let Ok(score) = score(content, ledger, &new.content) {
                        report.items_kept = Some(rounded(score.items_kept()));
                        report.survived = survived(&score);
                    }
                }
                let offloading = offloading.as_ref();
                notes.watch().stage("saving and replacing the file");
                let written = linked.map(|linked| {
                    let circumstances = Circumstances::of(plan, report);
                    linked.written(&new.content, &circumstances, notes)
                });
                let written = written.transpose()?;
                let source = linked.map_or(content, |linked| linked.log);
                self.replace(
                    report,
                    &new,
                    source,
                    written.as_ref(),
                    offloading,
                    replacement,
                )?;
            }
        }
        Ok(job.report)
    }

    pub(super) fn name(&self) -> String {
        self.stores.path.display().to_string()
    }

    fn content(&self, file: File, notes: &Notes) -> Result<Content, PassError> {
        let watch = notes.watch().clone();
        let mut content = Content::open_watched(file, self.dialect, self.invalid, watch)?;
        refuse_document(&content)?;
        content.last_change = self.last_change;
        Ok(content)
    }

    /// Merges items into the memory of the store.
    fn remember(&self, items: &[Item], report: &mut Report) -> Result<(), ErrorKind> {
        let merged = MemoryFolder::of_store(self.stores.store).merge(items)?;
        report.edits.extend(merged.edits);
        report.entries.extend(merged.entries);
        Ok(())
    }

    /// What was done is done, whether or not the log of the day tells of it.
    fn log(&self, report: &mut Report) {
        let digest = digest(self.stores.session, report);
        let logged = self.stores.store.log_digest(&digest);
        report.late_error = logged.err();
    }

    fn replace(
        &self,
        report: &mut Report,
        new: &Compacted,
        source: &Content,
        written: Option<&Written>,
        offloading: Option<&Offloading<'_>>,
        replacement: Replacement<'_>,
    ) -> Result<(), PassError> {
        let policy = &self.plan.policy;
        let Stores {
            store,
            session,
            path,
        } = self.stores;
        let (operation, kind) = (OPERATION, SnapshotKind::PreCompact);
        let figures = report.figures();
        let first = || {
            offloading.map_or(Ok(()), |it| it.finish(path))?;
            self.remember(&new.items, report).map_err(unchanged)
        };
        let replaced = if let Some(Written::Behind(lines)) = written {
            let addition = Addition {
                lines,
                operation,
                kind,
                figures,
            };
            replacement.append_after(addition, first)??
        } else {
            let lines = match written {
                Some(Written::Anew(content)) => content,
                _ => &new.content,
            };
            let document = source.framed(lines)?;
            // Behind a document nothing may follow.
            let replacement = match &document {
                Some(_) => replacement.unless_it_grows(),
                None => replacement,
            };
            let content = document.as_ref().unwrap_or(lines);
            let sha256 = hash(&mut content.file()?).map_err(PassError::temporary)?;
            let mut new = NewContent {
                reader: &mut content.file()?,
                sha256: &sha256,
                operation,
                kind,
                figures,
            };
            replacement.commit_after(&mut new, first)??
        };
        if let ReplaceOutcome::New {
            before,
            late_bytes,
            retained,
        } = replaced
        {
            report.snapshot = Some(before.id.to_string());
            report.late_bytes = late_bytes;
            report.retained = retained;
            self.log(report);
        }
        if let (true, Some(summary)) = (policy.summary.cumulative, &new.summary) {
            // Its figures are in the record of the compaction.
            let (messages, text) = (summary.messages, &summary.text);
            let appended = store.append_summary(session, messages, text, Figures::default());
            report.summary_file = Some(store.summary_path(session).display().to_string());
            if let Err(error) = appended {
                report.late_error = Some(error);
                return Ok(());
            }
        }
        if policy.offload.delete_unreferenced {
            let read = |path: &&String| !report.unreadable.contains(path);
            let offloaded = offloading.map_or(&[][..], |it| &it.paths);
            let summed_up: Vec<&String> = offloaded.iter().filter(read).collect();
            let deleted = delete_unreferenced(self.stores, &summed_up);
            let deleted = deleted.unwrap_or_else(|error| RemovalReport {
                failed: vec![error],
                ..RemovalReport::default()
            });
            let names = deleted.items.into_iter().filter_map(|item| match item {
                StoreItem::Offloaded(file) => Some(file.name.to_string()),
                StoreItem::Snapshot(_) => None,
            });
            report.deleted_files = Some(names.collect());
            report.not_deleted = deleted.failed;
        }
        Ok(())
    }
}

/// Moves those of these files to the trash that no transcript of the session names:
/// what was in them is summarized now, and the snapshot has the results themselves.
fn delete_unreferenced(
    stores: Stores<'_>,
    offloaded: &[&String],
) -> Result<RemovalReport, StoreError> {
    let Stores { store, session, .. } = stores;
    if offloaded.is_empty() {
        return Ok(RemovalReport::default());
    }
    let now = store.now();
    let mut files = match store.unreferenced(session, now) {
        Err(StoreError::Unsearchable(_)) => return Ok(RemovalReport::default()),
        files => files?,
    };
    let folder = store.offload_folder(session)?;
    files.retain(|file| offloaded.contains(&&folder.path_of(&file.name)));
    store.discard_offloaded(&files, now)
}

/// The figures for the audit log: how many, never what.
fn survived(score: &Score) -> Survived {
    let rows = score.rows().into_iter().filter(|row| row.total > 0);
    rows.map(|row| {
        let standing = Standing {
            retained: row.retained,
            recoverable: row.recoverable,
            lost: row.lost,
        };
        (row.class.as_str(), standing)
    })
    .collect()
}

/// Scores `new` against the session it was made from, whose ledger is read unless it is
/// given.
fn score(before: &Content, ledger: Option<Ledger>, new: &Content) -> Result<Score, PassError> {
    let ledger = match ledger {
        Some(ledger) => ledger,
        None => score::read_before(&mut before.session()?, None, None)?,
    };
    score::score(&ledger, &mut new.session()?, || before.session())
}
