//! What policy and flags mean for one run.

use ctx_cli::{Failure, Io};
use ctx_policy::{Fallback, Method, Mode, Policy};
use ctx_select::split::Keep;
use ctx_select::trigger::Triggers;
use ctx_summary::Recognizer;
use ctx_transcript::{Dialect, dialect};

use super::Args;
use super::stages::Measured;
use crate::counting::Counting;
use crate::tools::prune::Time;
use crate::tools::summarize::LlmArgs;
use ctx_passes::Invalid;
use ctx_passes::Pin;
use ctx_passes::offload::Template;
use ctx_passes::split;
use ctx_passes::summarize::{self, BudgetRequest, TellSizes, Writer};

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
    /// Whether what survives is scored; by its size when nobody says.
    pub(super) score: Option<bool>,
    pub(super) counting: Counting,
    /// What the whole context may have afterwards; without it, smaller is enough.
    pub(super) target: Option<u64>,
    /// What the whole context may have, shared out between summary and tail.
    pub(super) budget: Option<BudgetRequest>,
    /// How long a flag says that the summary is to be.
    summary_tokens: Option<u64>,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) invalid: Invalid,
    model_window: Option<u64>,
    /// A flag asks for a model: that none is named must be told.
    model_wanted: bool,
    pub(super) pins: Vec<Pin>,
    /// When the model was called last, where the records do not tell.
    pub(super) last_call: Option<Time>,
    llm: LlmArgs,
}

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
    /// That, with only the last turns kept.
    LastTurns,
    /// The last turns, with what summary there is room for.
    LastTurnsAlone,
}

