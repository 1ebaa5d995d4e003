//! The output of a tool: stdout or a file. A file is written completely or not at all. A file that
//! the output would replace is checked before any input is read.
//!
//! An existing session file contains the user's work, and an agent may be appending to it. An
//! existing session is therefore replaced as in `ctx-compact`: a file that a process has open for
//! writing is refused, and any other file is locked and saved in a snapshot first. A file that is
//! also an input always counts as a session.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ctx_cli::{Failure, Input, Io, Result, is_stdin, metadata};
use ctx_format::{Frame, counted};
use ctx_policy::duration::FixedSpan;
use ctx_store::{
    Addition, AtomicFile, Destination, Figures, Growth, MinIdle, NewContent, OutputTarget,
    PendingReplacement, ReplaceOutcome, SessionId, SnapshotKind, hash,
};

use crate::session::ReadArgs;
use crate::store::{self, LazyStore, StoreArgs, session_of, warn_retained};

/// Flags shared by all tools that may write a session to a file.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of stdout
    ///
    /// The tool writes FILE at the end, and only if everything succeeded. An existing session,
    /// including the input, is replaced as in ctx-compact: its bytes are saved in the store first,
    /// a file that is open for writing is refused, and lines that an agent appends meanwhile are
    /// kept. ctx-rollback --undo FILE restores it. A report never replaces a session. If another
    /// program creates or changes FILE during the run, the tool does not write FILE (exit status
    /// 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// How long the session must have been unchanged before it may be replaced.
    #[command(flatten)]
    pub idle: IdleArgs,
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
}

/// The flag for tools that only write reports. A report never replaces a session.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportOutputArgs {
    /// Write to FILE instead of stdout
    ///
    /// The tool writes FILE at the end, and only if everything succeeded. The tool never overwrites
    /// a session. If another program creates or changes FILE during the run, the tool does not
    /// write FILE (exit status 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// The flag for filters that can change a session file in place.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct InPlaceArgs {
    /// Change FILE itself: the same as -o FILE
    #[arg(short, long, requires = "file", conflicts_with = "output", help_heading = "Output")]
    pub in_place: bool,
}

/// The flags of filters that can report their changes as JSON.
#[derive(Args, Clone, Debug)]
pub struct FilterArgs {
    /// Where the output goes.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Print what was done as a JSON object
    ///
    /// Requires -o or -n, because otherwise the records are written to stdout. docs/json.md lists
    /// all keys.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// How the input is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// Where an output goes.
pub enum Target<'s> {
    /// Stdout.
    Stdout,
    /// A device or a pipe, written to directly and never replaced.
    Stream(PathBuf),
    /// A file that is not a session. The file is created or replaced as a whole, unless another
    /// process creates or changes it first.
    Plain(OutputTarget),
    /// A session that will be replaced, and its path as the user gave it.
    Session(String, PendingReplacement<'s>),
}

/// Opens the inputs. If the output will replace an input, the input's saved copy is read instead.
#[derive(Default)]
pub struct Source {
    copied: Option<(PathBuf, File)>,
}

impl Source {
    /// Returns true if the input's bytes are saved in the store because the output will replace it.
    pub fn is_saved(&self) -> bool {
        self.copied.is_some()
    }

