//! `ctx-memory inject` assembles the context for the start of a session.

use std::io::Write;
use std::path::{Path, PathBuf};

use chrono::DateTime;
use clap::ArgMatches;
use ctx_cli::{ExitStatus, Failure, Input, Io, Outcome, Result, json_line, json_object};
use ctx_engine::PassError;
use ctx_format::{Role, counted};
use ctx_memory::consolidate::is_mark;
use ctx_memory::inject::{Context, Layer, assemble};
use ctx_memory::summary_path;
use ctx_store::{Growth, SessionId, Store};
use ctx_tools::args::CountingArgs;
use ctx_tools::output::{Output, OutputArgs};
use ctx_tools::passes;
use ctx_tools::session::ReadArgs;

use crate::stored::read_text;
use crate::{known_session, one_of};

/// The name of the inserted message. A later run finds the message by this name and replaces it.
const NAME: &str = "ctx_memory";
/// The dialect that stores system messages as records.
const WITH_SYSTEM_RECORDS: &str = "chat";

/// Assemble the context that a session starts with
///
/// The context has these parts, in this order: base (--base FILE), soul
/// (STORE/memory/summary/soul.md, which you write), memory (STORE/memory/summary/master.md or, if
/// that file is missing or empty, the preferences, decisions and facts in STORE/memory/extracted),
/// runtime (STORE/memory/extracted/runtime.md), and summary (with -s, the newest summary of that
/// session). Empty parts are omitted.
///
/// With --max-tokens, lines are removed until the context fits: first the oldest lines of runtime,
/// then the last lines of memory, then of summary, then of soul. The base prompt is never
/// shortened. The number of removed lines is shown in their place and on stderr.
///
/// With --transcript, copies the session to stdout and adds the context as a system message after
/// the initial system messages; a context from an earlier run is replaced. All other records are
/// copied unchanged.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with the base prompt; - is stdin
    #[arg(long, value_name = "FILE")]
    base: Option<PathBuf>,
    /// Add the newest summary of this session
    #[arg(short, long, value_name = "ID")]
    session: Option<SessionId>,
    /// Omit this part of the context (can be repeated)
    #[arg(long, value_name = "PART", value_parser = one_of(&Layer::ALL))]
    without: Vec<Layer>,
    /// Limit the context to N tokens
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Print the context without writing any file
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Add the context to this session as a system message; - is stdin
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    #[command(flatten)]
    counting: CountingArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Args {
    pub(crate) fn run(&self, matches: &ArgMatches, io: &mut Io) -> Outcome {
        let is_stdin = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
        if is_stdin(&self.base) && is_stdin(&self.transcript) {
            return Err(Failure::new("--base and --transcript both read stdin")
                .hint("pass a file to --base or --transcript"));
        }
        let context = self.context(matches, io)?;
        let Some(path) = self.transcript.as_ref().filter(|_| !self.dry_run) else {
            let mut text = context.text;
            if !text.is_empty() {
                text.push('\n');
            }
            if self.dry_run {
                io.write(text.as_bytes())?;
            } else {
                self.output.report(&[])?.write(text.as_bytes(), io)?;
            }
            return Ok(ExitStatus::Done);
        };
        let store = self.output.store.lazy(&crate::TOOL, matches);
        let paths = [path.clone()];
        let (source, target) = self.output.session(false, &paths, None, &store, Growth::Follows)?;
        let mut session = ReadArgs::default().session(source.open(path)?)?;
        session.note_document(io);
        let dialect = session.dialect();
        if let Some(dialect) = dialect.filter(|it| it.name() != WITH_SYSTEM_RECORDS) {
            return Err(Failure::new(format_args!(
                "in the {} format, the system prompt is not a record of the session",
                dialect.name()
            ))
            .at(&session.name, None)
            .hint("run without --transcript, and pass the context to the agent or the API"));
        }
        let mut output = target.open(io)?;
        let message = json_object! { role: "system", name: NAME, content: &context.text };
        // Do not insert an empty context.
        let mut message = (!context.text.is_empty()).then(|| json_line(&message));
        let mut ends_a_line = true;
        session.pass(|record| {
            let said = record.message(dialect);
            let said = said.filter(|it| matches!(it.role, Role::System | Role::Developer));
            if said.as_ref().is_some_and(|it| it.name.as_deref() == Some(NAME)) {
                // This message is from an earlier run.
                return Ok(());
            }
            if said.is_none() {
                place(&mut message, ends_a_line, &mut output)?;
            }
            ends_a_line = record.bytes.ends_with(b"\n");
            output.write_all(record.bytes).map_err(PassError::output)
        })?;
        let placed = place(&mut message, ends_a_line, &mut output);
        placed.map_err(|error| passes::failure(error, &session.name))?;
        output.finish()?;
        session.report(io);
        Ok(ExitStatus::Done)
    }

    fn context(&self, matches: &ArgMatches, io: &mut Io) -> Result<Context> {
        let counting = self.counting.resolve()?;
        counting.report(io);
        let store = self.output.store.open(&crate::TOOL, matches)?;
        let session = known_session(&store, self.session.as_ref())?;
        let layers = Layer::ALL.into_iter().filter(|it| !self.without.contains(it));
        let parts =
            layers.map(|layer| Ok((layer, self.layer_text(layer, session.as_ref(), &store)?)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        if let (Some(session), Some((Layer::Summary, text))) = (&session, parts.last())
            && text.is_empty()
        {
            io.warn(format_args!("the store has no summary of {session}"));
        }
        let context = assemble(&parts, self.max_tokens, |text| counting.counter.text(text));
        let context = context.map_err(|error| {
            Failure::new(error).hint("raise --max-tokens, or shorten the base prompt")
        })?;
        for (layer, lines) in &context.left_out {
            let lines = counted(*lines as u64, "line");
            let layer: &str = (*layer).into();
            io.warn(format_args!("{lines} of {layer} left out because of --max-tokens"));
        }
        io.note(format_args!("{}", counted(context.tokens, "token")));
        Ok(context)
    }

    /// Returns the text of a layer; empty if the layer is missing.
    fn layer_text(
        &self,
        layer: Layer,
        session: Option<&SessionId>,
        store: &Store,
    ) -> Result<String> {
        let memory = store.memory();
        match layer {
            Layer::Base => self.base.as_deref().map_or(Ok(String::new()), Input::text),
            Layer::Soul => read_text(&memory.join("summary/soul.md")),
            Layer::Memory => {
                let master = read_text(&memory.join("summary/master.md"))?;
                // The comments around the generated part are meant for people who edit the file, so
                // omit them.
                let lines = master.lines().filter(|line| !is_mark(line));
                let master = lines.collect::<Vec<_>>().join("\n");
                if !master.trim().is_empty() {
                    return Ok(master);
                }
                let mut texts = Vec::new();
                for name in EXTRACTED {
                    texts.push(read_text(&memory.join("extracted").join(name))?.trim().to_owned());
                }
                texts.retain(|text| !text.is_empty());
                Ok(texts.join("\n\n"))
            }
            Layer::Runtime => read_text(&memory.join("extracted/runtime.md")),
            Layer::Summary => {
                let Some(session) = session else { return Ok(String::new()) };
                Ok(newest(&read_text(&summary_path(store, session))?).to_owned())
            }
        }
    }
}

/// Writes the message, unless it was written before.
fn place(
    message: &mut Option<String>,
    ends_a_line: bool,
    output: &mut Output<'_>,
) -> Result<(), PassError> {
    let Some(message) = message.take() else { return Ok(()) };
    let line_end = if ends_a_line { "" } else { "\n" };
    write!(output, "{line_end}{message}").map_err(PassError::output)
}

/// The memory files to read if the master file is missing or empty. In the master, the most
/// important lines come first; in a memory file, the order does not depend on importance.
const EXTRACTED: [&str; 3] = ["preferences.md", "decisions.md", "facts.md"];

/// The newest summary of a session, without its heading (`# TIME: N messages`). Older summaries are
/// not needed, because each summary was made from a session that already contained the previous
/// one.
fn newest(all: &str) -> &str {
    let is_heading = |line: &str| {
        let time = line.strip_prefix("# ").and_then(|it| it.split_once(": "));
        time.is_some_and(|(time, rest)| {
            rest.ends_with(" messages") && DateTime::parse_from_rfc3339(time).is_ok()
        })
    };
    let heading = all.lines().rfind(|line| is_heading(line.trim_end()));
    let newest = heading.and_then(|heading| all.rsplit_once(heading));
    newest.map_or(all, |(_, newest)| newest).trim()
}

#[cfg(test)]
mod tests {
    use super::newest;

    #[test]
    fn the_newest_summary_stands_behind_the_last_heading() {
        let all = "# demo\n\n# 2026-01-02T03:04:05.000000Z: 7 messages\n\nold\n\n\
                   # 2026-01-03T03:04:05.000000Z: 9 messages\n\n# Record\nnew: 3 messages\n";
        assert_eq!(newest(all), "# Record\nnew: 3 messages");
        assert_eq!(newest(""), "");
        assert_eq!(newest("written by hand\n"), "written by hand");
    }
}
