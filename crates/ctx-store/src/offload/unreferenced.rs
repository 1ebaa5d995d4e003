//! Decides which offloaded files may be removed. An offloaded file may be removed if no transcript
//! of its session refers to it. A transcript is a session file or a snapshot. If one of a session's
//! transcripts cannot be read, all of that session's offloaded files stay.
//!
//! A transcript counts as referring to a file if it contains the first digits of the file's hash
//! anywhere.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use rustix::fs::OFlags;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{if_there, read_through};
use crate::offload::write::read_sources;
use crate::offload::{Folder, OffloadedFile};
use crate::snapshot::meta::{PACKED, snapshot_files};
use crate::trash::bins;
use crate::{Entry, RemovalReport, SessionFile, SessionId, SnapshotBytes, Store, StoreItem};

/// A session's snapshots, which are searched for references to offloaded files.
#[derive(Default)]
pub(crate) struct Snapshots {
    /// The paths of the files that hold the snapshots' bytes. Snapshots in the trash are included,
    /// because they may be restored.
    data: Vec<PathBuf>,
    /// The catalog entries of the snapshots that are not in the trash.
    entries: Vec<Entry>,
}

/// Each session's snapshots, collected in one pass over the store.
pub(crate) type SnapshotsBySession = BTreeMap<SessionId, Snapshots>;

impl Store {
    /// Returns a session's offloaded files that no transcript refers to and that were last used at
    /// or before `deadline`.
    pub fn unreferenced(
        &self,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Vec<OffloadedFile>> {
        self.unreferenced_among(&mut None, Some(session), session, deadline)
    }

    /// Like [`Store::unreferenced`], but for callers that examine several sessions. The snapshots
    /// of the session `searched`, or of all sessions if it is `None`, are listed only once, when
    /// the first session with unused files is found. `snapshots` keeps the list of snapshots
    /// between calls.
    pub(crate) fn unreferenced_among(
        &self,
        snapshots: &mut Option<SnapshotsBySession>,
        searched: Option<&SessionId>,
        session: &SessionId,
        deadline: DateTime<Utc>,
    ) -> Result<Vec<OffloadedFile>> {
        let Some(folder) = if_there(Folder::of_session(self, session))? else {
            return Ok(Vec::new());
        };
        let mut files = self.offloaded_files(session)?;
        files.retain(|file| is_unused(&folder, file, deadline));
        if files.is_empty() {
            return Ok(files);
        }
        let all = match snapshots {
            Some(found) => found,
            none => none.insert(self.snapshots_of(searched)?),
        };
        let snapshots = all.entry(session.clone()).or_default();
        let mut search = Search::new(files);
        for path in &snapshots.data {
            search_snapshot(&mut search, path)?;
        }
        for path in self.live_files(session, snapshots)? {
            SessionFile::open(&path)
                .and_then(|live| search.look_through(&mut &live.file).or_cannot("read", &live.path))
                .map_err(|error| StoreError::Unsearchable(error.to_string()))?;
        }
        Ok(search.unreferenced())
    }

    /// Finds one session's snapshots, or those of all sessions if `session` is `None`. Looks in the
    /// trash last, so that a snapshot that is moved there in the meantime is not missed.
    fn snapshots_of(&self, session: Option<&SessionId>) -> Result<SnapshotsBySession> {
        let mut found = SnapshotsBySession::new();
        for entry in self.catalog(session)?.entries {
            found.entry(entry.id.session.clone()).or_default().entries.push(entry);
        }
        let mut dirs = vec![self.snapshots()];
        // Include damaged files, because they may still be repaired by hand.
        dirs.extend(bins(&self.damaged(), None)?);
        dirs.extend(bins(&self.trash(), None)?);
        for dir in dirs {
            for file in snapshot_files(&dir)?.into_iter().filter(|file| !file.is_meta) {
                found.entry(file.id.session).or_default().data.push(file.path);
            }
        }
        Ok(found)
    }

    /// Returns the paths of a session's transcripts outside the store. Fails if the path of any
    /// such transcript is unknown.
    fn live_files(&self, session: &SessionId, snapshots: &Snapshots) -> Result<Vec<PathBuf>> {
        let unknown = |why: &str| StoreError::Unsearchable(why.to_owned());
        let live = read_sources(&Folder::of_session(self, session)?)?;
        let mut live = live.ok_or_else(|| unknown("one transcript was written to a pipe"))?;
        for Entry { id, meta } in &snapshots.entries {
            let meta = meta.as_ref();
            let meta = meta.map_err(|why| unknown(&format!("snapshot {id}: {why}")))?;
            live.extend(meta.source.as_ref().map(PathBuf::from));
        }
        if live.is_empty() {
            return Err(unknown("no transcript of the session is known"));
        }
        live.sort();
        live.dedup();
        Ok(live)
    }

    /// Moves offloaded files into the trash, except those used after `deadline`.
    pub fn discard_offloaded(
        &self,
        files: &[OffloadedFile],
        deadline: DateTime<Utc>,
    ) -> Result<RemovalReport> {
        let items = files.iter().cloned().map(StoreItem::Offloaded).collect();
        self.move_into("gc", &self.trash(), items, |item| match item {
            StoreItem::Snapshot(_) => Ok(false),
            StoreItem::Offloaded(file) => {
                let folder = Folder::of_session(self, &file.session);
                Ok(!folder.is_ok_and(|folder| is_unused(&folder, file, deadline)))
            }
        })
    }
}

/// Searches a snapshot's bytes for references to offloaded files. Packed bytes that cannot be
/// unpacked are an error, because they may refer to any file. If the plain file is
/// missing, the packed file is searched. If both are missing, another run has removed the snapshot
/// in the meantime.
fn search_snapshot(search: &mut Search, path: &Path) -> Result<()> {
    for path in [path, &path.with_extension(&PACKED[1..])] {
        let bytes = SnapshotBytes::open(path, None).or_cannot("read", path);
        let Some(mut bytes) = if_there(bytes)? else { continue };
        return match search.look_through(&mut bytes) {
            Err(error) if bytes.is_packed() && error.raw_os_error().is_none() => {
                Err(StoreError::Unsearchable(format!("{}: {error}", path.display())))
            }
            searched => searched.or_cannot("read", path),
        };
    }
    Ok(())
}

fn is_unused(folder: &Folder, file: &OffloadedFile, deadline: DateTime<Utc>) -> bool {
    let file = folder.open(&file.name.to_string(), OFlags::RDONLY).ok();
    let used = file.and_then(|file| file.metadata().ok()?.modified().ok());
    used.is_some_and(|used| DateTime::<Utc>::from(used) <= deadline)
}

/// A reference to a file contains at least this many digits of the file's hash. A path contains all
/// 64 digits, and a handle contains 8 (or 12 if an older version of the tools wrote it).
const DIGITS: u32 = 8;
const MASK: u64 = (1 << (4 * DIGITS)) - 1;

/// A search for files that no transcript refers to.
pub(super) struct Search {
    unnamed: HashMap<u64, Vec<OffloadedFile>>,
}

impl Search {
    pub(super) fn new(files: Vec<OffloadedFile>) -> Self {
        let mut unnamed: HashMap<u64, Vec<OffloadedFile>> = HashMap::new();
        for file in files {
            let key = file.name.sha256.bytes().filter_map(digit);
            let key = key.take(DIGITS as usize).fold(0, |key, d| key << 4 | d);
            unnamed.entry(key).or_default().push(file);
        }
        Self { unnamed }
    }

