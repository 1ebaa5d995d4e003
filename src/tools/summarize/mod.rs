//! `ctx-summarize`: replaces the records in the old zone with one message.

use std::path::{Path, PathBuf};

use chrono::Utc;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Io, Outcome, Result, Tool, Verbosity, inputs, json_line, json_name,
    json_object, printable,
};
use ctx_engine::message_counter::MessageCounter;
use ctx_engine::summarize::{
    Batch, BudgetPass, BudgetRequest, NewSession, Plan, Summary, Summing, TellSizes, Writer,
    ZonePass, check_end, recognizer,
};
use ctx_engine::{Invalid, Notes, Pin};
use ctx_format::{Saved, SummaryRole, ZoneReader, counted};
use ctx_llm::Usage;
use ctx_memory::{append_summary, summary_path};
use ctx_policy::{Keep, Method, Policy, parse_count};
use ctx_store::{Figures, Growth, SessionId};
use ctx_tokens::Encoding;

use crate::args::{LlmArgs, PolicyArgs, ReasoningArgs};
use crate::in_place::figures_of_summary;
use crate::output::FilterArgs;
use crate::passes;
use crate::session::{Session, operand};
use crate::store::{LazyStore, failure};

/// Replace the old part of a session with a summary
///
/// The tool reads records tagged by ctx-split and writes a session without tags. The summary
/// replaces the old records, at the position of the first; all other records are unchanged. An
/// earlier summary among the old records becomes part of the new summary. Nothing is written until
/// the whole input is read and the output is checked.
///
/// With --budget, the tool reads any session and decides for itself which records are old. The
/// --keep flags require --budget and set a minimum of what is kept.
///
/// The method `extractive` quotes what is most likely to be needed later. The method `rule` counts
/// user messages and tool calls, and quotes the latest topics. The method `llm` asks a model, but
/// only if `--llm-url` or `CTX_LLM_URL` is set. If the model gives no response, nothing is written,
/// unless `--on-failure` selects another summary. The response is checked against the messages:
/// statements that are not supported by the messages are repaired, marked or removed, and reported
/// on stderr. Secrets are removed from everything that is sent or written.
#[derive(Debug, Parser)]
struct Args {
    /// Session to read; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    file: Option<PathBuf>,

    /// Method for the summary [default: the policy's, else extractive]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Summary")]
    method: Option<Method>,
    /// Length of the summary in tokens
    ///
    /// A summary that is made without a model never exceeds this length. A model is asked for this
    /// length and may exceed it by a fifth. [default: with --method extractive, about a fifth of
    /// the tokens that the summary replaces; with --method llm, the length in the template (500
    /// with sanbot, 8000 with synapse), or else about 60 % of the tokens that --budget leaves, or
    /// else a tenth of the tokens that the summary replaces, between 500 and 4000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Summary")]
    summary_tokens: Option<u64>,
    /// Limit the whole output to N tokens; needs no ctx-split
    ///
    /// The tool decides for itself which records are old, and ignores the zones in the input. The
    /// latest messages are kept, with long tool results shortened, as long as this preserves more
    /// than a summary of the messages would. The tool fails if the records that must be kept do not
    /// fit.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "batch", help_heading = "Summary")]
    budget: Option<u64>,
    #[command(flatten)]
    keep: Keep,
    /// With --budget, keep these records (can be repeated)
    #[arg(long, value_name = "SELECTOR", requires = "budget", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// First line of summaries, by which earlier summaries are recognized
    #[arg(long, value_name = "TEXT", help_heading = "Summary")]
    header: Option<String>,
    /// Role of the summary [default: the policy's, else user]
    ///
    /// If the dialect allows only the role user, this flag has no effect.
    #[arg(long, value_enum, value_name = "ROLE", help_heading = "Summary")]
    role: Option<SummaryRole>,
    /// Count tokens with this encoding
    #[arg(long, value_name = "NAME", default_value_t, help_heading = "Input")]
    encoding: Encoding,

    #[command(flatten)]
    llm: LlmArgs,
    /// Whether the policy asks for a model but no server is named.
    #[arg(skip)]
    lacks_server: bool,

    /// Show what would be summarized, and write nothing
    ///
    /// No model is asked: the preview uses a summary that is made without a model.
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,

    /// Accept a tagged stream that is incomplete
    #[arg(long, help_heading = "Input")]
    partial: bool,
    /// Fail if the input is not valid for its API
    ///
    /// The input is not valid if, for example, a tool result belongs to no call or a call has no
    /// result.
    #[arg(long, help_heading = "Input")]
    strict: bool,
    #[command(flatten)]
    reasoning: ReasoningArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    filter: FilterArgs,

    /// Also append the summary to this session's summary file in the store
    #[arg(short, long, value_name = "ID", conflicts_with = "batch", help_heading = "Store")]
    session: Option<SessionId>,
}

