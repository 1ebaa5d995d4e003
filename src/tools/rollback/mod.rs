//! `ctx-rollback`: restores the exact bytes of a snapshot.

use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, cannot_read, json_object, printable,
    shell_word,
};
use ctx_memory::{DailyEntry, tidy_logs};
use ctx_store::{
    Appended, Growth, Meta, ReplaceOutcome, Restore, SessionId, SnapshotChoice, Store, StoreError,
};
use serde::Serialize;

use crate::output::{IdleArgs, report_late};
use crate::session::file_of;
use crate::store::{StoreArgs, copy_out, failure, time_of};

/// The entry for `ctx-rollback` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-rollback", Args::command, run, include_str!("manual.toml"));

/// Restore a snapshot of a session, after saving the current content
///
/// The tool checks the snapshot against its hash, saves the current content as another snapshot,
/// and checks the restored file. --undo restores the saved content. ctx-snapshot -l FILE lists the
/// snapshots; ID is a number in that list, latest, or a time such as "1 hour ago".
///
/// Lines that were appended after the snapshot was taken are also removed, and the tool reports
/// them. Without -s, the tool uses the snapshots of the session whose id is in FILE, and all
/// snapshots that were taken of this path, even under other ids. If the file was moved, the tool
/// recognizes the session by the beginning of the file.
///
/// ID is one of these: an id or its unique beginning; a number (digits alone are always a number);
/// at least 6 digits of the sha256 (sha256:… if they contain no letter); a day on which a snapshot
/// was taken, such as 2026-11-15 or yesterday; a time, such as "2026-11-15 10:30" or "1 week ago",
/// for the snapshot that was the newest at that time; or "latest", the newest snapshot that was not
/// taken for an undo. Times are in UTC.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("which").args(["snapshot", "before", "undo"]))]
#[command(override_usage = "ctx-rollback [OPTIONS] ID FILE\n       \
    ctx-rollback [OPTIONS] --undo FILE\n       \
    ctx-rollback [OPTIONS] -s SESSION ID --to FILE")]
