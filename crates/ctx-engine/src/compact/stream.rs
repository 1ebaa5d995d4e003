//! A session that is no file: the same steps, without a store.

use ctx_policy::When;
use ctx_policy::trigger::{Size, Step};

use super::compaction::Compaction;
use super::content::Content;
use super::options::{Environment, Options, Plan};
use super::pruning::prune;
use super::report::{Attention, Outcome, Report};
use super::source::Source;
use crate::{Notes, PassError};

/// The compacted session, or the unchanged one if nothing is to be done or nothing helps.
pub fn compact_stream(
    options: &Options,
    environment: &Environment,
    mut content: Content,
    notes: &mut Notes,
) -> Result<(Report, Content), PassError> {
    notes.watch().stage("compacting");
    content.watch = notes.watch().clone();
    let source = Source::open(options, environment, content, notes)?;
    let (mut report, new) = compact(&source, notes)?;
    if source.is_log() {
        settle(options, &mut report);
        let Some(new) = new else {
            return Ok((report, source.into_original()));
        };
        let new = source.new_file(new, &report, notes)?;
        return Ok((report, source.new_content(new)?));
    }
    let unpruned = new.as_ref().unwrap_or(&source.content);
    let pruned = prune_sent(&source.plan, unpruned, &mut report, notes)?;
    settle(options, &mut report);
    Ok((report, pruned.or(new).unwrap_or_else(|| source.into_original())))
}

/// A stream cannot count attempts, so a frequent job would report the same session each time.
fn settle(options: &Options, report: &mut Report) {
    if options.only_if_due && report.outcome != Outcome::SummaryFailed {
        report.attention = Attention::None;
    }
}

fn compact(source: &Source<'_>, notes: &mut Notes) -> Result<(Report, Option<Content>), PassError> {
    let mut compaction = Compaction::survey(source, None, false)?;
    if !source.plan.policy().enabled {
        compaction.report.end(Outcome::Disabled);
    } else if compaction.step()? != Step::Compact {
        compaction.report.end(Outcome::NotDue);
    } else if let Some(new) = compaction.build(false, None, None, notes)? {
        return Ok((compaction.report, Some(new.content)));
    }
    Ok((compaction.report, None))
}

/// Prunes what is only sent to the model and not stored; `None` where that frees nothing, or
/// misses the target.
fn prune_sent(
    plan: &Plan<'_>,
    content: &Content,
    report: &mut Report,
    notes: &mut Notes,
) -> Result<Option<Content>, PassError> {
    if !plan.policy().enabled {
        return Ok(None);
    }
    let size =
        Size { tokens: report.tokens_after, messages: report.messages_after, ..Size::default() };
    let Some(pruned) = prune(plan, When::Sent, content, &size, notes)? else {
        return Ok(None);
    };
    if pruned.size.tokens >= report.tokens_after || !plan.limits.fits(pruned.size.tokens) {
        return Ok(None);
    }
    let is_compacted = report.outcome.is_compacted();
    let outcome = if is_compacted { report.outcome } else { Outcome::Pruned };
    report.end_at(outcome, &pruned.size);
    Ok(Some(pruned.content))
}

#[cfg(test)]
mod tests {
    use ctx_policy::When;

    use super::super::tests::{Setup, content, plan, session};
    use super::{Compaction, Outcome, prune_sent};
    use crate::Notes;

    #[test]
    fn what_is_sent_is_pruned_only_where_that_frees_something() {
        let mut plan = plan(1);
        plan.policy.prune.when = When::Sent;
        plan.policy.prune.max_chars = Some(400);
        plan.policy.prune.protect_last = 0;
        let sent = |plan: &Setup, words| {
            let mut notes = Notes::new();
            let source = plan.source(content(&session(3, words)), &mut notes);
            let compaction = Compaction::survey(&source, None, false).expect("a survey");
            let mut report = compaction.report;
            let pruned = prune_sent(&source.plan, source.content(), &mut report, &mut notes);
            (pruned.expect("no failure").is_some(), report)
        };
        let (pruned, report) = sent(&plan, 200);
        assert!(pruned && report.tokens_after < report.tokens_before);
        assert_eq!(report.outcome, Outcome::Pruned);
        assert!(!sent(&plan, 20).0);
        plan.policy.target.tokens = Some(10);
        assert!(!sent(&plan, 200).0);
        (plan.policy.target.tokens, plan.policy.enabled) = (None, false);
        assert!(!sent(&plan, 200).0);
    }
}
