//! What an output stands in the place of, looked at before anything is read.
//!
//! A session file that exists is somebody's work, and an agent may be appending to it. So it
//! is replaced as `ctx-compact` replaces it: locked, refused while somebody has it open for
//! writing, its bytes in a snapshot first. A file that is an input is a session whatever it
//! holds.

use std::fs::{self, File, Metadata};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::Args;
use ctx_cli::{Failure, Input, input_name, is_stdin, metadata};
use ctx_store::atomic::Spot;
use ctx_store::{Look, Replacement, SessionId, Store, refuse_replacement};
use ctx_transcript::{Options, Records};

use crate::store::{self, LazyStore};

/// The flag of every filter that may write to a file.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of stdout, at the end and only when all went well
    ///
    /// A session that is there, also the one that is read, is replaced as ctx-compact does
    /// it: its bytes are saved in the store first, one that somebody has open for writing is
    /// refused, and what an agent appends meanwhile is not lost. ctx-rollback --undo FILE
    /// brings it back. What is no session takes no session's place. A file that somebody else
    /// makes or changes there meanwhile stays (exit status 4).
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// What becomes of lines that an agent appends to a session while a new one is made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// They stand behind the new session, as they would have in the old one.
    Follows,
    /// Nothing may follow what is written: the session stays as it is.
    Stops,
}

/// Where an output goes.
pub enum Target<'s> {
    /// Stdout.
    Stdout,
    /// A device or a pipe: there is nothing to replace.
    Open(PathBuf),
    /// No session: replaced whole, or created, unless somebody else does that meanwhile.
    Plain(Spot),
    /// A session.
    Session(Box<SessionTarget<'s>>),
}

/// A session that will be replaced.
pub struct SessionTarget<'s> {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) claim: Claim<'s>,
    pub(crate) growth: Growth,
}

/// How far its replacement has begun.
pub(crate) enum Claim<'s> {
    /// It is an input: it is locked, and its bytes are copied.
    Input(Box<Replacement<'s>>),
    /// It has nothing to do with the input, as far as we know. No lock is held while a
    /// pipe is waited for; the file is replaced if it is as it was seen.
    Other {
        look: Box<Look>,
        session: SessionId,
        store: &'s LazyStore<'s>,
    },
}

/// Where inputs are read from: of the one that will be replaced, the bytes that are copied.
#[derive(Default)]
pub struct Source {
    copied: Option<(PathBuf, File)>,
}

impl Source {
    /// Opens one of the inputs.
    pub fn open(&self, path: &Path) -> Result<Input, Failure> {
        match &self.copied {
            Some((input, copy)) if input == path => {
                let reader = from_its_place(copy, path).map_err(|error| {
                    Failure::new(format_args!("cannot read: {error}")).at(input_name(path), None)
                })?;
                let (name, reader) = (input_name(path), Box::new(reader));
                Ok(Input { name, reader })
            }
            _ => Input::open(path),
        }
    }
}

