//! The operands, message by message.

use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Read, Seek};
use std::path::Path;

use ctx_cli::{Failure, Inputs, Io};
use ctx_summary::Recognizer;
use ctx_transcript::{Dialect, Message, Object, Options, Part, dialect};

use crate::session::{ReadArgs, Session};
use crate::tagged::cannot_spool;

/// One message of a session.
pub(super) struct Reading<'r> {
    pub(super) line: u64,
    pub(super) message: &'r Message<'r>,
    /// What an earlier compaction left as its summary.
    pub(super) earlier: Option<String>,
}

/// Reads sessions.
pub(super) struct Reader<'a> {
    args: &'a ReadArgs,
    recognizer: Recognizer,
}

impl<'a> Reader<'a> {
    pub(super) fn new(args: &'a ReadArgs) -> Self {
        Self {
            args,
            recognizer: Recognizer::default(),
        }
    }

    /// Each message of a file.
    pub(super) fn file(
        &self,
        path: &Path,
        io: &mut Io,
        handle: impl FnMut(&Reading<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.session(self.args.open(path)?, io, handle)
    }

    /// Each message of an opened session.
    pub(super) fn session(
        &self,
        mut session: Session,
        io: &mut Io,
        mut handle: impl FnMut(&Reading<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (name, dialect) = (session.name.clone(), session.dialect());
        session.each(|record| {
            let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
                return Ok(());
            };
            let Some(dialect) = dialect else {
                return Err(Failure::new("the format is not known")
                    .at(&name, Some(record.line))
                    .hint("--dialect names it"));
            };
            self.message(record.line, object, dialect, &mut handle)
        })?;
        session.report(io);
        Ok(())
    }

    fn message(
        &self,
        line: u64,
        object: &Object<'_>,
        dialect: &dyn Dialect,
        handle: &mut impl FnMut(&Reading<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Some(message) = dialect.message(object) else {
            return Ok(());
        };
        handle(&Reading {
            line,
            earlier: self.recognizer.summary_in(dialect, object, &message),
            message: &message,
        })
    }
}

/// An input that can be read more than once: a file, or what came through a pipe.
pub(super) struct Again {
    name: String,
    source: Source,
}

enum Source {
    Once(Box<dyn Read + Send>),
    File(File),
}

impl Again {
    /// Opens it; `twice`: a pipe is written into a temporary file first.
    pub(super) fn open(path: &Path, twice: bool) -> Result<Self, Failure> {
        let mut input = Inputs::open(path)?;
        let name = input.name;
        if !twice {
            let source = Source::Once(input.reader);
            return Ok(Self { name, source });
        }
        let file = if let Some(path) = input.path.filter(|path| path.is_file()) {
            File::open(path).map_err(|error| cannot_read(&name, &error))?
        } else {
            let mut file = tempfile::tempfile().map_err(|error| cannot_spool(&error))?;
            io::copy(&mut input.reader, &mut file).map_err(|error| cannot_read(&name, &error))?;
            file
        };
        let source = Source::File(file);
        Ok(Self { name, source })
    }

    /// Its bytes from the beginning; `None` when it can be read only once.
    pub(super) fn file(&self) -> Result<Option<File>, Failure> {
        let Source::File(file) = &self.source else {
            return Ok(None);
        };
        let again = || {
            let mut file = file.try_clone()?;
            file.rewind()?;
            Ok(file)
        };
        again()
            .map(Some)
            .map_err(|error| cannot_read(&self.name, &error))
    }

    /// Its records.
    pub(super) fn session(self, args: &ReadArgs) -> Result<Session, Failure> {
        let options = Options {
            dialect: args.dialect.as_deref().and_then(dialect::by_name),
            ..Options::default()
        };
        let again = self.file()?;
        let reader: Box<dyn Read + Send> = match (again, self.source) {
            (Some(file), _) | (None, Source::File(file)) => Box::new(file),
            (None, Source::Once(reader)) => reader,
        };
        Session::of(self.name, reader, &options, args.invalid)
    }
}

fn cannot_read(name: &str, error: &io::Error) -> Failure {
    Failure::new(format_args!("cannot read: {error}")).at(name, None)
}

/// What is said in a message, as a number: the same in BEFORE and in FULL, however
/// its JSON is written.
pub(super) fn digest(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.role.hash(&mut hasher);
    said(&message.parts, &mut hasher);
    hasher.finish()
}

fn said(parts: &[Part<'_>], hasher: &mut DefaultHasher) {
    for part in parts {
        match part {
            Part::Text(text) => text.hash(hasher),
            Part::Call(call) => call.name.hash(hasher),
            Part::Result(result) => said(&result.parts, hasher),
            _ => {}
        }
    }
}
