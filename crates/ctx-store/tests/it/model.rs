//! Random operations in any order, compared with a simple model that knows which bytes must remain.
//!
//! The model knows nothing about files. The model holds the bytes of the live session, the bytes
//! that must be recoverable from a snapshot (even one in the trash), and the bytes that an undo
//! must restore. The environment variable `MODEL_CASES` sets the number of random histories.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use chrono::TimeDelta;
use ctx_store::SnapshotChoice;
use ctx_store::collect::{Action, CollectPlan, Collector, Event};
use ctx_store::retention::Policy;
use ctx_store::{
    Figures, MinIdle, NewContent, ReplaceOutcome, SnapshotKind, StoreError, StoreItem,
};
use proptest::prelude::*;

use crate::{Bench, all, session, undelete};

/// For how many days a removed snapshot can be restored.
const GRACE: i64 = 7;

#[derive(Clone, Debug)]
enum Step {
    /// The agent writes a line.
    Append(u8),
    Snapshot,
    /// A compaction that replaces the first half of the session with a summary.
    Compact,
    /// A compaction whose new content cannot be read to its end.
    FailedCompact,
    /// A compaction whose process is killed while it writes the new content.
    KilledCompact,
    /// A process is killed while it reads a session to save it.
    KilledSnapshot,
    /// A rollback to one of the snapshots, chosen by this number.
    Rollback(usize),
    Undo,
    /// A collection that keeps this many of the newest snapshots.
    Collect(u32),
    /// Packs snapshots that are at least this many days old.
    Pack(i64),
    /// Restores one of the snapshots in the trash, chosen by this number.
    Undelete(usize),
    /// This many days pass.
    Wait(i64),
    /// The clock is this many days behind until it is corrected.
    ClockBack(i64),
    ClockRight,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => any::<u8>().prop_map(Step::Append),
        3 => Just(Step::Snapshot),
        4 => Just(Step::Compact),
        1 => Just(Step::FailedCompact),
        1 => Just(Step::KilledCompact),
        1 => Just(Step::KilledSnapshot),
        2 => any::<usize>().prop_map(Step::Rollback),
        3 => Just(Step::Undo),
        3 => (1_u32..4).prop_map(Step::Collect),
        3 => (0_i64..3).prop_map(Step::Pack),
        2 => any::<usize>().prop_map(Step::Undelete),
        2 => (1_i64..10).prop_map(Step::Wait),
        1 => (1_i64..500).prop_map(Step::ClockBack),
        1 => Just(Step::ClockRight),
    ]
}

/// What the model knows about a snapshot.
struct Saved {
    bytes: Vec<u8>,
    /// The day on which the snapshot was moved to the trash; `None` if it was not.
    removed: Option<i64>,
}

struct Model {
    bench: Bench,
    path: PathBuf,
    live: Vec<u8>,
    /// All snapshots that were taken and have not been purged since, keyed by name.
    saved: BTreeMap<String, Saved>,
    /// The snapshot of the content before the last replacement.
    replaced: Option<String>,
    /// The number of days that have really passed, whatever the clock says.
    day: i64,
    /// How many days the clock is behind.
    behind: i64,
    summaries: u32,
}

impl Model {
    fn new() -> Self {
        let bench = Bench::new();
        let live = b"{\"n\":0}\n".to_vec();
        let path = bench.file("s.jsonl", &live);
        Self {
            bench,
            path,
            live,
            saved: BTreeMap::new(),
            replaced: None,
            day: 0,
            behind: 0,
            summaries: 0,
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Append(number) => {
                let line = format!("{{\"n\":{number}}}\n");
                let mut file = OpenOptions::new().append(true).open(&self.path).expect("opens");
                file.write_all(line.as_bytes()).expect("writes");
                self.live.extend(line.as_bytes());
            }
            Step::Snapshot => {
                let id = self.bench.save(&self.path, &session()).id;
                let bytes = self.live.clone();
                self.saved.insert(id.to_string(), Saved { bytes, removed: None });
            }
            Step::Compact => {
                let new = self.compacted();
                let outcome = replace(&self.bench.store, &self.path, &mut &new[..], &sha256(&new));
                self.replaced_by(&outcome.expect("replaces"), new);
            }
            Step::FailedCompact => {
                let new = self.compacted();
                let mut half = (&new[..new.len() / 2]).chain(Failing);
                replace(&self.bench.store, &self.path, &mut half, &sha256(&new))
                    .expect_err("it cannot be read");
            }
            Step::KilledCompact => self.kill("compact"),
            Step::KilledSnapshot => self.kill("snapshot"),
            Step::Rollback(which) => {
                let catalog = self.bench.store.catalog(None).expect("lists");
                let Some(entry) = pick(&catalog.entries, *which) else { return };
                let name = entry.id.to_string();
                self.restore(SnapshotChoice::Named(&name)).expect("restores");
            }
            Step::Undo => self.undo(),
            Step::Collect(last) => self.collect(*last),
            Step::Pack(days) => {
                let store = &self.bench.store;
                let before = store.now() - TimeDelta::days(*days);
                let packed = store.pack(&store.unpacked(all(store), before).expect("lists"));
                assert!(packed.failed.is_empty(), "{:?}", packed.failed);
                assert!(store.unpacked(all(store), before).expect("lists").is_empty());
            }
            Step::Undelete(which) => {
                let items = self.bench.store.expired(None).expect("lists");
                if let Some(item) = pick(&items, *which) {
                    undelete(&self.bench.store, item).expect("brings back");
                    if let Some(saved) = self.saved.get_mut(&item.to_string()) {
                        saved.removed = None;
                    }
                }
            }
            Step::Wait(days) => {
                self.day += days;
                self.bench.wait_days(*days);
            }
            Step::ClockBack(days) => {
                self.behind += days;
                self.bench.wait_days(-days);
            }
            Step::ClockRight => {
                self.bench.wait_days(self.behind);
                self.behind = 0;
            }
        }
    }

