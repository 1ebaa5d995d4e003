//! Batch records: the zones of a conversation's messages, in one tag.

use std::io::Write;

use crate::zones::{Facts, Splitter};
use ctx_format::{Conversation, Dialect, Outline, Piece, Record, Zone};

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
        splitter.push(Facts::Message { outline: &outline, tokens, pinned: pin.is_some() });
    }
    splitter.finish();
    splitter.map(|verdict| verdict.zone).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plan, split};

    const LINE: &str = r#"{"id":1,"messages":[{"role":"system","content":"x"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"what":1},{"role":"user","content":"c"}]}
"#;

    #[test]
    fn a_tag_has_the_zones_of_all_messages() {
        let (written, counts) = split(&plan(1), true, LINE);
        let tag = format!(
            r#"{{"_ctx":{{"zones":["system","old","old","old","keep"],"line":1,"bytes":{},"end":1}},"id":1"#,
            LINE.len() - 1
        );
        assert!(written.starts_with(&tag), "{written}");
        assert_eq!((counts.keep, counts.old), (1, 0));
    }

    #[test]
    fn pins_and_tokens_decide_in_each_conversation() {
        let mut plan = plan(1);
        plan.pins = vec!["role:assistant".parse().expect("a selector")];
        let (written, _) = split(&plan, true, LINE);
        let zones = r#""zones":["system","old","keep","keep","keep"]"#;
        assert!(written.contains(zones), "{written}");
    }

    #[test]
    fn what_is_no_conversation_passes_without_zones() {
        let input = "{\"no\":1}\nbroken\n".to_owned() + LINE;
        let (written, _) = split(&plan(1), true, &input);
        let first = "{\"_ctx\":{\"line\":1,\"bytes\":8},\"no\":1}\nbroken\n";
        assert!(written.starts_with(first), "{written}");
        assert!(written.contains("\"end\":3"), "{written}");
    }
}
