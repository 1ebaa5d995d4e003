//! What a compaction keeps, for the audit log and for programs: as ctx-score has it.
//!
//! The session is read for its ledger in a thread of its own while it is compacted,
//! since that takes about as long; a long session is only scored when that is asked
//! for. A score that cannot be had hinders nothing.

use std::fs::File;

use ctx_cli::Failure;
use ctx_ledger::Ledger;
use ctx_ledger::score::{After, Score, Scorer};
use ctx_store::{Standing, Survived};
use ctx_summary::Recognizer;
use ctx_transcript::{Message, Zone};

use super::stages::Source;
use crate::session::Session;

/// A longer session is not scored unasked, and a longer result not at all: its text is
/// searched in memory.
const MOST_BYTES: u64 = 64 << 20;

/// A session that is to be scored.
pub(super) struct Scoring<'a> {
    source: Source,
    input: &'a File,
    wanted: bool,
}

impl<'a> Scoring<'a> {
    /// `asked`: whether somebody said that it is to be scored, or not.
    pub(super) fn of(source: &Source, input: &'a File, asked: Option<bool>) -> Self {
        let is_short = || input.metadata().is_ok_and(|file| file.len() <= MOST_BYTES);
        Self {
            source: source.clone(),
            input,
            wanted: asked.unwrap_or_else(is_short),
        }
    }

    /// Does `work`, and reads the session's ledger meanwhile if that is wanted.
    pub(super) fn beside<T>(&self, work: impl FnOnce() -> T) -> (T, Option<Ledger>) {
        if !self.wanted {
            return (work(), None);
        }
        std::thread::scope(|scope| {
            let ledger = scope.spawn(|| self.ledger());
            let done = work();
            (done, ledger.join().ok().and_then(Result::ok))
        })
    }

    fn ledger(&self) -> Result<Ledger, Failure> {
        let mut ledger = Ledger::new();
        let session = self.source.session_apart(self.input)?;
        self.messages(session, |line, message, earlier| match earlier {
            Some(text) => ledger.push_earlier(&text),
            None => ledger.push(line, message, Zone::Old),
        })?;
        Ok(ledger)
    }

    /// What of it is in the new content.
    pub(super) fn score(&self, ledger: Ledger, new: &File) -> Option<Score> {
        let length = new.metadata().ok()?.len();
        if length > MOST_BYTES {
            return None;
        }
        let mut after = After::new();
        let session = self.source.session_apart(new).ok()?;
        self.messages(session, |_, message, _| after.push(message))
            .ok()?;
        let mut scorer = Scorer::with(ledger, after);
        if scorer.refers() {
            let session = self.source.session_apart(self.input).ok()?;
            let look = |line, message: &Message<'_>, _| scorer.look_for_originals(line, message);
            self.messages(session, look).ok()?;
        }
        Some(scorer.finish())
    }

    fn messages(
        &self,
        mut session: Session,
        mut visit: impl FnMut(u64, &Message<'_>, Option<String>),
    ) -> Result<(), Failure> {
        let recognizer = Recognizer::default();
        let dialect = self.source.dialect;
        session.each(|record| {
            if let Some(object) = record.whole_object()
                && let Some(message) = dialect.message(object)
            {
                let earlier = recognizer.summary_in(dialect, object, &message);
                visit(record.line, &message, earlier);
            }
            Ok(())
        })
    }
}

/// The figures for the audit log: how many, never what.
pub(super) fn survived(score: &Score) -> Survived {
    let rows = score.rows().into_iter().filter(|row| row.total > 0);
    rows.map(|row| {
        let standing = Standing {
            retained: row.retained,
            recoverable: row.recoverable,
            lost: row.lost,
        };
        (row.class.as_str(), standing)
    })
    .collect()
}
