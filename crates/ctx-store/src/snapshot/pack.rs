//! Packs older snapshots by compressing their bytes into zstd files.
//!
//! The packed file is written in `tmp/`, flushed to disk, unpacked again, and checked against the
//! snapshot's hash. The packed file is then renamed and recorded in meta.json, and finally the
//! plain file is removed. The result of each step is on disk before the next step begins.
//! Therefore, no matter where a run is interrupted, one of the two files is complete, and the next
//! run can finish the work.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use chrono::{DateTime, Utc};
use ring::digest::{Context, SHA256};
use serde::Serialize;
use serde_with::skip_serializing_none;
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{
    TempFile, each_block, file_names, hash, hex, if_there, is_there, open_plain, persist,
};
use crate::snapshot::draft::EqualBytes;
use crate::snapshot::meta::{FileHash, Meta, PLAIN};
use crate::snapshot::verified::open_checked;
use crate::snapshot::{Entry, bytes_of_meta};
use crate::trash::{remove, sync_removal};
use crate::{Facts, SnapshotId, Store};

/// The zstd compression level. A higher level would make packing much slower and the files hardly
/// any smaller. For measurements, see `docs/benchmarks.md`.
const LEVEL: i32 = 9;

/// The base-2 logarithm of the window in which zstd finds repetitions. The window is 16 MiB, which
/// is larger than nearly every session. Unpacking needs the same amount of memory.
const WINDOW: u32 = 24;

/// The size of a snapshot and that of its packed file.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Packing {
    /// The size of the session in bytes.
    pub bytes: u64,
    /// The size of the packed file in bytes, or `None` in a dry run.
    pub packed_bytes: Option<u64>,
}

/// The result of a packing run.
#[derive(Debug, Default)]
pub struct PackReport {
    /// The snapshots that this run packed, or would pack in a dry run.
    pub packed: Vec<(SnapshotId, Packing)>,
    /// The errors for snapshots that could not be packed and are therefore unchanged.
    pub failed: Vec<StoreError>,
}

impl PackReport {
    /// Returns a dry run's report, which lists the snapshots that would be packed.
    pub(crate) fn planned(entries: Vec<Entry>) -> Self {
        let packing = |meta: Meta| Packing { bytes: meta.bytes, packed_bytes: None };
        let entries = entries.into_iter();
        let packed = entries.filter_map(|entry| Some((entry.id, packing(entry.meta.ok()?))));
        Self { packed: packed.collect(), failed: Vec::new() }
    }
}

/// A packed file: a new file that still has a temporary name, a file that a killed run left, or
/// another snapshot's packed file with the same bytes.
enum PackedFile {
    New(TempFile),
    There,
    Equal(EqualBytes),
}

/// The files packed in this run, keyed by the sha256 of their unpacked bytes, so that the same
/// bytes are packed only once.
type Done = BTreeMap<String, (SnapshotId, FileHash)>;

fn facts<'i>(ids: impl Iterator<Item = &'i SnapshotId>) -> Facts {
    let snapshots: Vec<String> = ids.map(SnapshotId::to_string).collect();
    Facts { count: Some(snapshots.len() as u64), snapshots, ..Facts::default() }
}

impl Store {
    /// Returns the snapshots among `entries` that can be trusted, are not packed, and were taken no
    /// later than `before`.
    pub fn unpacked(&self, mut entries: Vec<Entry>, before: DateTime<Utc>) -> Result<Vec<Entry>> {
        let names: BTreeSet<String> = file_names(&self.snapshots())?.into_iter().collect();
        entries.retain(|entry| {
            let is_old = entry.id.stamp.time <= before;
            is_old && entry.meta.is_ok() && names.contains(&format!("{}{PLAIN}", entry.id))
        });
        Ok(entries)
    }

    /// Packs snapshots one after the other. If a snapshot cannot be packed, the next one is tried,
    /// unless the disk is full.
    pub fn pack(&self, entries: &[Entry]) -> PackReport {
        let mut report = PackReport::default();
        if entries.is_empty() {
            return report;
        }
        let operation = match self.begin("pack", &facts(entries.iter().map(|entry| &entry.id))) {
            Ok(operation) => operation,
            Err(error) => return PackReport { failed: vec![error], ..report },
        };
        let mut done = Done::new();
        for entry in entries {
            match self.pack_one(entry, &mut done) {
                Ok(packing) => report.packed.extend(packing.map(|it| (entry.id.clone(), it))),
                Err(error) => report.failed.push(error),
            }
            if report.failed.last().is_some_and(StoreError::is_disk_full) {
                break;
            }
        }
        let mut facts = facts(report.packed.iter().map(|(id, _)| id));
        facts.bytes = Some(report.packed.iter().filter_map(|(_, it)| it.packed_bytes).sum());
        report.failed.extend(self.done(&operation, &facts).err());
        report
    }

