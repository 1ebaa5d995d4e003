//! Which messages are read: by their zone where a stream has zones.

use ctx_cli::Failure;
use ctx_memory::{Extractor, Item};
use ctx_transcript::{Conversation, Dialect, Object, Record, Role, Zone, ZoneReader};

use super::Wanted;

/// Picks the messages of one input.
pub(super) struct Selector {
    dialect: Option<&'static dyn Dialect>,
    wanted: Option<Wanted>,
    batch: bool,
    zones: ZoneReader,
}

impl Selector {
    pub(super) fn new(
        dialect: Option<&'static dyn Dialect>,
        wanted: Option<Wanted>,
        batch: bool,
    ) -> Self {
        Self {
            dialect,
            wanted,
            batch,
            zones: ZoneReader::default(),
        }
    }

    /// The items of the next record.
    pub(super) fn items(
        &mut self,
        record: &Record<'_>,
        extractor: &mut Extractor,
    ) -> Result<Vec<Item>, Failure> {
        let zone = self.zones.read(record);
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
            return Ok(Vec::new());
        };
        let dialect = self.dialect.ok_or_else(|| {
            Failure::new("records of an unknown format")
                .hint("name it with --dialect, or convert the session")
        })?;
        let tag = record.tag().unwrap_or_default();
        let line = tag.line.unwrap_or(record.line);
        if !self.batch {
            return Ok(self.of_message(dialect, object, zone, line, extractor));
        }
        extractor.next_session();
        let zones = tag.zones.unwrap_or_default();
        let messages = Conversation::of(object).map_or_else(Vec::new, |whole| whole.messages);
        let all = messages.iter().enumerate().flat_map(|(at, message)| {
            let zone = zones.get(at).copied().unwrap_or(zone);
            self.of_message(dialect, message, zone, line, extractor)
        });
        Ok(all.collect())
    }

    fn of_message(
        &self,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        zone: Zone,
        line: u64,
        extractor: &mut Extractor,
    ) -> Vec<Item> {
        // What an earlier summary tells was extracted from the messages themselves.
        if dialect.summary_text(object).is_some() {
            return Vec::new();
        }
        match dialect.message(object) {
            Some(message) if self.wants(zone, message.role) => extractor.read(&message, line),
            _ => Vec::new(),
        }
    }

    fn wants(&self, zone: Zone, role: Role) -> bool {
        match (self.wanted, self.zones.zoned()) {
            (None, false) => !role.is_system(),
            (None, true) => zone == Zone::Old,
            (Some(Wanted::All), _) => true,
            (Some(Wanted::Zone(wanted)), true) => wanted == zone,
            (Some(Wanted::Zone(Zone::System)), false) => role.is_system(),
            (Some(Wanted::Zone(_)), false) => false,
        }
    }

    /// At the end of the input: whether a tagged stream came whole, and the
    /// zone that was asked for could be there.
    pub(super) fn finish(&self, partial: bool) -> Result<(), Failure> {
        let of_a_split = matches!(self.wanted, Some(Wanted::Zone(Zone::Old | Zone::Keep)));
        if !self.zones.zoned() {
            if of_a_split && self.zones.records() > 0 {
                return Err(Failure::new("no record names its zone").hint("ctx-split sets zones"));
            }
            return Ok(());
        }
        if partial {
            return Ok(());
        }
        self.zones
            .finish()
            .map_err(|early| Failure::new(early).hint("--partial takes what came"))
    }
}
