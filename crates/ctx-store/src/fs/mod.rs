//! The file-system calls that this crate makes. Files are opened without following links or
//! blocking on a FIFO. The wait for a lock is limited in time, and new file names are flushed to
//! disk. This module also hashes files.

pub(crate) mod atomic;
pub(crate) mod folder;

pub(crate) use atomic::{
    TempFile, TempName, create, inherit, is_left, marked, never_used, persist, reap, reap_all,
    reap_beside, retained_in, take_the_place,
};
pub(crate) use folder::{Entries, make_dirs, remove_tree};

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ring::digest::{Context, SHA256};
use rustix::fs::OFlags;
use xxhash_rust::xxh3::Xxh3;

use crate::error::{OrCannot, Result, StoreError};
use crate::os::is_link_error;

/// How long to wait for a lock that is usually held for only a few milliseconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long to wait for a lock that is usually held until its holder exits. The wait is not zero,
/// because a process that another thread has just forked holds our lock until it calls `exec`.
pub(crate) const MOMENT: Duration = Duration::from_millis(50);

/// The pause between two attempts to take a lock or to open a leased file.
const POLL: Duration = Duration::from_millis(2);

/// Renames a file. This function and the next three try again if a signal interrupts the call,
/// which can happen on a FUSE file system.
pub(crate) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    uninterrupted(|| fs::rename(&from, &to))
}

pub(crate) fn hard_link(file: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    uninterrupted(|| fs::hard_link(&file, &link))
}

pub(crate) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    uninterrupted(|| fs::remove_file(&path))
}

/// Creates a folder that only its owner can enter.
pub(crate) fn create_private_dir(dir: &Path) -> io::Result<()> {
    uninterrupted(|| DirBuilder::new().mode(0o700).create(dir))
}

fn uninterrupted(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Returns options that open a file for reading, without following a link or blocking on a FIFO.
pub(crate) fn careful() -> OpenOptions {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    options
}

/// Opens a file with the options from [`careful`]. Waits while another run holds a lease on the
/// file in order to rename it, because a non-blocking open would fail.
pub(crate) fn open_careful(path: &Path) -> io::Result<File> {
    open_patiently(&careful(), path)
}

/// Like [`open_careful`], but opens the file with the given options.
pub(crate) fn open_patiently(options: &OpenOptions, path: &Path) -> io::Result<File> {
    let begun = Instant::now();
    loop {
        match options.open(path) {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && begun.elapsed() < PATIENCE =>
            {
                std::thread::sleep(POLL);
            }
            opened => return opened,
        }
    }
}

/// Opens a regular file for reading. Refuses any other kind of file, without blocking on a FIFO.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let file = open_careful(path)?;
    let is_plain = file.metadata()?.is_file();
    is_plain.then_some(file).ok_or_else(|| io::Error::other("it is not a regular file"))
}

/// Refuses anything that is not a regular file. A symbolic link is refused as well, because links
/// are not followed.
pub(crate) fn only_regular(
    opened: io::Result<File>,
    action: &'static str,
    path: &Path,
) -> Result<File> {
    if opened.as_ref().is_err_and(is_link_error) {
        return Err(StoreError::refused(path, "is a symbolic link"));
    }
    let file = opened.or_cannot(action, path)?;
    if !file.metadata().or_cannot("read", path)?.is_file() {
        return Err(StoreError::refused(path, "is not a regular file"));
    }
    Ok(file)
}

/// The device and inode number of a file. As long as the file is open or has a name, no other file
/// has the same pair.
pub(crate) type FileId = (u64, u64);

pub(crate) fn id_of(meta: &Metadata) -> FileId {
    (meta.dev(), meta.ino())
}

/// Returns the device and inode number of the file at `path`. Does not follow links.
pub(crate) fn file_id(path: &Path) -> io::Result<FileId> {
    fs::symlink_metadata(path).map(|meta| id_of(&meta))
}

/// Whether two sets of metadata describe the same file.
pub(crate) fn is_same_file(one: &Metadata, other: &Metadata) -> bool {
    id_of(one) == id_of(other)
}

/// Whether two sets of metadata describe the same file, with the same length and modification time.
pub(crate) fn is_unchanged(now: &Metadata, then: &Metadata) -> bool {
    let state = |meta: &Metadata| (meta.len(), meta.mtime(), meta.mtime_nsec());
    is_same_file(now, then) && state(now) == state(then)
}

