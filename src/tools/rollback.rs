//! `ctx-rollback`: puts the exact bytes of a snapshot back.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Page, Tool};
use ctx_store::{Kind, Meta, NewContent, Replaced, SessionId, Store, Survived, hash_of, real_path};

use crate::store::{StoreArgs, copy_out, failure, session_id, warn_retained};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-rollback",
    command: || RollbackArgs::augment_args(Command::new("ctx-rollback")),
    run,
    page: Page {
        exit_status: &[
            (
                2,
                "no such snapshot, or it is damaged, or the disk failed; the file is as it was, and a snapshot of it may have been taken",
            ),
            (
                4,
                "the file is open for writing, or it changed meanwhile; it is as it was",
            ),
            (
                5,
                "the file is restored, but a power cut may undo that, or the audit log may not know",
            ),
        ],
        environment: &[("CTX_HOME", "where the store lies; --store goes before it")],
        files: &[
            (
                ".FILE.ctx-old-N",
                "the replaced file, beside the new one, while another process has it open for writing; ctx-gc saves what that process wrote and removes it",
            ),
            ("STORE/context/events.jsonl", "the audit log"),
        ],
        examples: &[
            (
                "ctx-rollback --snapshot latest session.jsonl",
                "Restore the newest snapshot",
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
/// replaced becomes a snapshot first, so that --undo has it back, again and again.
/// Where ID is asked for: an id, its unique beginning, the beginning of its
/// timestamp or its sha256, its number, or "latest": the newest that was not
/// taken for an undo.
#[derive(Args, Clone, Debug)]
#[command(group = ArgGroup::new("which").required(true).args(["snapshot", "undo"]))]
#[command(group = ArgGroup::new("where").required(true).args(["file", "to"]))]
struct RollbackArgs {
    /// The session file that is restored
    file: Option<PathBuf>,
    /// Name the session [default: made of the file's name and path]
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Restore this snapshot
    #[arg(long, value_name = "ID")]
    snapshot: Option<String>,
    /// Restore what the last rollback or compaction replaced
    #[arg(long)]
    undo: bool,
    /// Restore onto another path than the snapshot was taken of; - is stdout
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
}

/// What is asked for: which snapshot, and where to.
struct Plan {
    session: SessionId,
    content: File,
    meta: Meta,
    /// `None` is stdout.
    target: Option<PathBuf>,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = RollbackArgs::from_arg_matches(matches).map_err(Failure::new)?;
    let store = args.store.open(&TOOL, matches)?;
    let mut plan = plan(&args, &store)?;
    let Some(target) = plan.target.take() else {
        if args.dry_run {
            return show(&plan.meta, "-", io);
        }
        copy_out(&mut plan.content, io)?;
        return Ok(ExitStatus::Done);
    };
    if args.dry_run {
        return show(&plan.meta, &target.display().to_string(), io);
    }
    restore(&store, plan, &target, io)
}

fn plan(args: &RollbackArgs, store: &Store) -> Result<Plan, Failure> {
    let session = match (&args.session, &args.file) {
        (Some(session), _) => session.clone(),
        (None, Some(file)) => SessionId::of_file(file).map_err(failure)?,
        (None, None) => {
            return Err(Failure::new("which session is not known").hint("name it: -s ID"));
        }
    };
    let catalog = store.catalog(Some(&session)).map_err(failure)?;
    let found = if let Some(wanted) = &args.snapshot {
        catalog.find(wanted)
    } else {
        let path = args.file.as_ref().or(args.to.as_ref());
        let path = path.filter(|path| path.as_os_str() != "-");
        let current = path.map_or(Ok(None), |path| hash_of(path));
        catalog.undo(current.map_err(failure)?.as_deref())
    };
    let (content, meta) = found
        .and_then(|entry| store.open_verified(entry))
        .map_err(failure)?;
    let target = match (&args.file, &args.to) {
        (Some(file), _) => {
            refuse_other_path(file, &meta)?;
            Some(file.clone())
        }
        (None, to) => to.clone().filter(|to| to.as_os_str() != "-"),
    };
    Ok(Plan {
        session,
        content,
        meta,
        target,
    })
}

/// A mistyped name must not cost another session's file.
fn refuse_other_path(file: &Path, meta: &Meta) -> Result<(), Failure> {
    let name = file.display().to_string();
    let real = real_path(file).map_err(|error| Failure::new(error).at(&name, None))?;
    match &meta.source {
        Some(source) if *source != real.to_string_lossy() => Err(Failure::new(format_args!(
            "{} was taken of {source}",
            meta.id
        ))
        .at(&name, None)
        .hint("to restore it here nevertheless: --to FILE")),
        _ => Ok(()),
    }
}

fn show(meta: &Meta, target: &str, io: &mut Io) -> Outcome {
    let line = format!(
        "would restore {} onto {}: {} messages, {} lines, {} bytes\n",
        meta.id,
        target.escape_debug(),
        meta.tally.messages,
        meta.lines,
        meta.bytes
    );
    io.write(line.as_bytes())?;
    Ok(ExitStatus::Done)
}

fn restore(store: &Store, mut plan: Plan, target: &Path, io: &mut Io) -> Outcome {
    let mut new = NewContent {
        reader: &mut plan.content,
        sha256: &plan.meta.sha256,
        operation: "rollback",
        kind: Kind::PreRollback,
        survived: Survived::new(),
    };
    let replaced = store
        .replace(target, &plan.session, &mut new)
        .map_err(failure)?;
    let name = target.display();
    match replaced {
        Replaced::Same => io.note(format_args!("{name} has these bytes already")),
        Replaced::Created => io.note(format_args!("{name} created from {}", plan.meta.id)),
        Replaced::New {
            before,
            late_bytes,
            retained,
        } => {
            io.note(format_args!(
                "{name} restored from {}; what was there is {}",
                plan.meta.id, before.id
            ));
            if late_bytes > 0 {
                io.warn(format_args!(
                    "{name} grew meanwhile: {late_bytes} bytes were carried over behind the restored ones"
                ));
            }
            if let Some(retained) = retained {
                warn_retained(&retained, io);
            }
        }
    }
    Ok(ExitStatus::Done)
}
