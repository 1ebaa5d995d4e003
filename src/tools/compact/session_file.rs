//! The flow on a session file: claim, plan, save, replace.

use std::fs::File;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io};
use ctx_ledger::score::{Score, rounded};
use ctx_memory::{Item, MemoryFolder};
use ctx_passes::PassError;
use ctx_passes::compact::{
    Compacted, Content, First, Job, Offloading, Outcome, Plan, Report, Stores, score,
};
use ctx_select::trigger::Step;
use ctx_store::{
    NewContent, RemovalReport, ReplaceOutcome, Replacement, SessionId, SnapshotKind, Standing,
    Store, StoreError, Survived, hash,
};

use super::strikes;
use crate::cache::last_change;
use crate::passes;
use crate::store::{failure, merge_failure, session_of, warn_retained};

/// A longer session is not scored unasked, and a longer result not at all: its text is
/// searched in memory.
const MOST_SCORED: u64 = 64 << 20;

/// One session file.
pub(super) struct SessionFile<'a> {
    pub(super) plan: &'a Plan,
    pub(super) path: &'a Path,
    pub(super) name: String,
    pub(super) dialect: Option<&'static dyn ctx_transcript::Dialect>,
    pub(super) invalid: ctx_passes::Invalid,
    pub(super) open_store: &'a dyn Fn() -> Result<Store, Failure>,
}

