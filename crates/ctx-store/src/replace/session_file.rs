//! Opens a session file to which an agent may be writing, without following a link or blocking on a
//! FIFO, and checks whether an agent is using it. A running agent keeps its history in memory, and
//! does not notice when a tool changes its file.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use ctx_format::{Dialect, Options, Records, dialect_of_lines};

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    file_id, hash, id_of, if_there, is_same_file, is_there, only_regular, open_careful, parent,
    retained_in, try_lock,
};
use crate::os::{Lease, keep_writers_out};
use crate::snapshot::meta::Meta;
use crate::{Draft, SessionId, SnapshotId, Store, real_path};

const SEVERAL_NAMES: &str = "has several names (hard links): replacing it would separate them";

/// An open session file, with the metadata that it had when it was opened.
#[derive(Debug)]
pub struct SessionFile {
    pub(crate) file: File,
    /// The real path of the file.
    pub(crate) path: PathBuf,
    pub(crate) meta: Metadata,
}

/// How long a lock is waited for. A process that is being started has a copy of every lock of its
/// parent for a moment.
const MOMENT: Duration = Duration::from_millis(100);

impl SessionFile {
    /// Opens a regular file for reading.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let real = real_path(path).or_cannot("read", path)?;
        let kind = fs::symlink_metadata(&real).or_cannot("read", path)?.file_type();
        let why = if kind.is_symlink() {
            "is a symbolic link"
        } else if kind.is_dir() {
            "is a directory"
        } else if kind.is_fifo() {
            "is a FIFO"
        } else if !kind.is_file() {
            "is a device or a socket"
        } else {
            let file = only_regular(open_careful(&real), "read", path)?;
            return Ok(Self { meta: file.metadata().or_cannot("read", path)?, file, path: real });
        };
        Err(StoreError::refused(path, why))
    }

    /// Opens a file that may be replaced. Refuses a file that is not regular, has several names, or
    /// is inside a store. Does not lock the file or write anything.
    pub fn open_replaceable(path: &Path) -> Result<Self> {
        Store::refuse_inside(path)?;
        let file = Self::open(path)?;
        if file.meta.nlink() > 1 + file.second_names()?.len() as u64 {
            return Err(StoreError::refused(&file.path, SEVERAL_NAMES));
        }
        Ok(file)
    }

    /// Locks the file until this value is dropped. Fails if another process has locked the file or
    /// has it open for writing.
    pub fn refuse_users(&self) -> Result<()> {
        self.lock()?;
        self.keep_writers_out().map(drop)
    }

    /// Locks the file. The lock keeps out runs that use another store, and programs that lock the
    /// files they use.
    pub(crate) fn lock(&self) -> Result<()> {
        if let Err(TryLockError::WouldBlock) = try_lock(&self.file, MOMENT) {
            let name = self.path.display();
            return Err(StoreError::Busy(format!("{name} is locked by another process")));
        }
        Ok(())
    }

    /// Returns another handle to the open file; the two handles share one file position.
    pub fn file(&self) -> Result<File> {
        self.file.try_clone().or_cannot("read", &self.path)
    }

    /// Returns the current metadata of the file. Fails if the path now leads to another file, or if
    /// the file has shrunk.
    pub(crate) fn metadata_now(&self) -> Result<Metadata> {
        let changed = || StoreError::Changed(self.path.clone());
        let named = if_there(fs::symlink_metadata(&self.path).or_cannot("read", &self.path))?;
        let named = named.ok_or_else(changed)?;
        let now = self.file.metadata().or_cannot("read", &self.path)?;
        if !is_same_file(&named, &self.meta) || now.len() < self.meta.len() {
            return Err(changed());
        }
        Ok(now)
    }

    /// Returns the second names that killed runs gave to this file, no matter which store they
    /// used.
    pub(crate) fn second_names(&self) -> Result<Vec<PathBuf>> {
        if self.meta.nlink() == 1 {
            return Ok(Vec::new());
        }
        let (dir, name) = (parent(&self.path), self.path.file_name().unwrap_or_default());
        let mut names = retained_in(dir, name).or_cannot("read", dir)?;
        names.retain(|(path, end)| {
            let is_ours = end.bytes().all(|byte| byte.is_ascii_digit());
            is_ours && file_id(path).is_ok_and(|id| id == id_of(&self.meta))
        });
        Ok(names.into_iter().map(|(path, _)| path).collect())
    }

    /// Fails if another process has the file open for writing. See [`keep_writers_out`].
    pub(crate) fn keep_writers_out(&self) -> Result<Option<Lease<'_>>> {
        keep_writers_out(&self.file, &self.path)
    }

    /// Begins a snapshot of the bytes that the file contained when it was opened. Bytes that an
    /// agent has appended since then are left out.
    pub(crate) fn draft<'a>(&self, store: &'a Store) -> Result<Draft<'a>> {
        let mut draft = store.draft((&self.file).take(self.meta.len()), &self.path)?;
        draft.source = Some(self.path.to_string_lossy().into_owned());
        self.metadata_now()?;
        if draft.measured.bytes != self.meta.len() {
            return Err(StoreError::Changed(self.path.clone()));
        }
        Ok(draft)
    }

    /// For a dry run, checks whether the file would be refused because it was changed less than
    /// `min_idle` ago.
    pub fn refuse_unless_idle(
        &self,
        store: &Store,
        session: &SessionId,
        min_idle: MinIdle,
    ) -> Result<()> {
        let Some(exception) = store.refuse_unless_idle(self, session, min_idle)? else {
            return Ok(());
        };
        // Open the file again, because clones of the existing handle share its position.
        let mut file = Self::open(&self.path)?.file;
        exception.check(&hash(&mut file).or_cannot("read", &self.path)?)
    }
}