    /// Opens one of the inputs.
    pub fn open(&self, path: &Path) -> Result<Input> {
        match &self.copied {
            Some((input, copy)) if input == path => Input::of_copy(path, copy),
            _ => Input::open(path),
        }
    }
}

impl InPlaceArgs {
    /// Returns the output flags. If `--in-place` is given, the input file is the destination.
    pub fn of(self, output: OutputArgs, file: Option<&PathBuf>) -> OutputArgs {
        if self.in_place { OutputArgs { output: file.cloned(), ..output } } else { output }
    }
}

impl ReportOutputArgs {
    /// Returns the destination of a report, as [`OutputArgs::report`] does.
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>> {
        OutputArgs { output: self.output.clone(), ..OutputArgs::default() }.report(inputs)
    }
}

impl OutputArgs {
    /// Returns the source and the destination for a tool that makes a session from its inputs. If
    /// the replaced session is an input and `named` is given, the snapshot is stored under the
    /// session `named`, and otherwise under the file's own id. A dry run makes the same checks as a
    /// real run, but does not claim the file.
    pub fn session<'s>(
        &self,
        dry_run: bool,
        inputs: &[PathBuf],
        named: Option<&SessionId>,
        store: &'s LazyStore<'s>,
        growth: Growth,
    ) -> Result<(Source, Target<'s>)> {
        let (path, input) = match self.destination(inputs)? {
            Ok(target) => return Ok((Source::default(), target)),
            Err(session) => session,
        };
        let store = store.get()?;
        let Some(input) = input.filter(|_| !dry_run).map(|input| inputs[input].clone()) else {
            let named = named.filter(|_| input.is_some());
            let succession = store.replace_other(&path, named, self.idle.get());
            let succession = succession.map_err(store::failure)?;
            return Ok((Source::default(), Target::Session(self.name(), succession)));
        };
        // Lines appended to an input can be kept only at the end of the output, which is the wrong
        // place if there are several inputs.
        let growth = if inputs.len() > 1 { Growth::Stops } else { growth };
        let session = session_of(named, &path)?;
        let succession = store.replace_input(&path, &session, self.idle.get(), growth);
        let (succession, copy) = succession.map_err(store::failure)?;
        let source = Source { copied: Some((input, copy)) };
        Ok((source, Target::Session(self.name(), succession)))
    }

    /// Returns the destination of a report. A report never replaces a session.
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>> {
        self.destination(inputs)?.map_err(|_| {
            Failure::new("is a session and cannot be overwritten")
                .at(self.name(), None)
                .hint("name another file with -o")
        })
    }

    /// Rejects a report in JSON on stdout if the records are also written there. A dry run writes
    /// no records.
    pub fn refuse_report_among_records(&self, json: bool, dry_run: bool) -> Result<()> {
        if json && !dry_run && self.is_stdout() {
            return Err(Failure::new("--json and the records cannot both be written to stdout")
                .hint("write the records to a file with -o, or preview the changes with -n"));
        }
        Ok(())
    }

    /// Returns true if the output goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdin)
    }

    fn name(&self) -> String {
        self.output.as_deref().unwrap_or(Path::new("-")).display().to_string()
    }

    /// Returns the destination or, if a session is there, the session's path and the index of the
    /// input that is the same session.
    fn destination(
        &self,
        inputs: &[PathBuf],
    ) -> Result<Result<Target<'static>, (PathBuf, Option<usize>)>> {
        let Some(path) = self.output.as_ref().filter(|path| !is_stdin(path)) else {
            return Ok(Ok(Target::Stdout));
        };
        // Stdin can be replaced only if it is a file. A device may be both the input and the output
        // of a filter.
        let is_named = |input: &Path, meta: &Metadata| meta.is_file() || !is_stdin(input);
        let meta = |input: &PathBuf| metadata(input).ok().filter(|meta| is_named(input, meta));
        let inputs: Vec<_> = inputs.iter().map(meta).collect();
        let there = Destination::look(path, &inputs, &std::env::temp_dir());
        Ok(match there.map_err(store::failure)? {
            Destination::Stream => Ok(Target::Stream(path.clone())),
            Destination::Plain(spot) => Ok(Target::Plain(spot)),
            Destination::Session { path, input } => Err((path, input)),
        })
    }
}

/// The flag for all tools that may replace a session file.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct IdleArgs {
    /// Refuse files changed within DURATION [default: 10m for agents' files]
    ///
    /// An agent keeps its history in memory while it runs, and does not notice changes to its file.
    /// A change that was made by a ctx tool does not count. The units are w, d, h, min (or m), s
    /// and ms.
    #[arg(long, value_name = "DURATION", help_heading = "Store")]
    min_idle: Option<FixedSpan>,
}

