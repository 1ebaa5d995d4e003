//! Compacts a batch file in place. Each line of the file is a conversation. The file is replaced as
//! a whole.

use std::fs::File;
use std::io::{Seek, Write};
use std::num::NonZeroUsize;

use ctx_cli::Result;
use ctx_engine::compact::{BatchLine, BatchPass, Outcome, Report, TakeLine, temporary};
use ctx_engine::{Notes, PassError, Session};
use ctx_format::Options;
use ctx_store::{NewContent, ReplaceOutcome, SnapshotKind, hash};

use super::{FileReport, OPERATION, SessionFile, daily_entry, figures};
use crate::store::{self, unchanged};

impl SessionFile<'_> {
    /// Compacts the conversation in each line of the file, or previews the result. Processes `jobs`
    /// lines at a time.
    pub fn run_batch(
        &self,
        jobs: NonZeroUsize,
        take: &mut TakeLine<'_>,
        notes: &mut Notes,
    ) -> Result<FileReport> {
        let failure = |error| self.failure(error);
        if self.options.dry_run {
            let look = ctx_store::SessionFile::open_replaceable(self.path).map_err(unchanged)?;
            look.refuse_users().map_err(unchanged)?;
            let is_idle = look.refuse_unless_idle(self.store, self.session, self.min_idle);
            is_idle.map_err(unchanged)?;
            let file = look.file().map_err(unchanged)?;
            self.lines(file, jobs, take, notes).map_err(failure)?;
            return Ok(FileReport::default());
        }
        let (replacement, file) = self.claim()?;
        let mut all = Report {
            outcome: Outcome::Compacted,
            success: true,
            known_preset: self.options.policy.preset(),
            ..Report::default()
        };
        let new = temporary(|output| {
            let mut write = |line: BatchLine, notes: Notes| {
                if let Some(Ok(report)) = &line.ended {
                    all.add(report);
                }
                output.write_all(&line.bytes).map_err(PassError::temporary)?;
                take(line, notes)
            };
            self.lines(file.file, jobs, &mut write, notes)
        });
        let mut new = new.map_err(failure)?;
        let temporary = |error| self.failure(PassError::temporary(error));
        new.rewind().map_err(temporary)?;
        let sha256 = hash(&mut new).map_err(temporary)?;
        new.rewind().map_err(temporary)?;
        let replaced = replacement.commit(&mut NewContent {
            reader: &mut new,
            sha256: &sha256,
            operation: OPERATION,
            kind: SnapshotKind::PreCompact,
            figures: figures(&all),
        });
        let ReplaceOutcome::New { before, retained, .. } = replaced.map_err(store::failure)? else {
            return Ok(FileReport::default());
        };
        all.snapshot = Some(before.id.to_string());
        let late_error = daily_entry(self.session, &all, &[]).log(self.store).err();
        Ok(FileReport { report: all, retained, late_error, ..FileReport::default() })
    }

    fn lines(
        &self,
        file: File,
        jobs: NonZeroUsize,
        take: &mut TakeLine<'_>,
        notes: &mut Notes,
    ) -> Result<(), PassError> {
        let options = Options { raw: true, batch: true, ..Options::default() };
        let mut batch = Session::open(Box::new(file), &options, self.invalid)?;
        let pass = BatchPass {
            options: self.options,
            environment: self.environment,
            dialect: self.dialect,
            name: Some(self.name()),
            jobs,
            tag_failed: false,
        };
        pass.compact(&mut batch, take, notes)
    }
}
