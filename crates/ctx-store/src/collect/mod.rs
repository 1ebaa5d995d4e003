//! Garbage collection. Deletes items from the trash once their grace period is over. Moves a
//! snapshot to the trash if no rule keeps it, and an offloaded file if no transcript refers to it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use ctx_format::counted;
use strum::{Display, IntoStaticStr};

use crate::collect::clock::ClockRecord;
use crate::error::{Result, Severity, StoreError};
use crate::retention::{Candidate, Policy, Reason, decide};
use crate::{
    Entry, PackReport, Packing, RemovalReport, SessionId, SessionLock, SnapshotId, Store,
    StoreItem, SweepReport,
};

pub(crate) mod clock;

/// The maximum number of sessions that are locked at the same time. Each lock is an open file, and
/// a process may have only a limited number of open files.
const SESSIONS_AT_ONCE: usize = 100;

/// The scope and the rules of a collection.
#[derive(Clone, Copy, Debug)]
pub struct CollectPlan<'a> {
    /// Collects only this session, but empties the trash for all sessions. `None` means all
    /// sessions.
    pub session: Option<&'a SessionId>,
    /// The rules that decide which snapshots stay.
    pub policy: &'a Policy,
    /// Items moved to the trash at or before this time are deleted for good. Offloaded files used
    /// after this time, or within the last day, are kept.
    pub deadline: DateTime<Utc>,
    /// Whether to run the collection even if the clock seems to have jumped ahead.
    pub trust_clock: bool,
}

/// What the collection does with an item, and why.
#[derive(Clone, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Action {
    /// Keep the item for these reasons.
    Keep(Vec<Reason>),
    /// Move the item to the trash for this reason.
    #[strum(to_string = "remove")]
    Discard(Cause),
    /// Delete the item from the trash.
    Purge,
    /// Delete the item without moving it to the trash first, because the user asked to delete
    /// everything from its session.
    Delete,
    /// Keep the snapshot and pack its bytes.
    Pack(Packing),
}

impl Action {
    /// Returns the reasons to keep the item or to move it to the trash. The other actions have no
    /// reasons.
    pub fn reasons(&self) -> Vec<String> {
        match self {
            Self::Keep(reasons) => reasons.iter().map(Reason::to_string).collect(),
            Self::Discard(cause) => vec![cause.to_string()],
            Self::Purge | Self::Delete | Self::Pack(_) => Vec::new(),
        }
    }

    /// Returns the line for users, such as `removed ID: no rule keeps it`, or `would remove …` in a
    /// dry run.
    pub fn say(&self, item: &StoreItem, dry_run: bool) -> String {
        let name = <&str>::from(self);
        let verb = match self {
            Self::Keep(_) => name.to_owned(),
            _ if dry_run => format!("would {name}"),
            Self::Pack(_) => "packed".to_owned(),
            _ => name.to_owned() + "d",
        };
        let mut why = self.reasons();
        if let Self::Pack(Packing { bytes, packed_bytes }) = self {
            let size = counted(*bytes, "byte");
            why.extend([packed_bytes.map_or(size.clone(), |packed| format!("{size} in {packed}"))]);
        }
        let colon = if why.is_empty() { "" } else { ": " };
        format!("{verb} {item}{colon}{}", why.join(", "))
    }

    /// Returns whether the action removes the item.
    pub fn removes(&self) -> bool {
        !matches!(self, Self::Keep(_) | Self::Pack(_))
    }
}

/// The reason to move an item to the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
pub enum Cause {
    /// No retention rule keeps the snapshot.
    #[strum(to_string = "no rule keeps it")]
    NoRule,
    /// No retention rule keeps the snapshot. The snapshot is the newest of its session, so the
    /// session loses all its snapshots.
    #[strum(to_string = "no rule keeps it; it is the last snapshot of its session")]
    NoRuleAndLast,
    /// The run that wrote the snapshot's bytes was killed before it committed them.
    #[strum(to_string = "never committed")]
    NeverCommitted,
    /// No transcript refers to the offloaded file.
    #[strum(to_string = "no session refers to it")]
    Unreferenced,
}

