//! Records that say which records of a log they are made of.

use std::collections::{BTreeSet, HashMap};

use ctx_convert::SourceId;
use ctx_transcript::{Message, Object};

use super::super::content::Content;
use crate::PassError;

/// The member that says it.
pub(super) const MARK: &str = "_source";

/// Records of a plain session by the record of the log that they come from.
pub(super) type ByRecord<'a> = HashMap<u64, Vec<&'a Marked>>;

/// A record of the plain session.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) origins: Vec<SourceId>,
    /// Its text; empty where nobody asked for it.
    pub(super) text: String,
    /// What it summarizes; only of the summary that a compaction made.
    pub(super) summary: Option<String>,
}

impl Marked {
    /// All records of a plain session, with the texts of those that are `wanted`.
    pub(super) fn all(
        content: &Content,
        wanted: impl Fn(&Self) -> bool,
    ) -> Result<Vec<Self>, PassError> {
        let mut all = Vec::new();
        content.each(|record| {
            let Some(object) = record.whole_object() else {
                return Ok(());
            };
            let origins = object.elements_of(MARK).unwrap_or_default();
            let mut marked = Self {
                origins: origins.into_iter().filter_map(SourceId::parse).collect(),
                text: String::new(),
                summary: None,
            };
            if marked.origins.is_empty() {
                let summary = content.dialect.summary_text(object);
                marked.summary = summary.map(std::borrow::Cow::into_owned);
            }
            if wanted(&marked) {
                object.text().trim().clone_into(&mut marked.text);
            }
            all.push(marked);
            Ok(())
        })?;
        Ok(all)
    }

    /// The records of a plain session by the record of the log that they come from.
    pub(super) fn by_record(all: &[Self]) -> ByRecord<'_> {
        let mut by_record = ByRecord::new();
        for marked in all {
            let records = marked.origins.iter().map(|origin| origin.record);
            for record in records.collect::<BTreeSet<u64>>() {
                by_record.entry(record).or_default().push(marked);
            }
        }
        by_record
    }

    /// Reads such messages.
    pub(super) fn messages<'a>(plain: &Content, objects: &[Object<'a>]) -> Vec<Message<'a>> {
        let messages = objects.iter().map(|object| plain.dialect.message(object));
        messages.flatten().collect()
    }
}
