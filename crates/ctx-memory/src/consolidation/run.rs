//! What is to be done is done: locked, recorded, and never over somebody's edit.

use ctx_store::{
    Digest, Facts, Figures, Operation, Severity, SharedFile, SharedFolder, StagedFile, StoreError,
};
use ctx_transcript::counted;

use super::{Change, Consolidated, Consolidation, MASTER, changes};
use crate::consolidate::{After, Answer, Asked, Before, KINDS, Report, State};
use crate::hash::hash;
use crate::{MergeError, file_name};

impl Consolidation<'_> {
    /// Does it. Where nothing is to be done, nothing is written, not even a record. `model` is asked
    /// where there are topics that no model has been asked about; `None` where it gives no answer.
    pub fn run(
        &self,
        model: &mut dyn FnMut(&Asked) -> Option<Answer>,
    ) -> Result<Consolidated, MergeError> {
        let mut run = Run {
            of: self,
            operation: None,
            done: Consolidated::default(),
            was_written: false,
            uncertain: None,
        };
        match run.all(model).and(run.uncertain.take().map_or(Ok(()), Err)) {
            Ok(()) => Ok(run.done),
            Err(source) => Err(MergeError {
                is_partial: run.was_written && source.severity() != Severity::Uncertain,
                source,
            }),
        }
    }
}

struct Run<'a, 'c> {
    of: &'c Consolidation<'a>,
    operation: Option<(Operation, Facts)>,
    done: Consolidated,
    was_written: bool,
    /// What is done, and may not last or not be told.
    uncertain: Option<StoreError>,
}

impl Run<'_, '_> {
    fn all(&mut self, model: &mut dyn FnMut(&Asked) -> Option<Answer>) -> Result<(), StoreError> {
        let store = self.of.store;
        let (mut before, mut after) = self.of.look()?;
        // No lock is held meanwhile.
        if after.is_new_to_a_model()
            && let Some(answer) = model(&after.asked)
        {
            self.of.answer.replace(Some(answer));
            (before, after) = self.of.look()?;
        }
        if changes(&before, &after).is_empty() && self.is_known(&after.state)? {
            self.done.report = after.report;
            return self.tidy();
        }
        store.prepare()?;
        store.tidy_logs()?;
        let memory = store.memory();
        let extracted = SharedFolder::lock(&memory.join("extracted"))?;
        let summary = SharedFolder::lock(&memory.join("summary"))?;
        let mut tried = self.commit(&extracted, &summary);
        for _ in 1..SharedFolder::TRIES {
            if !matches!(tried, Err(StoreError::Changed(_))) {
                break;
            }
            // Somebody saved one of the files meanwhile: once more, from their version.
            tried = self.commit(&extracted, &summary);
        }
        let (before, mut after) = tried?;
        self.finish(&before, &mut after);
        let noted = match self.is_known(&after.state) {
            Ok(true) => Ok(()),
            Ok(false) => store.replace_consolidated(&after.state.to_json()),
            Err(error) => Err(error.after("the consolidation")),
        };
        self.or_later(noted)
    }

