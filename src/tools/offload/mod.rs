//! `ctx-offload`: replaces large tool results with references to files in the store; `--restore`
//! restores the results.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use ctx_cli::{
    ExitStatus, Failure, Input, Io, Outcome, Result, Tool, Verbosity, input_name, inputs, is_stdin,
    json_name, json_object, printable,
};
use ctx_engine::Notes;
use ctx_engine::offload::{Change, ChangePass, Reading, Template};
use ctx_format::{Spool, counted};
use ctx_policy::{Policy, parse_count};
use ctx_store::{Growth, SessionId, Severity, Store};
use serde::Serialize;

use crate::args::{CountingArgs, PolicyArgs, ReasoningArgs};
use crate::offload::{
    self, MIN_TOKENS, OffloadedResult, Offloader, OriginalError, OriginalQuery, Reference,
    Restorer, original, transcripts,
};
use crate::output::{self, FilterArgs, InPlaceArgs, Output};
use crate::session::{Session, operand};
use crate::store::{LazyStore, failure, session_of};

/// The entry for `ctx-offload` in the list of tools.
pub const TOOL: Tool = Tool::new("ctx-offload", Args::command, run, include_str!("manual.toml"));

/// Move large tool results out of a session into files
///
/// The oldest results are moved first. The content of each moved result is replaced with one line
/// that contains the path of the file. Signed reasoning that this makes invalid is removed, unless
/// --signed-reasoning keeps it; all other bytes of the session do not change. The files are safely
/// on disk before the session that refers to them is written, and --restore restores the exact
/// bytes of the results.
#[derive(Debug, Parser)]
struct Args {
    /// Session to read; stdin if FILE is omitted or -
    #[arg(value_name = "FILE", value_parser = operand())]
    file: Option<PathBuf>,
    /// Id of the session [default: the file's]
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,

    #[command(flatten)]
    offload: OffloadArgs,
    #[command(flatten)]
    counting: CountingArgs,

    /// Restore the results in the session
    ///
    /// A reference whose file cannot be read is left unchanged, and the exit status is 3. If
    /// nothing was restored, because nothing had been moved out or the results were moved out under
    /// a different session name, the exit status is 1, and the message shows that name.
    #[arg(long, conflicts_with_all = ["min_tokens", "enough", "protect_last", "show"], help_heading = "Restoring")]
    restore: bool,
    /// Print the whole original text to which a handle refers
    ///
    /// HASH is 4 to 64 digits of the sha256, a whole handle, or the path of an offloaded file. The
    /// tool searches the offloaded files, then FILE if given, and then the snapshots (with -s, only
    /// those of one session). In FILE and in snapshots, it finds tool results and long texts in the
    /// arguments of calls.
    #[arg(long, value_name = "HASH", conflicts_with_all = ["min_tokens", "enough", "protect_last", "reference", "dry_run", "output", "batch"], help_heading = "Restoring")]
    show: Option<OriginalQuery>,

    /// Show what would be done, and change nothing
    #[arg(short = 'n', long, help_heading = "Output")]
    dry_run: bool,
    #[command(flatten)]
    in_place: InPlaceArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    reasoning: ReasoningArgs,
}

fn run(matches: &ArgMatches, io: &mut Io) -> Outcome {
    let mut args = Args::from_arg_matches(matches)?;
    let policy = args.policy.named(io)?;
    args.offload.under(policy.as_ref())?;
    args.filter.output = args.in_place.of(args.filter.output, args.file.as_ref());
    let lazy = args.filter.output.store.lazy(&TOOL, matches);
    let store = lazy.get()?;
    if let Some(session) = args.session.as_mut().filter(|_| args.restore || args.show.is_some()) {
        let known = store.require_session(session, false).map_err(failure);
        // If nothing is restored, the report names the session to restore from.
        *session = if args.restore { known.unwrap_or_else(|_| session.clone()) } else { known? };
    }
    if let Some(wanted) = &args.show {
        if args.filter.json {
            return Err(Failure::new("--show prints plain text and cannot be used with --json"));
        }
        return show(&args, store, wanted, io);
    }
    args.filter.output.refuse_report_among_records(args.filter.json, args.dry_run)?;
    let paths = inputs(&args.file)?;
    let output = args.filter.output.output.as_deref();
    let plan = Plan {
        path: &paths[0],
        output: output.map(|path| path.display().to_string()),
        session: session_of(args.session.as_ref(), &paths[0])?,
    };
    if args.restore { restore(&args, &plan, &lazy, io) } else { offload(&args, &plan, &lazy, io) }
}