impl Rung {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::LessKept => "less-kept",
            Self::Smaller => "smaller-summary",
            Self::Pruned => "pruned",
            Self::LastTurns => "last-turns",
            Self::LastTurnsAlone => "last-turns-alone",
        }
    }

    /// Whether tool results that are kept are pruned.
    pub(super) fn prunes(self) -> bool {
        matches!(self, Self::Pruned | Self::LastTurns | Self::LastTurnsAlone)
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
        let mut policy = args.policy.policy(io)?;
        args.override_policy(&mut policy);
        policy.check().map_err(Failure::new)?;
        let mut counting = args.counting.clone();
        counting.encoding = counting.encoding.or(policy.encoding);
        let counting = counting.resolve()?;
        counting.report(io);
        let model_window = counting.model.map(|model| model.window);
        let triggers = policy.trigger.with_model(model_window);
        Ok(Self {
            triggers,
            overflow: args.triggers.overflow,
            only_if_due: args.if_due,
            force: args.force,
            dry_run: args.dry_run,
            score: args.score,
            counting,
            target: args.budget.or(policy.target.max_tokens(triggers.window())),
            budget: args.budgeted(&policy)?,
            summary_tokens: args.summary_tokens,
            model_window,
            model_wanted: args.method == Some(Method::Llm),
            dialect: args.read.dialect.as_deref().and_then(dialect::by_name),
            invalid: args.read.invalid,
            pins: args.pin.clone(),
            last_call: args.last_call,
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
            Fallback::Rule | Fallback::Extractive | Fallback::Fail => Vec::new(),
            Fallback::Prune => vec![Rung::Pruned],
        });
        let less = self.policy.summary.safeguard.then_some(Rung::LessKept);
        std::iter::once(Rung::Policy)
            .chain(less)
            .chain(more)
            .collect()
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
            let part = |n: u64| match rung {
                Rung::LessKept => n.div_ceil(2),
                _ => n,
            };
            Keep {
                messages: keep.messages.map(part),
                turns: keep.turns.map(part),
                tokens: self.recent(before).map(part),
            }
        };
        split::Plan {
            keep,
            pins: self.pins.clone(),
            counter: keep.tokens.map(|_| self.counting.counter),
            only: None,
            temp: std::env::temp_dir(),
        }
    }

    /// How many tokens the latest messages may have: as the policy says, and no
    /// more than the target leaves for them.
    fn recent(&self, before: &Measured) -> Option<u64> {
        let system = before.system_tokens;
        let recent = self.policy.recent_tokens(self.model_window, system)?;
        let summary = self.summary_length(before);
        let room = self
            .target
            .map(|target| target.saturating_sub(system + summary));
        Some(recent.min(room.unwrap_or(u64::MAX)))
    }

    /// How long a summary is to be.
    fn summary_length(&self, before: &Measured) -> u64 {
        let length = self.policy.summary.length(before.size.tokens);
        length.unwrap_or(SUMMARY_TOKENS).max(1)
    }

    /// How the rest is summed up on a rung. A preview asks no model.
    pub(super) fn summary(
        &self,
        rung: Rung,
        before: &Measured,
        io: &mut Io,
    ) -> Result<summarize::Plan, Failure> {
        let tokens = self.summary_length(before);
        let writer = match rung {
            Rung::Policy if self.asks_a_model() => self.model(tokens, io)?,
            Rung::Policy | Rung::LessKept => self.offline(Some(tokens)),
            _ => self.offline(Some((tokens / 2).max(1))),
        };
        Ok(self.with_writer(writer))
    }

    /// How the rest is summed up in no more than so many tokens, whatever that leaves out.
    pub(super) fn summary_of(&self, tokens: u64) -> summarize::Plan {
        self.with_writer(self.offline(Some(tokens)))
    }

    /// How the rest is summed up within a budget: as long as there is room, unless a
    /// flag says how long.
    pub(super) fn summary_within(
        &self,
        before: &Measured,
        io: &mut Io,
    ) -> Result<summarize::Plan, Failure> {
        let writer = if self.asks_a_model() {
            self.model(self.summary_length(before), io)?
        } else {
            self.offline(self.summary_tokens)
        };
        Ok(self.with_writer(writer))
    }

    fn asks_a_model(&self) -> bool {
        let is_wanted = self.llm.has_server() || self.model_wanted;
        self.policy.summary.method == Method::Llm && !self.dry_run && is_wanted
    }

    fn model(&self, tokens: u64, io: &mut Io) -> Result<Writer, Failure> {
        let encoding = self.counting.counter.encoding();
        let mut writer = self.llm.writer(encoding, Some(tokens), io)?;
        if let Some(percent) = self.policy.summary.max_output(100) {
            writer = writer.at_most(percent);
        }
        if self.policy.summary.complete {
            writer = writer.completing();
        }
        Ok(if self.policy.summary.safeguard {
            writer.checked(self.headings())
        } else {
            writer
        })
    }

    fn offline(&self, tokens: Option<u64>) -> Writer {
        let offline = self.policy.summary.offline();
        Writer::offline(offline, self.counting.counter.encoding(), tokens)
    }

    fn with_writer(&self, writer: Writer) -> summarize::Plan {
        let summary = &self.policy.summary;
        summarize::Plan {
            recognizer: Recognizer::new(summary.header.as_deref()),
            header: summary.header.clone(),
            role: summary.role.into(),
            counter: self.counting.counter,
            strict: false,
            drop_bad: self.invalid == Invalid::Drop,
            tell_sizes: TellSizes::Never,
            writer,
            temp: std::env::temp_dir(),
        }
    }

    /// The headings that a model's summary must have; those of a prompt that is not
    /// the policy's are not known.
    fn headings(&self) -> Vec<String> {
        let summary = &self.policy.summary;
        if self.llm.template.as_ref() == Some(&summary.template) {
            summary.sections.clone()
        } else {
            Vec::new()
        }
    }

    /// What stands in the place of an offloaded result.
    pub(super) fn reference(&self) -> Result<Template, Failure> {
        let reference = &self.policy.offload.reference;
        reference.parse().map_err(Failure::new)
    }

    /// Whether anything leaves the session as old.
    pub(super) fn sums_up_or_drops(&self) -> bool {
        self.policy.mode != Mode::PruneOnly
    }

    /// Whether what leaves is summed up.
    pub(super) fn sums_up(&self) -> bool {
        self.policy.summary.method != Method::None
    }
}

/// The model as flags and policy name it.
fn llm(args: &Args, policy: &Policy) -> LlmArgs {
    let mut llm = args.llm.clone();
    let summary = &policy.summary;
    llm.template = llm.template.or_else(|| Some(summary.template.clone()));
    llm.llm_retries = llm.llm_retries.or(Some(summary.retries));
    llm.llm_backoff = llm.llm_backoff.or(Some(summary.backoff_seconds));
    llm.llm_model = llm.llm_model.or_else(|| summary.model.clone());
    llm.instructions = llm.instructions.or_else(|| summary.instructions.clone());
    llm.on_failure = llm.on_failure.or(Some(summary.on_failure()));
    llm
}
