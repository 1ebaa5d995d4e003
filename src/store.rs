//! Finds and opens the store, lists its trash, and converts its errors into messages for the user.

use std::cell::OnceCell;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, Utc};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use ctx_cli::{
    ExitStatus, Failure, IN_DIRECTORY, Io, Listing, Outcome, Result, Tool, cannot_read, is_stdin,
    json_line, json_object, printable, shell_word, short_bytes, short_time,
};
use ctx_format::Saved;
use ctx_memory::MergeError;
use ctx_policy::duration::FixedSpan;
use ctx_store::{
    Actor, MissingReason, MissingSnapshot, SessionId, Severity, SnapshotId, Store, StoreError,
    Trashed, When, each_block,
};

use crate::passes::known_hint;

/// The flag for all tools that use the store.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Keep snapshots and memory in DIR [default: ~/.local/state/ctx]
    ///
    /// The audit log is also kept in DIR. If `XDG_STATE_HOME` is set, the default is
    /// `$XDG_STATE_HOME/ctx`.
    #[arg(long, value_name = "DIR", env = "CTX_HOME", hide_env_values = true)]
    pub store: Option<PathBuf>,
}

impl StoreArgs {
    /// Opens the store for `tool`. The audit log records the names of the flags that the user
    /// typed.
    pub fn open(&self, tool: &Tool, matches: &ArgMatches) -> Result<Store> {
        let actor = Actor { tool: tool.name.to_owned(), flags: flags(tool, matches) };
        Store::open(&self.root()?, actor, Box::new(chrono::Utc::now)).map_err(failure)
    }

    /// Opens the default store for reading, if it exists.
    pub fn usual() -> Option<Store> {
        let named = std::env::var_os("CTX_HOME").filter(|dir| !dir.is_empty()).map(Into::into);
        Self { store: named }.to_read()
    }

    /// Opens the store for reading, if it exists. Nothing is logged.
    pub fn to_read(&self) -> Option<Store> {
        let actor = Actor { tool: String::new(), flags: Vec::new() };
        let root = self.root().ok().filter(|root| root.exists())?;
        Store::open(&root, actor, Box::new(Utc::now)).ok()
    }

    /// Returns a store that is opened only if the tool needs it.
    pub fn lazy<'a>(&'a self, tool: &'a Tool, matches: &'a ArgMatches) -> LazyStore<'a> {
        LazyStore { args: self, tool, matches, opened: OnceCell::new() }
    }

    /// Returns whether handles may promise that the original is saved. With `--store`, they may
    /// not, because `ctx-offload --show` without `--store` searches the default store.
    pub fn promise(&self, matches: &ArgMatches, is_saved: bool) -> Saved {
        let named = matches.value_source("store") == Some(ValueSource::CommandLine);
        if is_saved && !named { Saved::Yes } else { Saved::Perhaps }
    }

    /// Returns true if the store exists.
    pub fn exists(&self) -> bool {
        self.root().is_ok_and(|dir| dir.exists())
    }

    /// Returns the path of the store.
    fn root(&self) -> Result<PathBuf> {
        let usual = || Store::usual_root(|name| std::env::var_os(name));
        self.store.clone().or_else(usual).ok_or_else(|| {
            Failure::new("no place for the store: HOME is not set").hint("set --store")
        })
    }
}

/// A store that is opened on first use.
pub struct LazyStore<'a> {
    args: &'a StoreArgs,
    tool: &'a Tool,
    matches: &'a ArgMatches,
    opened: OnceCell<Store>,
}

impl LazyStore<'_> {
    /// Returns the store, opening it on the first call.
    pub fn get(&self) -> Result<&Store> {
        if let Some(store) = self.opened.get() {
            return Ok(store);
        }
        let store = self.args.open(self.tool, self.matches)?;
        Ok(self.opened.get_or_init(|| store))
    }
}