    /// Replaces the first half of the session with a summary, which is different each time.
    fn compacted(&mut self) -> Vec<u8> {
        self.summaries += 1;
        let lines: Vec<&[u8]> = self.live.split_inclusive(|byte| *byte == b'\n').collect();
        let summary = format!("{{\"summary\":{}}}\n", self.summaries);
        [summary.as_bytes(), &lines[lines.len() / 2..].concat()].concat()
    }

    fn replaced_by(&mut self, outcome: &ReplaceOutcome, new: Vec<u8>) {
        if let ReplaceOutcome::New { before, .. } = outcome {
            let name = before.id.to_string();
            let bytes = self.live.clone();
            self.replaced = Some(name.clone());
            let saved = Saved { bytes, removed: None };
            self.saved.insert(name, saved);
            self.live = new;
        }
    }

    fn restore(&mut self, wanted: SnapshotChoice<'_>) -> Result<(), StoreError> {
        let mut restore = self.bench.store.find_restore(&session(), wanted)?;
        let mut bytes = Vec::new();
        restore.content.read_to_end(&mut bytes).expect("reads");
        let mut restore = self.bench.store.find_restore(&session(), wanted)?;
        let outcome = restore.restore(&self.path, MinIdle::default())?;
        self.replaced_by(&outcome, bytes);
        Ok(())
    }

    /// An undo restores the content before the last replacement, as long as its snapshot exists.
    fn undo(&mut self) {
        let saved = self.replaced.as_ref().and_then(|name| self.saved.get(name));
        let saved = saved.filter(|saved| saved.removed.is_none() && saved.bytes != self.live);
        let wanted = saved.map(|saved| saved.bytes.clone());
        let (path, before) = (self.path.clone(), self.live.clone());
        let done = self.restore(SnapshotChoice::Undo(Some(&path)));
        if let Some(wanted) = wanted {
            done.expect("it can be undone");
            assert_eq!(self.live, wanted, "undo brought something else");
        } else if self.live != before {
            // The snapshot that the undo should restore has been collected, so the undo restores an
            // earlier one, but never anything else.
            let is_it = |saved: &Saved| saved.removed.is_none() && saved.bytes == self.live;
            assert!(self.saved.values().any(is_it), "undo brought what nobody saved");
        }
    }

    fn collect(&mut self, last: u32) {
        let store = &self.bench.store;
        let policy = Policy { last: Some(last), ..Policy::default() };
        let plan = CollectPlan {
            session: None,
            policy: &policy,
            deadline: store.now() - TimeDelta::days(GRACE),
            trust_clock: false,
        };
        let mut collector = Collector::new(store, false);
        // The collection may refuse to trust a clock that jumped.
        let _ = collector.collect(&plan);
        for event in &collector.events {
            let Event::Done(action, StoreItem::Snapshot(id)) = event else { continue };
            let name = id.to_string();
            match action {
                Action::Discard(_) => {
                    if let Some(saved) = self.saved.get_mut(&name) {
                        saved.removed = Some(self.day);
                    }
                }
                Action::Purge => {
                    // A killed run's leftovers do not belong to a snapshot.
                    let Some(saved) = self.saved.remove(&name) else { continue };
                    let removed = saved.removed.expect("only what is in the trash is purged");
                    assert!(self.day - removed >= GRACE, "{name} was purged within its grace");
                }
                Action::Keep(_) | Action::Delete | Action::Pack { .. } => {}
            }
        }
    }

