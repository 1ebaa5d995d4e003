//! The records of a lowered log, and the records of the log that each of them comes from.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};

use ctx_format::convert::SourceId;
use ctx_format::{Message, Object};

use super::super::content::Content;
use crate::PassError;

/// The member of a lowered record that names its records in the log.
pub(super) const MARK: &str = "_source";

/// Lowered records by the record of the log that they come from.
pub(super) type ByRecord<'a> = HashMap<u64, Vec<&'a Marked>>;

/// A record of the lowered session.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) sources: Vec<SourceId>,
    /// Its text; empty if it was not requested.
    pub(super) text: String,
    /// The text of the summary that the compaction made, if it is that.
    pub(super) summary: Option<String>,
}

impl Marked {
    /// All records of a lowered session, with the texts of those that are `wanted`.
    pub(super) fn all(
        content: &Content,
        wanted: impl Fn(&Self) -> bool,
    ) -> Result<Vec<Self>, PassError> {
        let mut all = Vec::new();
        content.each(|record| {
            let Some(object) = record.whole_object() else {
                return Ok(());
            };
            let sources = object.elements_of(MARK).unwrap_or_default();
            let mut marked = Self {
                sources: sources.into_iter().filter_map(SourceId::parse).collect(),
                text: String::new(),
                summary: None,
            };
            if marked.sources.is_empty() {
                marked.summary = content.dialect.summary_text(object).map(Cow::into_owned);
            }
            if wanted(&marked) {
                object.text().trim().clone_into(&mut marked.text);
            }
            all.push(marked);
            Ok(())
        })?;
        Ok(all)
    }

    pub(super) fn by_record(all: &[Self]) -> ByRecord<'_> {
        let mut by_record = ByRecord::new();
        for marked in all {
            let records = marked.sources.iter().map(|source| source.record);
            for record in records.collect::<BTreeSet<u64>>() {
                by_record.entry(record).or_default().push(marked);
            }
        }
        by_record
    }

    pub(super) fn messages<'a>(lowered: &Content, objects: &[Object<'a>]) -> Vec<Message<'a>> {
        objects.iter().filter_map(|object| lowered.dialect.message(object)).collect()
    }
}
