//! What an output stands in the place of, looked at before anything is read.
//!
//! A session file that exists is somebody's work, and an agent may be appending to it. So it
//! is replaced as `ctx-compact` replaces it: locked, refused while somebody has it open for
//! writing, its bytes in a snapshot first. A file that is an input is a session whatever it
//! holds.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use clap::Args;
use ctx_cli::{Failure, Input, is_stdin, metadata};
use ctx_store::atomic::Spot;
use ctx_store::{Destination, Growth, SessionId, Store, Succession};

use crate::idle::IdleArgs;
use crate::store::{self, LazyStore, session_of};

/// The flags of every tool that may write a session to a file.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of stdout
    ///
    /// It is written at the end, and only when all went well.
    /// A session that is there, also the one that is read, is replaced as ctx-compact does
    /// it: its bytes are saved in the store first, one that somebody has open for writing is
    /// refused, and what an agent appends meanwhile is not lost. ctx-rollback --undo FILE
    /// brings it back. What is no session takes no session's place. A file that somebody else
    /// makes or changes there meanwhile stays (exit status 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
    /// How long a session there must have been left alone.
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
    #[arg(
        short,
        long,
        requires = "file",
        conflicts_with = "output",
        help_heading = "Output"
    )]
    in_place: bool,
}

/// The flag of filters that can tell programs what they did.
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

/// Where an output goes.
pub enum Target<'s> {
    /// Stdout.
    Stdout,
    /// A device or a pipe: there is nothing to replace.
    Stream(PathBuf),
    /// No session: replaced whole, or created, unless somebody else does that meanwhile.
    Plain(Spot),
    /// A session that will be replaced, by the name that the user gave it.
    Session(String, Succession<'s>),
}

/// Where inputs are read from: of the one that will be replaced, the bytes that are copied.
#[derive(Default)]
pub struct Source {
    copied: Option<(PathBuf, File)>,
}

impl Source {
    /// Whether one of them will be replaced: then its bytes are saved in the store.
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
    /// Where the output goes: over the input, where that is asked for.
    pub fn of(self, output: OutputArgs, file: Option<&PathBuf>) -> OutputArgs {
        if self.in_place {
            OutputArgs {
                output: file.cloned(),
                ..output
            }
        } else {
            output
        }
    }
}

impl ReportOutputArgs {
    /// As [`OutputArgs::report`].
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
        let (path, input) = match self.look(inputs)? {
            Found::Free(target) => return Ok((Source::default(), target)),
            Found::Session { path, input } => (path, input),
        };
        let store = store.get()?;
        let Some(input) = input.map(|input| inputs[input].clone()) else {
            let target = self.seen(&path, None, store)?;
            return Ok((Source::default(), target));
        };
        // Of several inputs only the last one's end is the end of the output.
        let growth = if inputs.len() > 1 {
            Growth::Stops
        } else {
            growth
        };
        let session = session_of(named, &path)?;
        let succession = store.succeed_input(&path, &session, self.idle.get(), growth);
        let (succession, copy) = succession.map_err(store::failure)?;
        let source = Source {
            copied: Some((input, copy)),
        };
        Ok((source, Target::Session(self.name(), succession)))
    }

    /// For a tool that tells something of its inputs: that takes no session's place.
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>, Failure> {
        match self.look(inputs)? {
            Found::Free(target) => Ok(target),
            Found::Session { .. } => Err(Failure::new(
                "is a session, and what is written here is none",
            )
            .at(self.name(), None)
            .hint("name another file with -o")),
        }
    }

    /// For a dry run, in which it is never opened: asks what the real one would, without a trace.
    pub fn preview<'s>(
        &self,
        inputs: &[PathBuf],
        named: Option<&SessionId>,
        store: &'s LazyStore<'s>,
    ) -> Result<Target<'s>, Failure> {
        match self.look(inputs)? {
            Found::Free(target) => Ok(target),
            Found::Session { path, input } => {
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
        let succession = store.succeed_other(path, session, self.idle.get());
        Ok(Target::Session(
            self.name(),
            succession.map_err(store::failure)?,
        ))
    }

    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.output.as_deref().is_none_or(is_stdin)
    }

    fn name(&self) -> String {
        let path = self.output.as_deref().unwrap_or(Path::new("-"));
        path.display().to_string()
    }

    fn look(&self, inputs: &[PathBuf]) -> Result<Found, Failure> {
        let path = match &self.output {
            Some(path) if !is_stdin(path) => path,
            _ => return Ok(Found::Free(Target::Stdout)),
        };
        // Of stdin only a file can be changed in place: a device may be both ends of a filter.
        let is_named = |input: &Path, meta: &Metadata| meta.is_file() || !is_stdin(input);
        let meta = |input: &PathBuf| metadata(input).ok().filter(|meta| is_named(input, meta));
        let inputs: Vec<_> = inputs.iter().map(meta).collect();
        let there = Destination::look(path, &inputs, &std::env::temp_dir());
        Ok(match there.map_err(store::failure)? {
            Destination::Stream => Found::Free(Target::Stream(path.clone())),
            Destination::Plain(spot) => Found::Free(Target::Plain(spot)),
            Destination::Session { path, input } => Found::Session { path, input },
        })
    }
}

/// What was found where an output goes.
enum Found {
    /// No session.
    Free(Target<'static>),
    /// A session, and which input it is.
    Session { path: PathBuf, input: Option<usize> },
}
