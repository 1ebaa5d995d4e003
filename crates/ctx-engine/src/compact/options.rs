//! The options and environment of a compaction, and the limits that follow from them.

use std::path::PathBuf;
use std::sync::Arc;

use crate::estimate::{Calibration, Calibrator};
use crate::message_counter::MessageCounter;
use chrono::{DateTime, Utc};
use ctx_format::Saved;
use ctx_policy::trigger::{Size, Step, Trigger, Triggers};
use ctx_policy::{Clear, Fallback, Keep, Method, Mode, Policy, SignedReasoning, When};
use ctx_summary::{Recognizer, USUAL_PERCENT};

use crate::prune::Cache;
use crate::summarize::{self, TellSizes, Writer, recognizer};
use crate::{Notes, Pin, Result, Time};

/// The options of a compaction.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The policy, after flags have been applied.
    pub policy: Policy,
    /// Whether the model rejected the session as too long.
    pub overflow: bool,
    /// Whether to compact only if the session is due.
    pub only_if_due: bool,
    /// Whether to compact regardless of triggers and earlier attempts.
    pub force: bool,
    /// Whether to make only a preview, which writes nothing and asks no model.
    pub dry_run: bool,
    /// Whether to score how much of the session survives. By default, sessions are scored unless
    /// they are very large.
    pub score: Option<bool>,
    /// The maximum number of tokens in the whole context, including the summary.
    pub budget: Option<u64>,
    /// Whether to reject a result that is above the target.
    pub strict_target: bool,
    /// The amount to keep, if set by flags. Amounts set by flags are never reduced to reach the
    /// target.
    pub keep: Keep,
    /// The length of the summary in tokens, if set by a flag.
    pub summary_tokens: Option<u64>,
    /// The records that always stay.
    pub pins: Vec<Pin>,
    /// The time of the last model call, for sessions whose records have no timestamps.
    pub last_call: Option<Time>,
    /// Whether to use our own count instead of the usage recorded by the agent.
    pub ignore_usage: bool,
    /// What to do with signed reasoning after a change.
    pub signed_reasoning: SignedReasoning,
}

/// The environment of a compaction, as provided by the calling tool.
#[derive(Clone)]
pub struct Environment {
    /// Counts tokens.
    pub counter: MessageCounter,
    /// The context window of the model that the user named, if any.
    pub model_window: Option<u64>,
    /// The name of that model.
    pub model_name: Option<Arc<str>>,
    /// Creates a writer that asks a model. `None` if no model may be asked.
    pub model: Option<Arc<MakeWriter>>,
    /// The headings that a model's summary must have, or empty if the template's headings are
    /// unknown.
    pub headings: Vec<String>,
    /// Whether handles may state that the original is in the store.
    pub saved: Saved,
    /// Returns the current time.
    pub now: fn() -> DateTime<Utc>,
    /// The folder for temporary files.
    pub temp: PathBuf,
}

/// Creates a writer that asks a model for a summary. The first argument is the length of the
/// summary in tokens; if it is `None`, the summary fills the available space. The second argument
/// is the session's own model.
pub type MakeWriter = dyn Fn(Option<u64>, Option<&str>, &mut Notes) -> Result<Writer> + Send + Sync;

impl Environment {
    /// Creates an environment in which no model may be asked.
    pub fn new(counter: MessageCounter, now: fn() -> DateTime<Utc>, temp: PathBuf) -> Self {
        Self {
            counter,
            model_window: None,
            model_name: None,
            model: None,
            headings: Vec::new(),
            saved: Saved::Yes,
            now,
            temp,
        }
    }
}