struct Args {
    /// The snapshot, and the session file to restore
    #[arg(value_name = "ID FILE", num_args = 0..=2)]
    operands: Vec<PathBuf>,
    /// Id of the session [default: the file's]
    ///
    /// The default is the id that an agent wrote into the file, or else an id made from the file's
    /// name and path.
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// Restore this snapshot: the same as ID
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
    /// Restore the newest snapshot that was taken before a day or time
    ///
    /// For example 2026-11-15, "2026-11-15 10:30", yesterday or "3 days ago". If TIME is a day, the
    /// tool uses the beginning of that day. Times are in UTC. As with "latest", snapshots that were
    /// taken for an undo are skipped.
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Restore the content that the last rollback or compaction replaced
    ///
    /// Runs that failed or were killed before they replaced the file are ignored. If the snapshot
    /// is damaged, nothing is restored; use --snapshot to select an older snapshot.
    #[arg(long)]
    undo: bool,
    /// Restore to this path instead of the snapshot's; - is stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print what was done as a JSON object
    ///
    /// docs/json.md lists all keys.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    idle: IdleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

impl Args {
    /// Returns the snapshot and the file given as operands or flags.
    fn operands(&self) -> Result<(Option<&str>, Option<&PathBuf>)> {
        let named = self.snapshot.as_deref();
        let is_chosen = named.is_some() || self.before.is_some() || self.undo;
        let word = |path: &PathBuf| shell_word(&path.display().to_string());
        let (what, hint) = match (self.operands.as_slice(), &self.to) {
            ([file, id], None)
                if !is_chosen
                    && !id.exists()
                    && (file.exists() || is_snapshot_name(id) && !is_snapshot_name(file)) =>
            {
                let swapped = format!("ctx-rollback {} {}", word(id), word(file));
                ("the snapshot must come first", swapped)
            }
            ([id, file], None) if !is_chosen => return Ok((Some(text_of(id)?), Some(file))),
            ([_, _], None) => {
                ("ID and a flag both name a snapshot", "leave out either ID or the flag".to_owned())
            }
            ([one], None) if is_chosen && !is_snapshot_name(one) => {
                return Ok((named, Some(one)));
            }
            ([one], Some(_)) if !is_chosen => return Ok((Some(text_of(one)?), None)),
            ([id], None) if is_snapshot_name(id) => (
                "no file is named",
                match &self.session {
                    Some(session) => format!("ctx-rollback -s {session} {} --to FILE", word(id)),
                    None => format!("ctx-rollback {} FILE", word(id)),
                },
            ),
            ([file], None) => (
                "no snapshot is named",
                format!(
                    "ctx-rollback --undo {0} undoes the last change, ctx-rollback latest {0} restores the newest that no rollback saved; ctx-snapshot -l {0} lists them",
                    word(file)
                ),
            ),
            ([_, ..], Some(_)) => {
                ("FILE and --to both name a file", "leave one of them out".to_owned())
            }
            ([], Some(_)) if is_chosen => return Ok((named, None)),
            _ => (
                "neither a snapshot nor a file is named",
                "ctx-rollback ID FILE, or ctx-rollback --undo FILE (ctx-rollback -h)".to_owned(),
            ),
        };
        Err(Failure::new(what).hint(hint))
    }
}

/// Returns the name of a snapshot as text.
fn text_of(id: &Path) -> Result<&str> {
    id.to_str().ok_or_else(|| Failure::new(format_args!("{} names no snapshot", id.display())))
}

/// Returns true if this is the name of a snapshot, and no file has this name.
fn is_snapshot_name(name: &Path) -> bool {
    let is_number = |name: &str| name.parse::<u64>().is_ok();
    name.to_str().is_some_and(|name| name == "latest" || is_number(name)) && !name.exists()
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let (id, file) = args.operands()?;
    let file = file.cloned().map(file_of).transpose().map_err(Failure::new)?;
    let file = file.as_ref();
    let store = args.store.open(&TOOL, matches)?;
    // `None` means that the snapshot is written to stdout.
    let to = args.to.as_ref().filter(|to| to.as_os_str() != "-");
    let target = file.or(to);
    let before = time_of("before", args.before.as_deref(), &store)?;
    let wanted = match (id, before) {
        (Some(wanted), _) => SnapshotChoice::Named(wanted),
        (None, Some(time)) => SnapshotChoice::Before(time.start),
        (None, None) => SnapshotChoice::Undo(target.map(PathBuf::as_path)),
    };
    let found = match (&args.session, file) {
        (Some(session), _) => store.find_restore(session, wanted),
        (None, Some(file)) => store.find_restore_of_file(file, wanted),
        (None, None) => {
            let hint = match (to, id) {
                (Some(to), Some(file)) if is_snapshot_name(to) => {
                    let flag = if args.dry_run { "-n " } else { "" };
                    let to = to.display();
                    format!(
                        "--to names a file, and the snapshot comes first: ctx-rollback {flag}{to} {file}"
                    )
                }
                _ => "name it: -s ID; without --to, ctx-rollback ID FILE restores FILE".to_owned(),
            };
            return Err(Failure::new("the session is not known").hint(hint));
        }
    };
    let mut restore = found.map_err(|error| match (&error, target) {
        (StoreError::NothingToUndo, Some(file)) if !file.exists() => {
            cannot_read(&file.display().to_string(), &io::ErrorKind::NotFound.into())
        }
        _ => failure(error),
    })?;
    if let Some(file) = file {
        restore.refuse_other_file(file).map_err(failure)?;
    }
    if args.json && target.is_none() && !args.dry_run {
        return Err(Failure::new("--json and the session cannot both be written to stdout")
            .hint("name a file with --to"));
    }
    let min_idle = args.idle.get();
    // A snapshot that the user names may have any content.
    let is_rewritten =
        |target: &PathBuf| args.undo && restore.is_rewritten(target).unwrap_or(false);
    if args.dry_run {
        // If an agent may be running, a rollback would be refused now, but print the preview
        // anyway.
        let refused = match target.map_or(Ok(()), |target| restore.refuse(target, min_idle)) {
            Err(error @ StoreError::NotIdle { .. }) => Some(failure(error)),
            other => other.map(|()| None).map_err(failure)?,
        };
        let appended = || target.map_or(Ok(None), |target| restore.appended(target));
        let is_rewritten = target.is_some_and(is_rewritten);
        if args.json {
            let appended = appended().map_err(failure)?;
            io.json(&report(&restore, target, None, appended, is_rewritten))?;
        } else {
            let name = target.map_or_else(|| "-".to_owned(), |path| path.display().to_string());
            let (id, name, size) = (&restore.meta.id, printable(&name), restore.meta.size());
            let is_same = target.map_or(Ok(false), |target| restore.is_in(target));
            io.print(if is_same.map_err(failure)? {
                format!("{name} already has the content of {id}: {size}\n")
            } else {
                format!("would restore {id} to {name}: {size}\n")
            })?;
            if let Some(appended) = appended().map_err(failure)? {
                io.print(format!("{appended} would be removed; a new snapshot would keep them\n"))?;
            }
            if is_rewritten {
                io.print(format!("{name} {REWRITTEN}; a new snapshot would keep its content\n"))?;
            }
        }
        return refused.map_or(Ok(ExitStatus::Done), Err);
    }
    let Some(target) = target else {
        copy_out(&mut restore.content, io)?;
        return Ok(ExitStatus::Done);
    };
    let name = target.display();
    // Ignore errors here, because `restore` will then refuse the file anyway.
    let appended = restore.appended(target).unwrap_or_default();
    let is_rewritten = is_rewritten(target);
    let replaced = restore.restore(target, min_idle).map_err(failure)?;
    log(&restore, &replaced, &store).map_err(failure)?;
    let appended = appended.filter(|_| matches!(replaced, ReplaceOutcome::New { .. }));
    if let (Some(appended), ReplaceOutcome::New { before, .. }) = (&appended, &replaced) {
        io.warn(format_args!("{name}: removed {appended}; saved in {}", before.id));
    }
    if let (true, ReplaceOutcome::New { before, .. }) = (is_rewritten, &replaced) {
        io.warn(format_args!("{name} {REWRITTEN}; its content is saved in {}", before.id));
    }
    io.committed(format_args!("{name} is restored"));
    report_late(&name.to_string(), Growth::Stops, &replaced, io);
    if args.json {
        io.json(&report(&restore, Some(target), Some(&replaced), appended, is_rewritten))?;
    } else if io.verbosity > Verbosity::Quiet {
        let done = done(&replaced, &restore.meta);
        io.print(format!("{}: {done}\n", printable(&name.to_string())))?;
    }
    Ok(ExitStatus::Done)
}

/// The warning about a file that an agent has compacted or cleaned up by itself.
const REWRITTEN: &str = "was rewritten by another program since ctx last saw it";

/// Records the rollback in the store's daily log.
fn log(restore: &Restore<'_>, replaced: &ReplaceOutcome, store: &Store) -> Result<(), StoreError> {
    let before = match replaced {
        ReplaceOutcome::Same => {
            // An earlier run may have restored the file, and been killed while writing its log
            // entry. If the file was already restored, there is nothing to log, so only tidy up.
            // Anything that cannot be removed now will be removed by a later run.
            let _ = tidy_logs(store);
            return Ok(());
        }
        ReplaceOutcome::Created => String::new(),
        ReplaceOutcome::New { before, .. } => {
            format!("; the previous content is snapshot {}", before.id)
        }
    };
    let entry = DailyEntry {
        session: Some(restore.session.to_string()),
        what: format!("rolled back to {}{before}", restore.meta.id),
        items: Vec::new(),
    };
    entry.log(store)
}

/// Describes the result in a few words, including the snapshot numbers.
fn done(replaced: &ReplaceOutcome, meta: &Meta) -> String {
    let (from, size) = (format!("snapshot {:04}", meta.sequence), meta.size());
    match replaced {
        ReplaceOutcome::Same => format!("already has the content of {from}: {size}"),
        ReplaceOutcome::Created => format!("created from {from}: {size}"),
        ReplaceOutcome::New { before, .. } => format!(
            "restored from {from}: {size}; the previous content is snapshot {:04}",
            before.id.stamp.sequence
        ),
    }
}

/// Returns the report that `--json` prints. `replaced` is `None` in a dry run. Keys are never
/// removed.
fn report(
    restore: &Restore<'_>,
    target: Option<&PathBuf>,
    replaced: Option<&ReplaceOutcome>,
    appended: Option<Appended>,
    is_rewritten: bool,
) -> impl Serialize {
    let meta = &restore.meta;
    let (outcome, snapshot, late_bytes) = match replaced {
        None => (None, None, 0),
        Some(ReplaceOutcome::Same) => (Some("unchanged"), None, 0),
        Some(ReplaceOutcome::Created) => (Some("created"), None, 0),
        Some(ReplaceOutcome::New { before, late_bytes, .. }) => {
            (Some("restored"), Some(before.id.to_string()), *late_bytes)
        }
    };
    json_object! {
        /// The file, as named by the user, or null for stdout.
        name: target.map(|path| path.display().to_string()),
        session: &meta.session,
        dry_run: replaced.is_none(),
        /// What happened to the file, or null in a dry run.
        outcome,
        /// The snapshot that was restored.
        restored: &meta.id,
        bytes: meta.bytes,
        messages: meta.tally.messages,
        sha256: &meta.sha256,
        /// The snapshot that holds the replaced content.
        snapshot,
        /// The removed lines, which had been appended after the restored snapshot was taken and now
        /// exist only in the snapshot `snapshot`.
        appended,
        /// Whether another program had rewritten the file since a tool last changed or saved it.
        rewritten: is_rewritten,
        late_bytes,
    }
}