/// An event during a collection.
#[derive(Debug)]
pub enum Event {
    /// An action was taken on an item or, in a dry run, would be taken.
    Done(Action, StoreItem),
    /// No rule keeps this snapshot, but it stays for now because another run is changing its
    /// session.
    Locked(SnapshotId),
    /// A process wrote to a session file after the file had been replaced. This snapshot contains
    /// the bytes that the process wrote.
    Late(SnapshotId),
    /// A process may still be writing to this file, although the file has been replaced.
    StillOpen(PathBuf),
    /// This session's offloaded files stay, because some of the transcripts that may refer to them
    /// cannot be searched.
    Unknown(SessionId, String),
    /// The clock is more than a day behind this time, which is the latest time recorded in the
    /// store. The grace period for the items moved to the trash begins at this time.
    SlowClock(DateTime<Utc>),
    /// A step of the collection failed, but the other steps were carried out.
    Failed(StoreError),
}

/// The snapshots to move to the trash, each with the reason.
type Doomed = BTreeMap<SnapshotId, Cause>;

/// Carries out a garbage collection, or only reports what it would do.
pub struct Collector<'a> {
    store: &'a Store,
    dry_run: bool,
    /// The collection's events so far. After a failure, the list tells the caller which actions
    /// were completed.
    pub events: Vec<Event>,
    /// The snapshots that the collection keeps.
    kept: Vec<Entry>,
    /// True if the disk was too full to write an audit record.
    pub unaudited: bool,
}

impl<'a> Collector<'a> {
    /// Creates a collector. If `dry_run` is set, the collector only reports what it would do.
    pub fn new(store: &'a Store, dry_run: bool) -> Self {
        Self { store, dry_run, events: Vec::new(), kept: Vec::new(), unaudited: false }
    }

    /// Whether anything has been removed, packed or saved so far.
    pub fn has_changed(&self) -> bool {
        let changes = |event: &Event| match event {
            Event::Done(action, _) => !self.dry_run && !matches!(action, Action::Keep(_)),
            Event::Late(_) => true,
            _ => false,
        };
        self.events.iter().any(changes)
    }

    /// Whether anything has been removed so far or, in a dry run, would have been removed by now.
    pub fn has_removed(&self) -> bool {
        self.events.iter().any(|event| matches!(event, Event::Done(action, _) if action.removes()))
    }

    /// Runs a collection. If the clock seems to have jumped ahead since the last collection,
    /// nothing is removed, and an error is returned if there was something to remove.
    pub fn collect(&mut self, plan: &CollectPlan<'_>) -> Result<()> {
        let (now, record) = (self.store.now(), self.store.record());
        let grace = self.store.grace_would_begin();
        let judged = record.judge(self.store.times()?, now, grace);
        let judged = if plan.trust_clock { record.trust(now, grace) } else { judged };
        if !self.dry_run {
            self.store.remember_visit(judged.record);
        }
        let Some(jump) = judged.jumped else { return self.collect_now(plan, &judged.record) };
        let mut preview = Self::new(self.store, true);
        preview.collect_now(plan, &judged.record)?;
        self.events = preview.events;
        if !self.has_removed() {
            return Ok(());
        }
        self.events.clear();
        Err(StoreError::ClockJumped { now, seen: jump.from, to: jump.to })
    }

    /// Runs a collection without checking the clock. Empties the trash first to free space on a
    /// full disk. If a step fails, the other steps are still carried out. An error is returned only
    /// if nothing was removed, or if the changes were made but, for example, not recorded in the
    /// audit log.
    fn collect_now(&mut self, plan: &CollectPlan<'_>, record: &ClockRecord) -> Result<()> {
        plan.policy.check()?;
        let may_purge = record.graces_end_at(plan.deadline, self.store.now());
        let purged = if may_purge { self.purge(Some(plan.deadline)) } else { Ok(()) };
        let open = self.sweep(plan.session);
        let snapshots = self.discard_snapshots(plan, &open);
        let offloaded = self.discard_offloaded(plan);
        let ended = [purged, snapshots, offloaded, self.warn_of_slow_clock()].into_iter();
        self.ended(ended.filter_map(Result::err).collect())
    }

    fn warn_of_slow_clock(&mut self) -> Result<()> {
        let is_discarded = |event: &Event| matches!(event, Event::Done(Action::Discard(_), _));
        if !self.dry_run && self.events.iter().any(is_discarded) {
            let begins = self.store.grace_begins()?;
            if begins - self.store.now() > TimeDelta::days(1) {
                self.events.push(Event::SlowClock(begins));
            }
        }
        Ok(())
    }

