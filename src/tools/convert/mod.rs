//! `ctx-convert`: a session in another dialect.

mod page;

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, inputs, is_stdin, json_line, json_name};
use ctx_convert::{ConvertError, Converter, Loss, Reading, Report};
use ctx_passes::PassError;
use ctx_store::{Growth, SessionId};
use ctx_transcript::{Dialect, Spool, dialect};
use serde::Serialize;

use crate::output;
use crate::session::{ReadArgs, Session};
use crate::store::{StoreArgs, session_id};
use crate::target::{OutputArgs, Source};

/// The tool.
pub const TOOL: Tool = Tool {
    name: "ctx-convert",
    command: Args::command,
    run,
    page: page::PAGE,
};

/// Write a session in the dialect of another API or agent
///
/// What is written is the context: what the agent that wrote the session would send
/// now, in that order. Fragments of a message become one, results stand right behind
/// the reply that called, a summary stays one. Texts, arguments and ids are not
/// changed. For chat, anthropic and responses each record is a message or an item;
/// for claude-code, codex, gemini and pi the output is a session file that the agent
/// resumes. Ids are made of what the session says, so that the same input gives the same
/// bytes; only what has no time gets that of now.
///
/// What the other dialect has no place for is left out, and told on stderr with the
/// line where it stood first; with --strict that is a failure. Reasoning goes along
/// between anthropic and claude-code, and between responses and codex: only the API
/// that it comes from takes it back.
///
/// --json prints an object: name (null for stdin), from, to, output, messages, records,
/// losses (kind, name, count, `first_line`, lost). New keys may come, none goes.
#[derive(Debug, Parser)]
struct Args {
    /// Session to read; stdin when there is none, or for -
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Write this dialect
    #[arg(long, value_name = "NAME", default_value = "chat", value_parser = PossibleValuesParser::new(dialect::ALL.map(Dialect::name)))]
    to: String,
    /// Give an agent's session this id [default: made of what it says]
    #[arg(short, long, value_name = "ID", value_parser = session_id)]
    session: Option<SessionId>,
    /// Say that the agent works in DIR [default: as the source says, or /]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Give what has no time this one, such as 2026-01-01T00:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<DateTime<Utc>>,
    /// Write nothing when something cannot be carried
    #[arg(long)]
    strict: bool,
    /// Show what could not be carried, and write nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
    /// Print what was done as JSON; with -o or -n
    #[arg(long, help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// What is said with `--json`.
#[derive(Serialize)]
struct Told<'a> {
    name: Option<&'a str>,
    from: &'static str,
    to: &'static str,
    output: Option<String>,
    messages: u64,
    records: u64,
    losses: Vec<ToldLoss<'a>>,
}

#[derive(Serialize)]
struct ToldLoss<'a> {
    #[serde(flatten)]
    loss: &'a Loss,
    lost: bool,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let lazy = args.store.lazy(&TOOL, matches);
    let paths = inputs(&args.file)?;
    args.refuse()?;
    let (source, target) = if args.dry_run {
        args.output.refuse(&paths)?;
        (Source::default(), None)
    } else {
        let (source, target) = args.output.session(&paths, None, &lazy, Growth::Stops)?;
        (source, Some(target))
    };
    let mut session = args.read.session(source.open(&paths[0])?)?;
    session.tell_of_document(io);
    let (from, report, records) = args.convert(&mut session)?;
    session.report(io);
    tell(&session.name, &report, io);
    if args.strict && report.lost_something() {
        return Err(Failure::new("not all of it can be carried")
            .at(&session.name, None)
            .hint("without --strict the rest is written"));
    }
    if let Some(target) = target {
        let mut output = target.open(io)?;
        let written = records.write_to(&mut output);
        written.map_err(output::failure)?;
        output.finish()?;
    }
    if args.json {
        io.write(args.told(&session.name, from, &report).as_bytes())?;
    }
    Ok(ExitStatus::Done)
}

impl Args {
    /// Flags that say nothing together.
    fn refuse(&self) -> Result<(), Failure> {
        let named = self.output.output.as_deref().unwrap_or(Path::new("-"));
        if self.read.batch {
            return Err(Failure::new("conversations of a batch are not converted")
                .hint("convert them one by one"));
        }
        if self.json && !self.dry_run && is_stdin(named) {
            return Err(Failure::new("--json needs stdout, and so does the session")
                .hint("write it to a file with -o, or nowhere with -n"));
        }
        Ok(())
    }

    fn to(&self) -> &'static dyn Dialect {
        dialect::by_name(&self.to).unwrap_or(dialect::ALL[0])
    }

    /// The session's dialect, what was done, and the new records.
    fn convert(
        &self,
        session: &mut Session,
    ) -> Result<(&'static dyn Dialect, Report, Spool), Failure> {
        let unknown = || {
            Failure::new("the format is not known, so that it cannot be converted")
                .at(&session.name, None)
                .hint("--dialect names it")
        };
        let from = session.dialect().ok_or_else(unknown)?;
        let converter = Converter {
            session: self.session.as_ref().map(SessionId::as_str),
            cwd: self.cwd.as_deref(),
            now: self.now.unwrap_or_else(Utc::now),
            ..Converter::new(self.to())
        };
        let temp = std::env::temp_dir();
        let mut reading = Reading::new(converter, from, Spool::new(&temp));
        session.pass(|record| reading.push(record).map_err(pass_error))?;
        let mut records = Spool::new(&temp);
        let report = session.read(|_| reading.write(&mut records).map_err(pass_error))?;
        Ok((from, report, records))
    }

    fn told(&self, name: &str, from: &dyn Dialect, report: &Report) -> String {
        let losses = report.losses.iter().map(|loss| ToldLoss {
            loss,
            lost: loss.kind.is_loss(),
        });
        let output = self.output.output.as_ref().filter(|_| !self.dry_run);
        json_line(&Told {
            name: json_name(name),
            from: from.name(),
            to: self.to().name(),
            output: output.map(|path| path.display().to_string()),
            messages: report.messages,
            records: report.records,
            losses: losses.collect(),
        })
    }
}

fn pass_error(error: ConvertError) -> PassError {
    match error {
        ConvertError::Temporary(error) | ConvertError::Output(error) => PassError::temporary(error),
    }
}

/// Says what was not carried, or not as it was.
fn tell(name: &str, report: &Report, io: &mut Io) {
    for loss in &report.losses {
        let text = format_args!("{name}:{}: {}", loss.first_line, loss.say());
        if loss.kind.is_loss() {
            io.warn(text);
        } else {
            io.note(text);
        }
    }
}