    /// Packs one snapshot. Returns `None` if another run has packed or removed it in the meantime.
    fn pack_one(&self, entry: &Entry, done: &mut Done) -> Result<Option<Packing>> {
        let meta = entry.trusted_meta()?;
        let path = self.data_path(&entry.id);
        let Some(plain) = if_there(open_plain(&path).or_cannot("read", &path))? else {
            return Ok(None);
        };
        let mut is_done = None;
        if let Some(packed) = self.packed_before(entry, &meta) {
            is_done = self.swap_for_packed(&entry.id, &meta, PackedFile::There, packed)?;
        } else if let Some((id, packed)) = done.get(&meta.sha256) {
            let file =
                PackedFile::Equal(EqualBytes { id: id.clone(), packed: Some(packed.clone()) });
            is_done = self.swap_for_packed(&entry.id, &meta, file, packed.clone())?;
        }
        // If a hard link could not be created, compress the snapshot instead, because the file
        // system may not support hard links.
        if is_done.is_none() {
            let (file, packed) = self.compress(entry, &meta, plain)?;
            is_done = self.swap_for_packed(&entry.id, &meta, PackedFile::New(file), packed)?;
        }
        let Some(packed) = is_done else { return Ok(None) };
        let packing = Packing { bytes: meta.bytes, packed_bytes: Some(packed.bytes) };
        done.insert(meta.sha256, (entry.id.clone(), packed));
        Ok(Some(packing))
    }

    /// Returns the length and hash of a packed file that a killed run left, if the file is complete
    /// and recorded in meta.json.
    fn packed_before(&self, entry: &Entry, meta: &Meta) -> Option<FileHash> {
        let path = self.packed_path(&entry.id);
        let packed = meta.packed.clone()?;
        let is_whole = FileHash::of(&path).is_ok_and(|found| found == packed)
            && open_checked(entry, &path, meta).is_ok();
        is_whole.then_some(packed)
    }

    /// Writes the packed file in `tmp/` and reads it back. Does not hold a lock, so that other runs
    /// do not have to wait.
    fn compress(&self, entry: &Entry, meta: &Meta, plain: File) -> Result<(TempFile, FileHash)> {
        let path = self.data_path(&entry.id);
        let temp = self.temp("packed", 0o600)?;
        let mut encoder = encoder(temp, meta.bytes).or_cannot("pack", &path)?;
        let mut hasher = Context::new(&SHA256);
        // Read at most one byte more than expected. A longer file is damaged and may be very long.
        let mut plain = plain.take(meta.bytes + 1);
        let mut left = meta.bytes;
        let cannot_read = |read: io::Result<_>| read.or_cannot("read", &path);
        each_block(&mut plain, cannot_read, |block| {
            hasher.update(block);
            let wanted = usize::try_from(left).map_or(block.len(), |left| block.len().min(left));
            left -= wanted as u64;
            io::Write::write_all(&mut encoder, &block[..wanted]).or_not_written(&path)
        })?;
        let found = hex(hasher.finish());
        if found != meta.sha256 {
            return Err(entry.damaged(format!("its sha256 is {found} instead of {}", meta.sha256)));
        }
        let temp = encoder.finish().or_not_written(&path)?;
        temp.seal()?;
        let packed = FileHash::of(temp.path())?;
        // Read the packed file back before the plain file is removed.
        let unpacked = open_plain(temp.path()).and_then(Decoder::new);
        let unpacked = unpacked.and_then(|mut unpacked| hash(&mut unpacked));
        if unpacked.or_cannot("read", temp.path())? != meta.sha256 {
            let other = io::Error::other("unpacking the file does not return the original bytes");
            return Err(other).or_not_written(temp.path());
        }
        Ok((temp, packed))
    }

    /// Puts the packed file in place and removes the plain file. Returns `None` if the snapshot has
    /// been removed or changed in the meantime, or if a hard link cannot be created.
    fn swap_for_packed(
        &self,
        id: &SnapshotId,
        before: &Meta,
        file: PackedFile,
        packed: FileHash,
    ) -> Result<Option<FileHash>> {
        let mut locked = self.lock()?;
        // Read the commit record again, because the snapshot may have been put on hold or removed
        // in the meantime.
        let path = self.meta_path(id);
        let Some(bytes) = if_there(bytes_of_meta(&path).or_cannot("read", &path))? else {
            return Ok(None);
        };
        let now = Meta::from_bytes(&bytes, &id.to_string());
        let Some(mut meta) = now.ok().filter(|now| now.sha256 == before.sha256) else {
            return Ok(None);
        };
        let plain = self.data_path(id);
        if !is_there(&plain)? {
            return Ok(None);
        }
        match file {
            PackedFile::There => {}
            PackedFile::New(temp) => {
                persist(temp, &self.packed_path(id)).map_err(StoreError::before)?;
            }
            PackedFile::Equal(equal) => {
                remove(&self.packed_path(id))?;
                if !equal.link(self, id)? {
                    return Ok(None);
                }
            }
        }
        if meta.packed.as_ref() != Some(&packed) {
            meta.pack(packed.clone());
            locked.write_meta(id, &meta)?;
        }
        remove(&plain)?;
        sync_removal(&self.snapshots())?;
        Ok(Some(packed))
    }
}

fn encoder(temp: TempFile, bytes: u64) -> io::Result<Encoder<'static, TempFile>> {
    let mut encoder = Encoder::new(temp, LEVEL)?;
    encoder.window_log(WINDOW)?;
    encoder.long_distance_matching(true)?;
    encoder.include_checksum(true)?;
    // Record the unpacked size in the file, so that small files take less memory to unpack and
    // `zstd -l` can show the size.
    encoder.set_pledged_src_size(Some(bytes))?;
    Ok(encoder)
}

impl FileHash {
    /// Returns the length and hash of the file at `path`.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let mut file = open_plain(path).or_cannot("read", path)?;
        let bytes = file.metadata().or_cannot("read", path)?.len();
        Ok(Self { bytes, sha256: hash(&mut file).or_cannot("read", path)? })
    }
}
