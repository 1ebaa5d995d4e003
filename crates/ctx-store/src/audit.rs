//! The audit log: what was done to the store, by which tool, when. Each operation has two
//! records, before and after; each record is one write, and has the hash of the one before.
//! What was tried and came to nothing, so that nothing was going to be changed, has one.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::SecondsFormat;
use serde::Serialize;

use crate::error::{Naming, StoreError};
use crate::files::{careful, ends_line, if_there, open_plain};
use crate::lock::StoreLock;
use crate::stamp::TIME;
use crate::{BrokenLink, Figures, SessionId, Store, chain};

/// What may be told of an operation: ids, hashes and sizes, never values, never text.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Facts {
    /// The session; none when several may be concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The snapshots that were made, restored or removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<String>,
    /// Hash of the session file before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256_before: Option<String>,
    /// Hash of the session file, or of the snapshot, after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Its size, or that of all that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// How many bytes were put behind those of the session file, which stayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_bytes: Option<u64>,
    /// Bytes that another process wrote meanwhile, and that were carried over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub late_bytes: Option<u64>,
    /// How many things were written or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What was measured of the change.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Facts {
    /// The facts of an operation on one session; the others are not set.
    pub(crate) fn of(session: &SessionId) -> Self {
        Self {
            session: Some(session.to_string()),
            ..Self::default()
        }
    }
}

/// An operation whose intent is in the log.
#[derive(Clone, Debug)]
pub struct Operation {
    id: String,
    op: &'static str,
}

#[derive(Serialize)]
struct Record<'a> {
    /// The first member: see [`chain`].
    prev: String,
    time: String,
    operation: &'a str,
    op: &'a str,
    phase: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    flags: &'a [String],
    pid: u32,
    #[serde(flatten)]
    facts: &'a Facts,
}

impl Store {
    /// Writes the intent of an operation; without it, nothing may be changed.
    pub fn begin(&self, op: &'static str, facts: &Facts) -> Result<Operation, StoreError> {
        self.lock()?.begin(op, facts)
    }

    /// Follows the chain of hashes through the log; returns where it is broken.
    pub fn check_audit_log(&self) -> Result<Vec<BrokenLink>, StoreError> {
        let path = self.audit_log();
        let Some(log) = if_there(open_plain(&path).naming("open", &path))? else {
            return Ok(Vec::new());
        };
        chain::check(&log).naming("read", &path)
    }

    /// Writes that something was tried that comes to nothing: nothing changes.
    pub fn failed(&self, op: &'static str, facts: &Facts) -> Result<(), StoreError> {
        let mut locked = self.lock()?;
        let operation = locked.operation(op);
        locked.append(&operation, "failed", facts)
    }

    /// Writes that the operation is done; a failure is told as "done, but…".
    pub fn done(&self, operation: &Operation, facts: &Facts) -> Result<(), StoreError> {
        let locked = self.lock().map_err(|error| error.after(operation.op));
        locked?.done(operation, facts)
    }
}

impl StoreLock<'_> {
    pub(crate) fn begin(
        &mut self,
        op: &'static str,
        facts: &Facts,
    ) -> Result<Operation, StoreError> {
        let operation = self.operation(op);
        self.append(&operation, "intent", facts)?;
        Ok(operation)
    }

    fn operation(&self, op: &'static str) -> Operation {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let time = self.store.now().format(TIME);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let id = format!("{time}-{}.{count}", std::process::id());
        Operation { id, op }
    }

    pub(crate) fn done(&mut self, operation: &Operation, facts: &Facts) -> Result<(), StoreError> {
        self.append(operation, "done", facts)
            .map_err(|error| error.after(operation.op))
    }

    fn append(
        &mut self,
        operation: &Operation,
        phase: &str,
        facts: &Facts,
    ) -> Result<(), StoreError> {
        let store = self.store;
        let path = store.audit_log();
        let opened = careful().append(true).create(true).mode(0o600).open(&path);
        let mut file = opened.naming("open", &path)?;
        let prev = chain::hash_of_last(&file).naming("read", &path)?;
        let mut line = Vec::new();
        // A run that was killed may have left half a record without a line end.
        if !ends_line(&file).naming("read", &path)? {
            line.push(b'\n');
        }
        let record = Record {
            prev,
            time: store.now().to_rfc3339_opts(SecondsFormat::Micros, true),
            operation: &operation.id,
            op: operation.op,
            phase,
            tool: &store.actor.tool,
            flags: &store.actor.flags,
            pid: std::process::id(),
            facts,
        };
        serde_json::to_writer(&mut line, &record).naming("write", &path)?;
        line.push(b'\n');
        file.write_all(&line).naming("write", &path)?;
        file.sync_data().naming("sync", &path)
    }
}