    fn ended(&mut self, mut errors: Vec<StoreError>) -> Result<()> {
        let is_done = |error: &StoreError| error.severity() == Severity::Uncertain;
        let has_removed = errors.iter().any(is_done) || self.has_removed();
        let mut failure = None;
        if !has_removed || errors.iter().all(is_done) {
            // Return an error if nothing was removed, or if every failed step had already made its
            // changes.
            failure = errors.pop();
        }
        self.events.extend(errors.into_iter().map(Event::Failed));
        failure.map_or(Ok(()), Err)
    }

    /// Deletes what this collection moved to the trash, for users who do not want a grace period.
    pub fn purge_removed(&mut self) -> Result<()> {
        if !self.dry_run {
            return self.purge(Some(self.store.now()));
        }
        let removed = self.events.iter().filter_map(|event| match event {
            Event::Done(Action::Discard(_), item) => Some(item.clone()),
            _ => None,
        });
        self.tell(&Action::Purge, removed.collect::<Vec<_>>());
        Ok(())
    }

    /// Deletes the items moved to the trash at or before `deadline`, or all items if `deadline` is
    /// `None`.
    pub fn purge(&mut self, deadline: Option<DateTime<Utc>>) -> Result<()> {
        self.act(&Action::Purge, |store| store.expired(deadline), |store| store.purge(deadline))
    }

    /// Packs the kept snapshots that were taken no later than `before`.
    pub fn pack(&mut self, before: DateTime<Utc>) {
        let entries = match self.store.unpacked(std::mem::take(&mut self.kept), before) {
            Ok(entries) => entries,
            Err(error) => return self.events.push(Event::Failed(error)),
        };
        let PackReport { packed, failed } =
            if self.dry_run { PackReport::planned(entries) } else { self.store.pack(&entries) };
        for (id, packing) in packed {
            self.tell(&Action::Pack(packing), [StoreItem::Snapshot(id)]);
        }
        self.events.extend(failed.into_iter().map(Event::Failed));
    }

    /// Deletes all of a session's snapshots and offloaded files.
    pub fn forget(&mut self, session: &SessionId) -> Result<()> {
        let would = |store: &Store| {
            let entries = store.catalog(Some(session))?.entries.into_iter();
            let snapshots = entries.map(|entry| StoreItem::Snapshot(entry.id));
            let files = store.offloaded_files(session)?.into_iter();
            Ok(snapshots.chain(files.map(StoreItem::Offloaded)).collect())
        };
        self.act(&Action::Delete, would, |store| store.forget(session))
    }

    /// Removes the replaced session files to which no process is writing any more. Returns the ids
    /// of the snapshots whose replaced files remain.
    fn sweep(&mut self, session: Option<&SessionId>) -> Vec<SnapshotId> {
        if self.dry_run {
            return Vec::new();
        }
        let swept = self.store.sweep_retained(session).unwrap_or_else(|error| {
            self.events.push(Event::Failed(error));
            SweepReport::default()
        });
        self.events.extend(swept.late.into_iter().map(Event::Late));
        let (open, paths): (Vec<_>, Vec<_>) = swept.busy.into_iter().unzip();
        self.events.extend(paths.into_iter().map(Event::StillOpen));
        open
    }

