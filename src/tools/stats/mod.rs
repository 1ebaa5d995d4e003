//! `ctx-stats`: shows the results of compactions, and how full sessions are.

mod html;
mod prometheus;
#[cfg(test)]
mod promtool;
mod status;

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, Utc};
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, inputs, json_failure, json_line,
    printable, report_failures,
};
use ctx_metrics::{Acceptance, ShareHistogram, Stats, Tally};
use ctx_policy::trigger::Triggers;
use ctx_sessions::Query;
use ctx_store::{Facts, SessionId, Store, StoreError, Usage};
use minijinja::context;
use minijinja::value::{Serde, Value};
use serde::Serialize;

use self::status::StatusRequest;
use crate::args::{CountingArgs, PolicyArgs, TriggerArgs};
use crate::output::ReportOutputArgs;
use crate::session::{file_of, operand};
use crate::store::{StoreArgs, failure, time_of};
use crate::template::filled;

/// Show the results of compactions, and how full sessions are
///
/// Without FILE, the tool shows compactions and their outcomes, the tokens before and after, the
/// fidelity (the share of scored items that a compaction kept), sessions that are still too large,
/// rollbacks, requests to models, the size of the store, how full the sessions of all agents on
/// this machine are, and the four acceptance metrics of sanbot. Metrics that are not in the audit
/// log are listed without a value. --outcome adds whether the task of a session succeeded.
///
/// With FILE, the tool shows the status of each session: how full its window is, the value of each
/// trigger, the number of compactions, and the last snapshot.
///
/// --html prints an HTML page, which loads nothing from the network. For each FILE, the page shows
/// how the context grew (by kind of content), the compactions and rollbacks, the largest items, the
/// tokens that pruning and offloading would free, and what the last compaction kept and lost. FILE
/// may also be the name of a session in the store, in which case the page shows the newest snapshot
/// of this session.
///
/// --prometheus prints metrics for the textfile collector of the node exporter. The counters start
/// at the beginning of the audit log, so --prometheus cannot be used with --since.
///
/// Without --outcome, the tool changes nothing, not even the store. Lines of the audit log that are
/// not records are counted and skipped. docs/stats.md defines every figure, and docs/json.md lists
/// the keys of --json.
#[derive(Debug, Parser)]
#[command(mut_arg("overflow", |arg| arg.requires("files")))] // Overflow concerns single sessions.
struct Args {
    /// Show the status of these sessions; - is stdin
    #[arg(value_name = "FILE", value_parser = operand())]
    files: Vec<PathBuf>,
    /// Count only events since TIME: 2026-11-15, "1 week ago"
    ///
    /// Dates and times are in UTC.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["files", "prometheus"])]
    since: Option<String>,
    /// Print one JSON object, or one for each FILE
    #[arg(long, conflicts_with = "prometheus")]
    json: bool,
    /// Print metrics for Prometheus
    #[arg(long)]
    prometheus: bool,
    /// Print an HTML page that shows what fills the window of each FILE
    #[arg(long, requires = "files", conflicts_with_all = ["json", "prometheus"])]
    html: bool,
    /// Record whether the task of session ID ended with success or failure
    ///
    /// ID is a session file, the id of an agent's session, or the id of a session in the store. The
    /// last RESULT that was recorded for a session counts. Without --outcome, `task_success` is not
    /// known.
    #[arg(long, num_args = 2, value_names = ["ID", "RESULT"], conflicts_with_all = ["files", "since", "json", "prometheus", "html", "output"])]
    outcome: Option<Vec<String>>,
    #[command(flatten)]
    triggers: TriggerArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    output: ReportOutputArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// The entry for `ctx-stats` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-stats", Args::command, run, include_str!("manual.toml"));

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let store = args.store.open(&TOOL, matches)?;
    if let Some(outcome) = &args.outcome {
        return record_outcome(&store, &outcome[0], &outcome[1], io);
    }
    let target = args.output.report(&args.files)?;
    let (text, failures) = if args.html {
        let request = args.request(&store, io)?;
        request.counting.report(io);
        html::page(&inputs(&args.files)?, request)
    } else if args.files.is_empty() {
        (Some(args.overview(&store, io)?), Vec::new())
    } else {
        let (text, failures) = args.statuses(&store, io)?;
        (Some(text), failures)
    };
    if let Some(text) = text {
        target.write(text.as_bytes(), io)?;
    }
    report_failures(failures, args.files.len(), io)
}

/// Records in the audit log whether the task of a session succeeded.
fn record_outcome(store: &Store, named: &str, result: &str, io: &mut Io) -> Outcome {
    if !matches!(result, "success" | "failure") {
        return Err(Failure::new(format_args!("--outcome cannot be {result:?}"))
            .hint("use success or failure"));
    }
    let path = file_of(named.into()).map_err(Failure::new)?;
    let session = if path.exists() {
        SessionId::of_file(&path).map_err(failure)?
    } else {
        let named = named.parse().map_err(Failure::new)?;
        store.require_session(&named, false).map_err(failure)?
    };
    let figures = [("outcome".to_owned(), result.into())].into_iter().collect();
    let facts = Facts { figures, ..Facts::of(&session) };
    let operation = store.begin("outcome", &facts).map_err(failure)?;
    store.done(&operation, &facts).map_err(failure)?;
    if io.verbosity > Verbosity::Quiet {
        io.print(format!("{session}: recorded as {result}\n"))?;
    }
    Ok(ExitStatus::Done)
}

