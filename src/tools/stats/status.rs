//! The status of one session: its window, the triggers, what was done to it.

use std::collections::BTreeSet;
use std::path::Path;

use chrono::SecondsFormat;
use ctx_cli::{Failure, Input, input_name, is_stdin, json_name, labelled, percent};
use ctx_passes::ErrorKind;
use ctx_passes::check::{CheckPass, Plan, Report, ToldDue};
use ctx_select::trigger::{Due, Reading, Step, Trigger, Triggers};
use ctx_store::{Event, Meta, SessionId, Store, StoreError};
use serde::Serialize;

use crate::counting::Counting;
use crate::passes;
use crate::session::ReadArgs;
use crate::store::failure;

/// What there is to tell of a session.
pub(super) struct Status {
    /// As the user named it.
    pub(super) name: String,
    report: Report,
    due: Due,
    /// How often it was compacted.
    pub(super) compactions: u64,
    newest: Option<Event>,
    snapshot: Option<Meta>,
}

/// The same for programs.
#[derive(Serialize)]
pub(super) struct Told<'a> {
    #[serde(flatten)]
    due: ToldDue<'a>,
    share: Option<f64>,
    compaction_count: u64,
    last_compaction: Option<String>,
    last_snapshot: Option<&'a str>,
    last_snapshot_time: Option<String>,
}

/// Reads a session, and what the store knows of it.
pub(super) fn of(
    path: &Path,
    store: &Store,
    triggers: &Triggers,
    overflow: bool,
    counting: &Counting,
) -> Result<Status, Failure> {
    let mut report = check(path, counting)?;
    report.size.overflow = overflow;
    let window = triggers.with_model(report.size.window).window();
    report.size.window = Some(window);
    let due = triggers.check(&report.size);
    let (snapshot, events) = if is_stdin(path) {
        (None, Vec::new())
    } else {
        known(path, store).map_err(failure)?
    };
    let is_compaction = |event: &&Event| event.op == "compact" && event.phase == "done";
    let compactions = || events.iter().filter(is_compaction);
    Ok(Status {
        name: input_name(path),
        report,
        due,
        compactions: compactions().count() as u64,
        newest: compactions().next().cloned(),
        snapshot,
    })
}

fn check(path: &Path, counting: &Counting) -> Result<Report, Failure> {
    let plan = Plan {
        counter: Some(counting.counter),
        calibrate: true,
        ..Plan::default()
    };
    let mut session = ReadArgs::default().session(Input::open(path)?)?;
    let mut pass = CheckPass::new(&plan, session.dialect());
    session.pass(|record| {
        pass.push(record);
        Ok(())
    })?;
    let report = session.checked(pass);
    match report.unknown {
        None => Ok(report),
        Some(line) => {
            let unknown = ErrorKind::NoMessage { batch: false }.at(line);
            Err(passes::failure(unknown, &session.name))
        }
    }
}

/// The newest snapshot of a file, and what was done to its session, the newest first.
fn known(path: &Path, store: &Store) -> Result<(Option<Meta>, Vec<Event>), StoreError> {
    let entries = match store.catalog_of_file(path) {
        Ok(found) => found.catalog.entries,
        Err(StoreError::NoSnapshotOf(_) | StoreError::SeveralSessions { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let newest = entries.iter().filter_map(|entry| entry.meta.as_ref().ok());
    let newest = newest.max_by_key(|meta| meta.sequence).cloned();
    let mut sessions: BTreeSet<SessionId> = entries
        .iter()
        .map(|entry| entry.id.session.clone())
        .collect();
    sessions.insert(SessionId::of_file(path)?);
    Ok((newest, store.history(&sessions)?))
}

impl Status {
    /// Tokens of its context.
    pub(super) fn tokens(&self) -> u64 {
        self.report.size.context()
    }

    /// Tokens of its window.
    pub(super) fn window(&self) -> u64 {
        self.report.size.window.unwrap_or_default()
    }

    /// The former divided by the latter.
    pub(super) fn share(&self) -> Option<f64> {
        ctx_passes::stats::share(self.tokens(), self.window())
    }

    /// Whether a compaction is due.
    pub(super) fn is_due(&self) -> bool {
        self.due.step == Step::Compact
    }

    /// For programs.
    pub(super) fn told(&self) -> Told<'_> {
        let time = |time: &chrono::DateTime<chrono::Utc>| {
            time.to_rfc3339_opts(SecondsFormat::AutoSi, true)
        };
        let snapshot = self.snapshot.as_ref();
        Told {
            due: self.report.told_due(json_name(&self.name), &self.due),
            share: self.share(),
            compaction_count: self.compactions,
            last_compaction: self.newest.as_ref().map(|event| time(&event.time)),
            last_snapshot: snapshot.map(|meta| meta.id.as_str()),
            last_snapshot_time: snapshot.map(|meta| time(&meta.created)),
        }
    }

    /// For people.
    pub(super) fn text(&self) -> String {
        let (tokens, window) = (self.tokens(), self.window());
        let due = match self.due.step {
            Step::None => "no",
            Step::Flush => "no, but a flush is",
            Step::Compact => "yes",
        };
        let used = format!("{tokens} of {window} tokens ({})", percent(tokens, window));
        let mut rows = vec![("window", used), ("due", due.to_owned())];
        rows.extend(self.due.readings.iter().map(row));
        rows.push(("compactions", self.compactions.to_string()));
        if let Some(event) = &self.newest {
            rows.push(("last one", compaction(event)));
        }
        let snapshot = self.snapshot.as_ref();
        let snapshot = snapshot.map_or_else(|| "none".to_owned(), |meta| meta.id.clone());
        rows.push(("last snapshot", snapshot));
        format!("{}\n{}", ctx_cli::printable(&self.name), labelled(&rows))
    }
}

/// `share of the window  30282 of 102400 (29.6%)`
fn row(reading: &Reading) -> (&'static str, String) {
    let what = match reading.trigger {
        Trigger::Messages => "trigger messages",
        Trigger::Tokens => "trigger tokens",
        Trigger::Share => "trigger share",
        Trigger::Reserve => "trigger reserve",
        Trigger::ToolBytes => "trigger tool-bytes",
        Trigger::Turns => "trigger turns",
        Trigger::Overflow => "trigger overflow",
    };
    let (value, limit) = (reading.value, reading.limit);
    if reading.trigger == Trigger::Overflow {
        return (what, "reported".to_owned());
    }
    (
        what,
        format!("{value} of {limit} ({})", percent(value, limit)),
    )
}

fn compaction(event: &Event) -> String {
    let time = event.time.to_rfc3339_opts(SecondsFormat::Secs, true);
    match (event.tokens_before, event.tokens_after) {
        (Some(before), Some(after)) => format!("{before} → {after} tokens, {time}"),
        _ => time,
    }
}
