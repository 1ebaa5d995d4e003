//! What makes a session smaller without a summary, and is done first: large
//! results into files, pruning.

use std::fs::File;
use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_passes::offload::{self, Offloader, Restorer};
use ctx_policy::When;
use ctx_select::trigger::Step;
use ctx_store::{SessionId, Store, real_path};

use super::ladder::{Candidate, Climb};
use super::plan::Plan;
use super::pruning::{Pruned, prune};
use super::stages::Measured;
use crate::store::failure;

/// Where offloaded results lie, and whether they are written.
#[derive(Clone, Copy)]
pub(super) enum Stores<'a> {
    /// A filter: nothing is offloaded.
    None,
    /// The store, whose session, and the file that will name them.
    Of(&'a Store, &'a SessionId, &'a Path),
}

/// What the first steps took out of the session.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// The lines whose records are left out.
    pub(super) dropped: Vec<u64>,
    /// The files that results are in now.
    pub(super) offloaded: Vec<String>,
}

/// The session after the first steps.
pub(super) struct Prepared {
    pub(super) file: File,
    pub(super) measured: Measured,
    pub(super) taken: Taken,
    pub(super) what: &'static str,
    /// Whether nothing need be summed up any more.
    pub(super) is_enough: bool,
}

impl Prepared {
    pub(super) fn candidate(self) -> Candidate {
        Candidate {
            file: self.file,
            measured: self.measured,
            tagged: None,
            kept: None,
            first_kept: None,
            said: None,
            taken: self.taken,
        }
    }
}

impl<'a> Stores<'a> {
    /// The session's file; `-` is stdin.
    pub(super) fn path(self) -> &'a Path {
        match self {
            Self::None => Path::new("-"),
            Self::Of(_, _, path) => path,
        }
    }

    /// What puts offloaded results back before they are summed up, when the policy
    /// has any.
    pub(super) fn restorer(self, plan: &Plan) -> Result<Option<Restorer<'a>>, Failure> {
        let offload = &plan.policy.offload;
        match self {
            Self::Of(store, session, _)
                if offload.restore_before_summary && offload.min_tokens.is_some() =>
            {
                let unavailable = &offload.unavailable;
                let restorer = Restorer::new(store, session, plan.reference()?, unavailable);
                restorer.map(Some).map_err(failure)
            }
            _ => Ok(None),
        }
    }
}

/// Offloads and prunes as the policy says; `None` when it says nothing of it.
pub(super) fn prepare(
    climb: &Climb<'_>,
    input: &File,
    io: &mut Io,
) -> Result<Option<Prepared>, Failure> {
    if let Some(prepared) = offload(climb, input)? {
        return Ok(Some(prepared));
    }
    let Climb { plan, source, .. } = climb;
    let path = climb.stores.path();
    let Some(pruned) = prune(plan, source, When::Before, path, input, io)? else {
        return Ok(None);
    };
    let Pruned {
        file,
        measured,
        dropped,
    } = pruned;
    if measured.size.tokens == climb.before.size.tokens && plan.sums_up_or_drops() {
        return Ok(None);
    }
    let fits = plan.fits(measured.size.context()) && !is_due(plan, &measured);
    Ok(Some(Prepared {
        is_enough: !plan.sums_up_or_drops() || (plan.only_if_due && fits),
        what: "pruned-first",
        file,
        measured,
        taken: Taken {
            dropped,
            ..Taken::default()
        },
    }))
}

/// Takes large results out. That is enough when it freed as much as the policy
/// wants, or the session is not due any more.
fn offload(climb: &Climb<'_>, input: &File) -> Result<Option<Prepared>, Failure> {
    let Climb { plan, source, .. } = climb;
    let offload = &plan.policy.offload;
    let (Some(min_tokens), Stores::Of(store, session, path)) = (offload.min_tokens, climb.stores)
    else {
        return Ok(None);
    };
    let counter = plan.counting.counter;
    let wanted = offload::Plan {
        min_tokens,
        enough_tokens: None,
        template: plan.reference()?,
        counter,
        dry_run: plan.dry_run,
    };
    let mut offloader = Offloader::new(store, session, wanted).map_err(failure)?;
    let file = source.change(&mut offloader, input, false)?;
    if offloader.results.is_empty() {
        return Ok(None);
    }
    // Known by its real name, so that gc can look into it.
    let live = real_path(path).ok();
    offloader.finish(&[live.as_deref()]).map_err(failure)?;
    let measured = source.measure(&file, &counter)?;
    let freed_enough = offload
        .enough_tokens
        .is_some_and(|enough| offloader.freed >= enough);
    Ok(Some(Prepared {
        is_enough: plan.only_if_due && (freed_enough || !is_due(plan, &measured)),
        what: "offloaded",
        file,
        measured,
        taken: Taken {
            offloaded: offloader.results.into_iter().map(|r| r.path).collect(),
            ..Taken::default()
        },
    }))
}

fn is_due(plan: &Plan, measured: &Measured) -> bool {
    plan.triggers.check(&measured.size).step == Step::Compact
}
