//! What no single setting can tell: whether they go together.

use ctx_select::share::Share;

use crate::budget::{THRESHOLDS, is_threshold};
use crate::error::ConfigError;
use crate::policy::Policy;
use crate::setting::Setting;

/// The presets whose threshold has bounds.
const BOUNDED: [&str; 2] = ["openclaw", "xopcbot"];

impl Policy {
    /// Whether the settings go together, once all layers are in.
    pub fn check(&self) -> Result<(), ConfigError> {
        let is_bounded = BOUNDED.contains(&self.general.name.as_str());
        if let Some(share) = self.trigger.share.filter(|_| is_bounded)
            && !is_threshold(share)
        {
            return Err(ConfigError::wrong(
                "trigger.share",
                THRESHOLDS,
                &share.show(),
            ));
        }
        if self.target.max_attempts == 0 {
            let shown = self.target.max_attempts.show();
            return Err(ConfigError::wrong(
                "target.max_attempts",
                "1 or more; enabled = false does nothing at all",
                &shown,
            ));
        }
        let tail = self.prune.tail_share;
        // Of a million characters each share is a whole number.
        let left = 1_000_000 - self.prune.head_share.of(1_000_000);
        if tail.of(1_000_000) > left {
            let wanted = match u32::try_from(left).map(Share::of_millionths) {
                Ok(Ok(most)) => format!("a share that head_share leaves, up to {most}"),
                _ => "a head_share that leaves some".to_owned(),
            };
            return Err(ConfigError::wrong("prune.tail_share", wanted, &tail.show()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ctx_select::share::Share;

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
                "target.max_attempts: expected 1 or more; enabled = false does nothing at all, found 0"
            )
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
            Some(
                "prune.tail_share: expected a share that head_share leaves, up to 0.3, found 0.31"
            )
        );
        policy.prune.head_share = Share::WHOLE;
        assert_eq!(
            error(&policy).as_deref(),
            Some("prune.tail_share: expected a head_share that leaves some, found 0.31")
        );
    }
}
