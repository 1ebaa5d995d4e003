//! Computes a compaction's limits, in tokens, from a policy's settings.

use crate::policy::{Fallback, Method, Policy, Summary, Target};
use crate::trigger::without_reserve;

impl Target {
    /// Returns the maximum size of the compacted session in tokens: the smallest limit that is set.
    /// Returns `None` if no limit is set; any result smaller than the session is then acceptable.
    pub fn max_tokens(&self, window: u64) -> Option<u64> {
        let share = self.share.map(|share| share.of(window));
        // As in pomelobot, the history is limited to a share of the window, and to the window minus
        // the reserve.
        let left = without_reserve(window, self.reserve.unwrap_or(0));
        let history = self.max_history_share.map(|share| share.of(window).min(left));
        [self.tokens, share, history].into_iter().flatten().min()
    }
}

impl Summary {
    /// Returns the length in tokens to request for a summary that replaces `old` tokens, or `None`
    /// if the policy sets no length.
    pub fn length(&self, old: u64) -> Option<u64> {
        let share = self.max_share.map(|share| share.of(old).max(1));
        [self.target_tokens, self.tokens, share].into_iter().flatten().min()
    }

    /// Returns the maximum number of tokens that a model may write if `length` tokens are
    /// requested, or `None` if there is no limit.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no length reaches 2^53 tokens, and a factor is at least 1"
    )]
    pub fn max_output(&self, length: u64) -> Option<u64> {
        let most = |factor: f64| (length as f64 * factor).round() as u64;
        self.max_output_factor.map(most).or_else(|| self.tokens.map(|_| length))
    }

    /// Returns the method for a summary that is written without a model.
    pub fn offline(&self) -> Method {
        match self.method {
            Method::Rule => Method::Rule,
            Method::Llm => self.offline,
            Method::Extractive | Method::None => Method::Extractive,
        }
    }

    /// Returns the policy's fallback for a model that gives no usable response.
    pub fn named_fallback(&self) -> Option<Fallback> {
        let instead = [Fallback::Extractive, Fallback::Rule, Fallback::Fail];
        let mut steps = self.fallback.iter();
        steps.find(|step| instead.contains(step)).copied()
    }

    /// Returns the fallback to use if the model gives no usable response, or a default if the
    /// policy sets no fallback.
    pub fn on_failure(&self) -> Fallback {
        self.named_fallback().unwrap_or(match self.offline() {
            Method::Rule => Fallback::Rule,
            _ => Fallback::Extractive,
        })
    }
}

