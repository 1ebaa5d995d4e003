//! What `ctx-gc` did, or would do: a line for people, or a JSON object.

use ctx_cli::{ExitStatus, Failure, Io};
use ctx_store::StoreItem;
use ctx_store::collect::{Action, Event};
use ctx_store::retention::Reason;
use serde::Serialize;

use super::GcArgs;
use crate::output::json_line;
use crate::store::failure;

/// Tells of a collection.
pub(super) struct Report<'a> {
    args: &'a GcArgs,
    io: &'a mut Io,
    status: ExitStatus,
}

#[derive(Serialize)]
struct Line {
    id: String,
    keep: bool,
    reasons: Vec<String>,
    kind: &'static str,
    action: &'static str,
}

impl<'a> Report<'a> {
    pub(super) fn new(args: &'a GcArgs, io: &'a mut Io) -> Self {
        Self {
            args,
            io,
            status: ExitStatus::Done,
        }
    }

    /// Tells of one thing.
    pub(super) fn event(&mut self, event: Event) -> Result<(), Failure> {
        match event {
            Event::Done(action, item) => self.done(&action, &item)?,
            Event::Locked(id) => {
                let note = format_args!("skip {id}: its session is in use");
                self.io.note(note);
            }
            Event::Late(id) => self.io.warn(format_args!(
                "another process wrote to a file after it had been replaced; saved as {id}"
            )),
            Event::StillOpen(path) => {
                let note = format_args!("{} is still in use", path.display());
                self.io.note(note);
            }
            Event::Unknown(session, why) => self.io.note(format_args!(
                "the offloaded files of {session} stay: not every transcript that may name them can be looked into: {why}"
            )),
            Event::Failed(error) => {
                self.io.report(&failure(error));
                self.status = ExitStatus::Partial;
            }
        }
        Ok(())
    }

    /// The exit status, when all was told.
    pub(super) fn end(self, unaudited: bool) -> ExitStatus {
        if unaudited {
            self.io
                .warn("the audit log was not written: the disk is full");
            return ExitStatus::Uncertain;
        }
        self.status
    }

    fn done(&mut self, action: &Action, item: &StoreItem) -> Result<(), Failure> {
        let words = Words::of(action);
        let dry_run = self.args.dry_run;
        let verb = if dry_run { words.would } else { words.did };
        let colon = if words.why.is_empty() { "" } else { ": " };
        let text = format!("{verb} {item}{colon}{}", words.why.join(", "));
        let keep = matches!(action, Action::Keep(_));
        if keep && !dry_run {
            // A night on which nothing goes is silent.
            self.io.note(text);
            return Ok(());
        }
        let line = if self.args.json {
            json_line(&Line {
                id: item.to_string(),
                keep,
                reasons: if keep { words.why } else { Vec::new() },
                kind: match item {
                    StoreItem::Snapshot(_) => "snapshot",
                    StoreItem::Offloaded(_) => "offloaded",
                },
                action: words.name,
            })
        } else {
            text + "\n"
        };
        self.io.write(line.as_bytes())
    }
}

/// How an action is told.
struct Words {
    /// For programs.
    name: &'static str,
    did: &'static str,
    would: &'static str,
    why: Vec<String>,
}

impl Words {
    fn of(action: &Action) -> Self {
        let (name, did, would, why) = match action {
            Action::Keep(reasons) => {
                let why = reasons.iter().map(Reason::to_string).collect();
                ("keep", "keep", "keep", why)
            }
            Action::Discard(cause) => {
                ("remove", "removed", "would remove", vec![cause.to_string()])
            }
            Action::Purge => ("purge", "purged", "would purge", Vec::new()),
            Action::Delete => ("delete", "deleted", "would delete", Vec::new()),
        };
        Self {
            name,
            did,
            would,
            why,
        }
    }
}
