//! Decides whether to trust the clock, by comparing it with the times that the store has recorded.
//!
//! A wrong clock could end the grace of everything in the trash at once. To a single run, a correct
//! clock after a month without snapshots looks like a clock that jumped by a month. Each collection
//! therefore records its time, so a nightly run sees that the last collection was yesterday. After
//! a real pause, the first run doubts the clock, and a later run believes it if its own time is
//! consistent with that of the first run.
//!
//! Events between two collections must not hide a jump: after a slow clock is corrected, a new
//! snapshot has jumped ahead just as the next collection has, so it proves nothing.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::audit::time_of_last;
use crate::error::Result;
use crate::fs::open_plain;
use crate::id::Stamp;
use crate::snapshot::meta::snapshot_files;
use crate::store::{Store, read_derived};
use crate::trash::bins;

/// A day, plus two hours for a run that starts late and for the change to summer time.
const DAY: TimeDelta = TimeDelta::hours(26);
/// The minimum time between a run that doubts the clock and a later run that may believe it.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// After a pause up to this length has proved real, later pauses of the same length are not
/// doubted. The limit allows for weekly runs.
const LONGEST_PAUSE: TimeDelta = TimeDelta::days(8);

/// The content of `context/clock.json`: the times of earlier collections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClockRecord {
    /// The time of the last collection that believed the clock.
    pub(crate) believed: Option<DateTime<Utc>>,
    /// When the grace began for the items removed by the last collection that believed the clock.
    /// The grace began later than `believed` if the clock was known to be slow.
    #[serde(default)]
    grace: Option<DateTime<Utc>>,
    /// A time that was doubted because it was too long after every recorded time.
    #[serde(default)]
    doubted: Option<DateTime<Utc>>,
    /// The last time that was first doubted and later believed. Days before it do not count towards
    /// the grace of an item.
    #[serde(default)]
    resumed: Option<DateTime<Utc>>,
    /// The longest pause that proved real, in seconds.
    #[serde(default)]
    pause: i64,
}

/// A period in which the store recorded nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
}

impl Gap {
    fn length(&self) -> TimeDelta {
        self.to - self.from
    }

    /// The gaps between the recorded times from `from` to `to`, in order. There is always at least
    /// one gap.
    fn all(times: &[DateTime<Utc>], from: DateTime<Utc>, to: DateTime<Utc>) -> Vec<Self> {
        let between = times.iter().filter(|time| (from..=to).contains(time));
        let mut seen: Vec<_> = between.copied().chain([from, to]).collect();
        seen.sort_unstable();
        let gaps = seen.windows(2);
        gaps.map(|pair| Self { from: pair[0], to: pair[1] }).collect()
    }

    fn longest(times: &[DateTime<Utc>], from: DateTime<Utc>, to: DateTime<Utc>) -> TimeDelta {
        Self::all(times, from, to).iter().map(Self::length).max().unwrap_or_default()
    }
}

/// The verdict on the clock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ClockVerdict {
    /// The last jump of the clock, if there was one and the clock is doubted.
    pub(crate) jumped: Option<Gap>,
    /// The record to write for the next collection.
    pub(crate) record: ClockRecord,
}

