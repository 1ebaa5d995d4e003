//! Repairs the store without losing data: removes unfinished files left by killed runs, recomputes
//! derived files, sets damaged files aside, and writes missing commit records.

use std::collections::BTreeMap;
use std::path::Path;

use strum::Display;

use crate::error::{OrCannot, Result, StoreError};
use crate::fs::{hash, if_there, open_plain, parent, reap, rename, sync_dir};
use crate::snapshot::{Entry, Flaw, bytes_of_meta};
use crate::{Facts, FileHash, Meta, SessionId, SnapshotId, SnapshotKind, Store, StoreItem};

/// A repair that was made.
#[derive(Clone, Debug, PartialEq, Eq, Display)]
pub enum Repaired {
    /// This many unfinished files, which killed runs had left, were removed.
    #[strum(to_string = "removed unfinished files of killed runs: {0}")]
    Reaped(usize),
    /// The audit log's hash chain was broken. The log was moved to this path, and a new one was
    /// begun.
    #[strum(
        to_string = "the audit log had a broken hash chain and was moved to {0}; a new one was started"
    )]
    LogSetAside(String),
    /// A new commit record was written for a snapshot that had none.
    #[strum(to_string = "wrote the missing meta.json of {0}")]
    Adopted(SnapshotId),
    /// A damaged item was moved to `damaged/` for this reason.
    #[strum(to_string = "{0} is damaged and was moved to the store's folder damaged/: {1}")]
    SetAside(StoreItem, String),
    /// The snapshot counter in the store's lock file was wrong and has been recomputed.
    #[strum(to_string = "corrected the snapshot counter")]
    Recounted,
    /// The records for this many sessions in `recent/` were wrong and have been rewritten.
    #[strum(to_string = "corrected records in recent/: {0}")]
    Rebuilt(usize),
}

/// A repair of the store in progress.
struct Repair<'a> {
    store: &'a Store,
    done: Vec<Repaired>,
    /// The damaged items to move to `damaged/`, each with the reason.
    damaged: BTreeMap<StoreItem, String>,
}

impl Store {
    /// Repairs the snapshots and offloaded files of one session, or the whole store if `session` is
    /// `None`. If `read_data` is set, also checks the hashes of all bytes.
    pub fn repair(&self, session: Option<&SessionId>, read_data: bool) -> Result<Vec<Repaired>> {
        let mut repair = Repair { store: self, done: Vec::new(), damaged: BTreeMap::new() };
        if !self.root.join("FORMAT").exists() {
            return Ok(Vec::new());
        }
        let catalog = self.catalog(session)?;
        // Read the hashes now, because the audit log may be set aside below.
        let saved = self.hashes_of(&catalog.uncommitted)?;
        if session.is_none() {
            repair.audit_log()?;
        }
        let mut facts = Facts { session: session.map(ToString::to_string), ..Facts::default() };
        let operation = self.begin("repair", &facts)?;
        repair.unfinished();
        for id in &catalog.uncommitted {
            repair.adopt(id, saved.get(&id.to_string()))?;
        }
        for entry in &catalog.entries {
            let why = self.damage_of(entry, read_data)?;
            repair.damaged.extend(why.map(|why| (StoreItem::Snapshot(entry.id.clone()), why)));
        }
        for file in if read_data { self.all_offloaded(session)? } else { Vec::new() } {
            if let Err(error @ StoreError::Refused { .. }) = self.read_offloaded(&file) {
                repair.damaged.insert(StoreItem::Offloaded(file), error.to_string());
            }
        }
        repair.set_aside()?;
        if self.lock()?.recount()? {
            repair.done.push(Repaired::Recounted);
        }
        let wrong = self.rebuild_recent(None)?;
        if wrong > 0 {
            repair.done.push(Repaired::Rebuilt(wrong));
        }
        facts.count = Some(repair.done.len() as u64);
        self.done(&operation, &facts)?;
        Ok(repair.done)
    }

    /// Returns the sha256 that the audit log records for each of the given snapshots.
    fn hashes_of(&self, ids: &[SnapshotId]) -> Result<BTreeMap<String, String>> {
        let mut hashes = BTreeMap::new();
        if ids.is_empty() {
            return Ok(hashes);
        }
        self.each_event(|event| {
            if let ([id], "snapshot") = (&event.snapshots[..], event.op.as_str())
                && ids.iter().any(|known| known.to_string() == *id)
            {
                hashes.extend(event.sha256.map(|sha256| (id.clone(), sha256)));
            }
        })?;
        Ok(hashes)
    }

