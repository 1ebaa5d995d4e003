//! Pruning as the policy says: what is too long is trimmed; where that is not
//! enough, what is old is cleared.

use std::fs::File;
use std::path::Path;

use ctx_cli::{Failure, Io};
use ctx_policy::{Clear, Mode, When};
use ctx_select::trigger::Trigger;

use super::plan::Plan;
use super::stages::{Measured, Source};
use crate::tools::prune::{self, Cache, Ttl};

/// A session after pruning.
pub(super) struct Pruned {
    pub(super) file: File,
    pub(super) measured: Measured,
    /// The lines whose records were left out.
    pub(super) dropped: Vec<u64>,
}

/// Prunes a session, whose file is at `path` (stdin at `-`), if the policy asks for
/// it `when` this is.
pub(super) fn prune(
    plan: &Plan,
    source: &Source,
    when: When,
    path: &Path,
    input: &File,
    io: &mut Io,
) -> Result<Option<Pruned>, Failure> {
    if !plan.prunes(when) {
        return Ok(None);
    }
    let clear = plan.policy.prune.clear;
    let trimmed = run(plan, source, clear == Clear::Always, path, input, io)?;
    if clear != Clear::IfNeeded {
        return Ok(trimmed);
    }
    let measured = match &trimmed {
        Some(trimmed) => &trimmed.measured,
        None => &source.measure(input, &plan.counting.counter)?,
    };
    if !plan.is_over_its_limit(measured) {
        return Ok(trimmed);
    }
    // Of what came in, so that each handle is of the original.
    run(plan, source, true, path, input, io)
}

fn run(
    plan: &Plan,
    source: &Source,
    clears: bool,
    path: &Path,
    input: &File,
    io: &mut Io,
) -> Result<Option<Pruned>, Failure> {
    let Some(rules) = plan.prune(clears, source.dialect, path) else {
        return Ok(None);
    };
    let (file, dropped) = source.prune(&rules, input, io)?;
    Ok(Some(Pruned {
        measured: source.measure(&file, &plan.counting.counter)?,
        file,
        dropped,
    }))
}

impl Plan {
    /// Whether the policy prunes at that time. Where nothing is summed up, there is
    /// no summary whose failure it could wait for.
    fn prunes(&self, when: When) -> bool {
        match (self.policy.mode, self.policy.prune.when) {
            (Mode::SummaryOnly, _) => false,
            (Mode::PruneOnly, When::Fallback) => when == When::Before,
            (_, policy) => policy == when,
        }
    }

    fn prune(
        &self,
        clears: bool,
        dialect: &dyn ctx_transcript::Dialect,
        path: &Path,
    ) -> Option<prune::Plan> {
        let policy = &self.policy.prune;
        let cache = policy.cache_ttl.map(|ttl| Cache {
            ttl: Ttl::from(ttl),
            last_call: self.last_call,
            path: path.to_owned(),
        });
        prune::Plan::of_policy(
            &self.policy,
            clears,
            dialect,
            &self.pins,
            self.counting,
            cache,
        )
    }

    /// Whether a context is above its target, or above a limit of tokens.
    fn is_over_its_limit(&self, measured: &Measured) -> bool {
        let of_tokens = [Trigger::Tokens, Trigger::Share, Trigger::Reserve];
        let readings = self.triggers.check(&measured.size).readings;
        let mut readings = readings.iter();
        !self.fits(measured.size.context())
            || readings.any(|reading| {
                of_tokens.contains(&reading.trigger) && reading.value > reading.limit
            })
    }
}