/// From where the reading would have begun: the start, or the place that stdin is at.
fn from_its_place(copy: &File, path: &Path) -> io::Result<File> {
    let mut place = 0;
    if is_stdin(path) {
        place = File::from(io::stdin().as_fd().try_clone_to_owned()?).stream_position()?;
    }
    let mut copy = copy.try_clone()?;
    copy.seek(SeekFrom::Start(place))?;
    Ok(copy)
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
        let (real, input) = match self.find(inputs)? {
            Place::Free(target) => return Ok((Source::default(), target)),
            Place::Session { real, input } => (real, input),
        };
        let own = || SessionId::of_file(&real).map_err(store::failure);
        let Some(input) = input else {
            let target = self.other(&real, own()?, store)?;
            return Ok((Source::default(), target));
        };
        let session = named.map_or_else(own, |named| Ok(named.clone()))?;
        // Of several inputs only the last one's end is the end of the output.
        let growth = if inputs.len() > 1 {
            Growth::Stops
        } else {
            growth
        };
        let replacement = store.get()?.begin_replacement(&real, &session);
        let mut replacement = replacement.map_err(store::failure)?;
        if growth == Growth::Stops {
            replacement = replacement.unless_it_grows();
        }
        let copy = replacement.bytes().map_err(store::failure)?;
        let source = Source {
            copied: Some((input, copy)),
        };
        let target = SessionTarget {
            name: self.name(),
            claim: Claim::Input(Box::new(replacement)),
            growth,
        };
        Ok((source, Target::Session(Box::new(target))))
    }

    /// A session that is no input, as far as we know.
    fn other<'s>(
        &self,
        real: &Path,
        session: SessionId,
        store: &'s LazyStore<'s>,
    ) -> Result<Target<'s>, Failure> {
        // All that can be refused now is refused before the work, not after it.
        store.get()?;
        refuse_replacement(real).map_err(store::failure)?;
        let claim = Claim::Other {
            look: Box::new(Look::at(real).map_err(store::failure)?),
            session,
            store,
        };
        Ok(Target::Session(Box::new(SessionTarget {
            name: self.name(),
            claim,
            growth: Growth::Stops,
        })))
    }

    /// For a tool that tells something of its inputs: that takes no session's place.
    pub fn report(&self, inputs: &[PathBuf]) -> Result<Target<'static>, Failure> {
        match self.find(inputs)? {
            Place::Free(target) => Ok(target),
            Place::Session { .. } => Err(Failure::new(
                "is a session, and what is written here is none",
            )
            .at(self.name(), None)
            .hint("name another file with -o")),
        }
    }

    /// For a dry run: what the real one would ask, without a trace.
    pub fn refuse(&self, inputs: &[PathBuf]) -> Result<(), Failure> {
        match self.find(inputs)? {
            Place::Free(_) => Ok(()),
            Place::Session { real, .. } => refuse_replacement(&real).map_err(store::failure),
        }
    }

    fn name(&self) -> String {
        let path = self.output.as_deref().unwrap_or(Path::new("-"));
        path.display().to_string()
    }

    fn find(&self, inputs: &[PathBuf]) -> Result<Place, Failure> {
        let path = match &self.output {
            Some(path) if !is_stdin(path) => path,
            _ => return Ok(Place::Free(Target::Stdout)),
        };
        Store::refuse_inside(path).map_err(store::failure)?;
        if let Ok(meta) = path.metadata()
            && !meta.is_file()
            && !meta.is_dir()
        {
            return Ok(Place::Free(Target::Open(path.clone())));
        }
        // Before a look into it: what becomes a session after that is one that came meanwhile.
        let spot = Spot::look(path).map_err(store::failure)?;
        let Some(there) = spot.file() else {
            return Ok(Place::Free(Target::Plain(spot)));
        };
        let is_it = |input: &&PathBuf| metadata(input).is_ok_and(|it| is_same(&it, there));
        let input = inputs.iter().find(is_it).cloned();
        let cannot_read = |error| {
            Failure::new(format_args!("cannot read what is there: {error}")).at(self.name(), None)
        };
        if input.is_none() && !is_session(path).map_err(cannot_read)? {
            return Ok(Place::Free(Target::Plain(spot)));
        }
        let real = fs::canonicalize(path).map_err(cannot_read)?;
        Ok(Place::Session { real, input })
    }
}

/// What is where the output goes.
enum Place {
    /// No session.
    Free(Target<'static>),
    /// A session: its path without links, and the input that it is.
    Session {
        real: PathBuf,
        input: Option<PathBuf>,
    },
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Whether a file is a session: its beginning holds a message of a dialect, in a line of its
/// own, in a JSON document or in a batch record.
fn is_session(path: &Path) -> io::Result<bool> {
    for batch in [false, true] {
        let options = Options {
            batch,
            temp: Some(std::env::temp_dir()),
            ..Options::default()
        };
        let records = Records::open(File::open(path)?, &options)?;
        if records.dialect().is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
