//! What flags say against a policy.

use clap::Args;
use ctx_select::duration::FixedSpan;
use ctx_select::parse_count;
use ctx_select::split::Keep;
use ctx_transcript::SummaryRole;

use crate::policy::{self, Policy};
use crate::words::{Method, Mode};

/// Some settings; what is not said is left to the policy.
#[derive(Args, Clone, Debug, Default)]
pub struct Overrides {
    /// What may be done [default: the policy's]
    #[arg(long, value_enum, value_name = "MODE", help_heading = "The policy")]
    mode: Option<Mode>,
    /// What is kept.
    #[command(flatten)]
    pub keep: Keep,
    /// Do not be content with more than N tokens in all [default: the policy's]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "What is kept")]
    target_tokens: Option<u64>,
    /// Leave a session alone after N runs that gained nothing [default: the policy's]
    ///
    /// Those are runs in a row that made it no smaller, or not as small as the
    /// target. It is tried again once it has grown. A run counts as one, with all the fallbacks that it tried; a run that failed
    /// counts as none. --force tries whatever the count is.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..),
        help_heading = "What is kept"
    )]
    max_attempts: Option<u64>,
    /// Prune only when the last call is older: 5m or 1h [default: the policy's]
    ///
    /// The units are w, d, h, min (or m), s and ms.
    /// Its time is that of the last reply that has one (`timestamp` and the like),
    /// else --last-call, else the file's time of change; where nothing tells, nothing
    /// is pruned.
    #[arg(long, value_name = "DURATION", help_heading = "What is kept")]
    cache_ttl: Option<FixedSpan>,

    /// How to sum up what is old [default: the policy's]
    #[arg(long, value_enum, value_name = "NAME", help_heading = "The summary")]
    pub method: Option<Method>,
    /// Length of the summary in tokens [default: the policy's, else 2000]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "The summary")]
    pub summary_tokens: Option<u64>,
    /// Begin the message with this line; it marks an earlier summary, too
    #[arg(long, value_name = "TEXT", help_heading = "The summary")]
    header: Option<String>,
    /// Role of the message; user where the dialect allows no other
    #[arg(long, value_enum, value_name = "ROLE", help_heading = "The summary")]
    role: Option<SummaryRole>,
    /// Check what a model writes, ask again, keep less [default: the policy's]
    ///
    /// It must be whole and have the sections that the policy names. When it fails
    /// twice, half of what the policy keeps is kept, and the summary is made without it.
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        default_missing_value = "true",
        help_heading = "The summary"
    )]
    safeguard: Option<bool>,

    /// Merge decisions, facts, preferences and tool runs of the old part into the
    /// memory, or do not [default: the policy's]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", help_heading = "Store")]
    extract: Option<bool>,
}

impl Overrides {
    /// Writes them over those of a policy.
    pub fn lay_on(&self, policy: &mut Policy) {
        policy.mode = self.mode.unwrap_or(policy.mode);
        if self.keep.is_some() {
            policy.keep = policy::Keep {
                messages: self.keep.messages,
                turns: self.keep.turns,
                tokens: self.keep.tokens,
                recent_share: None,
            };
        }
        if self.target_tokens.is_some() {
            policy.target.tokens = self.target_tokens;
            (policy.target.share, policy.target.max_history_share) = (None, None);
        }
        policy.prune.cache_ttl = self.cache_ttl.or(policy.prune.cache_ttl);
        if let Some(attempts) = self.max_attempts {
            policy.target.max_attempts = attempts;
        }
        let summary = &mut policy.summary;
        summary.method = self.method.unwrap_or(summary.method);
        if self.summary_tokens.is_some() {
            (summary.tokens, summary.target_tokens) = (self.summary_tokens, None);
            summary.max_share = None;
        }
        summary.header = self.header.clone().or(summary.header.take());
        summary.role = self.role.unwrap_or(summary.role);
        summary.safeguard = self.safeguard.unwrap_or(summary.safeguard);
        summary.extract = self.extract.unwrap_or(summary.extract);
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
        Line::parse_from([&["t"], flags].concat())
            .over
            .lay_on(&mut policy);
        policy
    }

    #[test]
    fn a_length_or_a_target_takes_the_place_of_what_a_policy_makes_them_of() {
        let turns = || preset("turns").expect("a preset");
        assert!(turns().target.share.is_some() && turns().keep.turns.is_some());
        assert_eq!(under(&[], turns()), turns());
        let flags = [
            "--target-tokens",
            "900",
            "--summary-tokens",
            "70",
            "--keep-messages",
            "3",
        ];
        let policy = under(&flags, turns());
        assert_eq!(
            (policy.target.tokens, policy.target.share),
            (Some(900), None)
        );
        assert_eq!(
            (policy.summary.tokens, policy.summary.max_share),
            (Some(70), None)
        );
        assert_eq!((policy.keep.messages, policy.keep.turns), (Some(3), None));
    }

    #[test]
    fn a_switch_is_on_off_or_the_policys() {
        let extract = |flags: &[&str]| under(flags, Policy::default()).summary.extract;
        assert!(extract(&["--extract"]) && extract(&["--extract", "true"]));
        assert!(!extract(&["--extract", "false"]));
        assert_eq!(extract(&[]), Policy::default().summary.extract);
    }
}
