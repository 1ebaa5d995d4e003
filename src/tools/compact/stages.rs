//! The filters' own functions, from one temporary file to the next.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::FileExt;

use ctx_cli::{Failure, Io};
use ctx_memory::Item;
use ctx_select::count::MessageCounter;
use ctx_select::trigger::Size;
use ctx_store::SessionId;
use ctx_transcript::{Dialect, Offence, Options, Piece, Record, Rule, Validator, Zone, ZoneReader};

use crate::output::Output;
use crate::passes;
use crate::session::Session;
use crate::tagged::{TaggedWriter, cannot_spool};
use crate::tools::{extract, prune};
use ctx_passes::Invalid;
use ctx_passes::offload::{Change, Reading};
use ctx_passes::split::{self, SplitPass, ZoneCounts};
use ctx_passes::summarize::{self, BudgetPass, BudgetRequest, Shared, Summary, ZonePass};
use ctx_passes::{Notes, PassError};

/// A session's bytes, and how they are read.
#[derive(Clone)]
pub(super) struct Source {
    /// As the user named it.
    pub(super) name: String,
    /// Of all that is made of it, too.
    pub(super) dialect: &'static dyn Dialect,
    pub(super) invalid: Invalid,
    is_document: bool,
}

/// A file read from its start, wherever others stand who read it at the same time.
struct FromStart {
    file: File,
    at: u64,
}

impl Read for FromStart {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// A session within a budget.
pub(super) struct Within {
    pub(super) file: File,
    pub(super) said: Option<Summary>,
    pub(super) tagged: File,
    pub(super) zones: Vec<Zone>,
}

/// What one pass over a session finds.
pub(super) struct Measured {
    pub(super) size: Size,
    /// Of the system messages.
    pub(super) system_tokens: u64,
    offences: Vec<Offence>,
}

/// A temporary file without a name: what is in it is nobody else's business.
pub(super) fn temporary() -> Result<File, Failure> {
    tempfile::tempfile().map_err(|error| cannot_spool(&error))
}

/// Another handle on the same file, at its start.
pub(super) fn again(file: &File) -> Result<File, Failure> {
    let mut file = file.try_clone().map_err(|error| cannot_spool(&error))?;
    file.rewind().map_err(|error| cannot_spool(&error))?;
    Ok(file)
}

impl Source {
    /// Opens the bytes of a session file, whose format must be known.
    pub(super) fn of(
        name: &str,
        file: &File,
        dialect: Option<&'static dyn Dialect>,
        invalid: Invalid,
    ) -> Result<Self, Failure> {
        let options = Options {
            dialect,
            ..Options::default()
        };
        let session = Session::of(name.to_owned(), Box::new(again(file)?), &options, invalid)?;
        // In an empty session there is nothing to know it by, and nothing to do.
        let is_empty = || file.metadata().is_ok_and(|meta| meta.len() == 0);
        let empty = ctx_transcript::dialect::by_name("chat").filter(|_| is_empty());
        let Some(dialect) = session.dialect().or(empty) else {
            return Err(
                Failure::new("the format is not known, so nothing can be compacted")
                    .at(name, None)
                    .hint("--dialect names it"),
            );
        };
        Ok(Self {
            name: name.to_owned(),
            dialect,
            invalid,
            is_document: session.is_document(),
        })
    }

    /// Refuses a document, which a compaction would make lines of.
    pub(super) fn refuse_document(&self) -> Result<(), Failure> {
        if !self.is_document {
            return Ok(());
        }
        Err(
            Failure::new("one JSON document, not lines: an agent could not read it any more")
                .at(&self.name, None)
                .hint("as a filter it becomes lines: ctx-compact < FILE > session.jsonl"),
        )
    }

    /// The gate: a session gets no offence that it did not hold.
    pub(super) fn refuse_new_offence(
        &self,
        result: &Measured,
        before: &Measured,
    ) -> Result<(), Failure> {
        let Some(offence) = result.new_offence(before) else {
            return Ok(());
        };
        let why = offence.why();
        Err(Failure::new(format_args!(
            "the result would break a rule that the session keeps: {why}; nothing was changed"
        ))
        .at(&self.name, None)
        .hint("this is a mistake of the tool: please report it"))
    }

