//! How the filters read a session: shared flags, and records with the file's
//! name in every failure.

use std::io::Read;
use std::path::Path;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use ctx_cli::{Failure, Inputs, Io};
use ctx_transcript::{Dialect, Options, Piece, Record, Records, dialect};

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

/// What happens to bad lines. A last line that is still being written is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Invalid {
    /// Keep them in place and count them
    #[default]
    Keep,
    /// Stop at the first one
    Fail,
    /// Leave them out and count them
    Drop,
}

/// One opened session.
pub struct Session {
    /// As the user named it.
    pub name: String,
    records: Records<Box<dyn Read + Send>>,
    invalid: Invalid,
    bad: BadLines,
}

/// What was bad in a session.
#[derive(Clone, Debug, Default)]
pub struct BadLines {
    /// How many lines.
    pub count: u64,
    /// The first: its line and what is wrong with it.
    pub first: Option<(u64, String)>,
}

impl ReadArgs {
    /// Opens one operand.
    pub fn open(&self, path: &Path) -> Result<Session, Failure> {
        let options = Options {
            dialect: self.dialect.as_deref().and_then(dialect::by_name),
            batch: self.batch,
            raw: false,
        };
        Session::open(path, &options, self.invalid)
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
        let records = Records::open(reader, options).map_err(|error| cannot_read(&name, &error))?;
        Ok(Self {
            name,
            records,
            invalid,
            bad: BadLines::default(),
        })
    }

    /// Its dialect; `None` when the format is not known.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.records.dialect()
    }

    /// Whether it is one JSON document, whose messages come as records.
    pub fn is_document(&self) -> bool {
        self.records.document_members_beside().is_some()
    }

    /// Hands each record that is not left out to `handle`, to the end of the input.
    pub fn each(
        &mut self,
        mut handle: impl FnMut(&Record<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Self {
            name,
            records,
            invalid,
            bad,
        } = self;
        while let Some(record) = records.next().map_err(|error| cannot_read(name, &error))? {
            if record.class.is_bad() {
                bad.add(&record);
                match invalid {
                    Invalid::Keep => {}
                    Invalid::Drop => continue,
                    Invalid::Fail => return Err(is_bad(name, &record)),
                }
            }
            handle(&record)?;
        }
        Ok(())
    }

    /// What was bad so far.
    pub fn bad(&self) -> &BadLines {
        &self.bad
    }

    /// Warns of what a document holds beside its messages.
    pub fn tell_of_document(&self, io: &mut Io) {
        if let Some(beside @ 1..) = self.records.document_members_beside() {
            let name = &self.name;
            io.warn(format_args!("{name}: {beside} of the document's members stand beside its messages and are left out"));
        }
    }

    /// Warns of the bad lines, at the end of the input.
    pub fn report(&self, io: &mut Io) {
        self.bad.report(&self.name, self.invalid, io);
    }
}

impl BadLines {
    /// Warns of them; `name` is the session's.
    pub fn report(&self, name: &str, invalid: Invalid, io: &mut Io) {
        if let Some((line, why)) = &self.first {
            let what = if invalid == Invalid::Drop {
                "left out"
            } else {
                "kept in place"
            };
            let count = self.count;
            let lines = if count == 1 { "bad line" } else { "bad lines" };
            io.warn(format_args!(
                "{name}:{line}: {count} {lines} {what}; the first: {why}"
            ));
        }
    }

    fn add(&mut self, record: &Record<'_>) {
        if matches!(record.piece, Piece::Whole | Piece::First) {
            self.count += 1;
            self.first
                .get_or_insert_with(|| (record.line, record.why_bad()));
        }
    }
}

fn is_bad(name: &str, record: &Record<'_>) -> Failure {
    Failure::new(record.why_bad())
        .at(name, Some(record.line))
        .hint("--invalid keep carries such lines along, --invalid drop leaves them out")
}

fn cannot_read(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(format_args!("cannot read: {error}")).at(name, None)
}