/// Returns the long names of the flags that the user typed.
fn flags(tool: &Tool, matches: &ArgMatches) -> Vec<String> {
    let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let command = (tool.command)();
    let given = command.get_arguments().filter(|arg| typed(arg.get_id().as_str()));
    given.filter_map(|arg| arg.get_long().map(str::to_owned)).collect()
}

/// The default value of `ctx-gc --grace-days`, also used when the trash is listed.
pub const GRACE_DAYS: u32 = 7;

/// Prints the items in the trash, most recently removed first.
pub fn list_trash(
    store: &Store,
    trashed: &[Trashed],
    grace: u32,
    json: bool,
    io: &mut Io,
) -> Outcome {
    let text = if json {
        trashed.iter().map(|it| trashed_json(it, grace)).collect()
    } else {
        trash_table(trashed, grace, store.now(), io.columns())
    };
    io.print(&text)?;
    Ok(ExitStatus::Done)
}

/// Returns the JSON line for an item in the trash: its whole commit record, or what is known without
/// one. Scripts rely on the keys: new keys may be added, but none may be removed.
fn trashed_json(it: &Trashed, grace: u32) -> String {
    let (id, session, kind) = (it.item.to_string(), it.item.session().as_str(), it.kind());
    json_line(&json_object! {
        #[serde(flatten)]
        meta: it.meta.as_ref(),
        #[serde(flatten)]
        bare: it.meta.is_none().then(|| json_object! { id, session, kind, bytes: it.bytes }),
        removed: it.removed,
        grace_ends: it.grace_ends(grace),
    })
}

fn trash_table(
    trashed: &[Trashed],
    grace: u32,
    now: DateTime<Utc>,
    columns: Option<usize>,
) -> String {
    if trashed.is_empty() {
        return String::new();
    }
    let mut listing = Listing::new("ID|>REMOVED|>GRACE|>SIZE|KIND|PATH");
    for it in trashed {
        let left = it.grace_ends(grace) - now;
        let source = it.meta.as_ref().and_then(|meta| meta.source.as_deref());
        listing.push([
            it.item.to_string(),
            short_time(since(it.removed, now)),
            left.to_std().map_or_else(|_| "over".to_owned(), short_time),
            short_bytes(it.bytes),
            it.kind().to_owned(),
            source.map_or_else(|| "-".to_owned(), printable),
        ]);
    }
    listing.for_stdout(columns)
}

/// Returns the time from `time` to `now`, or zero if `time` is in the future.
pub fn since(time: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    (now - time).to_std().unwrap_or_default()
}

/// Parses the date or time given as the value of `flag`, if there is one.
pub fn time_of(flag: &str, text: Option<&str>, store: &Store) -> Result<Option<When>> {
    let Some(text) = text else { return Ok(None) };
    When::parse(text, store.now()).map(Some).map_err(|error| {
        Failure::new(format_args!("--{flag}: {text:?} is not a time")).hint(error.to_string())
    })
}

/// Returns the session id that the user gave, or else the id in the file, or else an id made from
/// the file's name and path.
pub fn session_of(named: Option<&SessionId>, path: &Path) -> Result<SessionId> {
    match named {
        Some(session) => Ok(session.clone()),
        None if is_stdin(path) => {
            Err(Failure::new("a session from stdin has no name").hint("name it with -s ID"))
        }
        None => SessionId::of_file(path).map_err(failure),
    }
}

