//! `ctx-gc`: decides which snapshots stay, moves the others, and offloaded files
//! that nothing names, into the trash, and empties that after a time of grace.

mod report;

use chrono::{DateTime, TimeDelta, Utc};
use clap::{ArgGroup, ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Page, Tool};
use ctx_select::duration::{CalendarSpan, calendar};
use ctx_store::collect::{CollectPlan, Collector, Event};
use ctx_store::retention::{Period, Policy, Span};
use ctx_store::{SessionId, Severity, Store, StoreError};

use crate::policy::PolicyArgs;
use crate::store::{StoreArgs, failure, session_id};
use report::Report;

/// How many days snapshots are kept where nobody says.
const DEFAULT_DAYS: u32 = 7;

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-gc",
    command: Args::command,
    run,
    page: Page {
        exit_status: &[
            (
                3,
                "some things could not be looked at or removed; the others were",
            ),
            (
                4,
                "the clock jumped by more than a day, by all that the store has seen: nothing was removed",
            ),
            (
                5,
                "removed, but the audit log or stdout could not be written: the disk is full",
            ),
        ],
        environment: &[
            ("CTX_PRESET", "as --preset"),
            ("CTX_CONFIG", "as --config"),
            (
                "CTX_RETENTION_KEEP_DAYS",
                "goes before what the policy says",
            ),
            ("CTX_RETENTION_PACK_AFTER_DAYS", "the same; false is never"),
            ("CTX_HOME", "where the store lies; --store goes before it"),
        ],
        files: &[
            ("STORE/trash/", "what was removed, until its grace is over"),
            (
                "STORE/context/events.jsonl",
                "the audit log: each removal, before and after",
            ),
        ],
        examples: &[
            (
                "ctx-gc -n",
                "Show what would be removed, and why the rest stays",
            ),
            (
                "ctx-gc",
                "Remove snapshots older than 7 days; fit for cron: silent when there are none",
            ),
            (
                "ctx-gc --keep-last 5 --keep-daily 14",
                "Keep the last 5, and the newest of each of 14 days",
            ),
            ("ctx-gc --preset sanbot", "Keep as long as a policy says"),
            (
                "ctx-gc --pack-after-days 0",
                "Pack all snapshots now; zstdcat reads them",
            ),
            (
                "ctx-gc --undelete 7",
                "Bring snapshot 7 back from the trash",
            ),
            (
                "ctx-gc --forget -s demo",
                "Delete all snapshots and offloaded files of a session for good",
            ),
        ],
    },
};

/// Remove old snapshots, with reasons, into a trash with a grace period
///
/// A snapshot stays when any rule keeps it. Without a rule, those of the days that the
/// policy says (`retention.keep_days`) stay, and where it says none, of the last 7. The newest of each session, held ones, ones dated in the future
/// and unreadable ones always stay. Memory and summaries are never touched.
/// The bytes of snapshots that are a day old are packed; zstdcat reads them.
/// Offloaded files go when no snapshot and no live file of their session names
/// them, and they were not used for as long as the grace is.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("mode").args(["undelete", "purge", "forget"]))]
#[command(group = ArgGroup::new("rules").multiple(true).conflicts_with("mode").args([
    "keep_days", "keep_last", "keep_hourly", "keep_daily", "keep_weekly", "keep_monthly",
    "keep_yearly", "keep_within",
]))]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
struct Args {
    /// Look at one session only
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Print a JSON object a snapshot or offloaded file
    ///
    /// Its keys are id, keep (whether it stays), reasons (why it stays), kind
    /// (snapshot or offloaded) and action: keep, remove (into the trash), purge (out
    /// of the trash, for good), delete (by --forget) or pack, with its size (bytes) and
    /// that of the packed file (packed_bytes). With -n it is what would be
    /// done. New keys may come, none goes.
    #[arg(long, conflicts_with = "undelete")]
    json: bool,
    /// Keep those of the last N days, from now [default: the policy's, else 7, when there
    /// is no other rule]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_days: Option<u32>,
    /// Keep the newest N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_last: Option<u32>,
    /// Keep the newest of each of the last N hours that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_hourly: Option<u32>,
    /// Keep the newest of each of the last N days that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_daily: Option<u32>,
    /// Keep the newest of each of the last N weeks that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_weekly: Option<u32>,
    /// Keep the newest of each of the last N months that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_monthly: Option<u32>,
    /// Keep the newest of each of the last N years that have one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Rules")]
    keep_yearly: Option<u32>,
    /// Keep those not older than SPAN, seen from the newest: 1y6mo, 14d, 36h
    ///
    /// The units are y, mo (months), w, d, h, min and s. A bare m is refused: it may
    /// be meant as months or as minutes.
    #[arg(long, value_name = "SPAN", value_parser = span, help_heading = "Rules")]
    keep_within: Option<Span>,
    /// Let even the newest snapshot of a session go
    #[arg(long, requires = "session", help_heading = "Rules")]
    no_floor: bool,
    /// Bring a snapshot, or an offloaded file by its hash, back from the trash
    #[arg(long, value_name = "ID", help_heading = "Trash")]
    undelete: Option<String>,
    /// Empty the trash now
    #[arg(long, help_heading = "Trash")]
    purge: bool,
    /// Keep what is in the trash, and unnamed offloaded files, for N days
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Trash")]
    grace_days: u32,
    /// Go on although the clock jumped by more than a day, by all that was seen
    ///
    /// Such a clock may be wrong, so nothing is removed and the exit status is 4, unless
    /// there is nothing to remove. A later run, an hour or more on, believes it.
    #[arg(long, conflicts_with = "mode", help_heading = "Trash")]
    trust_clock: bool,
    /// Delete snapshots, trash and offloaded files of a session for good
    #[arg(long, requires = "session", help_heading = "Trash")]
    forget: bool,
    /// Pack the bytes of snapshots that are older than N days [default: the policy's, else 1]
    ///
    /// ID.jsonl becomes ID.jsonl.zst, which zstdcat reads. All tools read either. It is checked
    /// against the hash of the snapshot before the plain file goes.
    #[arg(
        long,
        value_name = "N",
        conflicts_with = "mode",
        help_heading = "Packing"
    )]
    pack_after_days: Option<u32>,
    /// Leave all bytes as they are
    #[arg(long, conflicts_with_all = ["mode", "pack_after_days"], help_heading = "Packing")]
    no_pack: bool,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    store: StoreArgs,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let store = args.store.open(&TOOL, matches)?;
    let session = args.session.as_ref();
    if let Some(session) = session {
        store.require_session_or_trash(session).map_err(failure)?;
    }
    if let Some(wanted) = &args.undelete {
        return undelete(&store, session, wanted, args.dry_run, io);
    }
    let mut collector = Collector::new(&store, args.dry_run);
    let done = match session {
        Some(session) if args.forget => collector.forget(session),
        _ if args.purge => collector.purge(None),
        _ => args.collect(&store, &mut collector, io)?,
    };
    if collector.has_changed() {
        io.committed("what could be done is done");
    }
    let Collector {
        events, unaudited, ..
    } = collector;
    Report::new(&args, io).all(events, done, unaudited)
}