/// For a dry run, checks whether [`Store::replace`] would refuse the file.
pub fn refuse_replacement(path: &Path) -> Result<()> {
    Store::refuse_inside(path)?;
    if let Ok(false) = is_there(path) {
        return real_path(path).or_cannot("read", path).map(drop);
    }
    SessionFile::open_replaceable(path)?.refuse_users()
}

impl Store {
    /// Begins a snapshot of a session file's current bytes.
    pub fn draft_of(&self, path: &Path) -> Result<Draft<'_>> {
        Self::refuse_inside(path)?;
        let mut draft = SessionFile::open(path)?.draft(self)?;
        draft.count_meanwhile();
        Ok(draft)
    }

    /// Previews a snapshot of a session file without writing anything. Returns the size of the file
    /// and, if the newest snapshot already has the same bytes, its id.
    pub fn would_save(
        &self,
        path: &Path,
        session: &SessionId,
    ) -> Result<(u64, Option<SnapshotId>)> {
        Self::refuse_inside(path)?;
        let live = SessionFile::open(path)?;
        let bytes = live.meta.len();
        let sha256 = hash(&mut (&live.file).take(bytes)).or_cannot("read", path)?;
        Ok((bytes, self.known(session, Some(&live.path.to_string_lossy()), &sha256)))
    }

    /// Refuses a file that a program other than the tools changed less than `min_idle` ago. A
    /// modification time in the future counts as now. If the file's content is needed to tell who
    /// changed it, returns a check that the caller must make after reading the file.
    pub(crate) fn refuse_unless_idle(
        &self,
        live: &SessionFile,
        session: &SessionId,
        asked: MinIdle,
    ) -> Result<Option<IdleException>> {
        let min_idle = asked.0.unwrap_or(OF_AGENTS);
        if min_idle.is_zero() {
            return Ok(None);
        }
        let modified = live.meta.modified().or_cannot("read", &live.path)?;
        let ago = self.now() - DateTime::<Utc>::from(modified);
        let enough = TimeDelta::from_std(min_idle).unwrap_or(TimeDelta::MAX);
        if ago >= enough || (asked.0.is_none() && !is_agents(live)?) {
            return Ok(None);
        }
        let error = StoreError::NotIdle {
            path: live.path.clone(),
            ago: ago.to_std().unwrap_or_default(),
            min_idle,
        };
        match self.last_written(live, session)? {
            Some(sha256) => Ok(Some(IdleException { sha256, error })),
            None => Err(error),
        }
    }

    /// If the file still has the length that it had after a tool last changed it, returns its
    /// sha256 from that time.
    fn last_written(&self, live: &SessionFile, session: &SessionId) -> Result<Option<String>> {
        let written = |meta: &Meta| {
            let written = meta.replaced_by.clone().filter(|_| meta.is_of(&live.path))?;
            (written.bytes == live.meta.len()).then_some(written.sha256)
        };
        let newest = self.newest(session).and_then(|entry| entry.meta.ok());
        if let Some(sha256) = newest.as_ref().and_then(written) {
            return Ok(Some(sha256));
        }
        // Look at all snapshots before refusing the file. The newest one may have been taken on
        // request, the record in `recent/` may be lost or describe another copy of the session, or
        // the tool may have used another session id.
        let catalog = self.catalog(None)?;
        let of_it = catalog.trusted().filter_map(|(_, meta)| Some((meta.sequence, written(meta)?)));
        Ok(of_it.max().map(|(_, sha256)| sha256))
    }
}

