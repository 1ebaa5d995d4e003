//! `ctx-gc`: moves unneeded snapshots and offloaded files into the trash, and empties the trash
//! after a grace period.

use chrono::{DateTime, TimeDelta, Utc};
use clap::{ArgGroup, ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, json_object, report_failures,
};
use ctx_policy::duration::calendar;
use ctx_store::collect::{Action, Cause, CollectPlan, Collector, Event};
use ctx_store::retention::{Floor, Period, Policy, Span};
use ctx_store::{SessionId, Severity, Store, StoreError, StoreItem};
use serde::Serialize;

use crate::args::PolicyArgs;
use crate::store::{GRACE_DAYS, StoreArgs, failure, list_trash};

/// The default value of `--keep-days`.
const KEEP_DAYS: u32 = 7;

/// The entry for `ctx-gc` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-gc", Args::command, run, include_str!("manual.toml"));

/// Move old snapshots into a trash with a grace period
///
/// Removed snapshots stay in the trash for a week and can be restored with --undelete. A snapshot
/// is kept if any rule keeps it. Without rules, the snapshots of the last 7 days are kept. The
/// newest snapshot of each session is always kept, except with --no-floor or --floor-days. -n shows
/// what would be removed, and why.
///
/// If no rule is given, the policy may set the number of days (`retention.keep_days`). Snapshots
/// that are held, dated in the future or unreadable are always kept. Memory files and summaries are
/// never touched. Snapshots that are more than a day old are compressed; zstdcat reads them. An
/// offloaded file is removed if no snapshot and no file of its session refers to it, and it was not
/// used during the grace period.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("mode").args(["undelete", "list_trash", "purge", "forget"]))]
#[command(group = ArgGroup::new("rules").multiple(true).conflicts_with("mode").args([
    "keep_days", "keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly",
    "keep_yearly", "keep_within",
]))]
struct Args {
    /// Process only this session
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// Show what would be done, and change nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print a JSON object for each snapshot or offloaded file
    ///
    /// With -n, the objects show what would be done. docs/json.md lists all keys.
    #[arg(long, conflicts_with = "undelete")]
    json: bool,
    /// Keep snapshots of the last N days [default: the policy's, or 7]
    ///
    /// If other rules are given without this flag, this rule does not apply.
    #[arg(long, value_name = "N", value_parser = days, help_heading = "Rules")]
    keep_days: Option<u32>,
    /// Keep the newest N snapshots of each session
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_last: Option<u32>,
    /// Keep one snapshot for each of the last N hours with snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_hourly: Option<u32>,
    /// Keep one snapshot for each of the last N days with snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_daily: Option<u32>,
    /// Keep one snapshot for each of the last N weeks with snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_weekly: Option<u32>,
    /// Keep one snapshot for each of the last N months with snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_monthly: Option<u32>,
    /// Keep one snapshot for each of the last N years with snapshots
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_yearly: Option<u32>,
    /// Keep snapshots up to SPAN older than the newest: 1y6mo, 14d, 36h
    ///
    /// The units are y, mo (months), w, d, h, min and s. The unit m is rejected, because it could
    /// mean months or minutes.
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Rules")]
    keep_within: Option<Span>,
    /// Remove even the newest snapshot of a session if no rule keeps it
    ///
    /// With --keep-days 7, for example, everything older than 7 days is removed, in the whole store
    /// or, with -s, in one session. The output lists each session that loses its last snapshot.
    #[arg(long, conflicts_with = "mode", help_heading = "Rules")]
    no_floor: bool,
    /// Remove the newest snapshot once it is older than N days [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["mode", "no_floor"], help_heading = "Rules")]
    floor_days: Option<u32>,
    /// Restore from the trash: an ID, "all", or all removed since a time
    ///
    /// An ID is the id or the number of a snapshot, or the hash of an offloaded file. A time in
    /// UTC, such as 2026-11-15, "2026-11-15 10:30" or "2 hours ago", restores everything that was
    /// removed at that time or later. Several IDs or times may be given.
    #[arg(long, value_name = "ID", num_args = 1.., help_heading = "Trash")]
    undelete: Vec<String>,
    /// List the trash, and how long each item stays there
    #[arg(long, help_heading = "Trash")]
    list_trash: bool,
    /// Empty the trash now
    #[arg(long, help_heading = "Trash")]
    purge: bool,
    /// Keep the trash and unused offloaded files for N days
    ///
    /// With 0, the trash is emptied at the end of the run, and nothing that was removed can be
    /// restored. Offloaded files that were used within the last day are always kept.
    #[arg(long, value_name = "N", default_value_t = GRACE_DAYS, help_heading = "Trash")]
    grace_days: u32,
    /// Continue even if the clock seems to have jumped by more than a day
    ///
    /// Without this flag, nothing is removed, because the clock may be wrong, and the exit status
    /// is 4 if there was anything to remove. If you run the tool again at least an hour later, it
    /// trusts the clock.
    #[arg(long, conflicts_with = "mode", help_heading = "Trash")]
    trust_clock: bool,
    /// Delete everything about a session (-s) for good, even from the trash
    ///
    /// The session must be named by its whole id.
    #[arg(long, requires = "session", help_heading = "Trash")]
    forget: bool,
    /// Compress snapshots older than N days [default: the policy's, or 1]
    ///
    /// ID.jsonl becomes ID.jsonl.zst, which zstdcat reads. All ctx tools read compressed and
    /// uncompressed snapshots. The compressed file is checked against the hash of the snapshot
    /// before the plain file is removed.
    #[arg(long, value_name = "N", conflicts_with = "mode", help_heading = "Compression")]
    pack_after_days: Option<u32>,
    /// Compress nothing
    #[arg(long, conflicts_with_all = ["mode", "pack_after_days"], help_heading = "Compression")]
    no_pack: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    store: StoreArgs,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    let store = args.store.open(&TOOL, matches)?;
    if let Some(session) = &mut args.session {
        let known = store.require_session(session, true).map_err(failure)?;
        // What is deleted for good is named in full.
        if args.forget && *session != known {
            return Err(Failure::new(format_args!("{session} is only the beginning of an id"))
                .hint(format!("-s {known} names the session to delete for good")));
        }
        *session = known;
    }
    let session = args.session.as_ref();
    if !args.undelete.is_empty() {
        return undelete(&args, &store, io);
    }
    if args.list_trash {
        let trashed = store.trash_list(session).map_err(failure)?;
        return list_trash(&store, &trashed, args.grace_days, args.json, io);
    }
    let mut collector = Collector::new(&store, args.dry_run);
    let done = match session {
        Some(session) if args.forget => collector.forget(session),
        _ if args.purge => collector.purge(None),
        _ => args.collect(&store, &mut collector, io)?,
    };
    if collector.has_changed() {
        io.committed(if collector.has_removed() {
            "everything that could be removed was removed"
        } else {
            "everything that could be done was done"
        });
    }
    let Collector { events, unaudited, .. } = collector;
    Report { args: &args, io, status: ExitStatus::Done }.all(events, done, unaudited)
}