    /// Runs a process that is killed halfway.
    fn kill(&self, what: &str) {
        let store = self.bench.path("store");
        let died = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "model::dies_in_the_middle", "--nocapture"])
            .env("MODEL_DIES", what)
            .env("MODEL_STORE", store)
            .env("MODEL_FILE", &self.path)
            .env("MODEL_MICROS", self.bench.micros.load(Ordering::SeqCst).to_string())
            .output()
            .expect("runs");
        assert!(!died.status.success(), "it lives on");
    }

    /// Checks what must be true after each step.
    fn check(&self) {
        let live = fs::read(&self.path).expect("there is always a whole file");
        assert_eq!(live, self.live, "the session");
        let store = &self.bench.store;
        let catalog = store.catalog(None).expect("lists");
        let mut whole = BTreeMap::new();
        for entry in &catalog.entries {
            let (mut file, _) = store.open_verified(entry).expect("no snapshot is damaged");
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).expect("reads");
            whole.insert(entry.id.to_string(), bytes);
        }
        let trash = store.expired(None).expect("lists");
        for (name, saved) in &self.saved {
            if saved.removed.is_none() {
                assert_eq!(whole.get(name), Some(&saved.bytes), "{name}");
            } else {
                assert!(trash.iter().any(|item| item.to_string() == *name), "{name}");
            }
        }
    }

    /// Everything in the trash comes back unchanged.
    fn empty_the_trash_back(&mut self) {
        for item in self.bench.store.expired(None).expect("lists") {
            if let Some(saved) = self.saved.get_mut(&item.to_string()) {
                undelete(&self.bench.store, &item).expect("brings back");
                saved.removed = None;
            }
        }
        self.check();
    }
}

fn pick<T>(of: &[T], which: usize) -> Option<&T> {
    of.get(which.checked_rem(of.len())?)
}

fn sha256(mut bytes: &[u8]) -> String {
    ctx_store::hash(&mut bytes).expect("from memory")
}

fn replace(
    store: &ctx_store::Store,
    path: &Path,
    reader: &mut dyn Read,
    sha256: &str,
) -> Result<ReplaceOutcome, StoreError> {
    let mut new = NewContent {
        reader,
        sha256,
        operation: "compact",
        kind: SnapshotKind::PreCompact,
        figures: Figures::default(),
    };
    store.replace(path, &session(), MinIdle::default(), &mut new)
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::other("the disk is gone"))
    }
}

struct Dying;

impl Read for Dying {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        std::process::abort()
    }
}

/// Not a test: this is the process that the model starts in order to kill it.
#[test]
fn dies_in_the_middle() {
    let Ok(what) = std::env::var("MODEL_DIES") else { return };
    let variable = |name: &str| std::env::var(name).expect(name);
    let micros = variable("MODEL_MICROS").parse::<i64>().expect("a number");
    let store = crate::open(Path::new(&variable("MODEL_STORE")), &micros_of(micros));
    let path = PathBuf::from(variable("MODEL_FILE"));
    let live = fs::read(&path).expect("reads");
    let mut dying = (&live[..live.len() / 2]).chain(Dying);
    match what.as_str() {
        "compact" => drop(replace(&store, &path, &mut dying, &sha256(&live[1..]))),
        _ => drop(store.draft(dying, &path)),
    }
}

fn micros_of(micros: i64) -> std::sync::Arc<std::sync::atomic::AtomicI64> {
    std::sync::Arc::new(std::sync::atomic::AtomicI64::new(micros))
}

fn cases() -> u32 {
    let set = std::env::var("MODEL_CASES").ok();
    set.map_or(32, |cases| cases.parse().expect("MODEL_CASES is a number"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn whatever_happens_nothing_is_lost(steps in prop::collection::vec(step(), 1..30)) {
        let mut model = Model::new();
        for step in &steps {
            model.take(step);
            model.check();
        }
        model.empty_the_trash_back();
    }
}

/// A collection runs while the clock is 7 days behind, and a snapshot is taken after the clock is
/// corrected. The snapshot's time has jumped as far as the next collection's, so it must not prove
/// that the clock is right.
#[test]
fn a_snapshot_after_a_jump_does_not_hide_it() {
    let mut model = Model::new();
    for step in [
        Step::ClockBack(7),
        Step::Snapshot,
        Step::Compact,
        Step::Rollback(0),
        Step::Snapshot,
        Step::Collect(1),
        Step::ClockRight,
        Step::Snapshot,
        Step::Collect(1),
    ] {
        model.take(&step);
        model.check();
    }
    model.empty_the_trash_back();
}

/// Two runs agree on the time a day after the jump. The grace period is a week.
#[test]
fn a_jump_that_is_believed_shortens_no_grace() {
    let mut model = Model::new();
    for step in [
        Step::ClockBack(6),
        Step::Snapshot,
        Step::Snapshot,
        Step::Collect(1),
        Step::ClockRight,
        Step::Collect(1),
        Step::Wait(1),
        Step::Collect(1),
    ] {
        model.take(&step);
        model.check();
    }
    model.empty_the_trash_back();
}
