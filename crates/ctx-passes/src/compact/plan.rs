//! What policy and flags mean for one run.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use ctx_policy::{Clear, Fallback, Method, Mode, Policy, When};
use ctx_select::calibrate::{Calibrator, Estimate};
use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_select::trigger::{Size, Step, Trigger, Triggers};
use ctx_summary::{Recognizer, USUAL_PERCENT};
use ctx_transcript::Saved;

use crate::Time;
use crate::count::Calibration;
use crate::prune::Cache;
use crate::summarize::{self, BudgetRequest, TellSizes, Writer};
use crate::{Notes, PassError, Pin};

/// One policy, and how it is applied.
#[derive(Clone)]
#[allow(clippy::struct_excessive_bools)] // Switches that do not depend on each other.
pub struct Plan {
    /// The policy, as changed by flags.
    pub policy: Policy,
    /// When a session is due.
    pub triggers: Triggers,
    /// Whether the model refused the session as too long.
    pub overflow: bool,
    /// Whether only a session that is due is compacted.
    pub only_if_due: bool,
    /// Whether it is compacted whatever triggers and earlier attempts say.
    pub force: bool,
    /// Whether this is a preview: nothing is written, and no model is asked.
    pub dry_run: bool,
    /// Whether what survives is scored; if nobody says, the size of the session decides.
    pub score: Option<bool>,
    /// Counts tokens.
    pub counter: MessageCounter,
    /// The most tokens that the whole context may have afterwards. Without a target it only
    /// has to be smaller.
    pub target: Option<u64>,
    /// The most tokens that the whole context may have, divided between summary and tail.
    pub budget: Option<BudgetRequest>,
    /// Whether what is above the target is not written at all.
    pub strict_target: bool,
    /// What flags say is kept: that holds, while the policy's own numbers yield where the
    /// target needs it.
    pub floor: Keep,
    /// The length of the summary in tokens, if a flag sets it.
    pub summary_tokens: Option<u64>,
    /// The window of the named model.
    pub model_window: Option<u64>,
    /// What an agent's log comes to, by the usage that is recorded in it, is to decide, and not
    /// our count.
    pub calibrate: bool,
    /// The tokens of the session, by that.
    pub calibrated: Option<u64>,
    /// The most tokens that the whole context may have, as the API counts, where that is known.
    pub limit: Option<u64>,
    /// Estimates what is left, as the API counts.
    pub behind: Option<Calibrator>,
    /// The window that the log tells.
    pub window: Option<u64>,
    /// Records that are kept.
    pub pins: Vec<Pin>,
    /// When the model was last called, in case the records do not say.
    pub last_call: Option<Time>,
    /// Makes the writer that asks a model; `None` if no model is to be asked.
    pub model: Option<Arc<MakeWriter>>,
    /// The headings that a model's summary must have, if the template has known ones.
    pub headings: Vec<String>,
    /// Knows the summaries of earlier compactions.
    pub recognizer: Recognizer,
    /// What handles may promise of what is taken out.
    pub saved: Saved,
    /// The time.
    pub now: fn() -> DateTime<Utc>,
    /// Where temporary files lie.
    pub temp: PathBuf,
}

/// With less than this a session cannot go on: messages have as much, or the whole limit where
/// that is less, also where the limit leaves less for them.
const LEAST_MESSAGES: u64 = 8_000;

/// How much of ours comes to `tokens` of the API's, by the upper end of what is to be expected.
/// What the API has counted beside the messages no compaction makes smaller: a limit below that
/// cannot be kept. It is then kept as nearly as may be, or, where it is strict, not at all. A
/// greater limit never leaves less.
fn counted(tokens: u64, behind: &Calibrator, is_strict: bool, notes: &mut Notes) -> u64 {
    let within = |expected: fn(&Estimate) -> u64| behind.counted_within(tokens, expected);
    let least = tokens.min(LEAST_MESSAGES);
    let sure = within(|it| it.high);
    if sure >= least {
        return sure;
    }
    let beside = behind.base().unwrap_or_default();
    let what = if is_strict {
        "more is not written".to_owned()
    } else if within(|it| it.tokens) >= least {
        "it may become more".to_owned()
    } else {
        let all = behind.estimate(least);
        let all = all.map_or(least, |all| all.tokens);
        format!("the messages have {least} all the same, about {all} in all")
    };
    notes.warn(
        &[],
        format_args!(
            "{tokens} tokens are few: the system prompt and the tools take about {beside} of them; {what}"
        ),
    );
    if is_strict { sure } else { least }
}

/// Makes the writer that asks a model for a summary of so many tokens, or of as many as there
/// is room for.
pub type MakeWriter = dyn Fn(Option<u64>, &mut Notes) -> Result<Writer, PassError> + Send + Sync;