impl ClockRecord {
    /// Judges the clock by all recorded `times`; `grace` is the time at which the grace of an item
    /// removed now would begin. Times later than now are ignored, because either the clock is slow
    /// now or it was fast when they were recorded.
    ///
    /// The clock must have advanced in small steps since the last collection, or since the grace of
    /// the items that it removed began, if that is later. A snapshot that was taken after a jump
    /// does not prove the clock right. Before the first collection, no grace can be lost, so
    /// comparing the clock with the latest recorded time is enough.
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
        // Measure the pause only up to the doubted time, because events after the doubt may have
        // split the time since then into shorter gaps.
        let pause = Gap::longest(&times, from, doubted);
        if Gap::longest(&times, doubted, now) > limit.max(pause + TimeDelta::hours(2)) {
            return self.doubt(jump, now);
        }
        let mut learned = self;
        learned.resumed = Some(doubted);
        if pause <= LONGEST_PAUSE {
            learned.pause = self.pause.max(pause.num_seconds());
        }
        learned.believe(now, grace)
    }

    /// Returns the verdict that applies if the user says that the clock is right.
    pub(crate) fn trust(self, now: DateTime<Utc>, grace: DateTime<Utc>) -> ClockVerdict {
        let resumed = None;
        Self { resumed, ..self }.believe(now, grace)
    }

    /// Whether the grace of items removed by `deadline` has ended. Days before a time that was
    /// doubted first and believed later may never have passed, so they do not count.
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
        self.root().join("context/clock.json")
    }

    /// Reads the record of earlier collections.
    pub(crate) fn record(&self) -> ClockRecord {
        read_derived(&self.clock_path())
    }

    /// Writes the record for the next collection, if the store exists.
    pub(crate) fn remember_visit(&self, record: ClockRecord) {
        if self.root().join("FORMAT").exists() {
            let json = serde_json::to_vec(&record).unwrap_or_default();
            // A full disk must not stop a collection. At worst, the next collection doubts the
            // clock.
            let _ = self.write_derived(&self.clock_path(), &json);
        }
    }

    /// The times that the store still has on record: those of snapshots, of items in the trash, and
    /// of the last record in the audit log.
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

    /// When the grace of an item that is removed now begins: now, or at the latest time that the
    /// store has recorded, if that is later. Either of these times may come from a wrong clock, and
    /// a longer grace loses nothing.
    pub(crate) fn grace_begins(&self) -> Result<DateTime<Utc>> {
        let _locked = self.lock()?;
        Ok(self.grace_would_begin())
    }

    /// Does the same as [`Store::grace_begins`] without taking the lock or creating the store.
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

    /// Whether a collection at this hour is stopped because the clock is doubted. Updates the clock
    /// record.
    fn run(record: &mut ClockRecord, seen: &[i64], run: i64) -> bool {
        let seen: Vec<_> = seen.iter().copied().map(at).collect();
        let latest = seen.iter().copied().max();
        let grace = latest.map_or(at(run), |latest| latest.max(at(run)));
        let judged = record.judge(seen, at(run), grace);
        *record = judged.record;
        judged.jumped.is_some()
    }

    /// For each of the runs at these hours, one after the other, whether it is stopped.
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

    /// For each run among these events, whether it is stopped. A run knows the events before it.
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
            // In an empty store there is nothing to compare with.
            (vec![], vec![0, far], vec![false, true]),
            (vec![0], vec![25, 50, 75], vec![false; 3]),
            (vec![0], vec![27], vec![true]),
            // The clock was slow at the first run, or is slow at the second.
            (vec![0], vec![-far, 0], vec![false, false]),
            (vec![0, far], vec![1, 24], vec![false, false]),
            // The clock was doubted and is right again, so the doubt is forgotten.
            (vec![0], vec![far, 1, far], vec![true, false, true]),
            // The clock was doubted, and an hour later the time is consistent with that.
            (vec![0], vec![far, far, far + 1, far + 25], vec![true, true, false, false]),
            // The clock was doubted, and after that it jumps again.
            (vec![0], vec![30, far, far + 1], vec![true, true, false]),
            // Of weekly runs, only the first one stops; of monthly runs, every other one.
            (vec![0], vec![168, 336, 504, 673], vec![true, false, false, false]),
            (vec![0], vec![720, 1440, 2160], vec![true, false, true]),
        ] {
            assert_eq!(stopped(&seen, &runs), expected, "{seen:?} {runs:?}");
        }
    }

    /// The step from one run to the next is judged together with all events between them.
    #[test]
    fn what_was_seen_after_a_jump_does_not_hide_it() {
        let day = |days: i64| days * 24;
        let daily = |from: i64, to: i64| (from..=to).map(move |day| Seen(day * 24));
        for (events, expected) in [
            // The clock was a week slow at the first run, and is right at the second.
            (
                vec![Seen(day(-7)), Seen(day(-7)), Run(day(-7)), Seen(0), Run(0), Run(1)],
                vec![false, true, false],
            ),
            // The clock was known to be slow, so the grace began at the latest recorded time.
            (vec![Seen(0), Run(day(-7)), Seen(1), Run(1)], vec![false; 2]),
            // The jump is some days old, and events were seen on each day since.
            (
                [Seen(0), Run(0)]
                    .into_iter()
                    .chain(daily(1, 9))
                    .chain(daily(40, 49))
                    .chain([Run(day(49)), Run(day(49) + 1)])
                    .collect(),
                vec![false, true, false],
            ),
            // Between two runs that are a month apart, there is a snapshot on each day.
            (
                [Run(0)].into_iter().chain(daily(0, 30)).chain([Run(day(30))]).collect(),
                vec![false; 2],
            ),
            // Before the first believed run, comparing with the latest time is enough.
            (vec![Seen(0), Seen(day(40)), Run(day(40))], vec![false]),
            // The clock was fast at the last run.
            (vec![Seen(0), Seen(day(40)), Run(day(40)), Run(2)], vec![false; 2]),
        ] {
            assert_eq!(stopped_among(events.clone()), expected, "{events:?}");
        }
    }

    /// A snapshot before or after each run is not a reason for another doubt.
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
        // There are events on each day after the doubt, but no run for longer than the pause was.
        let days = (10..=40).map(|day| Seen(day * 24));
        let events = [Run(0), Run(240)].into_iter().chain(days).chain([Run(960)]);
        assert_eq!(stopped_among(events), [false, true, false]);
        // After the doubt, there is a second jump, longer than the first.
        let events = [Run(0), Seen(72), Run(72), Seen(75), Seen(480), Run(480), Run(481)];
        assert_eq!(stopped_among(events), [false, true, true, false]);
    }
}
