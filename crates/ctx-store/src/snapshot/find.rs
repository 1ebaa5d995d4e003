//! Finds a snapshot by what a user typed: an id, a number, a time or a hash. If no snapshot
//! matches, explains why and suggests similar names.

use chrono::{DateTime, Utc};

use crate::error::{MissingReason, MissingSnapshot, Result, StoreError};
use crate::{
    Catalog, Entry, OffloadedFile, SessionId, SnapshotId, SnapshotKind, Store, StoreItem, When,
};

impl Store {
    /// Finds the snapshot that `wanted` names, in one session or, if `session` is `None`, in all
    /// sessions. For the possible names, see [`Catalog::find`].
    pub fn find_snapshot(&self, session: Option<&SessionId>, wanted: &str) -> Result<Entry> {
        let session = session.map(|session| self.require_session(session, false)).transpose()?;
        self.catalog(session.as_ref())?.find(wanted).cloned().map_err(|error| self.explained(error))
    }

    /// Makes the error say whether the requested snapshot belongs to another session or is in the
    /// trash.
    pub fn explained(&self, error: StoreError) -> StoreError {
        let StoreError::NoSnapshot(mut missing) = error else { return error };
        if missing.reason == MissingReason::Unknown && missing.wanted != "latest" {
            if let Some(id) = self.elsewhere(&missing.wanted) {
                missing.reason = MissingReason::Elsewhere(id);
            } else if let Ok(StoreItem::Snapshot(id)) = self.find_deleted(None, &missing.wanted) {
                missing.reason = MissingReason::InTrash(id.to_string());
            }
        }
        StoreError::NoSnapshot(missing)
    }

    /// Returns the id of the snapshot with this number or id, in any session.
    fn elsewhere(&self, wanted: &str) -> Option<String> {
        let query = Query::new(wanted);
        let mut ids = self.catalog(None).ok()?.entries.into_iter().map(|entry| entry.id);
        ids.find(|id| query.is_number_of(id) || id.to_string() == wanted).map(|id| id.to_string())
    }

    /// Returns the session with this id or, if there is none, the only session whose id begins with
    /// it. Fails if the store has neither snapshots nor offloaded files of such a session, so that
    /// a mistyped name is not reported as a session without problems; the error lists similar
    /// names. If `trash_is_enough` is set, also accepts a session whose only items are in the trash
    /// or in `damaged/`.
    pub fn require_session(&self, session: &SessionId, trash_is_enough: bool) -> Result<SessionId> {
        let known = self.sessions()?;
        if known.contains(session) {
            return Ok(session.clone());
        }
        let is_of = |item: &StoreItem| item.session() == session;
        let in_trash = self.trashed(None)?.keys().any(is_of);
        if trash_is_enough && (in_trash || self.set_aside()?.keys().any(is_of)) {
            return Ok(session.clone());
        }
        let text = session.as_str();
        let mut begun = known.iter().filter(|known| known.as_str().starts_with(text));
        match (begun.next(), begun.next()) {
            (Some(one), None) if text.len() >= SessionId::LEAST => Ok(one.clone()),
            _ => Err(StoreError::NoSession {
                session: session.to_string(),
                near: near(text, known.iter().map(SessionId::as_str)),
                in_trash,
            }),
        }
    }
}

impl Catalog {
    /// Finds the snapshot that `wanted` names. The name may be `latest`, a number, a day or a time,
    /// or the unambiguous beginning of an id, of the time in an id, or of a sha256 (at least 6
    /// digits).
    ///
    /// A name that consists only of digits is always a snapshot number; a hash without letters must
    /// be written with `sha256:`. A day means the snapshot taken on that day, and a time means the
    /// newest snapshot taken by then.
    pub fn find(&self, wanted: &str) -> Result<&Entry> {
        if wanted == "latest" {
            let newest = self.newest_by(|_| true);
            return newest.ok_or_else(|| self.missing(wanted, MissingReason::Unknown));
        }
        let query = Query::new(wanted);
        if let Some(number) = query.number() {
            let mut entries = self.entries.iter();
            let found = entries.find(|entry| entry.id.stamp.sequence == number);
            return found.ok_or_else(|| self.missing(wanted, MissingReason::of_digits(wanted)));
        }
        if let Some(entry) = self.entries.iter().find(|entry| entry.id.to_string() == wanted) {
            return Ok(entry);
        }
        let when = When::parse(wanted, self.now).ok();
        let by_time = when.map_or_else(Vec::new, |when| self.at(when));
        let is_named = |entry: &&Entry| {
            let hash = entry.meta.as_ref().map(|meta| meta.sha256.as_str());
            query.begins(&entry.id)
                || hash.is_ok_and(|hash| query.begins_hash(hash, 6))
                || by_time.contains(&entry.id.stamp.sequence)
        };
        let found: Vec<&Entry> = self.entries.iter().filter(is_named).collect();
        match found[..] {
            [] => {
                let reason = match when {
                    None => MissingReason::Unknown,
                    Some(day) if day.is_day => MissingReason::NotThatDay(self.around(day)),
                    Some(_) => MissingReason::NoneBefore(self.oldest()),
                };
                Err(self.missing(wanted, reason))
            }
            [entry] => Ok(entry),
            _ => Err(StoreError::ambiguous(wanted, found.iter().map(|entry| &entry.id))),
        }
    }

