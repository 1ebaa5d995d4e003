//! All operands, read one after the other.

use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_memory::{Extractor, Item};

use super::ExtractArgs;
use super::pass::Pass;
use super::select::Selector;
use crate::session::Session;

/// Everything that is read from the operands.
pub(super) struct Read<'a> {
    args: &'a ExtractArgs,
    /// Whether items are kept for a merge; else they are written at once.
    keep: bool,
    items: Vec<Item>,
    count: usize,
    redacted: usize,
    /// The sessions that hold bad lines.
    bad: Vec<Session>,
}

impl<'a> Read<'a> {
    pub(super) fn new(args: &'a ExtractArgs, keep: bool) -> Self {
        Self {
            args,
            keep,
            items: Vec::new(),
            count: 0,
            redacted: 0,
            bad: Vec::new(),
        }
    }

    /// What was kept for the merge.
    pub(super) fn items(&self) -> &[Item] {
        &self.items
    }

    pub(super) fn session(&mut self, path: &Path, pass: &mut Pass<'_>) -> Result<(), Failure> {
        let mut session = self.args.read.open(path)?;
        let name = session.name.clone();
        let dialect = session.dialect();
        let mut extractor = Extractor::new(self.args.session_of(path)?, &self.args.kinds());
        let mut selector = Selector::new(dialect, self.args.zone, self.args.read.batch);
        session.each(|record| {
            let items = selector
                .items(record, &mut extractor)
                .map_err(|failure| failure.at(&name, Some(record.line)))?;
            self.count += items.len();
            pass.record(record.bytes)?;
            if self.keep {
                self.items.extend(items);
                return Ok(());
            }
            items.iter().try_for_each(|item| pass.item(item))
        })?;
        selector
            .finish(self.args.partial)
            .map_err(|failure| failure.at(&name, None))?;
        self.redacted += extractor.redacted();
        if session.bad().count() > 0 {
            self.bad.push(session);
        }
        Ok(())
    }

    pub(super) fn report(&self, io: &mut Io) {
        self.bad.iter().for_each(|session| session.report(io));
        if self.redacted > 0 {
            let (count, secrets) = (self.redacted, plural(self.redacted, "secret"));
            io.note(format_args!("{count} {secrets} taken out"));
        }
        io.note(format_args!(
            "{} {} found",
            self.count,
            plural(self.count, "item")
        ));
    }
}

/// The word, with an s for any count but one.
pub(super) fn plural(count: usize, word: &str) -> String {
    if count == 1 {
        word.to_owned()
    } else {
        format!("{word}s")
    }
}
