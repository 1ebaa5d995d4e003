//! Divides the token budget for the whole context between the latest messages and a summary of the
//! other messages. The facts about the session's records determine the budget and how many of the
//! latest messages fit. The session is read again only if the summary turns out to be too long.

use crate::allocate::{LEAST_SUMMARY, TooSmall};
use ctx_format::Zone;
use ctx_policy::Keep;
use ctx_policy::trigger::Size;

use super::Source;
use super::attempts::{AttemptKind, Attempts, Candidate, Ended};
use super::content::temporary;
use super::report::{Attempt, Outcome};
use super::survey::Zones;
use crate::split::ZoneCounts;
use crate::summarize::{self, BudgetPass, BudgetRequest, Needs, Summary, Writer};
use crate::{ErrorKind, Notes, PassError, Result};

/// The maximum number of times to raise a budget that is too small.
const RAISES: usize = 3;

/// The maximum number of times to lower a strict budget that the agent's file exceeds.
const RETRIES: usize = 4;

impl Attempts<'_> {
    /// Uses the target as a budget. Keeps the policy's amount, or less if that amount does not fit
    /// into the budget. If the target is too small for the records that must stay, raises the
    /// budget up to `RAISES` times. Returns `None` if the session does not become smaller.
    pub(super) fn share(&mut self, notes: &mut Notes) -> Result<Option<Candidate>> {
        let (plan, summary) = (self.session.plan, self.session.plan.summary());
        let writer =
            if plan.needs_model() { plan.writer_within(notes)? } else { plan.by_code(None) };
        let pass = self.read_for_budget(&summary, &writer)?;
        self.share_of(pass, (&summary, &writer), notes)
    }

    /// Like `share`, but for a session that has already been read.
    fn share_of<'s>(
        &mut self,
        mut pass: BudgetPass<'s>,
        (summary, writer): (&'s summarize::Plan, &'s Writer),
        notes: &mut Notes,
    ) -> Result<Option<Candidate>> {
        let (plan, before) = (self.session.plan, self.before.size.tokens);
        // If a session is due although it is below its target, the model has rejected it, so it
        // must become clearly smaller.
        let target = plan.limits.target.filter(|target| *target < before);
        let tokens = target.unwrap_or(before / 2);
        let keeps = plan.smaller_keeps(self.before);
        let least = keeps.last().copied().unwrap_or_default();
        let raises = if plan.options.strict_target { 0 } else { RAISES };
        let first_raise = keeps.len();
        let choices = keeps.into_iter().chain(std::iter::repeat_n(least, raises));
        let mut more = tokens;
        for (number, keep) in choices.enumerate() {
            let limit = if number < first_raise { tokens } else { more };
            let too_small = match pass.fits(limit, keep) {
                Err(error) => error,
                Ok(()) => match self.within(pass, notes)? {
                    Ok(candidate) => return Ok(self.is_gain(&candidate).then_some(candidate)),
                    // The summary could not be made short enough.
                    Err(error) => {
                        pass = self.read_for_budget(summary, writer)?;
                        error
                    }
                },
            };
            let needed = too_small.needed.max(limit);
            let others = needed.saturating_sub(self.before.system_tokens);
            more = needed + others / 3 + LEAST_SUMMARY;
        }
        Ok(None)
    }

    /// Keeps the policy's amount, or less if that amount is above the target, and writes no
    /// summary.
    pub(super) fn keep_fewer(
        &mut self,
        summary: &summarize::Plan,
        notes: &mut Notes,
    ) -> Result<Option<Candidate>> {
        let mut least: Option<(Keep, Size)> = None;
        for keep in self.session.plan.smaller_keeps(self.before) {
            let size = self.session.survey.kept(&self.session.survey.zones(keep)?)?;
            let before = least.map_or(self.before.size.tokens, |(_, size)| size.tokens);
            if size.tokens < before {
                least = Some((keep, size));
            }
            if self.session.plan.limits.fits(size.tokens) {
                break;
            }
        }
        let Some((keep, _)) = least else { return Ok(None) };
        let zones = self.session.survey.zones(keep)?;
        let mut read = self.read(keep, zones, Needs::default(), summary, notes)?;
        let built = self.sized(AttemptKind::Policy, &mut read, None, notes)?;
        let (what, tokens) = ("fewer-kept", built.size.tokens);
        self.made.push(Attempt { what, tokens });
        self.write(&mut read, built).map(Some)
    }

    /// Returns true if the session has become smaller and new messages were summarized, kept
    /// messages were shortened, or the target is reached. Merely shortening an earlier summary does
    /// not count, because that could be repeated forever.
    fn is_gain(&self, candidate: &Candidate) -> bool {
        let tokens = candidate.size.tokens;
        let summary = candidate.summary.as_ref();
        let is_new = !summary.is_some_and(Summary::is_only_earlier);
        let changes = is_new || candidate.cuts || self.session.plan.limits.fits(tokens);
        tokens < self.before.size.tokens && changes
    }

    /// Like [`Self::budget`]. If the agent's file would exceed a strict budget, tries again with
    /// less.
    pub(super) fn budget_in_file(
        &mut self,
        mut tokens: u64,
        source: &Source<'_>,
        notes: &mut Notes,
    ) -> Result<Ended<Candidate>> {
        let mut ended = self.budget(tokens, notes)?;
        for _ in 0..RETRIES {
            let Ok(candidate) = &ended else { break };
            let over =
                source.over_target(&candidate.content, &self.before.size, &candidate.size)?;
            if over == 0 {
                break;
            }
            tokens = tokens.saturating_sub(2 * over);
            ended = self.budget(tokens, notes)?;
        }
        Ok(ended)
    }

    /// Compacts the session to a budget for the whole context instead of making the policy's
    /// attempts. If the budget is too small and not strict, keeps less or exceeds the budget.
    pub(super) fn budget(&mut self, tokens: u64, notes: &mut Notes) -> Result<Ended<Candidate>> {
        let (summary, by_code) = (self.session.plan.summary(), self.session.plan.by_code(None));
        let writer = self.session.plan.writer_within(notes)?;
        let mut pass = self.read_for_budget(&summary, &writer)?;
        let (error, pass) = match pass.fits(tokens, self.session.plan.options.keep) {
            Err(error) => (error, Some(pass)),
            Ok(()) => match self.within(pass, notes)? {
                Err(error) => (error, None),
                Ok(candidate) => return Ok(self.judged(candidate)),
            },
        };
        if self.session.plan.needs_model() {
            return Err(ErrorKind::TooSmall(error).into());
        }
        if !self.session.plan.options.strict_target {
            let mut pass = pass.map_or_else(|| self.read_for_budget(&summary, &by_code), Ok)?;
            pass.writer = &by_code;
            if let Some(candidate) = self.share_of(pass, (&summary, &by_code), notes)? {
                return Ok(Ok(candidate));
            }
        }
        self.made.push(Attempt { what: "budget", tokens: error.needed });
        Ok(Err(Outcome::Unreachable))
    }

    fn judged(&self, candidate: Candidate) -> Ended<Candidate> {
        let after = candidate.size.tokens;
        let summary = candidate.summary.as_ref();
        if !self.session.plan.limits.fits(after) && self.session.plan.options.strict_target {
            Err(Outcome::Unreachable)
        } else if after < self.before.size.tokens {
            Ok(candidate)
        } else if summary.is_none_or(Summary::is_only_earlier) {
            Err(Outcome::NothingToDo)
        } else {
            Err(Outcome::NoGain)
        }
    }

    /// Reads the session for a compaction within a budget. The budget is chosen after the session
    /// has been read.
    fn read_for_budget<'s>(
        &self,
        summary: &'s summarize::Plan,
        writer: &'s Writer,
    ) -> Result<BudgetPass<'s>> {
        let pins = self.session.plan.options.pins.clone();
        let request = BudgetRequest { pins, ..BudgetRequest::default() };
        let dialect = Some(self.session.content.dialect);
        let mut pass = BudgetPass::new(summary, writer, &request, dialect);
        let all = Zones {
            of: vec![Zone::Keep; self.session.survey.entries.len()],
            counts: ZoneCounts::default(),
        };
        self.session.each(&all, |zone, record, changed| {
            match (zone, changed.map(|new| new.bytes)) {
                (None, _) => Ok(()),
                (Some(_), None) => pass.push(record),
                (Some(_), Some(bytes)) => pass.push(&record.origin.clone().record(&bytes)),
            }
        })?;
        Ok(pass)
    }

    /// Builds the session within the budget that `pass` has chosen. The inner error means that the
    /// summary does not fit.
    fn within(
        &mut self,
        pass: BudgetPass<'_>,
        notes: &mut Notes,
    ) -> Result<Result<Candidate, TooSmall>> {
        let (mut session, zones) = match pass.finish(notes) {
            Err(PassError { kind: ErrorKind::TooSmall(error), .. }) => return Ok(Err(error)),
            finished => finished?,
        };
        let file = temporary(|output| session.write(output))?;
        let content = self.session.content.with(file);
        let size = content.size(&self.session.plan.environment.counter)?;
        self.made.push(Attempt { what: "budget", tokens: size.tokens });
        Ok(Ok(Candidate {
            content,
            size,
            zones: self.spread(&zones),
            cuts: session.cuts > 0,
            summary: session.draft.map(|draft| draft.summary),
        }))
    }

    /// Adds the records dropped by pruning to `zones`, so that it covers all records.
    fn spread(&self, zones: &[Zone]) -> Zones {
        let mut zones = zones.iter();
        let mut counts = ZoneCounts::default();
        let zone = |record| {
            if self.session.survey.is_dropped(record) {
                return Zone::Keep;
            }
            let zone = zones.next().copied().unwrap_or(Zone::Keep);
            counts.add(zone);
            zone
        };
        let of = (0..self.session.survey.entries.len()).map(zone).collect();
        Zones { of, counts }
    }
}
