//! The end of the ladder: one number for the whole context, divided between the latest messages
//! and a summary of the others.

use ctx_select::budget::{LEAST_SUMMARY, TooSmall};
use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_select::trigger::Size;
use ctx_transcript::Zone;

use super::{Candidate, Ended, Ladder};
use crate::compact::content::{Content, temporary};
use crate::compact::outcome::{Attempt, Outcome};
use crate::compact::plan::Rung;
use crate::compact::survey::Zones;
use crate::split::ZoneCounts;
use crate::summarize::{self, BudgetPass, BudgetRequest, Needs, Summary, Writer};
use crate::{ErrorKind, Notes, PassError};

/// A budget that is too small is tried again with what it would take, so often.
const TRIES: usize = 4;

impl Ladder<'_, '_> {
    /// The target is taken for a budget, with as much of what the policy keeps as it leaves room
    /// for; where it is too small for what has to stay, the least that is not. `None` where
    /// that is not smaller than the session.
    pub(super) fn share(
        &self,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Option<Candidate>, PassError> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        // What is due though it is below its target, by an overflow that the model reported, has
        // to become plainly smaller.
        let target = plan.target.filter(|target| *target < before);
        let tokens = target.unwrap_or(before / 2);
        let floors = plan.floors(self.before);
        let within = |keep: Keep, tokens: u64, notes: &mut Notes| {
            let pins = plan.pins.clone();
            let request = BudgetRequest { tokens, keep, pins };
            self.within(&request, &plan.by_code(None), notes)
        };
        let mut found = None;
        // The first of the floors that there is room for.
        let (mut low, mut high) = (0, floors.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            match within(floors[middle], tokens, notes)? {
                Ok(candidate) => (found, high) = (Some(candidate), middle),
                Err(_) => low = middle + 1,
            }
        }
        let least = floors.last().copied().unwrap_or_default();
        let system = self.before.system_tokens;
        let mut more = tokens;
        for _ in 0..TRIES {
            if found.is_some() || plan.strict_target {
                break;
            }
            match within(least, more, notes)? {
                Ok(candidate) => found = Some(candidate),
                Err(TooSmall { needed, .. }) => {
                    let needed = needed.max(more);
                    more = needed + needed.saturating_sub(system) / 3 + LEAST_SUMMARY;
                }
            }
        }
        if let Some(candidate) = &found {
            let tokens = candidate.size.tokens;
            attempts.push(Attempt {
                what: "budget",
                tokens,
            });
        }
        Ok(found.filter(|candidate| self.is_gain(candidate)))
    }