/// Parses a number of days, such as 7 or 7d.
fn days(text: &str) -> Result<u32, String> {
    let days = text.strip_suffix('d').unwrap_or(text).parse().ok().filter(|days| *days > 0);
    days.ok_or_else(|| "expected a number of days, 1 or more".to_owned())
}

fn span(text: &str) -> Result<Span, String> {
    let (months, time) = calendar(text).map_err(|error| error.to_string())?;
    let span = Some(Span { months, time }).filter(|span| !span.is_zero());
    span.ok_or_else(|| "a span of 0 keeps nothing".to_owned())
}

impl Args {
    /// Removes snapshots that no rule keeps, and compresses old snapshots. Does nothing if the
    /// clock may be wrong.
    fn collect(
        &self,
        store: &Store,
        collector: &mut Collector<'_>,
        io: &mut Io,
    ) -> Result<Result<(), StoreError>> {
        let retention = self.policy.policy(io)?.retention;
        let before = |days| {
            let days = TimeDelta::try_days(days);
            let before = days.and_then(|days| store.now().checked_sub_signed(days));
            before.unwrap_or(DateTime::<Utc>::MIN_UTC)
        };
        let done = collector.collect(&CollectPlan {
            session: self.session.as_ref(),
            policy: &self.rules(retention.keep_days),
            deadline: before(self.grace_days.into()),
            trust_clock: self.trust_clock,
        });
        if let Err(StoreError::ClockJumped { .. }) = done {
            return Ok(done);
        }
        let purged = if self.grace_days == 0 { collector.purge_removed() } else { Ok(()) };
        let pack_after = self.pack_after_days.map(u64::from).or(retention.pack_after_days);
        if let Some(days) = pack_after.filter(|_| !self.no_pack) {
            collector.pack(before(i64::try_from(days).unwrap_or(i64::MAX)));
        }
        // Report the steps that succeeded even if other steps failed.
        let mut result = Ok(());
        for error in [done, purged].into_iter().filter_map(Result::err) {
            let is_failed = error.severity() != Severity::Uncertain;
            if is_failed && collector.has_changed() {
                collector.events.push(Event::Failed(error));
            } else {
                result = Err(error);
            }
        }
        Ok(result)
    }

