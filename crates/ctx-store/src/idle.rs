//! Whether an agent is at work on a session file. One that runs keeps its history in memory, and
//! knows nothing of what a tool changes in its file.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Naming, StoreError};
use crate::hash;
use crate::live::Live;
use crate::look::Look;
use crate::{Meta, Replacement, SessionId, Store};

/// What lets a file pass that was changed too short a while ago.
pub(crate) struct OnlyIf {
    /// It has the bytes of this hash: the last change by a tool made it so, and what tools write
    /// is no sign of an agent.
    sha256: String,
    error: StoreError,
}

impl OnlyIf {
    /// Refuses a file whose bytes have another hash.
    pub(crate) fn check(self, sha256: &str) -> Result<(), StoreError> {
        if self.sha256 == sha256 {
            Ok(())
        } else {
            Err(self.error)
        }
    }

    /// The same of a file that nobody has read yet.
    fn check_file(self, live: &Live) -> Result<(), StoreError> {
        // A handle of its own, whose place nobody else minds.
        let mut file = Live::open(&live.path)?.file;
        let sha256 = hash(&mut file).naming("read", &live.path)?;
        self.check(&sha256)
    }
}

impl Store {
    /// Refuses a file that was changed less than `min_idle` ago, by anybody but the tools. A
    /// change in the future is one of this moment. Where the bytes of the file have to tell, it
    /// is the caller's to look at them: he may be about to read them anyway.
    pub(crate) fn refuse_unless_idle(
        &self,
        live: &Live,
        session: &SessionId,
        min_idle: Duration,
    ) -> Result<Option<OnlyIf>, StoreError> {
        if min_idle.is_zero() {
            return Ok(None);
        }
        let modified = live.meta.modified().naming("read", &live.path)?;
        let ago = self.now() - DateTime::<Utc>::from(modified);
        let enough = TimeDelta::from_std(min_idle).unwrap_or(TimeDelta::MAX);
        if ago >= enough {
            return Ok(None);
        }
        let error = StoreError::NotIdle {
            path: live.path.clone(),
            ago: ago.to_std().unwrap_or_default(),
            min_idle,
        };
        match self.last_written(live, session)? {
            Some(sha256) => Ok(Some(OnlyIf { sha256, error })),
            None => Err(error),
        }
    }

    /// The hash of what the last change by a tool made of the file, where it has that length.
    fn last_written(&self, live: &Live, session: &SessionId) -> Result<Option<String>, StoreError> {
        let is_of_it = |meta: &Meta| meta.is_of(&live.path);
        let newest = self.newest(session).and_then(|entry| entry.meta.ok());
        let newest = if newest.as_ref().is_none_or(is_of_it) {
            newest
        } else {
            // Of another copy of the session.
            let entries = self.catalog(Some(session))?.entries.into_iter();
            let of_it = entries.filter_map(|entry| entry.meta.ok().filter(is_of_it));
            of_it.max_by_key(|meta| meta.sequence)
        };
        let written = newest.and_then(|meta| meta.replaced_by);
        let written = written.filter(|written| written.bytes == live.meta.len());
        Ok(written.map(|written| written.sha256))
    }
}

impl Look {
    /// Refuses a file that was changed less than `min_idle` ago: the question of a dry run.
    pub fn refuse_unless_idle(
        &self,
        store: &Store,
        session: &SessionId,
        min_idle: Duration,
    ) -> Result<(), StoreError> {
        let only_if = store.refuse_unless_idle(&self.live, session, min_idle)?;
        only_if.map_or(Ok(()), |only_if| only_if.check_file(&self.live))
    }
}

impl Replacement<'_> {
    /// Refuses a file that was changed less than `min_idle` before it was read, where it is known
    /// only now that an agent may keep its history in memory.
    pub fn when_idle(self, min_idle: Duration) -> Result<Self, StoreError> {
        let (live, session) = (&self.live, &self.session);
        if let Some(only_if) = self.store.refuse_unless_idle(live, session, min_idle)? {
            only_if.check(&self.draft.sha256)?;
        }
        Ok(self)
    }
}
