//! Scores two batches line by line: how much of each conversation in the old batch survived in the
//! same line of the new batch.

use std::io::{Cursor, Read};
use std::num::NonZeroUsize;

use ctx_format::{Class, Dialect, Frame, Options, Origin, Records};
use ctx_summary::ledger::score::{Row, Score, Scorer};

use super::{read_after, read_before};
use crate::parallel::in_order;
use crate::{ErrorKind, Invalid, PassError, Result, Session};

/// One of the two batches to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The batch with the old sessions.
    Before,
    /// The batch with the new sessions.
    After,
}

/// A result, or an error and the batch that caused it.
pub type Sided<T> = Result<T, (Side, PassError)>;

/// A function that receives the score of each line, in line order.
pub type TakeScore<'t> = dyn FnMut(u64, Sided<Score>) -> Sided<()> + 't;

/// Scores each conversation in a batch, several at a time. Lines that are blank in both batches are
/// skipped. The errors of lines that cannot be scored are passed to `take`, and scoring continues
/// with the next line.
pub fn score_batch(
    [before, after]: [Box<dyn Read + Send>; 2],
    dialect: Option<&'static dyn Dialect>,
    jobs: NonZeroUsize,
    take: &mut TakeScore<'_>,
) -> Sided<()> {
    let mut before = Lines::open(before).map_err(|error| (Side::Before, error))?;
    let mut after = Lines::open(after).map_err(|error| (Side::After, error))?;
    in_order(
        jobs,
        |push| {
            loop {
                let one = before.next().map_err(|error| (Side::Before, error))?;
                let other = after.next().map_err(|error| (Side::After, error))?;
                let (one, other) = match (one, other) {
                    (None, None) => return Ok(()),
                    (Some(one), Some(other)) => (one, other),
                    (one, other) => {
                        let side = if one.is_some() { Side::After } else { Side::Before };
                        let line = one.or(other).map_or(0, |line| line.origin.line);
                        return Err((side, ErrorKind::NoSuchLine(line).into()));
                    }
                };
                if !(one.is_blank() && other.is_blank()) {
                    let bytes = one.bytes.len() + other.bytes.len();
                    push((one, other), bytes)?;
                }
            }
        },
        |(one, other)| (one.origin.line, score(&one, &other, dialect)),
        |(line, score)| take(line, score),
    )
}

fn score(before: &Line, after: &Line, dialect: Option<&'static dyn Dialect>) -> Sided<Score> {
    let failed = |side| move |error: PassError| (side, error.at(before.origin.line));
    let mut new = after.session(dialect).map_err(failed(Side::After))?;
    let new = read_after(&mut new, None).map_err(failed(Side::After))?;
    let mut scorer = Scorer::new(new);
    let mut old = before.session(dialect).map_err(failed(Side::Before))?;
    let ledger = read_before(&mut old, Some(&mut scorer), None).map_err(failed(Side::Before))?;
    Ok(scorer.finish(&ledger))
}

/// Reads a batch line by line, without parsing the lines.
struct Lines(Records<Box<dyn Read + Send>>);

/// A line in a batch, or just its beginning if the line is too long.
struct Line {
    origin: Origin,
    bytes: Vec<u8>,
}

impl Lines {
    fn open(reader: Box<dyn Read + Send>) -> Result<Self> {
        let options = Options { raw: true, batch: true, ..Options::default() };
        Ok(Self(Records::open(reader, &options).map_err(ErrorKind::Read)?))
    }

    fn next(&mut self) -> Result<Option<Line>> {
        while let Some(record) = self.0.next().map_err(ErrorKind::Read)? {
            if record.piece.begins() {
                return Ok(Some(Line {
                    origin: record.origin.clone(),
                    bytes: record.bytes.to_vec(),
                }));
            }
        }
        Ok(None)
    }
}

impl Line {
    fn is_blank(&self) -> bool {
        self.bytes.trim_ascii().is_empty()
    }

    /// Opens the conversation in this line as a session.
    fn session(&self, dialect: Option<&'static dyn Dialect>) -> Result<Session> {
        let record = self.origin.clone().record(&self.bytes);
        let no_conversation = || {
            ErrorKind::NoConversation(match record.class {
                Class::Object => "no list of messages".to_owned(),
                _ => record.why_bad(),
            })
        };
        let lines = Frame::of_record(&record).ok_or_else(no_conversation)?.lines();
        let options = Options { dialect, ..Options::default() };
        Session::open(Box::new(Cursor::new(lines)), &options, Invalid::Fail)
    }
}

/// The scores of all conversations in a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchScore {
    /// The number of scored conversations.
    pub scored: u64,
    /// The number of conversations that could not be scored.
    pub failed: u64,
    /// The line of the conversation that kept the smallest share of its items, and that share.
    pub least: Option<(u64, f64)>,
    kept: f64,
    rows: Option<[Row; 8]>,
    /// For each class, the number of conversations with items in that class.
    with_items: [u64; 8],
}

