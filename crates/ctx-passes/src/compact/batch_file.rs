//! A file of batch records, compacted in place: all of its lines, and one commit point.

use std::fs::File;
use std::io::{Seek, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use ctx_store::{Look, NewContent, ReplaceOutcome, SnapshotKind, StoreError, hash};
use ctx_transcript::Options;

use super::batch::{BatchLine, BatchPass, TakeLine, compact_batch};
use super::content::temporary;
use super::digest::digest;
use super::in_place::SessionFile;
use super::outcome::{Outcome, Report};
use crate::error::unchanged;
use crate::{Notes, PassError, Session};

/// What became of the file.
#[derive(Debug, Default)]
pub struct BatchEnd {
    /// The snapshot of what was replaced; `None` where nothing was.
    pub snapshot: Option<String>,
    /// The old file, where another process still has it open.
    pub retained: Option<PathBuf>,
    /// Why the log of the day does not tell of it.
    pub late_error: Option<StoreError>,
}

impl SessionFile<'_> {
    /// Compacts each of its lines, a conversation, `jobs` at a time, or says what would be done.
    pub fn run_batch(
        &self,
        jobs: NonZeroUsize,
        take: &mut TakeLine<'_>,
        notes: &mut Notes,
    ) -> Result<BatchEnd, PassError> {
        let (store, path) = (self.stores.store, self.stores.path);
        if self.plan.dry_run {
            let look = Look::at(path).map_err(unchanged)?;
            look.refuse_users().map_err(unchanged)?;
            let is_idle = look.refuse_unless_idle(store, self.stores.session, self.min_idle);
            is_idle.map_err(unchanged)?;
            self.lines(look.file().map_err(unchanged)?, jobs, take, notes)?;
            return Ok(BatchEnd::default());
        }
        let claimed = store.begin_replacement(path, self.stores.session, self.min_idle);
        let replacement = claimed.map_err(unchanged)?;
        let mut all = Report {
            outcome: Outcome::Compacted,
            success: true,
            known_preset: self.plan.policy.preset(),
            ..Report::default()
        };
        let mut new = temporary(|output| {
            let mut take_and_write = |line: BatchLine, said: Notes| {
                if let Some(Ok(report)) = &line.ended {
                    all.add(report);
                }
                let written = output.write_all(&line.bytes);
                written.map_err(PassError::temporary)?;
                take(line, said)
            };
            self.lines(replacement.bytes()?, jobs, &mut take_and_write, notes)
        })?;
        new.rewind().map_err(PassError::temporary)?;
        let sha256 = hash(&mut new).map_err(PassError::temporary)?;
        new.rewind().map_err(PassError::temporary)?;
        let replaced = replacement.commit(&mut NewContent {
            reader: &mut new,
            sha256: &sha256,
            operation: "compact",
            kind: SnapshotKind::PreCompact,
            figures: all.figures(),
        })?;
        Ok(match replaced {
            ReplaceOutcome::New {
                before, retained, ..
            } => {
                all.snapshot = Some(before.id.to_string());
                BatchEnd {
                    snapshot: all.snapshot.clone(),
                    retained,
                    late_error: store.log_digest(&digest(self.stores.session, &all)).err(),
                }
            }
            _ => BatchEnd::default(),
        })
    }

    fn lines(
        &self,
        file: File,
        jobs: NonZeroUsize,
        take: &mut TakeLine<'_>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let options = Options {
            raw: true,
            batch: true,
            ..Options::default()
        };
        let mut batch = Session::open(Box::new(file), &options, self.invalid)?;
        let pass = BatchPass {
            plan: self.plan,
            dialect: self.dialect,
            name: Some(self.name()),
            jobs,
            tag_failed: false,
        };
        compact_batch(&pass, &mut batch, take, notes)
    }
}
