//! The flow on a session file: claim, plan, save, replace.

use std::fs::File;
use std::path::Path;

use ctx_cli::{ExitStatus, Failure, Io};
use ctx_select::trigger::Step;
use ctx_store::{
    Kind, NewContent, Removed, Replaced, Replacement, SessionId, Store, StoreError, Survived,
    Unnamed, hash,
};

use super::forecast::Forecast;
use super::ladder::{Candidate, Climb, Climbed};
use super::outcome::{Outcome, Report};
use super::plan::{Plan, Rung};
use super::prepare::Stores;
use super::score::{Scoring, survived};
use super::stages::{Measured, Source, again};
use super::strikes;
use crate::store::{failure, warn_retained};
use crate::tagged::cannot_spool;
use crate::tools::extract;
use crate::tools::score::rounded;

/// One session and what is to become of it.
pub(super) struct Job<'a> {
    pub(super) plan: &'a Plan,
    pub(super) source: Source,
    pub(super) before: Measured,
    pub(super) report: Report,
}

impl<'a> Job<'a> {
    /// Measures a session, whose bytes are `input`.
    pub(super) fn of(plan: &'a Plan, name: &str, input: &File) -> Result<Self, Failure> {
        let source = Source::of(name, input, plan.dialect, plan.invalid)?;
        let mut before = source.measure(input, &plan.counting.counter)?;
        before.size.overflow = plan.overflow;
        let report = Report {
            file: name.to_owned(),
            session: None,
            preset: plan.policy.name.clone(),
            outcome: Outcome::NothingToDo,
            success: true,
            dry_run: plan.dry_run,
            due: Vec::new(),
            previous_tokens: before.size.tokens,
            current_tokens: before.size.tokens,
            freed_tokens: 0,
            target_tokens: plan.target,
            previous_messages: before.size.messages,
            current_messages: before.size.messages,
            preserved_count: None,
            first_kept_index: None,
            summary: None,
            summary_mends: None,
            plan: None,
            attempts: Vec::new(),
            snapshot: None,
            fidelity: None,
            survived: Survived::new(),
            late_bytes: 0,
            deleted_files: None,
        };
        Ok(Self {
            plan,
            source,
            before,
            report,
        })
    }

    /// Whether anything is to be done, by the triggers.
    pub(super) fn step(&mut self) -> Step {
        let due = self.plan.triggers.check(&self.before.size);
        self.report.due = due
            .fired()
            .map(|reading| reading.trigger.to_string())
            .collect();
        if let Some(asked) = &self.plan.budget {
            if self.before.size.tokens > asked.tokens {
                self.report.due.push("budget".to_owned());
                return Step::Compact;
            }
            if !self.plan.only_if_due && !self.plan.force {
                return Step::None;
            }
        }
        if self.plan.only_if_due {
            due.step
        } else {
            Step::Compact
        }
    }

    /// Whether as many attempts as the policy allows were in vain.
    fn is_given_up(&self, store: &Store, session: &SessionId) -> Result<bool, Failure> {
        let most = self.plan.policy.target.max_attempts;
        strikes::given_up(store, session, &self.before, self.plan.target, most)
    }

    /// Makes the new content and tells of it in the report.
    pub(super) fn build(
        &mut self,
        input: &File,
        stores: Stores<'_>,
        io: &mut Io,
    ) -> Result<Option<Candidate>, Failure> {
        let climb = Climb {
            plan: self.plan,
            source: &self.source,
            before: &self.before,
            stores,
            due: !self.report.due.is_empty(),
        };
        let Climbed { result, attempts } = climb.climb(input, io)?;
        let report = &mut self.report;
        report.attempts = attempts;
        match result {
            Err(outcome) => {
                report.end(outcome);
                Ok(None)
            }
            Ok(candidate) => {
                let size = &candidate.measured.size;
                report.end(Outcome::Compacted);
                if let (true, Some(tagged)) = (self.plan.dry_run, &candidate.tagged) {
                    let source = &self.source;
                    report.plan =
                        Some(Forecast::of(self.plan, source, &candidate, tagged, stores)?);
                }
                report.current_tokens = size.tokens;
                report.freed_tokens = report.previous_tokens - size.tokens;
                report.current_messages = size.messages;
                report.preserved_count = candidate.kept;
                report.first_kept_index = candidate.first_kept;
                if let Some(said) = &candidate.said {
                    report.summary = Some(said.text.clone());
                    report.summary_mends = (said.mends > 0).then_some(said.mends);
                }
                Ok(Some(candidate))
            }
        }
    }
}

