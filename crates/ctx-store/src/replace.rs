//! New content for a session file that an agent may be writing: nothing that
//! was in it, and nothing that arrives meanwhile, is lost.
//!
//! lock → is it open for writing? → snapshot → new file beside it → link to the
//! old one → what arrived since is carried over → rename (the one commit point)
//! → what arrived through an old handle is carried over.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::atomic::{AtomicFile, inherit, parent, persist, sync_dir};
use crate::catalog::hash;
use crate::error::{Naming, StoreError};
use crate::live::Live;
use crate::temp::{self, TempFile};
use crate::writers::{Writers, writers};
use crate::{Facts, Kind, Origin, SessionId, Snapshot, Store, hex};

/// So often the file may grow under our eyes before we give up.
const ROUNDS: usize = 5;
/// So long a silence of a process that still has the old file open is waited for…
const QUIET: Duration = Duration::from_millis(50);
/// …and so long at most.
const DRAIN: Duration = Duration::from_millis(1000);

/// What is to stand in a session file.
pub struct NewContent<'a> {
    /// All its bytes.
    pub reader: &'a mut dyn Read,
    /// Their hash, which what is read and what is written must have.
    pub sha256: &'a str,
    /// What the audit log calls the operation: `rollback`.
    pub operation: &'static str,
    /// The kind of the snapshot that is taken of what is replaced.
    pub kind: Kind,
}

/// How a replacement ended.
#[derive(Debug)]
pub enum Replaced {
    /// The file had that content already; nothing was done.
    Same,
    /// There was no file; there is one now.
    Created,
    /// The content is new.
    New {
        /// What was there.
        before: Box<Snapshot>,
        /// Bytes that arrived meanwhile and now stand behind the new content.
        late_bytes: u64,
        /// The old file, when a process still has it open for writing.
        retained: Option<PathBuf>,
    },
}

impl Store {
    /// Replaces the content of a session file, or creates it.
    pub fn replace(
        &self,
        path: &Path,
        session: &SessionId,
        new: NewContent<'_>,
    ) -> Result<Replaced, StoreError> {
        let _lock = self.lock_session(session)?;
        if matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound)
        {
            return self.create(path, session, new);
        }
        self.sweep_retained(Some(session))?;
        let live = Live::open(path)?;
        claim(&live)?;
        let draft = live.draft(self)?;
        if draft.sha256() == new.sha256 {
            return Ok(Replaced::Same);
        }
        let origin = Origin {
            kind: new.kind,
            source: Some(live.source()),
            tokens: None,
        };
        let before = draft.commit(session, origin)?;
        let mut facts = Facts {
            session: Some(session.to_string()),
            snapshots: vec![before.id.to_string()],
            sha256_before: Some(before.meta.sha256.clone()),
            sha256: Some(new.sha256.to_owned()),
            ..Facts::default()
        };
        let operation = self.begin(new.operation, &facts)?;
        let sha256 = new.sha256;
        let mut swap = Swap::prepare(&live, &before, new)?;
        swap.catch_up()?;
        let (late_bytes, retained) = swap.commit(sha256)?;
        facts.late_bytes = Some(late_bytes);
        self.done(&operation, &facts)?;
        Ok(Replaced::New {
            before: Box::new(before),
            late_bytes,
            retained,
        })
    }

    fn create(
        &self,
        path: &Path,
        session: &SessionId,
        new: NewContent<'_>,
    ) -> Result<Replaced, StoreError> {
        let facts = Facts {
            session: Some(session.to_string()),
            sha256: Some(new.sha256.to_owned()),
            ..Facts::default()
        };
        let operation = self.begin(new.operation, &facts)?;
        let mut file = AtomicFile::create(path)?;
        copy_checked(new.reader, &mut file, new.sha256, path)?;
        file.commit()?;
        self.done(&operation, &facts)?;
        Ok(Replaced::Created)
    }
}

