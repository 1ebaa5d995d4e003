//! Decides whether to trust the clock, by comparing it with the times that the store has seen.
//!
//! After a quiet month, a correct clock and a clock that jumped by a month look alike to a single
//! run. Each collection therefore records its time: after a month of nightly runs, the last one was
//! yesterday. After a real pause, the first run is doubted and a later run that agrees with it is
//! not.
//!
//! What happens between two collections must not hide a jump. When a slow clock is corrected, a
//! snapshot is as far ahead as the collection after it.

use std::path::PathBuf;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::audit::time_of_last;
use crate::error::Result;
use crate::fs::open_plain;
use crate::id::Stamp;
use crate::snapshot::snapshot_files;
use crate::store::{Store, read_derived};
use crate::trash::bins;

/// A day, and two hours for a run that begins late and for the change to summer time.
const DAY: TimeDelta = TimeDelta::hours(26);
/// How long a doubted time must have gone on before it is believed.
const HOUR: TimeDelta = TimeDelta::hours(1);
/// The longest pause that, once it has turned out to be true, is not doubted again: that of
/// a run once a week.
const LONGEST_PAUSE: TimeDelta = TimeDelta::days(8);

/// Content of `context/clock.json`: what collections have seen of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClockRecord {
    /// When garbage was collected last.
    pub(crate) believed: Option<DateTime<Utc>>,
    /// When the grace of what it removed began; later if it knew its clock to be slow.
    #[serde(default)]
    grace: Option<DateTime<Utc>>,
    /// A time that came too soon after all others.
    #[serde(default)]
    doubted: Option<DateTime<Utc>>,
    /// The doubted time that was believed last: no grace counts what was before it.
    #[serde(default)]
    resumed: Option<DateTime<Utc>>,
    /// The longest pause that turned out to be true, in seconds.
    #[serde(default)]
    pause: i64,
}

/// A time in which the store saw nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) from: DateTime<Utc>,
    pub(crate) to: DateTime<Utc>,
}

impl Gap {
    fn length(&self) -> TimeDelta {
        self.to - self.from
    }

    /// The gaps between `from` and `to`, in order; there is at least one.
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
    /// The last jump, if any.
    pub(crate) jumped: Option<Gap>,
    /// The record to keep.
    pub(crate) record: ClockRecord,
}

impl ClockRecord {
    /// Judges the clock by all known `times`; `grace` is when a grace would begin. Later times say
    /// nothing: either this clock is slow, or theirs was fast.
    ///
    /// Since the last collection, or since the grace of what it removed began, the clock must have
    /// advanced in steps: a snapshot that was taken after a jump does not vouch for it. Without a
    /// collection no grace can be lost, and the latest time is enough.
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
        let Some(doubted) = doubted else {
            return self.doubt(jump, now);
        };
        if now - doubted < HOUR {
            return self.doubt(jump, doubted);
        }
        // Not the time since the doubt: what was seen meanwhile makes that no pause.
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

    /// The same verdict when the user says that the clock is right.
    pub(crate) fn trust(self, now: DateTime<Utc>, grace: DateTime<Utc>) -> ClockVerdict {
        let resumed = None;
        Self { resumed, ..self }.believe(now, grace)
    }

    /// Whether the grace of items removed by `deadline` has ended. Days before a time that was
    /// first doubted and then accepted may not have passed, so they do not count.
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

    /// The times of collections.
    pub(crate) fn record(&self) -> ClockRecord {
        read_derived(&self.clock_path())
    }

    /// Writes it down for the next collection, if there is a store.
    pub(crate) fn remember_visit(&self, record: ClockRecord) {
        if self.root().join("FORMAT").exists() {
            let json = serde_json::to_vec(&record).unwrap_or_default();
            // A full disk must not stop a collection: the next one is doubted at worst.
            let _ = self.write_derived(&self.clock_path(), &json);
        }
    }