    fn session(&self, file: &File) -> Result<Session, Failure> {
        self.read(Box::new(again(file)?))
    }

    /// For a thread that reads while others do.
    pub(super) fn session_apart(&self, file: &File) -> Result<Session, Failure> {
        let file = file.try_clone().map_err(|error| cannot_spool(&error))?;
        self.read(Box::new(FromStart { file, at: 0 }))
    }

    fn read(&self, reader: Box<dyn Read + Send>) -> Result<Session, Failure> {
        let options = Options {
            dialect: Some(self.dialect),
            ..Options::default()
        };
        Session::of(self.name.clone(), reader, &options, self.invalid)
    }

    /// Reads what was made of the session.
    pub(super) fn each(
        &self,
        file: &File,
        visit: impl FnMut(&Record<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.session(file)?.each(visit)
    }

    /// Counts a session and looks for offences.
    pub(super) fn measure(
        &self,
        file: &File,
        counter: &MessageCounter,
    ) -> Result<Measured, Failure> {
        let (mut size, mut system_tokens) = (Size::default(), 0);
        let mut validator = Validator::new(self.dialect.rules());
        self.session(file)?.each(|record| {
            let outline = record.outline(Some(self.dialect));
            let message = record
                .whole_object()
                .and_then(|object| self.dialect.message(object));
            if let (Some(outline), Some(message)) = (outline, message) {
                validator.push(record.line, &outline);
                let others = size.tokens;
                size.add(&outline, &message, counter);
                if outline.role.is_system() && !outline.is_summary {
                    system_tokens += size.tokens - others;
                }
            }
            Ok(())
        })?;
        let offences = validator.finish();
        Ok(Measured {
            size,
            system_tokens,
            offences,
        })
    }

    /// Decides what is old.
    pub(super) fn split(
        &self,
        plan: &split::Plan,
        input: &File,
    ) -> Result<(File, ZoneCounts), Failure> {
        let tagged = temporary()?;
        let output = io::BufWriter::new(again(&tagged)?);
        let mut session = self.session(input)?;
        let mut pass = SplitPass::new(plan, session.dialect(), output);
        session.pass(|record| pass.push(record))?;
        let done = pass.finish();
        let (mut output, counts) = done.map_err(|error| passes::failure(error, &self.name))?;
        output.flush().map_err(|error| cannot_spool(&error))?;
        Ok((tagged, counts))
    }

    /// Puts a summary in the place of what is old.
    pub(super) fn summarize(
        &self,
        plan: &summarize::Plan,
        tagged: &File,
        io: &mut Io,
    ) -> Result<(File, Option<Summary>), Failure> {
        let rebuilt = temporary()?;
        let mut session = self.session(tagged)?;
        let mut pass = ZonePass::new(plan, session.dialect());
        session.pass(|record| pass.push(record))?;
        let mut notes = Notes::new();
        let done = pass.finish(&mut notes);
        passes::tell(notes, &self.name, io);
        let failed = |error: PassError| passes::failure(error, &self.name);
        let mut new = done.map_err(failed)?;
        let summary = new.summary.take();
        let mut output = io::BufWriter::new(again(&rebuilt)?);
        new.write(&mut output).map_err(failed)?;
        output.flush().map_err(|error| cannot_spool(&error))?;
        Ok((rebuilt, summary))
    }

    /// Shares a budget out between a summary and what stays; also the records with
    /// their zones.
    pub(super) fn within(
        &self,
        plan: &summarize::Plan,
        asked: &BudgetRequest,
        input: &File,
        io: &mut Io,
    ) -> Result<Result<Within, PassError>, Failure> {
        let rebuilt = temporary()?;
        let mut session = self.session(input)?;
        let mut pass = BudgetPass::new(plan, asked, session.dialect());
        session.pass(|record| pass.push(record))?;
        let mut notes = Notes::new();
        let done = pass.finish(&mut notes);
        passes::tell(notes, &self.name, io);
        let Shared {
            session: mut new,
            zones,
        } = match done {
            Ok(shared) => shared,
            Err(error) => return Ok(Err(error)),
        };
        let said = new.summary.take();
        let mut output = io::BufWriter::new(again(&rebuilt)?);
        let failed = |error: PassError| passes::failure(error, &self.name);
        new.write(&mut output).map_err(failed)?;
        output.flush().map_err(|error| cannot_spool(&error))?;
        let tagged = self.tagged(&zones, input)?;
        Ok(Ok(Within {
            file: rebuilt,
            said,
            tagged,
            zones,
        }))
    }

    /// The records with these zones.
    fn tagged(&self, zones: &[Zone], input: &File) -> Result<File, Failure> {
        let tagged = temporary()?;
        let mut writer = TaggedWriter::new(Output::to_file(again(&tagged)?));
        let mut zones = zones.iter();
        let mut count = 0;
        self.session(input)?.each(|record| {
            let zone = zones.next().copied();
            count += u64::from(matches!(record.piece, Piece::Whole | Piece::Last));
            let mut tag = record.tag().unwrap_or_default();
            (tag.zone, tag.line) = (zone, Some(record.line));
            let tag = record.splice().map(|splice| (splice, tag));
            writer.write(record.untagged().into_owned(), tag)
        })?;
        writer.finish(Some(count))?;
        Ok(tagged)
    }

    /// Leaves out what is old.
    pub(super) fn without_old(&self, tagged: &File) -> Result<File, Failure> {
        let rest = temporary()?;
        let mut output = Output::to_file(again(&rest)?);
        let mut zones = ZoneReader::default();
        self.session(tagged)?.each(|record| {
            if zones.read(record) == Zone::Old {
                return Ok(());
            }
            output.write(&record.untagged())
        })?;
        output.finish()?;
        Ok(rest)
    }

    /// Prunes tool results; also the lines whose records were left out.
    pub(super) fn prune(
        &self,
        plan: &prune::Plan,
        input: &File,
        io: &mut Io,
    ) -> Result<(File, Vec<u64>), Failure> {
        let pruned = temporary()?;
        let output = Output::to_file(again(&pruned)?);
        let done = prune::prune(plan, &mut self.session(input)?, output, io)?;
        Ok((pruned, done.dropped))
    }

    /// Takes large results out, or puts them back; only in the old zone when `only_old`.
    pub(super) fn change(
        &self,
        change: &mut dyn Change,
        input: &File,
        only_old: bool,
    ) -> Result<File, Failure> {
        let reading = Reading {
            dialect: Some(self.dialect),
            batch: false,
            protect_last: 0,
        };
        let changed = temporary()?;
        let mut output = io::BufWriter::new(again(&changed)?);
        let mut zones = ZoneReader::default();
        self.session(input)?.pass(|record| {
            let stays = zones.read(record) != Zone::Old && only_old;
            let bytes = if stays {
                None
            } else {
                reading.changed(record, change)?
            };
            let written = match (bytes, record.splice().zip(record.tag())) {
                (None, _) => output.write_all(record.bytes),
                (Some(bytes), None) => output.write_all(&bytes),
                (Some(bytes), Some((splice, mut tag))) => {
                    // What it said of the record is not true any more.
                    (tag.bytes, tag.tokens, tag.encoding) = (None, None, None);
                    splice.write(&bytes, &tag, &mut output)
                }
            };
            written.map_err(PassError::temporary)
        })?;
        output.flush().map_err(|error| cannot_spool(&error))?;
        Ok(changed)
    }

    /// What the old zone holds for memory.
    pub(super) fn extract(&self, tagged: &File, session: &SessionId) -> Result<Vec<Item>, Failure> {
        extract::of_old_zone(&mut self.session(tagged)?, session)
    }
}

impl Measured {
    /// An offence of this session that `before`, which it was made of, does not
    /// hold: lines have moved, so rule and id tell.
    pub(super) fn new_offence(&self, before: &Self) -> Option<&Offence> {
        let mut known: Vec<(Rule, &str)> = before
            .offences
            .iter()
            .map(|offence| (offence.rule, offence.id.as_str()))
            .collect();
        self.offences.iter().find(|offence| {
            let same = |known: &(Rule, &str)| *known == (offence.rule, offence.id.as_str());
            match known.iter().position(same) {
                Some(at) => {
                    known.swap_remove(at);
                    false
                }
                None => true,
            }
        })
    }
}