    /// Returns the newest snapshot taken before `time`. Considers only the kinds of snapshots that
    /// `latest` can refer to.
    pub fn find_before(&self, time: DateTime<Utc>) -> Result<&Entry> {
        self.newest_by(|entry| entry.id.stamp.time < time).ok_or_else(|| {
            let when = time.format("%Y-%m-%dT%H:%M:%SZ").to_string();
            self.missing(&when, MissingReason::NoneBefore(self.oldest()))
        })
    }

    /// For a day, returns the numbers of the snapshots taken on that day; for a time, returns the
    /// number of the newest snapshot taken by then.
    fn at(&self, when: When) -> Vec<u64> {
        let sequence = |entry: &Entry| entry.id.stamp.sequence;
        if when.is_day {
            let days = self.entries.iter();
            return days.filter(|entry| when.contains(entry.id.stamp.time)).map(sequence).collect();
        }
        self.newest_by(|entry| entry.id.stamp.time <= when.end).map(sequence).into_iter().collect()
    }

    /// Returns the ids of the last snapshot before `when` and the first snapshot after it.
    fn around(&self, when: When) -> Vec<String> {
        let entries = || self.entries.iter();
        let time = |entry: &&Entry| entry.id.stamp.time;
        let before = entries().filter(|entry| time(entry) < when.start);
        let after = entries().filter(|entry| time(entry) > when.end);
        let around = [before.max_by_key(time), after.min_by_key(time)];
        around.into_iter().flatten().map(|entry| entry.id.to_string()).collect()
    }

    fn oldest(&self) -> Option<String> {
        let oldest = self.entries.iter().min_by_key(|entry| entry.id.stamp.time);
        oldest.map(|entry| entry.id.to_string())
    }

    /// Returns the newest snapshot that `is_wanted` accepts. Skips snapshots of the kinds
    /// `pre-rollback`, `late` and `adopted`, because they may not hold the session as it was when
    /// they were taken.
    fn newest_by(&self, is_wanted: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        use SnapshotKind::{Adopted, Late, PreRollback};
        let is_state = |entry: &Entry| {
            !matches!(entry.meta.as_ref().map(|meta| meta.kind), Ok(PreRollback | Late | Adopted))
        };
        let entries = self.entries.iter().filter(|entry| is_state(entry) && is_wanted(entry));
        entries.max_by_key(|entry| entry.id.stamp.sequence)
    }

    fn missing(&self, wanted: &str, reason: MissingReason) -> StoreError {
        let near = Query::new(wanted).number().map(|number| self.nearest(number));
        StoreError::NoSnapshot(Box::new(MissingSnapshot {
            wanted: wanted.to_owned(),
            reason,
            near: near.unwrap_or_default(),
        }))
    }

    /// Returns the ids of the two snapshots with the nearest numbers, lower number first.
    fn nearest(&self, number: u64) -> Vec<String> {
        let mut near: Vec<&Entry> = self.entries.iter().collect();
        near.sort_by_key(|entry| entry.id.stamp.sequence.abs_diff(number));
        near.truncate(2);
        near.sort_by_key(|entry| entry.id.stamp.sequence);
        near.iter().map(|entry| entry.id.to_string()).collect()
    }
}

/// A name that a user typed: a number, or the beginning of an id, a time or a hash.
///
/// A name that consists only of digits is always a number, so that a removed snapshot's number
/// never matches the beginning of something else.
#[derive(Clone, Copy)]
pub(crate) struct Query<'a> {
    text: &'a str,
    has_digits_only: bool,
}

/// The prefix that marks a name as a hash. A hash that consists only of digits must have the
/// prefix.
const HASH: &str = "sha256:";

