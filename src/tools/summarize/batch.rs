//! Batch records: one conversation a line, each with a summary of its own.

use ctx_cli::{Failure, Io};
use ctx_transcript::{Conversation, Dialect, Line, Piece, Record, Spool, Zone, ZoneReader};

use super::Plan;
use super::bad::Bad;
use super::old::OldZone;
use super::stream::{Done, HINT, summary_text};
use crate::checks::Checks;
use crate::tagged::cannot_spool;

/// Takes batch records; they wait in a spool for the end of the input.
pub(super) struct Batch<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    pub(super) zones: ZoneReader,
    spool: Spool,
    length: usize,
    bad: Bad,
}

impl<'p> Batch<'p> {
    pub(super) fn new(
        plan: &'p Plan,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
    ) -> Self {
        Self {
            plan,
            dialect,
            name,
            zones: ZoneReader::default(),
            spool: Spool::new(std::env::temp_dir()),
            length: 0,
            bad: Bad::default(),
        }
    }

    pub(super) fn take(&mut self, record: &Record<'_>, io: &mut Io) -> Result<(), Failure> {
        self.zones.read(record);
        if record.class.is_bad() {
            if matches!(record.piece, Piece::Whole | Piece::First) {
                self.bad.add(record, Zone::Keep, self.plan.drop_bad);
            }
            if self.plan.drop_bad {
                return Ok(());
            }
        }
        let untagged = record.untagged();
        match self.compacted(record, &untagged, io)? {
            Some(line) => self.push(&line),
            None => self.push(&untagged),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.length += bytes.len();
        self.spool.push(bytes).map_err(|error| cannot_spool(&error))
    }

    /// The line with its old messages summed up; `None` when nothing in it is old.
    fn compacted(
        &self,
        record: &Record<'_>,
        untagged: &[u8],
        io: &mut Io,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let zones = record.tag().and_then(|tag| tag.zones).unwrap_or_default();
        if !zones.contains(&Zone::Old) {
            return Ok(None);
        }
        let place = format!("{}:{}", self.name, record.line);
        // The tag shifts what stands behind it: looked at again without.
        let plain = Record::classify(Line {
            bytes: untagged,
            number: record.line,
            offset: record.offset,
            piece: record.piece,
        });
        let Some((object, conversation)) = plain
            .whole_object()
            .and_then(|object| Some((object, Conversation::of(object)?)))
            .filter(|(_, conversation)| conversation.messages.len() == zones.len())
        else {
            return Err(
                Failure::new("the zones of the tag are not those of the messages")
                    .at(self.name, Some(record.line))
                    .hint("run ctx-split --batch again"),
            );
        };
        let Some(dialect) = self.dialect else {
            return Err(
                Failure::new("the format is not known, so nothing can be summed up")
                    .at(self.name, Some(record.line))
                    .hint("--dialect names it"),
            );
        };
        let list = self.list(dialect, &conversation, &zones, &place, io)?;
        let at = untagged.len() - object.text().len() + conversation.start;
        let mut line = untagged[..at].to_vec();
        line.extend_from_slice(list.as_bytes());
        line.extend_from_slice(&untagged[at + conversation.list.len()..]);
        Ok(Some(line))
    }

    /// The list of messages with the summary in the place of the old ones; what
    /// stood between kept messages stays.
    fn list(
        &self,
        dialect: &'static dyn Dialect,
        conversation: &Conversation<'_>,
        zones: &[Zone],
        place: &str,
        io: &mut Io,
    ) -> Result<String, Failure> {
        let mut old = OldZone::new(self.plan);
        let mut checks = Checks::new(dialect.rules());
        let mut role = None;
        for (line, (object, zone)) in (1..).zip(conversation.messages.iter().zip(zones)) {
            let outline = dialect.outline(object);
            if let Some(outline) = &outline {
                checks.input(line, outline);
            }
            if *zone != Zone::Old {
                if let Some(outline) = &outline {
                    checks.output(line, outline);
                }
                if let Some(message) = dialect.message(object) {
                    old.push_kept(line, &message);
                }
                continue;
            }
            if role.is_none() {
                role = Some(checks.summary(dialect, self.plan.role));
            }
            if let Some(message) = dialect.message(object) {
                old.push(self.plan, dialect, object, (line, &message));
            }
        }
        checks.finish(self.plan.strict, HINT, place, io)?;
        let text = summary_text(self.plan, &old, place, io)?.text;
        let summary = dialect.summary_record(role.unwrap_or(self.plan.role), &text);
        Ok(replaced(conversation, zones, &summary))
    }

    pub(super) fn finish(self, io: &mut Io) -> Done {
        self.bad.report(self.name, io);
        Done::plain(self.spool, self.length)
    }
}

fn replaced(conversation: &Conversation<'_>, zones: &[Zone], summary: &str) -> String {
    let list = conversation.list;
    let mut written = String::new();
    let (mut end, mut placed) = (0, false);
    for (index, zone) in zones.iter().enumerate() {
        let place = conversation.place(index);
        let between = &list[end..place.start];
        end = place.end;
        let text = match zone {
            Zone::Old if placed => continue,
            Zone::Old => summary,
            _ => &list[place],
        };
        placed |= *zone == Zone::Old;
        written.push_str(between);
        written.push_str(text);
    }
    written.push_str(&list[end..]);
    written
}
