//! One session: records wait in a spool until all facts are known, then leave as
//! they came, changed, or not at all.

use ctx_select::prune::{MessageFacts, Pruner, Questions, Sums};
use ctx_transcript::view::Presences;
use ctx_transcript::{Class, Dialect, Record, Spool, Zone, ZoneReader};

use super::decision::{Decision, Item, Waiting};
use super::{LastCall, Plan, is_cold};
use crate::checks::Checks;
use crate::outlet::Announced;
use crate::{ErrorKind, Notes, PassError, pins};

/// Takes a session's records.
pub struct PrunePass<'p> {
    waiting: Waiting<'p>,
    zones: ZoneReader,
    questions: Questions<'p>,
    pruner: Pruner<'p>,
    checks: Option<Checks>,
    last_call: LastCall,
}

impl<'p> PrunePass<'p> {
    /// Nothing taken yet. The records will be written, unless this is a `dry_run`.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, dry_run: bool) -> Self {
        let questions = Questions {
            policy: &plan.policy,
            counter: plan.counter,
            size: plan.size,
        };
        Self {
            waiting: Waiting {
                plan,
                dialect,
                items: Vec::new(),
                presences: Presences::default(),
                spool: (!dry_run).then(|| Spool::new(&plan.temp)),
                announced: Announced::default(),
            },
            zones: ZoneReader::default(),
            pruner: Pruner::new(&questions),
            questions,
            checks: dialect.map(|dialect| Checks::new(dialect.rules())),
            last_call: LastCall::default(),
        }
    }

    /// What the records so far say of the last call.
    pub fn last_call(&self) -> LastCall {
        self.last_call
    }

    /// Whether there is no cache that must not be lost, by what the records so far
    /// say of time; `None` where nothing tells.
    pub fn is_cold(&self) -> Option<bool> {
        is_cold(self.waiting.plan.cache.as_ref(), self.last_call)
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let zone = self.zones.read(record);
        self.facts(record, zone)?;
        let waiting = &mut self.waiting;
        waiting.announced.read(record.tag().as_ref());
        waiting.items.push(Item {
            line: record.line,
            piece: record.piece,
            // Longer records come in pieces.
            length: u32::try_from(record.bytes.len()).unwrap_or(u32::MAX),
        });
        waiting.presences.push(record.presence);
        let Some(spool) = &mut waiting.spool else {
            return Ok(());
        };
        let pushed = spool.push(record.bytes);
        pushed.map_err(PassError::temporary)
    }

    fn facts(&mut self, record: &Record<'_>, zone: Zone) -> Result<(), PassError> {
        if record.class == Class::Tail {
            self.pruner.tail();
            return Ok(());
        }
        let Some(object) = record.whole_object() else {
            self.pruner.line();
            return Ok(());
        };
        let Waiting { plan, dialect, .. } = self.waiting;
        if dialect.is_none() {
            return Err(ErrorKind::UnknownFormat("pruned").at(record.line));
        }
        let outline = record.outline(dialect);
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.input(record.line, outline);
        }
        let (Some(outline), Some(message)) = (outline, record.message(dialect)) else {
            self.pruner.line();
            return Ok(());
        };
        self.last_call.message(outline.role, object);
        let pin = || pins::first(&plan.pins, record, outline.role, || Some(message.clone()));
        let fixed =
            zone == Zone::System || plan.zone.is_some_and(|only| only != zone) || pin().is_some();
        let facts = MessageFacts::of(&message, object, fixed, &self.questions);
        self.pruner.message(&outline, facts);
        Ok(())
    }

    /// Decides, tells of it and checks it. Nothing changes unless it `may`.
    pub fn finish(self, may: bool, notes: &mut Notes) -> Result<Decision<'p>, PassError> {
        let plan = self.waiting.plan;
        if plan.zone.is_some() && !self.zones.zoned() && self.zones.records() > 0 {
            return Err(ErrorKind::NoZones.into());
        }
        let mut decision = Decision {
            waiting: self.waiting,
            verdicts: self.pruner.finish(),
            changes: may,
            sums: Sums::default(),
        };
        decision.tell(self.checks, notes)?;
        Ok(decision)
    }
}
