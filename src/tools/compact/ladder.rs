//! From what the policy wants to what still helps: the next rung is taken where
//! a result is not small enough.

use std::fs::File;

use ctx_cli::{Failure, Io};

use super::outcome::{Attempt, Outcome};
use super::plan::{Plan, Rung};
use super::stages::{Measured, Source};
use crate::tools::summarize::Said;

/// A new content for the session, measured and checked.
pub(super) struct Candidate {
    pub(super) file: File,
    pub(super) measured: Measured,
    /// The records with their zones, which it was made of.
    pub(super) tagged: File,
    pub(super) kept: u64,
    pub(super) first_kept: Option<u64>,
    /// What was summed up.
    pub(super) said: Option<Said>,
}

/// What came of it, and what was tried.
pub(super) struct Climbed {
    pub(super) result: Result<Candidate, Outcome>,
    pub(super) attempts: Vec<Attempt>,
}

/// Tries one rung after the other until a result is smaller than the session
/// and not above the target.
pub(super) fn climb(
    plan: &Plan,
    source: &Source,
    input: &File,
    before: &Measured,
    due: bool,
    io: &mut Io,
) -> Result<Climbed, Failure> {
    let size = before.size.context();
    // Less than the policy keeps is kept only where more does not help.
    let in_need = due || !plan.fits(size);
    let (mut attempts, mut smaller) = (Vec::new(), false);
    for rung in plan.rungs() {
        if rung.keeps_less() && !in_need {
            break;
        }
        let Some(candidate) = build(plan, rung, source, input, before, io)? else {
            if !in_need {
                break;
            }
            continue;
        };
        candidate.check(source, before)?;
        let tokens = candidate.measured.size.tokens;
        let what = rung.as_str();
        attempts.push(Attempt { what, tokens });
        if tokens < before.size.tokens {
            if plan.fits(tokens) {
                let result = Ok(candidate);
                return Ok(Climbed { result, attempts });
            }
            smaller = true;
        }
    }
    let result = Err(if attempts.is_empty() && !in_need {
        Outcome::NothingToDo
    } else if plan.fits(size) && !smaller {
        Outcome::NoGain
    } else {
        Outcome::Unreachable
    });
    Ok(Climbed { result, attempts })
}

impl Candidate {
    /// The gate: the session gets no offence that it did not hold.
    fn check(&self, source: &Source, before: &Measured) -> Result<(), Failure> {
        let Some(offence) = self.measured.new_offence(before) else {
            return Ok(());
        };
        let why = offence.why();
        Err(Failure::new(format_args!(
            "the result would break a rule that the session keeps: {why}; nothing was changed"
        ))
        .at(&source.name, None)
        .hint("this is a mistake of the tool: please report it"))
    }
}

/// One rung; `None` when nothing is old but an earlier summary.
fn build(
    plan: &Plan,
    rung: Rung,
    source: &Source,
    input: &File,
    before: &Measured,
    io: &mut Io,
) -> Result<Option<Candidate>, Failure> {
    let (tagged, written) = source.split(&plan.split(rung, before), input)?;
    if written.old == 0 {
        return Ok(None);
    }
    let (file, said) = if rung == Rung::LastTurnsAlone || !plan.sums_up() {
        (source.without_old(&tagged)?, None)
    } else {
        let summary = plan.summary(rung, before, io)?;
        let (file, said) = source.summarize(&summary, &tagged, io)?;
        if said.as_ref().is_none_or(Said::is_only_earlier) {
            return Ok(None);
        }
        (file, said)
    };
    let measured = source.measure(&file, &plan.counter)?;
    Ok(Some(Candidate {
        file,
        measured,
        tagged,
        kept: written.keep,
        first_kept: written.first_keep,
        said,
    }))
}
