//! A session that is no file: the same steps, without a store.

use ctx_policy::When;
use ctx_select::trigger::{Size, Step};

use super::{Content, First, Job, Outcome, Plan, Report, pruning};
use crate::{Notes, PassError};

/// The compacted session, or, where nothing is to be done or nothing helps, the session
/// as it came.
pub fn compact_stream(
    plan: &Plan,
    content: Content,
    name: &str,
    notes: &mut Notes,
) -> Result<(Report, Content), PassError> {
    let (mut report, new) = summed_up(plan, &content, name, notes)?;
    let content = new.unwrap_or(content);
    let pruned = prune_sent(plan, &content, &mut report, notes)?;
    Ok((report, pruned.unwrap_or(content)))
}

fn summed_up(
    plan: &Plan,
    content: &Content,
    name: &str,
    notes: &mut Notes,
) -> Result<(Report, Option<Content>), PassError> {
    let first = First::of(plan, content);
    let mut job = Job::of(plan, content, &first, name, false)?;
    if !plan.policy.enabled {
        job.end(Outcome::Disabled);
    } else if job.step() != Step::Compact {
        job.end(Outcome::NotDue);
    } else if let Some(new) = job.build(None, notes)? {
        return Ok((job.report, Some(new.content)));
    }
    Ok((job.report, None))
}

/// Prunes what is pruned only on its way to the model. `None` where that frees nothing,
/// or the target stays out of reach.
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
        tokens: report.current_tokens,
        messages: report.current_messages,
        ..Size::default()
    };
    let Some(pruned) = pruning::prune(plan, When::Sent, content, &size, notes)? else {
        return Ok(None);
    };
    if pruned.size.tokens >= report.current_tokens || !plan.fits(pruned.size.tokens) {
        return Ok(None);
    }
    report.pruned(&pruned.size);
    Ok(Some(pruned.content))
}
