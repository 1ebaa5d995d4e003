//! The snapshot that people mean: by its id, its number, its time or its hash.

use chrono::{DateTime, Utc};

use crate::missing::{Missing, Reason};
use crate::query::Query;
use crate::{Catalog, Entry, SessionId, SnapshotKind, Store, StoreError, When};

impl Store {
    /// The snapshot, of one session or of any, that `wanted` names: see [`Catalog::find`].
    pub fn find_snapshot(
        &self,
        session: Option<&SessionId>,
        wanted: &str,
    ) -> Result<Entry, StoreError> {
        if let Some(session) = session {
            self.require_session(session)?;
        }
        let found = self.catalog(session)?.find(wanted).cloned();
        found.map_err(|error| self.explained(error))
    }
}

impl Catalog {
    /// The snapshot that `wanted` names: `latest`, a number, a day, a time, or a unique
    /// beginning of an id, of the time in it, or (6 digits and more) of a sha256.
    ///
    /// Digits alone are a number and nothing else; `sha256:` stands before a hash that has no
    /// letter. A day names what was taken on it; a time the newest one that was taken by then.
    pub fn find(&self, wanted: &str) -> Result<&Entry, StoreError> {
        if wanted == "latest" {
            let newest = self.newest_by(None);
            return newest.ok_or_else(|| self.missing(wanted, Reason::Unknown));
        }
        let query = Query::new(wanted);
        if let Some(number) = query.number() {
            let mut entries = self.entries.iter();
            let found = entries.find(|entry| entry.id.stamp.sequence == number);
            return found.ok_or_else(|| self.missing(wanted, Reason::of_digits(wanted)));
        }
        let exact = |entry: &&Entry| entry.id.to_string() == wanted;
        if let Some(entry) = self.entries.iter().find(exact) {
            return Ok(entry);
        }
        let when = When::parse(wanted, self.now).ok();
        let by_time = when.map_or_else(Vec::new, |when| self.at(when));
        let is_named =
            |entry: &&Entry| entry.begins_with(query) || by_time.contains(&entry.id.stamp.sequence);
        let found: Vec<&Entry> = self.entries.iter().filter(is_named).collect();
        match found[..] {
            [] => {
                let reason = when.map_or(Reason::Unknown, |when| self.no_time(when));
                Err(self.missing(wanted, reason))
            }
            [entry] => Ok(entry),
            _ => Err(StoreError::ambiguous(
                wanted,
                found.iter().map(|entry| &entry.id),
            )),
        }
    }

    /// The newest snapshot that was taken before `time`, of those that `latest` may be.
    pub fn find_before(&self, time: DateTime<Utc>) -> Result<&Entry, StoreError> {
        let newest = self.newest_by(Some(&|entry| entry.id.stamp.time < time));
        newest.ok_or_else(|| {
            let when = time.format("%Y-%m-%dT%H:%M:%SZ").to_string();
            self.missing(&when, Reason::NoneBefore(self.oldest()))
        })
    }

    /// The numbers of the snapshots that a time names.
    fn at(&self, when: When) -> Vec<u64> {
        let sequence = |entry: &Entry| entry.id.stamp.sequence;
        if when.is_day {
            let days = self.entries.iter();
            let days = days.filter(|entry| when.contains(entry.id.stamp.time));
            return days.map(sequence).collect();
        }
        let newest = self.newest_by(Some(&|entry| entry.id.stamp.time <= when.end));
        newest.map(sequence).into_iter().collect()
    }

    /// Why no snapshot has that time.
    fn no_time(&self, when: When) -> Reason {
        if when.is_day {
            Reason::NotThatDay(self.around(when))
        } else {
            Reason::NoneBefore(self.oldest())
        }
    }

    /// The last snapshot before a time, and the first one after it.
    fn around(&self, when: When) -> Vec<String> {
        let entries = || self.entries.iter();
        let time = |entry: &&Entry| entry.id.stamp.time;
        let before = entries().filter(|entry| time(entry) < when.start);
        let after = entries().filter(|entry| time(entry) > when.end);
        let around = [before.max_by_key(time), after.min_by_key(time)];
        let around = around.into_iter().flatten();
        around.map(|entry| entry.id.to_string()).collect()
    }

    fn oldest(&self) -> Option<String> {
        let oldest = self.entries.iter().min_by_key(|entry| entry.id.stamp.time);
        oldest.map(|entry| entry.id.to_string())
    }

    /// The newest one of which that is true. What `ctx-rollback` took before it replaced the
    /// file is not wanted, nor what was written to a file after it had been replaced, nor what
    /// was adopted.
    fn newest_by(&self, is_wanted: Option<&dyn Fn(&Entry) -> bool>) -> Option<&Entry> {
        let is_state = |entry: &&Entry| {
            let kind = entry.meta.as_ref().map(|meta| meta.kind);
            !matches!(
                kind,
                Ok(SnapshotKind::PreRollback | SnapshotKind::Late | SnapshotKind::Adopted)
            )
        };
        let entries = self.entries.iter().filter(is_state);
        let entries = entries.filter(|entry| is_wanted.is_none_or(|is_wanted| is_wanted(entry)));
        entries.max_by_key(|entry| entry.id.stamp.sequence)
    }

    fn missing(&self, wanted: &str, reason: Reason) -> StoreError {
        let near = Query::new(wanted)
            .number()
            .map(|number| self.nearest(number));
        StoreError::NoSnapshot(Box::new(Missing {
            wanted: wanted.to_owned(),
            reason,
            near: near.unwrap_or_default(),
        }))
    }

    /// The snapshots whose numbers are the nearest ones, the lower one first.
    fn nearest(&self, number: u64) -> Vec<String> {
        let mut near: Vec<&Entry> = self.entries.iter().collect();
        near.sort_by_key(|entry| entry.id.stamp.sequence.abs_diff(number));
        near.truncate(2);
        near.sort_by_key(|entry| entry.id.stamp.sequence);
        near.iter().map(|entry| entry.id.to_string()).collect()
    }
}

impl Entry {
    fn begins_with(&self, query: Query<'_>) -> bool {
        let hash = self.meta.as_ref().map(|meta| meta.sha256.as_str());
        query.begins(&self.id) || hash.is_ok_and(|hash| query.begins_hash(hash, 6))
    }
}