    /// Returns why a committed snapshot is damaged. Returns `None` if the snapshot is intact or
    /// cannot be read at the moment.
    fn damage_of(&self, entry: &Entry, read_data: bool) -> Result<Option<String>> {
        if let Err(flaw) = &entry.meta {
            return Ok(self.is_damaged(&entry.id).then(|| flaw.to_string()));
        }
        match self.verify(entry, read_data) {
            Err(StoreError::Damaged { why, .. }) => Ok(Some(why)),
            Err(StoreError::Io { .. } | StoreError::Unread { .. }) | Ok(()) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether a snapshot is damaged, rather than merely unreadable at the moment or written in a
    /// newer format.
    fn is_damaged(&self, id: &SnapshotId) -> bool {
        let Ok(bytes) = bytes_of_meta(&self.meta_path(id)) else { return false };
        let Ok(meta) = Meta::from_bytes(&bytes, &id.to_string()) else {
            return !Meta::is_newer(&bytes);
        };
        matches!(self.check_size(id, &meta), Err(Flaw::Damaged(_)))
    }
}

impl Repair<'_> {
    /// Moves the audit log to `damaged/` if its hash chain is broken, because the chain cannot be
    /// repaired. The old log is kept unchanged, and its hash is in the first record of the new log.
    fn audit_log(&mut self) -> Result<()> {
        let store = self.store;
        if store.check_audit_log()?.is_empty() {
            return Ok(());
        }
        let log = store.audit_log();
        let bin = store.new_bin(&store.damaged())?;
        let aside = bin.join(log.file_name().unwrap_or_default());
        let mut locked = store.lock()?;
        let mut file = open_plain(&log).or_cannot("read", &log)?;
        let facts = Facts {
            sha256_before: Some(hash(&mut file).or_cannot("read", &log)?),
            ..Facts::default()
        };
        rename(&log, &aside).or_cannot("set aside", &log)?;
        for folder in [&bin, parent(&log)] as [&Path; 2] {
            sync_dir(folder)?;
        }
        let operation = locked.begin("set-log-aside", &facts)?;
        locked.done(&operation, &facts)?;
        self.done.push(Repaired::LogSetAside(aside.display().to_string()));
        Ok(())
    }

    fn unfinished(&mut self) {
        let store = self.store;
        let memory = store.memory();
        let context = store.root.join("context");
        let [extracted, master] = ["extracted", "summary"].map(|name| memory.join(name));
        let folders = [store.tmp(), store.snapshots(), extracted, master, context];
        let reaped = folders.iter().map(|dir| reap(dir)).sum();
        if reaped > 0 {
            self.done.push(Repaired::Reaped(reaped));
        }
    }

    /// Writes a snapshot's missing commit record. If the audit log contains a different hash for
    /// the snapshot, the bytes are damaged and no commit record is written.
    fn adopt(&mut self, id: &SnapshotId, saved: Option<&String>) -> Result<()> {
        let store = self.store;
        let Some(bytes) = if_there(store.open_bytes(id))? else { return Ok(()) };
        let packed = bytes.is_packed().then(|| FileHash::of(&store.packed_path(id))).transpose()?;
        let draft = match store.draft(bytes, &store.data_path(id)) {
            // An error without an OS error code does not come from the operating system; it means
            // that the bytes are damaged.
            Err(StoreError::Io { source, .. })
                if packed.is_some() && source.raw_os_error().is_none() =>
            {
                self.damaged.insert(StoreItem::Snapshot(id.clone()), source.to_string());
                return Ok(());
            }
            draft => draft?,
        };
        if let Some(saved) = saved.filter(|saved| **saved != draft.sha256) {
            let why = format!("its sha256 is {} instead of {saved}", draft.sha256);
            self.damaged.insert(StoreItem::Snapshot(id.clone()), why);
            return Ok(());
        }
        let tally = draft.tally()?;
        let mut locked = store.lock()?;
        // Another run may have been taking this snapshot, and may have committed it by now.
        let is_bare = store.meta_path(id).symlink_metadata().is_err();
        if !is_bare || if_there(store.open_bytes(id))?.is_none() {
            return Ok(());
        }
        let mut meta = draft.describe(id, SnapshotKind::Adopted, tally);
        if let Some(packed) = packed {
            meta.pack(packed);
        }
        let facts = Facts::of_snapshot(id, &meta);
        let operation = locked.begin("adopt", &facts)?;
        locked.write_meta(id, &meta)?;
        locked.done(&operation, &facts)?;
        self.done.push(Repaired::Adopted(id.clone()));
        Ok(())
    }

    /// Moves damaged items to `damaged/` without changing a byte.
    fn set_aside(&mut self) -> Result<()> {
        let items = self.damaged.keys().cloned().collect();
        let aside = self.store.damaged();
        let moved = self.store.move_into("set-aside", &aside, items, |_| Ok(false))?;
        for item in moved.items {
            let why = self.damaged.remove(&item).unwrap_or_default();
            self.done.push(Repaired::SetAside(item, why));
        }
        moved.failed.into_iter().next().map_or(Ok(()), Err)
    }
}