    /// Moves snapshots to the trash if no rule keeps them. `open` lists the snapshots whose
    /// replaced files may still be in use.
    fn discard_snapshots(&mut self, plan: &CollectPlan<'_>, open: &[SnapshotId]) -> Result<()> {
        let listed = self.store.now();
        let catalog = self.store.catalog(plan.session)?;
        // Report unreadable snapshots here: they are kept, so they do not appear among the removed
        // items.
        let unknown = catalog.entries.iter().filter_map(|entry| entry.trusted_meta().err());
        self.events.extend(unknown.map(Event::Failed));
        let open: BTreeSet<&SnapshotId> = open.iter().collect();
        let candidates = catalog.entries.iter().map(|entry| candidate(entry, &open));
        let candidates: Vec<Candidate> = candidates.collect();
        let verdicts = decide(&candidates, plan.policy, listed)?;
        // The catalog lists a session's snapshots in ascending order, so the map ends up with each
        // session's highest number.
        let numbers =
            catalog.entries.iter().map(|Entry { id, .. }| (id.session.clone(), id.stamp.sequence));
        let newest: BTreeMap<SessionId, u64> = numbers.collect();
        let mut locks: BTreeMap<SessionId, Option<SessionLock>> = BTreeMap::new();
        let mut doomed = Doomed::new();
        for (entry, reasons) in catalog.entries.into_iter().zip(verdicts) {
            let id = entry.id.clone();
            if !reasons.is_empty() {
                self.tell(&Action::Keep(reasons), [StoreItem::Snapshot(id)]);
                self.kept.push(entry);
                continue;
            }
            if !self.dry_run && !locks.contains_key(&id.session) {
                if locks.len() == SESSIONS_AT_ONCE {
                    self.discard(&std::mem::take(&mut doomed), listed)?;
                    locks.clear();
                }
                let lock = match self.store.lock_session(&id.session) {
                    Err(StoreError::Busy(_)) => None,
                    lock => Some(lock?),
                };
                locks.insert(id.session.clone(), lock);
            }
            // If another run is changing a session, leave its snapshots for the next collection.
            if let Some(None) = locks.get(&id.session) {
                self.events.push(Event::Locked(id));
                continue;
            }
            let is_last = newest.get(&id.session) == Some(&id.stamp.sequence);
            let cause = if is_last { Cause::NoRuleAndLast } else { Cause::NoRule };
            if self.dry_run {
                self.tell(&Action::Discard(cause), [StoreItem::Snapshot(id)]);
            } else {
                doomed.insert(id, cause);
            }
        }
        if self.dry_run {
            let items = catalog.uncommitted.into_iter().map(StoreItem::Snapshot);
            self.tell(&Action::Discard(Cause::NeverCommitted), items);
            return Ok(());
        }
        doomed.extend(catalog.uncommitted.into_iter().map(|id| (id, Cause::NeverCommitted)));
        self.discard(&doomed, listed)
    }

    fn discard(&mut self, doomed: &Doomed, listed: DateTime<Utc>) -> Result<()> {
        let is_uncommitted = |id: &SnapshotId| doomed[id] == Cause::NeverCommitted;
        let (uncommitted, committed): (Vec<_>, Vec<_>) =
            doomed.keys().cloned().partition(is_uncommitted);
        let removed = self.store.discard(&committed, &uncommitted, listed)?;
        self.tell_removed(removed, |item| match item {
            StoreItem::Snapshot(id) => Action::Discard(doomed[id]),
            StoreItem::Offloaded(_) => Action::Discard(Cause::Unreferenced),
        });
        Ok(())
    }

    fn discard_offloaded(&mut self, plan: &CollectPlan<'_>) -> Result<()> {
        let mut sessions = self.store.offload_sessions()?;
        sessions.retain(|session| plan.session.is_none_or(|wanted| wanted == session));
        let mut snapshots = None;
        let mut doomed = Vec::new();
        // Keep new files for a day, because no transcript refers to a result that another run has
        // only just offloaded.
        let deadline = plan.deadline.min(self.store.now() - TimeDelta::days(1));
        for session in sessions {
            match self.store.unreferenced_among(&mut snapshots, plan.session, &session, deadline) {
                Ok(files) => doomed.extend(files),
                Err(StoreError::Unsearchable(why)) => {
                    self.events.push(Event::Unknown(session, why));
                }
                Err(error) => self.events.push(Event::Failed(error)),
            }
        }
        let items = doomed.iter().cloned().map(StoreItem::Offloaded).collect();
        let discard = |store: &Store| store.discard_offloaded(&doomed, deadline);
        self.act(&Action::Discard(Cause::Unreferenced), |_| Ok(items), discard)
    }

    /// Carries out an action or, in a dry run, only lists the affected items.
    fn act(
        &mut self,
        action: &Action,
        would: impl FnOnce(&Store) -> Result<Vec<StoreItem>>,
        act: impl FnOnce(&Store) -> Result<RemovalReport>,
    ) -> Result<()> {
        if self.dry_run {
            self.tell(action, would(self.store)?);
        } else {
            self.tell_removed(act(self.store)?, |_| action.clone());
        }
        Ok(())
    }

    fn tell(&mut self, action: &Action, items: impl IntoIterator<Item = StoreItem>) {
        self.events.extend(items.into_iter().map(|item| Event::Done(action.clone(), item)));
    }

