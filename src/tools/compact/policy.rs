//! What flags say against the policy.

use ctx_policy::{Keep, Policy};

use super::Args;

impl Args {
    /// What is said by a flag goes before the policy.
    pub(super) fn override_policy(&self, policy: &mut Policy) {
        policy.mode = self.mode.unwrap_or(policy.mode);
        policy.trigger = self.triggers.triggers.or(policy.trigger);
        if self.keep.is_some() {
            policy.keep = Keep {
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
