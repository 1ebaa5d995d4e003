//! The output of a filter: stdout, or a file that appears completely or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};

use ctx_cli::{Failure, Io};
use ctx_format::counted;
use ctx_store::AtomicFile;
use ctx_store::{
    Figures, Growth, NewContent, PendingReplacement, ReplaceOutcome, SnapshotKind, hash,
};

use crate::store::{self, warn_retained};
use crate::target::Target;

/// An opened output. [`failure`] turns its errors into messages for the user.
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
    succession: PendingReplacement<'a>,
    temp: BufWriter<File>,
    figures: Figures,
    io: &'a mut Io,
}

impl Target<'_> {
    /// Opens the output; an existing file stays as it is until [`Output::finish`].
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

    /// Writes the whole output.
    pub fn write(self, bytes: &[u8], io: &mut Io) -> Result<(), Failure> {
        let mut output = self.open(io)?;
        output.write_all(bytes).map_err(failure)?;
        output.finish()
    }
}

impl Output<'_> {
    /// Adds figures to the audit record, if the output replaces a session.
    pub fn set_figures(&mut self, figures: Figures) {
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

    /// Writes the output. `first` writes to the store what readers of the output rely on; it runs
    /// before the output is visible, and after the snapshot of a session that the output replaces.
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

    /// Runs `write`. The error of a file includes its name.
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
        let Self { name, succession, temp, figures, io } = self;
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
        note_replaced(&name, growth, &replaced.map_err(store::failure)??, io);
        Ok(())
    }
}

fn note_replaced(name: &str, growth: Growth, replaced: &ReplaceOutcome, io: &mut Io) {
    let ReplaceOutcome::New { before, late_bytes, retained } = replaced else {
        return io.note(format_args!("{name} has these bytes already"));
    };
    io.note(format_args!("{name} is replaced; what was there is {}", before.id));
    if *late_bytes > 0 {
        let late = counted(*late_bytes, "byte");
        let late = format!("{name} grew meanwhile: {late} kept after the new ones");
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

/// The failure behind an error of [`Output`].
#[allow(clippy::needless_pass_by_value)] // For `map_err`.
pub fn failure(error: io::Error) -> Failure {
    let error = error.downcast::<Failure>();
    error.unwrap_or_else(|error| Failure::stdout(&error))
}
