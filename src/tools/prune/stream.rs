//! One session: records wait in a spool until all facts are known, then leave as
//! they came, changed, or not at all.

use ctx_cli::{Failure, Io};
use ctx_select::prune::{MessageFacts, Pruner, Questions, Sums};
use ctx_transcript::{Class, Dialect, Record, Spool, Zone, ZoneReader};

use super::decision::{Decision, Item};
use super::plan::Plan;
use super::ttl::SaidAt;
use crate::tagged::cannot_spool;
use ctx_passes::Checks;

/// Takes a session's records.
pub(super) struct Stream<'p> {
    plan: &'p Plan,
    dialect: Option<&'static dyn Dialect>,
    name: &'p str,
    zones: ZoneReader,
    spool: Option<Spool>,
    items: Vec<Item>,
    questions: Questions<'p>,
    pruner: Pruner<'p>,
    checks: Option<Checks>,
    said_at: SaidAt,
    tagged: bool,
    announced: Option<u64>,
}

impl<'p> Stream<'p> {
    /// Nothing taken yet. The records will be written, unless this is a `dry_run`.
    pub(super) fn new(
        plan: &'p Plan,
        dialect: Option<&'static dyn Dialect>,
        name: &'p str,
        dry_run: bool,
    ) -> Self {
        let questions = Questions {
            policy: &plan.policy,
            counter: plan.counting.counter,
            size: false,
        };
        Self {
            plan,
            dialect,
            name,
            zones: ZoneReader::default(),
            spool: (!dry_run).then(|| Spool::new(std::env::temp_dir())),
            items: Vec::new(),
            pruner: Pruner::new(&questions),
            questions,
            checks: dialect.map(|dialect| Checks::new(dialect.rules())),
            said_at: SaidAt::default(),
            tagged: false,
            announced: None,
        }
    }

    /// Whether there is no cache that must not be lost, by what the records so far
    /// say of time; `None` where nothing tells.
    pub(super) fn is_cold(&self) -> Option<bool> {
        let Some(cache) = &self.plan.cache else {
            return Some(true);
        };
        cache.is_cold(self.said_at, chrono::Utc::now())
    }

    pub(super) fn take(&mut self, record: &Record<'_>) -> Result<(), Failure> {
        let zone = self.zones.read(record);
        if let Some(tag) = record.tag() {
            self.tagged = true;
            self.announced = tag.end.or(self.announced);
        }
        self.facts(record, zone)?;
        self.items.push(Item {
            line: record.line,
            piece: record.piece,
            // Longer records come in pieces.
            length: u32::try_from(record.bytes.len()).unwrap_or(u32::MAX),
        });
        let Some(spool) = &mut self.spool else {
            return Ok(());
        };
        let pushed = spool.push(record.bytes);
        pushed.map_err(|error| cannot_spool(&error))
    }

    fn facts(&mut self, record: &Record<'_>, zone: Zone) -> Result<(), Failure> {
        if record.class == Class::Tail {
            self.pruner.tail();
            return Ok(());
        }
        let Some(object) = record.whole_object() else {
            self.pruner.line();
            return Ok(());
        };
        let Some(dialect) = self.dialect else {
            return Err(
                Failure::new("the format is not known, so nothing can be pruned")
                    .at(self.name, Some(record.line))
                    .hint("--dialect names it"),
            );
        };
        let outline = dialect.outline(object);
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.input(record.line, outline);
        }
        let (Some(outline), Some(message)) = (outline, dialect.message(object)) else {
            self.pruner.line();
            return Ok(());
        };
        self.said_at.message(outline.role, object);
        let plan = self.plan;
        let is_pinned = || {
            let message = || Some(message.clone());
            plan.pins
                .iter()
                .any(|pin| pin.selects(record, outline.role, message))
        };
        let fixed =
            zone == Zone::System || plan.zone.is_some_and(|only| only != zone) || is_pinned();
        let facts = MessageFacts::of(&message, object, fixed, &self.questions);
        self.pruner.message(&outline, facts);
        Ok(())
    }

    /// Decides, tells of it and checks it. Nothing changes unless it `may`.
    pub(super) fn finish(self, may: bool, io: &mut Io) -> Result<Decision<'p>, Failure> {
        if self.plan.zone.is_some() && !self.zones.zoned() && self.zones.records() > 0 {
            return Err(Failure::new("--zone, and no record has a zone")
                .at(self.name, None)
                .hint("let ctx-split decide the zones"));
        }
        let mut decision = Decision {
            plan: self.plan,
            dialect: self.dialect,
            name: self.name,
            items: self.items,
            spool: self.spool,
            verdicts: self.pruner.finish(),
            changes: may,
            sums: Sums::default(),
            tagged: self.tagged,
            announced: self.announced,
        };
        decision.tell(self.checks, io)?;
        Ok(decision)
    }
}
