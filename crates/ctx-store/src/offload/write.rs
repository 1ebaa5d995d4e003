//! Taking results out of a session: each becomes a file, and all files are on the disk before
//! anything names them.

use std::io::Write;
use std::path::Path;

use super::folder::Folder;
use super::taken::{self, Takings};
use super::{Content, OffloadName, OffloadedFile, sources};
use crate::error::Naming;
use crate::{Facts, Operation, SessionId, Store, StoreError};

/// Writes offloaded files of one session. Before the first of them nothing is created and
/// nothing is recorded in the audit log.
pub struct OffloadWriter<'a> {
    store: &'a Store,
    session: SessionId,
    begun: Option<(Folder, Operation)>,
    taken: Takings,
    files: u64,
    bytes: u64,
}

impl Store {
    /// Begins to offload results of a session.
    pub fn offload(&self, session: &SessionId) -> OffloadWriter<'_> {
        OffloadWriter {
            store: self,
            session: session.clone(),
            begun: None,
            taken: Takings::new(),
            files: 0,
            bytes: 0,
        }
    }
}

impl OffloadWriter<'_> {
    /// Writes `content`, which the result of `call` has, into a file, unless there is one with
    /// it. That one is checked and counts as used now, so that garbage collection leaves it
    /// alone.
    pub fn put(
        &mut self,
        content: &Content,
        call: Option<&str>,
    ) -> Result<OffloadedFile, StoreError> {
        // Even a failure after the rename counts for nothing: no transcript names the file yet.
        let file = self.write(content).map_err(StoreError::before)?;
        let from = (file.name.clone(), call.map(str::to_owned));
        *self.taken.entry(from).or_default() += 1;
        Ok(file)
    }

    fn write(&mut self, content: &Content) -> Result<OffloadedFile, StoreError> {
        let (folder, _) = match &mut self.begun {
            Some(begun) => begun,
            empty => {
                let operation = self.store.begin("offload", &Facts::of(&self.session))?;
                empty.insert((Folder::create(self.store, &self.session)?, operation))
            }
        };
        let bytes = content.text.as_bytes();
        let name = OffloadName::of(bytes, content.form);
        // Garbage collection takes the same lock. Either it removed the file before this, and
        // a new one is made, or it will see that the file was used just now.
        let there = {
            let _locked = self.store.lock()?;
            folder.freshen(&name)
        };
        if !there {
            let mut temp = self.store.temp("offloaded", 0o600)?;
            let written = temp.write_all(bytes).and_then(|()| temp.file.sync_all());
            written.not_written(&self.store.offloaded())?;
            let _locked = self.store.lock()?;
            let path = folder.path().join(name.to_string());
            folder.adopt(temp.path(), &name).not_written(&path)?;
            temp.keep();
        }
        self.files += 1;
        self.bytes += bytes.len() as u64;
        Ok(OffloadedFile {
            session: self.session.clone(),
            name,
        })
    }

    /// Makes the names of all files durable. `transcripts` are the sessions that name them, or
    /// will: garbage collection searches them. `None` stands for one whose path is not known,
    /// because it goes into a pipe.
    pub fn finish(self, transcripts: &[Option<&Path>]) -> Result<(), StoreError> {
        let Some((folder, operation)) = &self.begun else {
            return Ok(());
        };
        {
            let _locked = self.store.lock()?;
            sources::add(folder, transcripts)?;
            taken::add(folder, &self.taken)?;
        }
        folder.sync()?;
        let facts = Facts {
            count: Some(self.files),
            bytes: Some(self.bytes),
            ..Facts::of(&self.session)
        };
        self.store.done(operation, &facts)
    }
}