/// Converts an error from the store into a failure with a hint for the user.
#[allow(clippy::needless_pass_by_value)] // For `map_err`.
pub fn failure(error: StoreError) -> Failure {
    let failure = match &error {
        StoreError::Io { action, path, source } => {
            Failure::new(format_args!("cannot {action}: {source}"))
                .at(path.display().to_string(), None)
        }
        StoreError::OtherFile { path, .. } => {
            Failure::new(&error).at(path.display().to_string(), None)
        }
        _ => Failure::new(&error),
    };
    let failure = failure.status(match error.severity() {
        Severity::Failed => ExitStatus::Failed,
        Severity::Busy => ExitStatus::Busy,
        Severity::Uncertain => ExitStatus::Uncertain,
    });
    match error {
        StoreError::Io { action: "read", path, source }
            if source.kind() == io::ErrorKind::NotFound =>
        {
            cannot_read(&path.display().to_string(), &source)
        }
        StoreError::Refused { why: "is a directory", .. } => failure.hint(IN_DIRECTORY),
        StoreError::OtherFile { path, id, .. } => failure.hint(other_file_hint(&id, &path)),
        StoreError::NoSnapshot(missing) => failure.hint(snapshot_hint(&missing)),
        StoreError::NoSession { session, near, in_trash } => {
            failure.hint(session_hint(&session, &near, in_trash))
        }
        StoreError::NotIdle { min_idle, .. } => failure.hint(format!(
            "stop the agent and try again with --min-idle 0s, or wait until the file has not changed for {}",
            FixedSpan(min_idle)
        )),
        error => known_hint("store", (&error).into()).into_iter().fold(failure, Failure::hint),
    }
}

/// Returns the failure for a store error that occurred before the session was changed.
pub fn unchanged(error: StoreError) -> Failure {
    leaves_session(failure(error))
}

/// Marks a failure that left the session unchanged.
pub fn leaves_session(failure: Failure) -> Failure {
    match failure.status {
        ExitStatus::Uncertain => {
            failure.status(ExitStatus::Failed).hint("the session is unchanged")
        }
        ExitStatus::Partial => failure.status(ExitStatus::Failed),
        _ => failure,
    }
}

/// Returns the failure to report if items could not be merged into memory files.
pub fn merge_failure(error: MergeError) -> Failure {
    let failure = failure(error.source);
    if error.is_partial {
        failure.status(ExitStatus::Partial).hint("the other memory files were merged; try again")
    } else {
        failure
    }
}

/// Warns that another process may still have the replaced file open.
pub fn warn_retained(retained: &Path, io: &mut Io) {
    io.warn(format_args!(
        "another process may still write to the replaced file; it is kept as {} until ctx-gc finds it unused",
        retained.display()
    ));
}

/// Warns about user-edited memory files that an earlier run moved away before it was killed.
pub fn warn_edits(edits: &[PathBuf], io: &mut Io) {
    for edit in edits {
        io.warn(format_args!(
            "{} is an edited memory file that a killed run moved away; copy what is missing into the memory file, then remove this one",
            edit.display()
        ));
    }
}

/// Writes the bytes of a snapshot to stdout in large pieces, because a session may be a hundred
/// megabytes long.
pub fn copy_out(file: &mut impl Read, io: &mut Io) -> Result<()> {
    let cannot_read = |error| Failure::new(format_args!("cannot read the snapshot: {error}"));
    each_block(file, |read| read.map_err(cannot_read), |block| io.write(block)).map(drop)
}

const LIST_HINT: &str = "ctx-snapshot --list shows all snapshots";

/// Returns a hint about a missing snapshot: where the snapshot is, or which snapshots are similar.
fn snapshot_hint(missing: &MissingSnapshot) -> String {
    match &missing.reason {
        MissingReason::DayInDigits(day) => format!("to name a day, write {day}"),
        MissingReason::HashInDigits => format!("to name a hash, write sha256:{}", missing.wanted),
        MissingReason::Elsewhere(id) => {
            let session = SnapshotId::parse(id).map(|id| id.session.to_string());
            let session = session.unwrap_or_default();
            format!("ctx-snapshot -l FILE lists those of a file; add -s {session} to use that one")
        }
        MissingReason::InTrash(id) => {
            let number = SnapshotId::parse(id).map(|id| id.stamp.sequence.to_string());
            let wanted = number.unwrap_or_else(|| id.clone());
            format!("ctx-gc --undelete {wanted} restores it")
        }
        MissingReason::NotThatDay(around) if !around.is_empty() => {
            format!("the nearest are {}", around.join(" and "))
        }
        MissingReason::NoneBefore(Some(oldest)) => format!("the oldest is {oldest}"),
        MissingReason::Unknown if !missing.near.is_empty() => {
            let near = missing.near.iter().filter_map(|id| SnapshotId::parse(id));
            let near: Vec<_> = near.map(|id| format!("{:04}", id.stamp.sequence)).collect();
            let verb = if near.len() > 1 { "are" } else { "is" };
            format!("the nearest {verb} {}; {LIST_HINT}", near.join(" and "))
        }
        _ => LIST_HINT.to_owned(),
    }
}

