//! From what the policy wants to what still helps: the next rung is taken where
//! a result is not small enough.

use std::fs::File;

use ctx_cli::{Failure, Io};
use ctx_policy::When;
use ctx_select::budget::LEAST_SUMMARY;
use ctx_select::count::PER_MESSAGE;
use ctx_select::split::Keep;

use super::outcome::{Attempt, Outcome};
use super::plan::{Plan, Rung};
use super::prepare::{Prepared, Stores, Taken, prepare};
use super::pruning::prune;
use super::stages::{Measured, Source, again};
use ctx_passes::split::{self, ZoneCounts};
use ctx_passes::summarize::Summary;

/// A new content for the session, measured and checked.
pub(super) struct Candidate {
    pub(super) file: File,
    pub(super) measured: Measured,
    /// The records with their zones, where something was summed up or left out.
    pub(super) tagged: Option<File>,
    pub(super) kept: Option<u64>,
    pub(super) first_kept: Option<u64>,
    /// What was summed up.
    pub(super) said: Option<Summary>,
    /// What was taken out before the records had zones.
    pub(super) taken: Taken,
}

/// A session with its zones: the same for all rungs that keep as much.
struct Zoned {
    keep: Keep,
    tagged: File,
    written: ZoneCounts,
}

/// What came of it, and what was tried.
pub(super) struct Climbed {
    pub(super) result: Result<Candidate, Outcome>,
    pub(super) attempts: Vec<Attempt>,
}

/// The session that is to become smaller.
pub(super) struct Climb<'a> {
    pub(super) plan: &'a Plan,
    pub(super) source: &'a Source,
    pub(super) before: &'a Measured,
    /// Where offloaded results go; a filter has no store.
    pub(super) stores: Stores<'a>,
    /// Whether a trigger fired.
    pub(super) due: bool,
}

