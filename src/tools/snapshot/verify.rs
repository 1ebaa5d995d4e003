//! `--verify`: what was saved is checked and, with `--repair`, mended where nothing is lost.

use std::fmt::Display;

use ctx_cli::{ExitStatus, Failure, Io, Outcome, printable};
use ctx_store::{BrokenLink, Repaired, SessionId, Store, StoreError, Verdict, Verdicts};

use super::list::warn_uncommitted;
use crate::store::failure;

/// What is checked, and whether it is repaired.
pub(super) struct Verification<'a> {
    pub(super) store: &'a Store,
    /// Only this one.
    pub(super) session: Option<&'a SessionId>,
    /// Whether bytes are read and hashed.
    pub(super) read_data: bool,
    pub(super) repair: bool,
}

impl Verification<'_> {
    /// Tells of each thing.
    pub(super) fn run(&self, io: &mut Io) -> Outcome {
        if let Some(session) = self.session {
            self.store.require_session(session).map_err(failure)?;
        }
        let mut all = Verdicts::default();
        all.damaged += usize::from(self.repair && self.repair(io)?);
        all += self.snapshots(io)?;
        if self.read_data {
            all += self.results(io)?;
        }
        if self.session.is_none() {
            all += self.audit_log(io)?;
        }
        Ok(status(all))
    }

    fn snapshots(&self, io: &mut Io) -> Result<Verdicts, Failure> {
        let catalog = self.store.catalog(self.session).map_err(failure)?;
        let mut count = Verdicts::default();
        for entry in &catalog.entries {
            let checked = self.store.verify(entry, self.read_data);
            count.add(&tell(&entry.id, checked, io)?);
        }
        warn_uncommitted(&catalog, io);
        warn(count, "snapshots", io);
        Ok(count)
    }

    fn results(&self, io: &mut Io) -> Result<Verdicts, Failure> {
        let mut count = Verdicts::default();
        match self.store.all_offloaded(self.session) {
            Ok(files) => {
                for file in &files {
                    let checked = self.store.read_offloaded(file).map(drop);
                    count.add(&tell(file, checked, io)?);
                }
            }
            Err(error) => {
                io.report(&failure(error));
                count.unread += 1;
            }
        }
        warn(count, "offloaded results", io);
        Ok(count)
    }

    /// Silent where all is well: it is one file, and no snapshot.
    fn audit_log(&self, io: &mut Io) -> Result<Verdicts, Failure> {
        let mut count = Verdicts::default();
        let broken = match self.store.check_audit_log() {
            Ok(broken) => broken,
            Err(error) => {
                io.report(&failure(error));
                count.unread += 1;
                return Ok(count);
            }
        };
        let log = self.store.audit_log();
        for BrokenLink { line, why } in &broken {
            let text = printable(&format!("{}:{line}: FAILED: {why}", log.display()));
            io.write(format!("{text}\n").as_bytes())?;
        }
        if broken.is_empty() {
            count.sound = 1;
        } else {
            io.warn("the audit log is not as it was written");
            count.damaged = 1;
        }
        Ok(count)
    }

    /// Says what was repaired; `true` when something is damaged for good.
    fn repair(&self, io: &mut Io) -> Result<bool, Failure> {
        let done = self.store.repair(self.session, self.read_data);
        let mut is_damaged = false;
        for repaired in done.map_err(failure)? {
            is_damaged |= matches!(repaired, Repaired::SetAside(..) | Repaired::LogSetAside(_));
            io.warn(format_args!("repaired: {repaired}"));
        }
        Ok(is_damaged)
    }
}

/// Damage is the answer, whatever could not be read beside it: to try again will not
/// change it.
fn status(count: Verdicts) -> ExitStatus {
    match count {
        Verdicts { damaged: 1.., .. } => ExitStatus::No,
        Verdicts { unread: 0, .. } => ExitStatus::Done,
        Verdicts { sound: 0, .. } => ExitStatus::Failed,
        _ => ExitStatus::Partial,
    }
}

fn tell(
    name: &impl Display,
    checked: Result<(), StoreError>,
    io: &mut Io,
) -> Result<Verdict, Failure> {
    let verdict = Verdict::of(checked);
    // Out of a tampered meta.json it could drive the terminal.
    let text = printable(&verdict.to_string());
    io.write(format!("{name}: {text}\n").as_bytes())?;
    Ok(verdict)
}

fn warn(count: Verdicts, what: &str, io: &mut Io) {
    for (bad, how) in [
        (count.damaged, "are damaged"),
        (count.unread, "could not be read"),
    ] {
        if bad > 0 {
            io.warn(format_args!("{bad} of {} {what} {how}", count.all()));
        }
    }
}