    /// Reads a transcript from `reader`, and removes from the search the files that it refers to.
    pub(super) fn look_through(&mut self, reader: &mut impl Read) -> io::Result<()> {
        // The most recent hex digits as a number, and how many hex digits have been read in a row.
        let (mut window, mut run) = (0, 0_u32);
        read_through(reader, |block| {
            for byte in block {
                let Some(digit) = digit(*byte) else {
                    run = 0;
                    continue;
                };
                window = (window << 4 | digit) & MASK;
                run = (run + 1).min(DIGITS);
                if run == DIGITS {
                    self.unnamed.remove(&window);
                }
            }
        })?;
        Ok(())
    }

    /// Returns the files that none of the searched transcripts refers to.
    pub(super) fn unreferenced(self) -> Vec<OffloadedFile> {
        let mut files: Vec<OffloadedFile> = self.unnamed.into_values().flatten().collect();
        files.sort();
        files
    }
}

fn digit(byte: u8) -> Option<u64> {
    match byte {
        b'0'..=b'9' => Some(u64::from(byte - b'0')),
        b'a'..=b'f' => Some(u64::from(byte - b'a' + 10)),
        _ => None,
    }
}

#[cfg(test)]
mod named_tests {
    use super::Search;
    use crate::{Form, OffloadName, OffloadedFile};

    fn file(text: &str) -> OffloadedFile {
        OffloadedFile {
            session: "demo".parse().expect("an id"),
            name: OffloadName::of(text.as_bytes(), Form::TEXT),
        }
    }

    #[test]
    fn a_name_is_found_wherever_it_stands() {
        let hash = file("x").name.sha256.clone();
        let half = 128 * 1024 - 4;
        for (text, named) in [
            (format!("Tool result is at: /s/offloaded/demo/{hash}.txt"), true),
            (format!("⟦ctx:{} 12 bytes⟧", &hash[..12]), true),
            (format!("ctx-offload --show {}⟧", &hash[..8]), true),
            (format!("\\u00e9{}", &hash[..8]), true),
            (format!("{}{}", " ".repeat(half), &hash[..8]), true),
            (format!("{}-", &hash[..7]), false),
            (format!("{}-{}", &hash[..4], &hash[4..8]), false),
            (hash[..8].to_uppercase(), false),
            (String::new(), false),
        ] {
            let mut search = Search::new(vec![file("x"), file("y")]);
            search.look_through(&mut text.as_bytes()).expect("reads");
            let left = search.unreferenced();
            assert_eq!(!left.contains(&file("x")), named, "{}", text.trim());
            assert!(left.contains(&file("y")));
        }
    }
}
