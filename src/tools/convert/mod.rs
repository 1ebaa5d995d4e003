//! `ctx-convert`: writes a session in another dialect.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::PossibleValuesParser;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{ExitStatus, Failure, Io, Outcome, Tool, inputs, json_line, json_name, json_object};
use ctx_engine::Invalid;
use ctx_engine::convert::Conversion;
use ctx_format::convert::Converter;
use ctx_format::{Dialect, dialect};
use ctx_store::{Growth, SessionId};

use crate::json;
use crate::output::{self, FilterArgs};
use crate::session::{last_change, operand};

/// The entry for `ctx-convert` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-convert", command, run, include_str!("manual.toml"));

fn command() -> clap::Command {
    Args::command().mut_arg("batch", |batch| batch.hide(true))
}

/// Write a session in the dialect of another API or agent
///
/// The output is the context: the messages that the agent would send if it resumed the session, in
/// that order. Fragments of a message are joined into one message, results directly follow the
/// reply that contains their calls, and a summary remains a summary. Texts, arguments and existing
/// ids do not change. For chat, anthropic and responses, each record is a message or an item. For
/// claude-code, codex, copilot, gemini, kimi, pi (also `OpenClaw`) and qwen, the output is a file
/// that the agent can resume. New ids are derived from the content, and records without a time get
/// the time of the file's last change and a millisecond more each, so the same file gives the same
/// bytes.
///
/// Content that the other dialect cannot express is dropped and reported on stderr; with --strict,
/// the conversion fails. Reasoning is kept between anthropic and claude-code, between responses and
/// codex, between gemini and qwen, and within anthropic, gemini, kimi, pi and qwen, because only
/// the API that wrote it accepts it.
///
/// docs/json.md lists the keys of --json.
#[derive(Debug, Parser)]
struct Args {
    /// Session to convert; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    file: Option<PathBuf>,
    /// Dialect to write
    #[arg(long, value_name = "NAME", default_value = "chat", value_parser = PossibleValuesParser::new(dialect::ALL.map(Dialect::name)))]
    to: String,
    /// Id of the new session [default: derived from its content]
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// Working directory of the session [default: the input's, or /]
    #[arg(long, value_name = "DIR")]
    cwd: Option<String>,
    /// Time for records without a time [default: FILE's last change, or now for a pipe]
    ///
    /// For example 2026-01-01T00:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<DateTime<Utc>>,
    /// Keep the time of each message in a member `timestamp`, which APIs reject
    #[arg(long)]
    times: bool,
    /// Fail if something cannot be converted
    #[arg(long)]
    strict: bool,
    /// Show what cannot be converted, and write nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

fn time(text: &str) -> Result<DateTime<Utc>, &'static str> {
    text.parse().map_err(|_| "expected a time such as 2026-01-01T00:00:00Z")
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let args = Args::from_arg_matches(matches)?;
    let lazy = args.filter.output.store.lazy(&TOOL, matches);
    let paths = inputs(&args.file)?;
    let named = args.filter.output.output.as_deref().filter(|_| !args.dry_run);
    if args.filter.read.batch {
        return Err(Failure::new("--batch files cannot be converted")
            .hint("convert the conversations one by one"));
    }
    args.filter.output.refuse_report_among_records(args.filter.json, args.dry_run)?;
    let (source, target) =
        args.filter.output.session(args.dry_run, &paths, None, &lazy, Growth::Stops)?;
    // A conversion counts bad lines as lost instead of reading past them.
    let drops_bad = args.filter.read.invalid == Invalid::Drop;
    let mut session = args.filter.read.with_bad_lines().session(source.open(&paths[0])?)?;
    let last_change = || last_change(&paths[0]).map(|time| time.0);
    let converter = Converter {
        session: args.session.as_ref().map(SessionId::as_str),
        cwd: args.cwd.as_deref(),
        now: args.now.or_else(last_change).unwrap_or_else(Utc::now),
        times: args.times,
        ..Converter::new(dialect::by_name(&args.to).unwrap_or(dialect::ALL[0]))
    };
    let temp = std::env::temp_dir();
    let conversion = session.read(|it| Conversion::of(it, converter, drops_bad, &temp))?;
    session.telling(io, |notes| conversion.report(notes));
    if args.strict {
        session.read(|_| conversion.refuse_losses())?;
    }
    // Keys are never removed.
    let json = json_line(&json_object! {
        name: json_name(&session.name),
        from: conversion.from.name(),
        to: conversion.to.name(),
        output: named.map(|path| path.display().to_string()),
        messages: conversion.report.messages,
        records: conversion.report.records,
        losses: json::losses(&conversion.report.losses),
        problems: &conversion.problems,
    });
    if !args.dry_run {
        let mut output = target.open(io)?;
        conversion.write_to(&mut output).map_err(output::failure)?;
        output.finish()?;
    }
    if args.filter.json {
        io.print(&json)?;
    }
    Ok(ExitStatus::Done)
}