/// Whether a line begins at this offset in a file.
pub(crate) fn begins_line(file: &File, at: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if at > 0 {
        file.read_exact_at(&mut last, at - 1)?;
    }
    Ok(last == [b'\n'])
}

/// Whether a file is empty or ends with a newline.
pub(crate) fn ends_line(file: &File) -> io::Result<bool> {
    begins_line(file, file.metadata()?.len())
}

/// Returns `None` instead of an error if the file does not exist.
pub(crate) fn if_there<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

/// Whether anything exists at `path`, even if it is a broken link.
pub(crate) fn is_there(path: &Path) -> Result<bool> {
    Ok(if_there(fs::symlink_metadata(path).or_cannot("read", path))?.is_some())
}

/// Returns the directory that contains `path`, which is `.` for a bare file name. For such a name,
/// `Path::parent` would return an empty path.
pub(crate) fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the names in `dir` to disk, so that they survive a power cut.
pub(crate) fn sync_dir(dir: &Path) -> Result<()> {
    File::open(dir).and_then(|dir| dir.sync_all()).or_cannot("sync", dir)
}

/// Flushes the new name of a file to disk.
pub(crate) fn sync_name(path: &Path) -> Result<()> {
    let synced = File::open(parent(path)).and_then(|dir| dir.sync_all());
    synced.map_err(|source| StoreError::NotDurable { path: path.to_owned(), source })
}

/// Returns the file names in a folder, except those that are not UTF-8. The list is empty if the
/// folder does not exist.
pub fn file_names(folder: &Path) -> Result<Vec<String>> {
    let names = Entries::of(folder).and_then(Entries::names);
    Ok(if_there(names.or_cannot("read", folder))?.unwrap_or_default())
}

/// Locks a file. If another process holds the lock, retries until `patience` has passed. Also
/// retries if a signal interrupts the call.
pub(crate) fn try_lock(file: &File, patience: Duration) -> Result<(), TryLockError> {
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                std::thread::sleep(POLL);
            }
            done => return done,
        }
    }
}

/// Locks the file at `path`, as [`try_lock`] does. `busy` returns the error message for a file that
/// stays locked.
pub(crate) fn lock(
    file: &File,
    path: &Path,
    patience: Duration,
    busy: impl FnOnce() -> String,
) -> Result<()> {
    try_lock(file, patience).or_else(|error| match error {
        TryLockError::WouldBlock => Err(StoreError::Busy(busy())),
        TryLockError::Error(error) => Err(error).or_cannot("lock", path),
    })
}

/// Waits long enough for another run to notice that a lock it is trying to take is now free.
pub(crate) fn let_others_in() {
    std::thread::sleep(2 * POLL);
}

/// Formats bytes as lower-case hex digits.
pub(crate) fn hex(bytes: impl AsRef<[u8]>) -> String {
    let digits = bytes.as_ref().iter().map(|byte| format!("{byte:02x}"));
    digits.collect()
}

/// Returns the sha256 of all remaining bytes in `reader`, in hex digits.
pub fn hash(reader: &mut impl Read) -> io::Result<String> {
    let mut hasher = Context::new(&SHA256);
    hash_into(&mut hasher, reader)?;
    Ok(hex(hasher.finish()))
}

/// Starts a fingerprint, which lets this run recognize bytes that it has read before. Each run uses
/// a random seed, so that an attacker cannot craft other bytes with the same fingerprint.
pub(crate) fn fingerprint() -> Xxh3 {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(()));
    Xxh3::with_seed(*SEED)
}

/// Returns the fingerprint of all remaining bytes in `reader`.
pub(crate) fn fingerprint_of(reader: &mut impl Read) -> io::Result<u128> {
    let mut fingerprint = fingerprint();
    read_through(reader, |bytes| fingerprint.update(bytes))?;
    Ok(fingerprint.digest128())
}

/// Hashes all remaining bytes in `reader`, and returns how many there were.
pub(crate) fn hash_into(hasher: &mut Context, reader: &mut impl Read) -> io::Result<u64> {
    read_through(reader, |bytes| hasher.update(bytes))
}