impl Policy {
    /// Returns how many tokens of recent messages to keep. `system` is the size of the system
    /// messages in tokens.
    pub fn recent_tokens(&self, model_window: Option<u64>, system: u64) -> Option<u64> {
        let max = self.target.max_tokens(self.trigger.with_model(model_window).window());
        let left = max.map(|max| max.saturating_sub(system).saturating_sub(self.target.overhead));
        self.keep.tokens.max(self.keep.recent_share.zip(left).map(|(share, left)| share.of(left)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::policy::{Fallback, Method};
    use crate::presets::preset;
    use crate::share::Share;

    /// Returns the maximum size of the history, and the number of tokens left for recent messages
    /// if the system messages take up `system` tokens.
    fn history(window: u64, reserve: u64, system: u64, overhead: u64) -> (u64, u64) {
        let mut policy = preset("pomelobot").expect("a preset");
        policy.trigger.window = Some(window);
        policy.target.max_history_share = Some(Share::of_percent(50));
        (policy.target.reserve, policy.target.overhead) = (Some(reserve), overhead);
        policy.keep.recent_share = Some(Share::WHOLE);
        let max = policy.target.max_tokens(window).expect("a limit");
        (max, policy.recent_tokens(None, system).expect("a limit"))
    }

    #[test]
    fn a_history_has_its_share_or_what_the_reserve_leaves() {
        for (window, reserve, max) in [
            (128_000, 20_000, 64_000),
            // At 40,000 tokens, both limits are equal. With one token more or less, one of the
            // limits is smaller.
            (40_000, 20_000, 20_000),
            (39_999, 20_000, 19_999),
            (40_001, 20_000, 20_000),
            (20_000, 20_000, 10_000),
            (16_000, 20_000, 8_000),
            (0, 0, 0),
            (1, 0, 0),
            (u64::MAX, 0, u64::MAX / 2),
        ] {
            assert_eq!(history(window, reserve, 0, 0).0, max, "{window}");
        }
    }

    #[test]
    fn what_is_available_is_never_below_nothing() {
        let available = |max: u64, system, overhead| history(2 * max, 0, system, overhead).1;
        assert_eq!(available(64_000, 1_000, 500), 62_500);
        assert_eq!(available(1_500, 1_000, 500), 0);
        assert_eq!(available(1_501, 1_000, 500), 1);
        assert_eq!(available(1_499, 1_000, 500), 0);
        assert_eq!(available(0, u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn thresholds_are_from_a_half_to_nearly_all() {
        let bounds = preset("xopcbot").expect("a preset").bounds["trigger.share"];
        let is = |text: &str| bounds.admit(&text.into());
        assert!(is("0.5") && is("0.95") && is("0.8"));
        assert!(!is("0.499999") && !is("0.950001") && !is("1"));
    }

    #[test]
    fn pomelobot_gives_the_recent_part_sixty_percent() {
        let policy = preset("pomelobot").expect("a preset");
        let max = policy.target.max_tokens(policy.trigger.window());
        assert_eq!(max, Some(64_000));
        // (64,000 - 1,000 - 500) × 0.6
        assert_eq!(policy.recent_tokens(None, 1_000), Some(37_500));
        assert_eq!(policy.recent_tokens(Some(200_000), 1_000), Some(37_500));
        assert_eq!(policy.recent_tokens(None, 63_500), Some(0));
    }

    #[test]
    fn a_target_is_the_least_of_what_is_set() {
        let mut target = preset("turns").expect("a preset").target;
        assert_eq!(target.max_tokens(64_000), Some(32_000));
        target.tokens = Some(31_999);
        assert_eq!(target.max_tokens(64_000), Some(31_999));
        (target.tokens, target.share) = (None, None);
        assert_eq!(target.max_tokens(64_000), None);
    }

    #[test]
    fn the_window_is_the_policys_the_models_or_the_usual_one() {
        let mut trigger = preset("turns").expect("a preset").trigger;
        assert_eq!(trigger.with_model(Some(1)).window(), 64_000);
        trigger.window = None;
        assert_eq!(trigger.with_model(Some(200_000)).window(), 200_000);
        assert_eq!(trigger.window(), 128_000);
    }

    #[test]
    fn a_summary_has_the_length_that_its_policy_says() {
        let summary = |name| preset(name).expect("a preset").summary;
        assert_eq!(summary("sanbot").length(1_000_000), Some(500));
        assert_eq!(summary("sanbot").max_output(500), Some(500));
        assert_eq!(summary("synapse").length(1), Some(8_000));
        assert_eq!(summary("synapse").max_output(8_000), Some(9_600));
        assert_eq!(summary("synapse").max_output(3), Some(4));
        assert_eq!(summary("turns").max_output(3), None);
        assert_eq!(summary("default").length(1_000_000), Some(10_000));
        assert_eq!(summary("default").length(50_000), Some(10_000));
        assert_eq!(summary("default").length(49_999), Some(9_999));
        assert_eq!(summary("default").length(0), Some(1));
        let mut turns = summary("turns");
        assert_eq!(turns.length(9), Some(2_000));
        turns.tokens = Some(300);
        assert_eq!(turns.length(9), Some(300));
    }

    #[test]
    fn a_model_that_fails_is_replaced_as_its_policy_says() {
        let mut summary = preset("sanbot").expect("a preset").summary;
        assert_eq!(summary.offline(), Method::Rule);
        assert_eq!(summary.on_failure(), Fallback::Rule);
        summary.fallback = vec![Fallback::Smaller, Fallback::Extractive, Fallback::Fail];
        assert_eq!(summary.on_failure(), Fallback::Extractive);
        summary.fallback = vec![Fallback::Smaller];
        assert_eq!(summary.on_failure(), Fallback::Rule);
        summary.method = Method::None;
        assert_eq!(summary.offline(), Method::Extractive);
        assert_eq!(summary.on_failure(), Fallback::Extractive);
        let synapse = preset("synapse").expect("a preset").summary;
        assert_eq!(synapse.on_failure(), Fallback::Fail);
    }

    proptest! {
        #[test]
        fn a_budget_is_within_both_bounds(window: u64, reserve: u64, system: u64, overhead: u64) {
            let (max, left) = history(window, reserve, system, overhead);
            prop_assert!(max <= window / 2);
            prop_assert!(max <= window - reserve.min(window / 2));
            prop_assert!(left <= max);
            prop_assert!(left == 0 || u128::from(left) + u128::from(system) + u128::from(overhead) == u128::from(max));
        }
    }
}