impl SessionFile<'_> {
    /// Compacts it in place.
    pub(super) fn compact(
        &self,
        session: Option<&SessionId>,
        io: &mut Io,
    ) -> Result<Report, Failure> {
        let plan = self.plan;
        let store = (self.open_store)()?;
        let session = session_of(session, self.path)?;
        if plan.dry_run || !plan.policy.enabled {
            return self.preview(
                Stores {
                    store: &store,
                    session: &session,
                    path: self.path,
                },
                io,
            );
        }
        let claimed = store.begin_replacement(self.path, &session);
        let replacement = claimed.map_err(|error| unchanged(failure(error)))?;
        let content = self.content(replacement.bytes().map_err(failure)?)?;
        let scored = plan
            .score
            .map_or_else(|| Ok(content.length()? <= MOST_SCORED), Ok);
        let scored = scored.map_err(|error| self.failed(error))?;
        let first = First::of(plan, &content);
        let offloading;
        // Where it may not be due, its ledger is only read once it is.
        let reads = scored && !plan.only_if_due;
        let job = Job::of(plan, &content, &first, &self.name, reads);
        let mut job = job.map_err(|error| self.failed(error))?;
        job.report.session = Some(session.to_string());
        match job.step() {
            Step::None => job.end(Outcome::NotDue),
            Step::Flush => {
                let items = job.flushed(session.as_str());
                let items = items.map_err(|error| self.failed(error))?;
                self.remember(&items)?;
                job.end(Outcome::Flushed);
            }
            Step::Compact if !plan.force && self.is_given_up(&job, &store, &session)? => {
                job.end(Outcome::GivenUp);
            }
            Step::Compact => {
                let stores = Stores {
                    store: &store,
                    session: &session,
                    path: self.path,
                };
                offloading = Offloading::of(plan, &content, stores).map_err(|e| self.failed(e))?;
                let ledger = job.take_ledger();
                if let Some(offloading) = &offloading {
                    let told = job.offloaded(offloading);
                    told.map_err(|error| self.failed(error))?;
                }
                let new = self.build(&mut job, Some(&session), io)?;
                let Some(new) = new else {
                    if job.report.outcome != Outcome::NothingToDo {
                        strikes::add(replacement, job.size(), plan.target)?;
                    }
                    return Ok(job.report);
                };
                let report = &mut job.report;
                if scored && new.content.length().is_ok_and(|bytes| bytes <= MOST_SCORED) {
                    // A score that cannot be had hinders nothing.
                    if let Ok(score) = score(&content, ledger, &new.content) {
                        report.fidelity = Some(rounded(score.fidelity()));
                        report.survived = survived(&score);
                    }
                }
                let offloaded = offloading
                    .as_ref()
                    .map(|offloading| offloading.paths.as_slice())
                    .unwrap_or_default();
                self.replace(report, &new, offloaded, (&store, &session), replacement, io)?;
            }
        }
        Ok(job.report)
    }

    /// What would be done; the store is not touched.
    fn preview(&self, stores: Stores<'_>, io: &mut Io) -> Result<Report, Failure> {
        let plan = self.plan;
        let file = File::open(self.path).map_err(|error| {
            Failure::new(format_args!("cannot read: {error}"))
                .at(&self.name, None)
                .hint("check the path")
        })?;
        let content = self.content(file)?;
        let first = First::of(plan, &content);
        let offloading;
        let job = Job::of(plan, &content, &first, &self.name, false);
        let mut job = job.map_err(|error| self.failed(error))?;
        if !plan.policy.enabled {
            job.end(Outcome::Disabled);
            return Ok(job.report);
        }
        match job.step() {
            Step::None => job.end(Outcome::NotDue),
            Step::Flush => job.end(Outcome::Flushed),
            Step::Compact => {
                offloading = Offloading::of(plan, &content, stores).map_err(|e| self.failed(e))?;
                if let Some(offloading) = &offloading {
                    let told = job.offloaded(offloading);
                    told.map_err(|error| self.failed(error))?;
                }
                self.build(&mut job, Some(stores.session), io)?;
            }
        }
        Ok(job.report)
    }

    fn content(&self, file: File) -> Result<Content, Failure> {
        let content = Content::open(file, self.dialect, self.invalid);
        let mut content = content.map_err(|error| self.failed(error))?;
        if content.is_document() {
            return Err(Failure::new(
                "one JSON document, not lines: an agent could not read it any more",
            )
            .at(&self.name, None)
            .hint("as a filter it becomes lines: ctx-compact < FILE > session.jsonl"));
        }
        content.last_change = last_change(self.path);
        Ok(content)
    }

    /// Merges items into the memory of the store.
    fn remember(&self, items: &[Item]) -> Result<(), Failure> {
        let folder = MemoryFolder::of_store((self.open_store)()?);
        folder.merge(items).map(|_| ()).map_err(merge_failure)
    }

    fn failed(&self, error: PassError) -> Failure {
        passes::failure(error, &self.name)
    }

    fn build(
        &self,
        job: &mut Job<'_>,
        session: Option<&SessionId>,
        io: &mut Io,
    ) -> Result<Option<Compacted>, Failure> {
        let session = session.map(SessionId::as_str);
        let new = passes::telling(&self.name, io, |notes| job.build(session, notes));
        new.map_err(|error| self.failed(error))
    }

    /// Whether as many attempts as the policy allows were in vain.
    fn is_given_up(
        &self,
        job: &Job<'_>,
        store: &Store,
        session: &SessionId,
    ) -> Result<bool, Failure> {
        let most = self.plan.policy.target.max_attempts;
        strikes::given_up(store, session, job.size(), self.plan.target, most)
    }

    fn replace(
        &self,
        report: &mut Report,
        new: &Compacted,
        offloaded: &[String],
        (store, session): (&Store, &SessionId),
        replacement: Replacement<'_>,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let policy = &self.plan.policy;
        if policy.summary.extract && report.preserved_count.is_some() {
            self.remember(&new.items).map_err(unchanged)?;
        }
        let file = || new.content.file().map_err(|error| self.failed(error));
        let sha256 = hash(&mut file()?).map_err(PassError::temporary);
        let sha256 = sha256.map_err(|error| self.failed(error))?;
        let mut reader = file()?;
        let mut content = NewContent {
            reader: &mut reader,
            sha256: &sha256,
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            survived: report.survived.clone(),
        };
        if let ReplaceOutcome::New {
            before,
            late_bytes,
            retained,
        } = replacement.commit(&mut content).map_err(failure)?
        {
            report.snapshot = Some(before.id.to_string());
            report.late_bytes = late_bytes;
            if let Some(retained) = retained {
                warn_retained(&retained, io);
            }
        }
        if let (true, Some(summary)) = (policy.summary.cumulative, &new.summary) {
            store
                .append_summary(session, summary.messages, &summary.text)
                .map_err(|error| failure(error).status(ExitStatus::Uncertain))?;
        }
        if policy.offload.delete_unreferenced {
            let deleted = delete_unreferenced(store, session, offloaded);
            let (deleted, failed) = match deleted {
                Ok(removed) => (removed.items.len(), removed.failed),
                Err(error) => (0, vec![error]),
            };
            for error in failed {
                io.warn(format_args!("{}: not deleted: {error}", self.name));
            }
            report.deleted_files = Some(deleted);
        }
        Ok(())
    }
}

/// Moves those of these files to the trash that no transcript of the session names:
/// what was in them is summed up now, and the snapshot has the results themselves.
fn delete_unreferenced(
    store: &Store,
    session: &SessionId,
    offloaded: &[String],
) -> Result<RemovalReport, StoreError> {
    if offloaded.is_empty() {
        return Ok(RemovalReport::default());
    }
    let now = store.now();
    let mut files = match store.unreferenced(session, now) {
        Err(StoreError::Unsearchable(_)) => return Ok(RemovalReport::default()),
        files => files?,
    };
    let folder = store.offload_folder(session)?;
    files.retain(|file| offloaded.contains(&folder.path_of(&file.name)));
    store.discard_offloaded(&files, now)
}

/// A failure before the commit: whatever became of the store, the session is as it was.
fn unchanged(failure: Failure) -> Failure {
    match failure.exit_status() {
        ExitStatus::Uncertain | ExitStatus::Partial => failure.status(ExitStatus::Failed),
        _ => failure,
    }
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