impl Climb<'_> {
    /// Tries one rung after the other until a result is smaller than the session
    /// and not above the target.
    pub(super) fn climb(&self, input: &File, io: &mut Io) -> Result<Climbed, Failure> {
        let (plan, before) = (self.plan, self.before);
        let mut attempts = Vec::new();
        let prepared = prepare(self, input, io)?;
        if let Some(Prepared { what, measured, .. }) = &prepared {
            let tokens = measured.size.tokens;
            attempts.push(Attempt { what, tokens });
        }
        let mut taken = Taken::default();
        let input = match prepared {
            Some(prepared) if prepared.is_enough => {
                let candidate = prepared.candidate();
                candidate.check(self)?;
                return Ok(self.end(candidate, attempts));
            }
            Some(prepared) => {
                taken = prepared.taken;
                &{ prepared.file }
            }
            None => input,
        };
        if !plan.sums_up_or_drops() {
            let result = Err(Outcome::NothingToDo);
            return Ok(Climbed { result, attempts });
        }
        if let Some(asked) = &plan.budget {
            return self.within(asked, (input, taken), attempts, io);
        }
        let size = before.size.context();
        // Less than the policy keeps is kept only where more does not help.
        let in_need = self.due || !plan.fits(size);
        let (mut smaller, mut failed_check) = (false, false);
        let mut zoned: Option<Zoned> = None;
        let first = attempts.len();
        for rung in plan.rungs() {
            if rung.keeps_less() && !in_need {
                break;
            }
            if rung == Rung::LessKept && !failed_check {
                continue;
            }
            let split = plan.split(rung, before);
            let zoned = match zoned.take() {
                Some(same) if same.keep == split.keep => zoned.insert(same),
                _ => zoned.insert(self.zoned(&split, input)?),
            };
            let built = match rung {
                Rung::LastTurnsAlone if plan.sums_up() => self.last_turns(input, zoned, io)?,
                _ => self.build(rung, zoned, io)?,
            };
            let Some(mut candidate) = built else {
                if !in_need {
                    break;
                }
                continue;
            };
            candidate.check(self)?;
            let (what, tokens) = (rung.as_str(), candidate.measured.size.tokens);
            attempts.push(Attempt { what, tokens });
            if candidate.failed_check() {
                failed_check = true;
            } else if tokens < before.size.tokens {
                if plan.fits(tokens) {
                    candidate.taken = taken;
                    let result = Ok(candidate);
                    return Ok(Climbed { result, attempts });
                }
                smaller = true;
            }
        }
        let result = Err(if attempts.len() == first && !in_need {
            Outcome::NothingToDo
        } else if plan.fits(size) && !smaller {
            Outcome::NoGain
        } else {
            Outcome::Unreachable
        });
        Ok(Climbed { result, attempts })
    }

    /// What was prepared is all that is to be done.
    fn end(&self, candidate: Candidate, attempts: Vec<Attempt>) -> Climbed {
        let tokens = candidate.measured.size.tokens;
        let result = if self.plan.budget.is_some() && !self.plan.fits(tokens) {
            Err(Outcome::Unreachable)
        } else if tokens < self.before.size.tokens {
            Ok(candidate)
        } else {
            Err(Outcome::NoGain)
        };
        Climbed { result, attempts }
    }

    /// What is old, with what was taken out of it put back.
    fn zoned(&self, split: &split::Plan, input: &File) -> Result<Zoned, Failure> {
        let Self { plan, source, .. } = self;
        let (mut tagged, written) = source.split(split, input)?;
        if written.old > 0
            && let Some(mut restorer) = self.stores.restorer(plan)?
        {
            tagged = source.change(&mut restorer, &tagged, true)?;
        }
        Ok(Zoned {
            keep: split.keep,
            tagged,
            written,
        })
    }

    /// One rung; `None` when nothing is old but an earlier summary.
    fn build(&self, rung: Rung, zoned: &Zoned, io: &mut Io) -> Result<Option<Candidate>, Failure> {
        let Self { plan, source, .. } = self;
        let Zoned {
            tagged, written, ..
        } = zoned;
        if written.old == 0 {
            return Ok(None);
        }
        if !plan.sums_up() {
            let file = source.without_old(tagged)?;
            return self.of_rung(rung, zoned, file, None, io).map(Some);
        }
        let summary = plan.summary(rung, self.before, io)?;
        let (file, said) = source.summarize(&summary, tagged, io)?;
        if said.as_ref().is_none_or(Summary::is_only_earlier) {
            return Ok(None);
        }
        self.of_rung(rung, zoned, file, said, io).map(Some)
    }

    /// The last turns, with as much of a summary as the target still has room for;
    /// where it has none, their results make room if they can. An earlier summary, which
    /// is all that there is of the rest, gets shorter only for the target, and never goes.
    fn last_turns(
        &self,
        input: &File,
        zoned: &Zoned,
        io: &mut Io,
    ) -> Result<Option<Candidate>, Failure> {
        let (plan, before) = (self.plan, self.before.size.tokens);
        let most = plan.target.unwrap_or(before).min(before.saturating_sub(1));
        let of_rung = |file, said, io: &mut Io| {
            let rung = Rung::LastTurnsAlone;
            self.of_rung(rung, zoned, file, said, io)
        };
        let alone = of_rung(self.source.without_old(&zoned.tagged)?, None, io)?;
        let room = most.saturating_sub(alone.measured.size.tokens + PER_MESSAGE);
        let summary = plan.summary_of(room.max(LEAST_SUMMARY));
        let (file, said) = self.source.summarize(&summary, &zoned.tagged, io)?;
        let only_earlier = said.as_ref().is_none_or(Summary::is_only_earlier);
        let fits = |candidate: &Candidate| candidate.measured.size.tokens <= most;
        if !only_earlier {
            let with_summary = of_rung(file, said, io)?;
            if fits(&with_summary) {
                return Ok(Some(with_summary));
            }
        }
        let shared = if fits(&alone) && !(only_earlier && plan.fits(before)) {
            self.shared_out(most, input, io)?.filter(fits)
        } else {
            None
        };
        Ok(shared.or_else(|| (!only_earlier).then_some(alone)))
    }

    fn of_rung(
        &self,
        rung: Rung,
        Zoned {
            tagged, written, ..
        }: &Zoned,
        mut file: File,
        said: Option<Summary>,
        io: &mut Io,
    ) -> Result<Candidate, Failure> {
        let Self { plan, source, .. } = self;
        if rung.prunes() {
            for when in [When::Fallback, When::Before] {
                let pruned = prune(plan, source, when, self.stores.path(), &file, io)?;
                file = pruned.map_or(file, |pruned| pruned.file);
            }
        }
        Ok(Candidate {
            measured: source.measure(&file, &plan.counting.counter)?,
            file,
            tagged: Some(again(tagged)?),
            kept: Some(written.keep),
            first_kept: written.first_keep,
            said,
            taken: Taken::default(),
        })
    }
}

impl Candidate {
    /// Whether a model's summary was not good enough.
    fn failed_check(&self) -> bool {
        self.said.as_ref().is_some_and(|said| said.failed_check)
    }

    /// The gate: the session gets no offence that it did not hold.
    pub(super) fn check(&self, climb: &Climb<'_>) -> Result<(), Failure> {
        let source = climb.source;
        source.refuse_new_offence(&self.measured, climb.before)
    }
}