/// The limits that apply to one session.
#[derive(Clone, Debug, Default)]
pub(super) struct Limits {
    /// The triggers that decide when the session is due for compaction.
    pub(super) triggers: Triggers,
    /// The maximum number of tokens in the whole context after the compaction, as we count them. If
    /// there is no target, the session only has to become smaller.
    pub(super) target: Option<u64>,
    /// The size and target in the API's tokens, if the agent recorded usage.
    pub(super) usage: Option<KnownUsage>,
    /// The model's context window, if it is recorded in the log.
    pub(super) window: Option<u64>,
    /// The model that will continue the session, or else the model of its last reply.
    pub(super) model: Option<Arc<str>>,
}

/// A session's size and target, in tokens as the API counts them.
#[derive(Clone, Debug)]
pub(super) struct KnownUsage {
    /// The estimated size of the session.
    pub(super) tokens: u64,
    /// The maximum size of the whole context after the compaction.
    pub(super) target: Option<u64>,
    /// Estimates the size of the context after the compaction.
    pub(super) after: Calibrator,
}

impl Limits {
    /// Adapts the limits to a log with recorded usage, so that they apply to the API's token count.
    /// The target is converted to our own tokens, because the kept part is measured in them.
    #[must_use]
    pub(super) fn calibrated(
        mut self,
        calibration: &Calibration,
        options: &Options,
        notes: &mut Notes,
    ) -> Self {
        self.window = calibration.window;
        self.model = self.model.or_else(|| calibration.model.as_deref().map(Into::into));
        if options.budget.is_none() {
            let window = self.triggers.with_model(self.window).window();
            self.target = options.policy.target.max_tokens(window);
        }
        let limit = self.target;
        let mut after = calibration.calibrator.clone();
        after.compacted();
        self.target = limit.map(|limit| {
            let now = calibration.estimate.map(|it| it.tokens);
            our_tokens(limit, (now, calibration.counted), &after, options, notes)
        });
        self.usage = calibration.estimate.map(|estimate| KnownUsage {
            tokens: estimate.tokens,
            target: limit,
            after,
        });
        self
    }

    /// Returns true if a context of `tokens` tokens is within the target.
    pub(super) fn fits(&self, tokens: u64) -> bool {
        self.target.is_none_or(|target| tokens <= target)
    }

    /// Returns true if a session of this size is due for compaction.
    pub(super) fn is_due(&self, size: &Size) -> bool {
        self.triggers.check(size).step == Step::Compact
    }

    /// Returns true if a context is above its target or above a size trigger.
    pub(super) fn is_over(&self, size: &Size) -> bool {
        let by_size = [Trigger::Tokens, Trigger::Share, Trigger::Reserve, Trigger::ToolBytes];
        let readings = self.triggers.check(size).readings;
        let mut by_size = readings.iter().filter(|reading| by_size.contains(&reading.trigger));
        !self.fits(size.tokens) || by_size.any(|reading| reading.value > reading.limit)
    }
}

/// The minimum number of tokens for messages. A session cannot continue with fewer. Messages may
/// take this many tokens (or the whole limit, if that is lower) even if the system prompt and the
/// tools leave less room.
const LEAST_MESSAGES: u64 = 8_000;

