//! Why nothing has the name that was asked for, and where it may be instead.

use std::fmt;

use crate::query::Query;
use crate::{SessionId, Store, StoreError, StoreItem};

/// A snapshot that was asked for and is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was asked for.
    pub wanted: String,
    /// Why nothing has that name.
    pub reason: Reason,
    /// Snapshots whose numbers are near.
    pub near: Vec<String>,
}

/// Why nothing has that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no such thing.
    Unknown,
    /// It is a whole day, written as a number.
    DayInDigits(String),
    /// It may be a hash without a letter.
    HashInDigits,
    /// It was taken of another session, or another file, than was asked for.
    Elsewhere(String),
    /// It is in the trash.
    InTrash(String),
    /// None was taken on that day; these are the ones before and after it.
    NotThatDay(Vec<String>),
    /// None is as old as that; this is the oldest.
    NoneBefore(Option<String>),
}

/// From how many digits on a number may be meant as a hash.
const DIGITS_OF_A_HASH: usize = 12;

impl Reason {
    /// Of digits alone that are no number of a snapshot.
    pub(crate) fn of_digits(digits: &str) -> Self {
        let day = chrono::NaiveDate::parse_from_str(digits, "%Y%m%d");
        match day {
            Ok(day) if digits.len() == "20261121".len() => Self::DayInDigits(day.to_string()),
            _ if digits.len() >= DIGITS_OF_A_HASH => Self::HashInDigits,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = &self.wanted;
        match &self.reason {
            Reason::Unknown => write!(f, "no snapshot {wanted:?}"),
            Reason::DayInDigits(_) | Reason::HashInDigits => {
                write!(f, "{wanted} is no snapshot number")
            }
            Reason::Elsewhere(id) if id == wanted => write!(f, "{id} is of another session"),
            Reason::Elsewhere(id) => write!(f, "{wanted} is {id}, of another session"),
            Reason::InTrash(id) => write!(f, "{id} is in the trash"),
            Reason::NotThatDay(_) => write!(f, "no snapshot was taken on {wanted}"),
            Reason::NoneBefore(_) => write!(f, "no snapshot is as old as {wanted}"),
        }
    }
}

impl Store {
    /// The same failure with what the rest of the store says of the name.
    pub(crate) fn explained(&self, error: StoreError) -> StoreError {
        let StoreError::NoSnapshot(mut missing) = error else {
            return error;
        };
        if missing.reason == Reason::Unknown && missing.wanted != "latest" {
            if let Some(id) = self.elsewhere(&missing.wanted) {
                missing.reason = Reason::Elsewhere(id);
            } else if let Some(id) = self.in_trash(&missing.wanted) {
                missing.reason = Reason::InTrash(id);
            }
        }
        StoreError::NoSnapshot(missing)
    }

    /// A snapshot of any session that has this number, or this id.
    fn elsewhere(&self, wanted: &str) -> Option<String> {
        let number = Query::new(wanted).number();
        let entries = self.catalog(None).ok()?.entries;
        let mut ids = entries.into_iter().map(|entry| entry.id);
        let is_it = |id: &crate::SnapshotId| match number {
            Some(number) => id.stamp.sequence == number,
            None => id.to_string() == wanted,
        };
        ids.find(is_it).map(|id| id.to_string())
    }

    fn in_trash(&self, wanted: &str) -> Option<String> {
        match self.find_deleted(None, wanted) {
            Ok(StoreItem::Snapshot(id)) => Some(id.to_string()),
            _ => None,
        }
    }

    /// Refuses a session of which there are no snapshots, no bytes of one and no offloaded
    /// files, with names that are near: a name with a typing error must not look as if all were
    /// well.
    pub fn require_session(&self, session: &SessionId) -> Result<(), StoreError> {
        self.require(session, false)
    }

    /// The same where what is in the trash, or was set aside as damaged, is enough.
    pub fn require_session_or_trash(&self, session: &SessionId) -> Result<(), StoreError> {
        self.require(session, true)
    }

    fn require(&self, session: &SessionId, trash_is_enough: bool) -> Result<(), StoreError> {
        let known = self.sessions()?;
        if known.contains(session) {
            return Ok(());
        }
        let is_of = |item: &StoreItem| item.session() == session;
        let in_trash = self.trashed(None)?.keys().any(is_of);
        if trash_is_enough && (in_trash || self.set_aside()?.keys().any(is_of)) {
            return Ok(());
        }
        Err(StoreError::NoSession {
            session: session.to_string(),
            near: near(session.as_str(), known.iter().map(SessionId::as_str)),
            in_trash,
        })
    }
}

/// How many names are proposed.
const PROPOSED: usize = 3;

/// The names that may have been meant, the nearest first.
pub(crate) fn near<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    // A third of the letters may be wrong; who typed the beginning alone was interrupted.
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
mod tests {
    use super::near;

    /// 15 C2: names with one typing error, or without their end, are proposed.
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
