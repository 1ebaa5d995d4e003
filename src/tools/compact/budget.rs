//! `--budget`: one number for the whole context, in the place of the ladder.

use std::fs::File;

use ctx_cli::{Failure, Io};
use ctx_policy::{Method, Policy};
use ctx_select::budget::TooSmall;
use ctx_select::split::Keep;
use ctx_transcript::Zone;

use super::Args;
use super::ladder::{Candidate, Climb, Climbed};
use super::outcome::{Attempt, Outcome};
use super::prepare::Taken;
use super::stages::Within;
use crate::passes;
use ctx_passes::summarize::{self, BudgetRequest, Summary};
use ctx_passes::{ErrorKind, PassError};

/// Its name among what was tried.
const BUDGET: &str = "budget";

impl Args {
    /// What `--budget` asks for: of what is kept, only what a flag says holds.
    pub(super) fn budgeted(&self, policy: &Policy) -> Result<Option<BudgetRequest>, Failure> {
        let Some(tokens) = self.budget else {
            return Ok(None);
        };
        if policy.summary.method == Method::None {
            return Err(
                Failure::new("--budget needs a summary, and the policy makes none")
                    .hint("--method extractive makes one"),
            );
        }
        Ok(Some(BudgetRequest {
            tokens,
            keep: self.keep,
            pins: self.pin.clone(),
        }))
    }
}

impl Climb<'_> {
    /// One try: what stays and how long the summary is are decided together, so
    /// that no other would come out smaller.
    pub(super) fn within(
        &self,
        asked: &BudgetRequest,
        (input, taken): (&File, Taken),
        mut attempts: Vec<Attempt>,
        io: &mut Io,
    ) -> Result<Climbed, Failure> {
        let mut attempt = |tokens| {
            let what = BUDGET;
            attempts.push(Attempt { what, tokens });
        };
        let summary = self.plan.summary_within(self.before, io)?;
        let result = match self.shared(&summary, asked, input, io)? {
            Err(error) => {
                attempt(error.needed);
                Err(Outcome::Unreachable)
            }
            Ok(mut candidate) => {
                candidate.taken = taken;
                candidate.check(self)?;
                attempt(candidate.measured.size.tokens);
                self.judged(candidate)
            }
        };
        Ok(Climbed { result, attempts })
    }

    /// A target in the place of a budget, with a summary that is written by code: `None`
    /// where what has to stay exceeds it.
    pub(super) fn shared_out(
        &self,
        tokens: u64,
        input: &File,
        io: &mut Io,
    ) -> Result<Option<Candidate>, Failure> {
        let plan = self.plan;
        let asked = BudgetRequest {
            tokens,
            keep: Keep::default(),
            pins: plan.pins.clone(),
        };
        let shared = self.shared(&plan.summary_of(tokens), &asked, input, io)?;
        Ok(shared.ok())
    }

    fn shared(
        &self,
        summary: &summarize::Plan,
        asked: &BudgetRequest,
        input: &File,
        io: &mut Io,
    ) -> Result<Result<Candidate, TooSmall>, Failure> {
        match self.source.within(summary, asked, input, io)? {
            Err(PassError {
                kind: ErrorKind::TooSmall(error),
                ..
            }) => Ok(Err(error)),
            Err(error) => Err(passes::failure(error, &self.source.name)),
            Ok(within) => self.candidate(within).map(Ok),
        }
    }

    fn candidate(&self, within: Within) -> Result<Candidate, Failure> {
        let Within {
            file,
            said,
            tagged,
            zones,
        } = within;
        let kept = zones.iter().filter(|zone| **zone == Zone::Keep).count();
        let first_kept = zones.iter().position(|zone| *zone == Zone::Keep);
        Ok(Candidate {
            measured: self.source.measure(&file, &self.plan.counting.counter)?,
            file,
            tagged: said.is_some().then_some(tagged),
            kept: Some(kept as u64),
            first_kept: first_kept.map(|place| place as u64),
            said,
            taken: Taken::default(),
        })
    }

    fn judged(&self, candidate: Candidate) -> Result<Candidate, Outcome> {
        let (before, after) = (self.before.size.tokens, candidate.measured.size.tokens);
        if !self.plan.fits(after) {
            Err(Outcome::Unreachable)
        } else if after < before {
            Ok(candidate)
        } else if candidate.said.as_ref().is_none_or(Summary::is_only_earlier) {
            Err(Outcome::NothingToDo)
        } else {
            Err(Outcome::NoGain)
        }
    }
}