/// The entry for `ctx-summarize` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-summarize", command, run, include_str!("manual.toml"));

fn command() -> Command {
    Args::command().mut_group("Keep", |keep| keep.requires("budget"))
}

impl Args {
    /// Sets what no flag sets to the policy's settings. Without a policy, a model's summary is
    /// completed, and the method is extractive.
    fn under(&mut self, policy: Option<&Policy>) {
        let is_flag = self.method.is_some();
        if let Some(summary) = policy.map(|policy| &policy.summary) {
            self.method = self.method.or(Some(summary.method));
            self.lacks_server = !is_flag && summary.method == Method::Llm && !self.llm.has_server();
            self.role = self.role.or(Some(summary.role));
            self.header = self.header.take().or_else(|| summary.header.clone());
            self.summary_tokens = self.summary_tokens.or(summary.tokens.or(summary.target_tokens));
            self.llm = self.llm.under(summary, is_flag);
        }
        self.method = self.method.or(Some(Method::Extractive));
    }

    fn method(&self) -> Method {
        self.method.unwrap_or_default()
    }

    /// Returns the writer. A preview asks no model, but it fails if a run would ask none either.
    fn writer(&self, policy: Option<&Policy>, own: Option<&str>, io: &mut Io) -> Result<Writer> {
        if let Some(policy) = policy.filter(|_| self.lacks_server) {
            let offline = policy.summary.offline();
            io.warn(format_args!("no LLM server is set; the {offline} summary is used"));
            return Ok(Writer::offline(offline, self.summary_tokens));
        }
        if self.method() != Method::Llm {
            return Ok(Writer::offline(self.method(), self.summary_tokens));
        }
        let own = own.filter(|_| !self.dry_run);
        let mut writer = self.llm.writer(self.summary_tokens, own, |text| io.warn(text))?;
        writer.completes = true;
        if let Some(policy) = policy {
            writer.under(&policy.summary, &policy.summary.sections);
        }
        if self.dry_run {
            writer.model = None;
        }
        Ok(writer)
    }

    fn plan(&self, io: &Io, saved: Saved) -> Plan {
        Plan {
            recognizer: recognizer(self.header.as_deref()),
            role: self.role.unwrap_or_default().into(),
            counter: MessageCounter::new(self.encoding),
            strict: self.strict,
            drop_bad: self.filter.read.invalid == Invalid::Drop,
            tell_sizes: match io.verbosity {
                Verbosity::Quiet => TellSizes::Never,
                Verbosity::Normal => TellSizes::WhenLonger,
                Verbosity::Verbose | Verbosity::Debug => TellSizes::Always,
            },
            saved,
            signed_reasoning: self.reasoning.signed_reasoning,
            temp: std::env::temp_dir(),
        }
    }

    fn refuse_what_does_not_fit(&self) -> Result<()> {
        if self.filter.json && self.filter.read.batch {
            return Err(Failure::new("--json reports one session, but a batch has many")
                .hint("-v reports on each conversation"));
        }
        self.filter.output.refuse_report_among_records(self.filter.json, self.dry_run)
    }

    /// Appends the summary to the session's summary file in the store. Returns true if the file did
    /// not already contain the summary. If a failure occurred after the summary was written,
    /// returns the failure as the inner error.
    fn remember(
        &self,
        summary: &Summary,
        figures: Figures,
        store: &LazyStore<'_>,
    ) -> Result<Result<bool>> {
        let Some(session) = &self.session else { return Ok(Ok(false)) };
        let Summary { messages, text, .. } = summary;
        let appended = append_summary(store.get()?, session, *messages, text, figures);
        match appended.map_err(failure) {
            Err(failure) if failure.status == ExitStatus::Uncertain => Ok(Err(failure)),
            other => other.map(Ok),
        }
    }

