//! Which records of a log stay, and what they are like then.

use std::collections::{HashMap, HashSet};

use ctx_convert::SourceId;
use ctx_transcript::compaction::{CompactionWriter, with_changes};
use ctx_transcript::{Class, Message, Object, Portion};

use super::super::content::Content;
use super::marked::{ByRecord, Marked};
use crate::PassError;

/// The records that stay, in their order.
pub(super) struct Stay {
    pub(super) groups: Vec<Group>,
    /// How many of them stand before the summary.
    pub(super) before: usize,
}

/// A record, and which of its messages stay.
pub(super) struct Group {
    pub(super) record: u64,
    origins: Vec<SourceId>,
}

/// The log, as far as it has to be read again.
pub(super) struct Origins {
    /// What writes lines to append; `None` where the session is written anew.
    pub(super) writer: Option<Box<dyn CompactionWriter>>,
    /// How many records there are.
    pub(super) records: u64,
    texts: HashMap<u64, String>,
    last: Option<u64>,
}

impl Stay {
    /// Of what a compaction left of the plain session.
    pub(super) fn of(new: &[Marked]) -> Self {
        let (mut groups, mut before): (Vec<Group>, _) = (Vec::new(), 0);
        let mut seen = HashSet::new();
        for marked in new {
            if marked.summary.is_some() {
                before = groups.len();
            }
            for origin in marked.origins.iter().filter(|origin| seen.insert(**origin)) {
                match groups.last_mut() {
                    Some(last) if last.record == origin.record => last.origins.push(*origin),
                    _ => groups.push(Group {
                        record: origin.record,
                        origins: vec![*origin],
                    }),
                }
            }
        }
        Self { groups, before }
    }

    pub(super) fn origins(&self) -> Vec<SourceId> {
        let groups = self.groups.iter();
        groups.flat_map(|group| group.origins.clone()).collect()
    }
}

impl Group {
    /// The numbers of its messages that stay; `None` for all.
    pub(super) fn messages(&self) -> Option<Vec<usize>> {
        self.origins.iter().map(|origin| origin.message).collect()
    }
}

impl Origins {
    /// Reads the log: what stays of it, the last record of its context, and what else has to
    /// be known of it.
    pub(super) fn read(
        log: &Content,
        stay: &Stay,
        context: &[SourceId],
    ) -> Result<Self, PassError> {
        let mut origins = Self {
            writer: log.dialect.compaction_writer(),
            records: 0,
            texts: HashMap::new(),
            last: context.last().map(|last| last.record),
        };
        let context: HashSet<u64> = context.iter().map(|origin| origin.record).collect();
        let groups = stay.groups.iter().map(|group| group.record);
        let wanted: HashSet<u64> = groups.chain(origins.last).collect();
        log.lines()?.each(|record| {
            if !record.piece.begins() {
                return Ok(());
            }
            // Of a line with several objects the agent may read the first.
            let is_read = context.contains(&origins.records);
            let object = record.object();
            let object = object.filter(|_| is_read || record.class == Class::Object);
            if let Some(writer) = &mut origins.writer {
                writer.push(object);
            }
            if let Some(object) = object.filter(|_| wanted.contains(&origins.records)) {
                let text = object.text().trim().to_owned();
                origins.texts.insert(origins.records, text);
            }
            origins.records += 1;
            Ok(())
        })?;
        Ok(origins)
    }

    /// The last record of the context.
    pub(super) fn last(&self) -> &str {
        let last = self.last.and_then(|last| self.texts.get(&last));
        last.map_or("", String::as_str)
    }

    /// What becomes of a record of which `before` was made, and `after` is left: its text,
    /// and whether that has changed. `None` where nothing is left of it.
    pub(super) fn text_of(
        &self,
        (log, plain): (&Content, &Content),
        group: &Group,
        before: &ByRecord<'_>,
        after: &ByRecord<'_>,
    ) -> Option<(String, bool)> {
        let text = self.texts.get(&group.record)?;
        // Of a list, those of its messages that `before` was made of.
        let read = before.get(&group.record).into_iter().flatten();
        let read = read.filter(|marked| !marked.text.is_empty());
        let read = read.flat_map(|marked| &marked.origins);
        let read = read.filter(|origin| origin.record == group.record);
        let read: Option<Vec<usize>> = read.map(|origin| origin.message).collect();
        let [before, after] = [before, after].map(|all| {
            let all = all.get(&group.record).into_iter().flatten();
            let objects = all.filter_map(|marked| Object::parse(&marked.text).ok());
            objects.collect::<Vec<Object<'_>>>()
        });
        let texts = |objects: &[Object<'_>]| -> Vec<String> {
            let texts = objects.iter().map(|object| object.text().to_owned());
            texts.collect()
        };
        if texts(&before) == texts(&after) {
            return Some((text.clone(), false));
        }
        let [before, after] = [&before, &after].map(|objects| Marked::messages(plain, objects));
        let object = Object::parse(text).ok()?;
        let object = match read {
            Some(numbers) => object.only(Portion::of(numbers)),
            None => object,
        };
        let message = log.dialect.message(&object)?;
        let Some(new) = with_changes(&object, &message, &before, &after) else {
            return Some((text.clone(), false));
        };
        let left = Object::parse(&new).ok()?;
        let is_left = |message: Message<'_>| !message.parts.is_empty();
        let is_left = log.dialect.message(&left).is_some_and(is_left);
        is_left.then_some((new, true))
    }
}
