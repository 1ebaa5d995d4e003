//! What a session holds for memory: the items of those messages that are asked for.

mod holding;
#[cfg(test)]
mod tests;

use ctx_ledger::rules::MemoryKind;
use ctx_memory::{Extractor, Item};
use ctx_summary::Recognizer;
use ctx_transcript::{Conversation, Dialect, EarlyEnd, Object, Record, Role, Zone, ZoneReader};

use crate::summarize::recognizer;
use crate::{PassError, Time};
pub use holding::HoldingWriter;

/// Which messages are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of a zone.
    Zone(Zone),
    /// All of them.
    All,
}

/// What is read, and what for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The session's name in the items.
    pub session: String,
    /// What is looked for.
    pub kinds: Vec<MemoryKind>,
    /// Which messages are read: when nobody says, the old zone of a stream that was
    /// split, and of another all but system messages.
    pub scope: Option<Scope>,
    /// Whether each record is a whole conversation.
    pub batch: bool,
}

/// Why nothing can be extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// Nobody knows which records are messages.
    #[error("records of an unknown format")]
    UnknownFormat,
    /// A zone is asked for, and nothing was split.
    #[error("no record names its zone")]
    NoZones,
    /// The stream is not all that its writer had to say.
    #[error(transparent)]
    EarlyEnd(EarlyEnd),
}

/// Reads the records of a session.
pub struct ExtractPass {
    scope: Option<Scope>,
    batch: bool,
    dialect: Option<&'static dyn Dialect>,
    zones: ZoneReader,
    extractor: Extractor,
    /// Knows who only writes like a summary.
    recognizer: Recognizer,
}

impl ExtractPass {
    /// Nothing read yet.
    pub fn new(plan: Plan, dialect: Option<&'static dyn Dialect>) -> Self {
        Self {
            scope: plan.scope,
            batch: plan.batch,
            dialect,
            zones: ZoneReader::default(),
            extractor: Extractor::new(plan.session, &plan.kinds),
            recognizer: recognizer(None),
        }
    }

    /// The items of the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<Vec<Item>, PassError> {
        let zone = self.zones.read(record);
        let Some(object) = record.whole_object().filter(|_| !record.is_outside()) else {
            return Ok(Vec::new());
        };
        let Some(dialect) = self.dialect else {
            return Err(PassError::from(ExtractError::UnknownFormat).at(record.line));
        };
        let tag = record.tag().unwrap_or_default();
        let line = tag.line.unwrap_or(record.line);
        if !self.batch {
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
    ) -> Vec<Item> {
        // What an earlier summary tells was extracted from the messages themselves.
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
        match (self.scope, self.zones.zoned()) {
            (None, false) => !role.is_system(),
            (None, true) => zone == Zone::Old,
            (Some(Scope::All), _) => true,
            (Some(Scope::Zone(wanted)), true) => wanted == zone,
            (Some(Scope::Zone(Zone::System)), false) => role.is_system(),
            (Some(Scope::Zone(_)), false) => false,
        }
    }

    /// All records came; gives how many secrets were taken out of the items. A tagged
    /// stream must have come whole, unless a part of it is enough (`partial`), and the
    /// zone that is asked for must be one of a stream that was split.
    pub fn finish(&self, partial: bool) -> Result<usize, PassError> {
        let of_a_split = matches!(self.scope, Some(Scope::Zone(Zone::Old | Zone::Keep)));
        if self.zones.zoned() {
            if !partial {
                self.zones.finish().map_err(ExtractError::EarlyEnd)?;
            }
        } else if of_a_split && self.zones.records() > 0 {
            return Err(ExtractError::NoZones.into());
        }
        Ok(self.extractor.redacted())
    }
}

#[cfg(feature = "clap")]
impl clap::ValueEnum for Scope {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Zone(Zone::Old),
            Self::Zone(Zone::Keep),
            Self::Zone(Zone::System),
            Self::All,
        ]
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        match self {
            Self::Zone(zone) => zone.to_possible_value(),
            Self::All => Some(clap::builder::PossibleValue::new("all").help("Everything")),
        }
    }
}