/// Refuses what must not be replaced: a file with other names, or in use.
fn claim(live: &Live) -> Result<(), StoreError> {
    if live.meta.nlink() > 1 {
        return Err(StoreError::Refused {
            path: live.path.clone(),
            why: "has several names (hard links): replacing it would part them",
        });
    }
    // Tools with another store, and others that respect locks on files.
    if let Err(TryLockError::WouldBlock) = live.file.try_lock() {
        let name = live.path.display();
        return Err(StoreError::Busy(format!(
            "{name} is locked by another process"
        )));
    }
    refuse_writers(live)
}

fn refuse_writers(live: &Live) -> Result<(), StoreError> {
    match writers(&live.file) {
        Writers::Somebody(who) => Err(StoreError::Busy(format!(
            "{} is open for writing by {who}",
            live.path.display()
        ))),
        Writers::Nobody | Writers::NobodySeen => Ok(()),
    }
}

/// Copies all of `reader`, which must have that hash.
fn copy_checked(
    reader: &mut dyn Read,
    writer: &mut dyn Write,
    sha256: &str,
    path: &Path,
) -> Result<u64, StoreError> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 128 * 1024];
    let mut bytes = 0;
    loop {
        let n = match reader.read(&mut buffer) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other.naming("read the new content of", path)?,
        };
        hasher.update(&buffer[..n]);
        writer.write_all(&buffer[..n]).naming("write", path)?;
        bytes += n as u64;
    }
    let found = hex(&hasher.finalize());
    if found == sha256 {
        Ok(bytes)
    } else {
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("the new content has sha256 {found} instead of {sha256}"),
        })
    }
}

/// The new file beside the live one, up to the rename and a little beyond.
struct Swap<'a> {
    live: &'a Live,
    before: &'a Snapshot,
    temp: TempFile,
    /// The second name of the old file; removed when the swap fails.
    link: Link,
    /// Length of the new content.
    length: u64,
    /// So much of the old file is in the snapshot or carried over.
    covered: u64,
    /// Bytes carried over.
    late: u64,
    modified: (i64, i64),
}

struct Link {
    path: PathBuf,
    keep: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        if !self.keep {
            // What stays is removed by the next run: the live file has the same inode.
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl<'a> Swap<'a> {
    fn prepare(
        live: &'a Live,
        before: &'a Snapshot,
        new: NewContent<'_>,
    ) -> Result<Self, StoreError> {
        let path = &live.path;
        let dir = parent(path);
        let name = path.file_name().unwrap_or_default();
        temp::reap(dir, Some(name));
        let mut temp = TempFile::create(dir, name, 0o600).naming("create a file beside", path)?;
        let length = copy_checked(new.reader, &mut temp, new.sha256, path)?;
        inherit(temp.file(), &live.meta).naming("keep the mode of", path)?;
        temp.file().sync_all().naming("sync", temp.path())?;

        let retained = before.meta.retained.as_deref().unwrap_or_default();
        let link = dir.join(retained);
        fs::hard_link(path, &link).naming("keep a link to", path)?;
        let link = Link {
            path: link,
            keep: false,
        };
        sync_dir(dir).naming("sync", dir)?;
        Ok(Self {
            live,
            before,
            temp,
            link,
            length,
            covered: before.meta.bytes,
            late: 0,
            modified: (live.meta.mtime(), live.meta.mtime_nsec()),
        })
    }

    /// Carries over what was appended since the snapshot, until nothing more comes.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        for _ in 0..ROUNDS {
            let now = self.live.again()?;
            let modified = (now.mtime(), now.mtime_nsec());
            if now.len() == self.covered && modified == self.modified {
                return refuse_writers(self.live);
            }
            self.refuse_edits()?;
            self.modified = modified;
            let mut out = self.temp.file();
            self.covered = carry(
                self.live,
                self.before,
                self.covered,
                now.len(),
                &mut out,
                &mut self.late,
            )?;
            out.sync_all().naming("sync", self.temp.path())?;
        }
        Err(StoreError::Busy(format!(
            "{} keeps growing",
            self.live.path.display()
        )))
    }

