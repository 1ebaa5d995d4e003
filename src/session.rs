//! How the filters read a session: shared flags, and records with the file's
//! name in every failure.

use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;
use ctx_cli::{Failure, Input, Io};
use ctx_passes::check::{CheckPass, Report};
use ctx_passes::{BadLines, Invalid, PassError};
use ctx_transcript::{Dialect, Options, Record, dialect};

use crate::passes;

/// Flags of every tool that reads records.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadArgs {
    /// Input dialect
    ///
    /// Without it the records tell which one it is.
    #[arg(
        long,
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(dialect::ALL.map(Dialect::name)),
        help_heading = "Input"
    )]
    pub dialect: Option<String>,
    /// Read each line as a conversation: {"messages":[…]}
    #[arg(long, help_heading = "Input")]
    pub batch: bool,
    /// If a line is not a JSON object
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

impl ReadArgs {
    /// Opens one operand.
    pub fn open(&self, path: &Path) -> Result<Session, Failure> {
        self.session(Input::open(path)?)
    }

    /// A session that is open already.
    pub fn session(&self, input: Input) -> Result<Session, Failure> {
        let options = Options {
            dialect: self.dialect(),
            batch: self.batch,
            temp: Some(std::env::temp_dir()),
            ..Options::default()
        };
        Session::of(input, &options, self.invalid)
    }

    /// The dialect that is named.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.dialect.as_deref().and_then(dialect::by_name)
    }
}

impl Session {
    /// A session that is open already.
    pub fn of(input: Input, options: &Options, invalid: Invalid) -> Result<Self, Failure> {
        let Input { name, reader } = input;
        match ctx_passes::Session::open(reader, options, invalid) {
            Ok(inner) => Ok(Self { name, inner }),
            Err(error) => Err(passes::failure(error, &name)),
        }
    }

    /// Its dialect; `None` when the format is not known.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.inner.dialect()
    }

    /// Hands each record that is not left out to a pass, to the end of the input.
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
        let foreign = self.inner.foreign();
        read(&mut self.inner).map_err(|error| passes::failure(error.named(foreign), &self.name))
    }

    /// What a check of all records has found.
    pub fn checked(&self, pass: CheckPass<'_>) -> Report {
        pass.finish(&self.inner)
    }

    /// What was bad so far.
    pub fn bad(&self) -> &BadLines {
        self.inner.bad()
    }

    /// Warns of what a document holds beside its messages.
    pub fn tell_of_document(&self, io: &mut Io) {
        passes::telling(&self.name, io, |notes| self.inner.tell_of_document(notes));
    }

    /// Warns of the bad lines, at the end of the input.
    pub fn report(&self, io: &mut Io) {
        passes::telling(&self.name, io, |notes| self.bad().report(notes));
    }
}
