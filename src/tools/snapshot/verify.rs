//! `--verify`: what was saved is checked and, with `--repair`, mended where nothing is lost.

use ctx_cli::{ExitStatus, Failure, Io, Outcome, printable};
use ctx_store::{BrokenLink, Repaired, SessionId, Store, StoreError};

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
    /// Tells of each thing, in the words of sha256sum.
    pub(super) fn run(&self, io: &mut Io) -> Outcome {
        let mut is_damaged = self.repair && self.repair(io)?;
        is_damaged |= self.snapshots(io)?;
        is_damaged |= self.read_data && self.results(io)?;
        is_damaged |= self.session.is_none() && self.audit_log(io)?;
        Ok(if is_damaged {
            ExitStatus::No
        } else {
            ExitStatus::Done
        })
    }

    fn snapshots(&self, io: &mut Io) -> Result<bool, Failure> {
        let catalog = self.store.catalog(self.session).map_err(failure)?;
        let mut damaged = 0;
        for entry in &catalog.entries {
            let checked = self.store.verify(entry, self.read_data);
            damaged += usize::from(checked.is_err());
            tell(&entry.id.to_string(), checked, io)?;
        }
        warn_uncommitted(&catalog, io);
        let all = catalog.entries.len();
        Ok(count(damaged, all, "snapshots", io))
    }

    fn results(&self, io: &mut Io) -> Result<bool, Failure> {
        let files = self.store.all_offloaded(self.session).map_err(failure)?;
        let mut damaged = 0;
        for file in &files {
            let checked = self.store.read_offloaded(file).map(drop);
            damaged += usize::from(checked.is_err());
            tell(&file.to_string(), checked, io)?;
        }
        Ok(count(damaged, files.len(), "offloaded results", io))
    }

    /// Silent where all is well: it is one file, and no snapshot.
    fn audit_log(&self, io: &mut Io) -> Result<bool, Failure> {
        let broken = self.store.check_audit_log().map_err(failure)?;
        let log = self.store.audit_log();
        for BrokenLink { line, why } in &broken {
            let text = printable(&format!("{}:{line}: FAILED: {why}", log.display()));
            io.write(format!("{text}\n").as_bytes())?;
        }
        if !broken.is_empty() {
            io.warn("the audit log is not as it was written");
        }
        Ok(!broken.is_empty())
    }

    /// Says what was repaired; `true` when something is damaged for good.
    fn repair(&self, io: &mut Io) -> Result<bool, Failure> {
        let done = self.store.repair(self.session, self.read_data);
        let mut is_damaged = false;
        for repaired in done.map_err(failure)? {
            is_damaged |= matches!(repaired, Repaired::SetAside(..) | Repaired::LogSetAside(_));
            io.warn(format_args!("repaired: {}", text(&repaired)));
        }
        Ok(is_damaged)
    }
}

fn tell(name: &str, checked: Result<(), StoreError>, io: &mut Io) -> Result<(), Failure> {
    let why = match checked {
        Ok(()) => return io.write(format!("{name}: OK\n").as_bytes()),
        Err(StoreError::Damaged { why, .. }) => why,
        Err(error) => error.to_string(),
    };
    // Out of a tampered meta.json it could drive the terminal.
    io.write(format!("{name}: FAILED: {}\n", printable(&why)).as_bytes())
}

fn count(damaged: usize, all: usize, what: &str, io: &mut Io) -> bool {
    if damaged > 0 {
        io.warn(format_args!("{damaged} of {all} {what} are damaged"));
    }
    damaged > 0
}

fn text(repaired: &Repaired) -> String {
    match repaired {
        Repaired::Reaped(count) => format!("removed unfinished files of killed runs: {count}"),
        Repaired::LogSetAside(path) => format!(
            "the audit log is not as it was written; it lies in {} now, and a new one was begun",
            path.display()
        ),
        Repaired::Adopted(id) => format!("{id} had no meta.json and has one now"),
        Repaired::SetAside(item, why) => {
            format!("{item} is damaged and lies in the store's folder damaged/ now: {why}")
        }
        Repaired::Recounted => "counted the snapshots anew".to_owned(),
        Repaired::Rebuilt(count) => {
            format!("wrote down anew what is recent, sessions: {count}")
        }
    }
}