/// Passes all remaining bytes in `reader` to `add`, block by block, and returns how many there
/// were.
pub(crate) fn read_through(reader: &mut impl Read, mut add: impl FnMut(&[u8])) -> io::Result<u64> {
    let add = |bytes: &[u8]| {
        add(bytes);
        Ok(())
    };
    each_block(reader, |read| read, add)
}

/// Like `read_through`, but `add` may fail. `named` converts a read error into the caller's error
/// type.
pub fn each_block<E>(
    reader: &mut (impl Read + ?Sized),
    named: impl Fn(io::Result<usize>) -> Result<usize, E>,
    mut add: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut buffer = vec![0; 128 * 1024];
    let mut length = 0;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(length),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => named(read)?,
        };
        add(&buffer[..count])?;
        length += count as u64;
    }
}

/// A reader that hashes its input as it is read, for input that can be read only once. All clones
/// of the reader read the same input, so one clone can be handed to a consumer while another clone
/// returns the hash.
#[derive(Clone)]
pub struct HashingReader(Arc<Mutex<Input>>);

struct Input {
    reader: Box<dyn Read + Send>,
    hasher: Context,
}

impl HashingReader {
    /// Hashes everything that is read from `reader`.
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self(Arc::new(Mutex::new(Input { reader, hasher: Context::new(&SHA256) })))
    }

    /// Reads the rest of the input and returns the sha256 of the whole input.
    pub fn finish(mut self) -> io::Result<String> {
        io::copy(&mut self, &mut io::sink())?;
        let input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(hex(input.hasher.clone().finish()))
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut input = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = input.reader.read(buffer)?;
        input.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod files_tests {
    use std::fs::{self, File};
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::{PATIENCE, file_names, if_there, lock, open_plain, parent};
    use crate::error::OrCannot;

    #[test]
    fn only_regular_files_are_opened() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("file");
        fs::write(&file, "x").expect("written");
        symlink(&file, dir.path().join("link")).expect("a link");
        assert!(open_plain(&file).is_ok());
        for name in ["link", "."] {
            assert!(open_plain(&dir.path().join(name)).is_err(), "{name}");
        }
        let none = dir.path().join("none");
        let missing = if_there(open_plain(&none).or_cannot("open", &none));
        assert!(missing.expect("no failure").is_none());
    }

    #[test]
    fn a_bare_name_lies_in_the_current_directory() {
        assert_eq!(parent(Path::new("out")), Path::new("."));
        assert_eq!(parent(Path::new("a/out")), Path::new("a"));
        assert_eq!(parent(Path::new("/out")), Path::new("/"));
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_names() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("a"), "").expect("written");
        assert_eq!(file_names(dir.path()).expect("read"), ["a"]);
        assert!(file_names(&dir.path().join("none")).expect("none").is_empty());
        assert!(file_names(&dir.path().join("a")).is_err(), "no folder");
    }

    #[test]
    fn a_lock_is_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("lock");
        let holder = File::create(&path).expect("a file");
        holder.lock().expect("a lock");
        let waiting = std::thread::spawn({
            let file = File::open(&path).expect("a file");
            move || lock(&file, Path::new("lock"), PATIENCE, || "busy".to_owned())
        });
        holder.unlock().expect("free");
        assert!(waiting.join().expect("no panic").is_ok());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use super::{HashingReader, hash, uninterrupted};

    #[test]
    fn an_interrupted_call_is_made_again() {
        let mut left = 3;
        let done = uninterrupted(|| {
            left -= 1;
            if left > 0 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
        });
        assert!(done.is_ok() && left == 0);
        let failed = uninterrupted(|| Err(io::ErrorKind::NotFound.into()));
        assert_eq!(failed.expect_err("another error").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn all_bytes_are_hashed_whoever_reads_them() {
        let expected = hash(&mut &b"abc"[..]).expect("from memory");
        assert!(expected.starts_with("ba7816bf8f01"), "{expected}");
        for length in 0..=3 {
            let reader = HashingReader::new(Box::new(&b"abc"[..]));
            let mut read = vec![0; length];
            let mut other = reader.clone();
            other.read_exact(&mut read).expect("from memory");
            assert_eq!(read, b"abc"[..length]);
            assert_eq!(reader.finish().expect("from memory"), expected);
        }
    }
}
