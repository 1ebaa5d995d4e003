//! Decides whether to trust the system clock, by comparing it with the times recorded in the store.
//!
//! If the clock is wrong, all items in the trash may seem to have outlived their grace period.
//! After a month without snapshots, a single run cannot tell a correct clock from one that has
//! jumped ahead by a month. Each collection therefore records its time, so a nightly run knows that
//! the last collection was yesterday. After a real pause, the first run distrusts the clock. A
//! later run trusts it again if the time that has passed since the first run is plausible.
//!
//! Events between two collections must not hide a jump. If a slow clock is corrected, the time of
//! the next snapshot jumps ahead just like the time of the next collection, so the snapshot proves
//! nothing.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::audit::time_of_last;
use crate::error::Result;
use crate::snapshot::meta::snapshot_files;
use crate::store::{Store, read_derived};
use crate::trash::bins;
use crate::{Stamp, open_plain};

/// One day, plus two hours to allow for a late start and for the switch to daylight saving time.
const DAY: TimeDelta = TimeDelta::hours(26);
/// The minimum time between a run that distrusts the clock and a later run that may trust it again.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// Once a pause has turned out to be real, later pauses of that length are not doubted, unless they
/// exceed this limit. Eight days is enough to cover the pauses between weekly runs.
const LONGEST_PAUSE: TimeDelta = TimeDelta::days(8);

/// The content of `context/clock.json`: the times of earlier collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ClockRecord {
    /// The time of the last collection that trusted the clock.
    pub(crate) believed: Option<DateTime<Utc>>,
    /// When the grace period began for items that were removed by the last collection that trusted
    /// the clock. The grace period began later than `believed` if the clock was known to be slow.
    grace: Option<DateTime<Utc>>,
    /// The time of a collection that distrusted the clock, because too much time seemed to have
    /// passed since the last recorded event.
    doubted: Option<DateTime<Utc>>,
    /// The latest time that was doubted at first and trusted later. Days before that time do not
    /// count towards an item's grace period.
    resumed: Option<DateTime<Utc>>,
    /// The longest pause, in seconds, that turned out to be real and did not exceed
    /// [`LONGEST_PAUSE`].
    pause: i64,
}

/// A period during which nothing was recorded in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
}

impl Gap {
    fn length(&self) -> TimeDelta {
        self.to - self.from
    }

    /// Returns the gaps between consecutive recorded times from `from` to `to`, in order. There is
    /// always at least one gap.
    fn all(times: &[DateTime<Utc>], from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Self> {
        let between = times.iter().filter(|time| (from..=to).contains(time));
        let mut seen: Vec<_> = between.copied().chain([from, to]).collect();
        seen.sort_unstable();
        seen.windows(2).map(|pair| Self { from: pair[0], to: pair[1] }).collect()
    }

    fn longest(times: &[DateTime<Utc>], from: DateTime<Utc>, to: DateTime<Utc>) -> TimeDelta {
        Self::all(times, from, to).iter().map(Self::length).max().unwrap_or_default()
    }
}

/// The decision whether to trust the clock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClockVerdict {
    /// The clock's last jump, or `None` if the clock is trusted.
    pub(crate) jumped: Option<Gap>,
    /// The record to write for the next collection.
    pub(crate) record: ClockRecord,
}

impl ClockRecord {
    /// Decides whether to trust the clock, given all recorded `times`. `grace` is the start of the
    /// grace period for an item removed now. Times in the future are ignored, because either the
    /// clock is slow now or it was fast when they were recorded.
    ///
    /// The clock is trusted if there is no large gap between the recorded times since the last
    /// collection. If the grace period for the items that the last collection removed began later,
    /// only the times since then count. A snapshot taken after a jump does not prove that the clock
    /// is right. Before the first collection, there is no grace period to cut short, so it is
    /// enough to compare the clock with the latest recorded time.
    pub(crate) fn judge(
        self,
        times: impl IntoIterator<Item = DateTime<Utc>>,
        now: DateTime<Utc>,
        grace: DateTime<Utc>,
    ) -> ClockVerdict {
        let times: Vec<_> = times.into_iter().filter(|time| *time <= now).collect();
        let last = [self.grace, self.believed].into_iter().flatten();
        let last = last.filter(|last| *last <= now).max();
        let Some(from) = last.or_else(|| times.iter().copied().max()) else {
            return self.believe(now, grace);
        };
        let limit = DAY.max(TimeDelta::seconds(self.pause) + TimeDelta::hours(2));
        let mut gaps = Gap::all(&times, from, now).into_iter();
        let Some(jump) = gaps.rfind(|gap| gap.length() > limit) else {
            return self.believe(now, grace);
        };
        let doubted = self.doubted.filter(|doubted| (from..=now).contains(doubted));
        let Some(doubted) = doubted else { return self.doubt(jump, now) };
        if now - doubted < HOUR {
            return self.doubt(jump, doubted);
        }
        // Measure the pause only up to the doubted time, because later events split the rest of the
        // pause into shorter gaps.
        let pause = Gap::longest(&times, from, doubted);
        if Gap::longest(&times, doubted, now) > limit.max(pause + TimeDelta::hours(2)) {
            return self.doubt(jump, now);
        }
        let mut learned = Self { resumed: Some(doubted), ..self };
        if pause <= LONGEST_PAUSE {
            learned.pause = self.pause.max(pause.num_seconds());
        }
        learned.believe(now, grace)
    }