    fn check_end(&self, zones: &ZoneReader, session: &Session) -> Result<()> {
        let checked = if self.partial { Ok(()) } else { check_end(zones, session.dialect()) };
        checked.map_err(|error| session.failure(error))
    }
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    let policy = args.policy.named(io)?;
    args.under(policy.as_ref());
    let args = &args;
    let begun = Utc::now();
    args.refuse_what_does_not_fit()?;
    args.llm.refuse_unasked(matches, args.method())?;
    let paths = inputs(&args.file)?;
    let store = args.filter.output.store.lazy(&TOOL, matches);
    let named = args.session.as_ref();
    let (source, target) =
        args.filter.output.session(args.dry_run, &paths, named, &store, Growth::Follows)?;
    let saved = args.filter.output.store.promise(matches, source.is_saved());
    let plan = args.plan(io, saved);
    // Bad lines count when the tool checks whether the stream is complete.
    let mut session = args.filter.read.with_bad_lines().session(source.open(&paths[0])?)?;
    session.note_document(io);
    let writer = args.writer(policy.as_ref(), session.model(), io)?;
    let (mut new, usage) = summed_up(args, &plan, &writer, &mut session, io)?;
    let summary = new.draft.as_ref().map(|draft| draft.summary.clone());
    let summary = summary.as_ref();
    // If the clock was set back, the duration is unknown, and 0 is recorded.
    let took = (Utc::now() - begun).num_milliseconds();
    let took = u64::try_from(took).unwrap_or_default();
    let summing = Summing::new(args.method(), summary, usage);
    // Keys are never removed. The name is null for stdin.
    let report = |output: Option<String>, named: Option<&SessionId>, file: Option<String>| {
        json_line(&json_object! {
            name: json_name(&session.name),
            output,
            session: named.map(SessionId::as_str),
            summarized_messages: summary.map_or(0, |summary| summary.messages),
            earlier_summaries: summary.map_or(0, |summary| summary.earlier),
            summary_tokens: summary.map(|summary| plan.counter.text(&summary.text)),
            summary_file: file,
            #[serde(flatten)]
            summing,
            duration_ms: took,
        })
    };
    if args.dry_run {
        let shown = || preview(&session.name, summary, &plan.counter);
        io.print(if args.filter.json { report(None, None, None) } else { shown() })?;
        return Ok(ExitStatus::Done);
    }
    let figures = figures_of_summary(summing, took);
    let mut remembered = Ok(false);
    let mut output = target.open(io)?;
    if named.is_none() {
        output.set_figures(figures.clone());
    }
    let delivered = output.deliver(
        |output| new.write(output).map_err(|error| session.failure(error)),
        || {
            if let Some(summary) = summary {
                remembered = args.remember(summary, figures, &store)?;
            }
            Ok(())
        },
    );
    let mut status = ExitStatus::Done;
    match remembered {
        Ok(is_new) if is_new => io.committed("the summary is in the store"),
        Ok(_) => {}
        Err(failure) => {
            io.report(&failure);
            status = ExitStatus::Uncertain;
        }
    }
    delivered?;
    if args.filter.json {
        let shown = |path: &Path| path.display().to_string();
        let output = args.filter.output.output.as_deref().map(shown);
        let file = named.map(|it| store.get().map(|store| summary_path(store, it))).transpose()?;
        let file = file.filter(|_| summary.is_some()).as_deref().map(shown);
        io.write(report(output, named, file).as_bytes())?;
    }
    Ok(status)
}

/// Returns the text of the preview.
fn preview(name: &str, summary: Option<&Summary>, counter: &MessageCounter) -> String {
    let name = printable(name);
    let Some(summary) = summary else {
        return format!("{name}: nothing to summarize\n");
    };
    format!(
        "{name}: a summary of {} would replace {}\n",
        counted(counter.text(&summary.text), "token"),
        counted(summary.messages, "message")
    )
}

/// Returns the session with its summary, and the usage reported by models.
fn summed_up(
    args: &Args,
    plan: &Plan,
    writer: &Writer,
    session: &mut Session,
    io: &mut Io,
) -> Result<(NewSession, Usage)> {
    if args.filter.read.batch {
        return Ok((batch(args, plan, writer, session, io)?, Usage::default()));
    }
    let with_usage = |new, notes: &Notes| (new, notes.usage);
    let (new, usage) = if let Some(tokens) = args.budget {
        let request = BudgetRequest { tokens, keep: args.keep, pins: args.pin.clone() };
        let mut pass = BudgetPass::new(plan, writer, &request, session.dialect());
        session.pass(|record| pass.push(record))?;
        if pass.zones.zoned {
            args.check_end(&pass.zones, session)?;
        }
        session
            .telling(io, |notes| with_usage(pass.finish(notes).map(|(session, _)| session), notes))
    } else {
        let mut pass = ZonePass::new(plan, writer.needs(), session.dialect());
        session.pass(|record| pass.push(record))?;
        args.check_end(&pass.zones, session)?;
        session.telling(io, |notes| with_usage(pass.finish(writer, notes), notes))
    };
    Ok((new.map_err(|error| session.failure(error))?, usage))
}

/// Summarizes each line as a separate conversation. Notes about a line are printed immediately.
fn batch(
    args: &Args,
    plan: &Plan,
    writer: &Writer,
    session: &mut Session,
    io: &mut Io,
) -> Result<NewSession> {
    let name = session.name.clone();
    let mut pass = Batch::new(plan, writer, session.dialect());
    session.pass(|record| passes::telling(&name, io, |notes| pass.push(record, notes)))?;
    args.check_end(&pass.zones, session)?;
    Ok(session.telling(io, |notes| pass.finish(notes)))
}