/// Prints the original of removed text.
fn show(args: &Args, store: &Store, wanted: &OriginalQuery, io: &mut Io) -> Outcome {
    let named = args.file.as_deref();
    let transcript = named.map(Input::open).transpose()?.map(|input| input.reader);
    let found = original(store, args.session.as_ref(), transcript, wanted);
    let text = found.map_err(|error| match (error, wanted) {
        (OriginalError::Store(error), _) => failure(error),
        (error @ OriginalError::Session(_), _) => {
            let name = named.map(input_name).unwrap_or_default();
            Failure::new(error).at(name, None)
        }
        (error @ OriginalError::NotKept(_), _) => Failure::new(error).hint(if named.is_some() {
            "the original is not in FILE, was not offloaded, and is in no snapshot"
        } else {
            "the original was not offloaded and is in no snapshot; name its session as FILE, or its store with --store"
        }),
        (error, OriginalQuery::Path(path)) => {
            Failure::new(error).at(path, None).hint("name the store with --store")
        }
        (error, OriginalQuery::Hash(_)) => Failure::new(error).hint("give more digits"),
    })?;
    if std::str::from_utf8(&text).is_err() && io::stdout().is_terminal() {
        let bytes = counted(text.len(), "byte");
        return Err(Failure::new(format_args!("the original has {bytes} and is no text"))
            .hint("redirect the output to a file"));
    }
    io.write(&text)?;
    Ok(ExitStatus::Done)
}

/// The session, its input file and its output file.
struct Plan<'a> {
    path: &'a Path,
    /// The name of the output file.
    output: Option<String>,
    session: SessionId,
}

impl Plan<'_> {
    /// Returns the members with which both reports begin. Keys are never removed.
    fn run(&self, args: &Args, session: &Session) -> impl Serialize {
        json_object! {
            name: json_name(&session.name),
            session: self.session.as_str(),
            output: self.output.as_deref().filter(|_| !args.dry_run),
            dry_run: args.dry_run,
        }
    }
}

fn offload(args: &Args, plan: &Plan<'_>, store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let counting = args.counting.resolve()?;
    counting.report(io);
    let wanted = offload::Plan {
        min_tokens: args.offload.min_tokens.unwrap_or(MIN_TOKENS),
        enough_tokens: args.offload.enough,
        template: args.offload.reference(),
        counter: counting.counter,
        dry_run: args.dry_run,
    };
    let mut offloader = Offloader::new(store.get()?, &plan.session, wanted).map_err(failure)?;
    let is_file = |path: &&Path| !is_stdin(path);
    let output = args.filter.output.output.as_deref().filter(is_file);
    let transcripts = transcripts(Some(plan.path).filter(is_file), output);
    let (session, new, said) = pass(args, plan, store, &mut offloader, io)?;
    // If only the audit record could not be written, continue, because the offloaded files exist.
    let mut unaudited = None;
    let finish = || match offloader.finish(&transcripts) {
        Err(error) if error.severity() == Severity::Uncertain => {
            unaudited = Some(failure(error));
            Ok(())
        }
        other => other.map_err(failure),
    };
    write(new, finish)?;
    session.telling(io, |notes| notes.append(said));
    if args.filter.json {
        io.json(&json_object! {
            #[serde(flatten)]
            run: plan.run(args, &session),
            offloaded: &offloader.results,
            freed_tokens: offloader.freed,
        })?;
    }
    let shows = args.dry_run && !args.filter.json;
    for result in offloader.results.iter().filter(|_| shows) {
        let OffloadedResult { line, tokens, bytes, path, .. } = result;
        let path = printable(path);
        let (tokens, bytes) = (counted(*tokens, "token"), counted(*bytes, "byte"));
        let text = format!("would offload line {line}: {tokens}, {bytes}: {path}\n");
        io.print(&text)?;
    }
    if let Some(enough) = args.offload.enough.filter(|enough| shows && offloader.freed < *enough) {
        let freed = counted(offloader.freed, "token");
        io.print(format!("only {freed} would be freed, fewer than {enough} (--enough)\n"))?;
    }
    if shows && offloader.results.is_empty() {
        let least = counted(args.offload.min_tokens.unwrap_or(MIN_TOKENS), "token");
        io.print(format!(
            "nothing would be offloaded: no result has {least}; --min-tokens N sets this limit\n"
        ))?;
    }
    session.report(io);
    let would = if args.dry_run { "would be " } else { "" };
    let done = format!(
        "{}: {} {would}offloaded, {} {would}freed",
        printable(&session.name),
        counted(offloader.results.len(), "result"),
        counted(offloader.freed, "token")
    );
    if args.in_place.in_place && !args.filter.json && io.verbosity > Verbosity::Quiet {
        io.print(done + "\n")?;
    } else {
        io.note(done);
    }
    if !args.dry_run && !offloader.results.is_empty() {
        session.note_import(io);
    }
    unaudited.map_or(Ok(ExitStatus::Done), Err)
}

