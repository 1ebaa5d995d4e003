//! `--hold` and `--release`.

use std::ops::Not;

use ctx_cli::{ExitStatus, Io, Outcome, json_line};
use ctx_store::{SessionId, Store};
use serde::Serialize;

use crate::store::failure;

/// What is asked of a snapshot.
pub(super) struct Hold<'a> {
    pub(super) store: &'a Store,
    pub(super) session: Option<&'a SessionId>,
    /// Whether it is held from now on, or released.
    pub(super) held: bool,
    pub(super) dry_run: bool,
    pub(super) json: bool,
}

/// The same for programs.
#[derive(Serialize)]
struct Told {
    id: String,
    held: bool,
    #[serde(skip_serializing_if = "Not::not")]
    dry_run: bool,
}

impl Hold<'_> {
    /// Holds or releases it, or tells which one it would be.
    pub(super) fn run(&self, id: &str, io: &mut Io) -> Outcome {
        let (store, session, held) = (self.store, self.session, self.held);
        let id = if self.dry_run {
            store.find_snapshot(session, id).map(|found| found.id)
        } else {
            store.hold(session, id, held)
        };
        let id = id.map_err(failure)?.to_string();
        if !self.dry_run {
            let now = if held { "held" } else { "released" };
            io.committed(format_args!("snapshot {id} is {now}"));
        }
        let line = match (self.json, self.dry_run) {
            (true, dry_run) => json_line(&Told { id, held, dry_run }),
            (false, false) => format!("{id}\n"),
            (false, true) => {
                let verb = if held { "hold" } else { "release" };
                format!("would {verb} {id}\n")
            }
        };
        io.write(line.as_bytes())?;
        Ok(ExitStatus::Done)
    }
}
