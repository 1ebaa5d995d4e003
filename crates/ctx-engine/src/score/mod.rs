//! How much of a session survived in another one, read from the records of both.

mod batch;
mod exam;
mod further;
mod later;
mod least;
mod listed;
#[cfg(test)]
mod tests;
mod told;

use ctx_format::{Dialect, Message, Object, Record, Zone};
use ctx_summary::ledger::Ledger;
use ctx_summary::ledger::score::{After, Score, Scorer};

use crate::ledger::LedgerReader;
use crate::summarize::recognizer;
use crate::{ErrorKind, PassError, Session};
pub use batch::{BatchScore, Side, Sided, TakeScore, score_batch};
pub use exam::{Exam, ExamError, Mark, Question, Recall, recall};
pub use further::Further;
pub use later::{Later, Measure, measures};
pub use least::shortfalls;
pub use listed::Listed;
pub use told::{Told, ToldBatch};

/// A longer session is not scored unasked, and a longer result not at all: its text is
/// searched in memory.
pub const MOST_SCORED_BYTES: u64 = 64 << 20;

/// What `after` has of the session with this ledger. The session is opened again only if `after`
/// refers to texts in it.
pub fn score(
    ledger: &Ledger,
    after: &mut Session,
    open_before: impl FnOnce() -> Result<Session, PassError>,
) -> Result<Score, PassError> {
    let mut scorer = Scorer::new(read_after(after, None)?);
    if scorer.refers() {
        each_message(&mut open_before()?, |found| {
            scorer.look_for_originals(found.record.line, &found.message);
            Ok(())
        })?;
    }
    Ok(scorer.finish(ledger))
}

/// Reads the current session, also for `further` measures.
pub fn read_after(
    session: &mut Session,
    mut further: Option<&mut Further>,
) -> Result<After, PassError> {
    let mut after = After::default();
    each_message(session, |found| {
        after.push(&found.message);
        if let Some(further) = &mut further {
            further.after(&found.message);
        }
        Ok(())
    })?;
    Ok(after)
}

/// Reads the old session, for references of the new one and for `further` measures.
pub fn read_before(
    session: &mut Session,
    mut scorer: Option<&mut Scorer>,
    mut further: Option<&mut Further>,
) -> Result<Ledger, PassError> {
    let recognizer = recognizer(None);
    let mut reader = session.dialect().map(|_| LedgerReader::default());
    each_message(session, |found| {
        let (record, message) = (found.record, &found.message);
        if let Some(reader) = &mut reader {
            if let Some(text) = recognizer.summary_in(found.dialect, found.object, message) {
                reader.push_earlier(&text);
            } else {
                let message = recognizer.as_said(message);
                reader.push(record.line, &message, record.bytes.len(), Zone::Old);
            }
        }
        if let Some(scorer) = &mut scorer {
            scorer.look_for_originals(record.line, message);
        }
        if let Some(further) = &mut further {
            further.before(message);
        }
        Ok(())
    })?;
    Ok(reader.map_or_else(Ledger::new, LedgerReader::finish))
}

/// A message of a session, and its position.
struct Found<'m> {
    record: &'m Record<'m>,
    object: &'m Object<'m>,
    dialect: &'static dyn Dialect,
    message: Message<'m>,
}

fn each_message(
    session: &mut Session,
    mut visit: impl FnMut(&Found<'_>) -> Result<(), PassError>,
) -> Result<(), PassError> {
    let dialect = session.dialect();
    session.each(|record| {
        let Some(object) = record.whole_object() else {
            return Ok(());
        };
        let unknown = || ErrorKind::NoFormat.at(record.line);
        let dialect = dialect.ok_or_else(unknown)?;
        let found =
            record.message(Some(dialect)).map(|message| Found { record, object, dialect, message });
        found.map_or(Ok(()), |found| visit(&found))
    })
}
