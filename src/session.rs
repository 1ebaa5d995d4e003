//! How the filters read a session: shared flags, and records with the file's
//! name in every failure.

use std::io::Read;
use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;
use ctx_cli::{Failure, Inputs, Io};
use ctx_passes::{BadLines, Invalid, Notes, PassError};
use ctx_transcript::{Dialect, Options, Record, dialect};

use crate::passes;

/// Flags of every tool that reads records.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadArgs {
    /// Read the records as this dialect instead of detecting it
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(dialect::ALL.map(Dialect::name)),
        help_heading = "Input"
    )]
    pub dialect: Option<String>,
    /// Take each line as one conversation: {"messages":[…]}
    #[arg(long, help_heading = "Input")]
    pub batch: bool,
    /// What to do with a line that is not one JSON object
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        default_value_t,
        help_heading = "Input"
    )]
    pub invalid: Invalid,
}

/// One opened session.
pub struct Session {
    /// As the user named it.
    pub name: String,
    inner: ctx_passes::Session,
}

/// Why the reading of a session ended early: for a reason of its own, or of the tool's.
enum Stop {
    Pass(PassError),
    Tool(Failure),
}

impl From<PassError> for Stop {
    fn from(error: PassError) -> Self {
        Self::Pass(error)
    }
}

impl ReadArgs {
    /// Opens one operand.
    pub fn open(&self, path: &Path) -> Result<Session, Failure> {
        let input = Inputs::open(path)?;
        self.session(input.name, input.reader)
    }

    /// A session that `reader` gives.
    pub fn session(&self, name: String, reader: Box<dyn Read + Send>) -> Result<Session, Failure> {
        let options = Options {
            dialect: self.dialect.as_deref().and_then(dialect::by_name),
            batch: self.batch,
            raw: false,
            temp: Some(std::env::temp_dir()),
        };
        Session::of(name, reader, &options, self.invalid)
    }
}

impl Session {
    /// Opens one operand.
    pub fn open(path: &Path, options: &Options, invalid: Invalid) -> Result<Self, Failure> {
        let input = Inputs::open(path)?;
        Self::of(input.name, input.reader, options, invalid)
    }

    /// A session that is open already.
    pub fn of(
        name: String,
        reader: Box<dyn Read + Send>,
        options: &Options,
        invalid: Invalid,
    ) -> Result<Self, Failure> {
        match ctx_passes::Session::open(reader, options, invalid) {
            Ok(inner) => Ok(Self { name, inner }),
            Err(error) => Err(passes::failure(error, &name)),
        }
    }

    /// Its dialect; `None` when the format is not known.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.inner.dialect()
    }

    /// Whether it is one JSON document, whose messages come as records.
    pub fn is_document(&self) -> bool {
        self.inner.is_document()
    }

    /// Hands each record that is not left out to `handle`, to the end of the input.
    pub fn each(
        &mut self,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let done = self.inner.each(|record| handle(record).map_err(Stop::Tool));
        done.map_err(|stop| match stop {
            Stop::Pass(error) => passes::failure(error, &self.name),
            Stop::Tool(failure) => failure,
        })
    }

    /// Hands each record to a pass.
    pub fn pass(
        &mut self,
        handle: impl FnMut(&Record<'_>) -> Result<(), PassError>,
    ) -> Result<(), Failure> {
        self.read(|session| session.each(handle))
    }

    /// Hands the session to a function that reads its records.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&mut ctx_passes::Session) -> Result<T, PassError>,
    ) -> Result<T, Failure> {
        read(&mut self.inner).map_err(|error| passes::failure(error, &self.name))
    }

    /// What was bad so far.
    pub fn bad(&self) -> &BadLines {
        self.inner.bad()
    }

    /// Warns of what a document holds beside its messages.
    pub fn tell_of_document(&self, io: &mut Io) {
        let mut notes = Notes::new();
        self.inner.tell_of_document(&mut notes);
        passes::tell(notes, &self.name, io);
    }

    /// Warns of the bad lines, at the end of the input.
    pub fn report(&self, io: &mut Io) {
        report_bad(self.bad(), &self.name, io);
    }
}

/// Warns of bad lines; `name` is the session's.
pub fn report_bad(bad: &BadLines, name: &str, io: &mut Io) {
    let mut notes = Notes::new();
    bad.report(&mut notes);
    passes::tell(notes, name, io);
}
