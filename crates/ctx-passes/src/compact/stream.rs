//! A session that is no file: the same steps, without a store.

use ctx_policy::When;
use ctx_select::trigger::{Size, Step};

use super::content::Content;
use super::job::Job;
use super::linked::{Circumstances, Linked};
use super::outcome::{Attention, Outcome, Report};
use super::plan::Plan;
use super::pruning::{Rules, prune};
use crate::{Notes, PassError};

/// The compacted session, or, where nothing is to be done or nothing helps, the session
/// as it came.
pub fn compact_stream(
    plan: &Plan,
    mut content: Content,
    notes: &mut Notes,
) -> Result<(Report, Content), PassError> {
    notes.watch().stage("compacting");
    content.watch = notes.watch().clone();
    let linked = Linked::of(&content, plan)?;
    let Some(linked) = linked else {
        let (mut report, new) = summed_up(plan, &content, notes)?;
        let content = new.unwrap_or(content);
        let pruned = prune_sent(plan, &content, &mut report, notes)?;
        settle(plan, &mut report);
        return Ok((report, pruned.unwrap_or(content)));
    };
    let plan = &linked.plan(plan, notes);
    let (mut report, new) = summed_up(plan, &linked.lowered, notes)?;
    settle(plan, &mut report);
    let Some(new) = new else {
        return Ok((report, content));
    };
    let circumstances = Circumstances::of(plan, &report);
    let written = linked.written(&new, &circumstances, notes)?;
    Ok((report, linked.with(written)?))
}

/// Of what goes through nothing is remembered: a job that asks what is due would be told of it
/// every time.
fn settle(plan: &Plan, report: &mut Report) {
    if plan.only_if_due && report.outcome != Outcome::SummaryFailed {
        report.attention = Attention::None;
    }
}

fn summed_up(
    plan: &Plan,
    content: &Content,
    notes: &mut Notes,
) -> Result<(Report, Option<Content>), PassError> {
    let first = Rules::first(plan, content);
    let mut job = Job::of(plan, content, &first, None, false)?;
    if !plan.policy.enabled {
        job.report.end(Outcome::Disabled);
    } else if job.step()? != Step::Compact {
        job.report.end(Outcome::NotDue);
    } else if let Some(new) = job.build(None, notes)? {
        return Ok((job.report, Some(new.content)));
    }
    Ok((job.report, None))
}

/// Prunes a session that is only sent to the model, not stored. `None` if that frees
/// nothing, or misses the target.
fn prune_sent(
    plan: &Plan,
    content: &Content,
    report: &mut Report,
    notes: &mut Notes,
) -> Result<Option<Content>, PassError> {
    if !plan.policy.enabled {
        return Ok(None);
    }
    let size = Size {
        tokens: report.tokens_after,
        messages: report.messages_after,
        ..Size::default()
    };
    let Some(pruned) = prune(plan, When::Sent, content, &size, notes)? else {
        return Ok(None);
    };
    if pruned.size.tokens >= report.tokens_after || !plan.fits(pruned.size.tokens) {
        return Ok(None);
    }
    let outcome = match report.outcome {
        outcome if outcome.is_compacted() => outcome,
        _ => Outcome::Pruned,
    };
    report.end_at(outcome, &pruned.size);
    Ok(Some(pruned.content))
}

#[cfg(test)]
mod tests {
    use ctx_policy::When;

    use super::super::job::tests::{content, plan, session};
    use super::{Job, Outcome, Plan, Rules, prune_sent};
    use crate::Notes;

    #[test]
    fn what_is_sent_is_pruned_only_where_that_frees_something() {
        let mut plan = plan(1);
        plan.policy.prune.when = When::Sent;
        plan.policy.prune.max_chars = Some(400);
        plan.policy.prune.protect_last = 0;
        let sent = |plan: &Plan, words| {
            let content = content(&session(3, words));
            let first = Rules::first(plan, &content);
            let job = Job::of(plan, &content, &first, None, false).expect("a survey");
            let mut report = job.report;
            let pruned = prune_sent(plan, &content, &mut report, &mut Notes::new());
            (pruned.expect("no failure").is_some(), report)
        };
        let (pruned, report) = sent(&plan, 200);
        assert!(pruned && report.tokens_after < report.tokens_before);
        assert_eq!(report.outcome, Outcome::Pruned);
        assert!(!sent(&plan, 20).0);
        plan.target = Some(10);
        assert!(!sent(&plan, 200).0);
        (plan.target, plan.policy.enabled) = (None, false);
        assert!(!sent(&plan, 200).0);
    }
}
