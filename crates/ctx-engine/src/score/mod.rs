//! Measures how much of a session survives in another session by comparing their records.

mod batch;
mod exam;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};

use ctx_format::{Message, Part, Record};
use ctx_summary::ledger::Ledger;
use ctx_summary::ledger::score::{
    After, Future, Needed, Score, Scored, Scorer, Standing, rounded_share,
};
use serde::Serialize;

use crate::ledger::LedgerReader;
use crate::summarize::recognizer;
use crate::{ErrorKind, Result, Session};

pub use batch::{BatchScore, Side, Sided, TakeScore, score_batch};
pub use exam::{Exam, Mark, Question, Recall, recall};

/// The maximum length, in bytes, of sessions that are scored by default. Longer sessions are scored
/// only on request. A longer compacted session is never scored, because its text is searched in
/// memory.
pub const MOST_SCORED_BYTES: u64 = 64 << 20;

/// Scores how much of the old session survives in `after`. `ledger` is the ledger of the old
/// session. The old session is opened again only if `after` refers to its texts.
pub fn score(
    ledger: &Ledger,
    after: &mut Session,
    open_before: impl FnOnce() -> Result<Session>,
) -> Result<Score> {
    let mut scorer = Scorer::new(read_after(after, None)?);
    if scorer.refers() {
        each_message(&mut open_before()?, |record, message| {
            scorer.look_for_originals(record.line, message);
            Ok(())
        })?;
    }
    Ok(scorer.finish(ledger))
}

/// Reads the new session, and also passes its messages to the measures in `further`.
pub fn read_after(session: &mut Session, mut further: Option<&mut Further>) -> Result<After> {
    let mut after = After::default();
    each_message(session, |_, message| {
        after.push(message);
        if let Some(further) = &mut further {
            further.after(message);
        }
        Ok(())
    })?;
    Ok(after)
}

/// Reads the old session, and returns its ledger. The messages are also passed to the measures in
/// `further`, and to the scorer, which looks for the texts to which the new session refers.
pub fn read_before(
    session: &mut Session,
    mut scorer: Option<&mut Scorer>,
    mut further: Option<&mut Further>,
) -> Result<Ledger> {
    let recognizer = recognizer(None);
    let dialect = session.dialect();
    let mut reader = dialect.map(|dialect| (dialect, LedgerReader::default()));
    each_message(session, |record, message| {
        if let Some((dialect, reader)) = &mut reader {
            reader.push_old(record, message, *dialect, &recognizer);
        }
        if let Some(scorer) = &mut scorer {
            scorer.look_for_originals(record.line, message);
        }
        if let Some(further) = &mut further {
            further.before(message);
        }
        Ok(())
    })?;
    Ok(reader.map_or_else(Ledger::default, |(_, reader)| reader.finish()))
}

/// Passes each message and its record to `visit`.
fn each_message(
    session: &mut Session,
    mut visit: impl FnMut(&Record<'_>, &Message<'_>) -> Result<()>,
) -> Result<()> {
    let dialect = session.dialect();
    session.each(|record| record.message(dialect).map_or(Ok(()), |message| visit(record, &message)))
}

/// Additional measures, which receive every message in both sessions.
#[derive(Default)]
pub struct Further {
    /// Measures which of the values needed later were kept.
    pub later: Option<Later>,
    /// Measures which questions can still be answered.
    pub exam: Option<Exam>,
}

impl Further {
    fn after(&mut self, message: &Message<'_>) {
        if let Some(later) = &mut self.later {
            later.future.push_after(message);
        }
        if let Some(exam) = &mut self.exam {
            exam.after(message);
        }
    }

    fn before(&mut self, message: &Message<'_>) {
        if let Some(later) = &mut self.later {
            later.future.push_before(message);
            later.begins.push(digest(message));
        }
        if let Some(exam) = &mut self.exam {
            exam.before(message);
        }
    }
}

/// Returns a sentence for each figure in the score that is below its minimum.
pub fn shortfalls(
    score: &Score,
    marks: Option<&[Mark<'_>]>,
    min_items: Option<f64>,
    min_evidence: Option<f64>,
) -> Vec<String> {
    let evidence = marks.and_then(|marks| Recall::of(None, marks).share);
    let asked = [
        ("weighted share of items kept", Some(score.items_kept()), min_items),
        ("evidence recall", evidence, min_evidence),
    ];
    let shortfall = |(what, share, min): (&str, Option<f64>, Option<f64>)| match (share, min?) {
        (Some(share), min) if share < min => {
            Some(format!("the {what} is {share:.3}, which is below {min}"))
        }
        (Some(_), _) => None,
        (None, _) => Some("none of the questions can be answered from BEFORE".to_owned()),
    };
    asked.into_iter().filter_map(shortfall).collect()
}

/// What --list can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Listed {
    /// Items in AFTER
    Retained,
    /// Items that AFTER refers to or that are in a snapshot
    Recoverable,
    /// Items that are in neither AFTER nor a snapshot
    Lost,
    /// The questions of --evidence: + kept, - lost, ? not in BEFORE
    Questions,
}

impl Listed {
    /// Returns the items with this status. Questions are not items, so for them the list is empty.
    pub fn of(self, score: &Score) -> impl Iterator<Item = &Scored> {
        score.items.iter().filter(move |item| self.has(item.standing))
    }

    fn has(self, standing: Standing) -> bool {
        match standing {
            Standing::Retained => self == Self::Retained,
            Standing::Recoverable | Standing::Saved => self == Self::Recoverable,
            Standing::Lost => self == Self::Lost,
        }
    }
}

