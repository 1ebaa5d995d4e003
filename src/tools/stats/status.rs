//! The status of one session: how full its window is, its triggers, and its history.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};
use ctx_cli::{Input, Result, is_stdin, json_object, printable};
use ctx_engine::check::{Plan, Report};
use ctx_policy::trigger::{Due, Step, Triggers};
use ctx_store::{Catalog, Entry, Event, Meta, SessionId, Store, StoreError};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use crate::args::Counting;
use crate::json;
use crate::session::ReadArgs;
use crate::store::failure;
use crate::template::filled;

/// The status of a session.
pub(super) struct Status {
    /// The name of the session, as given by the user.
    pub(super) name: String,
    report: Report,
    /// True if the window is set by a flag or known from a model or the session; false if it is the
    /// default.
    pub(super) window_is_known: bool,
    /// The values and limits of the triggers.
    pub(super) due: Due,
    /// How often the session has been compacted.
    pub(super) compactions: u64,
    newest: Option<Event>,
    /// Whether the session was rolled back after its newest compaction.
    undone: bool,
    snapshot: Option<Meta>,
}

/// A session's snapshots and events in the store.
#[derive(Default)]
pub(super) struct StoredHistory {
    /// The session's snapshots.
    pub(super) entries: Vec<Entry>,
    /// The session's events, newest first.
    pub(super) events: Vec<Event>,
}

/// The store, the triggers and the counter used to examine a session.
#[derive(Clone, Copy)]
pub(super) struct StatusRequest<'a> {
    pub(super) store: &'a Store,
    pub(super) triggers: Triggers,
    /// True if the model rejected the session as too long.
    pub(super) overflow: bool,
    pub(super) counting: Counting,
}

/// Returns the status of a session, including its history in the store.
pub(super) fn of(path: &Path, request: StatusRequest<'_>) -> Result<Status> {
    let status = Status::read(Input::open(path)?, request)?;
    Ok(status.knowing(&StoredHistory::of_file(path, request.store)?))
}

impl StoredHistory {
    /// Returns the history of a file. For stdin, the history is empty.
    pub(super) fn of_file(path: &Path, store: &Store) -> Result<Self> {
        if is_stdin(path) {
            return Ok(Self::default());
        }
        let mut catalog = match store.catalog_of_file(path) {
            Ok(found) => found.catalog,
            Err(StoreError::NoSnapshotOf(_) | StoreError::SeveralSessions { .. }) => {
                Catalog::default()
            }
            Err(error) => return Err(failure(error)),
        };
        let own = SessionId::of_file(path).map_err(failure)?;
        let mut known = Self::of(catalog.entries.clone(), own, store)?;
        catalog.prefer_events(path, &mut known.events).map_err(failure)?;
        catalog.prefer(path).map_err(failure)?;
        Ok(Self { entries: catalog.entries, ..known })
    }

    /// Returns the history of a session. `entries` are the session's snapshots, and `own` is the
    /// session's id.
    pub(super) fn of(entries: Vec<Entry>, own: SessionId, store: &Store) -> Result<Self> {
        let sessions = entries.iter().map(|entry| entry.id.session.clone());
        let sessions: BTreeSet<SessionId> = sessions.chain([own]).collect();
        let events = store.history(&sessions).map_err(failure)?;
        Ok(Self { entries, events })
    }
}

impl Status {
    /// Reads a session and returns its status, without the history.
    pub(super) fn read(input: Input, request: StatusRequest<'_>) -> Result<Self> {
        let name = input.name.clone();
        let counter = Some(request.counting.counter);
        let plan = Plan { counter, calibrate: true, ..Plan::default() };
        let mut report = ReadArgs::default().session(input)?.check(&plan, true)?;
        report.size.overflow = request.overflow;
        let triggers = request.triggers.with_model(report.size.window);
        report.size.window = Some(triggers.window());
        Ok(Self {
            name,
            due: triggers.check(&report.size),
            window_is_known: triggers.window.is_some(),
            report,
            compactions: 0,
            newest: None,
            undone: false,
            snapshot: None,
        })
    }

    /// Adds the history to the status.
    pub(super) fn knowing(mut self, known: &StoredHistory) -> Self {
        let is_compaction = |event: &&Event| event.op == "compact" && event.phase == "done";
        let compactions = || known.events.iter().filter(is_compaction);
        let metas = known.entries.iter().filter_map(|entry| entry.meta.as_ref().ok());
        self.snapshot = metas.max_by_key(|meta| meta.sequence).cloned();
        self.compactions = compactions().count() as u64;
        self.newest = compactions().next().cloned();
        let later = known.events.iter().take_while(|event| !is_compaction(event));
        let is_rollback = |event: &Event| event.op == "rollback" && event.phase == "done";
        // A second rollback undoes the first.
        let rollbacks = later.filter(|event| is_rollback(event)).count();
        self.undone = self.newest.is_some() && rollbacks % 2 == 1;
        self
    }

    /// Returns the size of the context in tokens.
    pub(super) fn tokens(&self) -> u64 {
        self.report.size.context()
    }

    /// Returns the size of the window in tokens.
    pub(super) fn window(&self) -> u64 {
        self.report.size.window.unwrap_or_default()
    }

    /// Returns the share of the window that the context takes up.
    pub(super) fn share(&self) -> Option<f64> {
        ctx_metrics::share(self.tokens(), self.window())
    }

    /// Returns true if a compaction is due.
    pub(super) fn is_due(&self) -> bool {
        self.due.step == Step::Compact
    }

    /// Returns the status for `--json`.
    pub(super) fn report(&self) -> impl Serialize {
        let time = |time: &DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::AutoSi, true);
        let snapshot = self.snapshot.as_ref();
        json_object! {
            #[serde(flatten)]
            due: json::due(&self.name, &self.report.size, &self.due),
            share: self.share(),
            compaction_count: self.compactions,
            last_compaction: self.newest.as_ref().map(|event| time(&event.time)),
            last_snapshot: snapshot.map(|meta| meta.id.as_str()),
            last_snapshot_time: snapshot.map(|meta| time(&meta.created)),
        }
    }

    /// Returns the status as text for human readers.
    pub(super) fn text(&self) -> String {
        let values = context! {
            name => &self.name,
            tokens => self.tokens(),
            assumed => !self.window_is_known,
            report => Value::from(Serde(&self.report())),
            newest => self.newest.as_ref().map(compaction),
            undone => self.undone,
        };
        filled(include_str!("status.txt"), printable, values)
    }
}

fn compaction(event: &Event) -> String {
    let time = event.time.to_rfc3339_opts(SecondsFormat::Secs, true);
    match (event.tokens_before, event.tokens_after) {
        (Some(before), Some(after)) => format!("{before} → {after} tokens, {time}"),
        _ => time,
    }
}
