//! One file, counted.

use std::io::Read;
use std::path::Path;

use ctx_cli::{Failure, Inputs, Io};
use ctx_select::count::MessageCounter;
use ctx_select::tally::Tally;
use ctx_transcript::{Conversation, Dialect, Object, Piece, Record};

use super::{Args, Plan};
use crate::session::report_bad;
use ctx_passes::BadLines;

/// What was found in a file.
#[derive(Default)]
pub(super) struct Counted {
    /// As the user named it.
    pub(super) name: String,
    /// Whether its line in a table bears the name.
    pub(super) named: bool,
    pub(super) records: u64,
    /// Of its records as they stand, tags and line ends included.
    pub(super) bytes: u64,
    pub(super) tally: Tally,
    pub(super) bad: BadLines,
    /// Objects in a format we do not know, counted as text.
    unknown: u64,
    /// With `--batch`: objects that hold no list of messages.
    no_conversation: u64,
}

impl Counted {
    pub(super) fn of(path: &Path, args: &Args, plan: &Plan) -> Result<Self, Failure> {
        let mut counted = Self {
            named: !plan.anonymous,
            ..Self::default()
        };
        if args.text {
            counted.text(path, &plan.counting.counter)?;
        } else {
            counted.session(path, args, plan)?;
        }
        Ok(counted)
    }

    /// Many files as one.
    pub(super) fn total(files: &[Self]) -> Self {
        let mut total = Self {
            name: "total".to_owned(),
            named: true,
            ..Self::default()
        };
        for file in files {
            total.records += file.records;
            total.bytes += file.bytes;
            total.bad.count_in(&file.bad);
            total.tally.merge(&file.tally);
        }
        total
    }

    /// An opened session of which nothing is counted yet.
    pub(super) fn begin(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    /// A text is one piece, so all of it is read before it is counted. Bytes that
    /// are not UTF-8 count as U+FFFD.
    fn text(&mut self, path: &Path, counter: &MessageCounter) -> Result<(), Failure> {
        let mut input = Inputs::open(path)?;
        let mut bytes = Vec::new();
        let read = input.reader.read_to_end(&mut bytes);
        read.map_err(|error| {
            Failure::new(format_args!("cannot read: {error}")).at(&input.name, None)
        })?;
        self.name = input.name;
        self.bytes = bytes.len() as u64;
        self.tally.text(counter, &String::from_utf8_lossy(&bytes));
        Ok(())
    }

    fn session(&mut self, path: &Path, args: &Args, plan: &Plan) -> Result<(), Failure> {
        let counter = &plan.counting.counter;
        let mut session = args.read.open(path)?;
        self.name.clone_from(&session.name);
        let dialect = session.dialect();
        if let (Some(dialect), true) = (dialect, args.read.batch) {
            self.batch(&mut session, dialect, plan)?;
            self.bad = session.bad().clone();
            return Ok(());
        }
        session.each(|record| {
            self.record(record, dialect, args.read.batch, counter);
            Ok(())
        })?;
        self.bad = session.bad().clone();
        Ok(())
    }

    /// Counts one record and returns its tokens.
    pub(super) fn record(
        &mut self,
        record: &Record<'_>,
        dialect: Option<&dyn Dialect>,
        batch: bool,
        counter: &MessageCounter,
    ) -> u64 {
        self.seen(record);
        let Some(object) = record.whole_object() else {
            return 0;
        };
        match dialect {
            None => {
                self.unknown += 1;
                let untagged = record.untagged();
                self.tally
                    .text(counter, &String::from_utf8_lossy(untagged.trim_ascii_end()))
            }
            Some(dialect) if batch => self.conversation(object, dialect, counter),
            Some(dialect) => self.message(object, dialect, counter),
        }
    }

    pub(super) fn seen(&mut self, record: &Record<'_>) {
        self.records += u64::from(matches!(record.piece, Piece::Whole | Piece::First));
        self.bytes += record.bytes.len() as u64;
    }

    /// Adds what was found in other conversations of the same file.
    pub(super) fn merge(&mut self, other: &Self) {
        self.tally.merge(&other.tally);
        self.no_conversation += other.no_conversation;
    }

    pub(super) fn conversation(
        &mut self,
        object: &Object<'_>,
        dialect: &dyn Dialect,
        counter: &MessageCounter,
    ) -> u64 {
        let Some(conversation) = Conversation::of(object) else {
            self.no_conversation += 1;
            return 0;
        };
        let before = self.tally.tokens().total();
        self.tally.begin();
        for object in &conversation.messages {
            self.message(object, dialect, counter);
        }
        self.tally.tokens().total() - before
    }

    fn message(
        &mut self,
        object: &Object<'_>,
        dialect: &dyn Dialect,
        counter: &MessageCounter,
    ) -> u64 {
        let Some(message) = dialect.message(object) else {
            return 0;
        };
        if self.tally.conversations() == 0 {
            self.tally.begin();
        }
        self.tally.message(counter, &message).total()
    }

    /// Warns of what was not counted as messages.
    pub(super) fn report(&self, io: &mut Io) {
        let name = &self.name;
        report_bad(&self.bad, name, io);
        if self.unknown > 0 {
            io.warn(format_args!(
                "{name}: unknown format, each line is counted as plain text; \
                 --dialect or --batch says how to read it"
            ));
        }
        if self.no_conversation > 0 {
            io.warn(format_args!(
                "{name}: lines that hold no conversation (\"messages\"): {}",
                self.no_conversation
            ));
        }
    }
}