/// Measures how many of the values needed in the continuation of the old session were kept.
#[derive(Default)]
pub struct Later {
    /// Finds how many of the needed values were kept.
    pub future: Future,
    /// The digests of the old session's messages, in order.
    begins: Vec<u64>,
}

impl Later {
    /// Reads the full session, which must begin with the messages of the old session.
    pub fn read_full(&mut self, session: &mut Session) -> Result<()> {
        let mut begins = self.begins.iter();
        each_message(session, |record, message| {
            match begins.next() {
                None => self.future.push_later(message),
                Some(expected) if *expected == digest(message) => {}
                Some(_) => return Err(ErrorKind::OtherBeginning.at(record.line)),
            }
            Ok(())
        })?;
        if begins.next().is_some() {
            return Err(ErrorKind::OtherBeginning.into());
        }
        Ok(())
    }
}

/// How many of the values needed later were kept, according to one measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Measure {
    /// The measure's name in readable output.
    #[serde(skip)]
    pub name: &'static str,
    /// The measure's JSON key.
    #[serde(skip)]
    pub key: &'static str,
    /// The number of needed values.
    pub needed: u64,
    /// The number of needed values that were kept.
    pub kept: u64,
    /// `kept` divided by `needed`, or `None` if nothing was needed.
    #[serde(serialize_with = "rounded_share")]
    pub share: Option<f64>,
}

/// Returns how many of the values needed later were kept, according to each measure.
pub fn measures(needed: Needed) -> [Measure; 3] {
    let of = |name, key, needed, kept| {
        let share = (needed > 0).then(|| kept as f64 / needed as f64);
        Measure { name, key, needed, kept, share }
    };
    [
        of("A_must", "a_must", needed.total, needed.kept),
        of("A_ctx", "a_ctx", needed.total, needed.in_context),
        of("A_ctxfar", "a_ctxfar", needed.far, needed.far_in_context),
    ]
}

/// Returns a digest of a message's text, regardless of how the JSON is written.
fn digest(message: &Message<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    message.role.hash(&mut hasher);
    hash_parts(&message.parts, &mut hasher);
    hasher.finish()
}

fn hash_parts(parts: &[Part<'_>], hasher: &mut DefaultHasher) {
    for part in parts {
        match part {
            Part::Text(text) => text.hash(hasher),
            Part::Call(call) => call.name.hash(hasher),
            Part::Result(result) => hash_parts(&result.parts, hasher),
            _ => {}
        }
    }
}

#[cfg(test)]
mod least_tests {
    use ctx_summary::ledger::score::Score;

    use super::shortfalls;

    #[test]
    fn only_what_is_asked_for_can_fall_short() {
        // An empty session loses nothing, so its share is 1.
        let score = Score::default();
        assert_eq!(shortfalls(&score, None, None, None), [""; 0]);
        assert_eq!(shortfalls(&score, None, Some(1.0), None), [""; 0]);
        assert_eq!(
            shortfalls(&score, Some(&[]), Some(1.5), Some(0.5)),
            [
                "the weighted share of items kept is 1.000, which is below 1.5",
                "none of the questions can be answered from BEFORE"
            ]
        );
    }
}

#[cfg(test)]
mod listed_tests {
    use ctx_summary::ledger::score::Standing;

    use super::Listed;

    #[test]
    fn what_only_a_snapshot_has_is_listed_as_recoverable() {
        let has = |listed: Listed| {
            let standings =
                [Standing::Retained, Standing::Recoverable, Standing::Saved, Standing::Lost];
            standings.map(|standing| listed.has(standing))
        };
        assert_eq!(has(Listed::Retained), [true, false, false, false]);
        assert_eq!(has(Listed::Recoverable), [false, true, true, false]);
        assert_eq!(has(Listed::Lost), [false, false, false, true]);
    }
}

#[cfg(test)]
mod later_tests {
    use ctx_format::{Dialect, Object, dialect};

    use super::digest;

    fn of(name: &str, record: &str) -> u64 {
        let object = Object::parse(record).expect("an object");
        let dialect = dialect::by_name(name).expect("a dialect");
        digest(&Dialect::message(dialect, &object).expect("a message"))
    }

    #[test]
    fn a_message_is_the_same_however_its_json_is_written() {
        let one = of("chat", r#"{"role":"user","content":"a/b"}"#);
        let same = r#"{ "content":[{"type":"text","text":"a\/b"}], "role":"user", "ts":1}"#;
        assert_eq!(of("chat", same), one);
        assert_ne!(of("chat", r#"{"role":"user","content":"a/c"}"#), one);
        assert_ne!(of("chat", r#"{"role":"assistant","content":"a/b"}"#), one);
    }

    #[test]
    fn results_and_the_names_of_calls_count() {
        let call = |name: &str, arguments: &str| {
            let call = format!(
                r#"{{"id":"c","type":"function","function":{{"name":"{name}","arguments":"{arguments}"}}}}"#
            );
            of("chat", &format!(r#"{{"role":"assistant","content":null,"tool_calls":[{call}]}}"#))
        };
        assert_eq!(call("ls", ""), call("ls", "x"));
        assert_ne!(call("ls", ""), call("cat", ""));
        let result = |text: &str| {
            of("chat", &format!(r#"{{"role":"tool","tool_call_id":"c","content":"{text}"}}"#))
        };
        assert_ne!(result("a"), result("b"));
    }
}