/// How long a session file must have been idle before a tool may replace it. Every function that
/// replaces a file takes this argument, so that no tool can forget the check.
///
/// `None` means the default: ten minutes for an agent's own file, and zero for a list of messages,
/// which any script may have written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MinIdle(pub Option<Duration>);

/// The default idle time for agents' own files.
const OF_AGENTS: Duration = Duration::from_secs(10 * 60);

/// How many bytes at the start of a file are searched for a line that only an agent writes.
const LOOK_AT: u64 = 8 << 20;

/// Accepts a recently changed file if its content shows that a tool made the change.
pub(crate) struct IdleException {
    /// The sha256 of the file after a tool last changed it. If the file still has this hash, the
    /// recent change came from the tool, so it is no sign of a running agent.
    sha256: String,
    error: StoreError,
}

impl IdleException {
    /// Fails unless the file's hash, `sha256`, is the expected hash.
    pub(crate) fn check(self, sha256: &str) -> Result<()> {
        if self.sha256 == sha256 { Ok(()) } else { Err(self.error) }
    }
}

/// Whether the file has the format of an agent's own log.
fn is_agents(live: &SessionFile) -> Result<bool> {
    // Open the file again, because the snapshot will be copied from the existing handle's current
    // position.
    let head = || Ok::<_, StoreError>(SessionFile::open(&live.path)?.file.take(LOOK_AT));
    let dialect = dialect_of_lines(head()?).or_cannot("read", &live.path)?;
    if dialect.is_some() || live.meta.len() > LOOK_AT {
        // If these bytes do not show the format, assume that the file belongs to an agent.
        return Ok(dialect.is_none_or(Dialect::is_log));
    }
    // The file may be a single JSON document that spans many lines, as written by older versions of
    // the Gemini CLI.
    let records = Records::open(head()?, &Options::default()).or_cannot("read", &live.path)?;
    Ok(records.dialect().is_some_and(Dialect::is_log))
}

#[cfg(test)]
mod tests {
    use crate::tests::{Bench, id};
    use crate::{MinIdle, StoreError};

    /// L11: by default, an agent's own file is refused if it was changed recently. A list of
    /// messages is accepted, because a script may just have written it.
    #[test]
    fn only_an_agents_own_file_has_to_rest() {
        let bench = Bench::new();
        let agents = r#"{"type":"session","version":3,"id":"p-1","timestamp":"t","cwd":"/"}"#;
        let picture = format!("{{\"x\":\"{}\"}}\n", "x".repeat(3 << 20));
        for (text, rests) in [
            (format!("{agents}\n"), true),
            // The line that only an agent writes comes after a very long first line, beyond the
            // bytes read to find the session id.
            (format!("{picture}{agents}\n"), true),
            ("{\"role\":\"user\",\"content\":\"hi\"}\n".to_owned(), false),
            ("no session\n".to_owned(), false),
            // The format used by older versions of the Gemini CLI.
            (
                "{\n\"sessionId\": \"g\",\n\"startTime\": \"t\",\n\"lastUpdated\": \"t\",\n\"messages\": [\n{\"id\": \"1\", \"timestamp\": \"t\", \"type\": \"user\", \"content\": \"hi\"}\n]\n}\n".to_owned(),
                true,
            ),
            // The line that only an agent writes comes after the part of the file that is searched.
            (
                format!("{{\"x\":\"{}\"}}\n{agents}\n", "x".repeat(9 << 20)),
                true,
            ),
        ] {
            let path = bench.file("s.jsonl", &text);
            let refused = |min_idle| {
                let begun = bench.store.begin_replacement(&path, &id("demo"), min_idle);
                let seen = bench.store.replace_other(&path, None, min_idle);
                let of_other = matches!(seen, Err(StoreError::NotIdle { .. }));
                let refused = matches!(begun, Err(StoreError::NotIdle { .. }));
                assert_eq!(of_other, refused);
                refused
            };
            let seconds = |seconds| MinIdle(Some(std::time::Duration::from_secs(seconds)));
            assert_eq!(refused(MinIdle::default()), rests);
            assert!(!refused(seconds(0)));
            assert!(refused(seconds(60)));
            bench.wait_days(1);
            assert!(!refused(MinIdle::default()));
            bench.wait_days(-1);
        }
    }
}
