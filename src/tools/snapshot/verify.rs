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

/// How many things were found in which state.
#[derive(Clone, Copy, Default)]
struct Count {
    sound: usize,
    damaged: usize,
    /// They may be whole.
    unread: usize,
}

impl Verification<'_> {
    /// Tells of each thing, in the words of sha256sum.
    pub(super) fn run(&self, io: &mut Io) -> Outcome {
        let mut all = Count::default();
        all.damaged += usize::from(self.repair && self.repair(io)?);
        all.add(self.snapshots(io)?);
        if self.read_data {
            all.add(self.results(io)?);
        }
        if self.session.is_none() {
            all.add(self.audit_log(io)?);
        }
        Ok(all.status())
    }

    fn snapshots(&self, io: &mut Io) -> Result<Count, Failure> {
        let catalog = self.store.catalog(self.session).map_err(failure)?;
        let mut count = Count::default();
        for entry in &catalog.entries {
            let checked = self.store.verify(entry, self.read_data);
            count.tell(&entry.id.to_string(), checked, io)?;
        }
        warn_uncommitted(&catalog, io);
        count.warn("snapshots", io);
        Ok(count)
    }

    fn results(&self, io: &mut Io) -> Result<Count, Failure> {
        let mut count = Count::default();
        match self.store.all_offloaded(self.session) {
            Ok(files) => {
                for file in &files {
                    let checked = self.store.read_offloaded(file).map(drop);
                    count.tell(&file.to_string(), checked, io)?;
                }
            }
            Err(error) => count.unread_as(error, io),
        }
        count.warn("offloaded results", io);
        Ok(count)
    }

    /// Silent where all is well: it is one file, and no snapshot.
    fn audit_log(&self, io: &mut Io) -> Result<Count, Failure> {
        let mut count = Count::default();
        let broken = match self.store.check_audit_log() {
            Ok(broken) => broken,
            Err(error) => {
                count.unread_as(error, io);
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
            io.warn(format_args!("repaired: {}", text(&repaired)));
        }
        Ok(is_damaged)
    }
}

impl Count {
    fn add(&mut self, more: Self) {
        self.sound += more.sound;
        self.damaged += more.damaged;
        self.unread += more.unread;
    }

    /// Damage is the answer, whatever could not be read beside it: to try again will not
    /// change it.
    fn status(self) -> ExitStatus {
        match self {
            Self { damaged: 1.., .. } => ExitStatus::No,
            Self { unread: 0, .. } => ExitStatus::Done,
            Self { sound: 0, .. } => ExitStatus::Failed,
            _ => ExitStatus::Partial,
        }
    }

    fn tell(
        &mut self,
        name: &str,
        checked: Result<(), StoreError>,
        io: &mut Io,
    ) -> Result<(), Failure> {
        let (counter, why) = match checked {
            Ok(()) => {
                self.sound += 1;
                return io.write(format!("{name}: OK\n").as_bytes());
            }
            Err(StoreError::Damaged { why, .. }) => (&mut self.damaged, format!("FAILED: {why}")),
            Err(StoreError::Unread { why, .. }) => {
                (&mut self.unread, format!("FAILED open or read: {why}"))
            }
            Err(error @ StoreError::Io { .. }) => {
                (&mut self.unread, format!("FAILED open or read: {error}"))
            }
            Err(error) => (&mut self.damaged, format!("FAILED: {error}")),
        };
        *counter += 1;
        // Out of a tampered meta.json it could drive the terminal.
        io.write(format!("{name}: {}\n", printable(&why)).as_bytes())
    }

    /// Something that is no single snapshot or result.
    fn unread_as(&mut self, error: StoreError, io: &mut Io) {
        io.report(&failure(error));
        self.unread += 1;
    }

    fn warn(self, what: &str, io: &mut Io) {
        let all = self.sound + self.damaged + self.unread;
        for (count, how) in [
            (self.damaged, "are damaged"),
            (self.unread, "could not be read"),
        ] {
            if count > 0 {
                io.warn(format_args!("{count} of {all} {what} {how}"));
            }
        }
    }
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
