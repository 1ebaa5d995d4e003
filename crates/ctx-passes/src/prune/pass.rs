//! One session: records wait in a spool until all facts are known. Then they leave
//! unchanged, changed, or not at all.

use ctx_select::prune::{Pruner, Questions, Rule, Sums};
use ctx_transcript::{Class, Dialect, Presences, Record, Role, Spool, Zone, ZoneReader};

use super::decision::{Decision, Waiting};
use super::items::{Item, Items};
use super::log::Log;
use super::{LastCall, Plan, is_cold};
use crate::bound::BoundReasoning;
use crate::checks::Checks;
use crate::error::rewritable;
use crate::outlet::Announced;
use crate::unread::FirstUnread;
use crate::{ErrorKind, Notes, PassError, pins};

/// Takes a session's records.
pub struct PrunePass<'p> {
    waiting: Waiting<'p>,
    zones: ZoneReader,
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
        let is_log = dialect.is_some_and(Dialect::is_log);
        Self {
            waiting: Waiting {
                plan,
                dialect,
                items: Items::default(),
                presences: Presences::default(),
                log: is_log.then(Log::default),
                // What becomes of a log is only known once it is looked at as a whole.
                spool: (!dry_run || is_log).then(|| Spool::new(&plan.temp)),
                announced: Announced::default(),
            },
            zones: ZoneReader::default(),
            pruner: Pruner::new(questions),
            checks: dialect.map(Checks::new),
            last_call: LastCall::default(),
        }
    }

    /// When the model was last called, as far as the records so far say.
    pub fn last_call(&self) -> LastCall {
        self.last_call
    }

    /// Whether no warm cache would be lost, according to the records so far; `None` if
    /// nothing says when the last call was.
    pub fn is_cold(&self) -> Option<bool> {
        is_cold(self.waiting.plan.cache.as_ref(), self.last_call)
    }

    /// The next record.
    pub fn push(&mut self, record: &Record<'_>) -> Result<(), PassError> {
        let zone = self.zones.read(record);
        self.facts(record, zone)?;
        let waiting = &mut self.waiting;
        if let (Some(log), Some(dialect)) = (&mut waiting.log, waiting.dialect) {
            let plan = waiting.plan;
            let is_other = plan.zone.is_some_and(|only| only != zone) || zone == Zone::System;
            let pin = || pins::first(&plan.pins, record, Role::Other, || None);
            log.push(record, dialect, is_other || pin().is_some());
        }
        waiting.announced.read(record.tag().as_ref());
        waiting.items.push(Item {
            line: record.line,
            piece: record.piece,
            length: u32::try_from(record.bytes.len()).unwrap_or(u32::MAX),
        });
        waiting.presences.push(record);
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
        self.refuse(record.line)?;
        if plan.policy.window_messages.is_some() {
            let mut unread = FirstUnread::default();
            unread.look_at(record, dialect.map(|it| it as &dyn Dialect));
            unread.refuse("cut to a window")?;
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
        self.pruner.message(&outline, &message, object, fixed);
        Ok(())
    }

    /// Refuses a session of which no rule, or not one of those asked for, can be carried out.
    fn refuse(&self, line: u64) -> Result<(), PassError> {
        let Waiting { plan, dialect, .. } = self.waiting;
        let policy = &plan.policy;
        let drops = |rule| policy.drops(rule);
        let is_log = self.waiting.log.is_some();
        // The window would leave out what the agent has to send.
        let takes_out = policy.window_messages.is_some()
            || (!is_log && (drops(Rule::Reasoning) || drops(Rule::Empty)));
        match dialect {
            Some(dialect) if !takes_out || !dialect.is_linked() => Ok(()),
            None => rewritable(dialect, "pruned", Some(line)).map(|_| ()),
            _ if policy.window_messages.is_some() => {
                rewritable(dialect, "cut to a window", Some(line)).map(|_| ())
            }
            _ => rewritable(dialect, "pruned of whole messages", Some(line)).map(|_| ()),
        }
    }

    /// Decides, reports and checks. Nothing changes unless it `may`.
    pub fn finish(self, may: bool, notes: &mut Notes) -> Result<Decision<'p>, PassError> {
        let plan = self.waiting.plan;
        if plan.zone.is_some() && !self.zones.zoned() && self.zones.records() > 0 {
            return Err(ErrorKind::NoZones.into());
        }
        let verdicts = self.pruner.finish();
        let waiting = self.waiting;
        let log = waiting.log.as_ref().zip(waiting.dialect);
        let leaving = log
            .map(|(log, dialect)| log.decide(&plan.policy, dialect, &waiting.presences, &verdicts));
        let mut decision = Decision {
            waiting,
            leaving,
            shown: false,
            usage: None,
            beside: Vec::new(),
            bound: BoundReasoning::default(),
            verdicts,
            changes: may,
            sums: Sums::default(),
        };
        decision.tell(self.checks, notes)?;
        Ok(decision)
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::prune::{Policy, Trim};
    use ctx_transcript::{Options, Zone};

    use super::super::tests::{pass, plan, result};
    use super::{Notes, PrunePass};
    use crate::{ErrorKind, Invalid, Session};

    fn trims() -> Policy {
        let trim = Trim {
            max_chars: 40,
            ..Trim::default()
        };
        Policy {
            trim: Some(trim),
            ..Policy::default()
        }
    }

    /// Which of three long results are trimmed.
    fn trimmed(plan: &super::Plan, tags: [&str; 3]) -> Vec<usize> {
        let lines = [1, 2, 3].map(|id| result(id, 60));
        let tagged = lines.iter().zip(tags);
        let session: String = tagged
            .map(|(line, tag)| line.replacen('{', &("{".to_owned() + tag), 1))
            .collect();
        let (written, _) = pass(plan, &session).expect("no failure");
        let is_changed = |(number, line): (usize, &str)| line.contains("⟦ctx:").then_some(number);
        written.lines().enumerate().filter_map(is_changed).collect()
    }

    #[test]
    fn pinned_records_stay_as_they_are() {
        let mut plan = plan(trims());
        assert_eq!(trimmed(&plan, [""; 3]), [0, 1, 2]);
        plan.pins = vec!["line:2".parse().expect("a selector")];
        assert_eq!(trimmed(&plan, [""; 3]), [0, 2]);
    }

    #[test]
    fn only_the_zone_that_is_asked_for_changes_and_system_never() {
        let [system, old, keep] =
            ["system", "old", "keep"].map(|zone| format!("\"_ctx\":{{\"zone\":\"{zone}\"}},"));
        let tags = [system.as_str(), &old, &keep];
        let mut plan = plan(trims());
        assert_eq!(trimmed(&plan, tags), [1, 2]);
        plan.zone = Some(Zone::Old);
        assert_eq!(trimmed(&plan, tags), [1]);
    }

    #[test]
    fn a_zone_needs_a_session_that_was_split() {
        let mut plan = plan(trims());
        plan.zone = Some(Zone::Keep);
        let error = pass(&plan, &result(1, 60)).expect_err("nothing was split");
        assert!(matches!(error.kind, ErrorKind::NoZones));
        assert!(pass(&plan, "").is_ok());
    }

    #[test]
    fn a_record_of_an_unknown_format_is_refused() {
        let error = pass(&plan(trims()), "\n{\"what\":1}\n").expect_err("nobody knows it");
        assert!(matches!(error.kind, ErrorKind::UnknownFormat("pruned")));
        assert_eq!(error.lines, [2]);
    }

    #[test]
    fn what_is_no_message_goes_on_as_it_came() {
        let others = "broken\n\n[1]\n{\"role\":\"user\",\"content\":\"a\"}\n{\"half";
        let (written, _) = pass(&plan(trims()), others).expect("no failure");
        assert_eq!(written, others);
    }

    #[test]
    fn nothing_changes_unless_it_may() {
        let plan = plan(trims());
        let line = result(1, 60);
        let reader = Box::new(std::io::Cursor::new(line.clone().into_bytes()));
        let session = Session::open(reader, &Options::default(), Invalid::Keep);
        let mut session = session.expect("from memory");
        let mut pass = PrunePass::new(&plan, session.dialect(), false);
        session.each(|record| pass.push(record)).expect("read");
        assert_eq!(pass.is_cold(), Some(true));
        let decision = pass.finish(false, &mut Notes::new());
        let mut decision = decision.expect("no failure");
        assert!(!decision.changes());
        let written = decision.write(0, Vec::new()).expect("to memory");
        assert_eq!(written, line.as_bytes());
    }
}