    /// Growing is all that the file may have done since the snapshot.
    fn refuse_edits(&self) -> Result<(), StoreError> {
        let path = &self.live.path;
        let mut file = &self.live.file;
        file.seek(SeekFrom::Start(0)).naming("read", path)?;
        let found = hash(&mut file.take(self.before.meta.bytes)).naming("read", path)?;
        if found == self.before.meta.sha256 {
            Ok(())
        } else {
            Err(StoreError::Changed(path.clone()))
        }
    }

    /// The rename, and what comes after it. Returns the bytes carried over, and
    /// the old file when it is still in use.
    fn commit(self, sha256: &str) -> Result<(u64, Option<PathBuf>), StoreError> {
        let Self {
            live,
            before,
            temp,
            mut link,
            length,
            covered,
            mut late,
            ..
        } = self;
        let path = &live.path;
        let renamed = persist(temp, path);
        link.keep = match &renamed {
            Ok(_) => true,
            Err(error) => error.is_committed(),
        };
        let mut file = renamed?;
        let done =
            |error: StoreError| error.after(format!("the replacement of {}", path.display()));
        let quiet = drain(live, before, covered, &mut file, &mut late).map_err(done)?;
        check(path, length, sha256).map_err(done)?;
        if quiet {
            // Nobody can write to it any longer, and all its bytes are elsewhere.
            fs::remove_file(&link.path)
                .naming("remove", &link.path)
                .map_err(done)?;
            return Ok((late, None));
        }
        Ok((late, Some(link.path.clone())))
    }
}

/// Appends what the old file has beyond `from`; returns up to where.
fn carry(
    live: &Live,
    before: &Snapshot,
    from: u64,
    to: u64,
    out: &mut &File,
    late: &mut u64,
) -> Result<u64, StoreError> {
    let path = &live.path;
    if to <= from {
        return Ok(from);
    }
    // A line that was being written when the snapshot was taken comes whole.
    let begin = if from == before.meta.bytes {
        from - before.meta.tail_bytes
    } else {
        from
    };
    let mut bytes = Vec::new();
    if *late == 0 && !ends_line(out).naming("read", path)? {
        bytes.push(b'\n');
    }
    let mut old = &live.file;
    old.seek(SeekFrom::Start(begin)).naming("read", path)?;
    old.take(to - begin)
        .read_to_end(&mut bytes)
        .naming("read", path)?;
    // One write: an agent that appends to the new file at this moment is not torn.
    out.seek(SeekFrom::End(0)).naming("write", path)?;
    out.write_all(&bytes).naming("write", path)?;
    *late += to - begin;
    Ok(to)
}

/// Whether a file is empty or ends with a line end.
fn ends_line(file: &File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        file.read_exact_at(&mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}

/// Carries over what reaches the old file through a handle that was opened
/// before the rename. True when the kernel says that no more can come.
fn drain(
    live: &Live,
    before: &Snapshot,
    mut covered: u64,
    file: &mut File,
    late: &mut u64,
) -> Result<bool, StoreError> {
    let path = &live.path;
    rustix::fs::fcntl_setfl(&*file, rustix::fs::OFlags::APPEND)
        .map_err(io::Error::from)
        .naming("append to", path)?;
    let begun = Instant::now();
    let mut moved = begun;
    loop {
        let who = writers(&live.file);
        let length = live.file.metadata().naming("read", path)?.len();
        if length > covered {
            covered = carry(live, before, covered, length, &mut &*file, late)?;
            file.sync_all().naming("sync", path)?;
            moved = Instant::now();
            continue;
        }
        if who == Writers::Nobody {
            return Ok(true);
        }
        if moved.elapsed() > QUIET || begun.elapsed() > DRAIN {
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Reads back what was written.
fn check(path: &Path, length: u64, sha256: &str) -> Result<(), StoreError> {
    let file = File::open(path).naming("read", path)?;
    let found = hash(&mut file.take(length)).naming("read", path)?;
    if found == sha256 {
        Ok(())
    } else {
        Err(StoreError::Damaged {
            id: path.display().to_string(),
            why: format!("it reads back with sha256 {found} instead of {sha256}"),
        })
    }
}
