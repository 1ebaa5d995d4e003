//! Where a filter's records go: stdout, or a file that appears whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::Args;
use ctx_cli::{Failure, Io, STDIN_NAME};
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

/// An opened output. What [`failure`] says of its errors is fit for the user.
pub enum Output<'a> {
    /// Stdout.
    Stdout(&'a mut Io),
    /// A file that is replaced at the end.
    File(Box<AtomicFile>),
    /// A device or a pipe: there is nothing to replace.
    Open(BufWriter<File>),
}

impl OutputArgs {
    /// Opens it; an existing file stays as it is until [`Output::finish`].
    pub fn open<'a>(&self, io: &'a mut Io) -> Result<Output<'a>, Failure> {
        let path = match &self.output {
            Some(path) if path.as_os_str() != "-" => path,
            _ => return Ok(Output::Stdout(io)),
        };
        let meta = path.metadata();
        if meta.is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
            let file = OpenOptions::new().write(true).open(path);
            let file =
                file.map_err(|error| Failure::new(error).at(path.display().to_string(), None))?;
            return Ok(Output::Open(BufWriter::new(file)));
        }
        let file = AtomicFile::create(path).map_err(store::failure)?;
        Ok(Output::File(Box::new(file)))
    }

    /// Writes all that there is to be written.
    pub fn write(&self, bytes: &[u8], io: &mut Io) -> Result<(), Failure> {
        let mut output = self.open(io)?;
        output.write_all(bytes).map_err(failure)?;
        output.finish()
    }
}

impl Output<'_> {
    /// Makes a file appear; to be called when all went well.
    pub fn finish(self) -> Result<(), Failure> {
        match self {
            Self::Stdout(io) => io.flush(),
            Self::File(file) => file.commit().map_err(store::failure),
            Self::Open(mut file) => file.flush().map_err(failure),
        }
    }

    /// Lets `write` write. The error of a file says which one it is.
    fn with<T>(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<T>) -> io::Result<T> {
        match self {
            Self::Stdout(io) => write(io.out()),
            Self::Open(file) => write(file),
            Self::File(file) => write(file.as_mut()).map_err(|error| {
                let failure = Failure::new(format_args!("cannot write: {error}"))
                    .at(file.target().display().to_string(), None);
                io::Error::other(failure.hint("the file is as it was"))
            }),
        }
    }
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

/// An object for programs: one line of JSON.
pub fn json_line(value: &impl Serialize) -> String {
    let line = serde_json::to_string(value).expect("keys are strings, numbers are finite");
    line + "\n"
}

/// The name of an input for programs; stdin has none.
pub fn json_name(name: &str) -> Option<&str> {
    Some(name).filter(|name| *name != STDIN_NAME)
}
