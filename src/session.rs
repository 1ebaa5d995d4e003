//! Opens and reads sessions, using flags that the tools share, and adds the file name to errors.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};
use ctx_cli::{Failure, Input, Io, Result, Walk, is_like_an_id, metadata};
use ctx_engine::check::{CheckPass, Plan, Report};
use ctx_engine::{BadLines, Invalid, Notes, PassError, Time};
use ctx_format::{Dialect, Frame, Options, Record, dialect};
use ctx_sessions::sessions_of_id;
use ctx_store::is_kept_aside;

use crate::passes;
use crate::store::StoreArgs;

/// Flags shared by all tools that read records.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Input")]
pub struct ReadArgs {
    /// Input dialect
    ///
    /// By default, the tool detects the dialect from the records.
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(dialect::ALL.map(Dialect::name)))]
    pub dialect: Option<String>,
    /// Read each line as a conversation: {"messages":[…]}
    #[arg(long)]
    pub batch: bool,
    /// How to treat invalid lines
    ///
    /// A line is invalid if it is not a JSON object.
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub invalid: Invalid,
}

/// An opened session.
#[must_use]
pub struct Session {
    /// The name of the session, as given by the user.
    pub name: String,
    inner: ctx_engine::Session,
}

impl ReadArgs {
    /// Opens the session that the operand `path` names.
    pub fn open(&self, path: &Path) -> Result<Session> {
        self.session(Input::open(path)?)
    }

    /// Returns flags with which bad lines are read, even if they will be dropped, because they
    /// count.
    #[must_use]
    pub fn with_bad_lines(&self) -> Self {
        let drops = self.invalid == Invalid::Drop;
        Self { invalid: if drops { Invalid::Keep } else { self.invalid }, ..self.clone() }
    }

    /// Reads the session from an input that is already open.
    pub fn session(&self, input: Input) -> Result<Session> {
        let options = Options {
            dialect: self.dialect(),
            batch: self.batch,
            temp: Some(std::env::temp_dir()),
            ..Options::default()
        };
        Session::of(input, &options, self.invalid)
    }

    /// Returns the dialect that the user named.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.dialect.as_deref().and_then(dialect::by_name)
    }
}

impl Session {
    /// Reads the session from an input that is already open.
    pub fn of(input: Input, options: &Options, invalid: Invalid) -> Result<Self> {
        let Input { name, reader } = input;
        let opened = ctx_engine::Session::open(reader, options, invalid)
            .and_then(|inner| inner.refuse_foreign().map(|()| inner));
        match opened {
            Ok(inner) => Ok(Self { name, inner }),
            Err(error) => Err(passes::failure(error, &name)),
        }
    }

    /// Reads the session as one that this model will continue, if one is named.
    pub fn of_model(mut self, model: Option<&str>) -> Self {
        self.inner.records.model = model.map(Into::into).or(self.inner.records.model);
        self
    }

    /// Accepts a session in an unknown format, for a tool that can treat it as plain lines.
    pub fn of_any_format(mut self) -> Self {
        self.inner.accepts_unknown = true;
        self
    }

    /// Returns the dialect, or `None` if the format is unknown.
    pub fn dialect(&self) -> Option<&'static dyn Dialect> {
        self.inner.dialect()
    }

    /// Returns the session's own model, if the beginning of the session names it.
    pub fn model(&self) -> Option<&str> {
        self.inner.records.model.as_deref()
    }

    /// Calls `handle` for each record in the input, except for skipped records.
    pub fn pass(&mut self, handle: impl FnMut(&Record<'_>) -> Result<(), PassError>) -> Result<()> {
        self.read(|session| session.each(handle))
    }

    /// Calls `read` with the engine's session, and adds the file name to errors.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&mut ctx_engine::Session) -> Result<T, PassError>,
    ) -> Result<T> {
        read(&mut self.inner).map_err(|error| passes::failure(error, &self.name))
    }

    /// Checks all records. If `must_be_known` is true, an unknown record is a failure.
    pub fn check(mut self, plan: &Plan, must_be_known: bool) -> Result<Report> {
        self.inner.accepts_unknown |= !must_be_known;
        self.read(|session| CheckPass::run(plan, session))
    }

    /// Converts an error from a pass over this session into a failure.
    pub fn failure(&self, error: PassError) -> Failure {
        passes::failure(error, &self.name)
    }

    /// Runs a pass over this session, and prints notes from the pass.
    pub fn telling<T>(&self, io: &mut Io, pass: impl FnOnce(&mut Notes) -> T) -> T {
        passes::telling(&self.name, io, pass)
    }

    /// Returns the bad lines read so far.
    pub fn bad(&self) -> &BadLines {
        &self.inner.bad
    }

    /// Takes the JSON document that holds the records, if the agent's own sessions are documents.
    pub fn take_document(&mut self) -> Option<Frame> {
        self.inner.records.take_frame()
    }

    /// Tells the user how the agent reads the changed session, if its sessions are documents.
    pub fn note_import(&self, io: &mut Io) {
        let dialect = self.dialect().filter(|_| self.inner.stays_document());
        if let Some(import) = dialect.and_then(|it| it.format().import) {
            io.advise(format_args!("{}: {}", self.name, import.changed));
        }
    }

    /// Warns about members of a JSON document other than its messages, unless the result is a
    /// document, too.
    pub fn note_lost_members(&self, io: &mut Io) {
        if !self.inner.stays_document() {
            self.note_document(io);
        }
    }

    /// Warns about members of a JSON document other than its messages.
    pub fn note_document(&self, io: &mut Io) {
        self.telling(io, |notes| self.inner.tell_of_document(notes));
    }

    /// After the end of the input, warns about all bad lines.
    pub fn report(&self, io: &mut Io) {
        self.telling(io, |notes| self.bad().report(notes));
    }
}

/// Returns the rules for searching folders: replaced files are skipped, and unless `always` is
/// true, folders are searched only with `--recursive`.
pub fn walk(always: bool) -> Walk {
    Walk { always, skip: is_kept_aside }
}

/// Returns the parser for an operand that names a session: a path, or the id of an agent's session
/// or its unique beginning.
pub fn operand() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(file_of)
}

/// Returns the file of a session that is named by its path or its id. Returns the path unchanged if
/// no session has this id.
pub fn file_of(named: PathBuf) -> Result<PathBuf, String> {
    let Some(id) = named.to_str().filter(|text| is_like_an_id(text)) else { return Ok(named) };
    if named.symlink_metadata().is_ok() {
        return Ok(named);
    }
    let mut found = sessions_of_id(id, StoreArgs::usual().as_ref());
    match found.len() {
        0 => Ok(named),
        1 => Ok(found.remove(0)),
        count => {
            Err(format!("{count} sessions have ids that begin with this; ctx-ls -l shows them"))
        }
    }
}

/// Returns the time of the last change to a file, or to the file at stdin.
pub fn last_change(path: &Path) -> Option<Time> {
    let meta = metadata(path).ok().filter(Metadata::is_file)?;
    Some(Time(meta.modified().ok()?.into()))
}
