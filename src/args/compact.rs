//! Flags of a compaction that are not settings of a policy.

use clap::Args;
use ctx_engine::compact::Options;
use ctx_engine::{Pin, Time};
use ctx_policy::{Method, Overrides, Policy, parse_count};

/// The options of a compaction besides the policy.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Policy")]
#[allow(clippy::struct_excessive_bools)] // Flags are bools.
pub struct CompactArgs {
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

    /// The settings that flags override.
    #[command(flatten)]
    pub over: Overrides,
    /// Keep these records: role:NAME, line:N, line:N-M or re:REGEX
    #[arg(long, value_name = "SELECTOR", help_heading = "What is kept")]
    pin: Vec<Pin>,
    /// Aim at N tokens, as the API counts, if there are more
    ///
    /// N covers system messages, summary and latest messages. The tool divides it by their content
    /// and shortens long results among the latest messages. For an agent's own file with recorded
    /// usage, N also covers the system prompt and the tools. If the budget cannot be kept, a
    /// warning says so, or with --strict-target nothing is written. The --keep flags and pins
    /// apply, but not the policy's numbers of kept messages.
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

/// `--budget` without a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--budget needs a summary, and the policy makes none; --method extractive makes one")]
pub struct NoSummary;

impl CompactArgs {
    /// Whether the policy allows a call of a model. A preview calls none, and neither does a run
    /// for which neither a flag nor a server names one.
    pub fn asks_model(&self, policy: &Policy, has_server: bool) -> bool {
        let is_named = has_server || self.over.method == Some(Method::Llm);
        policy.summary.method == Method::Llm && !self.dry_run && is_named
    }

    /// The options of a compaction by that policy, over which the flags are laid already.
    pub fn options(&self, policy: Policy, overflow: bool) -> Result<Options, NoSummary> {
        if self.budget.is_some() && policy.summary.method == Method::None {
            return Err(NoSummary);
        }
        Ok(Options {
            policy,
            overflow,
            only_if_due: self.if_due,
            force: self.force,
            dry_run: self.dry_run,
            score: self.score,
            budget: self.budget,
            strict_target: self.strict_target,
            keep: self.over.keep,
            summary_tokens: self.over.summary_tokens,
            pins: self.pin.clone(),
            last_call: self.last_call,
            ignore_usage: self.no_calibrate,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use ctx_engine::compact::Options;
    use ctx_policy::{Method, Policy};

    use super::{CompactArgs, NoSummary};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: CompactArgs,
    }

    fn args(flags: &[&str]) -> CompactArgs {
        Line::parse_from([&["t"], flags].concat()).args
    }

    fn options(flags: &[&str], method: Method) -> Result<Options, NoSummary> {
        let mut policy = Policy::default();
        policy.summary.method = method;
        args(flags).options(policy, false)
    }

    #[test]
    fn a_budget_needs_a_summary() {
        let flags = ["--budget", "9000", "--keep-turns", "2"];
        let options = |method| options(&flags, method);
        let budgeted = options(Method::Extractive).expect("a summary");
        assert_eq!(budgeted.budget, Some(9_000));
        assert_eq!((budgeted.keep.turns, budgeted.keep.messages), (Some(2), None));
        assert_eq!(options(Method::None).err(), Some(NoSummary));
    }

    #[test]
    fn a_model_is_asked_where_it_is_named_and_something_is_written() {
        let mut policy = Policy::default();
        let asks = |flags: &[&str], policy: &Policy, server| args(flags).asks_model(policy, server);
        policy.summary.method = Method::Llm;
        assert!(asks(&[], &policy, true) && asks(&["--method", "llm"], &policy, false));
        assert!(!asks(&[], &policy, false) && !asks(&["-n"], &policy, true));
        policy.summary.method = Method::Rule;
        assert!(!asks(&[], &policy, true));
    }
}
