//! Prunes one session. The session's records are held back until all facts about them are known.

use ctx_format::{Class, Dialect, Record, Role, Zone, ZoneReader};
use ctx_policy::Rule;

use super::decision::{Decision, Waiting};
use super::log::LogLines;
use super::{LastCall, Plan, Pruner, is_cold};
use crate::error::rewritable;
use crate::outlet::Announced;
use crate::output_check::OutputCheck;
use crate::session::FirstUnread;
use crate::waiting::WaitingRecords;
use crate::{ErrorKind, Notes, Result, pins};

/// Takes the records of a session, and decides after the last record what to prune.
pub struct PrunePass<'p> {
    waiting: Waiting<'p>,
    zones: ZoneReader,
    pruner: Pruner<'p>,
    checks: Option<OutputCheck>,
    last_call: LastCall,
}

impl<'p> PrunePass<'p> {
    /// Creates a pass. If `dry_run` is set, nothing will be written.
    pub fn new(plan: &'p Plan, dialect: Option<&'static dyn Dialect>, dry_run: bool) -> Self {
        let is_log = dialect.is_some_and(Dialect::is_log);
        Self {
            waiting: Waiting {
                plan,
                dialect,
                records: WaitingRecords::new(&plan.temp),
                log: is_log.then(LogLines::default),
                // The whole log is checked even if nothing is written.
                has_bytes: !dry_run || is_log,
                announced: Announced::default(),
            },
            zones: ZoneReader::default(),
            pruner: Pruner::new(&plan.options, plan.counter, false),
            checks: dialect.map(|it| OutputCheck::new(it, true)),
            last_call: LastCall::default(),
        }
    }

    /// Returns true if pruning would not waste a prompt cache that is still in use. Returns `None`
    /// if the time of the last call is unknown.
    pub fn is_cold(&self) -> Option<bool> {
        is_cold(self.waiting.plan.cache.as_ref(), self.last_call)
    }

    /// Gathers the facts about the next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let zone = self.zones.read(record);
        self.read_facts(record, zone)?;
        let is_outside_zone = self.is_outside_zone(zone);
        let waiting = &mut self.waiting;
        if let (Some(log), Some(dialect)) = (&mut waiting.log, waiting.dialect) {
            let pin = pins::first(&waiting.plan.pins, record, Role::Other, || None);
            log.push(record, dialect, is_outside_zone || pin.is_some());
        }
        waiting.announced.read(record.tag().as_ref());
        let bytes = if waiting.has_bytes { record.bytes } else { &[] };
        waiting.records.push(record, bytes)
    }

    fn is_outside_zone(&self, zone: Zone) -> bool {
        zone == Zone::System || self.waiting.plan.zone.is_some_and(|only| only != zone)
    }

    fn read_facts(&mut self, record: &Record<'_>, zone: Zone) -> Result<()> {
        let is_tail = record.class == Class::Tail;
        let Some(object) = record.whole_object().filter(|_| !is_tail) else {
            self.pruner.line(is_tail);
            return Ok(());
        };
        let Waiting { plan, dialect, .. } = self.waiting;
        self.refuse_unsupported()?;
        if plan.options.window_messages.is_some() {
            let mut unread = FirstUnread::default();
            unread.look_at(record, dialect.map(|it| it as &dyn Dialect));
            unread.refuse("cut to a window")?;
            if dialect.is_some_and(|it| it.vendor_summary(object).is_some()) {
                return Err(ErrorKind::vendor_summary("cut to a window").at(record.line));
            }
        }
        let outline = record.outline(dialect);
        if let (Some(checks), Some(outline)) = (&mut self.checks, &outline) {
            checks.input(record, outline);
        }
        let (Some(outline), Some(message)) = (outline, record.message(dialect)) else {
            self.pruner.line(false);
            return Ok(());
        };
        self.last_call.message(outline.role, object);
        let pin = || pins::first(&plan.pins, record, outline.role, || Some(message.clone()));
        let is_fixed = self.is_outside_zone(zone) || pin().is_some();
        self.pruner.message(&outline, &message, object, is_fixed);
        Ok(())
    }

    /// Returns an error if the rules cannot be applied to the session. An agent's log cannot be cut
    /// to a window, because that would remove messages that the agent sends.
    fn refuse_unsupported(&self) -> Result<()> {
        let Waiting { plan, dialect, ref log, .. } = self.waiting;
        let has_window = plan.options.window_messages.is_some();
        let drops_messages =
            [Rule::Reasoning, Rule::Empty].iter().any(|rule| plan.options.drops(*rule));
        let done = match log {
            _ if has_window => "cut to a window",
            None if drops_messages => "pruned by whole messages",
            _ => return Ok(()),
        };
        rewritable(dialect, done).map(|_| ())
    }

    /// Decides what to prune, reports the decisions, and checks the result. If `may` is false,
    /// nothing is changed.
    pub fn finish(self, may: bool, notes: &mut Notes) -> Result<Decision<'p>> {
        if self.waiting.plan.zone.is_some() && !self.zones.zoned && self.zones.records > 0 {
            return Err(ErrorKind::NoZones.into());
        }
        let mut decision = Decision::new(self.waiting, self.pruner.finish(), may);
        decision.report_and_check(self.checks, notes)?;
        Ok(decision)
    }
}