    /// Returns the retention rules. The default rule applies only if no rule is given: a user who
    /// asks for the last 3 snapshots does not also want all snapshots from the last week.
    fn rules(&self, keep_days: Option<u64>) -> Policy {
        let counts = [
            (Period::Hour, self.keep_hourly),
            (Period::Day, self.keep_daily),
            (Period::Week, self.keep_weekly),
            (Period::Month, self.keep_monthly),
            (Period::Year, self.keep_yearly),
        ];
        let periods = counts.into_iter().filter_map(|(period, n)| Some((period, n?)));
        let mut policy = Policy {
            last: self.keep_last,
            periods: periods.collect(),
            within: self.keep_within,
            days: self.keep_days,
            floor: match self.floor_days {
                _ if self.no_floor => Floor::Never,
                Some(days) => Floor::Days(days),
                None => Floor::Always,
            },
        };
        if policy.check().is_err() {
            let days = keep_days.map(|days| u32::try_from(days).unwrap_or(u32::MAX));
            policy.days = Some(days.unwrap_or(KEEP_DAYS));
        }
        policy
    }
}

/// Restores items from the trash. If an item is missing, the other items are still restored.
fn undelete(args: &Args, store: &Store, io: &mut Io) -> Outcome {
    let session = args.session.as_ref();
    let (mut items, mut missing) = (Vec::new(), Vec::new());
    for wanted in &args.undelete {
        match store.find_all_deleted(session, wanted) {
            Ok(found) => items.extend(found),
            Err(error) => missing.push(error),
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    items.retain(|item| seen.insert(item.clone()));
    let (back, failed) =
        if args.dry_run { (items, Vec::new()) } else { store.undelete_all(&items) };
    if !args.dry_run {
        match &back[..] {
            [] => {}
            [item] => io.committed(format_args!("{item} was restored")),
            items => io.committed(format_args!("{} items were restored", items.len())),
        }
    }
    if io.verbosity != Verbosity::Quiet {
        let would = if args.dry_run { "would restore " } else { "" };
        for item in &back {
            io.print(format!("{would}{item}\n"))?;
        }
    }
    let failures: Vec<Failure> = missing.into_iter().chain(failed).map(failure).collect();
    let wanted = back.len() + failures.len();
    report_failures(failures, wanted, io)
}

/// Prints the events from a garbage collection.
struct Report<'a> {
    args: &'a Args,
    io: &'a mut Io,
    status: ExitStatus,
}

impl Report<'_> {
    /// Prints one event.
    fn event(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Done(action, item) => self.done(&action, &item)?,
            Event::Locked(id) => self.io.note(format_args!("skipped {id}, because its session is in use")),
            Event::Late(id) => self.io.warn(format_args!(
                "another process wrote to a file after it had been replaced; saved as {id}"
            )),
            Event::SlowClock(latest) => self.io.warn(format_args!(
                "this clock is more than a day slow relative to the store: the grace period of removed items begins on {}; ctx-gc --purge empties the trash earlier",
                latest.format("%Y-%m-%d")
            )),
            Event::StillOpen(path) => {
                self.io.note(format_args!("{} is still in use", path.display()));
            }
            Event::Unknown(session, why) => self.io.note(format_args!(
                "the offloaded files of {session} are kept, because not every transcript that may refer to them can be searched: {why}"
            )),
            Event::Failed(error) => {
                self.io.report(&failure(error));
                self.status = ExitStatus::Partial;
            }
        }
        Ok(())
    }

    /// Prints all events and the result of the run. If any item could not be examined or removed,
    /// the exit status is 3. Status 3 takes precedence over an uncertain result, because another
    /// run is needed.
    fn all(mut self, events: Vec<Event>, done: Result<(), StoreError>, unaudited: bool) -> Outcome {
        let (failed, others): (Vec<_>, Vec<_>) =
            events.into_iter().partition(|event| matches!(event, Event::Failed(_)));
        let printed = failed.into_iter().chain(others).try_for_each(|event| self.event(event));
        if let Err(unprinted) = printed.and_then(|()| self.io.flush()) {
            if self.status != ExitStatus::Partial {
                return Err(unprinted);
            }
            self.io.report(&unprinted);
        }
        match done.map_err(failure) {
            Err(uncertain)
                if self.status == ExitStatus::Partial
                    && uncertain.status == ExitStatus::Uncertain =>
            {
                self.io.report(&uncertain);
                Ok(ExitStatus::Partial)
            }
            Err(failure) => Err(failure),
            Ok(()) if unaudited => {
                self.io.warn("the audit log was not written: the disk is full");
                // Status 3 takes precedence, because failed removals need another run.
                let is_done = self.status == ExitStatus::Done;
                Ok(if is_done { ExitStatus::Uncertain } else { self.status })
            }
            Ok(()) => Ok(self.status),
        }
    }

    fn done(&mut self, action: &Action, item: &StoreItem) -> Result<()> {
        let text = action.say(item, self.args.dry_run);
        let is_noted = match action {
            Action::Keep(_) => true,
            Action::Pack(_) => !self.args.json,
            _ => false,
        };
        if is_noted && !self.args.dry_run {
            // Print nothing to stdout, so that a nightly run that removes nothing has no output.
            self.io.note(text);
            return Ok(());
        }
        match (self.args.json, self.io.verbosity) {
            (true, _) => self.io.json(&json(action, item)),
            (false, Verbosity::Quiet) => Ok(()),
            (false, _) => self.io.print(text + "\n"),
        }
    }
}