impl Args {
    /// Returns the store, the triggers and the counter used to examine sessions.
    fn request<'s>(&self, store: &'s Store, io: &mut Io) -> Result<StatusRequest<'s>> {
        let policy = self.policy.named(io)?;
        let counting = self.counting.resolve_under(policy.as_ref())?;
        let triggers = self.triggers.resolve(policy.as_ref(), &counting);
        Ok(StatusRequest { store, triggers, overflow: self.triggers.overflow, counting })
    }

    fn overview(&self, store: &Store, io: &mut Io) -> Result<String> {
        let since = time_of("since", self.since.as_deref(), store)?;
        let now = look_at_agents(store, self.request(store, io)?.triggers);
        let since = since.map(|since| since.start);
        let overview = Overview::of(store, since, now).map_err(failure)?;
        Ok(if self.json {
            json_line(&overview)
        } else if self.prometheus {
            prometheus::of_all(&overview)
        } else {
            filled(
                include_str!("overview.txt"),
                printable,
                context! { overview => Value::from(Serde(&overview)) },
            )
        })
    }

    /// Returns the output for the files, and the failures for files that could not be read.
    fn statuses(&self, store: &Store, io: &mut Io) -> Result<(String, Vec<Failure>)> {
        let request = self.request(store, io)?;
        request.counting.report(io);
        let (mut text, mut statuses, mut failures) = (String::new(), Vec::new(), Vec::new());
        for path in &self.files {
            match status::of(path, request) {
                Ok(status) if self.prometheus => statuses.push(status),
                Ok(status) if self.json => text.push_str(&json_line(&status.report())),
                Ok(status) => text.push_str(&status.text()),
                Err(failure) => {
                    if self.json {
                        text.push_str(&json_failure(&ctx_cli::input_name(path), None, &failure));
                    }
                    failures.push(failure);
                }
            }
        }
        if self.prometheus {
            text = prometheus::of_files(&statuses);
        }
        Ok((text, failures))
    }
}

/// The figures about the store and about all sessions. Keys are never removed.
#[derive(Debug, Serialize)]
struct Overview {
    /// The start of the period, or null if all events are included. Earlier events are left out.
    since: Option<String>,
    #[serde(flatten)]
    stats: Stats,
    /// The number of lines in the audit log that are not records.
    unread_lines: u64,
    /// The mean share of the window that is in use, over all sessions with a known window.
    context_utilization: Option<f64>,
    /// The sessions by agent.
    agents: Agents,
    /// The four acceptance metrics.
    acceptance: [Acceptance; 4],
    /// The disk space that the store takes up.
    store: Usage,
}

impl Overview {
    fn of(store: &Store, since: Option<DateTime<Utc>>, agents: Agents) -> Result<Self, StoreError> {
        let mut tally = Tally::new(since);
        let unread_lines = store.each_event(|event| tally.add(&event))?;
        let stats = tally.finish();
        Ok(Self {
            since: since.map(|since| since.to_rfc3339_opts(SecondsFormat::AutoSi, true)),
            acceptance: stats.acceptance(),
            stats,
            unread_lines,
            context_utilization: mean(&agents),
            agents,
            store: store.usage()?,
        })
    }
}

fn mean(agents: &Agents) -> Option<f64> {
    let shares = || agents.values().map(|now| now.utilization);
    let count: u64 = shares().map(|shares| shares.count).sum();
    let sum: f64 = shares().map(|shares| shares.sum).sum();
    (count > 0).then(|| ctx_summary::ledger::score::rounded(sum / count as f64))
}

/// One agent's sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct AgentSessions {
    /// The number of sessions.
    sessions: u64,
    /// The number of sessions due for compaction.
    due: u64,
    /// A histogram of the share of the window that is in use, over the sessions with a known
    /// window.
    utilization: ShareHistogram,
}

/// All sessions, by agent.
type Agents = BTreeMap<String, AgentSessions>;

/// Reads the sessions of all agents. Data about unchanged files comes from the index that `ctx-ls`
/// keeps.
fn look_at_agents(store: &Store, triggers: Triggers) -> Agents {
    let (listed, _) = Query::default().list(Some(store), triggers);
    let mut agents = Agents::new();
    for row in listed.rows {
        let now = agents.entry(row.agent).or_default();
        now.sessions += 1;
        now.due += u64::from(row.due == Some(true));
        if let Some(share) = row.share {
            now.utilization.add(share);
        }
    }
    agents
}