    /// Removes what killed runs left, which had done all else.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let memory = self.of.store.memory();
        let extracted = KINDS.map(file_name);
        let files: [(&str, &[String]); 2] =
            [("extracted", &extracted), ("summary", &[MASTER.to_owned()])];
        for (folder, names) in files {
            let folder = memory.join(folder);
            if folder.is_dir() {
                let folder = SharedFolder::lock(&folder)?;
                for name in names {
                    self.done
                        .edits
                        .extend_from_slice(folder.read(name)?.edits());
                }
            }
        }
        self.of.store.tidy_logs()
    }

    /// What is done is done: a failure that only makes it uncertain is told at the end.
    fn or_later(&mut self, result: Result<(), StoreError>) -> Result<(), StoreError> {
        match result {
            Err(error) if error.severity() == Severity::Uncertain => {
                self.uncertain.get_or_insert(error);
                Ok(())
            }
            other => other,
        }
    }

    /// Whether nothing new is to be noted for the next run.
    fn is_known(&self, state: &State) -> Result<bool, StoreError> {
        let stored = self.of.store.read_consolidated()?;
        Ok(stored.map_or_else(|| *state == State::default(), |it| it == state.to_json()))
    }

    /// Writes what changes. All new versions are written before the first one takes its place.
    fn commit(
        &mut self,
        extracted: &SharedFolder,
        summary: &SharedFolder,
    ) -> Result<(Before, After), StoreError> {
        let [one, two, three] = KINDS.map(|kind| extracted.read(&file_name(kind)));
        let files = [one?, two?, three?, summary.read(MASTER)?];
        let [one, two, three, master] = files.each_ref().map(|file| file.bytes().to_vec());
        let before = self.of.before([one, two, three], master)?;
        let after = self.of.after(&before)?;
        self.done.edits = files.iter().flat_map(SharedFile::edits).cloned().collect();
        let changes = changes(&before, &after);
        if changes.is_empty() {
            self.done.report = after.report.clone();
            return Ok((before, after));
        }
        self.begin(&before, &after)?;
        let mut staged: Vec<StagedFile> = Vec::new();
        let new = after.files.iter().chain([&after.master]);
        for (file, new) in files.into_iter().zip(new) {
            if file.bytes() != new {
                staged.push(self.stage(file, new)?);
            }
        }
        for staged in staged {
            self.or_later(staged.commit())?;
            self.was_written = true;
        }
        self.note(changes, &after.report);
        Ok((before, after))
    }

    /// What a longer version has as well needs no copy.
    fn stage(&self, file: SharedFile, new: &[u8]) -> Result<StagedFile, StoreError> {
        if !new.starts_with(file.bytes()) {
            self.of.store.keep_version(&file.name(), file.bytes())?;
        }
        file.stage_whole(new.to_vec())
    }

    fn begin(&mut self, before: &Before, after: &After) -> Result<(), StoreError> {
        if self.operation.is_none() {
            let facts = Facts {
                sha256_before: Some(hash(&before.master)),
                sha256: Some(hash(&after.master)),
                ..Facts::default()
            };
            let operation = self.of.store.begin("consolidate", &facts)?;
            self.operation = Some((operation, facts));
        }
        Ok(())
    }

    /// Of several tries all that was written.
    fn note(&mut self, changes: Vec<Change>, report: &Report) {
        let (imported, taken_back) = (self.done.report.imported, self.done.report.taken_back);
        self.done.report = report.clone();
        self.done.report.imported += imported;
        self.done.report.taken_back += taken_back;
        self.done
            .changes
            .retain(|old| changes.iter().all(|new| new.name != old.name));
        self.done.changes.extend(changes);
    }

    /// Tells the audit log and the log of the day.
    fn finish(&mut self, before: &Before, after: &mut After) {
        let Some((operation, facts)) = &self.operation else {
            return;
        };
        let store = self.of.store;
        let report = &self.done.report;
        let facts = Facts {
            sha256: Some(hash(&after.master)),
            bytes: Some(after.master.len() as u64),
            count: Some((report.imported + report.taken_back) as u64),
            figures: Figures {
                summing: self.of.answer.borrow().as_ref().and_then(|it| it.took),
                ..Figures::default()
            },
            ..facts.clone()
        };
        let digest = Digest {
            session: None,
            what: told(report),
            entries: Vec::new(),
        };
        let done = store.done(operation, &facts);
        let logged = store.log_digest(&digest);
        let read = self.of.logs().map(|logs| {
            for log in logs {
                let old = before.daily.iter().find(|old| old.name == log.name);
                after
                    .state
                    .has_read(&log, old.map_or(&[], |old| &old.bytes));
            }
        });
        let read = read.map_err(|error| error.after("the consolidation"));
        for result in [done, logged, read] {
            self.uncertain = self.uncertain.take().or(result.err());
        }
    }
}

/// For the log of the day.
fn told(report: &Report) -> String {
    let topics = counted(report.shown, "topic");
    let tokens = counted(report.tokens, "token");
    format!(
        "consolidated: {} new in the memory files, {} taken back; the master has {topics}, {tokens}",
        report.imported, report.taken_back
    )
}
