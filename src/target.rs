//! What an output replaces, checked before anything is read.
//!
//! An existing session file is somebody's work, and an agent may be appending to it. It is
//! therefore replaced as `ctx-compact` does it: locked, refused if a process has it open for
//! writing, and saved in a snapshot first. An input file always counts as a session.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use clap::Args;
use ctx_cli::{Failure, Input, is_stdin, metadata};
use ctx_policy::duration::FixedSpan;
use ctx_store::{Destination, Growth, MinIdle, OutputTarget, PendingReplacement, SessionId, Store};

use crate::store::{self, LazyStore, session_of};

/// The flags of every tool that may write a session to a file.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of stdout
    ///
    /// The tool writes FILE at the end, and only if everything succeeded. An existing session,
    /// including the input, is replaced as in ctx-compact: its bytes are saved in the store first,
    /// a file that is open for writing is refused, and lines that an agent appends meanwhile are
    /// kept. ctx-rollback --undo FILE brings it back. A report never replaces a session. If another
    /// program creates or changes FILE meanwhile, that file stays (exit status 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// The idle time that the replaced session needs.
    #[command(flatten)]
    pub idle: IdleArgs,
}

/// The flag of tools that write reports alone, which take no session's place.
#[derive(Args, Clone, Debug, Default)]
pub struct ReportOutputArgs {
    /// Write to FILE instead of stdout
    ///
    /// It is written at the end, and only when all went well. A session is never overwritten.
    /// A file that another program creates or changes there meanwhile stays (exit status 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// The flag of filters that may change a session file itself.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct InPlaceArgs {
    /// Change FILE itself: the same as -o FILE
    #[arg(short, long, requires = "file", conflicts_with = "output", help_heading = "Output")]
    in_place: bool,
}

/// The flag of filters that can report to programs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct ReportArgs {
    /// Print what was done as a JSON object
    ///
    /// Only with -o or -n, since else stdout has the records. docs/json.md has all keys.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

impl ReportArgs {
    /// Refuses a report where the records go; `dry_run` writes none.
    pub fn refuse_among_records(self, output: &OutputArgs, dry_run: bool) -> Result<(), Failure> {
        let to_stdout = output.output.as_deref().is_none_or(is_stdin);
        if self.json && !dry_run && to_stdout {
            return Err(Failure::new("--json needs stdout, and so do the records")
                .hint("write them to a file with -o, or nowhere with -n"));
        }
        Ok(())
    }
}

/// The destination of an output.
pub enum Target<'s> {
    /// Stdout.
    Stdout,
    /// A device or a pipe: there is nothing to replace.
    Stream(PathBuf),
    /// A file that is no session. It is created or replaced as a whole, unless another process does
    /// so first.
    Plain(OutputTarget),
    /// A session that will be replaced, by the name that the user gave it.
    Session(String, PendingReplacement<'s>),
}

/// The source of the inputs. An input that will be replaced is read from the copied bytes.
#[derive(Default)]
pub struct Source {
    copied: Option<(PathBuf, File)>,
}

impl Source {
    /// Whether an input will be replaced, so that the store has its bytes.
    pub fn is_saved(&self) -> bool {
        self.copied.is_some()
    }

    /// Opens one of the inputs.
    pub fn open(&self, path: &Path) -> Result<Input, Failure> {
        match &self.copied {
            Some((input, copy)) if input == path => Input::of_copy(path, copy),
            _ => Input::open(path),
        }
    }
}

impl InPlaceArgs {
    /// The destination: with `--in-place`, the input.
    pub fn of(self, output: OutputArgs, file: Option<&PathBuf>) -> OutputArgs {
        if self.in_place { OutputArgs { output: file.cloned(), ..output } } else { output }
    }
}

impl ReportOutputArgs {
    /// Like [`OutputArgs::report`].
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>, Failure> {
        let output = self.output.clone();
        let idle = IdleArgs::default();
        OutputArgs { output, idle }.report(inputs)
    }
}