fn restore(args: &Args, plan: &Plan<'_>, store: &LazyStore<'_>, io: &mut Io) -> Outcome {
    let template = args.offload.reference();
    let mut restorer = Restorer::new(store.get()?, &plan.session, template).map_err(failure)?;
    // Drop the notes about reasoning that refers to changed results, because restoring brings back
    // the original results.
    let (session, new, _) = pass(args, plan, store, &mut restorer, io)?;
    // Even if it is uncertain whether the session was written, report the references whose results
    // were not restored.
    let written = write(new, || Ok(()));
    let name = &session.name;
    let put_back = restorer.restored.len();
    if args.filter.json && written.is_ok() {
        let missing = restorer.missing.iter().map(|(reference, error)| {
            json_object! { #[serde(flatten)] reference, error: error.to_string() }
        });
        io.json(&json_object! {
            #[serde(flatten)]
            run: plan.run(args, &session),
            restored: &restorer.restored,
            missing: missing.collect::<Vec<_>>(),
            /// References to files outside the folder.
            elsewhere: &restorer.elsewhere,
            /// The number of strings that look like references but are left unchanged.
            foreign: restorer.foreign.count,
        })?;
    }
    let shows = args.dry_run && !args.filter.json;
    for Reference { line, path } in restorer.restored.iter().filter(|_| shows) {
        let path = printable(path);
        io.print(format!("would restore line {line}: {path}\n"))?;
    }
    let missing = restorer.missing.len();
    for (Reference { line, path }, error) in std::mem::take(&mut restorer.missing) {
        if shows {
            let path = printable(&path);
            io.print(format!("would not restore line {line}: {path}\n"))?;
        }
        let why = failure(error);
        io.warn(format_args!("{name}:{line}: left as it is: {why}"));
    }
    let foreign = restorer.foreign.count;
    session.telling(io, |notes| restorer.tell(notes));
    written?;
    session.report(io);
    let left = missing as u64 + foreign;
    io.note(format_args!(
        "{name}: {} restored, {left} left unchanged",
        counted(put_back, "result")
    ));
    if !args.dry_run && put_back > 0 {
        session.note_import(io);
    }
    if left > 0 {
        return Ok(ExitStatus::Partial);
    }
    if put_back > 0 {
        return Ok(ExitStatus::Done);
    }
    io.warn(nothing_restored(name, &sessions_of(args, &restorer.elsewhere), &restorer));
    Ok(ExitStatus::No)
}

/// Returns the other sessions whose results these references point to.
fn sessions_of(args: &Args, references: &[Reference]) -> Vec<String> {
    let session = |reference: &Reference| {
        let folder = Path::new(&reference.path).parent()?;
        let is_ours = folder.parent()?.file_name()? == "offloaded";
        let session = folder.file_name()?.to_str()?;
        (is_ours && session.parse::<SessionId>().is_ok()).then(|| session.to_owned())
    };
    let mut sessions: Vec<String> = references.iter().filter_map(session).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let asked = args.session.as_ref().map(SessionId::as_str);
    sessions.retain(|session| Some(session.as_str()) != asked);
    sessions
}

/// Returns a message saying that nothing was restored, with the `-s` flags that may help.
fn nothing_restored(name: &str, sessions: &[String], restorer: &Restorer<'_>) -> String {
    let why = match sessions {
        [] if !restorer.elsewhere.is_empty() => {
            "the references are to files outside this session's folder; if the files are in another store, use --store"
                .to_owned()
        }
        [] => "the session contains no offloaded results".to_owned(),
        sessions => {
            let sessions = sessions.join(", -s ");
            format!("the results were moved out under a different session name: -s {sessions}")
        }
    };
    format!("{name}: nothing was restored; {why}")
}

/// A finished session that has not yet been written, and its destination.
type NewSession<'a> = (Spool, Output<'a>);