    fn tell_removed(&mut self, removed: RemovalReport, action: impl Fn(&StoreItem) -> Action) {
        self.unaudited |= removed.unaudited;
        self.events.extend(removed.failed.into_iter().map(Event::Failed));
        self.events.extend(removed.items.into_iter().map(|item| Event::Done(action(&item), item)));
    }
}

pub(crate) fn candidate(entry: &Entry, open: &BTreeSet<&SnapshotId>) -> Candidate {
    let protected = match &entry.meta {
        Err(_) => Some(Reason::Unreadable),
        Ok(meta) if meta.held => Some(Reason::Held),
        Ok(_) => open.contains(&entry.id).then_some(Reason::InUse),
    };
    Candidate {
        session: entry.id.session.to_string(),
        sequence: entry.id.stamp.sequence,
        taken: entry.last_saved(),
        protected,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::TimeDelta;

    use super::{Action, Cause, CollectPlan, Collector, Event};
    use crate::retention::{Floor, Policy, Reason};
    use crate::tests::{Bench, id};
    use crate::{SessionId, Store, StoreError, StoreItem};

    static LAST: Policy = Policy {
        last: Some(1),
        periods: Vec::new(),
        within: None,
        days: None,
        floor: Floor::Always,
    };

    fn plan<'a>(store: &Store, session: Option<&'a SessionId>) -> CollectPlan<'a> {
        CollectPlan {
            session,
            policy: &LAST,
            deadline: store.now() - TimeDelta::days(7),
            // Trust the clock, because these tests advance it by days without a collection.
            trust_clock: true,
        }
    }

    /// Runs a collection and returns its events in a short form.
    fn collect(store: &Store, session: Option<&SessionId>, dry_run: bool) -> Vec<String> {
        let mut collector = Collector::new(store, dry_run);
        collector.collect(&plan(store, session)).expect("collects");
        assert!(!collector.unaudited);
        told(&collector)
    }

    fn told(collector: &Collector<'_>) -> Vec<String> {
        let event = |event: &Event| match event {
            Event::Done(action, item) => format!("{action:?} {item}"),
            Event::Locked(id) => format!("Locked {id}"),
            Event::Late(id) => format!("Late {id}"),
            Event::StillOpen(_) => "StillOpen".to_owned(),
            Event::SlowClock(_) => "SlowClock".to_owned(),
            Event::Unknown(session, why) => format!("Unknown {session}: {why}"),
            Event::Failed(error) => format!("Failed: {error}"),
        };
        collector.events.iter().map(event).collect()
    }

    #[test]
    fn a_dry_run_tells_what_a_run_then_does() {
        let bench = Bench::new();
        let [old, new] = [b"1\n", b"2\n"].map(|bytes| bench.take("demo", bytes));
        let [discard, keep] =
            [format!("Discard(NoRule) {old}"), format!("Keep([Newest, Last]) {new}")];
        let expected = [discard.clone(), keep.clone()];
        for _ in 0..2 {
            assert_eq!(collect(&bench.store, None, true), expected);
        }
        assert_eq!(collect(&bench.store, None, false), [keep.clone(), discard]);
        let kept = collect(&bench.store, None, false);
        assert_eq!(kept, std::slice::from_ref(&keep));
        bench.wait_days(7);
        let purge = format!("Purge {old}");
        for dry_run in [true, false] {
            assert_eq!(collect(&bench.store, None, dry_run), [purge.as_str(), keep.as_str()]);
        }
        assert_eq!(collect(&bench.store, None, false), [keep]);
    }

    #[test]
    fn bytes_without_a_commit_record_go() {
        let bench = Bench::new();
        let id = bench.take("demo", b"1\n");
        fs::remove_file(bench.store.meta_path(&id)).expect("removed");
        let expected = [format!("Discard(NeverCommitted) {id}")];
        assert_eq!(collect(&bench.store, None, true), expected);
        collect(&bench.store, None, false);
        assert!(!bench.store.data_path(&id).exists());
    }

    #[test]
    fn what_fails_does_not_hinder_the_rest() {
        let bench = Bench::new();
        let ids = [b"1\n", b"2\n"].map(|bytes| bench.take("demo", bytes));
        collect(&bench.store, None, false);
        bench.wait_days(8);
        bench.take("demo", b"3\n");
        let locks = bench.store.locks();
        fs::remove_dir_all(&locks).expect("removed");
        fs::write(&locks, "").expect("written");
        let told = collect(&bench.store, None, false);
        assert!(told.contains(&format!("Purge {}", ids[0])), "{told:?}");
        let failed = told.last().expect("an event");
        assert!(failed.starts_with("Failed: cannot open "), "{failed}");
        // In the second run, nothing can be removed, so the failure is returned as an error.
        let error = Collector::new(&bench.store, false).collect(&plan(&bench.store, None));
        assert!(matches!(error, Err(StoreError::Io { .. })), "{error:?}");
    }

    #[test]
    fn a_session_in_use_and_other_sessions_are_left_alone() {
        let bench = Bench::new();
        let old = bench.take("demo", b"1\n");
        let new = bench.take("demo", b"2\n");
        let other = bench.take("other", b"1\n");
        bench.take("other", b"2\n");
        let lock = bench.store.lock_session(&id("demo")).expect("a lock");
        let demo = id("demo");
        assert_eq!(
            collect(&bench.store, Some(&demo), false),
            [format!("Locked {old}"), format!("Keep([Newest, Last]) {new}")]
        );
        drop(lock);
        collect(&bench.store, Some(&demo), false);
        assert!(!bench.store.data_path(&old).exists());
        assert!(bench.store.data_path(&other).exists());
    }

    #[test]
    fn offloaded_files_go_when_nothing_names_them() {
        let bench = Bench::new();
        let live = bench.file("s.jsonl", "");
        let file = bench.offload("demo", "a result", &live);
        assert!(collect(&bench.store, None, false).is_empty(), "just used");
        bench.wait_days(8);
        fs::write(&live, file.name.to_string()).expect("written");
        assert!(collect(&bench.store, None, false).is_empty(), "named");
        fs::write(&live, "").expect("written");
        let expected = [format!("Discard(Unreferenced) {file}")];
        for dry_run in [true, false] {
            assert_eq!(collect(&bench.store, None, dry_run), expected);
        }
        assert!(!bench.store.offloaded_path(&file).exists());

        let file = bench.offload("demo", "another", &live);
        fs::remove_file(&live).expect("removed");
        // Advance the store's clock, because the file's last use was recorded with the machine's
        // clock.
        bench.wait_days(8);
        let told = collect(&bench.store, None, false);
        let unknown = told.last().expect("an event");
        assert!(unknown.starts_with("Unknown demo: "), "{unknown}");
        assert!(bench.store.offloaded_path(&file).exists());
    }

    #[test]
    fn trash_and_sessions_are_deleted_on_request() {
        let bench = Bench::new();
        let old = bench.take("demo", b"1\n");
        let new = bench.take("demo", b"2\n");
        let file = bench.offload("demo", "a result", &bench.file("s.jsonl", ""));
        let gone = |dry_run: bool, forget: bool| {
            let mut collector = Collector::new(&bench.store, dry_run);
            let done = if forget { collector.forget(&id("demo")) } else { collector.purge(None) };
            done.expect("deleted");
            told(&collector)
        };
        let all = [&old, &new].map(|id| format!("Delete {id}"));
        assert_eq!(gone(true, true)[..2], all);
        collect(&bench.store, None, false);
        for dry_run in [true, false] {
            assert_eq!(gone(dry_run, false), [format!("Purge {old}")]);
        }
        let rest = [format!("Delete {new}"), format!("Delete {file}")];
        for dry_run in [true, false] {
            assert_eq!(gone(dry_run, true), rest);
        }
        assert!(gone(false, true).is_empty());
    }

    #[test]
    fn a_dry_run_says_what_would_be_done() {
        let bench = Bench::new();
        let id = bench.take("demo", b"1\n");
        let item = StoreItem::Snapshot(id.clone());
        let discard = Action::Discard(Cause::NoRule);
        for (action, dry_run, expected) in [
            (&discard, false, format!("removed {id}: no rule keeps it")),
            (&discard, true, format!("would remove {id}: no rule keeps it")),
            (&Action::Purge, false, format!("purged {id}")),
            (&Action::Delete, true, format!("would delete {id}")),
            (&Action::Keep(vec![Reason::Held]), true, format!("keep {id}: held")),
        ] {
            assert_eq!(action.say(&item, dry_run), expected);
        }
    }
}