/// Converts `limit` from the API's tokens to ours. `now` is the size of the session in the API's
/// tokens, and `counted` that in ours. The result is certain not to exceed a target or a strict
/// budget. A budget that is not strict is filled: the most likely number is used, minus a small
/// margin. Without the margin, the next message would exceed the budget.
///
/// Compaction shrinks only messages, so it cannot meet a limit that the system prompt and the tools
/// exceed on their own. If the limit is that low but not strict, messages get [`LEAST_MESSAGES`]
/// tokens.
fn our_tokens(
    limit: u64,
    (now, counted): (Option<u64>, u64),
    after: &Calibrator,
    options: &Options,
    notes: &mut Notes,
) -> u64 {
    let fills = options.budget.is_some() && !options.strict_target;
    let least = LEAST_MESSAGES.min(if fills { limit - limit / MARGIN } else { limit });
    let likely = |limit| after.counted_within(limit, |it| it.tokens);
    let tokens = if fills {
        likely(limit - limit / MARGIN)
    } else {
        after.counted_within(limit, |it| it.high)
    };
    let is_within = now.is_some_and(|now| now <= limit) && !options.strict_target;
    if tokens >= least || is_within || fills && after.base().unwrap_or(0) == 0 {
        return tokens.max(least);
    }
    let total = |messages| after.estimate(messages).map_or(messages, |all| all.tokens);
    let what = if options.strict_target {
        "nothing above it is written".to_owned()
    } else if !fills && likely(limit) >= least {
        "the result may be above it".to_owned()
    } else {
        let messages = total(least) - total(0);
        if counted <= least {
            format!("the messages are only {counted}")
        } else {
            let all = total(least);
            format!("the messages can be cut to about {messages}, which makes {all} in total")
        }
    };
    let state = if total(least) > limit { "cannot be met" } else { "is low" };
    let name = if options.budget.is_some() { "budget" } else { "target" };
    notes.warn(format_args!(
        "the {name} of {limit} tokens {state}: after a compaction, the agent sends about {} besides the messages; {what}",
        total(0)
    ));
    if options.strict_target { tokens } else { least }
}

/// If the API's count is only an estimate, one part in `MARGIN` of the budget stays free.
const MARGIN: u64 = 64;

/// The default length of the summary, in tokens.
const SUMMARY_TOKENS: u64 = 2_000;

/// Everything that determines a compaction's result.
pub(super) struct Plan<'a> {
    pub(super) options: &'a Options,
    pub(super) environment: &'a Environment,
    pub(super) limits: Limits,
}

/// The size of a session before anything was changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeBefore {
    /// The size of the session.
    pub size: Size,
    /// The number of tokens in the system messages.
    pub(super) system_tokens: u64,
}

impl<'a> Plan<'a> {
    pub(super) fn new(options: &'a Options, environment: &'a Environment) -> Self {
        let triggers = options.policy.trigger.with_model(environment.model_window);
        let target = options.budget.or(options.policy.target.max_tokens(triggers.window()));
        let limits = Limits { triggers, target, ..Limits::default() };
        Self { options, environment, limits }
    }

    /// Adds facts from the user and the log to a counted size.
    pub(super) fn measured(&self, counted: Size) -> Size {
        Size {
            overflow: self.options.overflow,
            calibrated: self.limits.usage.as_ref().map(|usage| usage.tokens),
            window: self.limits.window,
            ..counted
        }
    }

    /// Returns the requested budget, in tokens as we count them.
    pub(super) fn budget(&self) -> Option<u64> {
        self.options.budget.map(|tokens| self.limits.target.unwrap_or(tokens))
    }

    /// Returns the amount of the session that the policy keeps.
    pub(super) fn keep(&self, before: &SizeBefore) -> Keep {
        let tokens = self.recent_tokens(before);
        Keep { tokens, recent_share: None, ..self.options.policy.keep }
    }

    /// Returns the amounts to try to keep, largest first, if the policy's amount is too large.
    /// Amounts set by flags are not reduced.
    pub(super) fn smaller_keeps(&self, before: &SizeBefore) -> Vec<Keep> {
        if self.options.keep.is_some() {
            return vec![self.options.keep];
        }
        let all = self.keep(before);
        let mut keeps: Vec<Keep> =
            (1..=8).rev().map(|eighths| scaled(all, |n| n * eighths / 8)).collect();
        keeps.push(Keep::default());
        keeps.dedup();
        keeps
    }

    /// Returns the maximum number of tokens for the latest messages: the policy's limit, or what
    /// the target leaves for them if that is less.
    fn recent_tokens(&self, before: &SizeBefore) -> Option<u64> {
        let system = before.system_tokens;
        let recent = self.options.policy.recent_tokens(self.environment.model_window, system)?;
        let others = system + self.summary_length(before);
        let room = self.limits.target.map_or(u64::MAX, |target| target.saturating_sub(others));
        Some(recent.min(room))
    }

