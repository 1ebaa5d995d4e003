//! The items of the messages that the user wants from a session.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use ctx_engine::summarize::recognizer;
use ctx_engine::{ErrorKind, PassError, Time};
use ctx_format::{Conversation, Dialect, Object, Record, Role, Zone, ZoneReader};
use ctx_memory::{Extractor, MemoryItem};
use ctx_summary::Recognizer;
use ctx_summary::ledger::rules::MemoryKind;

/// The messages to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The messages of one zone.
    Zone(Zone),
    /// All of them.
    All,
}

/// The messages to read, and the kinds of items to extract.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The session's name in the items.
    pub(super) session: String,
    /// The kinds of items.
    pub(super) kinds: Vec<MemoryKind>,
    /// The messages to read.
    pub(super) scope: Option<Scope>,
    /// Whether each record is a complete conversation.
    pub(super) batch: bool,
}

/// Reads the records of a session.
pub(super) struct ExtractPass {
    plan: Plan,
    dialect: Option<&'static dyn Dialect>,
    zones: ZoneReader,
    extractor: Extractor,
    /// Knows who only writes like a summary.
    recognizer: Recognizer,
}

impl ExtractPass {
    pub(super) fn new(plan: Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        let extractor = Extractor::new(plan.session.as_str(), &plan.kinds);
        Self {
            plan,
            dialect,
            zones: ZoneReader::default(),
            extractor,
            recognizer: recognizer(None),
        }
    }

    /// The items of the next record.
    pub(super) fn push(&mut self, record: &Record<'_>) -> Result<Vec<MemoryItem>, PassError> {
        let zone = self.zones.read(record);
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
            return Ok(Vec::new());
        };
        let Some(dialect) = self.dialect else {
            return Err(ErrorKind::UnknownFormat("extracted").at(record.line));
        };
        let tag = record.tag().unwrap_or_default();
        let line = tag.line.unwrap_or(record.line);
        if !self.plan.batch {
            return Ok(self.message(dialect, object, zone, line));
        }
        self.extractor.next_session();
        let zones = tag.zones.unwrap_or_default();
        let messages = Conversation::of(object).map_or_else(Vec::new, |whole| whole.messages);
        let all = messages.iter().enumerate().flat_map(|(at, message)| {
            let zone = zones.get(at).copied().unwrap_or(zone);
            self.message(dialect, message, zone, line)
        });
        Ok(all.collect())
    }

    fn message(
        &mut self,
        dialect: &dyn Dialect,
        object: &Object<'_>,
        zone: Zone,
        line: u64,
    ) -> Vec<MemoryItem> {
        // The statements in an earlier summary were extracted from the messages themselves.
        if dialect.summary_text(object).is_some() {
            return Vec::new();
        }
        match dialect.message(object) {
            Some(message) if self.wants(zone, message.role) => {
                let message = self.recognizer.as_said(&message);
                let date = Time::of(object).map(Time::date);
                self.extractor.read(&message, line, date)
            }
            _ => Vec::new(),
        }
    }

    fn wants(&self, zone: Zone, role: Role) -> bool {
        match (self.plan.scope, self.zones.zoned()) {
            (None, false) => !role.is_system(),
            (None, true) => zone == Zone::Old,
            (Some(Scope::All), _) => true,
            (Some(Scope::Zone(wanted)), true) => wanted == zone,
            (Some(Scope::Zone(Zone::System)), false) => role.is_system(),
            (Some(Scope::Zone(_)), false) => false,
        }
    }

    /// Ends the input and returns how many secrets were redacted in the items. A tagged stream must
    /// be complete unless `partial`, and a requested zone needs a split stream.
    pub(super) fn finish(&self, partial: bool) -> Result<usize, PassError> {
        let of_a_split = matches!(self.plan.scope, Some(Scope::Zone(Zone::Old | Zone::Keep)));
        if self.zones.zoned() {
            if !partial {
                self.zones.finish()?;
            }
        } else if of_a_split && self.zones.records() > 0 {
            return Err(ErrorKind::NoZones.into());
        }
        Ok(self.extractor.redacted())
    }
}

impl ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Zone(Zone::Old), Self::Zone(Zone::Keep), Self::Zone(Zone::System), Self::All]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Zone(zone) => zone.to_possible_value(),
            Self::All => Some(PossibleValue::new("all").help("Everything")),
        }
    }
}
