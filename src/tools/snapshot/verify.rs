//! Implements `--verify`, which checks the store and, with `--repair`, makes all repairs that lose
//! no data.

use ctx_cli::{ExitStatus, Io, Outcome, Result, Verbosity, json_object, printable};
use ctx_store::{BrokenLink, Flaw, Repaired, Store, Verdicts};

use super::Args;
use super::list::warn_uncommitted;
use crate::store::failure;

impl Args {
    /// Checks the store, and prints the result for each item.
    pub(super) fn verify(&self, store: &Store, io: &mut Io) -> Outcome {
        let mut all = Verdicts::default();
        let is_repaired = self.repair && !self.dry_run;
        all.damaged += usize::from(is_repaired && self.repair_store(store, io)?);
        all += self.verify_snapshots(store, io)?;
        if self.read_data {
            all += self.verify_results(store, io)?;
        }
        if self.session.is_none() {
            all += self.verify_audit_log(store, io)?;
        }
        Ok(status(all))
    }

    fn verify_snapshots(&self, store: &Store, io: &mut Io) -> Result<Verdicts> {
        let catalog = store.catalog(self.session.as_ref()).map_err(failure)?;
        let mut count = Verdicts::default();
        for entry in &catalog.entries {
            let verdict = store.verify(entry, self.read_data).map_err(Flaw::of_check);
            self.print_verdict("snapshot", &entry.id.to_string(), None, &verdict, io)?;
            count.add(&verdict);
        }
        warn_uncommitted(&catalog, io);
        warn(count, "snapshots", io);
        Ok(count)
    }

    fn verify_results(&self, store: &Store, io: &mut Io) -> Result<Verdicts> {
        let mut count = Verdicts::default();
        match store.all_offloaded(self.session.as_ref()) {
            Ok(files) => {
                for file in &files {
                    let read = store.read_offloaded(file).map(drop);
                    let verdict = read.map_err(Flaw::of_check);
                    self.print_verdict("offloaded", &file.to_string(), None, &verdict, io)?;
                    count.add(&verdict);
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

    fn print_verdict(
        &self,
        kind: &'static str,
        id: &str,
        line: Option<u64>,
        verdict: &Result<(), Flaw>,
        io: &mut Io,
    ) -> Result<()> {
        if !self.json {
            // With -q, intact items are not printed, as with `sha256sum --quiet`, so that cron
            // sends no mail about them.
            let text = match verdict {
                Ok(()) if io.verbosity == Verbosity::Quiet => return Ok(()),
                Ok(()) => "OK".to_owned(),
                Err(Flaw::Damaged(why)) => format!("FAILED: {why}"),
                Err(Flaw::Unread(why)) => format!("FAILED open or read: {why}"),
            };
            let place = line.map(|line| printable(&format!("{id}:{line}")));
            let place = place.unwrap_or_else(|| id.to_owned());
            // Escape the text, because a tampered meta.json could contain escape sequences for the
            // terminal.
            return io.print(format!("{place}: {}\n", printable(&text)));
        }
        let (verdict, why) = match verdict {
            Ok(()) => ("sound", None),
            Err(Flaw::Damaged(why)) => ("damaged", Some(why.as_str())),
            Err(Flaw::Unread(why)) => ("unread", Some(why.as_str())),
        };
        // Keys are never removed.
        io.json(&json_object! {
            kind,
            /// The id of a snapshot or a result, or the path of the audit log.
            id,
            /// The line number in the audit log, or null for other items.
            line,
            verdict,
            why,
        })
    }

    /// Checks the audit log. Prints nothing if the log is intact, because the output is a list of
    /// snapshots.
    fn verify_audit_log(&self, store: &Store, io: &mut Io) -> Result<Verdicts> {
        let mut count = Verdicts::default();
        let broken = match store.check_audit_log() {
            Ok(broken) => broken,
            Err(error) => {
                io.report(&failure(error));
                count.unread += 1;
                return Ok(count);
            }
        };
        if broken.is_empty() {
            count.sound = 1;
            return Ok(count);
        }
        let log = store.audit_log().display().to_string();
        for BrokenLink { line, why } in broken {
            let verdict = Err(Flaw::Damaged(why.to_owned()));
            self.print_verdict("audit-log", &log, Some(line), &verdict, io)?;
        }
        io.warn("the audit log was changed after it was written");
        count.damaged = 1;
        Ok(count)
    }

    /// Repairs the store and reports each step. Returns true if something was damaged beyond
    /// repair.
    fn repair_store(&self, store: &Store, io: &mut Io) -> Result<bool> {
        let done = store.repair(self.session.as_ref(), self.read_data);
        let mut is_damaged = false;
        for repaired in done.map_err(failure)? {
            is_damaged |= matches!(repaired, Repaired::SetAside(..) | Repaired::LogSetAside(_));
            io.warn(format_args!("repaired: {repaired}"));
        }
        Ok(is_damaged)
    }
}

/// Returns the exit status. Damaged items take precedence over unreadable ones, which may be
/// readable next time.
fn status(count: Verdicts) -> ExitStatus {
    match count {
        Verdicts { damaged: 1.., .. } => ExitStatus::No,
        Verdicts { unread: 0, .. } => ExitStatus::Done,
        Verdicts { sound: 0, .. } => ExitStatus::Failed,
        _ => ExitStatus::Partial,
    }
}

fn warn(count: Verdicts, what: &str, io: &mut Io) {
    for (bad, how) in [(count.damaged, "are damaged"), (count.unread, "could not be read")] {
        if bad > 0 {
            io.warn(format_args!("{bad} of {} {what} {how}", count.all()));
        }
    }
}
