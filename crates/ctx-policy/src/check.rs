//! Checks whether a policy's settings are consistent with each other.

use std::fmt;

use serde_json::Value;

use crate::layer::{built_in, find};
use crate::share::Share;
use crate::{ConfigError, Method, Policy};

/// The valid values of `summary.max_output_factor`, which limits a model's output to a multiple of
/// the requested length.
const OUTPUT_FACTORS: std::ops::RangeInclusive<f64> = 1.0..=10.0;

impl Policy {
    /// Checks whether the settings are consistent. All layers must already have been merged.
    pub fn check(&self) -> Result<(), ConfigError> {
        let values = self.to_json();
        let wrong = |key: &str, wanted: &dyn fmt::Display| {
            let found = find(&values, key).unwrap_or(&Value::Null);
            Err(ConfigError::wrong(key, wanted.to_string(), found))
        };
        for (key, bounds) in &self.bounds {
            if find(&values, key).is_some_and(|value| !bounds.admit(value)) {
                return wrong(key, bounds);
            }
        }
        for (variable, key) in &self.environment {
            if find(built_in(), key).is_none() {
                return wrong(&format!("environment.{variable}"), &"the key of a setting");
            }
        }
        if self.target.max_attempts == 0 {
            let wanted = "1 or more (to turn compaction off, set enabled = false)";
            return wrong("target.max_attempts", &wanted);
        }
        if !matches!(self.summary.offline, Method::Extractive | Method::Rule) {
            return wrong("summary.offline", &"extractive or rule");
        }
        let factor = self.summary.max_output_factor;
        if factor.is_some_and(|factor| !OUTPUT_FACTORS.contains(&factor)) {
            return wrong("summary.max_output_factor", &"a number from 1 to 10");
        }
        let tail = self.prune.tail_share;
        // Every share of a million characters is a whole number, because shares have six decimal
        // places.
        let left = 1_000_000 - self.prune.head_share.of(1_000_000);
        if tail.of(1_000_000) > left {
            let wanted = match u32::try_from(left).map(Share::of_millionths) {
                Ok(Ok(most)) => format!("at most {most} (1 minus head_share)"),
                _ => "a head_share below 1".to_owned(),
            };
            return wrong("prune.tail_share", &wanted);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::share::Share;

    use crate::policy::Method;
    use crate::policy::Policy;
    use crate::presets::{names, preset};

    fn error(policy: &Policy) -> Option<String> {
        policy.check().err().map(|error| error.to_string())
    }

    #[test]
    fn presets_go_together() {
        for name in names() {
            assert_eq!(preset(name).expect(name).check(), Ok(()), "{name}");
        }
        assert_eq!(Policy::default().check(), Ok(()));
    }

    #[test]
    fn xopcbots_threshold_has_bounds_wherever_it_comes_from() {
        for (percent, is_good) in [(49, false), (50, true), (95, true), (96, false)] {
            for name in ["xopcbot", "openclaw", "sanbot"] {
                let mut policy = preset(name).expect(name);
                policy.trigger.share = Some(Share::of_percent(percent));
                let expected = (!is_good && name != "sanbot").then(|| {
                    format!("trigger.share: expected a share from 0.5 to 0.95, found 0.{percent}")
                });
                assert_eq!(error(&policy), expected, "{name}");
            }
        }
        let mut off = preset("xopcbot").expect("a preset");
        off.trigger.share = None;
        assert_eq!(error(&off), None);
    }

    #[test]
    fn a_compaction_is_tried_at_least_once() {
        let mut policy = Policy::default();
        policy.target.max_attempts = 1;
        assert_eq!(error(&policy), None);
        policy.target.max_attempts = 0;
        assert_eq!(
            error(&policy).as_deref(),
            Some(
                "target.max_attempts: expected 1 or more (to turn compaction off, set enabled = false), found 0"
            )
        );
    }

    #[test]
    fn a_model_may_write_one_to_ten_times_what_it_was_asked_for() {
        let mut policy = Policy::default();
        for (factor, is_good) in [(1.0, true), (10.0, true), (0.9, false), (11.0, false)] {
            policy.summary.max_output_factor = Some(factor);
            let expected = (!is_good).then(|| {
                format!(
                    "summary.max_output_factor: expected a number from 1 to 10, found {factor:?}"
                )
            });
            assert_eq!(error(&policy), expected);
        }
    }

    #[test]
    fn without_a_server_no_model_is_asked() {
        let mut policy = Policy::default();
        policy.summary.offline = Method::Llm;
        assert_eq!(
            error(&policy).as_deref(),
            Some("summary.offline: expected extractive or rule, found \"llm\"")
        );
    }

    #[test]
    fn a_variable_is_of_a_setting() {
        let mut policy = Policy::default();
        let (variable, key) = ("TURNS".to_owned(), "keep.turn".to_owned());
        policy.environment.insert(variable, key);
        assert_eq!(
            error(&policy).as_deref(),
            Some("environment.TURNS: expected the key of a setting, found \"keep.turn\"")
        );
    }

    #[test]
    fn head_and_tail_do_not_overlap() {
        let mut policy = Policy::default();
        policy.prune.head_share = Share::of_percent(70);
        assert_eq!(error(&policy), None);
        policy.prune.tail_share = Share::of_percent(31);
        assert_eq!(
            error(&policy).as_deref(),
            Some("prune.tail_share: expected at most 0.3 (1 minus head_share), found 0.31")
        );
        policy.prune.head_share = Share::WHOLE;
        assert_eq!(
            error(&policy).as_deref(),
            Some("prune.tail_share: expected a head_share below 1, found 0.31")
        );
    }
}
