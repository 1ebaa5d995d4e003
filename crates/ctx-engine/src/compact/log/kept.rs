//! Finds which records of a log stay, and how their text changes.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::ptr;

use chrono::{DateTime, Utc};
use ctx_format::compaction::{CompactionWriter, with_changes};
use ctx_format::convert::SourceId;
use ctx_format::{Class, Log, Message, Object, Portion};

use super::super::content::Content;
use super::{ByRecord, Marked};
use crate::Result;

/// The log records that stay, in the order in which they appear in the context.
pub(super) struct KeptRecords {
    pub(super) groups: Vec<KeptRecord>,
    /// The number of kept records before the summary.
    pub(super) before_summary: usize,
}

/// A log record that stays, and which of its messages stay.
pub(super) struct KeptRecord {
    pub(super) record: u64,
    sources: Vec<SourceId>,
}

impl KeptRecords {
    /// Returns the log records from which the messages in `new`, the compacted plain session, were
    /// lowered.
    pub(super) fn of(new: &[Marked]) -> Self {
        let (mut groups, mut before_summary): (Vec<KeptRecord>, _) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        for marked in new {
            if marked.summary.is_some() {
                before_summary = groups.len();
            }
            for source in marked.sources.iter().filter(|source| seen.insert(**source)) {
                // Of one log record, some messages may come before the summary and some after it.
                let is_after = groups.len() > before_summary;
                match groups.last_mut() {
                    Some(last) if last.record == source.record && is_after => {
                        last.sources.push(*source);
                    }
                    _ => groups.push(KeptRecord { record: source.record, sources: vec![*source] }),
                }
            }
        }
        Self { groups, before_summary }
    }

    pub(super) fn sources(&self) -> Vec<SourceId> {
        self.groups.iter().flat_map(|group| group.sources.clone()).collect()
    }
}

impl KeptRecord {
    /// Returns the numbers of the messages that stay, or `None` if all stay.
    pub(super) fn messages(&self) -> Option<Vec<usize>> {
        self.sources.iter().map(|source| source.message).collect()
    }
}

/// The data needed to compact a log: the text of some of its records, and a writer that has read
/// the whole log.
pub(super) struct LogRecords {
    /// Writes the agent's own compaction records. `None` if the agent's format has no compaction
    /// records; the session is then rewritten.
    pub(super) writer: Option<Box<dyn CompactionWriter>>,
    /// The number of records in the log.
    pub(super) count: u64,
    /// The latest timestamp in any record of the log.
    pub(super) newest: Option<DateTime<Utc>>,
    texts: HashMap<u64, String>,
    last: Option<u64>,
}

impl LogRecords {
    pub(super) fn read(log: &Content, kept: &KeptRecords, context: &[SourceId]) -> Result<Self> {
        let mut records = Self {
            writer: log.dialect.log().map(Log::compaction_writer),
            count: 0,
            newest: None,
            texts: HashMap::new(),
            last: context.last().map(|last| last.record),
        };
        let context: HashSet<u64> = context.iter().map(|source| source.record).collect();
        let groups = kept.groups.iter().map(|group| group.record);
        let wanted: HashSet<u64> = groups.chain(records.last).collect();
        log.lines()?.each(|record| {
            if !record.piece.begins() {
                return Ok(());
            }
            // Some agents read only the first object in a line with several objects.
            let is_read = context.contains(&records.count) || record.class == Class::Object;
            let object = if is_read { record.object() } else { None };
            if let (Some(writer), Some(object)) = (&mut records.writer, object) {
                writer.push(object);
                records.newest = records.newest.max(object.time());
            }
            if let Some(object) = object
                && wanted.contains(&records.count)
            {
                records.texts.insert(records.count, object.text().trim().to_owned());
            }
            records.count += 1;
            Ok(())
        })?;
        Ok(records)
    }

    /// Returns the text of the last record in the context.
    pub(super) fn last(&self) -> &str {
        let last = self.last.and_then(|last| self.texts.get(&last));
        last.map_or("", String::as_str)
    }