/// Returns a hint with the session names that the user may have meant.
fn session_hint(session: &str, near: &[String], in_trash: bool) -> String {
    if in_trash {
        return format!("the snapshots are in the trash: ctx-snapshot --list --trash -s {session}");
    }
    match near {
        [] => LIST_HINT.to_owned(),
        near => format!("did you mean -s {}?", near.join(" or -s ")),
    }
}

/// Returns a hint with the command that restores a snapshot to a different path.
fn other_file_hint(id: &str, path: &Path) -> String {
    let path = shell_word(&path.display().to_string());
    let Some(id) = SnapshotId::parse(id) else {
        return format!("to restore the snapshot here: --to {path}");
    };
    let (session, number) = (&id.session, id.stamp.sequence);
    format!(
        "to restore the snapshot here: ctx-rollback -s {session} --snapshot {number} --to {path}"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ctx_store::{MissingReason, MissingSnapshot, SnapshotId, StoreItem, Trashed};

    use super::{other_file_hint, session_hint, snapshot_hint, trashed_json};

    /// Without a commit record, only the members that are known are printed.
    #[test]
    fn an_item_without_a_record_is_listed() {
        let id = SnapshotId::parse("demo-20261121T234307.123456Z-0001").expect("an id");
        let removed = id.stamp.time;
        let it = Trashed { item: StoreItem::Snapshot(id), removed, meta: None, bytes: 2 };
        let expected = r#"{"id":"demo-20261121T234307.123456Z-0001","session":"demo","kind":"uncommitted","bytes":2,"removed":"2026-11-21T23:43:07.123456Z","grace_ends":"2026-11-28T23:43:07.123456Z"}"#;
        assert_eq!(trashed_json(&it, 7).trim_end(), expected);
    }

    /// Each reason for a missing snapshot has its own hint.
    #[test]
    fn what_to_do_depends_on_where_it_is() {
        let id = |n: u32| format!("other-20261121T234307.123456Z-000{n}");
        for (reason, near, hint) in [
            (
                MissingReason::DayInDigits("2026-11-21".to_owned()),
                vec![],
                "to name a day, write 2026-11-21".to_owned(),
            ),
            (
                MissingReason::Elsewhere(id(2)),
                vec![id(1)],
                "ctx-snapshot -l FILE lists those of a file; add -s other to use that one"
                    .to_owned(),
            ),
            (MissingReason::InTrash(id(2)), vec![], "ctx-gc --undelete 2 restores it".to_owned()),
            (MissingReason::Unknown, vec![], "ctx-snapshot --list shows all snapshots".to_owned()),
        ] {
            let wanted = "2".to_owned();
            let missing = MissingSnapshot { wanted, reason, near };
            assert_eq!(snapshot_hint(&missing), hint);
        }
    }

    #[test]
    fn a_command_can_be_pasted() {
        assert_eq!(
            other_file_hint("a-b-20261121T234307.123456Z-0012", Path::new("my chat.jsonl")),
            "to restore the snapshot here: ctx-rollback -s a-b --snapshot 12 --to 'my chat.jsonl'"
        );
    }

    #[test]
    fn near_names_are_proposed_as_flags() {
        let near = ["demo".to_owned(), "demo-2".to_owned()];
        assert_eq!(session_hint("dmeo", &near, false), "did you mean -s demo or -s demo-2?");
    }
}