impl IdleArgs {
    /// Returns the idle time set by the flag, if any.
    pub fn get(self) -> MinIdle {
        MinIdle(self.min_idle.map(|FixedSpan(asked)| asked))
    }
}

/// An opened output. [`failure`] turns its errors into messages for the user.
pub enum Output<'a> {
    /// Stdout.
    Stdout(&'a mut Io),
    /// A file that is created or replaced at the end.
    File(Box<AtomicFile>),
    /// A device or a pipe, written to directly and never replaced.
    Stream(BufWriter<File>),
    /// A session whose new version is collected in a temporary file.
    Session(Box<SessionOutput<'a>>),
    /// A JSON document whose messages are collected as lines.
    Document(Box<DocumentOutput<'a>>),
}

/// The messages of a JSON document, and where to write the document.
pub struct DocumentOutput<'a> {
    frame: Frame,
    lines: Vec<u8>,
    output: Output<'a>,
}

/// A new session, and the one that it replaces.
pub struct SessionOutput<'a> {
    name: String,
    succession: PendingReplacement<'a>,
    temp: BufWriter<File>,
    figures: Figures,
    io: &'a mut Io,
}

impl Target<'_> {
    /// Opens the output. An existing file remains unchanged until [`Output::finish`] is called.
    pub fn open<'a>(self, io: &'a mut Io) -> Result<Output<'a>>
    where
        Self: 'a,
    {
        Ok(match self {
            Self::Stdout => Output::Stdout(io),
            Self::Stream(path) => {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&path)
                    .map_err(|error| Failure::new(error).at(path.display().to_string(), None))?;
                Output::Stream(BufWriter::new(file))
            }
            Self::Plain(spot) => {
                Output::File(Box::new(AtomicFile::create(spot).map_err(store::failure)?))
            }
            Self::Session(name, succession) => {
                let temp = tempfile::tempfile().map_err(|error| no_temporary(&error))?;
                Output::Session(Box::new(SessionOutput {
                    name,
                    succession,
                    temp: BufWriter::new(temp),
                    figures: Figures::default(),
                    io,
                }))
            }
        })
    }

    /// Writes `bytes` as the whole output.
    pub fn write(self, bytes: &[u8], io: &mut Io) -> Result<()> {
        let mut output = self.open(io)?;
        output.write_all(bytes).map_err(failure)?;
        output.finish()
    }
}

impl Output<'_> {
    /// Returns an output for lines that become the messages of `document`, if there is one.
    #[must_use]
    pub fn of_document(self, document: Option<Frame>) -> Self {
        let Some(frame) = document else { return self };
        // Nothing may follow a document.
        let output = match self {
            Self::Session(session) => {
                let succession = session.succession.unless_it_grows();
                Self::Session(Box::new(SessionOutput { succession, ..*session }))
            }
            other => other,
        };
        Self::Document(Box::new(DocumentOutput { frame, lines: Vec::new(), output }))
    }

    /// Sets the figures for the audit record, which is written if the output replaces a session.
    pub fn set_figures(&mut self, figures: Figures) {
        match self {
            Self::Session(session) => session.figures = figures,
            Self::Document(document) => document.output.set_figures(figures),
            _ => {}
        }
    }

    /// Completes the output. If the output is a file, it is only now created or replaced. Must be
    /// called only if everything succeeded.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Stdout(io) => io.flush(),
            Self::File(file) => file.commit().map_err(store::failure),
            Self::Stream(mut file) => file.flush().map_err(failure),
            Self::Session(session) => session.finish(|| Ok(())),
            Self::Document(document) => document.complete()?.finish(),
        }
    }

    /// Writes the output. `first` saves to the store everything that a reader of the output needs.
    /// `first` runs after the snapshot of the replaced session is taken and before the output
    /// becomes visible.
    pub fn deliver(
        mut self,
        write: impl FnOnce(&mut Self) -> Result<()>,
        first: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let replaces = match &self {
            Self::Document(document) => matches!(document.output, Self::Session(_)),
            output => matches!(output, Self::Session(_)),
        };
        if !replaces {
            first()?;
            write(&mut self)?;
            return self.finish();
        }
        write(&mut self)?;
        let output = if let Self::Document(document) = self { document.complete()? } else { self };
        match output {
            Self::Session(session) => session.finish(first),
            other => other.finish(),
        }
    }

    /// Runs `write` on the output. If the output is a file, errors include the name of the file.
    fn with<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Stdout(io) => write(io.out()),
            Self::Stream(file) => write(file),
            Self::Document(document) => write(&mut document.lines),
            Self::File(file) => write(file.as_mut()).map_err(|error| {
                let failure = Failure::new(format_args!("cannot write: {error}"))
                    .at(file.output.target.display().to_string(), None);
                io::Error::other(failure.hint("the file is unchanged"))
            }),
            Self::Session(session) => {
                write(&mut session.temp).map_err(|error| io::Error::other(no_temporary(&error)))
            }
        }
    }
}