/// What is tried, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// As the policy says.
    Policy,
    /// With half of what the policy keeps, where a model's summary failed its check.
    LessKept,
    /// With a summary half as long, written by code.
    Smaller,
    /// That, with the tool results that are kept pruned.
    Pruned,
}

impl Rung {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::LessKept => "less-kept",
            Self::Smaller => "smaller-summary",
            Self::Pruned => "pruned",
        }
    }

    /// Whether tool results that are kept are pruned.
    pub(super) fn prunes(self) -> bool {
        self == Self::Pruned
    }
}

/// What is known of a session before anything changes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    pub(super) size: Size,
    /// Tokens of the system messages.
    pub(super) system_tokens: u64,
}

/// The tokens of a summary if the policy does not say.
const SUMMARY_TOKENS: u64 = 2_000;

impl Plan {
    /// Whether it matters what the session comes to for the API.
    pub(super) fn wants_calibration(&self) -> bool {
        let limits = self.only_if_due || self.budget.is_some() || self.target.is_some();
        self.calibrate && limits
    }

    /// The same for a log whose usage tells what it comes to: limits are those of the API's
    /// tokens, and what may be left is counted in ours.
    #[must_use]
    pub(super) fn by(&self, calibration: &Calibration, notes: &mut Notes) -> Self {
        let mut plan = self.clone();
        plan.calibrated = calibration.estimate.map(|estimate| estimate.high);
        plan.window = calibration.window;
        if plan.budget.is_none() {
            let window = plan.triggers.with_model(plan.window).window();
            plan.target = plan.policy.target.max_tokens(window);
        }
        plan.limit = calibration.estimate.and(plan.target);
        let behind = calibration.behind_compaction();
        plan.target = plan
            .target
            .map(|tokens| counted(tokens, &behind, plan.strict_target, notes));
        plan.behind = calibration.estimate.map(|_| behind);
        if let (Some(budget), Some(target)) = (&mut plan.budget, plan.target) {
            budget.tokens = target;
        }
        plan
    }

    /// Whether a context of so many tokens is small enough.
    pub(super) fn fits(&self, tokens: u64) -> bool {
        self.target.is_none_or(|target| tokens <= target)
    }

    /// What is tried, in order.
    pub(super) fn rungs(&self) -> Vec<Rung> {
        let fallbacks = self.policy.summary.fallback.iter();
        let more = fallbacks.filter_map(|fallback| match fallback {
            Fallback::Smaller => Some(Rung::Smaller),
            Fallback::Prune => Some(Rung::Pruned),
            // Up to the writer: these say who else may write the summary.
            Fallback::Rule | Fallback::Extractive | Fallback::Fail => None,
        });
        let less = self.policy.summary.safeguard.then_some(Rung::LessKept);
        std::iter::once(Rung::Policy)
            .chain(less)
            .chain(more)
            .collect()
    }

    /// What is kept on a rung.
    pub(super) fn keep(&self, rung: Rung, before: &Before) -> Keep {
        let keep = &self.policy.keep;
        let part = |n: u64| match rung {
            Rung::LessKept => n.div_ceil(2),
            _ => n,
        };
        Keep {
            messages: keep.messages.map(part),
            turns: keep.turns.map(part),
            tokens: self.recent(before).map(part),
        }
    }

    /// What is kept where the policy's numbers keep too much, the most first: as much of them as
    /// there may be room for. What flags say is not made smaller.
    pub(super) fn floors(&self, before: &Before) -> Vec<Keep> {
        if self.floor.is_some() {
            return vec![self.floor];
        }
        let all = self.keep(Rung::Policy, before);
        let of = |eighths: u64| {
            let part = |n: u64| n * eighths / 8;
            Keep {
                messages: all.messages.map(part),
                turns: all.turns.map(part),
                tokens: all.tokens.map(part),
            }
        };
        let mut floors: Vec<Keep> = (1..=8).rev().map(of).collect();
        floors.push(Keep::default());
        floors.dedup();
        floors
    }

    /// How many tokens the latest messages may have: as the policy says, and no
    /// more than the target leaves for them.
    fn recent(&self, before: &Before) -> Option<u64> {
        let system = before.system_tokens;
        let recent = self.policy.recent_tokens(self.model_window, system)?;
        let summary = self.summary_length(before);
        let room = self
            .target
            .map(|target| target.saturating_sub(system + summary));
        Some(recent.min(room.unwrap_or(u64::MAX)))
    }

    /// How long a summary is to be.
    fn summary_length(&self, before: &Before) -> u64 {
        let length = self.policy.summary.length(before.size.tokens);
        length.unwrap_or(SUMMARY_TOKENS).max(1)
    }

