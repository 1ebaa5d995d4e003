//! `ctx-rollback`: puts the exact bytes of a snapshot back.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Page, Tool, json_line, printable};
use ctx_store::restore::{Restore, Wanted};
use ctx_store::{Appended, Meta, ReplaceOutcome, SessionId};
use ctx_transcript::counted;
use serde::Serialize;

use crate::idle::IdleArgs;
use crate::store::{StoreArgs, copy_out, failure, session_id, time_of, warn_retained};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-rollback",
    command: Args::command,
    run,
    page: Page {
        exit_status: &[
            (
                2,
                "no such snapshot, or it is damaged, or the disk failed; the file is as it was",
            ),
            (
                4,
                "the file is open for writing, or an agent may be at work on it, or it changed meanwhile; it is as it was",
            ),
            (
                5,
                "the file is restored, but a power cut may undo that, or the audit log or the log of the day may not know",
            ),
        ],
        environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
        files: &[
            (
                ".FILE.ctx-old-N",
                "the replaced file, beside the new one, while another process has it open for writing; ctx-gc saves what that process wrote and removes it",
            ),
            ("STORE/context/events.jsonl", "the audit log"),
            ("STORE/memory/daily/DATE.md", "the log of the day (UTC)"),
        ],
        examples: &[
            (
                "ctx-rollback --snapshot latest session.jsonl",
                "Restore the newest snapshot",
            ),
            (
                "ctx-rollback --snapshot \"1 hour ago\" session.jsonl",
                "Restore what was there an hour ago",
            ),
            (
                "ctx-rollback --undo session.jsonl",
                "Take the last rollback back",
            ),
            (
                "ctx-rollback -n -s demo --snapshot 7 demo.jsonl",
                "Show what would be done",
            ),
            (
                "ctx-rollback -s demo --snapshot latest --to copy.jsonl",
                "Restore onto another path",
            ),
        ],
    },
};