impl<'a> DocumentOutput<'a> {
    /// Writes the document, and returns the output to be finished.
    fn complete(self) -> Result<Output<'a>> {
        let Self { frame, lines, mut output } = self;
        output.write_all(&frame.with(&lines)).map_err(failure)?;
        Ok(output)
    }
}

impl SessionOutput<'_> {
    fn finish(self, first: impl FnOnce() -> Result<()>) -> Result<()> {
        let Self { name, succession, temp, figures, io } = self;
        let waiting = || -> io::Result<(File, String)> {
            let mut file = temp.into_inner()?;
            file.rewind()?;
            let sha256 = hash(&mut file)?;
            Ok((file, sha256))
        };
        let (mut file, sha256) = waiting().map_err(|error| no_temporary(&error))?;
        let growth = succession.growth();
        let (operation, kind) = ("output", SnapshotKind::PreCompact);
        let added = succession.added_lines(&mut file).map_err(|error| no_temporary(&error))?;
        let replaced = if let Some(lines) = &added {
            let addition = Addition { lines, operation, kind, figures };
            succession.append_after(addition, first)
        } else {
            file.rewind().map_err(|error| no_temporary(&error))?;
            let reader = &mut file;
            let mut new = NewContent { reader, sha256: &sha256, operation, kind, figures };
            succession.commit_after(&mut new, first)
        };
        let done = if added.is_some() { "has new lines" } else { "is replaced" };
        note_replaced(&name, done, growth, &replaced.map_err(store::failure)??, io);
        Ok(())
    }
}

fn note_replaced(name: &str, done: &str, growth: Growth, replaced: &ReplaceOutcome, io: &mut Io) {
    let ReplaceOutcome::New { before, .. } = replaced else {
        return io.note(format_args!("{name} is unchanged"));
    };
    io.note(format_args!("{name} {done}; the previous content is snapshot {}", before.id));
    report_late(name, growth, replaced, io);
}

/// Reports what other processes wrote to the replaced file during the run, or may still write.
pub fn report_late(name: &str, growth: Growth, replaced: &ReplaceOutcome, io: &mut Io) {
    let ReplaceOutcome::New { late_bytes, retained, .. } = replaced else { return };
    if *late_bytes > 0 {
        let late = counted(*late_bytes, "byte");
        let late = format!("{name} grew during the run; kept {late} at the end");
        match growth {
            Growth::Follows => io.note(late),
            Growth::Stops => io.warn(late),
        }
    }
    if let Some(retained) = retained {
        warn_retained(retained, io);
    }
}

/// Returns the failure to report if a temporary file cannot be written.
pub fn no_temporary(error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot write a temporary file: {error}"))
        .hint("set TMPDIR to another folder")
}

impl Write for Output<'_> {
    /// Writes all bytes. A caller could not repeat an interrupted write, because it does not see
    /// the kind of the error.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|out| out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|out| out.flush())
    }
}

/// Converts an error from an [`Output`] into a failure.
#[allow(clippy::needless_pass_by_value)] // For `map_err`.
pub fn failure(error: io::Error) -> Failure {
    error.downcast::<Failure>().unwrap_or_else(|error| Failure::stdout(&error))
}