    /// Where nothing is summarized: as much of what the policy keeps as the target leaves room for.
    pub(super) fn keep_fewer(
        &self,
        attempts: &mut Vec<Attempt>,
        summary: &summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Option<Candidate>, PassError> {
        let mut least: Option<(Keep, Size)> = None;
        for keep in self.plan.floors(self.before) {
            let size = self.survey.kept(&self.survey.zones(keep)?)?;
            let before = least.map_or(self.before.size.tokens, |(_, size)| size.tokens);
            if size.tokens < before {
                least = Some((keep, size));
            }
            if self.plan.fits(size.tokens) {
                break;
            }
        }
        let Some((keep, _)) = least else {
            return Ok(None);
        };
        let zones = self.survey.zones(keep)?;
        let mut read = self.read(keep, zones, Needs::default(), summary, notes)?;
        let built = self.sized(Rung::Policy, &mut read, None, notes)?;
        let (what, tokens) = ("fewer-kept", built.size.tokens);
        attempts.push(Attempt { what, tokens });
        self.write(&mut read, built).map(Some)
    }

    /// Whether a session is smaller, by more than a shorter form of its earlier summary where
    /// it is above the target still: that would go on for ever.
    fn is_gain(&self, candidate: &Candidate) -> bool {
        let tokens = candidate.size.tokens;
        let summary = candidate.summary.as_ref();
        let is_new = !summary.is_some_and(Summary::is_only_earlier);
        tokens < self.before.size.tokens && (is_new || self.plan.fits(tokens))
    }

    /// One number for the whole context, instead of the ladder. What stays and how long the
    /// summary may be are decided together, so there is nothing else to try, unless what has to
    /// stay takes more.
    pub(in crate::compact) fn budget(
        &self,
        request: &BudgetRequest,
        attempts: &mut Vec<Attempt>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>, PassError> {
        let writer = self.plan.writer_within(notes)?;
        let shared = self.within(request, &writer, notes)?;
        if let (true, Err(error)) = (self.plan.needs_model(), &shared) {
            return Err(ErrorKind::TooSmall(*error).into());
        }
        if shared.is_err()
            && !self.plan.strict_target
            && let Some(candidate) = self.share(attempts, notes)?
        {
            return Ok(Ok(candidate));
        }
        let tokens = match &shared {
            Ok(candidate) => candidate.size.tokens,
            Err(error) => error.needed,
        };
        let what = "budget";
        attempts.push(Attempt { what, tokens });
        let shared = shared.map_err(|_| Outcome::Unreachable);
        Ok(shared.and_then(|candidate| self.judged(candidate)))
    }

    fn judged(&self, candidate: Candidate) -> Ended<Candidate> {
        let after = candidate.size.tokens;
        let summary = candidate.summary.as_ref();
        if !self.plan.fits(after) && self.plan.strict_target {
            Err(Outcome::Unreachable)
        } else if after < self.before.size.tokens {
            Ok(candidate)
        } else if summary.is_none_or(Summary::is_only_earlier) {
            Err(Outcome::NothingToDo)
        } else {
            Err(Outcome::NoGain)
        }
    }

    /// The session within a budget; the inner error if what has to stay exceeds it.
    fn within(
        &self,
        request: &BudgetRequest,
        writer: &Writer,
        notes: &mut Notes,
    ) -> Result<Result<Candidate, TooSmall>, PassError> {
        let plan = self.plan.summary();
        let mut pass = BudgetPass::new(&plan, writer, request, Some(self.content.dialect));
        let all = Zones {
            of: vec![Zone::Keep; self.survey.records()],
            counts: ZoneCounts::default(),
        };
        self.each(&all, |zone, record, edited| match (zone, edited) {
            (None, _) => Ok(()),
            (Some(_), None) => pass.push(record),
            (Some(_), Some(edited)) => pass.push(&record.origin().record(&edited.bytes)),
        })?;
        let (mut session, zones) = match pass.finish(notes) {
            Err(PassError {
                kind: ErrorKind::TooSmall(error),
                ..
            }) => return Ok(Err(error)),
            finished => finished?,
        };
        let file = temporary(|output| session.write(output))?;
        let content = self.content.with(file);
        Ok(Ok(Candidate {
            size: measure(&content, &self.plan.counter)?,
            content,
            zones: self.spread(&zones),
            summary: session.draft.map(|draft| draft.summary),
        }))
    }

    /// The zones of all records, given those of the records that pruning did not drop.
    fn spread(&self, zones: &[Zone]) -> Zones {
        let mut zones = zones.iter();
        let mut counts = ZoneCounts::default();
        let of = (0..self.survey.records()).map(|record| {
            if self.survey.is_dropped(record) {
                return Zone::Keep;
            }
            let zone = zones.next().copied().unwrap_or(Zone::Keep);
            counts.add(zone);
            zone
        });
        let of = of.collect();
        Zones { of, counts }
    }
}

/// Counts a session.
pub(super) fn measure(content: &Content, counter: &MessageCounter) -> Result<Size, PassError> {
    let mut size = Size::default();
    content.each(|record| {
        let dialect = Some(content.dialect);
        if let Some((outline, message)) = record.outline(dialect).zip(record.message(dialect)) {
            size.add(&outline, &message, counter);
        }
        Ok(())
    })?;
    Ok(size)
}
