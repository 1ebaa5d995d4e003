//! What the flags mean.

use ctx_cli::{Failure, Io};
use ctx_select::count::MessageCounter;
use ctx_select::split::Keep;
use ctx_select::trigger::Triggers;
use ctx_summary::Recognizer;
use ctx_transcript::{Dialect, Role, dialect};

use super::{Args, Method};
use crate::session::Invalid;
use crate::tools::split;
use crate::tools::summarize::{self, LlmArgs, Writer};

/// One policy, and how it is applied.
#[allow(clippy::struct_excessive_bools)] // Switches that do not depend on each other.
pub(super) struct Plan {
    pub(super) preset: String,
    pub(super) enabled: bool,
    pub(super) triggers: Triggers,
    /// The model refused the session.
    pub(super) overflow: bool,
    pub(super) only_if_due: bool,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) counter: MessageCounter,
    /// What the whole context may have afterwards; without it, smaller is enough.
    pub(super) target: Option<u64>,
    pub(super) extract: bool,
    pub(super) dialect: Option<&'static dyn Dialect>,
    pub(super) invalid: Invalid,
    keep: split::Plan,
    last_turn: split::Plan,
    summary: Summary,
}

/// How what is old is summed up.
struct Summary {
    /// There when a model is to be asked.
    llm: Option<LlmArgs>,
    tokens: u64,
    header: Option<String>,
    role: Role,
}

/// What is tried, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// As the policy says.
    Policy,
    /// With a shorter summary, written by rule.
    Shorter,
    /// With only the last turn kept.
    LastTurn,
}

impl Rung {
    pub(super) const ALL: [Self; 3] = [Self::Policy, Self::Shorter, Self::LastTurn];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Shorter => "shorter-summary",
            Self::LastTurn => "last-turn",
        }
    }
}

const DEFAULT_KEEP_MESSAGES: u64 = 20;
const DEFAULT_SUMMARY_TOKENS: u64 = 500;

impl Plan {
    pub(super) fn of(args: &Args, io: &mut Io) -> Result<Self, Failure> {
        let counting = args.counting.resolve()?;
        counting.report(io);
        let triggers = args.triggers.resolve(&counting);
        let alone = args.keep_turns.is_none() && args.keep_tokens.is_none();
        let keep = Keep {
            messages: args
                .keep_messages
                .or(alone.then_some(DEFAULT_KEEP_MESSAGES)),
            turns: args.keep_turns,
            tokens: args.keep_tokens,
        };
        let split_plan = |keep: Keep| split::Plan {
            keep,
            pins: args.pin.clone(),
            counter: keep.tokens.map(|_| counting.counter),
            only: None,
        };
        let last_turn = Keep {
            messages: None,
            turns: Some(1),
            tokens: None,
        };
        Ok(Self {
            preset: "default".to_owned(),
            enabled: true,
            triggers,
            overflow: args.triggers.overflow,
            only_if_due: args.if_due && !args.force,
            force: args.force,
            dry_run: args.dry_run,
            counter: counting.counter,
            target: args.target_tokens,
            extract: !args.no_extract,
            dialect: args.read.dialect.as_deref().and_then(dialect::by_name),
            invalid: args.read.invalid,
            keep: split_plan(keep),
            last_turn: split_plan(last_turn),
            summary: Summary {
                llm: (args.method == Method::Llm).then(|| args.llm.clone()),
                tokens: args.summary_tokens.unwrap_or(DEFAULT_SUMMARY_TOKENS),
                header: args.header.clone(),
                role: args.role.role(),
            },
        })
    }

    /// Whether a context of so many tokens is small enough.
    pub(super) fn fits(&self, tokens: u64) -> bool {
        self.target.is_none_or(|target| tokens <= target)
    }

    /// What is kept on a rung.
    pub(super) fn split(&self, rung: Rung) -> &split::Plan {
        match rung {
            Rung::Policy | Rung::Shorter => &self.keep,
            Rung::LastTurn => &self.last_turn,
        }
    }

    /// How the rest is summed up on a rung. A preview asks no model.
    pub(super) fn summary(&self, rung: Rung, io: &mut Io) -> Result<summarize::Plan, Failure> {
        let encoding = self.counter.encoding();
        let Summary {
            llm,
            tokens,
            header,
            role,
        } = &self.summary;
        let writer = match (rung, llm) {
            (Rung::Policy, Some(llm)) if !self.dry_run => {
                llm.writer(encoding, Some(*tokens), io)?
            }
            (Rung::Policy, _) => Writer::rule(encoding, Some(*tokens)),
            (Rung::Shorter | Rung::LastTurn, _) => Writer::rule(encoding, Some(tokens / 2)),
        };
        Ok(summarize::Plan {
            recognizer: Recognizer::new(header.as_deref()),
            header: header.clone(),
            role: *role,
            encoding,
            strict: false,
            drop_bad: self.invalid == Invalid::Drop,
            tell_sizes: false,
            writer,
        })
    }
}
