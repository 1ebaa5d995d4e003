//! The audit log: which tool did what to the store, and when. Each operation has two records, one
//! before it and one after it. Each record is a single write and has the hash of the previous one.
//! An attempt that changed nothing has one record.
//!
//! Besides ids, hashes and sizes, a record has only numbers and words of our own, so no session
//! text and no value of a flag can get into the log.

pub(crate) mod chain;
pub(crate) mod history;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::SecondsFormat;
use serde::Serialize;

use crate::audit::chain::{BrokenLink, check, hash_of_last};
use crate::error::{OrCannot, StoreError};
use crate::fs::{careful, ends_line, if_there, open_plain};
use crate::id::{SessionId, SnapshotId, TIME};
use crate::lock::StoreLock;
use crate::os;
use crate::snapshot::meta::Meta;
use crate::store::Store;

/// The measured effects of a change of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// How the session was compacted.
    #[serde(flatten)]
    pub compaction: Option<Compaction>,
    /// The method of the summary.
    #[serde(flatten)]
    pub summing: Option<Summing>,
    /// How long it took, until what is new was ready to be written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// The snapshot whose bytes are the new content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<String>,
    /// What survived of the session, per class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub survived: Survived,
}

/// How a session was compacted, or what came of trying.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compaction {
    /// The preset, where the policy is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'static str>,
    /// How it ended.
    pub outcome: &'static str,
    /// Whether nothing is left that a person should look at.
    pub success: bool,
    /// The triggers.
    pub triggers: Vec<&'static str>,
    /// Tokens of the context before.
    pub tokens_before: u64,
    /// Tokens of the context after.
    pub tokens_after: u64,
    /// The latter divided by the former.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// The target for the whole context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_tokens: Option<u64>,
    /// Messages before, system ones left out.
    pub messages_before: u64,
    /// Messages after.
    pub messages_after: u64,
}

/// How a summary was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summing {
    /// `extractive`, `rule`, `llm`, or `none` without a summary.
    pub method: &'static str,
    /// Whether a model was to write it, and code did.
    pub fell_back: bool,
    /// Requests to a model, each try counted.
    pub model_calls: u64,
    /// Input tokens, as reported by the server; null if it reported none.
    pub model_tokens_in: Option<u64>,
    /// Tokens that it wrote.
    pub model_tokens_out: Option<u64>,
    /// How long it was waited for the model, pauses between tries included.
    pub model_ms: u64,
}

/// How many items of each class (asks, constraints, …) survived a compaction.
pub type Survived = BTreeMap<&'static str, ClassCounts>;

/// The items of one class, by what happened to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassCounts {
    /// The new session has them.
    pub retained: u64,
    /// The new session refers to them.
    pub recoverable: u64,
    /// Only the snapshot of the old session has them.
    pub lost: u64,
}

/// What a record says about an operation: ids, hashes and sizes, never values or text.
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
    /// Its size, or the bytes written.
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
    /// The measured effects of the change.
    #[serde(flatten)]
    pub figures: Figures,
}

impl Facts {
    /// The facts of an operation on one session; the others are not set.
    pub fn of(session: &SessionId) -> Self {
        Self { session: Some(session.to_string()), ..Self::default() }
    }

    /// The facts of an operation on one snapshot.
    pub(crate) fn of_snapshot(id: &SnapshotId, meta: &Meta) -> Self {
        Self {
            snapshots: vec![id.to_string()],
            sha256: Some(meta.sha256.clone()),
            bytes: Some(meta.bytes),
            ..Self::of(&id.session)
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

    /// Checks the chain of hashes through the log; returns where it is broken.
    pub fn check_audit_log(&self) -> Result<Vec<BrokenLink>, StoreError> {
        let path = self.audit_log();
        let Some(log) = if_there(open_plain(&path).or_cannot("open", &path))? else {
            return Ok(Vec::new());
        };
        check(&log).or_cannot("read", &path)
    }

    /// Writes that something was tried that comes to nothing: nothing changes.
    pub fn failed(&self, op: &'static str, facts: &Facts) -> Result<(), StoreError> {
        let mut locked = self.lock()?;
        let operation = locked.operation(op);
        locked.append(&operation, "failed", facts)
    }

    /// Records that the operation is done. A failure is reported as "done, but…".
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
        self.append(operation, "done", facts).map_err(|error| error.after(operation.op))
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
        let mut file = opened.or_cannot("open", &path)?;
        let prev = hash_of_last(&file).or_cannot("read", &path)?;
        let mut line = Vec::new();
        // A run that was killed may have left half a record without a line end.
        if !ends_line(&file).or_cannot("read", &path)? {
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
        serde_json::to_writer(&mut line, &record).or_cannot("write", &path)?;
        line.push(b'\n');
        file.write_all(&line).or_cannot("write", &path)?;
        os::sync_data(&file).or_cannot("sync", &path)
    }
}
