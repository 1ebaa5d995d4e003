//! What policy and flags mean for one run.

use ctx_cli::{Failure, Io};
use ctx_policy::{Fallback, Method, Mode, Policy};
use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_select::trigger::{DEFAULT_WINDOW, Triggers};
use ctx_summary::Recognizer;
use ctx_transcript::{Dialect, dialect};

use super::stages::Measured;
use super::{Args, policy};
use crate::pins::Pin;
use crate::session::Invalid;
use crate::tools::split;
use crate::tools::summarize::{self, LlmArgs, OnFailure, Writer};

/// One policy, and how it is applied.
#[allow(clippy::struct_excessive_bools)] // Switches that do not depend on each other.
pub(super) struct Plan {
    pub(super) policy: Policy,
    pub(super) triggers: Triggers,
    /// The model refused the session.
    pub(super) overflow: bool,
    pub(super) only_if_due: bool,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) counter: MessageCounter,
    /// What the whole context may have afterwards; without it, smaller is enough.
    pub(super) target: Option<u64>,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) invalid: Invalid,
    window: u64,
    pins: Vec<Pin>,
    llm: LlmArgs,
}

/// What is tried, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// As the policy says.
    Policy,
    /// With a summary half as long, written by rule.
    Smaller,
    /// That, with only the last turns kept.
    LastTurns,
    /// Only the last turns, without a summary.
    LastTurnsAlone,
}

impl Rung {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Smaller => "smaller-summary",
            Self::LastTurns => "last-turns",
            Self::LastTurnsAlone => "last-turns-alone",
        }
    }

    /// Whether less is kept than the policy says.
    pub(super) fn keeps_less(self) -> bool {
        matches!(self, Self::LastTurns | Self::LastTurnsAlone)
    }
}

/// Where a policy does not say how long a summary may be.
const SUMMARY_TOKENS: u64 = 2_000;

impl Plan {
    pub(super) fn of(args: &Args, io: &mut Io) -> Result<Self, Failure> {
        let mut policy = policy::of(args, io)?;
        args.override_policy(&mut policy);
        let mut counting = args.counting.clone();
        counting.encoding = counting.encoding.or(policy.general.encoding);
        let counting = counting.resolve()?;
        counting.report(io);
        let window = policy
            .trigger
            .window
            .or(counting.model.map(|model| model.window))
            .unwrap_or(DEFAULT_WINDOW);
        let share = policy.target.share.map(|share| share.of(window));
        let budget = policy.target.max_history_share.map(|share| {
            let reserve = policy.target.reserve.unwrap_or(0);
            share.of(window).min(window.saturating_sub(reserve))
        });
        Ok(Self {
            triggers: triggers(&policy, window),
            overflow: args.triggers.overflow,
            only_if_due: args.if_due,
            force: args.force,
            dry_run: args.dry_run,
            counter: counting.counter,
            target: [policy.target.tokens, share, budget]
                .into_iter()
                .flatten()
                .min(),
            dialect: args.read.dialect.as_deref().and_then(dialect::by_name),
            invalid: args.read.invalid,
            window,
            pins: args.pin.clone(),
            llm: llm(args, &policy),
            policy,
        })
    }

    /// Whether a context of so many tokens is small enough.
    pub(super) fn fits(&self, tokens: u64) -> bool {
        self.target.is_none_or(|target| tokens <= target)
    }

    /// What is tried, in order.
    pub(super) fn rungs(&self) -> Vec<Rung> {
        let fallbacks = self.policy.summary.fallback.iter();
        let more = fallbacks.flat_map(|fallback| match fallback {
            Fallback::Smaller => vec![Rung::Smaller],
            Fallback::LastTurns => vec![Rung::LastTurns, Rung::LastTurnsAlone],
            // Taken by the writer itself, or not at all.
            Fallback::Rule | Fallback::Extractive | Fallback::Prune | Fallback::Fail => Vec::new(),
        });
        std::iter::once(Rung::Policy).chain(more).collect()
    }

    /// What is kept on a rung.
    pub(super) fn split(&self, rung: Rung, before: &Measured) -> split::Plan {
        let keep = &self.policy.keep;
        let keep = if rung.keeps_less() {
            Keep {
                messages: None,
                turns: Some(keep.turns.unwrap_or(1).min(1)),
                tokens: None,
            }
        } else {
            Keep {
                messages: keep.messages,
                turns: keep.turns,
                tokens: [keep.tokens, self.recent(before)]
                    .into_iter()
                    .flatten()
                    .max(),
            }
        };
        split::Plan {
            keep,
            pins: self.pins.clone(),
            counter: keep.tokens.map(|_| self.counter),
            only: None,
        }
    }

    /// The share of the target for the latest messages: of what system messages
    /// and the policy's own overhead leave of it.
    fn recent(&self, before: &Measured) -> Option<u64> {
        let share = self.policy.keep.recent_share?;
        let target = self.target.unwrap_or(self.window);
        let taken = before.system_tokens + self.policy.target.overhead;
        Some(share.of(target.saturating_sub(taken)))
    }

    /// How the rest is summed up on a rung. A preview asks no model.
    pub(super) fn summary(
        &self,
        rung: Rung,
        before: &Measured,
        io: &mut Io,
    ) -> Result<summarize::Plan, Failure> {
        let encoding = self.counter.encoding();
        let summary = &self.policy.summary;
        let most = summary.max_share.map(|share| share.of(before.size.tokens));
        let wanted = summary.target_tokens.or(summary.tokens);
        let tokens = wanted
            .unwrap_or(SUMMARY_TOKENS)
            .min(most.unwrap_or(u64::MAX))
            .max(1);
        let writer = match (rung, summary.method) {
            (Rung::Policy, Method::Llm) if !self.dry_run && self.llm.has_server() => {
                self.llm.writer(encoding, Some(tokens), io)?
            }
            (Rung::Policy, _) => Writer::rule(encoding, Some(tokens)),
            _ => Writer::rule(encoding, Some((tokens / 2).max(1))),
        };
        Ok(summarize::Plan {
            recognizer: Recognizer::new(summary.header.as_deref()),
            header: summary.header.clone(),
            role: summary.role,
            encoding,
            strict: false,
            drop_bad: self.invalid == Invalid::Drop,
            tell_sizes: false,
            writer,
        })
    }

    /// Whether anything is summed up at all.
    pub(super) fn sums_up(&self) -> bool {
        self.policy.summary.method != Method::None && self.policy.general.mode != Mode::PruneOnly
    }
}

fn triggers(policy: &Policy, window: u64) -> Triggers {
    let trigger = &policy.trigger;
    Triggers {
        messages: trigger.messages,
        tokens: trigger.tokens,
        share: trigger.share,
        reserve: trigger.reserve,
        window,
        tool_bytes: trigger.tool_bytes,
        turns: trigger.turns,
        min_messages: trigger.min_messages,
        flush_share: trigger.flush_share,
        on_overflow: trigger.on_overflow,
    }
}

/// The model as flags and policy name it.
fn llm(args: &Args, policy: &Policy) -> LlmArgs {
    let mut llm = args.llm.clone();
    let summary = &policy.summary;
    if args.llm.template_is_default() && summary.template != "default" {
        llm.template.clone_from(&summary.template);
    }
    llm.llm_model = llm.llm_model.or_else(|| summary.model.clone());
    llm.instructions = llm.instructions.or_else(|| summary.instructions.clone());
    if summary.fallback.contains(&Fallback::Fail) {
        llm.on_failure = OnFailure::Fail;
    }
    llm
}
