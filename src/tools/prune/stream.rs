//! One session: records wait in a spool until all facts are known, then leave as
//! they came, changed, or not at all.

use ctx_cli::{Failure, Io};
use ctx_select::prune::{Facts, Pruner, Verdict};
use ctx_transcript::{Class, Dialect, Record, Spool, Zone, ZoneReader};

use super::made::{Done, Item, Made};
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
    spool: Spool,
    items: Vec<Item>,
    pruner: Pruner<'p>,
    checks: Option<Checks>,
    said_at: SaidAt,
    tagged: bool,
    announced: Option<u64>,
}

impl<'p> Stream<'p> {
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
            items: Vec::new(),
            pruner: Pruner::new(&plan.policy),
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
            length: record.bytes.len(),
        });
        self.spool
            .push(record.bytes)
            .map_err(|error| cannot_spool(&error))
    }

    fn facts(&mut self, record: &Record<'_>, zone: Zone) -> Result<(), Failure> {
        if record.class == Class::Tail {
            self.pruner.push(Facts::Tail);
            return Ok(());
        }
        let Some(object) = record.whole_object() else {
            self.pruner.push(Facts::Line);
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
            self.pruner.push(Facts::Line);
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
        let facts = Facts::of(&outline, &message, object, &plan.policy, fixed);
        self.pruner.push(facts);
        Ok(())
    }

    /// Decides, and makes and checks the whole output before any byte of it
    /// leaves. Nothing changes unless it `may`.
    pub(super) fn finish(mut self, may: bool, io: &mut Io) -> Result<Done, Failure> {
        let (plan, name) = (self.plan, self.name);
        if plan.zone.is_some() && !self.zones.zoned() && self.zones.records() > 0 {
            return Err(Failure::new("--zone, and no record has a zone")
                .at(name, None)
                .hint("let ctx-split decide the zones"));
        }
        let verdicts = std::mem::replace(&mut self.pruner, Pruner::new(&plan.policy)).finish();
        let drops = |verdict: &Verdict| may && matches!(verdict, Verdict::Drop(_));
        let drops = verdicts.iter().any(drops);
        let mut made = Made::new(plan, self.dialect, name, self.checks, drops);
        for (item, verdict) in self.items.into_iter().zip(verdicts) {
            let bytes = self.spool.pop(item.length);
            let bytes = bytes.map_err(|error| cannot_spool(&error))?;
            let verdict = if may { verdict } else { Verdict::Keep };
            made.record(item, &bytes, &verdict, io)?;
        }
        if may {
            made.tell(io);
        }
        made.finish(self.tagged, self.announced, io)
    }
}