    /// Returns the decision to trust the clock, because the user says that it is right.
    pub(crate) fn trust(self, now: DateTime<Utc>, grace: DateTime<Utc>) -> ClockVerdict {
        Self { resumed: None, ..self }.believe(now, grace)
    }

    /// Whether the grace period has ended for items removed at or before `deadline`. Days before a
    /// time that was doubted at first and trusted later do not count, because the clock may have
    /// skipped them.
    pub(crate) fn graces_end_at(&self, deadline: DateTime<Utc>, now: DateTime<Utc>) -> bool {
        let resumed = self.resumed.filter(|resumed| *resumed <= now);
        resumed.is_none_or(|resumed| resumed <= deadline)
    }

    fn believe(self, now: DateTime<Utc>, grace: DateTime<Utc>) -> ClockVerdict {
        ClockVerdict {
            jumped: None,
            record: Self { believed: Some(now), grace: Some(grace), doubted: None, ..self },
        }
    }

    fn doubt(self, jump: Gap, doubted: DateTime<Utc>) -> ClockVerdict {
        ClockVerdict { jumped: Some(jump), record: Self { doubted: Some(doubted), ..self } }
    }
}

impl Store {
    fn clock_path(&self) -> PathBuf {
        self.root.join("context/clock.json")
    }

    /// Reads the record of earlier collections.
    pub(crate) fn record(&self) -> ClockRecord {
        read_derived(&self.clock_path())
    }

    /// Writes the record for the next collection, if the store exists.
    pub(crate) fn remember_visit(&self, record: ClockRecord) {
        if self.root.join("FORMAT").exists() {
            let json = serde_json::to_vec(&record).unwrap_or_default();
            // Ignore a failure, because a full disk must not stop a collection. At worst, the next
            // collection distrusts the clock.
            let _ = self.write_derived(&self.clock_path(), &json);
        }
    }

    /// Returns the times that can still be found in the store: when each snapshot was taken, when
    /// each item in the trash was removed, and when the last audit record was written.
    pub(crate) fn times(&self) -> Result<Vec<DateTime<Utc>>> {
        let snapshots = snapshot_files(&self.snapshots())?;
        let mut times: Vec<_> = snapshots.iter().map(|file| file.id.stamp.time).collect();
        for bin in bins(&self.trash(), None)? {
            let name = bin.file_name().and_then(|name| name.to_str());
            times.extend(name.and_then(Stamp::parse).map(|stamp| stamp.time));
        }
        if let Ok(log) = open_plain(&self.audit_log()) {
            times.extend(time_of_last(&log));
        }
        Ok(times)
    }

    /// Returns the start of the grace period for an item removed now: the current time, or the
    /// latest time recorded in the store if that is later. Either time may come from a wrong clock;
    /// a grace period that is too long does no harm.
    pub(crate) fn grace_begins(&self) -> Result<DateTime<Utc>> {
        let _locked = self.lock()?;
        Ok(self.grace_would_begin())
    }

    /// Like [`Store::grace_begins`], but does not lock or create the store.
    pub(crate) fn grace_would_begin(&self) -> DateTime<Utc> {
        let now = self.now();
        now.max(self.latest_time().unwrap_or(now))
    }
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::ClockRecord;

    fn at(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(hours)
    }

    /// Returns whether a collection at hour `run` stops because it distrusts the clock. Updates the
    /// clock record.
    fn run(record: &mut ClockRecord, seen: &[i64], run: i64) -> bool {
        let seen: Vec<_> = seen.iter().copied().map(at).collect();
        let latest = seen.iter().copied().max();
        let grace = latest.map_or(at(run), |latest| latest.max(at(run)));
        let judged = record.judge(seen, at(run), grace);
        *record = judged.record;
        judged.jumped.is_some()
    }

    /// Simulates collections at the hours `runs`, and returns whether each of them stops.
    fn stopped(seen: &[i64], runs: &[i64]) -> Vec<bool> {
        let mut record = ClockRecord::default();
        let runs = runs.iter().map(|hour| run(&mut record, seen, *hour));
        runs.collect()
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Seen(i64),
        Run(i64),
    }
    use Event::{Run, Seen};