/// Restore a snapshot of a session, after saving what is there
///
/// The snapshot is checked against its hash before, and the file after. What is
/// replaced becomes a snapshot first, so that --undo has it back, again and again. Lines that
/// were appended since go with it, which is said.
/// Without -s the snapshots are those of the session that an agent has written into FILE, and
/// those that were taken of its path, whatever name they were saved under; of a file that was
/// moved, those of the session whose bytes it begins with.
///
/// Where ID is asked for: an id or its unique beginning; its number (digits alone are nothing
/// else); 6 digits or more of its sha256 (sha256:… where none is a letter); a day, as 2026-11-15
/// or yesterday, on which one was taken; a time, as "2026-11-15 10:30" or "1 week ago", for the
/// newest that was there then; or "latest": the newest that was not taken for an undo. Times are
/// UTC.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("which").required(true).args(["snapshot", "before", "undo"]))]
#[command(group = ArgGroup::new("where").required(true).args(["file", "to"]))]
struct Args {
    /// The session file that is restored
    file: Option<PathBuf>,
    /// Name the session [default: the id in an agent's own file, else made of the file's name and path]
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Restore this snapshot
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
    /// Restore the newest snapshot that was taken before a day or a time
    ///
    /// As 2026-11-15, "2026-11-15 10:30", yesterday or "3 days ago"; before a day is before
    /// it begins. Times are UTC. As with "latest", none that was taken for an undo.
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Restore what the last rollback or compaction replaced
    ///
    /// Runs that failed or were killed before they replaced it do not count. When that
    /// snapshot is damaged, nothing is restored: --snapshot takes an older one.
    #[arg(long)]
    undo: bool,
    /// Restore onto another path than the snapshot was taken of; - is stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print what was done as a JSON object; docs/json.md has all keys
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    idle: IdleArgs,
    #[command(flatten)]
    store: StoreArgs,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let store = args.store.open(&TOOL, matches)?;
    // None is stdout.
    let to = args.to.as_ref().filter(|to| to.as_os_str() != "-");
    let target = args.file.as_ref().or(to);
    let wanted = match (&args.snapshot, &args.before) {
        (Some(wanted), _) => Wanted::Named(wanted),
        (None, Some(time)) => Wanted::Before(time_of("before", time, &store)?.start),
        (None, None) => Wanted::Undo(target.map(PathBuf::as_path)),
    };
    let found = match (&args.session, &args.file) {
        (Some(session), _) => store.find_restore(session, wanted),
        (None, Some(file)) => store.find_restore_of_file(file, wanted),
        (None, None) => {
            return Err(Failure::new("which session is not known").hint("name it: -s ID"));
        }
    };
    let mut restore = found.map_err(failure)?;
    if let Some(file) = &args.file {
        restore.refuse_other_file(file).map_err(failure)?;
    }
    if args.json && target.is_none() && !args.dry_run {
        return Err(Failure::new("--json needs stdout, and so does the session")
            .hint("name a file with --to"));
    }
    let told = Told::of(&args, &restore, target);
    let Some(target) = target else {
        if args.dry_run && args.json {
            io.write(json_line(&told).as_bytes())?;
        } else if args.dry_run {
            show(&restore.meta, "-", io)?;
        } else {
            copy_out(&mut restore.content, io)?;
        }
        return Ok(ExitStatus::Done);
    };
    let min_idle = args.idle.of_file(target);
    let name = target.display();
    if args.dry_run {
        restore.refuse(target, min_idle).map_err(failure)?;
        if args.json {
            let appended = restore.appended(target).map_err(failure)?;
            io.write(json_line(&Told { appended, ..told }).as_bytes())?;
            return Ok(ExitStatus::Done);
        }
        show(&restore.meta, &name.to_string(), io)?;
        if let Some(appended) = restore.appended(target).map_err(failure)? {
            let line = format!("{appended} would go; a new snapshot would have them\n");
            io.write(line.as_bytes())?;
        }
        return Ok(ExitStatus::Done);
    }
    // Of a file that is refused nothing is to be told.
    let appended = restore.appended(target).unwrap_or_default();
    let replaced = restore.restore(target, min_idle).map_err(failure)?;
    if let (Some(appended), ReplaceOutcome::New { before, .. }) = (&appended, &replaced) {
        let id = &before.id;
        io.warn(format_args!("{name}: {appended} go; they are in {id}"));
    }
    tell(&replaced, &restore.meta.id, target, io);
    if args.json {
        io.write(json_line(&told.ended(&replaced, appended)).as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

fn show(meta: &Meta, target: &str, io: &mut Io) -> Result<(), Failure> {
    let (id, target, size) = (&meta.id, printable(target), meta.size());
    let line = format!("would restore {id} onto {target}: {size}\n");
    io.write(line.as_bytes())
}

fn tell(replaced: &ReplaceOutcome, id: &str, target: &Path, io: &mut Io) {
    let name = target.display();
    match replaced {
        ReplaceOutcome::Same => io.note(format_args!("{name} has these bytes already")),
        ReplaceOutcome::Created => io.note(format_args!("{name} created from {id}")),
        ReplaceOutcome::New {
            before,
            late_bytes,
            retained,
        } => {
            let before = &before.id;
            io.note(format_args!(
                "{name} restored from {id}; what was there is {before}"
            ));
            if *late_bytes > 0 {
                let late = counted(*late_bytes, "byte");
                io.warn(format_args!(
                    "{name} grew meanwhile: {late} carried over behind the restored ones"
                ));
            }
            if let Some(retained) = retained {
                warn_retained(retained, io);
            }
        }
    }
}

/// What was done, for programs. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
struct Told {
    /// The file as it was named; null for stdout.
    name: Option<String>,
    session: String,
    dry_run: bool,
    /// Null in a dry run.
    outcome: Option<&'static str>,
    /// The snapshot whose bytes the file has now.
    restored: String,
    bytes: u64,
    messages: u64,
    sha256: String,
    /// The snapshot of what was replaced.
    snapshot: Option<String>,
    /// What somebody has written since, and what is in that snapshot only.
    appended: Option<Appended>,
    late_bytes: u64,
}

impl Told {
    fn of(args: &Args, restore: &Restore<'_>, target: Option<&PathBuf>) -> Self {
        let meta = &restore.meta;
        Self {
            name: target.map(|path| path.display().to_string()),
            session: meta.session.clone(),
            dry_run: args.dry_run,
            outcome: None,
            restored: meta.id.clone(),
            bytes: meta.bytes,
            messages: meta.tally.messages,
            sha256: meta.sha256.clone(),
            snapshot: None,
            appended: None,
            late_bytes: 0,
        }
    }

    fn ended(self, replaced: &ReplaceOutcome, appended: Option<Appended>) -> Self {
        let (outcome, snapshot, late_bytes) = match replaced {
            ReplaceOutcome::Same => ("unchanged", None, 0),
            ReplaceOutcome::Created => ("created", None, 0),
            ReplaceOutcome::New {
                before, late_bytes, ..
            } => ("restored", Some(before.id.to_string()), *late_bytes),
        };
        Self {
            outcome: Some(outcome),
            appended: appended.filter(|_| snapshot.is_some()),
            snapshot,
            late_bytes,
            ..self
        }
    }
}