/// Compacts a session file in place.
pub(super) fn compact(
    plan: &Plan,
    path: &Path,
    session: Option<&SessionId>,
    open_store: &dyn Fn() -> Result<Store, Failure>,
    io: &mut Io,
) -> Result<Report, Failure> {
    let name = path.display().to_string();
    let store = open_store()?;
    let session = match session {
        Some(session) => session.clone(),
        None => SessionId::of_file(path).map_err(failure)?,
    };
    if plan.dry_run || !plan.policy.enabled {
        return preview(plan, path, &name, Stores::Of(&store, &session, path), io);
    }
    let claimed = store.begin_replacement(path, &session);
    let replacement = claimed.map_err(|error| unchanged(failure(error)))?;
    let input = replacement.bytes().map_err(failure)?;
    let mut job = Job::of(plan, &name, &input)?;
    job.source.refuse_document()?;
    job.report.session = Some(session.to_string());
    match job.step() {
        Step::None => job.report.end(Outcome::NotDue),
        Step::Flush => {
            flush(&job, &input, &session, open_store)?;
            job.report.end(Outcome::Flushed);
        }
        Step::Compact if !plan.force && job.is_given_up(&store, &session)? => {
            job.report.end(Outcome::GivenUp);
        }
        Step::Compact => replace(
            &mut job,
            path,
            &store,
            replacement,
            &session,
            open_store,
            io,
        )?,
    }
    Ok(job.report)
}

/// What would be done; the store is not touched.
fn preview(
    plan: &Plan,
    path: &Path,
    name: &str,
    stores: Stores<'_>,
    io: &mut Io,
) -> Result<Report, Failure> {
    let file = File::open(path).map_err(|error| {
        Failure::new(format_args!("cannot read: {error}"))
            .at(name, None)
            .hint("check the path")
    })?;
    let mut job = Job::of(plan, name, &file)?;
    job.source.refuse_document()?;
    if !plan.policy.enabled {
        job.report.end(Outcome::Disabled);
        return Ok(job.report);
    }
    match job.step() {
        Step::None => job.report.end(Outcome::NotDue),
        Step::Flush => job.report.end(Outcome::Flushed),
        Step::Compact => {
            job.build(&file, stores, io)?;
        }
    }
    Ok(job.report)
}

fn replace(
    job: &mut Job<'_>,
    path: &Path,
    store: &Store,
    replacement: Replacement<'_>,
    session: &SessionId,
    open_store: &dyn Fn() -> Result<Store, Failure>,
    io: &mut Io,
) -> Result<(), Failure> {
    let input = replacement.bytes().map_err(failure)?;
    let stores = Stores::Of(store, session, path);
    let scoring = Scoring::of(&job.source, &input, job.plan.score);
    let (candidate, ledger) = scoring.beside(|| job.build(&input, stores, io));
    let Some(candidate) = candidate? else {
        if job.report.outcome != Outcome::NothingToDo {
            strikes::add(replacement, &job.before, job.plan.target)?;
        }
        return Ok(());
    };
    if let (true, Some(tagged)) = (job.plan.policy.summary.extract, &candidate.tagged) {
        let items = job.source.extract(tagged, session)?;
        extract::into_memory(open_store()?, &items).map_err(unchanged)?;
    }
    if let Some(score) = ledger.and_then(|ledger| scoring.score(ledger, &candidate.file)) {
        job.report.fidelity = Some(rounded(score.fidelity()));
        job.report.survived = survived(&score);
    }
    let sha256 = hash(&mut again(&candidate.file)?).map_err(|error| cannot_spool(&error))?;
    let mut reader = again(&candidate.file)?;
    let mut new = NewContent {
        reader: &mut reader,
        sha256: &sha256,
        operation: "compact",
        kind: Kind::PreCompact,
        survived: job.report.survived.clone(),
    };
    let replaced = replacement.commit(&mut new).map_err(failure)?;
    if let Replaced::New {
        before,
        late_bytes,
        retained,
    } = replaced
    {
        job.report.snapshot = Some(before.id.to_string());
        job.report.late_bytes = late_bytes;
        if let Some(retained) = retained {
            warn_retained(&retained, io);
        }
    }
    if let (true, Some(said)) = (job.plan.policy.summary.cumulative, &candidate.said) {
        store
            .append_summary(session, said.messages, &said.text)
            .map_err(|error| failure(error).status(ExitStatus::Uncertain))?;
    }
    if job.plan.policy.offload.delete_unreferenced {
        let deleted = delete_unreferenced(store, session, &candidate.taken.offloaded);
        let (deleted, failed) = match deleted {
            Ok(removed) => (removed.items.len(), removed.failed),
            Err(error) => (0, vec![error]),
        };
        for error in failed {
            io.warn(format_args!("{}: not deleted: {error}", path.display()));
        }
        job.report.deleted_files = Some(deleted);
    }
    Ok(())
}

/// Moves those of these files to the trash that no transcript of the session names:
/// what was in them is summed up now, and the snapshot has the results themselves.
fn delete_unreferenced(
    store: &Store,
    session: &SessionId,
    offloaded: &[String],
) -> Result<Removed, StoreError> {
    if offloaded.is_empty() {
        return Ok(Removed::default());
    }
    let now = store.now();
    let Unnamed::Files(mut files) = store.unnamed(session, now)? else {
        return Ok(Removed::default());
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

/// Saves what the part that a compaction would take away holds for memory.
fn flush(
    job: &Job<'_>,
    input: &File,
    session: &SessionId,
    open_store: &dyn Fn() -> Result<Store, Failure>,
) -> Result<(), Failure> {
    let keep = job.plan.split(Rung::Policy, &job.before);
    let (tagged, _) = job.source.split(&keep, input)?;
    let items = job.source.extract(&tagged, session)?;
    extract::into_memory(open_store()?, &items)
}
