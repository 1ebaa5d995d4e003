//! Where a filter's records go: stdout, or a file that appears whole or not at all.

use std::fmt;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use ctx_cli::{Failure, Io};
use ctx_store::atomic::AtomicFile;
use serde::Serialize;

use crate::store;

/// The flag of every filter that may write to a file.
#[derive(Args, Clone, Debug, Default)]
pub struct OutputArgs {
    /// Write to FILE instead of stdout, at the end and only when all went well
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub output: Option<PathBuf>,
}

/// An opened output.
pub struct Output<'a>(Target<'a>);

enum Target<'a> {
    Stdout(&'a mut Io),
    File(Box<AtomicFile>),
    /// A device or a pipe: there is nothing to replace.
    Open(io::BufWriter<std::fs::File>),
}

impl OutputArgs {
    /// Opens it; an existing file stays as it is until [`Output::finish`].
    pub fn open<'a>(&self, io: &'a mut Io) -> Result<Output<'a>, Failure> {
        let target = match &self.output {
            None => Target::Stdout(io),
            Some(path) if path.as_os_str() == "-" => Target::Stdout(io),
            Some(path)
                if path
                    .metadata()
                    .is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) =>
            {
                let file = OpenOptions::new().write(true).open(path);
                let file =
                    file.map_err(|error| Failure::new(error).at(path.display().to_string(), None))?;
                Target::Open(io::BufWriter::new(file))
            }
            Some(path) => Target::File(Box::new(AtomicFile::create(path).map_err(store::failure)?)),
        };
        Ok(Output(target))
    }
}

impl Output<'_> {
    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.with(|out| out.write_all(bytes))
    }

    /// Lets `write` write: an error of the output becomes a failure.
    pub fn with(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match &mut self.0 {
            Target::Stdout(io) => write(io.out()).map_err(|error| Failure::stdout(&error)),
            Target::File(file) => {
                let done = write(file.as_mut());
                done.map_err(|error| {
                    let target = file.target().display().to_string();
                    Failure::new(format_args!("cannot write: {error}"))
                        .at(target, None)
                        .hint("the file is as it was")
                })
            }
            Target::Open(file) => write(file).map_err(|error| Failure::stdout(&error)),
        }
    }

    /// Makes a file appear; to be called when all went well.
    pub fn finish(self) -> Result<(), Failure> {
        match self.0 {
            Target::Stdout(io) => io.flush(),
            Target::File(file) => file.commit().map_err(store::failure),
            Target::Open(mut file) => file.flush().map_err(|error| Failure::stdout(&error)),
        }
    }
}

/// So that a pass can write to it; [`failure`] says what went wrong.
impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = Output::write(self, bytes);
        written.map(|()| bytes.len()).map_err(carry)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.with(|out| out.flush()).map_err(carry)
    }
}

/// An error that a pass can tell from one of a reader that went away.
fn carry(failure: Failure) -> io::Error {
    let kind = if failure.is_silent() {
        io::ErrorKind::BrokenPipe
    } else {
        io::ErrorKind::Other
    };
    io::Error::new(kind, Carried(failure))
}

/// A failure on its way through a pass.
#[derive(Debug)]
pub struct Carried(pub Failure);

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Carried {}

/// Why an output did not take what a pass wrote.
pub fn failure(error: io::Error) -> Failure {
    match error.downcast::<Carried>() {
        Ok(carried) => carried.0,
        Err(error) => Failure::new(format_args!("cannot write: {error}")),
    }
}

/// A temporary file failed.
pub fn cannot_spool(error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot use a temporary file: {error}"))
        .hint("TMPDIR names the folder for it")
}

/// An object for programs: one line of JSON.
pub fn json_line(value: &impl Serialize) -> String {
    let line = serde_json::to_string(value).expect("keys are strings, numbers are finite");
    line + "\n"
}
