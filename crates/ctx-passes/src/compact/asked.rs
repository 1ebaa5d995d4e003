//! What is asked of a compaction by flags, and the plan that comes of it.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use clap::Args;
use ctx_policy::{Method, Overrides, Policy};
use ctx_select::count::MessageCounter;
use ctx_select::parse_count;
use ctx_select::trigger::Triggers;
use ctx_transcript::Saved;

use super::plan::{MakeWriter, Plan};
use crate::Pin;
use crate::Time;
use crate::summarize::{BudgetRequest, recognizer};

/// How a session is compacted, beside what the policy says.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Policy")]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
pub struct Asked {
    /// Compact only if it is due; else do nothing and exit with 0
    ///
    /// A trigger of the policy says so.
    #[arg(long)]
    if_due: bool,
    /// Compact even if it is not due, or earlier runs gained nothing
    #[arg(long, conflicts_with = "if_due")]
    force: bool,
    /// Score what is kept [default: true for sessions up to 64 MiB]
    ///
    /// The counts (retained, recoverable and lost by class, as ctx-score has them; lost
    /// is what only the snapshot has) go into the audit log, and as the keys `items_kept`
    /// and survived into --json. The items are those of the ledger that the summary is made
    /// from: what a reader of it knows they do not say; ctx-score --evidence does. A second
    /// thread does most of it meanwhile.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        conflicts_with = "dry_run"
    )]
    score: Option<bool>,
    /// Show what would be done and how small it would get; change nothing
    ///
    /// No model is asked: the summary that is made without one stands for its own.
    #[arg(short = 'n', long)]
    pub dry_run: bool,

    /// What goes before the policy.
    #[command(flatten)]
    pub over: Overrides,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Aim at N tokens, as the API counts, if there are more
    ///
    /// System messages, summary and latest messages together, shared out by what is
    /// in them; tool results among the latest are shortened where they are long.
    /// Of an agent's own file, where it has recorded what the API counted, system prompt and
    /// tools are among them. What cannot be kept is told; with --strict-target nothing is written.
    /// Of what is kept, the --keep flags and pins hold, not the policy's numbers.
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "target_tokens", help_heading = "What is kept")]
    pub budget: Option<u64>,
    /// Write nothing above the target; exit with 1
    ///
    /// Else what is smaller is written though it is above --target-tokens, the policy's target
    /// or --budget, with a warning, exit 0.
    #[arg(long, help_heading = "What is kept")]
    strict_target: bool,
    /// When the model was last called, if the session has no times
    #[arg(long, value_name = "TIME", help_heading = "What is kept")]
    last_call: Option<Time>,
    /// Ignore the usage that an agent recorded; use our own count
    #[arg(long, help_heading = "What is kept")]
    no_calibrate: bool,
}

/// What else a plan needs to know.
pub struct Given {
    /// The policy, with all that goes before it.
    pub policy: Policy,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// The window of the named model.
    pub model_window: Option<u64>,
    /// Whether the model refused the session as too long.
    pub overflow: bool,
    /// Makes the writer that asks a model; `None` if no model is to be asked.
    pub model: Option<Arc<MakeWriter>>,
    /// The headings that a model's summary must have, if the template has known ones.
    pub headings: Vec<String>,
    /// What handles may promise of what is taken out.
    pub saved: Saved,
    /// The time.
    pub now: fn() -> DateTime<Utc>,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// A budget is divided between the latest messages and a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--budget needs a summary, and the policy makes none; --method extractive makes one")]
pub struct NoSummary;

impl Asked {
    /// Whether a model may be asked, where that policy holds. A preview asks none; neither does
    /// who has not named one, by a flag or by a server.
    pub fn asks_model(&self, policy: &Policy, has_server: bool) -> bool {
        let is_wanted = has_server || self.over.method == Some(Method::Llm);
        policy.summary.method == Method::Llm && !self.dry_run && is_wanted
    }

    /// The plan for sessions.
    pub fn plan(&self, given: Given) -> Result<Plan, NoSummary> {
        let policy = given.policy;
        let triggers: Triggers = policy.trigger.with_model(given.model_window);
        Ok(Plan {
            triggers,
            overflow: given.overflow,
            only_if_due: self.if_due,
            force: self.force,
            dry_run: self.dry_run,
            score: self.score,
            counter: given.counter,
            target: self.budget.or(policy.target.max_tokens(triggers.window())),
            budget: self.budgeted(&policy)?,
            strict_target: self.strict_target,
            floor: self.over.keep,
            summary_tokens: self.over.summary_tokens,
            model_window: given.model_window,
            pins: self.pin.clone(),
            last_call: self.last_call,
            calibrate: !self.no_calibrate,
            calibrated: None,
            limit: None,
            behind: None,
            window: None,
            model: given.model,
            headings: given.headings,
            recognizer: recognizer(policy.summary.header.as_deref()),
            saved: given.saved,
            now: given.now,
            temp: given.temp,
            policy,
        })
    }

    /// What `--budget` asks for: of what is kept, only what a flag says holds.
    fn budgeted(&self, policy: &Policy) -> Result<Option<BudgetRequest>, NoSummary> {
        let Some(tokens) = self.budget else {
            return Ok(None);
        };
        if policy.summary.method == Method::None {
            return Err(NoSummary);
        }
        Ok(Some(BudgetRequest {
            tokens,
            keep: self.over.keep,
            pins: self.pin.clone(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use ctx_policy::{Method, Policy};
    use ctx_select::count::MessageCounter;
    use ctx_tokens::Encoding;
    use ctx_transcript::Saved;

    use super::{Asked, Given, NoSummary};
    use crate::compact::Plan;
    use crate::flags::asked;

    fn plan(flags: &[&str], method: Method) -> Result<Plan, NoSummary> {
        let mut policy = Policy::default();
        policy.summary.method = method;
        policy.target.tokens = Some(70_000);
        asked::<Asked>(flags).plan(Given {
            policy,
            counter: MessageCounter::new(Encoding::Chars4),
            model_window: None,
            overflow: false,
            model: None,
            headings: Vec::new(),
            saved: Saved::Yes,
            now: || chrono::DateTime::UNIX_EPOCH,
            temp: std::env::temp_dir(),
        })
    }

    #[test]
    fn a_budget_is_the_target_and_needs_a_summary() {
        let flags = ["--budget", "9000", "--keep-turns", "2"];
        let budgeted = plan(&flags, Method::Extractive).expect("a summary");
        let request = budgeted.budget.expect("it was asked for");
        assert_eq!((budgeted.target, request.tokens), (Some(9_000), 9_000));
        assert_eq!((request.keep.turns, request.keep.messages), (Some(2), None));
        assert_eq!(plan(&flags, Method::None).err(), Some(NoSummary));
        let without = plan(&[], Method::None).expect("no budget");
        assert_eq!(
            (without.target, without.budget.is_some()),
            (Some(70_000), false)
        );
    }

    #[test]
    fn a_model_is_asked_where_somebody_named_one_and_something_is_written() {
        let mut policy = Policy::default();
        let asks = |flags: &[&str], policy: &Policy, server| {
            asked::<Asked>(flags).asks_model(policy, server)
        };
        policy.summary.method = Method::Llm;
        assert!(asks(&[], &policy, true) && asks(&["--method", "llm"], &policy, false));
        assert!(!asks(&[], &policy, false) && !asks(&["-n"], &policy, true));
        policy.summary.method = Method::Rule;
        assert!(!asks(&[], &policy, true));
    }
}
