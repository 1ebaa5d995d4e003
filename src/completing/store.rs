//! Completes names in the store that the command line names. It does not create the store, and
//! offers nothing if the store cannot be read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use chrono::Utc;
use clap_complete::engine::CompletionCandidate;
use ctx_cli::{Typed, short_time};
use ctx_format::counted;
use ctx_store::{Actor, SnapshotId, Store};

/// `latest` and the ids of the snapshots, newest first; with a session on the line, only its own.
pub(super) fn snapshots(line: &Typed) -> Vec<CompletionCandidate> {
    let session = line.value_of("session", Some('s'));
    let mut ids = ids(line);
    if let Some(session) = session.as_deref().and_then(|it| it.to_str()) {
        ids.retain(|id| id.session.as_str() == session);
    }
    ids.sort_by_key(|id| std::cmp::Reverse(id.stamp));
    let latest = ids.first().map(|_| {
        let what = "the newest one that was not taken for an undo";
        CompletionCandidate::new("latest").help(Some(what.into()))
    });
    let snapshot = |id: &SnapshotId| {
        let time = id.stamp.time;
        let taken = format!("{} UTC, {}", time.format("%Y-%m-%d %H:%M"), ago(id));
        CompletionCandidate::new(id.to_string()).help(Some(taken.into()))
    };
    latest.into_iter().chain(ids.iter().map(snapshot)).collect()
}

/// The sessions that the store has snapshots of.
pub(super) fn sessions(line: &Typed) -> Vec<CompletionCandidate> {
    let mut sessions: BTreeMap<String, (u64, SnapshotId)> = BTreeMap::new();
    for id in ids(line) {
        let known = sessions.entry(id.session.to_string());
        let (count, newest) = known.or_insert_with(|| (0, id.clone()));
        *count += 1;
        if id.stamp > newest.stamp {
            *newest = id;
        }
    }
    let session = |(name, (count, newest)): (String, (u64, SnapshotId))| {
        let what = format!("{}, the newest {}", counted(count, "snapshot"), ago(&newest));
        CompletionCandidate::new(name).help(Some(what.into()))
    };
    sessions.into_iter().map(session).collect()
}

fn ago(id: &SnapshotId) -> String {
    let age = (Utc::now() - id.stamp.time).to_std().unwrap_or_default();
    format!("{} ago", short_time(age))
}

fn ids(line: &Typed) -> Vec<SnapshotId> {
    let typed = line.value_of("store", None).map(of_home);
    let usual = || Store::usual_root(|name| std::env::var_os(name));
    let variable = || std::env::var_os("CTX_HOME").map(PathBuf::from);
    let Some(root) = typed.or_else(variable).or_else(usual) else {
        return Vec::new();
    };
    // Completion changes nothing, so it logs nothing.
    let actor = Actor { tool: String::new(), flags: Vec::new() };
    let store = Store::open(&root, actor, Box::new(Utc::now));
    let ids = store.and_then(|store| store.snapshot_ids());
    ids.unwrap_or_default()
}

/// Expands a leading `~` as the shell will do.
fn of_home(typed: OsString) -> PathBuf {
    let path = PathBuf::from(typed);
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path,
    }
}