impl BatchScore {
    /// Adds the score of the next conversation.
    pub fn add(&mut self, line: u64, score: &Score) {
        let kept = score.items_kept();
        self.scored += 1;
        self.kept += kept;
        if self.least.is_none_or(|(_, least)| kept < least) {
            self.least = Some((line, kept));
        }
        let rows = self.rows.get_or_insert_with(|| Score::default().rows());
        for ((row, new), count) in rows.iter_mut().zip(score.rows()).zip(&mut self.with_items) {
            *count += u64::from(new.score.is_some());
            add(row, &new);
        }
    }

    /// Returns the mean share of items kept, or 1 if there are no conversations.
    pub fn items_kept(&self) -> f64 {
        match self.scored {
            0 => 1.0,
            scored => self.kept / scored as f64,
        }
    }

    /// Returns the figures for each class, with counts added up and scores averaged.
    pub fn rows(&self) -> [Row; 8] {
        let mut rows = self.rows.unwrap_or_else(|| Score::default().rows());
        for (row, count) in rows.iter_mut().zip(self.with_items) {
            row.score = row.score.map(|sum| sum / count as f64);
        }
        rows
    }
}

fn add(sum: &mut Row, row: &Row) {
    sum.total += row.total;
    sum.retained += row.retained;
    sum.recoverable += row.recoverable;
    sum.saved += row.saved;
    sum.lost += row.lost;
    sum.retired += row.retired;
    if let Some(score) = row.score {
        sum.score = Some(sum.score.unwrap_or_default() + score);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::num::NonZeroUsize;

    use super::{BatchScore, Side, score_batch};

    const LONG: &str = r#"{"messages":[{"role":"user","content":"Refund order W8123."},{"role":"assistant","content":"Done."}]}"#;
    const SHORT: &str = r#"{"messages":[{"role":"user","content":"Something."}]}"#;

    /// Returns each line with its share or error, and the overall result.
    fn scores(before: &[&str], after: &[&str], jobs: usize) -> (Vec<String>, BatchScore) {
        let reader = |lines: &[&str]| Box::new(Cursor::new(lines.join("\n") + "\n")) as _;
        let mut told = Vec::new();
        let mut all = BatchScore::default();
        let ended = score_batch(
            [reader(before), reader(after)],
            None,
            NonZeroUsize::new(jobs).expect("not zero"),
            &mut |line, score| {
                told.push(match score {
                    Ok(score) => {
                        all.add(line, &score);
                        format!("{line}: {:.1}", score.items_kept())
                    }
                    Err((side, error)) => format!("{line}: {side:?}: {}", error.kind),
                });
                Ok(())
            },
        );
        if let Err((side, error)) = ended {
            told.push(format!("{side:?}: {}", error.kind));
        }
        (told, all)
    }

    /// With any number of jobs, the lines are scored in the same order. The error for a line that
    /// cannot be scored takes the place of the score.
    #[test]
    fn each_line_is_scored_against_the_same_line() {
        let before = [LONG, "", "no JSON", "{}", LONG];
        let after = [LONG, "", "no JSON", "{}", SHORT];
        let alone = scores(&before, &after, 1);
        assert_eq!(
            alone.0,
            [
                "1: 1.0",
                "3: After: not a conversation (not JSON: expected ident at column 2)",
                "4: After: not a conversation (no list of messages)",
                "5: 0.0",
            ]
        );
        for jobs in [2, 7] {
            assert_eq!(scores(&before, &after, jobs), alone);
        }
        let all = alone.1;
        assert_eq!((all.scored, all.least), (2, Some((5, 0.0))));
        assert!((all.items_kept() - 0.5).abs() < 1e-12);
        let asks = all.rows()[0];
        assert_eq!((asks.total, asks.retained, asks.lost), (2, 1, 1));
        assert!((asks.score.expect("asks") - 0.5).abs() < 1e-12);
    }

    #[test]
    fn both_have_the_same_number_of_lines() {
        let (told, _) = scores(&[LONG, LONG], &[LONG], 2);
        assert_eq!(told, ["1: 1.0", "After: there is no line 2"]);
        let (told, _) = scores(&[LONG], &[LONG, LONG], 1);
        assert_eq!(told, ["1: 1.0", "Before: there is no line 2"]);
        assert_ne!(Side::Before, Side::After);
    }

    #[test]
    fn of_no_conversation_nothing_is_lost() {
        let (told, all) = scores(&[""], &[""], 2);
        assert!(told.is_empty());
        assert!((all.items_kept() - 1.0).abs() < 1e-12);
        assert!(all.rows().iter().all(|row| row.score.is_none()));
    }
}
