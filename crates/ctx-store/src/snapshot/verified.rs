//! Reads a snapshot's bytes, whether they are plain or packed. All code that reads a snapshot's
//! bytes goes through this module.
//!
//! A snapshot is packed some time after it is taken: `{id}.jsonl` becomes `{id}.jsonl.zst`, a zstd
//! file that `zstdcat` can read. At any moment, at least one of the two files, plain or packed, is
//! complete. Both files exist while a run is packing the snapshot, and after a run has been killed
//! while doing so.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Take};
use std::path::Path;

use zstd::stream::read::Decoder;

use crate::error::{OrCannot, Result};
use crate::fs::{hash, if_there, open_plain};
use crate::snapshot::meta::{Meta, PACKED};
use crate::{Entry, Flaw, SnapshotId, Store};

/// The base-2 logarithm of the largest accepted zstd window. The limit in `zstdcat` is also 2^27
/// bytes. Packing uses a window of 2^24 bytes.
const LARGEST_WINDOW: u32 = 27;

/// A reader for a snapshot's bytes, whether they are plain or packed.
pub struct SnapshotBytes {
    kept: Kept,
    /// The maximum number of unpacked bytes to read: one more than was saved, if the saved length
    /// is known. Without a limit, a damaged file might unpack to more bytes than any disk can hold.
    limit: u64,
}

enum Kept {
    Plain(File),
    Packed(Box<Take<Decoder<'static, BufReader<File>>>>),
}

impl SnapshotBytes {
    /// Opens a snapshot's plain or packed file. `length` is the number of unpacked bytes, if it is
    /// known.
    pub(crate) fn open(path: &Path, length: Option<u64>) -> io::Result<Self> {
        let file = open_plain(path)?;
        let limit = length.map_or(u64::MAX, |length| length.saturating_add(1));
        let is_packed = path.as_os_str().as_encoded_bytes().ends_with(PACKED.as_bytes());
        let kept = if is_packed { unpack(file, limit)? } else { Kept::Plain(file) };
        Ok(Self { kept, limit })
    }

    pub(crate) fn is_packed(&self) -> bool {
        matches!(self.kept, Kept::Packed(_))
    }

    /// Moves the reader back to the first byte.
    pub(crate) fn rewind(self) -> io::Result<Self> {
        let is_packed = self.is_packed();
        let mut file = match self.kept {
            Kept::Plain(file) => file,
            Kept::Packed(bytes) => bytes.into_inner().finish().into_inner(),
        };
        file.rewind()?;
        let kept = if is_packed { unpack(file, self.limit)? } else { Kept::Plain(file) };
        Ok(Self { kept, ..self })
    }

    /// Skips the next `count` bytes. Plain bytes are skipped by seeking, but packed bytes must be
    /// unpacked.
    pub fn skip(&mut self, count: u64) -> io::Result<()> {
        if let Kept::Plain(file) = &mut self.kept {
            return file.seek_relative(i64::try_from(count).map_err(io::Error::other)?);
        }
        io::copy(&mut self.take(count), &mut io::sink())?;
        Ok(())
    }

    /// Converts the reader into a seekable file that holds all bytes, positioned at the start.
    /// Packed bytes are unpacked into an unnamed temporary file.
    pub fn into_file(self) -> io::Result<File> {
        let mut bytes = self.rewind()?;
        if let Kept::Plain(file) = bytes.kept {
            return Ok(file);
        }
        let mut file = tempfile::tempfile()?;
        io::copy(&mut bytes, &mut file)?;
        file.rewind()?;
        Ok(file)
    }
}

fn unpack(file: File, limit: u64) -> io::Result<Kept> {
    let mut decoder = Decoder::new(file)?;
    decoder.window_log_max(LARGEST_WINDOW)?;
    Ok(Kept::Packed(Box::new(decoder.take(limit))))
}

impl Read for SnapshotBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.kept {
            Kept::Plain(file) => file.read(buffer),
            Kept::Packed(bytes) => bytes.read(buffer),
        }
    }
}

impl Store {
    /// Checks that the plain or packed file of a snapshot exists and has the right size. Looks for
    /// the plain file first, because if a run has just removed it, the packed file already exists.
    pub(crate) fn check_size(&self, id: &SnapshotId, meta: &Meta) -> Result<(), Flaw> {
        let Err((is_gone, flaw)) = size_of(&self.data_path(id), Some(meta.bytes)) else {
            return Ok(());
        };
        match size_of(&self.packed_path(id), meta.packed.as_ref().map(|packed| packed.bytes)) {
            Ok(()) => Ok(()),
            Err((false, packed)) if is_gone => Err(packed),
            Err(_) => Err(flaw),
        }
    }

    /// Checks the hash of a snapshot's bytes, and opens them for reading.
    pub fn open_verified(&self, entry: &Entry) -> Result<(SnapshotBytes, Meta)> {
        let meta = entry.trusted_meta()?;
        let bytes = match open_checked(entry, &self.data_path(&entry.id), &meta) {
            Ok(plain) => plain,
            Err(error) => {
                if_there(open_checked(entry, &self.packed_path(&entry.id), &meta))?.ok_or(error)?
            }
        };
        Ok((bytes, meta))
    }

    /// Opens a snapshot's bytes without comparing them with its commit record.
    pub fn open_bytes(&self, id: &SnapshotId) -> Result<SnapshotBytes> {
        let open = |path: &Path| SnapshotBytes::open(path, None).or_cannot("read", path);
        let plain = if_there(open(&self.data_path(id)))?;
        plain.map_or_else(|| open(&self.packed_path(id)), Ok)
    }
}

pub(super) fn open_checked(entry: &Entry, path: &Path, meta: &Meta) -> Result<SnapshotBytes> {
    let mut bytes = SnapshotBytes::open(path, Some(meta.bytes)).or_cannot("read", path)?;
    let found = match hash(&mut bytes) {
        // An error without an OS error code does not come from the operating system; it means that
        // the bytes are damaged.
        Err(error) if error.raw_os_error().is_none() => {
            let name = path.file_name().unwrap_or_default();
            return Err(entry.damaged(format!("{}: {error}", name.display())));
        }
        found => found.or_cannot("read", path)?,
    };
    if found != meta.sha256 {
        return Err(entry.damaged(format!("its sha256 is {found} instead of {}", meta.sha256)));
    }
    bytes.rewind().or_cannot("read", path)
}

/// Checks the size of a plain or packed file. The error says whether the file is missing.
fn size_of(path: &Path, expected: Option<u64>) -> Result<(), (bool, Flaw)> {
    let data = fs::symlink_metadata(path).map_err(|error| {
        let flaw = Flaw::of(&error, format!("its bytes are missing ({error})"));
        (error.kind() == io::ErrorKind::NotFound, flaw)
    })?;
    let damaged = |why| Err((false, Flaw::Damaged(why)));
    if !data.is_file() {
        return damaged("its bytes are not in a regular file".to_owned());
    }
    match expected {
        Some(expected) if expected != data.len() => {
            damaged(format!("it has {} bytes instead of {expected}", data.len()))
        }
        _ => Ok(()),
    }
}
