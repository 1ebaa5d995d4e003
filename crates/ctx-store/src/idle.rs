//! Whether an agent is at work on a session file. One that runs keeps its history in memory, and
//! knows nothing of what a tool changes in its file.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Naming, StoreError};
use crate::hash;
use crate::live::Live;
use crate::look::Look;
use crate::{Meta, Replacement, SessionId, Store};

impl Store {
    /// Refuses a file that was changed less than `min_idle` ago, by anybody but the tools: what
    /// they wrote last is no sign of an agent. A change in the future is one of this moment.
    pub(crate) fn refuse_unless_idle(
        &self,
        live: &Live,
        session: &SessionId,
        min_idle: Duration,
    ) -> Result<(), StoreError> {
        if min_idle.is_zero() {
            return Ok(());
        }
        let modified = live.meta.modified().naming("read", &live.path)?;
        let ago = self.now() - DateTime::<Utc>::from(modified);
        let enough = TimeDelta::from_std(min_idle).unwrap_or(TimeDelta::MAX);
        if ago >= enough || self.is_as_written(live, session)? {
            return Ok(());
        }
        Err(StoreError::NotIdle {
            path: live.path.clone(),
            ago: ago.to_std().unwrap_or_default(),
            min_idle,
        })
    }

    /// Whether the file holds what the last change by a tool made of it, and nothing more.
    fn is_as_written(&self, live: &Live, session: &SessionId) -> Result<bool, StoreError> {
        let path = live.path.to_string_lossy();
        let is_of_it = |meta: &Meta| meta.source.as_deref() == Some(&*path);
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
        let Some(written) = written.filter(|written| written.bytes == live.meta.len()) else {
            return Ok(false);
        };
        // A handle of its own, whose place nobody else minds.
        let mut file = Live::open(&live.path)?.file;
        Ok(hash(&mut file).naming("read", &live.path)? == written.sha256)
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
        store.refuse_unless_idle(&self.live, session, min_idle)
    }
}

impl Replacement<'_> {
    /// Refuses a file that was changed less than `min_idle` before it was read, where it is known
    /// only now that an agent may keep its history in memory.
    pub fn when_idle(self, min_idle: Duration) -> Result<Self, StoreError> {
        self.store
            .refuse_unless_idle(&self.live, &self.session, min_idle)?;
        Ok(self)
    }
}