impl<'a> Query<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            has_digits_only: !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        }
    }

    /// Returns the name as a number, or `None` if it contains anything but digits.
    pub(crate) fn number(self) -> Option<u64> {
        // A number that is too large matches no snapshot.
        self.has_digits_only.then(|| self.text.parse().unwrap_or(u64::MAX))
    }

    /// Whether the name is the number of the snapshot `id`.
    pub(crate) fn is_number_of(self, id: &SnapshotId) -> bool {
        self.number() == Some(id.stamp.sequence)
    }

    /// Whether the snapshot's id, or the time in the id, begins with the name.
    pub(crate) fn begins(self, id: &SnapshotId) -> bool {
        let begins = |name: String| name.starts_with(self.text);
        let may_begin = !self.text.is_empty() && !self.has_digits_only;
        may_begin && (begins(id.to_string()) || begins(id.stamp.to_string()))
    }

    /// Whether `hash` begins with the name. The name must have at least `least` digits.
    pub(crate) fn begins_hash(self, hash: &str, least: usize) -> bool {
        self.hash().is_some_and(|digits| digits.len() >= least && hash.starts_with(digits))
    }

    /// Whether the name of the offloaded file begins with the hash that the user typed.
    pub(crate) fn begins_file(self, file: &OffloadedFile) -> bool {
        self.hash().is_some_and(|digits| !digits.is_empty() && file.begins_with(digits))
    }

    /// Returns the name as the digits of a hash, or `None` if the name has only decimal digits and
    /// no prefix `sha256:`.
    fn hash(self) -> Option<&'a str> {
        self.text.strip_prefix(HASH).or_else(|| (!self.has_digits_only).then_some(self.text))
    }
}

/// A number with at least this many digits may have been meant as a hash.
const DIGITS_OF_A_HASH: usize = 12;

impl MissingReason {
    /// Explains why no snapshot has this number.
    pub(crate) fn of_digits(digits: &str) -> Self {
        let day = chrono::NaiveDate::parse_from_str(digits, "%Y%m%d");
        match day {
            Ok(day) if digits.len() == "20261121".len() => Self::DayInDigits(day.to_string()),
            _ if digits.len() >= DIGITS_OF_A_HASH => Self::HashInDigits,
            _ => Self::Unknown,
        }
    }
}

/// The maximum number of names that an error suggests.
const PROPOSED: usize = 3;

/// Returns the known names that are similar to `wanted`, most similar first.
pub(crate) fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Up to a third of the letters may differ. A known name that begins with `wanted` also counts
    // as similar.
    let most = (wanted.len() / 3).max(1);
    let mut near: Vec<(usize, &str)> = known
        .filter_map(|name| {
            let distance = strsim::damerau_levenshtein(wanted, name);
            let is_near = distance <= most || name.starts_with(wanted);
            is_near.then_some((distance, name))
        })
        .collect();
    near.sort_unstable();
    near.truncate(PROPOSED);
    near.into_iter().map(|(_, name)| name.to_owned()).collect()
}

#[cfg(test)]
mod query_tests {
    use super::Query;
    use crate::SnapshotId;

    /// A name that consists only of digits is a snapshot number, even if it could be a day or the
    /// beginning of a hash.
    #[test]
    fn a_number_begins_nothing() {
        let id = SnapshotId::parse("20-a-20261121T234307.123456Z-0007").expect("an id");
        for number in ["7", "07", "0007"] {
            assert!(Query::new(number).is_number_of(&id), "{number}");
        }
        for (text, begins) in [
            ("2", false),
            ("20", false),
            ("202611", false),
            ("20261121", false),
            ("202611212343", false),
            ("20261121T", true),
            ("20-", true),
            ("20-a-2026", true),
            ("", false),
        ] {
            assert_eq!(Query::new(text).begins(&id), begins, "{text}");
            assert!(!Query::new(text).is_number_of(&id), "{text}");
        }
        let hash = "123456789012345a";
        for (text, begins) in [
            ("123456", false),
            ("123456789012", false),
            ("123456789012345a", true),
            ("sha256:123456", true),
            ("sha256:12345", false),
            ("sha256:", false),
        ] {
            assert_eq!(Query::new(text).begins_hash(hash, 6), begins, "{text}");
        }
        assert!(Query::new("a12").begins_hash("a123", 1));
        assert!(!Query::new("a12").begins_hash("a123", 6));
        let too_large = "99999999999999999999999";
        assert_eq!(Query::new(too_large).number(), Some(u64::MAX));
    }
}

#[cfg(test)]
mod missing_tests {
    use super::near;

    /// The error suggests names that differ by one typing error, and names that begin with the
    /// given one.
    #[test]
    fn near_names_are_proposed() {
        let known = ["demo", "demo-2", "other", "p-1"];
        let near = |wanted| near(wanted, known.into_iter());
        assert_eq!(near("dmeo"), ["demo"]);
        assert_eq!(near("dem"), ["demo", "demo-2"]);
        assert_eq!(near("demo2"), ["demo", "demo-2"]);
        assert_eq!(near("o"), ["other"]);
        assert!(near("typo").is_empty());
    }
}
