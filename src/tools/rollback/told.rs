//! What was done, for programs.

use std::path::PathBuf;

use ctx_store::restore::Restore;
use ctx_store::{Appended, ReplaceOutcome};
use serde::Serialize;

use super::Args;

/// What was done, for programs. The keys are a contract: new ones may come, none goes.
#[derive(Serialize)]
pub(super) struct Told {
    /// The file as it was named; null for stdout.
    name: Option<String>,
    session: String,
    dry_run: bool,
    /// Null in a dry run.
    outcome: Option<&'static str>,
    /// The snapshot whose bytes the file has now.
    restored: String,
    bytes: u64,
    messages: u64,
    sha256: String,
    /// The snapshot of what was replaced.
    snapshot: Option<String>,
    /// What somebody has written since, and what is in that snapshot only.
    appended: Option<Appended>,
    late_bytes: u64,
}

impl Told {
    pub(super) fn of(args: &Args, restore: &Restore<'_>, target: Option<&PathBuf>) -> Self {
        let meta = &restore.meta;
        Self {
            name: target.map(|path| path.display().to_string()),
            session: meta.session.clone(),
            dry_run: args.dry_run,
            outcome: None,
            restored: meta.id.clone(),
            bytes: meta.bytes,
            messages: meta.tally.messages,
            sha256: meta.sha256.clone(),
            snapshot: None,
            appended: None,
            late_bytes: 0,
        }
    }

    /// And what would go, or went.
    pub(super) fn with(self, appended: Option<Appended>) -> Self {
        Self { appended, ..self }
    }

    pub(super) fn ended(self, replaced: &ReplaceOutcome, appended: Option<Appended>) -> Self {
        let (outcome, snapshot, late_bytes) = match replaced {
            ReplaceOutcome::Same => ("unchanged", None, 0),
            ReplaceOutcome::Created => ("created", None, 0),
            ReplaceOutcome::New {
                before, late_bytes, ..
            } => ("restored", Some(before.id.to_string()), *late_bytes),
        };
        Self {
            outcome: Some(outcome),
            appended: appended.filter(|_| snapshot.is_some()),
            snapshot,
            late_bytes,
            ..self
        }
    }
}