/// Returns the JSON object that `--json` prints for the action on an item. Scripts rely on the keys:
/// new keys may be added, but none may be removed.
fn json(action: &Action, item: &StoreItem) -> impl Serialize {
    let (keep, is_last) = (!action.removes(), *action == Action::Discard(Cause::NoRuleAndLast));
    json_object! {
        id: item.to_string(),
        keep,
        reasons: if keep { action.reasons() } else { Vec::new() },
        kind: <&str>::from(item),
        action: <&str>::from(action),
        #[serde(flatten)]
        last: is_last.then(|| json_object! { last_of_session: true }),
        #[serde(flatten)]
        packing: if let Action::Pack(packing) = action { Some(*packing) } else { None },
    }
}

#[cfg(test)]
mod tests {
    use ctx_store::collect::{Action, Cause};
    use ctx_store::retention::Reason;
    use ctx_store::{SnapshotId, StoreItem};

    #[test]
    fn programs_learn_why_a_thing_stays() {
        let id = SnapshotId::parse("demo-20261121T234307.123456Z-0001").expect("an id");
        let item = StoreItem::Snapshot(id.clone());
        for (action, expected) in [
            (
                Action::Keep(vec![Reason::Held]),
                r#""keep":true,"reasons":["held"],"kind":"snapshot","action":"keep"}"#,
            ),
            (
                Action::Discard(Cause::NoRule),
                r#""keep":false,"reasons":[],"kind":"snapshot","action":"remove"}"#,
            ),
        ] {
            let json = serde_json::to_string(&super::json(&action, &item)).expect("JSON");
            assert_eq!(json, format!("{{\"id\":\"{id}\",{expected}"));
        }
    }
}