    /// Returns the requested length of the summary, in tokens.
    pub(super) fn summary_length(&self, before: &SizeBefore) -> u64 {
        let length = self.options.policy.summary.length(before.size.tokens);
        length.unwrap_or(SUMMARY_TOKENS).max(1)
    }

    /// Returns the writer for a summary within a budget. Unless a flag sets its length, the summary
    /// gets all tokens that are left in the budget.
    pub(super) fn writer_within(&self, notes: &mut Notes) -> Result<Writer> {
        let length = self.options.summary_tokens;
        let mut writer = self.by_model(length, notes)?;
        let model = writer.as_mut().and_then(|writer| writer.model.as_mut());
        // Models cannot count tokens, so the summary is limited by the budget rather than by the
        // policy's factor.
        if let Some(model) = model {
            model.most_percent = model.most_percent.max(USUAL_PERCENT);
        }
        Ok(writer.unwrap_or_else(|| self.by_code(length)))
    }

    /// Returns the writer that asks a model, if one may be asked.
    pub(super) fn by_model(
        &self,
        tokens: Option<u64>,
        notes: &mut Notes,
    ) -> Result<Option<Writer>> {
        let Some(make) = &self.environment.model else { return Ok(None) };
        let mut writer = make(tokens, self.limits.model.as_deref(), notes)?;
        writer.under(&self.options.policy.summary, &self.environment.headings);
        Ok(Some(writer))
    }

    /// Returns a writer that asks no model, for a summary with at most this many tokens.
    pub(super) fn by_code(&self, tokens: Option<u64>) -> Writer {
        Writer::offline(self.options.policy.summary.offline(), tokens)
    }

    /// Returns true if only a model may write the summary.
    pub(super) fn needs_model(&self) -> bool {
        self.environment.model.is_some()
            && self.options.policy.summary.on_failure() == Fallback::Fail
    }

    /// Returns those summarization options that do not depend on the writer.
    pub(super) fn summary(&self) -> summarize::Plan {
        let summary = &self.options.policy.summary;
        summarize::Plan {
            recognizer: self.recognizer(),
            role: summary.role.into(),
            counter: self.environment.counter,
            strict: false,
            // Bad lines were already dropped when the session was read.
            drop_bad: false,
            signed_reasoning: self.options.signed_reasoning,
            tell_sizes: TellSizes::Never,
            saved: self.environment.saved,
            temp: self.environment.temp.clone(),
        }
    }

    /// Returns a recognizer for summaries written by earlier compactions.
    pub(super) fn recognizer(&self) -> Recognizer {
        recognizer(self.options.policy.summary.header.as_deref())
    }

    /// Returns true if the policy removes old records from the session.
    pub(super) fn drops_old(&self) -> bool {
        self.options.policy.mode != Mode::PruneOnly
    }

    /// Returns true if the policy summarizes the records that it removes.
    pub(super) fn summarizes(&self) -> bool {
        self.options.policy.summary.method != Method::None
    }

    /// Returns true if the policy prunes at this stage. A policy that only prunes always does so at
    /// the first stage, because it never summarizes.
    pub(super) fn prunes(&self, when: When) -> bool {
        match (self.options.policy.mode, self.options.policy.prune.when) {
            (Mode::SummaryOnly, _) => false,
            (Mode::PruneOnly, When::Fallback) => when == When::Before,
            (_, policy) => policy == when,
        }
    }

    /// Returns the prompt cache that must have expired before anything may be pruned. If the time
    /// of the last call is unknown, `last_change` is used instead.
    pub(super) fn cache(&self, last_change: Option<Time>) -> Option<Cache> {
        Some(Cache {
            ttl: self.options.policy.prune.cache_ttl?.0,
            last_call: self.options.last_call.or(last_change),
            now: (self.environment.now)(),
        })
    }

    /// Returns true if old results must be cleared, given the size `left` after trimming.
    pub(super) fn clears(&self, left: &Size) -> bool {
        self.options.policy.prune.clear == Clear::Always || self.limits.is_over(left)
    }
}