    /// Returns whether each run among the events stops. A run sees only earlier events.
    fn stopped_among(events: impl IntoIterator<Item = Event>) -> Vec<bool> {
        let (mut record, mut seen, mut stopped) = (ClockRecord::default(), Vec::new(), Vec::new());
        for event in events {
            match event {
                Seen(hour) => seen.push(hour),
                Run(hour) => stopped.push(run(&mut record, &seen, hour)),
            }
        }
        stopped
    }

    #[test]
    fn a_clock_is_believed_when_something_was_seen_within_a_day() {
        let far = 400 * 24;
        for (seen, runs, expected) in [
            // In an empty store, there is nothing to compare the clock with.
            (vec![], vec![0, far], vec![false, true]),
            (vec![0], vec![25, 50, 75], vec![false; 3]),
            (vec![0], vec![27], vec![true]),
            // The clock is slow during the first run in the first case, and during the second run
            // in the second case.
            (vec![0], vec![-far, 0], vec![false, false]),
            (vec![0, far], vec![1, 24], vec![false, false]),
            // The clock is doubted but then right again, so the doubt is forgotten.
            (vec![0], vec![far, 1, far], vec![true, false, true]),
            // The clock is doubted, and an hour later its time is plausible.
            (vec![0], vec![far, far, far + 1, far + 25], vec![true, true, false, false]),
            // The clock is doubted, and then it jumps again.
            (vec![0], vec![30, far, far + 1], vec![true, true, false]),
            // If runs are weekly, only the first run stops; if runs are monthly, every other run
            // stops.
            (vec![0], vec![168, 336, 504, 673], vec![true, false, false, false]),
            (vec![0], vec![720, 1440, 2160], vec![true, false, true]),
        ] {
            assert_eq!(stopped(&seen, &runs), expected, "{seen:?} {runs:?}");
        }
    }

    /// The time between two runs is judged together with all events between them.
    #[test]
    fn what_was_seen_after_a_jump_does_not_hide_it() {
        let day = |days: i64| days * 24;
        let daily = |from: i64, to: i64| (from..=to).map(move |day| Seen(day * 24));
        for (events, expected) in [
            // The clock is a week behind during the first run, and right during the second run.
            (
                vec![Seen(day(-7)), Seen(day(-7)), Run(day(-7)), Seen(0), Run(0), Run(1)],
                vec![false, true, false],
            ),
            // The clock is known to be slow, so the grace period begins at the latest recorded
            // time.
            (vec![Seen(0), Run(day(-7)), Seen(1), Run(1)], vec![false; 2]),
            // The jump was several days ago, and something has been recorded every day since.
            (
                [Seen(0), Run(0)]
                    .into_iter()
                    .chain(daily(1, 9))
                    .chain(daily(40, 49))
                    .chain([Run(day(49)), Run(day(49) + 1)])
                    .collect(),
                vec![false, true, false],
            ),
            // The two runs are a month apart, and a snapshot is taken every day in between.
            (
                [Run(0)].into_iter().chain(daily(0, 30)).chain([Run(day(30))]).collect(),
                vec![false; 2],
            ),
            // Before the first run that trusts the clock, comparing it with the latest recorded
            // time is enough.
            (vec![Seen(0), Seen(day(40)), Run(day(40))], vec![false]),
            // The clock was fast during the previous run.
            (vec![Seen(0), Seen(day(40)), Run(day(40)), Run(2)], vec![false; 2]),
        ] {
            assert_eq!(stopped_among(events.clone()), expected, "{events:?}");
        }
    }

    /// A snapshot shortly before or after each run does not make a run distrust the clock again.
    #[test]
    fn pauses_are_learned_whatever_is_seen_at_their_ends() {
        let every = |hours: i64, before: &[i64], after: &[i64]| {
            let events = (1..=6).flat_map(|run| {
                let run = run * hours;
                let seen = |by: &i64| Seen(run + by);
                let before = before.iter().map(seen);
                let after = after.iter().map(seen);
                before.chain([Run(run)]).chain(after).collect::<Vec<_>>()
            });
            stopped_among(events)
        };
        for (before, after) in
            [(&[][..], &[][..]), (&[-2], &[]), (&[0], &[0]), (&[], &[2]), (&[-2, -1], &[1, 2])]
        {
            let weekly = [false, true, false, false, false, false];
            assert_eq!(every(168, before, after), weekly, "{before:?} {after:?}");
            let monthly = [false, true, false, true, false, true];
            assert_eq!(every(720, before, after), monthly, "{before:?} {after:?}");
        }
        // After the clock is doubted, something is recorded every day, but the next run is delayed
        // by more than the length of the pause.
        let days = (10..=40).map(|day| Seen(day * 24));
        let events = [Run(0), Run(240)].into_iter().chain(days).chain([Run(960)]);
        assert_eq!(stopped_among(events), [false, true, false]);
        // After the first jump is doubted, the clock makes a second, longer jump.
        let events = [Run(0), Seen(72), Run(72), Seen(75), Seen(480), Run(480), Run(481)];
        assert_eq!(stopped_among(events), [false, true, true, false]);
    }
}
