//! Finds the session files on a machine without reading any, and tells by size and times whether a
//! file is the one that was read before.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ctx_store::is_store;
use serde::{Deserialize, Serialize};
use walkdir::{DirEntry, WalkDir};

use crate::agents::{AgentFolder, is_of_helper, is_packed, is_session_name};

/// A session file, or what looks like one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The agent whose folder it is in.
    pub agent: Option<&'static str>,
    /// Size and times of the file.
    pub mark: Mark,
    /// Whether it is packed, so that nothing else is known about it.
    pub is_packed: bool,
}

/// The files found, and the paths that could not be read.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    /// Each file once, in the order of the places, there by name.
    pub files: Vec<SessionFile>,
    /// Within the scope: folders, files and links.
    pub unreadable: Vec<(PathBuf, io::Error)>,
    /// Named paths that could not be read, with the reason.
    pub failed: Vec<(PathBuf, io::Error)>,
    /// How many files of helpers were passed over.
    pub helpers: usize,
}

/// Looks for session files in the named files and folders or, if none is named, in the folders of
/// agents, of which missing ones are skipped. The places tell which agent a file belongs to. Files
/// of helpers are looked for `with_helpers` only, unless they are named.
///
/// Links are followed, each file is found once, and what begins with a dot below a folder is
/// passed over, as are sockets, devices, and the snapshots in a store.
pub(crate) fn find(named: &[PathBuf], places: &[AgentFolder], with_helpers: bool) -> Finds {
    let mut finder = Finder { with_helpers, seen: HashSet::new(), finds: Finds::default() };
    for path in named {
        finder.named(path, places);
    }
    for place in places.iter().filter(|_| named.is_empty()) {
        finder.place(place);
    }
    finder.without_packed_twins();
    finder.finds
}

struct Finder {
    with_helpers: bool,
    seen: HashSet<(u64, u64)>,
    finds: Finds,
}

impl Finder {
    fn place(&mut self, place: &AgentFolder) {
        match fs::metadata(&place.folder) {
            Ok(_) => self.walk(&place.folder, &|_| Some(place)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.finds.unreadable.push((place.folder.clone(), error)),
        }
    }

    fn named(&mut self, path: &Path, places: &[AgentFolder]) {
        let of = |path: &Path| {
            let path = std::path::absolute(path).ok()?;
            places.iter().find(|place| path.starts_with(&place.folder))
        };
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => match fs::read_dir(path) {
                Ok(_) => self.walk(path, &of),
                Err(error) => self.finds.failed.push((path.to_owned(), error)),
            },
            Ok(meta) if meta.is_file() => {
                self.add(path, of(path), &meta);
            }
            Ok(_) => {
                let error = io::Error::other("it is neither a file nor a folder");
                self.finds.failed.push((path.to_owned(), error));
            }
            Err(error) => self.finds.failed.push((path.to_owned(), error)),
        }
    }

    fn walk<'p>(&mut self, folder: &Path, place_of: &impl Fn(&Path) -> Option<&'p AgentFolder>) {
        let is_shown = |entry: &DirEntry| {
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let is_store = || entry.file_type().is_dir() && is_store(entry.path());
            entry.depth() == 0 || !is_hidden && !is_store()
        };
        let entries = WalkDir::new(folder).follow_links(true).sort_by_file_name();
        for entry in entries.into_iter().filter_entry(is_shown) {
            match entry {
                Ok(entry) => self.entry(&entry, place_of),
                Err(error) => self.unreadable(folder, error),
            }
        }
    }

    fn entry<'p>(
        &mut self,
        entry: &DirEntry,
        place_of: &impl Fn(&Path) -> Option<&'p AgentFolder>,
    ) {
        let path = entry.path();
        if !entry.file_type().is_file() || !is_session_name(path) {
            return;
        }
        let place = place_of(path);
        if place.is_some_and(|place| !place.may_hold(path)) {
            return;
        }
        if is_of_helper(path) && !self.with_helpers {
            self.finds.helpers += 1;
            return;
        }
        match entry.metadata() {
            Ok(meta) => self.add(path, place, &meta),
            Err(error) => self.unreadable(path, error),
        }
    }

    fn add(&mut self, path: &Path, place: Option<&AgentFolder>, meta: &Metadata) {
        // Which file it is, under whatever names.
        if self.seen.insert((meta.dev(), meta.ino())) {
            self.finds.files.push(SessionFile {
                path: path.to_owned(),
                agent: place.map(|it| it.agent),
                mark: Mark::of(meta),
                is_packed: is_packed(path),
            });
        }
    }

    fn unreadable(&mut self, folder: &Path, error: walkdir::Error) {
        let path = error.path().unwrap_or(folder).to_owned();
        let error = match error.into_io_error() {
            // The file was deleted since the folder was listed, which is not worth a report. A link
            // that leads nowhere was not.
            Some(error)
                if error.kind() == io::ErrorKind::NotFound
                    && fs::symlink_metadata(&path).is_err() =>
            {
                return;
            }
            Some(error) => error,
            None => io::Error::other("a link that leads back to a folder above it"),
        };
        self.finds.unreadable.push((path, error));
    }

    /// If a session is both packed and unpacked, Codex reads the unpacked file, so the packed one
    /// is dropped.
    fn without_packed_twins(&mut self) {
        let plain: HashSet<&Path> = self.finds.files.iter().map(|it| it.path.as_path()).collect();
        let has_twin = |found: &SessionFile| {
            found.is_packed
                && found.path.extension() == Some(OsStr::new("zst"))
                && plain.contains(found.path.with_extension("").as_path())
        };
        let twins: HashSet<PathBuf> =
            self.finds.files.iter().filter(|it| has_twin(it)).map(|it| it.path.clone()).collect();
        self.finds.files.retain(|it| !twins.contains(&it.path));
    }
}

/// The coarsest times of a file system (FAT). A file that changed more recently may change again and
/// look the same.
const TIME_STEP: Duration = Duration::from_secs(2);

/// Size, times and number of a file: where none of them has changed, its bytes have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Mark {
    /// The size in bytes.
    pub size: u64,
    /// When its bytes changed last: seconds since 1970, and nanoseconds.
    pub modified: (i64, i64),
    /// When anything of it changed last.
    pub(crate) changed: (i64, i64),
    pub(crate) device: u64,
    pub(crate) number: u64,
}

impl Mark {
    /// The mark of a file with this metadata.
    pub(crate) fn of(meta: &Metadata) -> Self {
        Self {
            size: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
            device: meta.dev(),
            number: meta.ino(),
        }
    }

    /// Whether the file had been still for long enough at `now` to be known again.
    pub(crate) fn is_settled(&self, now: SystemTime) -> bool {
        self.age(now).is_some_and(|age| age > TIME_STEP)
    }

    /// How long ago its bytes changed; `None` in the future.
    pub(crate) fn age(&self, now: SystemTime) -> Option<Duration> {
        let now = now.duration_since(UNIX_EPOCH).ok()?;
        let seconds = u64::try_from(self.modified.0).unwrap_or(0);
        let nanoseconds = u32::try_from(self.modified.1).unwrap_or(0);
        now.checked_sub(Duration::new(seconds, nanoseconds))
    }
}

#[cfg(test)]
mod tests;
