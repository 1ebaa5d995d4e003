//! Whether the clock can be believed: it is held against the times that the store has seen.
//!
//! A month in which nobody touched the store and a clock that jumped by a month look alike to
//! a single run. What tells them apart is that each collection leaves the time behind: after
//! a quiet month of nightly runs the last one was yesterday. After a real pause the first
//! run is doubted, and a later one that agrees with it is not.

use std::fs;
use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::catalog::snapshot_files;
use crate::error::{Naming, StoreError};
use crate::files::open_plain;
use crate::lock::read_json;
use crate::trash::bins;
use crate::{Stamp, Store, chain};

/// A day, and two hours for a run that begins late and for the change to summer time.
const DAY: TimeDelta = TimeDelta::hours(26);
/// How long a doubted time must have gone on before it is believed.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// The longest pause that, once it has turned out to be true, is not doubted again: that of
/// a run once a week.
const LONGEST_PAUSE: TimeDelta = TimeDelta::days(8);

/// Content of `context/clock.json`: what collections have seen of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Visits {
    /// When garbage was collected last.
    pub(crate) believed: Option<DateTime<Utc>>,
    /// A time that came too soon after all others.
    #[serde(default)]
    doubted: Option<DateTime<Utc>>,
    /// The longest pause that turned out to be true, in seconds.
    #[serde(default)]
    pause: i64,
}

/// What is to be thought of the clock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// The last time before it, when it has jumped since then.
    pub(crate) jumped_from: Option<DateTime<Utc>>,
    /// What is to be remembered.
    pub(crate) visits: Visits,
}

impl Visits {
    /// Judges the clock by all `times` that are known. Later ones say nothing: then this
    /// clock is slow, or theirs was fast.
    pub(crate) fn judge(
        self,
        times: impl IntoIterator<Item = DateTime<Utc>>,
        now: DateTime<Utc>,
    ) -> Judgement {
        let times = times.into_iter().chain(self.believed);
        let Some(last) = times.filter(|time| *time <= now).max() else {
            return self.believe(now);
        };
        let limit = DAY.max(TimeDelta::seconds(self.pause) + TimeDelta::hours(2));
        if now - last <= limit {
            return self.believe(now);
        }
        let doubted = self
            .doubted
            .filter(|doubted| (last..=now).contains(doubted));
        let Some(doubted) = doubted else {
            return self.doubt(last, now);
        };
        let (pause, since) = (doubted - last, now - doubted);
        if since < HOUR {
            return self.doubt(last, doubted);
        }
        if since > limit.max(pause + TimeDelta::hours(2)) {
            return self.doubt(last, now);
        }
        let mut learned = self;
        if pause <= LONGEST_PAUSE {
            learned.pause = self.pause.max(pause.num_seconds());
        }
        learned.believe(now)
    }

    /// The same, with the clock taken to be right.
    pub(crate) fn believe(self, now: DateTime<Utc>) -> Judgement {
        Judgement {
            jumped_from: None,
            visits: Self {
                believed: Some(now),
                doubted: None,
                ..self
            },
        }
    }

    fn doubt(self, last: DateTime<Utc>, doubted: DateTime<Utc>) -> Judgement {
        Judgement {
            jumped_from: Some(last),
            visits: Self {
                doubted: Some(doubted),
                ..self
            },
        }
    }
}

impl Store {
    fn clock_path(&self) -> PathBuf {
        self.root().join("context/clock.json")
    }

    /// What collections have seen of the time.
    pub(crate) fn visits(&self) -> Visits {
        let file = open_plain(&self.clock_path());
        let visits = file.ok().and_then(|mut file| read_json(&mut file));
        visits.unwrap_or_default()
    }

    /// Writes it down for the next collection, if there is a store.
    pub(crate) fn remember_visit(&self, visits: Visits) {
        let path = self.clock_path();
        let write = || -> Result<(), StoreError> {
            let mut temp = self.temp("clock", 0o600)?;
            serde_json::to_writer(&mut temp, &visits).naming("write", &path)?;
            fs::rename(temp.path(), &path).naming("write", &path)?;
            temp.keep();
            Ok(())
        };
        if self.root().join("FORMAT").exists() {
            // A full disk must not stop a collection: the next one is doubted at worst.
            let _ = write();
        }
    }

    /// The times that the store has seen, as far as they left a trace: of snapshots, of what
    /// is in the trash, and of the last record of the audit log.
    pub(crate) fn times(&self) -> Result<Vec<DateTime<Utc>>, StoreError> {
        let snapshots = snapshot_files(&self.snapshots())?;
        let mut times: Vec<_> = snapshots.iter().map(|file| file.id.stamp.time).collect();
        for bin in bins(&self.trash(), None)? {
            let name = bin.file_name().and_then(|name| name.to_str());
            times.extend(name.and_then(Stamp::parse).map(|stamp| stamp.time));
        }
        if let Ok(log) = open_plain(&self.audit_log()) {
            times.extend(chain::time_of_last(&log));
        }
        Ok(times)
    }

    /// When a grace begins: now, or at the latest time that the store knows. Of two clocks
    /// nobody knows which one was wrong, so the later one counts.
    pub fn grace_begins(&self) -> Result<DateTime<Utc>, StoreError> {
        let latest = self.lock()?.latest_time();
        let now = self.now();
        Ok(now.max(latest.unwrap_or(now)))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::Visits;

    fn at(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(hours)
    }

    /// Whether the runs at these hours are stopped, one after the other.
    fn stopped(seen: &[i64], runs: &[i64]) -> Vec<bool> {
        let mut visits = Visits::default();
        let stopped = runs.iter().map(|run| {
            let judged = visits.judge(seen.iter().copied().map(at), at(*run));
            visits = judged.visits;
            judged.jumped_from.is_some()
        });
        stopped.collect()
    }

    #[test]
    fn a_clock_is_believed_when_something_was_seen_within_a_day() {
        let far = 400 * 24;
        for (seen, runs, expected) in [
            // Of an empty store nothing is known.
            (vec![], vec![0, far], vec![false, true]),
            (vec![0], vec![25, 50, 75], vec![false; 3]),
            (vec![0], vec![27], vec![true]),
            // It was slow, or is.
            (vec![0], vec![-far, 0], vec![false, false]),
            (vec![0, far], vec![1, 24], vec![false, false]),
            // Doubted, and right again: nothing is left of it.
            (vec![0], vec![far, 1, far], vec![true, false, true]),
            // Doubted, and an hour later still so.
            (
                vec![0],
                vec![far, far, far + 1, far + 25],
                vec![true, true, false, false],
            ),
            // Doubted, and then it jumps once more.
            (vec![0], vec![30, far, far + 1], vec![true, true, false]),
            // Once a week, and once a month.
            (
                vec![0],
                vec![168, 336, 504, 673],
                vec![true, false, false, false],
            ),
            (vec![0], vec![720, 1440, 2160], vec![true, false, true]),
        ] {
            assert_eq!(stopped(&seen, &runs), expected, "{seen:?} {runs:?}");
        }
    }
}