    /// Who summarizes on a rung. A preview asks no model.
    pub(super) fn writer(
        &self,
        rung: Rung,
        before: &Before,
        notes: &mut Notes,
    ) -> Result<Writer, PassError> {
        let tokens = self.summary_length(before);
        Ok(match rung {
            Rung::Policy => match self.by_model(Some(tokens), notes)? {
                Some(writer) => writer,
                None => self.by_code(Some(tokens)),
            },
            Rung::LessKept => self.by_code(Some(tokens)),
            _ => self.by_code(Some((tokens / 2).max(1))),
        })
    }

    /// Who summarizes within a budget: with as much room as it leaves, unless a flag sets the
    /// length.
    pub(super) fn writer_within(&self, notes: &mut Notes) -> Result<Writer, PassError> {
        let mut writer = self.by_model(self.summary_tokens, notes)?;
        let model = writer.as_mut().and_then(|writer| writer.model.as_mut());
        // The budget is the limit, not the policy's: models cannot count.
        if let Some(model) = model {
            model.most_percent = model.most_percent.max(USUAL_PERCENT);
        }
        Ok(writer.unwrap_or_else(|| self.by_code(self.summary_tokens)))
    }

    fn by_model(
        &self,
        tokens: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Option<Writer>, PassError> {
        let Some(make) = &self.model else {
            return Ok(None);
        };
        let mut writer = make(tokens, notes)?;
        let summary = &self.policy.summary;
        writer.completes = summary.complete;
        if let Some(model) = &mut writer.model {
            model.most_percent = summary.max_output(100).unwrap_or(model.most_percent);
            model.headings = summary.safeguard.then(|| self.headings.clone());
        }
        Ok(Some(writer))
    }

    /// Whether the summary has to be a model's, in whose place none by code comes.
    pub(super) fn needs_model(&self) -> bool {
        self.model.is_some() && self.policy.summary.on_failure() == Fallback::Fail
    }

    /// A summary by code, of no more than so many tokens.
    pub(super) fn by_code(&self, tokens: Option<u64>) -> Writer {
        let method = self.policy.summary.offline();
        Writer::offline(method, tokens)
    }

    /// How a session is summarized, whoever writes.
    pub(super) fn summary(&self) -> summarize::Plan {
        let summary = &self.policy.summary;
        summarize::Plan {
            recognizer: self.recognizer.clone(),
            role: summary.role.into(),
            counter: self.counter,
            strict: false,
            // They were left out already when the session was read.
            drop_bad: false,
            tell_sizes: TellSizes::Never,
            saved: self.saved,
            temp: self.temp.clone(),
        }
    }

    /// Whether old records leave the session.
    pub(super) fn sums_up_or_drops(&self) -> bool {
        self.policy.mode != Mode::PruneOnly
    }

    /// Whether the records that leave are summarized.
    pub(super) fn sums_up(&self) -> bool {
        self.policy.summary.method != Method::None
    }

    /// Whether the policy prunes at that time. A policy that only prunes makes no summary, so
    /// it does not wait for one to fail.
    pub(super) fn prunes(&self, when: When) -> bool {
        match (self.policy.mode, self.policy.prune.when) {
            (Mode::SummaryOnly, _) => false,
            (Mode::PruneOnly, When::Fallback) => when == When::Before,
            (_, policy) => policy == when,
        }
    }

    /// The cache that must be cold before anything is pruned. `last_change` is when the file
    /// was modified, which is used if nothing says when the last call was.
    pub(super) fn cache(&self, last_change: Option<Time>) -> Option<Cache> {
        Some(Cache {
            ttl: self.policy.prune.cache_ttl?.0,
            last_call: self.last_call.or(last_change),
            now: (self.now)(),
        })
    }

    /// Whether a context is above its target, or above a limit of its size.
    fn is_over_its_limit(&self, size: &Size) -> bool {
        let of_size = [
            Trigger::Tokens,
            Trigger::Share,
            Trigger::Reserve,
            Trigger::ToolBytes,
        ];
        let readings = self.triggers.check(size).readings;
        let mut readings = readings.iter();
        !self.fits(size.tokens)
            || readings
                .any(|reading| of_size.contains(&reading.trigger) && reading.value > reading.limit)
    }

    /// Whether old results are cleared, if so much is left after trimming.
    pub(super) fn clears(&self, left: &Size) -> bool {
        self.policy.prune.clear == Clear::Always || self.is_over_its_limit(left)
    }

    /// Whether a compaction is due at that size.
    pub(super) fn is_due(&self, size: &Size) -> bool {
        self.triggers.check(size).step == Step::Compact
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;
    use ctx_policy::{Clear, Fallback, Method, Mode, When};
    use ctx_select::duration::FixedSpan;
    use ctx_select::trigger::Size;

    use super::super::job::tests::plan;
    use super::{Before, Rung};
    use crate::Time;

    fn before(tokens: u64) -> Before {
        Before {
            size: Size {
                tokens,
                ..Size::default()
            },
            system_tokens: 100,
        }
    }

    #[test]
    fn fallbacks_are_tried_in_the_order_of_the_policy() {
        let mut plan = plan(2);
        assert_eq!(plan.rungs(), [Rung::Policy]);
        plan.policy.summary.safeguard = true;
        plan.policy.summary.fallback =
            vec![Fallback::Extractive, Fallback::Prune, Fallback::Smaller];
        let rungs = [Rung::Policy, Rung::LessKept, Rung::Pruned, Rung::Smaller];
        assert_eq!(plan.rungs(), rungs);
    }

    #[test]
    fn each_rung_keeps_what_it_says() {
        let mut plan = plan(5);
        plan.policy.keep.messages = Some(9);
        plan.policy.keep.tokens = Some(1_000);
        let keep = |rung| {
            let keep = plan.keep(rung, &before(10_000));
            (keep.messages, keep.turns, keep.tokens)
        };
        assert_eq!(keep(Rung::Policy), (Some(9), Some(5), Some(1_000)));
        assert_eq!(keep(Rung::Pruned), keep(Rung::Policy));
        assert_eq!(keep(Rung::LessKept), (Some(5), Some(3), Some(500)));
    }

    #[test]
    fn what_the_policy_keeps_yields_step_by_step_and_what_a_flag_keeps_does_not() {
        let mut plan = plan(2);
        let turns = |plan: &super::Plan| -> Vec<Option<u64>> {
            let floors = plan.floors(&before(10_000)).into_iter();
            floors.map(|floor| floor.turns).collect()
        };
        assert_eq!(turns(&plan), [Some(2), Some(1), Some(0), None]);
        plan.floor.turns = Some(7);
        assert_eq!(turns(&plan), [Some(7)]);
    }

    #[test]
    fn the_target_leaves_less_for_the_latest_messages() {
        let mut plan = plan(1);
        plan.policy.keep.tokens = Some(1_000);
        plan.policy.summary.tokens = Some(300);
        let recent = |target| {
            plan.target = target;
            plan.keep(Rung::Policy, &before(10_000)).tokens
        };
        let mut recent = recent;
        assert_eq!(recent(None), Some(1_000));
        assert_eq!(recent(Some(900)), Some(500));
        assert_eq!(recent(Some(50)), Some(0));
    }

    #[test]
    fn pruning_has_one_time() {
        let mut plan = plan(1);
        let times = |plan: &super::Plan| {
            [When::Before, When::Fallback, When::Sent].map(|when| plan.prunes(when))
        };
        assert_eq!(times(&plan), [true, false, false]);
        plan.policy.prune.when = When::Fallback;
        assert_eq!(times(&plan), [false, true, false]);
        plan.policy.mode = Mode::PruneOnly;
        assert_eq!(times(&plan), [true, false, false]);
        plan.policy.prune.when = When::Sent;
        assert_eq!(times(&plan), [false, false, true]);
        plan.policy.mode = Mode::SummaryOnly;
        assert_eq!(times(&plan), [false; 3]);
    }

    #[test]
    fn old_results_are_cleared_as_the_policy_says() {
        let mut plan = plan(1);
        let size = &before(500).size;
        plan.policy.prune.clear = Clear::IfNeeded;
        assert!(!plan.clears(size));
        plan.target = Some(500);
        assert!(!plan.clears(size));
        plan.target = Some(499);
        assert!(plan.clears(size));
        plan.target = None;
        plan.triggers.tokens = Some(499);
        assert!(plan.clears(size));
        (plan.triggers.tokens, plan.triggers.messages) = (None, Some(0));
        assert!(!plan.clears(&Size {
            messages: 9,
            ..*size
        }));
        plan.policy.prune.clear = Clear::Always;
        assert!(plan.clears(size));
    }

    #[test]
    fn a_cache_is_only_asked_about_where_the_policy_names_its_life() {
        let mut plan = plan(1);
        let changed = Some(Time(DateTime::UNIX_EPOCH));
        assert!(plan.cache(changed).is_none());
        plan.policy.prune.cache_ttl = Some(FixedSpan(Duration::from_secs(300)));
        assert_eq!(plan.cache(changed).expect("a cache").last_call, changed);
        let said = Time(DateTime::UNIX_EPOCH + Duration::from_secs(9));
        plan.last_call = Some(said);
        assert_eq!(plan.cache(changed).expect("a cache").last_call, Some(said));
    }

    #[test]
    fn what_is_summed_up_and_what_leaves_are_two_things() {
        let mut plan = plan(1);
        assert!(plan.sums_up() && plan.sums_up_or_drops());
        plan.policy.summary.method = Method::None;
        assert!(!plan.sums_up() && plan.sums_up_or_drops());
        plan.policy.mode = Mode::PruneOnly;
        assert!(!plan.sums_up_or_drops());
    }
}
