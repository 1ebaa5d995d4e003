//! One session: records and their facts in, tagged records out.

use std::io::Write;

use ctx_select::split::{Facts, Splitter};
use ctx_transcript::{Class, Dialect, Piece, Record, Tag};

use super::Plan;
use super::sink::{Item, Sink};
use crate::PassError;

/// Takes records; they go into the sink as they come, and get their zones in order.
pub(super) struct Stream<'a> {
    plan: &'a Plan,
    dialect: Option<&'static dyn Dialect>,
    splitter: Splitter,
    /// Bytes of a line that comes in pieces, so far.
    length: usize,
}

impl<'a> Stream<'a> {
    pub(super) fn new(plan: &'a Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            plan,
            dialect,
            splitter: Splitter::new(plan.keep),
            length: 0,
        }
    }

    pub(super) fn take(
        &mut self,
        record: &Record<'_>,
        sink: &mut Sink<impl Write>,
    ) -> Result<(), PassError> {
        let untagged = record.untagged();
        sink.spool(&untagged)?;
        self.length += untagged.len();
        if !matches!(record.piece, Piece::Whole | Piece::Last) {
            return Ok(());
        }
        let mut tag = record.tag().unwrap_or_default();
        tag.line = Some(record.line);
        let length = (untagged.len() - record.line_end().len()) as u64;
        let pin = self.facts(record, &mut tag, length);
        tag.bytes = Some(length);
        tag.pin = pin;
        let length = std::mem::take(&mut self.length);
        sink.expect(Item {
            length,
            splice: record.splice(),
            tag,
        });
        self.give(sink)
    }

    /// No more records come.
    pub(super) fn finish(&mut self, sink: &mut Sink<impl Write>) -> Result<(), PassError> {
        self.splitter.finish();
        self.give(sink)
    }

    /// Tells the splitter of the record; returns the selector that pins it.
    fn facts(&mut self, record: &Record<'_>, tag: &mut Tag, length: u64) -> Option<String> {
        if record.class == Class::Tail {
            self.splitter.push(Facts::Tail);
            return None;
        }
        let Some(outline) = record.outline(self.dialect) else {
            self.splitter.push(Facts::Line);
            return None;
        };
        let message = || record.message(self.dialect);
        let pin = self
            .plan
            .pins
            .iter()
            .find(|pin| pin.selects(record, outline.role, message));
        let tokens = self.plan.counter.as_ref().map_or(0, |counter| {
            let tokens = match self.dialect {
                Some(_) => counter.total(Some(tag), length, message),
                None => counter.text(&String::from_utf8_lossy(record.bytes)),
            };
            tag.tokens = Some(tokens);
            tag.encoding = Some(counter.encoding().name().to_owned());
            tokens
        });
        self.splitter.push(Facts::Message {
            outline: &outline,
            tokens,
            pinned: pin.is_some(),
        });
        pin.map(ToString::to_string)
    }

    /// Hands on what is decided.
    fn give(&mut self, sink: &mut Sink<impl Write>) -> Result<(), PassError> {
        while let Some(verdict) = self.splitter.next() {
            sink.decided(&verdict)?;
        }
        Ok(())
    }
}
