//! What a compaction keeps: as ctx-score has it.

use ctx_ledger::Ledger;
use ctx_ledger::score::{After, Score, Scorer};
use ctx_summary::Recognizer;
use ctx_transcript::{Message, Zone};

use super::content::Content;
use crate::PassError;
use crate::ledger::LedgerReader;

/// Scores `new` against the session that it was made of, whose ledger may be known.
pub fn score(before: &Content, ledger: Option<Ledger>, new: &Content) -> Result<Score, PassError> {
    let ledger = match ledger {
        Some(ledger) => ledger,
        None => read(before)?,
    };
    let mut after = After::new();
    messages(new, |_, message| after.push(message))?;
    let mut scorer = Scorer::with(ledger, after);
    if scorer.refers() {
        messages(before, |line, message| {
            scorer.look_for_originals(line, message);
        })?;
    }
    Ok(scorer.finish())
}

fn read(content: &Content) -> Result<Ledger, PassError> {
    let recognizer = Recognizer::default();
    let mut reader = LedgerReader::new(content.dialect);
    content.each(|record| {
        if let Some(object) = record.whole_object()
            && let Some(message) = record.message(Some(content.dialect))
        {
            match recognizer.summary_in(content.dialect, object, &message) {
                Some(text) => reader.push_earlier(&text),
                None => reader.push(record.line, &message, &record.untagged(), Zone::Old),
            }
        }
        Ok(())
    })?;
    Ok(reader.finish())
}

fn messages(content: &Content, mut visit: impl FnMut(u64, &Message<'_>)) -> Result<(), PassError> {
    content.each(|record| {
        if let Some(message) = record.message(Some(content.dialect)) {
            visit(record.line, &message);
        }
        Ok(())
    })
}
