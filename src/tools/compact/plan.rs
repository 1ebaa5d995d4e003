//! What policy and flags mean for one run.

use std::sync::Arc;

use clap::ArgMatches;
use ctx_cli::{Failure, Io};
use ctx_passes::compact::{Given, MakeWriter, Plan};
use ctx_passes::{Notes, PassError};
use ctx_policy::{Fallback, Method};

use super::Args;

impl Args {
    /// The plan, by flags, environment, configuration and preset.
    pub(super) fn plan(&self, matches: &ArgMatches, io: &mut Io) -> Result<Plan, Failure> {
        let mut policy = self.policy.policy(io)?;
        policy.trigger = self.triggers.triggers.or(policy.trigger);
        self.asked.over.lay_on(&mut policy);
        policy.check().map_err(Failure::new)?;
        self.llm.refuse_unasked(matches, policy.summary.method)?;
        // --method llm means a model, unless a flag or the policy names another summary to fall back to.
        let is_flag = self.asked.over.method == Some(Method::Llm);
        if is_flag && self.llm.on_failure.is_none() && policy.summary.named_fallback().is_none() {
            policy.summary.fallback = vec![Fallback::Fail];
        }
        let counting = self.counting.resolve_under(Some(&policy))?;
        counting.report(io);
        let llm = self.llm.under(&policy.summary);
        let headings = if llm.template.as_ref() == Some(&policy.summary.template) {
            policy.summary.sections.clone()
        } else {
            Vec::new()
        };
        let asks = self.asked.asks_model(&policy, llm.has_server());
        let make = move |tokens, notes: &mut Notes| {
            let writer = llm.writer(tokens, |text| notes.warn(&[], text));
            writer.map_err(PassError::caller)
        };
        let given = Given {
            policy,
            counter: counting.counter,
            model_window: counting.model.map(|model| model.window),
            overflow: self.triggers.overflow,
            model: asks.then(|| Arc::new(make) as Arc<MakeWriter>),
            headings,
            saved: self.store.promise(matches, !self.is_filter()),
            now: chrono::Utc::now,
            temp: std::env::temp_dir(),
        };
        self.asked.plan(given).map_err(Failure::new)
    }
}
