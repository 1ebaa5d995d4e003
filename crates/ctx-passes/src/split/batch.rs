//! Batch records: the zones of a conversation's messages, in one tag.

use std::io::Write;

use ctx_select::split::{Facts, Splitter};
use ctx_transcript::{Conversation, Dialect, Outline, Piece, Record, Zone};

use super::Plan;
use super::sink::Sink;
use crate::{PassError, pins};

/// Tags one record with the zones of its messages. What is no conversation
/// passes with a tag that names none.
pub(super) fn split(
    plan: &Plan,
    dialect: Option<&'static dyn Dialect>,
    record: &Record<'_>,
    sink: &mut Sink<impl Write>,
) -> Result<(), PassError> {
    let untagged = record.untagged();
    let mut tag = record.tag().unwrap_or_default();
    tag.line = Some(record.line);
    tag.bytes = Some((untagged.len() - record.line_end().len()) as u64);
    tag.end = None;
    tag.zones = record
        .whole_object()
        .and_then(Conversation::of)
        .map(|conversation| zones(plan, dialect, record, &conversation));
    let splice = record.splice().filter(|_| record.piece == Piece::Whole);
    sink.tagged(&untagged, splice, tag)
}

fn zones(
    plan: &Plan,
    dialect: Option<&'static dyn Dialect>,
    record: &Record<'_>,
    conversation: &Conversation<'_>,
) -> Vec<Zone> {
    let mut splitter = Splitter::new(plan.keep);
    for object in &conversation.messages {
        let outline = match dialect {
            Some(dialect) => dialect.outline(object),
            None => Some(Outline::of_line()),
        };
        let Some(outline) = outline else {
            splitter.push(Facts::Line);
            continue;
        };
        let message = || dialect.and_then(|dialect| dialect.message(object));
        let pin = pins::first(&plan.pins, record, outline.role, message);
        let tokens = plan.counter.as_ref().map_or(0, |counter| match message() {
            Some(message) => counter.message(&message).total(),
            None => counter.text(object.text()),
        });
        splitter.push(Facts::Message {
            outline: &outline,
            tokens,
            pinned: pin.is_some(),
        });
    }
    splitter.finish();
    std::iter::from_fn(|| splitter.next())
        .map(|verdict| verdict.zone)
        .collect()
}
