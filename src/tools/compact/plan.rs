//! What policy and flags mean for one run.

use std::sync::Arc;

use clap::ArgMatches;
use ctx_cli::{Failure, Io};
use ctx_passes::compact::{Given, MakeWriter, Plan};
use ctx_passes::{Notes, PassError};

use super::Args;

impl Args {
    /// The plan, by flags, environment, configuration and preset.
    pub(super) fn plan(&self, matches: &ArgMatches, io: &mut Io) -> Result<Plan, Failure> {
        let mut policy = self.policy.policy(io)?;
        policy.trigger = self.triggers.triggers.or(policy.trigger);
        self.asked.over.lay_on(&mut policy);
        policy.check().map_err(Failure::new)?;
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
