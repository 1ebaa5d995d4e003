//! Where a filter's records go: stdout, or a file that appears whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};

use ctx_cli::{Failure, Io};
use ctx_store::atomic::AtomicFile;
use ctx_store::{Figures, Growth, NewContent, ReplaceOutcome, SnapshotKind, Succession, hash};
use ctx_transcript::counted;

use crate::store::{self, warn_retained};
use crate::target::Target;

/// An opened output. What [`failure`] says of its errors is fit for the user.
pub enum Output<'a> {
    /// Stdout.
    Stdout(&'a mut Io),
    /// A file that is replaced at the end.
    File(Box<AtomicFile>),
    /// A device or a pipe: there is nothing to replace.
    Stream(BufWriter<File>),
    /// A session, for which the new one waits in a temporary file.
    Session(Box<SessionOutput<'a>>),
}

/// A new session and the one whose place it takes.
pub struct SessionOutput<'a> {
    name: String,
    succession: Succession<'a>,
    temp: BufWriter<File>,
    figures: Figures,
    io: &'a mut Io,
}

impl Target<'_> {
    /// Opens it; what is there stays as it is until [`Output::finish`].
    pub fn open<'a>(self, io: &'a mut Io) -> Result<Output<'a>, Failure>
    where
        Self: 'a,
    {
        Ok(match self {
            Self::Stdout => Output::Stdout(io),
            Self::Stream(path) => {
                let file = OpenOptions::new().write(true).open(&path);
                let file =
                    file.map_err(|error| Failure::new(error).at(path.display().to_string(), None))?;
                Output::Stream(BufWriter::new(file))
            }
            Self::Plain(spot) => {
                let file = AtomicFile::create(spot).map_err(store::failure)?;
                Output::File(Box::new(file))
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

    /// Writes all that there is to be written.
    pub fn write(self, bytes: &[u8], io: &mut Io) -> Result<(), Failure> {
        let mut output = self.open(io)?;
        output.write_all(bytes).map_err(failure)?;
        output.finish()
    }
}

impl Output<'_> {
    /// What the audit log tells of it, where it takes a session's place.
    pub fn tell(&mut self, figures: Figures) {
        if let Self::Session(session) = self {
            session.figures = figures;
        }
    }

    /// Makes a file appear; to be called when all went well.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(io) => io.flush(),
            Self::File(file) => file.commit().map_err(store::failure),
            Self::Stream(mut file) => file.flush().map_err(failure),
            Self::Session(session) => session.finish(|| Ok(())),
        }
    }

    /// Writes the output and, through `first`, what readers of the output rely on in the store.
    /// `first` runs before anybody can see the output. If the output replaces a session, `first`
    /// runs after the snapshot of that session.
    pub fn deliver(
        mut self,
        write: impl FnOnce(&mut Self) -> Result<(), Failure>,
        first: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !matches!(self, Self::Session(_)) {
            first()?;
            write(&mut self)?;
            return self.finish();
        }
        write(&mut self)?;
        match self {
            Self::Session(session) => session.finish(first),
            other => other.finish(),
        }
    }

    /// Lets `write` write. The error of a file says which one it is.
    fn with<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Stdout(io) => write(io.out()),
            Self::Stream(file) => write(file),
            Self::File(file) => write(file.as_mut()).map_err(|error| {
                let failure = Failure::new(format_args!("cannot write: {error}"))
                    .at(file.target().display().to_string(), None);
                io::Error::other(failure.hint("the file is as it was"))
            }),
            Self::Session(session) => {
                write(&mut session.temp).map_err(|error| io::Error::other(no_temporary(&error)))
            }
        }
    }
}

impl SessionOutput<'_> {
    fn finish(self, first: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let Self {
            name,
            succession,
            temp,
            figures,
            io,
        } = self;
        let waiting = || -> io::Result<(File, String)> {
            let mut file = temp.into_inner()?;
            file.rewind()?;
            let sha256 = hash(&mut file)?;
            file.rewind()?;
            Ok((file, sha256))
        };
        let (mut file, sha256) = waiting().map_err(|error| no_temporary(&error))?;
        let growth = succession.growth();
        let mut new = NewContent {
            reader: &mut file,
            sha256: &sha256,
            operation: "output",
            kind: SnapshotKind::PreCompact,
            figures,
        };
        let replaced = succession.commit_after(&mut new, first);
        tell(&name, growth, &replaced.map_err(store::failure)??, io);
        Ok(())
    }
}

fn tell(name: &str, growth: Growth, replaced: &ReplaceOutcome, io: &mut Io) {
    let ReplaceOutcome::New {
        before,
        late_bytes,
        retained,
    } = replaced
    else {
        return io.note(format_args!("{name} has these bytes already"));
    };
    io.note(format_args!(
        "{name} is replaced; what was there is {}",
        before.id
    ));
    if *late_bytes > 0 {
        let late = counted(*late_bytes, "byte");
        let late = format!("{name} grew meanwhile: {late} behind the new ones");
        match growth {
            Growth::Follows => io.note(late),
            Growth::Stops => io.warn(late),
        }
    }
    if let Some(retained) = retained {
        warn_retained(retained, io);
    }
}

/// A temporary file failed.
pub fn no_temporary(error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot write a temporary file: {error}"))
        .hint("TMPDIR names the folder for it")
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|out| out.flush())
    }
}

/// Why an output did not take what was written to it.
#[allow(clippy::needless_pass_by_value)] // For `map_err`.
pub fn failure(error: io::Error) -> Failure {
    let error = error.downcast::<Failure>();
    error.unwrap_or_else(|error| Failure::stdout(&error))
}