    /// The times that the store has seen, as far as they left a trace: of snapshots, of what
    /// is in the trash, and of the last record of the audit log.
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

    /// When a grace begins: now, or at the latest time that the store knows. If two clocks
    /// disagree, either may be wrong, so the later one counts.
    pub(crate) fn grace_begins(&self) -> Result<DateTime<Utc>> {
        let _locked = self.lock()?;
        Ok(self.grace_would_begin())
    }

    /// The same without a lock, as far as possible. The store must exist.
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

    /// Whether a run at this hour is stopped. Updates the record.
    fn run(record: &mut ClockRecord, seen: &[i64], run: i64) -> bool {
        let seen: Vec<_> = seen.iter().copied().map(at).collect();
        let latest = seen.iter().copied().max();
        let grace = latest.map_or(at(run), |latest| latest.max(at(run)));
        let judged = record.judge(seen, at(run), grace);
        *record = judged.record;
        judged.jumped.is_some()
    }

    /// Whether the runs at these hours are stopped, one after the other.
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

    /// Whether the runs among these are stopped, each of which knows what was seen before it.
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
            // Nothing is known about an empty store.
            (vec![], vec![0, far], vec![false, true]),
            (vec![0], vec![25, 50, 75], vec![false; 3]),
            (vec![0], vec![27], vec![true]),
            // It was slow, or is.
            (vec![0], vec![-far, 0], vec![false, false]),
            (vec![0, far], vec![1, 24], vec![false, false]),
            // Doubted, and right again: nothing is left of it.
            (vec![0], vec![far, 1, far], vec![true, false, true]),
            // Doubted, and an hour later still so.
            (vec![0], vec![far, far, far + 1, far + 25], vec![true, true, false, false]),
            // Doubted, and then it jumps once more.
            (vec![0], vec![30, far, far + 1], vec![true, true, false]),
            // Once a week, and once a month.
            (vec![0], vec![168, 336, 504, 673], vec![true, false, false, false]),
            (vec![0], vec![720, 1440, 2160], vec![true, false, true]),
        ] {
            assert_eq!(stopped(&seen, &runs), expected, "{seen:?} {runs:?}");
        }
    }

    /// The steps from one run to the next count only with everything between them.
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
            // It was known to be slow: the grace began with the earlier times.
            (vec![Seen(0), Run(day(-7)), Seen(1), Run(1)], vec![false; 2]),
            // The jump is some days old, and more was seen each day.
            (
                [Seen(0), Run(0)]
                    .into_iter()
                    .chain(daily(1, 9))
                    .chain(daily(40, 49))
                    .chain([Run(day(49)), Run(day(49) + 1)])
                    .collect(),
                vec![false, true, false],
            ),
            // A month of snapshots each day, from one run to the next.
            (
                [Run(0)].into_iter().chain(daily(0, 30)).chain([Run(day(30))]).collect(),
                vec![false; 2],
            ),
            // Until a run was believed, the latest time is enough.
            (vec![Seen(0), Seen(day(40)), Run(day(40))], vec![false]),
            // The last run was under a clock that was fast.
            (vec![Seen(0), Seen(day(40)), Run(day(40)), Run(2)], vec![false; 2]),
        ] {
            assert_eq!(stopped_among(events.clone()), expected, "{events:?}");
        }
    }

    /// A snapshot before each run, or after it, is no reason to doubt once more.
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
        // After the doubt each day, but no run for longer than the pause was.
        let days = (10..=40).map(|day| Seen(day * 24));
        let events = [Run(0), Run(240)].into_iter().chain(days).chain([Run(960)]);
        assert_eq!(stopped_among(events), [false, true, false]);
        // A second jump after the doubt, longer than the first.
        let events = [Run(0), Seen(72), Run(72), Seen(75), Seen(480), Run(480), Run(481)];
        assert_eq!(stopped_among(events), [false, true, true, false]);
    }
}