/// Applies `scale` to each number in `keep`.
pub(super) fn scaled(keep: Keep, scale: impl Fn(u64) -> u64) -> Keep {
    Keep {
        messages: keep.messages.map(&scale),
        turns: keep.turns.map(&scale),
        tokens: keep.tokens.map(&scale),
        ..keep
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use chrono::DateTime;
    use ctx_policy::duration::FixedSpan;
    use ctx_policy::trigger::Size;
    use ctx_policy::{Clear, Method, Mode, When};

    use super::super::tests::{Setup, plan};
    use super::SizeBefore;
    use crate::Time;

    fn before(tokens: u64) -> SizeBefore {
        SizeBefore { size: Size { tokens, ..Size::default() }, system_tokens: 100 }
    }

    #[test]
    fn what_the_policy_keeps_shrinks_step_by_step_and_what_a_flag_keeps_does_not() {
        let mut plan = plan(2);
        let turns = |plan: &Setup| -> Vec<Option<u64>> {
            let keeps = plan.plan().smaller_keeps(&before(10_000)).into_iter();
            keeps.map(|keep| keep.turns).collect()
        };
        assert_eq!(turns(&plan), [Some(2), Some(1), Some(0), None]);
        plan.keep.turns = Some(7);
        assert_eq!(turns(&plan), [Some(7)]);
    }

    #[test]
    fn the_target_leaves_less_for_the_latest_messages() {
        let mut plan = plan(1);
        plan.policy.keep.tokens = Some(1_000);
        plan.policy.summary.tokens = Some(300);
        let mut recent = |target| {
            plan.policy.target.tokens = target;
            plan.plan().keep(&before(10_000)).tokens
        };
        assert_eq!(recent(None), Some(1_000));
        assert_eq!(recent(Some(900)), Some(500));
        assert_eq!(recent(Some(50)), Some(0));
    }

    #[test]
    fn pruning_has_one_time() {
        let mut plan = plan(1);
        let times = |plan: &Setup| {
            [When::Before, When::Fallback, When::Sent].map(|when| plan.plan().prunes(when))
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
        assert!(!plan.plan().clears(size));
        plan.policy.target.tokens = Some(500);
        assert!(!plan.plan().clears(size));
        plan.policy.target.tokens = Some(499);
        assert!(plan.plan().clears(size));
        plan.policy.target.tokens = None;
        plan.policy.trigger.tokens = Some(499);
        assert!(plan.plan().clears(size));
        (plan.policy.trigger.tokens, plan.policy.trigger.messages) = (None, Some(0));
        assert!(!plan.plan().clears(&Size { messages: 9, ..*size }));
        plan.policy.prune.clear = Clear::Always;
        assert!(plan.plan().clears(size));
    }

    #[test]
    fn a_cache_matters_only_where_the_policy_names_its_life() {
        let mut plan = plan(1);
        let changed = Some(Time(DateTime::UNIX_EPOCH));
        assert!(plan.plan().cache(changed).is_none());
        plan.policy.prune.cache_ttl = Some(FixedSpan(Duration::from_secs(300)));
        assert_eq!(plan.plan().cache(changed).expect("a cache").last_call, changed);
        let told = Time(DateTime::UNIX_EPOCH + Duration::from_secs(9));
        plan.last_call = Some(told);
        assert_eq!(plan.plan().cache(changed).expect("a cache").last_call, Some(told));
    }

    #[test]
    fn a_policy_may_drop_without_a_summary() {
        let mut plan = plan(1);
        let does = |plan: &Setup| (plan.plan().summarizes(), plan.plan().drops_old());
        assert_eq!(does(&plan), (true, true));
        plan.policy.summary.method = Method::None;
        assert_eq!(does(&plan), (false, true));
        plan.policy.mode = Mode::PruneOnly;
        assert!(!plan.plan().drops_old());
    }
}
