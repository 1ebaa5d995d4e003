//! The flags that change a policy.

use clap::Args;

use crate::{Keep, Method, Policy, parse_count};

/// The policy settings that flags can change. All other settings are taken from the policy.
#[derive(Args, Clone, Debug, Default)]
pub struct Overrides {
    /// How much is kept.
    #[command(flatten)]
    pub keep: Keep,
    /// Reduce the context to N tokens [default: the policy's]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    target_tokens: Option<u64>,

    /// Method for the summary [default: the policy's]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Summary")]
    pub method: Option<Method>,
    /// Length of the summary in tokens [default: the policy's, else 2000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Summary")]
    pub summary_tokens: Option<u64>,
}

impl Overrides {
    /// Overrides settings in `policy` with the flags that were given.
    pub fn lay_on(&self, policy: &mut Policy) {
        if self.keep.is_some() {
            policy.keep = self.keep;
        }
        if self.target_tokens.is_some() {
            policy.target.tokens = self.target_tokens;
            (policy.target.share, policy.target.max_history_share) = (None, None);
        }
        let summary = &mut policy.summary;
        summary.method = self.method.unwrap_or(summary.method);
        if self.summary_tokens.is_some() {
            (summary.tokens, summary.target_tokens) = (self.summary_tokens, None);
            summary.max_share = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::Overrides;
    use crate::policy::Policy;
    use crate::presets::preset;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        over: Overrides,
    }

    fn under(flags: &[&str], mut policy: Policy) -> Policy {
        Line::parse_from([&["t"], flags].concat()).over.lay_on(&mut policy);
        policy
    }

    #[test]
    fn a_length_or_a_target_takes_the_place_of_what_a_policy_makes_them_of() {
        let turns = || preset("turns").expect("a preset");
        assert!(turns().target.share.is_some() && turns().keep.turns.is_some());
        assert_eq!(under(&[], turns()), turns());
        let flags = ["--target-tokens", "900", "--summary-tokens", "70", "--keep-messages", "3"];
        let policy = under(&flags, turns());
        assert_eq!((policy.target.tokens, policy.target.share), (Some(900), None));
        assert_eq!((policy.summary.tokens, policy.summary.max_share), (Some(70), None));
        assert_eq!((policy.keep.messages, policy.keep.turns), (Some(3), None));
    }
}