/// `--undelete ID`
fn undelete(
    store: &Store,
    session: Option<&SessionId>,
    wanted: &str,
    dry_run: bool,
    io: &mut Io,
) -> Outcome {
    let item = store.find_deleted(session, wanted).map_err(failure)?;
    let would = if dry_run { "would bring back " } else { "" };
    if !dry_run {
        store.undelete(&item).map_err(failure)?;
        io.committed(format_args!("{item} is back"));
    }
    io.write(format!("{would}{item}\n").as_bytes())?;
    Ok(ExitStatus::Done)
}

fn span(text: &str) -> Result<Span, String> {
    let CalendarSpan { months, time } = calendar(text).map_err(|error| error.to_string())?;
    let span = Span { months, time };
    if span.is_zero() {
        return Err("it keeps nothing".to_owned());
    }
    Ok(span)
}

impl Args {
    /// Collects, then packs what stays. Under a clock that may be wrong nothing is done at all.
    fn collect(
        &self,
        store: &Store,
        collector: &mut Collector<'_>,
        io: &mut Io,
    ) -> Result<Result<(), StoreError>, Failure> {
        let retention = self.policy.policy(io)?.retention;
        let before = |days| {
            let before =
                TimeDelta::try_days(days).and_then(|days| store.now().checked_sub_signed(days));
            before.unwrap_or(DateTime::<Utc>::MIN_UTC)
        };
        let done = collector.collect(&CollectPlan {
            session: self.session.as_ref(),
            policy: &self.rules(retention.keep_days),
            deadline: before(self.grace_days.into()),
            trust_clock: self.trust_clock,
        });
        let pack_after = self.pack_after_days.map(u64::from);
        let pack_after = pack_after.or(retention.pack_after_days);
        if let Some(days) = pack_after.filter(|_| !self.no_pack) {
            collector.pack(before(i64::try_from(days).unwrap_or(i64::MAX)));
        }
        // What is packed is done, whatever else failed.
        let is_failed = |error: &StoreError| error.severity() != Severity::Uncertain;
        Ok(match done {
            Err(error) if is_failed(&error) && collector.has_changed() => {
                collector.events.push(Event::Failed(error));
                Ok(())
            }
            done => done,
        })
    }

    /// The default stands only where nothing else is said: who asks for the last
    /// 3 does not ask for a week.
    fn rules(&self, keep_days: Option<u64>) -> Policy {
        let counts = [
            (Period::Hour, self.keep_hourly),
            (Period::Day, self.keep_daily),
            (Period::Week, self.keep_weekly),
            (Period::Month, self.keep_monthly),
            (Period::Year, self.keep_yearly),
        ];
        let periods = counts
            .into_iter()
            .filter_map(|(period, n)| Some((period, n?)));
        let mut policy = Policy {
            last: self.keep_last,
            periods: periods.collect(),
            within: self.keep_within,
            days: self.keep_days,
            no_floor: self.no_floor,
        };
        if policy.check().is_err() {
            let days = keep_days.map(|days| u32::try_from(days).unwrap_or(u32::MAX));
            policy.days = Some(days.unwrap_or(DEFAULT_DAYS));
        }
        policy
    }
}
