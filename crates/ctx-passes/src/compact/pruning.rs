//! Pruning as the policy says: what is too long is trimmed; where that is not
//! enough, what is old is cleared.

use ctx_policy::{Clear, When};
use ctx_select::prune::{Policy, Questions, Verdicts};
use ctx_select::trigger::Size;

use super::content::{Content, temporary};
use super::plan::Plan;
use super::survey::Survey;
use crate::checks::Checks;
use crate::outlet::Outlet;
use crate::prune::decision::{self, tell_gain, tell_sums};
use crate::prune::{self, Decision, PrunePass};
use crate::{Notes, PassError};

/// A session after pruning.
pub(super) struct Pruned {
    pub(super) content: Content,
    pub(super) size: Size,
}

/// The rules of a policy, with and without clearing what is old.
pub(super) struct Rules {
    pub(super) trims: Option<Policy>,
    pub(super) clears: Option<Policy>,
}

impl Rules {
    /// What applies when this is; `None` when nothing does.
    pub(super) fn at(plan: &Plan, when: When, content: &Content) -> Option<Self> {
        if !plan.prunes(when) {
            return None;
        }
        let policy = &plan.policy.prune;
        let rules = |clears| prune::rules(&plan.policy, clears, content.dialect);
        let rules = Self {
            trims: (policy.clear != Clear::Always)
                .then(|| rules(false))
                .flatten(),
            clears: (policy.clear != Clear::Never)
                .then(|| rules(true))
                .flatten(),
        };
        (rules.trims.is_some() || rules.clears.is_some()).then_some(rules)
    }

    /// The rules that ask for most.
    fn most(&self) -> Option<&Policy> {
        self.clears.as_ref().or(self.trims.as_ref())
    }

    /// What a survey has to ask for them.
    pub(super) fn questions(&self, plan: &Plan) -> Option<Questions<'_>> {
        Some(Questions {
            policy: self.most()?,
            counter: plan.counter,
            size: true,
        })
    }
}

/// Whether anything may be pruned: where nothing tells how old the last call is, the
/// cache may be warm, and nothing changes.
fn may_change(
    plan: &Plan,
    content: &Content,
    last_call: prune::LastCall,
    notes: &mut Notes,
) -> bool {
    let Some(cache) = plan.cache(content.last_change) else {
        return true;
    };
    cache.is_cold(last_call).unwrap_or_else(|| {
        notes.warn(
            &[],
            "nothing tells when the last call was: nothing is pruned; --last-call TIME tells",
        );
        false
    })
}

/// Decides what pruning does to a surveyed session, by the verdicts that its survey
/// made possible. They stay in the survey where they are to be carried out; gives the
/// size that is left then.
pub(super) fn decide<'p>(
    plan: &Plan,
    content: &Content,
    rules: &'p Rules,
    survey: &mut Survey<'p>,
    notes: &mut Notes,
) -> Option<Size> {
    let may = may_change(plan, content, survey.last_call, notes);
    let mut verdicts = survey.pruned.take()?;
    let mut judged = None;
    if let Some(trims) = &rules.trims {
        if rules.clears.is_some() {
            verdicts = verdicts.under(trims, &plan.counter);
        }
        judged = judge(plan, &verdicts, may, notes);
    }
    let size = judged.unwrap_or(survey.size);
    if let Some(clears) = &rules.clears
        && (plan.policy.prune.clear == Clear::Always || plan.is_over_its_limit(&size))
    {
        // Of what came in, so that each handle is of the original.
        verdicts = verdicts.under(clears, &plan.counter);
        judged = judge(plan, &verdicts, may, notes);
    }
    survey.pruned = judged.is_some().then_some(verdicts);
    judged
}

/// The size that is left, where enough is freed.
fn judge(plan: &Plan, verdicts: &Verdicts<'_>, may: bool, notes: &mut Notes) -> Option<Size> {
    if !may {
        return None;
    }
    let sums = verdicts.sums();
    tell_sums(&sums, notes);
    if sums.total().gain() < plan.policy.prune.min_gain.unwrap_or(0) {
        tell_gain(&sums, notes);
        return None;
    }
    Some(verdicts.size())
}

/// Carries the verdicts of a survey out, and nothing else.
pub(super) fn carry_out(
    plan: &Plan,
    content: &Content,
    survey: &Survey<'_>,
    notes: &mut Notes,
) -> Result<Content, PassError> {
    let mut checks = Checks::new(content.dialect.rules());
    let file = temporary(|output| {
        let mut outlet = Outlet::new(output, survey.announced, &plan.temp);
        let mut number = 0;
        content.each(|record| {
            let outline = record.outline(Some(content.dialect));
            if let Some(outline) = &outline {
                checks.input(record.line, outline);
            }
            let new = match &survey.pruned {
                Some(verdicts) if verdicts.is_dropped(number) => {
                    outlet.skip(record.piece);
                    number += 1;
                    return Ok(());
                }
                Some(verdicts) => decision::changed(verdicts, number, record, content.dialect),
                None => None,
            };
            if let Some(outline) = &outline {
                checks.output(record.line, outline);
            }
            number += 1;
            outlet.write(record, new.map(|(bytes, _)| bytes))
        })?;
        outlet.finish(0).map(|_| ())
    })?;
    checks.finish(false, notes)?;
    Ok(content.with(file))
}

/// Prunes what was made of a session, if the policy asks for it `when` this is.
pub(super) fn prune(
    plan: &Plan,
    when: When,
    content: &Content,
    size: &Size,
    notes: &mut Notes,
) -> Result<Option<Pruned>, PassError> {
    let Some(rules) = Rules::at(plan, when, content) else {
        return Ok(None);
    };
    let mut trimmed = None;
    if let Some(trims) = &rules.trims {
        trimmed = Some(run(plan, trims, content, size, notes)?);
    }
    let left = trimmed.as_ref().map_or(size, |pruned| &pruned.size);
    match &rules.clears {
        Some(clears)
            if plan.policy.prune.clear == Clear::Always || plan.is_over_its_limit(left) =>
        {
            run(plan, clears, content, size, notes).map(Some)
        }
        _ => Ok(trimmed),
    }
}

fn run(
    plan: &Plan,
    policy: &Policy,
    content: &Content,
    size: &Size,
    notes: &mut Notes,
) -> Result<Pruned, PassError> {
    let rules = prune::Plan {
        policy: policy.clone(),
        pins: plan.pins.clone(),
        zone: None,
        min_gain: plan.policy.prune.min_gain.unwrap_or(0),
        counter: plan.counter,
        tell_changes: false,
        size: true,
        strict: false,
        cache: plan.cache(content.last_change),
        temp: plan.temp.clone(),
    };
    let mut pass = PrunePass::new(&rules, Some(content.dialect), false);
    content.each(|record| pass.push(record))?;
    let may = may_change(plan, content, pass.last_call(), notes);
    let mut decision: Decision<'_> = pass.finish(may, notes)?;
    let size = if decision.changes() {
        decision.verdicts().size()
    } else {
        *size
    };
    let file = temporary(|output| decision.write(0, output).map(|_| ()))?;
    Ok(Pruned {
        content: content.with(file),
        size,
    })
}
