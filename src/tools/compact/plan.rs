//! What policy and flags mean for one run.

use std::sync::Arc;

use ctx_cli::{Failure, Io};
use ctx_passes::compact::{MakeWriter, Plan};
use ctx_passes::summarize::{BudgetRequest, recognizer};
use ctx_passes::{Notes, PassError};
use ctx_policy::{Method, Policy};

use super::Args;
use crate::llm::LlmArgs;

impl Args {
    /// The plan, and the policy's offloading in its own words.
    pub(super) fn plan(&self, io: &mut Io) -> Result<Plan, Failure> {
        let mut policy = self.policy.policy(io)?;
        self.override_policy(&mut policy);
        policy.check().map_err(Failure::new)?;
        let counting = self.counting.resolve_under(Some(&policy))?;
        counting.report(io);
        let model_window = counting.model.map(|model| model.window);
        let triggers = policy.trigger.with_model(model_window);
        let llm = llm(self, &policy);
        let is_wanted = llm.has_server() || self.method == Some(Method::Llm);
        let asks = policy.summary.method == Method::Llm && !self.dry_run && is_wanted;
        let headings = if llm.template.as_ref() == Some(&policy.summary.template) {
            policy.summary.sections.clone()
        } else {
            Vec::new()
        };
        let make = move |tokens, notes: &mut Notes| {
            let writer = llm.writer(Some(tokens), |text| notes.warn(&[], text));
            writer.map_err(PassError::caller)
        };
        Ok(Plan {
            triggers,
            overflow: self.triggers.overflow,
            only_if_due: self.if_due,
            force: self.force,
            dry_run: self.dry_run,
            score: self.score,
            counter: counting.counter,
            target: self.budget.or(policy.target.max_tokens(triggers.window())),
            budget: self.budgeted(&policy)?,
            summary_tokens: self.summary_tokens,
            model_window,
            pins: self.pin.clone(),
            last_call: self.last_call,
            calibrate: !self.no_calibrate,
            calibrated: None,
            window: None,
            model: asks.then(|| Arc::new(make) as Arc<MakeWriter>),
            headings,
            recognizer: recognizer(policy.summary.header.as_deref()),
            now: chrono::Utc::now,
            temp: std::env::temp_dir(),
            policy,
        })
    }

    /// What `--budget` asks for: of what is kept, only what a flag says holds.
    fn budgeted(&self, policy: &Policy) -> Result<Option<BudgetRequest>, Failure> {
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

/// The model as flags and policy name it.
fn llm(args: &Args, policy: &Policy) -> LlmArgs {
    let mut llm = args.llm.clone();
    let summary = &policy.summary;
    llm.template = llm.template.or_else(|| Some(summary.template.clone()));
    llm.llm_retries = llm.llm_retries.or(Some(summary.retries));
    llm.llm_backoff = llm.llm_backoff.or(Some(summary.backoff_seconds));
    llm.llm_model = llm.llm_model.or_else(|| summary.model.clone());
    llm.instructions = llm.instructions.or_else(|| summary.instructions.clone());
    llm.on_failure = llm.on_failure.or(Some(summary.on_failure()));
    llm
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use ctx_policy::Policy;

    use super::super::Args;
    use super::llm;

    #[test]
    fn the_wait_is_the_flags_or_the_policys() {
        let mut policy = Policy::default();
        policy.summary.backoff_seconds = 7;
        for (flags, seconds) in [(&["t"][..], 7), (&["t", "--llm-backoff", "9"], 9)] {
            let args = Args::parse_from(flags);
            let retries = llm(&args, &policy).retries();
            assert_eq!(retries.step.as_secs(), seconds);
        }
    }
}