impl OutputArgs {
    /// For a tool that makes a session of its inputs. The snapshot of the session that is
    /// replaced belongs to `named` when it is an input, else to the file's own.
    pub fn session<'s>(
        &self,
        inputs: &[PathBuf],
        named: Option<&SessionId>,
        store: &'s LazyStore<'s>,
        growth: Growth,
    ) -> Result<(Source, Target<'s>), Failure> {
        let (path, input) = match self.occupant(inputs)? {
            Occupant::Free(target) => return Ok((Source::default(), target)),
            Occupant::Session { path, input } => (path, input),
        };
        let store = store.get()?;
        let Some(input) = input.map(|input| inputs[input].clone()) else {
            let target = self.seen(&path, None, store)?;
            return Ok((Source::default(), target));
        };
        // The end of the output is the end of the last input only.
        let growth = if inputs.len() > 1 { Growth::Stops } else { growth };
        let session = session_of(named, &path)?;
        let succession = store.replace_input(&path, &session, self.idle.get(), growth);
        let (succession, copy) = succession.map_err(store::failure)?;
        let source = Source { copied: Some((input, copy)) };
        Ok((source, Target::Session(self.name(), succession)))
    }

    /// The destination of a report, which never replaces a session.
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>, Failure> {
        match self.occupant(inputs)? {
            Occupant::Free(target) => Ok(target),
            Occupant::Session { .. } => {
                Err(Failure::new("is a session, and what is written here is none")
                    .at(self.name(), None)
                    .hint("name another file with -o"))
            }
        }
    }

    /// The destination of a dry run: makes the checks of a real run, and leaves no trace.
    pub fn preview<'s>(
        &self,
        inputs: &[PathBuf],
        named: Option<&SessionId>,
        store: &'s LazyStore<'s>,
    ) -> Result<Target<'s>, Failure> {
        match self.occupant(inputs)? {
            Occupant::Free(target) => Ok(target),
            Occupant::Session { path, input } => {
                let named = named.filter(|_| input.is_some());
                self.seen(&path, named, store.get()?)
            }
        }
    }

    /// A session that is not locked.
    fn seen<'s>(
        &self,
        path: &Path,
        session: Option<&SessionId>,
        store: &'s Store,
    ) -> Result<Target<'s>, Failure> {
        let succession = store.replace_other(path, session, self.idle.get());
        Ok(Target::Session(self.name(), succession.map_err(store::failure)?))
    }

    /// Whether the output goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdin)
    }

    fn name(&self) -> String {
        let path = self.output.as_deref().unwrap_or(Path::new("-"));
        path.display().to_string()
    }

    fn occupant(&self, inputs: &[PathBuf]) -> Result<Occupant, Failure> {
        let path = match &self.output {
            Some(path) if !is_stdin(path) => path,
            _ => return Ok(Occupant::Free(Target::Stdout)),
        };
        // Stdin can be replaced only if it is a file: a device may be both ends of a filter.
        let is_named = |input: &Path, meta: &Metadata| meta.is_file() || !is_stdin(input);
        let meta = |input: &PathBuf| metadata(input).ok().filter(|meta| is_named(input, meta));
        let inputs: Vec<_> = inputs.iter().map(meta).collect();
        let there = Destination::look(path, &inputs, &std::env::temp_dir());
        Ok(match there.map_err(store::failure)? {
            Destination::Stream => Occupant::Free(Target::Stream(path.clone())),
            Destination::Plain(spot) => Occupant::Free(Target::Plain(spot)),
            Destination::Session { path, input } => Occupant::Session { path, input },
        })
    }
}

/// The present content of the destination.
enum Occupant {
    /// No session.
    Free(Target<'static>),
    /// A session, and which input it is.
    Session { path: PathBuf, input: Option<usize> },
}

/// The flag of every tool that may replace a session file.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct IdleArgs {
    /// Refuse files changed within DURATION [default: 10m for agents' files]
    ///
    /// An agent keeps its history in memory while it runs, and does not see what is changed in
    /// its file. What a tool wrote last does not count. The units are w, d, h, min (or m), s
    /// and ms.
    #[arg(long, value_name = "DURATION", help_heading = "Store")]
    min_idle: Option<FixedSpan>,
}

impl IdleArgs {
    /// The idle time that the flags set.
    pub fn get(self) -> MinIdle {
        MinIdle(self.min_idle.map(|FixedSpan(asked)| asked))
    }
}