    /// Returns the new text of each log record that stays, and whether the text has changed.
    /// `before` contains the records to which a log record was lowered, and `after` contains those
    /// that remain after the compaction. A text is `None` if nothing is left of the log record.
    pub(super) fn texts(
        &self,
        (log, lowered): (&Content, &Content),
        kept: &KeptRecords,
        before: &ByRecord<'_>,
        after: &ByRecord<'_>,
    ) -> Vec<Option<(String, bool)>> {
        let mut texts = Vec::new();
        // All lines of a reply are lowered to the same record, which is parsed only once.
        let is_shared = |all: &ByRecord<'_>, one: &KeptRecord, other: &KeptRecord| {
            of(all, one.record).map(ptr::from_ref).eq(of(all, other.record).map(ptr::from_ref))
        };
        let groups = kept
            .groups
            .chunk_by(|one, other| is_shared(before, one, other) && is_shared(after, one, other));
        for groups in groups {
            let [old, new] = [before, after].map(|all| objects(all, groups[0].record));
            let stays = old.iter().map(Object::text).eq(new.iter().map(Object::text));
            let messages = LazyCell::new(|| [&old, &new].map(|all| Marked::messages(lowered, all)));
            texts.extend(groups.iter().map(|group| {
                let text = self.texts.get(&group.record)?;
                if stays {
                    return Some((text.clone(), false));
                }
                changed(log, text, numbers(before, group.record), &messages)
            }));
        }
        texts
    }
}

/// Returns the numbers of the messages in a log record that were lowered, or `None` if all were.
fn numbers(before: &ByRecord<'_>, record: u64) -> Option<Vec<usize>> {
    let lowered = of(before, record).filter(|marked| !marked.text.is_empty());
    let sources = lowered.flat_map(|marked| &marked.sources);
    sources.filter(|source| source.record == record).map(|source| source.message).collect()
}

/// Returns the text of a log record of whose lowered messages only some stay.
fn changed(
    log: &Content,
    text: &str,
    numbers: Option<Vec<usize>>,
    [before, after]: &[Vec<Message<'_>>; 2],
) -> Option<(String, bool)> {
    let object = Object::parse(text).ok()?;
    let object = match numbers {
        Some(numbers) => object.only(Portion::of(numbers)),
        None => object,
    };
    let message = log.dialect.message(&object)?;
    let Some(new) = with_changes(&object, &message, before, after) else {
        return Some((text.to_owned(), false));
    };
    let left = Object::parse(&new).ok()?;
    let is_left = log.dialect.message(&left).is_some_and(|it| !it.parts.is_empty());
    is_left.then_some((new, true))
}

fn of<'a>(all: &ByRecord<'a>, record: u64) -> impl Iterator<Item = &'a Marked> {
    all.get(&record).into_iter().flatten().copied()
}

/// Returns the lowered records that come from the given log record.
fn objects<'a>(all: &ByRecord<'a>, record: u64) -> Vec<Object<'a>> {
    of(all, record).filter_map(|marked| Object::parse(&marked.text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A compaction of Codex may hold system messages, which come before the next summary, and
    /// messages that come after it.
    #[test]
    fn the_messages_of_one_record_come_before_and_after_the_summary() {
        let marked = |messages: &[usize], summary: Option<&str>| Marked {
            sources: messages.iter().map(|it| SourceId { record: 1, message: Some(*it) }).collect(),
            text: String::new(),
            summary: summary.map(str::to_owned),
        };
        let new =
            [marked(&[0], None), marked(&[], Some("s")), marked(&[2], None), marked(&[3], None)];
        let kept = KeptRecords::of(&new);
        let messages: Vec<_> = kept.groups.iter().map(KeptRecord::messages).collect();
        assert_eq!(messages, [Some(vec![0]), Some(vec![2, 3])]);
        assert_eq!(kept.before_summary, 1);
    }
}