/// Writes the session, if there is one, after `first` has made the offloaded files durable.
fn write(new: Option<NewSession<'_>>, first: impl FnOnce() -> Result<()>) -> Result<()> {
    let Some((records, output)) = new else { return Ok(()) };
    let write = |output: &mut Output<'_>| records.write_to(output).map_err(output::failure);
    output.deliver(write, first)
}

/// Applies `change` to all records. A dry run makes no new session.
fn pass<'a>(
    args: &Args,
    plan: &Plan<'_>,
    store: &'a LazyStore<'a>,
    change: &mut dyn Change,
    io: &'a mut Io,
) -> Result<(Session, Option<NewSession<'a>>, Notes)> {
    let inputs = [plan.path.to_owned()];
    let named = args.session.as_ref();
    let (source, target) =
        args.filter.output.session(args.dry_run, &inputs, named, store, Growth::Follows)?;
    let model = args.counting.models.name();
    let mut session = args.filter.read.session(source.open(plan.path)?)?.of_model(model);
    session.read(|session| session.refuse_document("changed", source.is_saved()))?;
    session.note_lost_members(io);
    let document = session.take_document();
    let output = (!args.dry_run).then(|| target.open(io)).transpose()?;
    let output = output.map(|output| output.of_document(document));
    let reading = Reading {
        dialect: session.dialect(),
        batch: args.filter.read.batch,
        protect_last: args.offload.protect_last,
        signed_reasoning: args.reasoning.signed_reasoning,
        restores: args.restore,
    };
    let temp = std::env::temp_dir();
    let temp = (!args.dry_run).then_some(temp.as_path());
    let mut pass = ChangePass::new(reading, change, temp);
    session.pass(|record| pass.push(record))?;
    let left_out = session.bad().left_out();
    let mut notes = Notes::default();
    let records = pass.finish(left_out, &mut notes).map_err(|error| session.failure(error))?;
    Ok((session, records.zip(output), notes))
}

/// The flags that select the results to offload and set the text that replaces them.
#[derive(clap::Args, Clone, Debug)]
struct OffloadArgs {
    /// Move results that have at least N tokens
    ///
    /// The default is the policy's number or, if there is none, 2000.
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is moved")]
    min_tokens: Option<u64>,
    /// Stop once the session is N tokens smaller
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is moved")]
    enough: Option<u64>,
    /// Move nothing in or after the last N assistant messages
    #[arg(long, value_name = "N", value_parser = parse_count, default_value = "0", help_heading = "What is moved")]
    protect_last: u64,
    /// Text that replaces a result; {path} is the path of the file
    ///
    /// The text may also contain {call} (the tool and its file or command in a few words),
    /// {sha256}, {tokens} and {bytes}. --restore needs the same TEXT to find the references.
    #[arg(long, value_name = "TEXT", help_heading = "What is moved")]
    reference: Option<Template>,
}

impl OffloadArgs {
    /// Sets what no flag sets to the policy's settings.
    fn under(&mut self, policy: Option<&Policy>) -> Result<()> {
        let Some(policy) = policy else { return Ok(()) };
        let offload = &policy.offload;
        self.min_tokens = self.min_tokens.or(offload.min_tokens);
        if self.reference.is_none() {
            let reference = offload.reference.parse().map_err(Failure::new)?;
            self.reference = Some(reference);
        }
        Ok(())
    }

    /// Returns the text that replaces a result.
    fn reference(&self) -> Template {
        let default = || Template::DEFAULT.parse().expect("the default is valid");
        self.reference.clone().unwrap_or_else(default)
    }
}
